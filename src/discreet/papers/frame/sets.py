"""Which ratings are learned from and which are held out: drawn anew by every repetition, or given with the data."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from discreet.data.catalogue import Catalogue
from discreet.data.labels import Labels
from discreet.data.ratings import Ratings
from discreet.errors import require
from discreet.types import AnyArray


@dataclass(frozen=True)
class Sets:
    """The ratings of an experiment.

    Parameters
    ----------
    ratings
        All of them; or those to learn from, where a test set is given.
    given
        The test set that was published with them (Netflix's Probe, Yahoo's second file), over the same users and items.
    most_rated
        How many items were kept, where not all were.
    """

    ratings: Ratings
    given: Ratings | None = None
    most_rated: int | None = None

    def split(self, *, test: float, seed: int) -> tuple[Ratings, Ratings]:
        """To learn from, and to test on: the given sets, or a share of all ratings at random."""
        return self.ratings.split(test=test, seed=seed) if self.given is None else (self.ratings, self.given)

    @classmethod
    def with_test(cls, train: Ratings, test: Ratings) -> "Sets":
        """Two files as one: everyone and everything that is in either is in both.

        >>> import discreet as dc
        >>> both = dc.synthetic(users=5, items=8, ratings=30, seed=1)
        >>> train, test = both.select_users([0, 1, 2]), both.select_users([2, 3])
        >>> sets = Sets.with_test(train, test)
        >>> sets.ratings.n_users, sets.given.n_users, sets.given.users.names.tolist()
        (4, 4, ['1', '2', '3', '4'])
        """
        require(
            train.catalogue.scale == test.catalogue.scale,
            f"the test set has the scale {test.catalogue.scale}, and the ratings {train.catalogue.scale}",
        )
        if train.users is test.users and train.catalogue is test.catalogue:
            return cls(train, test)
        users = list(dict.fromkeys((*train.users.names.tolist(), *test.users.names.tolist())))
        items = list(dict.fromkeys((*train.catalogue.items.names.tolist(), *test.catalogue.items.names.tolist())))
        catalogue = Catalogue.of(items, train.catalogue.scale)
        labels = Labels.of(users, what="user")
        return cls(_moved(train, catalogue, labels), _moved(test, catalogue, labels))

    def keep_most_rated(self, count: int) -> "Sets":
        """The items that were rated most often in what is learned from, of equally often rated ones the first.

        Matrices of items by items shrink with it: 500 items need 1,263 times less memory than Netflix's 17,770. Which
        items they are depends on the ratings, and nobody pays for that: it is part of an experiment, not of a release.
        """
        require(count >= 1, f"the number of items to keep must be at least 1, got {count}")
        counts = np.bincount(self.ratings.item_index, minlength=self.ratings.n_items)
        if count >= len(counts):
            return self
        kept = np.sort(np.argsort(-counts, kind="stable")[:count])
        given = None if self.given is None else only_items(self.given, kept)
        return Sets(only_items(self.ratings, kept), given, count)


def only_items(ratings: Ratings, kept: AnyArray) -> Ratings:
    """The ratings of the items at these increasing positions, renumbered; everyone stays.

    >>> import discreet as dc
    >>> some = only_items(dc.synthetic(users=5, items=8, ratings=30, seed=1), np.array([1, 3]))
    >>> some.n_users, some.n_items, some.catalogue.items.names.tolist()
    (5, 2, ['2', '4'])
    """
    chosen = np.zeros(ratings.n_items, dtype=np.bool_)
    chosen[kept] = True
    renumber = np.cumsum(chosen, dtype=np.int32) - np.int32(1)
    some = ratings.select(chosen[ratings.item_index])
    catalogue = Catalogue.of(ratings.catalogue.items.names[kept].tolist(), ratings.catalogue.scale)
    return replace(some, catalogue=catalogue, item_index=renumber[some.item_index])


def _moved(ratings: Ratings, catalogue: Catalogue, users: Labels) -> Ratings:
    """The same ratings among more users and items."""
    user_at, item_at = _places(ratings.users.names, users), _places(ratings.catalogue.items.names, catalogue.items)
    return Ratings.of_columns(
        catalogue,
        users,
        user_at[ratings.user_index],
        item_at[ratings.item_index],
        ratings.values,
        handling=ratings.handling,
    )


def _places(names: Iterable[str], among: Labels) -> AnyArray:
    return np.array([among.positions[name] for name in names], dtype=np.int32)
