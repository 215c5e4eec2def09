"""Is a declared bound true? Brute force over all neighbours of a small universe, or many of a larger one."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.data.catalogue import Catalogue
from discreet.data.labels import Labels
from discreet.data.ratings import Ratings
from discreet.doors import checked
from discreet.errors import InputError, require, require_seed
from discreet.populations.contribution import Contribution
from discreet.populations.population import exact_total
from discreet.privacy.unit import Bound, Neighbours, UnitName
from discreet.strings import Strings
from discreet.types import AnyArray, Doubles, Floats

TOLERANCE = 1e-9
"""Sums of doubles round; noise is made for a little more than the bound (``FLOAT_MARGIN`` of the populations)."""

ABSENT = -1

MOST_USERS = 100
"""Of a table that is checked: more take long and tell no more."""


@dataclass(frozen=True)
class CheckedBound:
    """The furthest that one unit moved a statistic, beside the bound that was declared."""

    bound: Bound
    furthest: float
    cells: int
    pairs: int
    exhaustive: bool

    @property
    def share(self) -> float:
        """How much of the bound was reached; a bound far from 1 buys noise for nothing."""
        return self.furthest / self.bound.value


@checked
def check_sensitivity(
    contribution: Contribution,
    catalogue: Catalogue,
    values: Sequence[float],
    *,
    users: int = 2,
    neighbours: Neighbours = "add-or-remove",
    most: int = 2_000,
    seed: int = 0,
) -> list[CheckedBound]:
    """Move every unit of every data set in a universe, and raise if one moves the statistic beyond a declared bound.

    The universe is every way in which ``users`` can rate the items of ``catalogue`` with ``values``. If it has more
    than ``most`` data sets, so many are drawn at random, with all densities from empty to full. Checked are, for every
    bound that the contribution declares, its size in its norm and its number of cells; and that the total is a
    sum over users.

    Parameters
    ----------
    contribution
        The statistic with its bounds.
    catalogue, values, users
        The universe; let it be small, with the extreme values among ``values``.
    neighbours
        ``add-or-remove``, or ``replace``: one unit is another, and may move the statistic twice as far, unless its
        bound says less.
    most, seed
        How many data sets to try, and which.

    Raises
    ------
    InputError
        With the size of the worst pair, and nothing else about it.

    Examples
    --------
    >>> import discreet as dc
    >>> from discreet.models.sums.item_statistics import item_counts
    >>> catalogue = dc.Catalogue.of(["a", "b"], dc.Scale(1, 5))
    >>> [round(found.share, 6) for found in check_sensitivity(item_counts(2, dc.User()), catalogue, [1, 5])]
    [1.0]
    >>> lying = dc.Contribution("ratings", (2,), item_counts(2).total, (dc.Bound("user", "l2", 1.0),))
    >>> check_sensitivity(lying, catalogue, [1, 5])
    Traceback (most recent call last):
    discreet.errors.InputError: one user moves 'ratings' by 1.41421 in l2, beyond its declared bound of 1; \
the user has 2 ratings
    """
    require_seed(seed)
    require(1 <= users <= MOST_USERS, f"users must be from 1 to {MOST_USERS}, got {users}")
    require(bool(contribution.bounds), f"{contribution.name!r} declares no bound that could be checked")
    require(users >= 1 and len(values) >= 1, "a universe needs at least 1 user and 1 value")
    size = users * len(catalogue)
    exhaustive = (len(values) + 1) ** size <= most
    tables = _all_tables(size, len(values)) if exhaustive else _some_tables(size, len(values), most, seed)
    totals = _Totals(contribution, catalogue, np.asarray(values, dtype=np.float32))
    found = [_Worst(contribution.name, bound, neighbours) for bound in contribution.bounds]
    for number, row in enumerate(tables):
        table = row.reshape(users, -1)
        total = totals.of(table, np.arange(users))
        if number % 50 == 0:
            totals.check_additive(table, total)
        for worst in found:
            for other, user in _neighbours(table, worst.bound.unit, neighbours, len(values)):
                others = np.delete(np.arange(users), user) if len(other) < users else np.arange(users)
                worst.see(total - totals.of(other, others), int(np.count_nonzero(table[user] != ABSENT)))
    return [CheckedBound(worst.bound, worst.furthest, worst.cells, worst.pairs, exhaustive) for worst in found]


class _Worst:
    """The furthest move so far, for one bound; raises at the first that lies beyond it."""

    def __init__(self, name: str, bound: Bound, neighbours: Neighbours) -> None:
        self.bound, self._name, self._most = bound, name, bound.moved(neighbours)
        self._factor = 1 if neighbours == "add-or-remove" else 2
        self.furthest, self.cells, self.pairs = 0.0, 0, 0

    def see(self, moved: Doubles, ratings: int) -> None:
        bound, most = self.bound, self._most
        size = float(np.abs(moved).sum() if bound.norm == "l1" else np.sqrt((moved**2).sum()))
        cells = int(np.count_nonzero(np.abs(moved) > TOLERANCE))
        how = ""
        if size > most * (1 + TOLERANCE) + TOLERANCE:
            how = f"by {size:.6g} in {bound.norm}, beyond its declared bound of {most:.6g}"
        elif bound.cells and cells > self._factor * bound.cells:
            how = f"in {cells} cells, more than the {self._factor * bound.cells} that it declares"
        if how:
            whose = f"the user has {ratings} rating{'' if ratings == 1 else 's'}"
            raise InputError(f"one {bound.unit} moves {self._name!r} {how}; {whose}")
        self.furthest, self.cells = max(self.furthest, size), max(self.cells, cells)
        self.pairs += 1


class _Totals:
    """Totals of tables: users by items, each cell the position of a value, or ABSENT."""

    def __init__(self, contribution: Contribution, catalogue: Catalogue, values: Floats) -> None:
        self._contribution, self._catalogue, self._values = contribution, catalogue, values

    def of(self, table: AnyArray, users: AnyArray) -> Doubles:
        """The total, with ``users`` the number of each row: whoever is left keeps their name."""
        user, item = np.nonzero(table != ABSENT)
        names = Labels(Strings.of(map(str, users.tolist())), what="user")
        ratings = Ratings.of_columns(self._catalogue, names, user, item, self._values[table[user, item]])
        return exact_total(self._contribution, ratings)

    def check_additive(self, table: AnyArray, total: Doubles) -> None:
        alone = (self.of(table[[user]], np.array([user])) for user in range(len(table)))
        parts = sum(alone, start=np.zeros_like(total))
        if not np.allclose(parts, total, rtol=1e-9, atol=1e-9):
            raise InputError(f"{self._contribution.name!r} is not a sum over users: it is not the sum of their totals")


def _all_tables(size: int, values: int) -> Iterator[AnyArray]:
    for cells in itertools.product(range(ABSENT, values), repeat=size):
        yield np.array(cells, dtype=np.int64)


def _some_tables(size: int, values: int, count: int, seed: int) -> Iterator[AnyArray]:
    """Of every density, full tables and tables of one value among them."""
    rng = np.random.default_rng(seed)
    for number in range(count):
        table = (
            rng.integers(0, values if number % 3 else 1, size) if number % 7 else np.full(size, rng.integers(values))
        )
        table[rng.random(size) > rng.choice([0.1, 0.3, 0.6, 0.9, 1.0])] = ABSENT
        yield table


def _neighbours(table: AnyArray, unit: UnitName, neighbours: Neighbours, values: int) -> Iterator[tuple[AnyArray, int]]:
    """Tables that differ from this one in one unit, and whose it is. Removing is enough: the other way is the same."""
    for user in range(len(table)):
        if unit == "user" and neighbours == "add-or-remove":
            yield np.delete(table, user, axis=0), user
            continue
        rated = np.flatnonzero(table[user] != ABSENT)
        if unit == "user":  # others of the universe: shifted values, and the items that were not rated
            for shift in range(values):
                other = table.copy()
                other[user] = np.where(table[user] == ABSENT, shift, ABSENT)
                yield other, user
                other = other.copy()
                other[user] = np.where(table[user] == ABSENT, ABSENT, (table[user] + shift) % values)
                yield other, user
            continue
        for item in rated:
            for value in [ABSENT] if neighbours == "add-or-remove" else range(values):
                other = table.copy()
                other[user, item] = value
                yield other, user
