"""Who is asked, and what they answer."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

import numpy as np

from discreet.collect.promise import promise_of, spends_of
from discreet.data.catalogue import Catalogue
from discreet.data.parts import RatingsInParts
from discreet.data.ratings import Ratings
from discreet.doors import checked, checked_methods
from discreet.errors import InputError, require
from discreet.kernels.compiling import always_compiled
from discreet.looks import Look, Looks, Reading
from discreet.populations.adding import InParts as InParts
from discreet.populations.adding import added_up
from discreet.populations.contribution import MOST_USERS, Contribution
from discreet.populations.engine import Engine, check_engine, on_engine
from discreet.populations.held import held_by, hold, reading_of
from discreet.populations.some import sampled_users, some_users
from discreet.populations.steps import Question, Steps, StepSums
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.randomness import Randomness
from discreet.privacy.spend import Spend
from discreet.privacy.unit import Unit
from discreet.types import Doubles

if TYPE_CHECKING:
    from discreet.populations.mechanism import Drawn, Mechanism

PUBLIC_SEED = 0
"""Of samples where nothing is hidden, so that training without privacy comes out the same each time."""


class Population(Protocol):
    """What a model may ask: the public catalogue, and sums over users."""

    @property
    def catalogue(self) -> Catalogue:
        """The public items."""
        ...

    @property
    def unit(self) -> Unit | None:
        """Whose secret is kept; None where nothing is hidden."""
        ...

    @property
    def spends(self) -> tuple[Spend, ...]:
        """Every look at the ratings so far."""
        ...

    @property
    def unpaid_looks(self) -> Iterable[Look]:
        """What is on record of unpaid looks at these ratings: settings may have been chosen by them."""
        ...

    @property
    def log(self) -> Looks:
        """Where further unpaid looks at these ratings are written down."""
        ...

    @property
    def reading(self) -> Reading:
        """How these ratings were read."""
        ...

    @property
    def guarantee(self) -> Guarantee:
        """What the sums answered so far promise to a user."""
        ...

    def sum(self, contribution: Contribution, share: float = 1.0) -> Doubles:
        """The total of a contribution over all users, exact or noisy.

        ``share`` is how much of the whole budget may be spent on it; the shares of a model sum to 1.
        """
        ...

    def deviation(self, question: Question, share: float = 1.0) -> float:
        """Standard deviation of the noise on each cell of a sum, or of each of several steps. Public."""
        ...

    def steps(self, steps: Steps, share: float = 1.0) -> StepSums:
        """Many sums over secret samples of the users, paid for together and drawn one by one.

        ``share`` is how much of the whole budget may be spent on all of them.
        """
        ...

    def run(self, mechanism: "Mechanism", share: float = 1.0) -> "Drawn":
        """What a mechanism draws from the ratings that is no sum, by name."""
        ...


@checked
@checked_methods
class NoPrivacy:
    """Exact sums: whoever sees the release may learn anything about anyone, or all that users reported.

    Ratings that users perturbed at home were private, or not, before anyone summed them: the guarantee of a release is
    then that of their reports (:mod:`discreet.collect.promise`).

    Parameters
    ----------
    ratings
        What is summed.
    engine
        What computes the sums: ``numba``, or ``torch``, on a GPU where there is one.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> print(dc.Bias().fit(dc.NoPrivacy(ratings)).guarantee)
    No privacy: exact sums over the users were released.
    """

    unit = None

    def __init__(self, ratings: Ratings | RatingsInParts, *, engine: Engine = "numba") -> None:
        check_engine(engine)
        self._engine: Engine = engine
        check_ratings_of_population("NoPrivacy", ratings)
        hold(self, ratings)
        self._perturbed = ratings.perturbed if isinstance(ratings, Ratings) else None
        self._report_digest = ratings.report_digest if isinstance(ratings, Ratings) else None

    @property
    def catalogue(self) -> Catalogue:
        """The public items."""
        return held_by(self).catalogue

    @property
    def spends(self) -> tuple[Spend, ...]:
        """What users spent themselves when they perturbed their ratings, if they did."""
        return () if self._perturbed is None else spends_of(self._perturbed, self._report_digest)

    @property
    def unpaid_looks(self) -> Iterable[Look]:
        """Unpaid looks at these ratings."""
        return self.log

    @property
    def log(self) -> Looks:
        """Where further unpaid looks are written down: it travels with the ratings."""
        return held_by(self).looks

    @property
    def reading(self) -> Reading:
        """How these ratings were read."""
        return reading_of(held_by(self))

    @property
    def guarantee(self) -> Guarantee:
        """None, unless users had perturbed their ratings."""
        if self._perturbed is None:
            return Guarantee.none("exact sums over the users were released")
        return promise_of(self._perturbed)

    def sum(self, contribution: Contribution, share: float = 1.0) -> Doubles:
        """The exact total."""
        return exact_total(on_engine(contribution, self._engine), held_by(self))

    def deviation(self, question: Question, share: float = 1.0) -> float:
        """There is no noise."""
        return 0.0

    def steps(self, steps: Steps, share: float = 1.0) -> StepSums:
        """Exact sums over samples of the users, which are drawn from a public seed: the same in each fit."""
        randomness = Randomness(seed=PUBLIC_SEED)

        def answer(contribution: Contribution) -> Doubles:
            sample = sampled_users(held_by(self), steps.sampling_rate, randomness)
            return exact_total(on_engine(contribution, self._engine), some_users(held_by(self), sample))

        return StepSums(steps, 0.0, answer)

    def run(self, mechanism: "Mechanism", share: float = 1.0) -> "Drawn":
        """What it finds without noise."""
        from discreet.populations.mechanism import as_declared

        with always_compiled():
            return as_declared(mechanism, mechanism.exact(held_by(self)))


def check_ratings_of_population(name: str, ratings: object) -> None:
    """Raise unless these are ratings, with one for each pair."""
    if isinstance(ratings, RatingsInParts):  # which were checked when they were first read
        return
    if not isinstance(ratings, Ratings):
        raise InputError(f"{name} takes Ratings, got {type(ratings).__name__}")
    if ratings.has_repeats:
        raise InputError("some pairs are rated more than once: call ratings.merge('last') first")


def exact_total(contribution: Contribution, ratings: InParts | None) -> Doubles:
    """The total itself, checked against the shape that the contribution declares; 0 over nobody at all (None).

    A contribution is additive over users, so of many users it is added up part by part: what is made of ratings on the
    way to their sum then takes little memory beside them, and ratings in files need not all be in memory.
    """
    whole = contribution.finish is not None
    if ratings is None:
        if contribution.finish is None:
            return np.zeros(contribution.shape)
        return np.asarray(contribution.finish(np.zeros(contribution.shape, dtype=np.int64)), dtype=np.float64)
    require(not whole or ratings.n_users <= MOST_USERS, f"{contribution.name!r} is for at most {MOST_USERS:,} users")
    total = added_up(contribution, ratings)
    return total if contribution.finish is None else np.asarray(contribution.finish(total), dtype=np.float64)
