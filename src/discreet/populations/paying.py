"""What the populations that hide have in common: ratings, a ledger, and noise that is planned before it is drawn."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from discreet.data.catalogue import Catalogue
from discreet.data.own_choices import chosen_on
from discreet.data.parts import RatingsInParts
from discreet.data.ratings import Ratings
from discreet.errors import InputError, require, require_type
from discreet.looks import Look, Looks, Reading, kept_reading
from discreet.populations.bounded import needs_rating_bound, prepared
from discreet.populations.calibration import (
    CalibratedNoise,
    Noise,
    calibrate_noise,
    calibrate_steps,
    noise_for,
)
from discreet.populations.contribution import Contribution
from discreet.populations.engine import Engine, check_engine, on_engine
from discreet.populations.guarded import check_before_charging, check_users, nobody
from discreet.populations.handled import doubts_on, not_hidden, notes_on
from discreet.populations.held import given_to, held_by, hold, reading_of
from discreet.populations.mechanism import Allowance, Mechanism
from discreet.populations.population import InParts, check_ratings_of_population, exact_total
from discreet.populations.steps import Question, Steps
from discreet.populations.weighted import check_levels, weighted_total, with_weights
from discreet.populations.wishes import LEVEL_FACT, Wishes
from discreet.privacy.guarantee import Guarantee, read_tuning
from discreet.privacy.ledger import Ledger
from discreet.privacy.randomness import Randomness
from discreet.privacy.spend import Spend
from discreet.privacy.unit import Unit
from discreet.types import Doubles

if TYPE_CHECKING:
    from discreet.privacy.booking import Booking
    from discreet.privacy.budget import Budget
    from discreet.privacy.fingerprint import Sketch

NOT_BOOKED = "No account was charged, so what else was spent on these ratings is not counted."
BOOKED = "An account pays for every look before it is computed."
OWN_CHOICES = "These are the items of {name}, on which Discreet's own defaults were chosen, and that was not paid for."
UNDECLARED = (
    "nobody declared the list of items public, and a list that was made from the ratings says what was rated; "
    "declare all items"
)
DECLARED = "That the list of items is public was declared, and cannot be seen from it."
PUBLISHED = (
    "The list of items is that of {name}, known by its checksum and taken as public, as its publisher put it out: as "
    "far as it holds only items that were rated, it tells that an item's only rater took part, and the promise is "
    "about what the release tells beyond it."
)


class Paying:
    """Ratings that are looked at only through sums, each booked in a ledger before it is computed."""

    _users_stay = False  # whether it is public who takes part

    def __init__(
        self,
        ratings: Ratings | RatingsInParts,
        ledger: Ledger,
        *,
        noise: Noise | None = None,
        randomness: Randomness | None = None,
        tuning: str | None = None,
        key: bytes | None = None,
        share: float = 1.0,
        account: str | None = None,
        budget: "Budget | None" = None,
        place: str = "",
        level_fact: str = LEVEL_FACT,
        engine: Engine = "numba",
        wishes: Wishes | None = None,
    ) -> None:
        check_engine(engine)
        check_ratings_of_population(type(self).__name__, ratings)
        scale = ratings.catalogue.scale
        # Parts are checked whenever they are read.
        values = ratings.values if isinstance(ratings, Ratings) else np.zeros(0, dtype=np.float32)
        if not bool(np.all((values >= scale.low) & (values <= scale.high))):
            raise InputError(f"a rating lies outside the declared scale {scale}, which every bound rests on")
        values_only = ledger.unit.name == "rating" and ledger.unit.neighbours == "replace"
        require(
            not (scale.implicit and values_only),
            "these data have no ratings, so there is no value to hide: take the unit rating or user",
        )
        self.ledger, self._level_fact = ledger, level_fact
        read_tuning(tuning)  # checks it
        self.tuning = tuning
        self._share, self._engine = share, engine
        self._noise = noise
        self._randomness = Randomness() if randomness is None else randomness
        self._answered: list[tuple[int, ...]] = []
        require(
            wishes is not None or not ledger.levels or ledger.weighted,
            "the ledger promises privacy levels by sampling, which a population without wishes does not keep: give it "
            "wishes=, or start with a fresh ledger",
        )
        wished = ratings if wishes is None else self._wished(ratings, wishes)
        levels = ledger.levels if ledger.weighted else ()
        check_levels(wished, levels, level_fact)
        wished = with_weights(wished, levels, level_fact)
        hold(self, prepared(wished, ledger.unit, self._randomness, key), given=ratings)
        self._booking: Booking | None = None
        require(budget is None or account is not None, "a budget has many accounts: say with account= which one pays")
        if account is not None:
            self.book_on(account, budget).place = place

    def _wished(self, ratings: Ratings | RatingsInParts, wishes: Wishes) -> Ratings:
        require_type(wishes, Wishes, "wishes must be Wishes, for example Wishes.of_users({'ann': 0.1})")
        if isinstance(ratings, RatingsInParts):
            raise InputError("wishes are for ratings in memory, and these are in parts: load them at once")
        require(self._level_fact == LEVEL_FACT, "wishes say who chose which level: leave out level_fact=")
        gaussian = (self._noise or noise_for(self.ledger)) == "gaussian"
        stay = self._users_stay or self.unit.neighbours == "replace"
        return wishes.applied(ratings, self.ledger, self._randomness, gaussian=gaussian, users_stay=stay)

    @property
    def catalogue(self) -> Catalogue:
        """The public items."""
        return held_by(self).catalogue

    @property
    def unit(self) -> Unit:
        """Whose secret is kept."""
        return self.ledger.unit

    @property
    def spends(self) -> tuple[Spend, ...]:
        """Every look at the ratings so far."""
        return self.ledger.spends

    @property
    def unpaid_looks(self) -> tuple[Look, ...]:
        """Unpaid looks at these ratings: in this process, however they were read, and on the account."""
        from discreet.populations.accounts import known_again

        known_again(given_to(self))
        kept = () if self._booking is None else self._booking.looks
        return tuple(dict.fromkeys((*self.log, *kept)))

    @property
    def log(self) -> Looks:
        """Where further unpaid looks are written down: it travels with the ratings."""
        return given_to(self).looks

    @property
    def reading(self) -> Reading:
        """How these ratings were read, also in the words of the account."""
        own = reading_of(given_to(self))
        return own if self._booking is None else (*own, *kept_reading(own, self._booking.key))

    def book_on(self, account: str | None, budget: "Budget | None" = None) -> "Booking":
        """Let an account of a budget pay for all sums, before the first; without a name, the one that does already."""
        from discreet.privacy.booking import Booking
        from discreet.privacy.budget import Budget

        if self._booking is not None:
            same = account is None or self._booking.budget.resolve(account) == self._booking.account
            same = same and (budget is None or budget is self._booking.budget)
            require(same, "this population pays from an account already: leave out the other one")
            return self._booking
        if account is None:
            raise InputError("nobody pays for this: give the population an account, account='films'")
        seeded = self._randomness.is_seeded
        require(not seeded, "an account pays for what is private, and seeded noise is not: leave out account=")
        require(not self.spends, "the ledger of this population was used before: start with a fresh one")
        self._booking = Booking(Budget() if budget is None else budget, account, self._sketch)
        self.ledger.paid_by(self._booking.pay)
        return self._booking

    @property
    def doubts(self) -> tuple[str, ...]:
        """Why nothing could be proven, whatever the ledger says."""
        handled = doubts_on(held_by(self).handling, self.unit)
        return handled if self.catalogue.declared else (UNDECLARED, *handled)

    @property
    def notes(self) -> tuple[str, ...]:
        """What else has to be said for the promise to be read rightly."""
        name, published = chosen_on(self.catalogue), self.catalogue.published
        listed = (PUBLISHED.format(name=published) if published else DECLARED,) if self.catalogue.declared else ()
        own = () if name is None else (OWN_CHOICES.format(name=name),)
        booked = NOT_BOOKED if self._booking is None else BOOKED
        return (*notes_on(held_by(self).handling, self.unit), *listed, *own, booked)

    @property
    def public(self) -> tuple[str, ...]:
        """What is not hidden from anyone."""
        goes_with_it = self.unit.name == "user" or self.ledger.offered.each_rating
        hidden = not self.ledger.levels or (goes_with_it and self.unit.neighbours == "add-or-remove")
        return (*not_hidden(self.unit), *(() if hidden else ("which privacy level a user chose",)))

    @property
    def answered(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of all sums so far. Public: a shape may depend on the catalogue and on settings alone."""
        return tuple(self._answered)

    def calibrate(self, question: Question, share: float = 1.0) -> CalibratedNoise:
        """The noise that a sum, or each of several steps, would get, and what it would cost. Public."""
        handling, seeded = held_by(self).handling, self._randomness.is_seeded
        if isinstance(question, Steps):
            require(self._noise != "laplace", f"{question.name!r} has Gaussian noise: leave out noise='laplace'")
            return calibrate_steps(question, share * self._share, self.ledger, handling, seeded=seeded)
        check_users(question, held_by(self))
        if needs_rating_bound(question, self.unit):
            self._check_nobody_counts_nothing(question)
        return calibrate_noise(question, share * self._share, self.ledger, self._noise, handling, seeded=seeded)

    def hide_by_gaussian_noise(self) -> bool:
        """Let every sum have Gaussian noise, before any is asked for; False where levels rest on another noise."""
        require(not self.spends, "sums were answered before: choose their noise when the population is made")
        if self.ledger.levels or self._noise == "laplace":
            return False
        self._noise = "gaussian"
        return True

    def deviation(self, question: Question, share: float = 1.0) -> float:
        """Standard deviation of all noise together on each cell."""
        return self.calibrate(question, share).deviation

    def price(self, mechanism: Mechanism, share: float = 1.0) -> Spend:
        """What running a mechanism would cost. Public."""
        merged = held_by(self).handling.merged not in (None, "once")
        allowed = Allowance.of(self.ledger, share * self._share, merged)
        spend = mechanism.spend(allowed)
        require(spend.what == mechanism.name, f"{mechanism.name!r} books something of another name: {spend.what!r}")
        allowed.check(spend)
        return replace(spend, seeded=self._randomness.is_seeded)

    def _check_nobody_counts_nothing(self, contribution: Contribution) -> None:
        """A user without ratings must add nothing: only then do bounds for ratings add up to one for a user."""
        if exact_total(contribution, nobody(self.catalogue)).any():
            raise InputError(
                f"{contribution.name!r} counts users without ratings, so its bound for ratings says nothing of a user"
            )

    def _sketch(self, key: bytes) -> "Sketch":
        from discreet.populations.accounts import sketch_of

        return sketch_of(given_to(self), key)

    @property
    def _users_may_leave(self) -> bool:
        """Whether who takes part is hidden, and may change with one rating."""
        return self.unit.name == "rating"

    def _of_ledger(
        self, protects_from: tuple[str, ...], exposed_to: tuple[str, ...], notes: tuple[str, ...] = ()
    ) -> Guarantee:
        """What the ledger proves."""
        return Guarantee.of_ledger(
            self.ledger,
            protects_from=protects_from,
            exposed_to=exposed_to,
            public=self.public,
            tuning=self.tuning,
            seeded=self._randomness.is_seeded,
            doubts=self.doubts,
            notes=(*self.notes, *notes),
        )

    def _charged(self, contribution: Contribution, share: float) -> CalibratedNoise:
        noise = self.calibrate(contribution, share)
        self._check_total(contribution)
        self._pay(noise.spend, contribution.shape)
        return noise

    def _charged_steps(self, steps: Steps, share: float) -> CalibratedNoise:
        noise = self.calibrate(steps, share)
        self._pay(noise.spend, steps.shape)
        return noise

    def _pay(self, spend: Spend, *shapes: tuple[int, ...]) -> None:
        self.ledger.charge(spend)  # which lets an account pay first
        self._answered.extend(shapes)

    def _check_step(self, contribution: Contribution) -> None:
        """What is checked of every sum before it is charged: all steps are, but this one was not looked at yet."""
        check_users(contribution, held_by(self))
        if needs_rating_bound(contribution, self.unit):
            self._check_nobody_counts_nothing(contribution)
        self._check_total(contribution)

    def _check_total(self, contribution: Contribution) -> None:
        asked = on_engine(contribution, self._engine)
        check_before_charging(asked, held_by(self), users_may_leave=self._users_may_leave)

    def _noisy(self, contribution: Contribution, ratings: InParts | None, noise: CalibratedNoise) -> Doubles:
        levels = self.ledger.levels if self.ledger.weighted else ()
        total = weighted_total(on_engine(contribution, self._engine), ratings, levels, self._level_fact)
        return noise.add_noise(total, self._randomness)
