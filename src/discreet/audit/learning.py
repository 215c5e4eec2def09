"""Attacks that are learned: which numbers differ between the sides, what goes along with them, and Fisher's direction.

Rows of numbers come from runs on both sides. The first rows are kept whole, and only used to find the cells that tell
something. From then on rows are those cells. A direction is learned on the rows up to a quarter of the runs; the others
are scored, and nothing was learned from them.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from discreet.audit.attack import DIGITS, Read
from discreet.audit.canaries import Pair
from discreet.types import AnyArray, Doubles

Sides = tuple[Doubles, Doubles]
"""Scores without and with the canary."""
MOST_FEATURES, CURVED = 32, 8
"""Cells in a row at most, and of how many of the canary's own more is looked at than their size."""
PARTNERED, PARTNERS = 4, 4
"""To how many of the cells that differ others are added that go along with them, and how many to each."""
RIDGE = 1e-9
"""Of the variance: keeps a covariance invertible where noise cancels out exactly."""
MOST_KEPT = 8_000_000
"""Numbers of one side that are held in memory at once."""
CLEAR = 3.0
"""Deviations of a mean by which a cell must differ to be looked at: fewer cells can be learned from fewer rows."""


class Learner:
    """One attack that is learned, over all runs."""

    def __init__(self, name: str, runs: int) -> None:
        self._name, self._learned, self._half = name, runs // 4, runs // 8
        self._whole: tuple[list[Doubles], list[Doubles]] = ([], [])
        self._rows: tuple[list[Doubles], list[Doubles]] = ([], [])
        self._cells: AnyArray | None = None
        self._weights = np.zeros(0)
        self.size: int | None = None

    def see(self, side: int, run: int, row: Doubles, sure: AnyArray, extra: Callable[[], Doubles]) -> None:
        """One run: all its numbers, where those are that surely belong to the canary, and what else is looked at."""
        self.size = len(row)
        if run < self._half:
            if run < max(MOST_KEPT // len(row), 8):
                self._whole[side].append(row)
            return
        if self._cells is None:
            absent, present = np.stack(self._whole[0]), np.stack(self._whole[1])
            self._cells = telling_cells(absent, present, sure)
            self._weights = weights_of_all(absent, present)
            self._whole = ([], [])
        self._rows[side].append(np.concatenate([row[self._cells], [row @ self._weights], extra()]))

    def scores(self) -> dict[str, Sides]:
        """Of the runs after the first quarter; nothing where there is nothing to learn from."""
        return discriminate(self._name, self._rows, self._learned - self._half)


def telling_cells(absent: Doubles, present: Doubles, sure: AnyArray) -> AnyArray:
    """The cells that surely belong to the canary, those that differ, and what goes along with both."""
    sure = sure[sure < absent.shape[1]]
    return np.union1d(sure, differing_cells(absent, present, sure))


def differing_cells(absent: Doubles, present: Doubles, sure: AnyArray | None = None) -> AnyArray:
    """Where rows of numbers differ most between the sides, in deviations; and what goes along with these.

    A cell that tells nothing by itself may still hold the same noise as one that does, in another array or look. None
    where no cell differs.

    >>> rng = np.random.default_rng(1)
    >>> absent, present = rng.normal(size=(2, 30, 100))
    >>> present[:, 7] += 5
    >>> differing_cells(absent, present).tolist()
    [7]
    """
    middles = absent.mean(axis=0), present.mean(axis=0)
    gap = np.abs(middles[1] - middles[0])
    residuals = np.concatenate([absent - middles[0], present - middles[1]])
    spread = residuals.std(axis=0)
    rounding = 1e-6 * np.maximum(np.abs(middles[0]), np.abs(middles[1]))  # of arrays in single precision
    apart = np.where(gap > rounding, gap / (spread + rounding + 1e-300), 0.0)
    most = np.argsort(-apart, kind="stable")[: MOST_FEATURES // 2]
    most = most[apart[most] > CLEAR * np.sqrt(2 / len(absent))]
    hosts = np.concatenate([most[:PARTNERED], np.zeros(0, dtype=np.int64) if sure is None else sure[:PARTNERED]])
    if len(hosts) == 0:
        return np.asarray(most)
    residuals /= np.where(spread > 0, spread, 1.0)
    along = np.abs(residuals[:, hosts].T @ residuals) / len(residuals)
    partners = np.argsort(-along, axis=1, kind="stable")[:, :PARTNERS]
    # Of many cells and few rows some go along by chance.
    partners = partners[np.take_along_axis(along, partners, axis=1) > min(0.95, max(0.5, 6 / np.sqrt(len(residuals))))]
    return np.asarray(np.unique(np.concatenate([most, partners])))


def weights_of_all(absent: Doubles, present: Doubles) -> Doubles:
    """How much each cell says, taken alone: for leaks that are spread over so many cells that none shows by itself."""
    gap = present.mean(axis=0) - absent.mean(axis=0)
    variance = (absent.var(axis=0) + present.var(axis=0)) / 2
    size = np.maximum(np.abs(absent).max(axis=0), np.abs(present).max(axis=0))
    varies = variance > (1e-6 * size) ** 2  # what is exact is looked at by itself
    return np.asarray(np.divide(gap, variance, out=np.zeros_like(gap), where=varies), dtype=np.float64)


def fisher_direction(absent: Doubles, present: Doubles) -> Doubles:
    """Where two clouds of points lie furthest apart: inverse covariance times difference of means.

    >>> rng = np.random.default_rng(1)
    >>> noise = rng.normal(size=(100, 1)) * [1, 1]  # the same in both columns: their difference has none
    >>> direction = fisher_direction(noise, noise + [1, 0])
    >>> bool(direction[0] > 0 and abs(direction[0] + direction[1]) < 1e-6 * direction[0])
    True
    """
    gap = present.mean(axis=0) - absent.mean(axis=0)
    residuals = np.concatenate([absent - absent.mean(axis=0), present - present.mean(axis=0)])
    spread = residuals.std(axis=0)
    unit = np.where(spread > 0, spread, np.where(gap != 0, np.abs(gap), 1.0))
    covariance = (residuals / unit).T @ (residuals / unit) / max(1, len(residuals) - 2)
    covariance[np.diag_indices_from(covariance)] += RIDGE
    return np.asarray(np.linalg.solve(covariance, gap / unit) / unit, dtype=np.float64)


def discriminate(name: str, rows: tuple[Sequence[Doubles], Sequence[Doubles]], learned: int) -> dict[str, Sides]:
    """Learn a direction on the first rows, and score the others; nothing where there is nothing to learn from."""
    lengths = {len(row) for side in rows for row in side}
    if len(lengths) != 1 or lengths == {0}:
        return {}
    absent, present = np.stack(rows[0]), np.stack(rows[1])
    direction = fisher_direction(absent[:learned], present[:learned])
    middle = (absent[:learned].mean(axis=0) + present[:learned].mean(axis=0)) / 2
    scores = [np.round((side[learned:] - middle) @ direction, DIGITS) for side in (absent, present)]
    return {name: (scores[0], scores[1])}


# ── What is seen of the looks ──


def touched_cells(reads: Sequence[Read]) -> AnyArray:
    """Where the canary could move an answer, or one of its shape; none if these are many.

    What a mechanism drew is no sum, and the canary could move all of it.
    """
    touched: dict[int, AnyArray] = {}
    for look, _, moved in reads:
        touched[moved.size] = touched.get(moved.size, False) | (moved.ravel() != 0) | (look.law == "other")
    cells, start = [np.zeros(0, dtype=np.int64)], 1
    for _, _, moved in reads:
        cells.append(start + np.flatnonzero(touched[moved.size]))
        start += moved.size
    found = np.concatenate(cells)
    return found if len(found) <= MOST_FEATURES else found[:0]


def look_features(reads: Sequence[Read], row: Doubles, touched: AnyArray) -> Doubles:
    """More of the looks: how much noise they have, and if any at all on the canary's cells.

    Where these are many, what the answers say along the ways in which the canary moves looks of their size; and the
    first numbers that mechanisms drew. A plan may ask for less than in the run by which cells were chosen.
    """
    touched = touched[touched < len(row)]
    spreads = np.array([np.log(np.abs(read.centred).mean() / read.look.scale + 1e-300) for read in reads])[:CURVED]
    if len(touched) > 0:
        shift = flat([read.moved for read in reads])[touched][:CURVED]
        return np.concatenate([spreads, curves(row[touched], shift)])
    centred, moves = [read.centred.ravel() for read in reads], [read.moved.ravel() for read in reads]
    projections = [
        answer @ moved / np.linalg.norm(moved)
        for answer in centred
        for moved in moves
        if len(moved) == len(answer) and moved.any()
    ]
    drawn = [read.look.answer.ravel()[:CURVED] for read in reads if read.look.law == "other"]
    return np.concatenate([spreads, projections[: 2 * MOST_FEATURES], *drawn[:CURVED]])


def curves(values: Doubles, shift: Doubles | float = 0.0) -> Doubles:
    """Of a few numbers: whether each is even or odd, and whether it is exact, without or with the canary."""
    some = values[:CURVED]
    return np.concatenate([np.cos(np.pi * some), (some == 0).astype(np.float64), (some == shift).astype(np.float64)])


# ── What is seen of the released arrays ──


def canary_cells(arrays: Sequence[AnyArray], pair: Pair) -> AnyArray:
    """Where :func:`flat` puts the numbers of the items by which a canary differs, unless these are many."""
    size = pair.absent.n_items
    items = np.setxor1d(pair.own_absent.item_index, pair.own_present.item_index)
    if len(items) == 0:
        items = np.unique(pair.own_present.item_index)  # the same items with other values
    cells, start = [np.zeros(0, dtype=np.int64)], 1
    for array in arrays:
        if array.ndim > 0 and array.shape[-1] == size:
            rows = np.arange(array.size // size) * size
            cells.append(start + (rows[:, None] + items).ravel())
        start += array.size
    found = np.concatenate(cells)
    return found if len(found) <= MOST_FEATURES // 2 else found[:0]


def numeric(arrays: Mapping[str, AnyArray]) -> list[AnyArray]:
    """The arrays of numbers in a release, in order of their names."""
    return [arrays[name] for name in sorted(arrays) if arrays[name].dtype.kind in "biuf"]


def flat(arrays: Sequence[AnyArray], size: int | None = None) -> Doubles:
    """How many numbers were released, which should tell nothing, and then all of them; 0 for what is not finite.

    With ``size`` the row is cut or filled up to it, where shapes depend on the data: the number in front will tell.
    """
    rows = [np.asarray(array, dtype=np.float64).ravel() for array in arrays]
    numbers = resized(np.concatenate([np.array([sum(map(len, rows))]), *rows]), size)
    if not np.isfinite(numbers).all():
        numbers = np.nan_to_num(numbers, nan=0.0, posinf=0.0, neginf=0.0)
    return np.asarray(numbers, dtype=np.float64)


def resized(numbers: Doubles, size: int | None) -> Doubles:
    """Cut off, or filled up with zeros."""
    if size is None or size == len(numbers):
        return numbers
    return np.concatenate([numbers, np.zeros(size)])[:size]


def summaries(arrays: Sequence[AnyArray]) -> Doubles:
    """A few numbers about each array: its least, greatest, sum and spread; how many are 0, whole, odd and not finite.

    >>> summaries([np.array([0.0, 1.5, 3.0]), np.array([np.nan])]).tolist()
    [0.0, 3.0, 4.5, 1.0, 1.0, 2.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    """
    found: list[float] = []
    for array in arrays:
        numbers = np.asarray(array, dtype=np.float64).ravel()
        good = np.isfinite(numbers)
        if not good.all():
            numbers = numbers[good]
        if len(numbers):
            spread = np.abs(numbers - numbers.mean()).mean()
            found += [float(numbers.min()), float(numbers.max()), float(numbers.sum()), float(spread)]
        else:
            found += [0.0] * 4
        whole = numbers[numbers == np.floor(numbers)]
        zeros, odd = np.count_nonzero(numbers == 0), np.count_nonzero(whole % 2)
        found += [float(zeros), float(len(whole)), float(odd), float(array.size - len(numbers))]
    return np.array(found, dtype=np.float64)
