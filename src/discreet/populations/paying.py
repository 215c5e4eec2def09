"""What the populations that hide have in common: ratings, a ledger, and noise that is planned before it is drawn."""

import numpy as np

from discreet.data.catalogue import Catalogue
from discreet.data.parts import RatingsInParts
from discreet.data.ratings import Ratings
from discreet.errors import InputError
from discreet.populations.bounded import needs_rating_bound, prepared
from discreet.populations.contribution import Contribution
from discreet.populations.guarded import check_before_charging, check_users, finite_total, nobody
from discreet.populations.handled import not_hidden, notes_on
from discreet.populations.held import held_by, hold
from discreet.populations.plan import Noise, Plan, plan_noise
from discreet.populations.population import check_ratings_of_population, exact_total
from discreet.privacy.guarantee import Tuning
from discreet.privacy.ledger import Ledger
from discreet.privacy.randomness import Randomness
from discreet.privacy.spend import Spend
from discreet.privacy.unit import Unit
from discreet.types import Doubles

UNDECLARED = (
    "nobody declared the list of items public, and a list that was read off the ratings says what was rated; "
    "declare all items"
)


class Paying:
    """Ratings that are looked at only through sums, each booked in a ledger before it is computed."""

    def __init__(
        self,
        ratings: Ratings | RatingsInParts,
        ledger: Ledger,
        *,
        noise: Noise | None = None,
        randomness: Randomness | None = None,
        tuning: Tuning = "public",
        key: bytes | None = None,
        share: float = 1.0,
    ) -> None:
        check_ratings_of_population(type(self).__name__, ratings)
        scale = ratings.catalogue.scale
        # Parts are checked whenever they are read.
        values = ratings.values if isinstance(ratings, Ratings) else np.zeros(0, dtype=np.float32)
        if not bool(np.all((values >= scale.low) & (values <= scale.high))):
            raise InputError(f"a rating lies outside the declared scale {scale}, which every bound rests on")
        self.ledger = ledger
        self.tuning = tuning
        self._share = share
        self._noise = noise
        self._randomness = Randomness() if randomness is None else randomness
        self._answered: list[tuple[int, ...]] = []
        hold(self, prepared(ratings, ledger.unit, self._randomness, key))

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
    def doubts(self) -> tuple[str, ...]:
        """Why nothing could be proven, whatever the ledger says."""
        return () if self.catalogue.declared else (UNDECLARED,)

    @property
    def notes(self) -> tuple[str, ...]:
        """What else has to be said for the promise to be read rightly."""
        return notes_on(held_by(self).handling, self.unit)

    @property
    def public(self) -> tuple[str, ...]:
        """What is not hidden from anyone."""
        return not_hidden(self.unit)

    @property
    def answered(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of all sums so far. Public: a shape may depend on the catalogue and on settings alone."""
        return tuple(self._answered)

    def plan(self, contribution: Contribution, share: float = 1.0) -> Plan:
        """The noise that one sum would get, and what it would cost. Public: no rating is looked at."""
        check_users(contribution, held_by(self))
        if needs_rating_bound(contribution, self.unit):
            self._check_nobody_counts_nothing(contribution)
        return plan_noise(
            contribution,
            share * self._share,
            self.ledger,
            self._noise,
            held_by(self).handling,
            seeded=self._randomness.is_seeded,
        )

    def _check_nobody_counts_nothing(self, contribution: Contribution) -> None:
        """A user without ratings must add nothing: only then do bounds for ratings add up to one for a user."""
        if exact_total(contribution, nobody(self.catalogue)).any():
            raise InputError(
                f"{contribution.name!r} counts users without ratings, so its bound for ratings says nothing of a user"
            )

    def _charged(self, contribution: Contribution, share: float) -> Plan:
        plan = self.plan(contribution, share)
        check_before_charging(contribution, held_by(self), self.unit)
        self.ledger.charge(plan.spend)
        self._answered.append(contribution.shape)
        return plan

    def _noisy(self, contribution: Contribution, ratings: Ratings | RatingsInParts, plan: Plan) -> Doubles:
        return plan.add_noise(finite_total(contribution, ratings), self._randomness)
