"""How ratings are divided: what a model learns from, what it sees of a user at test time, what it must foresee.

Seeds are fine here: nothing private depends on them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Protocol

import numpy as np

from discreet.data.ratings import Ratings
from discreet.doors import checked, checked_methods
from discreet.errors import InputError, is_number, require, require_seed, require_whole
from discreet.types import AnyArray, Booleans

Task = Literal["ratings", "ranking"]


@dataclass(frozen=True, eq=False)
class Split:
    """One division of the ratings.

    Parameters
    ----------
    train
        What the model is fitted on.
    histories
        What it sees of the users at test time; user by user aligned with ``test``.
    test
        What was held out.
    mask
        Ratings whose items are left out of rankings besides the histories (a validation part), or None.
    """

    train: Ratings
    histories: Ratings
    test: Ratings
    mask: Ratings | None = None


class SplitProtocol(Protocol):
    """What :func:`discreet.compare` needs of a protocol."""

    task: ClassVar[Task]

    @property
    def runs(self) -> int:
        """How many splits there will be."""
        ...

    @property
    def each(self) -> str:
        """What one of them is called: a fold, a seed."""
        ...

    def splits(self, ratings: Ratings) -> Iterator[Split]:
        """Divide the ratings, once for each run."""
        ...

    def describe(self) -> str:
        """One line that tells how to do the same again."""
        ...


@checked
@checked_methods
@dataclass(frozen=True, kw_only=True)
class Folds:
    """Cross-validation: every rating is held out once.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> [len(split.test) for split in dc.evaluation.Folds(count=3, seed=1).splits(ratings)]
    [200, 200, 200]
    >>> print(dc.evaluation.Folds(count=3, seed=1).describe())
    3 folds of all ratings, seed 1
    """

    count: int = 5
    seed: int = 0

    task: ClassVar[Task] = "ratings"
    each: ClassVar[str] = "fold"

    def __post_init__(self) -> None:
        require_whole("folds", self.count, least=2)
        require_seed(self.seed)

    @property
    def runs(self) -> int:
        """One for each fold."""
        return self.count

    def splits(self, ratings: Ratings) -> Iterator[Split]:
        """Each fold in turn is the test set."""
        require(len(ratings) >= self.count, f"{self.count} folds need at least {self.count} ratings")
        for train, test in ratings.folds(self.count, self.seed):
            yield Split(train, train, test)

    def describe(self) -> str:
        """One line that tells how to do the same again."""
        return f"{self.count} folds of all ratings, seed {self.seed}"


@dataclass(frozen=True, kw_only=True)
class _Repeated:
    """One split for each of the seeds ``seed``, ``seed + 1``, …: what several protocols have in common."""

    seed: int = 0
    repeats: int = 1

    each: ClassVar[str] = "seed"

    def __post_init__(self) -> None:
        require_seed(self.seed)
        require_whole("repeats", self.repeats, least=1)

    @property
    def runs(self) -> int:
        """One for each seed."""
        return self.repeats

    @property
    def seeds(self) -> range:
        """Every seed in turn."""
        return range(self.seed, self.seed + self.repeats)

    def _seeds(self) -> str:
        return f"seed {self.seed}" if self.repeats == 1 else f"seeds {self.seeds[0]} to {self.seeds[-1]}"


@checked
@checked_methods
@dataclass(frozen=True, kw_only=True)
class HoldOut(_Repeated):
    """A share of all ratings is held out, ``repeats`` times with seeds ``seed``, ``seed + 1``, …

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> [len(split.test) for split in dc.evaluation.HoldOut(test=0.2, repeats=2).splits(ratings)]
    [120, 120]
    """

    test: float = 0.2

    task: ClassVar[Task] = "ratings"

    def __post_init__(self) -> None:
        _check_share("test", self.test)
        super().__post_init__()

    def splits(self, ratings: Ratings) -> Iterator[Split]:
        """One split for each seed."""
        for seed in self.seeds:
            train, test = ratings.split(self.test, seed)
            yield Split(train, train, test)

    def describe(self) -> str:
        """One line that tells how to do the same again."""
        return f"{self.test:.0%} of all ratings held out, {self._seeds()}"


@checked
@checked_methods
@dataclass(frozen=True, kw_only=True)
class EachUser(_Repeated):
    """The ratings of every user are divided by the same shares: train, (validation,) test.

    A model is fitted on the train part, which is also the history. The validation part is left alone:
    its items are masked in rankings like those of the history.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> split = next(dc.evaluation.EachUser(seed=1).splits(ratings))
    >>> len(split.train) + len(split.mask) + len(split.test)
    600
    """

    shares: tuple[float, ...] = (0.8, 0.1, 0.1)

    task: ClassVar[Task] = "ranking"

    def __post_init__(self) -> None:
        shares = tuple(self.shares) if isinstance(self.shares, list | tuple) else ()
        require(
            len(shares) in (2, 3)
            and all(is_number(share) and share > 0 for share in shares)
            and abs(sum(shares) - 1) < 1e-9,
            "shares must be two or three positive numbers that sum to 1 (train, validation, test), "
            f"got {self.shares!r}",
        )
        object.__setattr__(self, "shares", shares)
        super().__post_init__()

    def splits(self, ratings: Ratings) -> Iterator[Split]:
        """One split for each seed."""
        for seed in self.seeds:
            train, *middle, test = ratings.split_each_user(self.shares, seed)
            yield Split(train, train, test, middle[0] if middle else None)

    def describe(self) -> str:
        """One line that tells how to do the same again."""
        shares = ":".join(f"{100 * share:g}" for share in self.shares)
        return f"ratings of each user {shares}, {self._seeds()}"


@checked
@checked_methods
@dataclass(frozen=True, kw_only=True)
class HeldOutUsers(_Repeated):
    """A share of the users is unknown at training; their history is given, the rest must be foreseen.

    This is the protocol that the variational autoencoders for recommendation made common. Only a model
    that needs no user of its own to learn from (fold-in) can take part: all of Discreet's can.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> split = next(dc.evaluation.HeldOutUsers(test=0.1, seed=1).splits(ratings))
    >>> split.train.n_users, split.histories.n_users, split.test.n_users
    (45, 5, 5)
    """

    test: float = 0.1
    history: float = 0.8

    task: ClassVar[Task] = "ranking"

    def __post_init__(self) -> None:
        _check_share("test", self.test)
        _check_share("history", self.history)
        super().__post_init__()

    def splits(self, ratings: Ratings) -> Iterator[Split]:
        """One split for each seed."""
        for seed in self.seeds:
            train, strangers = ratings.split_users(float(self.test), seed)
            histories, test = strangers.split_each_user((self.history, 1 - self.history), seed)
            yield Split(train, histories, test)

    def describe(self) -> str:
        """One line that tells how to do the same again."""
        return f"{self.test:.0%} of the users held out, {self.history:.0%} of their ratings as history, {self._seeds()}"


@checked
@checked_methods
@dataclass(frozen=True, kw_only=True)
class ByTime:
    """What came last is held out: after one moment for everybody, or of each user the last ones.

    With one moment (the default) a model knows nothing that was not known then, as in use: popularity of tomorrow is
    no help, and users who came later have no history. ``each_user`` holds out the last ratings of every user instead:
    everybody is tested with a history, but the model learns from others' ratings that came later.

    Parameters
    ----------
    test
        The share of the ratings that is held out; of each user at least one, if there are two or more.
    each_user
        Whether the last ones of each user are.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> split = next(ByTime(test=0.25).splits(ratings))
    >>> bool(split.train.times.max() <= split.test.times.min()), ByTime().describe()
    (True, 'the last 10% of all ratings held out')
    """

    test: float = 0.1
    each_user: bool = False

    task: ClassVar[Task] = "ranking"
    each: ClassVar[str] = "split"
    runs: ClassVar[int] = 1

    def __post_init__(self) -> None:
        _check_share("test", self.test)

    def splits(self, ratings: Ratings) -> Iterator[Split]:
        """One split: time has one order."""
        if ratings.times is None:
            raise InputError("these ratings have no times to split by: name their column, or split at random")
        late = _late_of_users(ratings, self.test) if self.each_user else _late(ratings.times, self.test)
        require(bool(late.any()) and not bool(late.all()), "too few ratings, or too few times, to hold out the last")
        both = ratings.of_split(by_time=True)
        train, test = (replace(both.select(rows), handling=both.handling) for rows in (~late, late))
        yield Split(train, train, test)

    def describe(self) -> str:
        """One line that tells how to do the same again."""
        whose = "each user's" if self.each_user else "all"
        return f"the last {self.test:.0%} of {whose} ratings held out"


def _late(times: AnyArray, share: float) -> Booleans:
    """The last of all ratings; those of one moment stay together.

    >>> _late(np.array([5, 1, 2, 2, 3]), 0.4).tolist()
    [True, False, False, False, True]
    """
    last = np.sort(times)[len(times) - round(share * len(times)) - 1]
    return np.asarray(times > last)


def _late_of_users(ratings: Ratings, share: float) -> Booleans:
    """The last of each user's ratings, at least one of two or more; of those at one time the later in the catalogue."""
    assert ratings.times is not None
    order = np.lexsort((ratings.item_index, ratings.times, ratings.user_index))
    counts = np.diff(ratings.indptr)
    held = np.where(counts > 1, np.maximum(np.rint(share * counts), 1), 0).astype(np.int64)
    place = np.arange(len(order)) - np.repeat(ratings.indptr[:-1], counts)
    late = np.zeros(len(order), dtype=np.bool_)
    late[order] = place >= np.repeat(counts - held, counts)
    return late


def _check_share(name: str, share: float) -> None:
    require(is_number(share) and 0 < share < 1, f"{name} must be a share between 0 and 1, got {share!r}")
