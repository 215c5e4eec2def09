"""Who is asked, and what they answer."""

from typing import Protocol

import numpy as np

from discreet.data.catalogue import Catalogue
from discreet.data.ratings import Ratings
from discreet.errors import InputError
from discreet.populations.contribution import Contribution
from discreet.privacy.guarantee import Guarantee
from discreet.types import Doubles


class Population(Protocol):
    """What a model may ask: the public catalogue, and sums over users."""

    @property
    def catalogue(self) -> Catalogue:
        """The public items."""
        ...

    def sum(self, contribution: Contribution) -> Doubles:
        """The total of a contribution over all users, exact or noisy."""
        ...

    @property
    def guarantee(self) -> Guarantee:
        """What the sums answered so far promise to a user."""
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

    def __init__(self, ratings: Ratings) -> None:
        if not isinstance(ratings, Ratings):
            raise InputError(f"NoPrivacy takes Ratings, got {type(ratings).__name__}")
        if ratings.has_repeats:
            raise InputError("some pairs are rated more than once: call ratings.merge('last') first")
        self._ratings = ratings

    @property
    def catalogue(self) -> Catalogue:
        """The public items."""
        return self._ratings.catalogue

    @property
    def guarantee(self) -> Guarantee:
        """None."""
        return Guarantee.none("exact sums over the users were released")

    def sum(self, contribution: Contribution) -> Doubles:
        """The exact total."""
        total = np.asarray(contribution.total(self._ratings), dtype=np.float64)
        if total.shape != contribution.shape:
            raise InputError(
                f"the contribution {contribution.name!r} declares shape {contribution.shape} "
                f"but its total has shape {total.shape}"
            )
        return total
