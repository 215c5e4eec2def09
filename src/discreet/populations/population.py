"""Who is asked, and what they answer."""

from typing import Protocol

import numpy as np

from discreet.data.catalogue import Catalogue
from discreet.data.ratings import Ratings
from discreet.errors import InputError
from discreet.populations.contribution import Contribution
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.spend import Spend
from discreet.privacy.unit import Unit
from discreet.types import Doubles


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
    def guarantee(self) -> Guarantee:
        """What the sums answered so far promise to a user."""
        ...

    def sum(self, contribution: Contribution, share: float = 1.0) -> Doubles:
        """The total of a contribution over all users, exact or noisy.

        ``share`` is how much of the whole budget may be spent on it; the shares of a model sum to 1.
        """
        ...

    def deviation(self, contribution: Contribution, share: float = 1.0) -> float:
        """Standard deviation of the noise that :meth:`sum` would put on each cell. Public."""
        ...


class NoPrivacy:
    """Exact sums: whoever sees the release may learn anything about anyone.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> print(dc.Bias().fit(dc.NoPrivacy(ratings)).guarantee)
    No privacy: exact sums over the users were released.
    """

    unit = None
    spends: tuple[Spend, ...] = ()

    def __init__(self, ratings: Ratings) -> None:
        check_ratings_of_population("NoPrivacy", ratings)
        self._ratings = ratings

    @property
    def catalogue(self) -> Catalogue:
        """The public items."""
        return self._ratings.catalogue

    @property
    def guarantee(self) -> Guarantee:
        """None."""
        return Guarantee.none("exact sums over the users were released")

    def sum(self, contribution: Contribution, share: float = 1.0) -> Doubles:
        """The exact total."""
        return exact_total(contribution, self._ratings)

    def deviation(self, contribution: Contribution, share: float = 1.0) -> float:
        """There is no noise."""
        return 0.0


def check_ratings_of_population(name: str, ratings: object) -> None:
    """Raise unless these are ratings, with one for each pair."""
    if not isinstance(ratings, Ratings):
        raise InputError(f"{name} takes Ratings, got {type(ratings).__name__}")
    if ratings.has_repeats:
        raise InputError("some pairs are rated more than once: call ratings.merge('last') first")


def exact_total(contribution: Contribution, ratings: Ratings) -> Doubles:
    """The total itself, checked against the shape that the contribution declares."""
    total = np.asarray(contribution.total(ratings), dtype=np.float64)
    if total.shape != contribution.shape:
        raise InputError(
            f"the contribution {contribution.name!r} declares shape {contribution.shape} "
            f"but its total has shape {total.shape}"
        )
    return total
