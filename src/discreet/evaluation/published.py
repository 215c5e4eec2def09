"""The two splits behind the published tables of private recommenders, number for number.

Both come from the code that accompanies Chien et al. (ICML 2021) and Krichene et al. (ICML 2023); the second one goes
back to Liang et al. (WWW 2018). They draw with numpy's old generator (``RandomState``), whose streams are frozen, so
the same seed gives the same split on every machine and in every version. Rows are counted in order of user and item,
by number: this is the order of GroupLens's own files ``ratings.dat`` (10M) and ``ratings.csv`` (20M).

**Ratings** (MovieLens 10M). Of n ratings, the first round(0.8 n) places of a random permutation are for training. Of
the others, in their old order, those at the first half of a second permutation, drawn with the same seed, are for
validation, and the rest is the test. A test user is known by training and validation ratings together.

**Ranking** (MovieLens 20M). Ratings above 3.5 stay, of users with at least five of them. The users, in order, are
permuted: the last 10,000 are the test, the 10,000 before them validation, the others train. Only items count that
some training user rated. With a fresh stream of the same seed each test user in order, if at least five ratings are
left, loses ⌊n/5⌋ of them at random: those must be foreseen, the others are the history.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.data.ratings import Ratings
from discreet.doors import checked, checked_methods
from discreet.errors import InputError, is_number, require, require_seed, require_whole
from discreet.evaluation.protocols import Split, Task
from discreet.types import Booleans


@checked
@checked_methods
@dataclass(frozen=True, kw_only=True)
class PublishedRatings:
    """The split of MovieLens 10M in the published tables: 80 % train, 10 % validation, 10 % test.

    Parameters
    ----------
    seed
        1234 in the tables.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> split = next(dc.evaluation.PublishedRatings().splits(ratings))
    >>> len(split.train), len(split.histories), len(split.test)
    (480, 540, 60)
    """

    seed: int = 1234

    task: ClassVar[Task] = "ratings"
    each: ClassVar[str] = "split"
    runs: ClassVar[int] = 1

    def __post_init__(self) -> None:
        require_seed(self.seed)

    def splits(self, ratings: Ratings) -> Iterator[Split]:
        """The one split."""
        ratings = ratings.of_split()
        in_train = _sampled(len(ratings), 0.8, self.seed)
        others = np.flatnonzero(~in_train)
        in_test = np.zeros(len(ratings), dtype=np.bool_)
        in_test[others[~_sampled(len(others), 0.5, self.seed)]] = True
        yield Split(ratings.select(in_train), ratings.select(~in_test), ratings.select(in_test))

    def describe(self) -> str:
        """One line that tells how to do the same again."""
        return f"the published split of ratings 80:10:10, validation as further history, seed {self.seed}"


@checked
@checked_methods
@dataclass(frozen=True, kw_only=True)
class PublishedRanking:
    """The split of MovieLens 20M in the published tables: strangers whose likings must be foreseen.

    Parameters
    ----------
    held_out
        How many users are the test, and how many the validation, which is not used here: 10,000 in the tables.
    above
        A rating above this is a liking; all others are dropped.
    at_least
        How many likings a user needs to be kept, and a test user to be tested.
    seed
        98765 in the tables.

    Notes
    -----
    The catalogue stays whole, whereas in the tables it shrinks to the items that some training user likes. Were it to
    shrink, the list itself would say what was rated, and no guarantee could be proven. An item that nobody in training
    likes can at most take a place in a ranking from one that somebody does, so this never helps.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=90, items=40, ratings=1800, seed=1)
    >>> split = next(dc.evaluation.PublishedRanking(held_out=10).splits(ratings))
    >>> split.histories.n_users, split.train.values.min() > 3.5
    (10, np.True_)
    """

    held_out: int = 10_000
    above: float = 3.5
    at_least: int = 5
    seed: int = 98765

    task: ClassVar[Task] = "ranking"
    each: ClassVar[str] = "split"
    runs: ClassVar[int] = 1

    def __post_init__(self) -> None:
        require_whole("held_out", self.held_out, least=1)
        require_whole("at_least", self.at_least, least=1)
        require(is_number(self.above), f"above must be a rating, got {self.above!r}")
        require_seed(self.seed)

    def splits(self, ratings: Ratings) -> Iterator[Split]:
        """The one split."""
        likings = ratings.of_split().select(ratings.values > self.above)
        likings = likings.select_users(np.flatnonzero(np.diff(likings.indptr) >= self.at_least))
        if likings.n_users <= 2 * self.held_out:
            raise InputError(
                f"this split holds out {2 * self.held_out:,} users with at least {self.at_least} ratings above "
                f"{self.above:g}, and needs more than that: choose a smaller held_out"
            )
        order = np.random.RandomState(self.seed).permutation(likings.n_users)
        train = likings.select_users(np.sort(order[: -2 * self.held_out]))
        strangers = likings.select_users(np.sort(order[-self.held_out :]))
        liked = np.bincount(train.item_index, minlength=train.n_items) > 0
        strangers = strangers.select(liked[strangers.item_index])
        foreseen = self._foreseen(strangers)
        yield Split(train, strangers.select(~foreseen), strangers.select(foreseen))

    def _foreseen(self, strangers: Ratings) -> Booleans:
        """Which ratings must be foreseen. One user after the other, for they share one stream."""
        stream = np.random.RandomState(self.seed)
        chosen = np.zeros(len(strangers), dtype=np.bool_)
        for start, size in zip(strangers.indptr[:-1].tolist(), np.diff(strangers.indptr).tolist(), strict=True):
            if size >= self.at_least:
                chosen[start + stream.choice(size, size=int(0.2 * size), replace=False)] = True
        return chosen

    def describe(self) -> str:
        """One line that tells how to do the same again."""
        return (
            f"the published split by users, {self.held_out:,} of them held out, ratings above {self.above:g}, "
            f"a fifth of each to foresee, seed {self.seed}"
        )


def _sampled(count: int, share: float, seed: int) -> Booleans:
    """Which of ``count`` rows pandas' ``sample(frac=share, random_state=seed)`` takes."""
    chosen = np.zeros(count, dtype=np.bool_)
    chosen[np.random.RandomState(seed).permutation(count)[: round(share * count)]] = True
    return chosen
