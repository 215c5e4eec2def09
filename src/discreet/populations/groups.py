"""Three groups of users with different concerns: the privacy specification of the literature, for experiments.

Surveys sort people into those who worry much about privacy (conservative), somewhat (moderate) and little (liberal).
Experiments on personalised privacy deal users, or single ratings, into such groups at random.
"""

from dataclasses import dataclass

import numpy as np

from discreet.data.ratings import Ratings
from discreet.doors import checked
from discreet.errors import require, require_number, require_seed
from discreet.populations.level_names import lowered
from discreet.populations.wishes import Wishes
from discreet.privacy.bounding import mixed, user_tags
from discreet.privacy.levels import By
from discreet.privacy.unit import UnitName
from discreet.types import AnyArray

NAMES = ("conservative", "moderate", "liberal")


@checked
@dataclass(frozen=True, kw_only=True)
class Groups:
    """Who is how careful, by chance: made-up wishes for real ratings.

    Parameters
    ----------
    conservative, moderate
        Shares of the first two groups; the rest is liberal.
    epsilons
        Of the three groups.
    spread
        How many levels lie between the epsilons of two neighbouring groups, on even steps. With 0 a group has its
        epsilon. Otherwise wishes of the first two groups are drawn evenly between theirs and the next one's epsilon,
        and lowered to a level: the specification of Zhang, Liu, Chen and Zhong (2018).
    of, by
        As for :class:`~discreet.Wishes`; ``by`` is usual for ``of`` if it is None.
    seed
        Of the dealing. A rating's group depends on its user and item and on nothing else, so a part of the ratings has
        the wishes of the whole.

    Examples
    --------
    >>> import discreet as dc
    >>> wishes = dc.populations.Groups(of="rating").wishes()
    >>> wishes
    Wishes(of each rating, by sampling, levels conservative: 0.1, moderate: 0.2, liberal: 1)
    >>> np.bincount(wishes.chosen(dc.synthetic(users=500, items=100, ratings=10_000, seed=1))).tolist()
    [5473, 3617, 910]
    """

    conservative: float = 0.54
    moderate: float = 0.37
    epsilons: tuple[float, float, float] = (0.1, 0.2, 1.0)
    spread: int = 0
    of: UnitName = "rating"
    by: By | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("conservative", "moderate"):
            require_number(name, getattr(self, name), least=0)
        require(self.conservative + self.moderate <= 1, "the shares of the groups must add up to at most 1")
        low, middle, high = self.epsilons
        require(0 < low < middle < high, f"the epsilons of the groups must be positive and rise, got {self.epsilons}")
        require(0 <= self.spread <= 100, f"spread must lie in 0 … 100, got {self.spread}")
        require_seed(self.seed)

    def wishes(self) -> Wishes:
        """The wishes of whatever ratings they are asked for."""
        low, middle, high = self.epsilons
        if self.spread == 0:
            levels = dict(zip(NAMES, self.epsilons, strict=True))
        else:
            steps = [*np.linspace(low, middle, self.spread + 2)[:-1], *np.linspace(middle, high, self.spread + 2)]
            levels = {f"{step:.4g}": round(float(step), 12) for step in steps}
        epsilons = np.array(list(levels.values()))

        def chooser(ratings: Ratings) -> AnyArray:
            first, second = self._uniform(ratings, "group"), self._uniform(ratings, "wish")
            group = np.searchsorted([self.conservative, self.conservative + self.moderate], first, side="right")
            wished = np.array(self.epsilons)[group]
            if self.spread:
                above = np.array([middle, high, high])[group]
                wished = wished + (above - wished) * second
            return lowered(wished, epsilons, "the groups")

        by: By = "weights" if self.of == "user" else "sampling"
        return Wishes(levels=levels, of=self.of, by=self.by or by, chooser=chooser, source="names")

    def _uniform(self, ratings: Ratings, what: str) -> AnyArray:
        """A number in [0, 1) for each user or rating, from the names of its user and item and the seed."""
        key = f"{what} {self.seed}".encode().ljust(32, b"\0")[:32]
        words = user_tags(ratings.users.names, key)
        if self.of == "rating":
            items = user_tags(ratings.catalogue.items.names, key[::-1])
            words = words[ratings.user_index] ^ items[ratings.item_index]
        return np.asarray((mixed(words) >> np.uint64(11)) * 2.0**-53)
