"""Is the noise what the ledger says? Tested on the looks themselves, whose exact totals an audit knows.

In every run y − total is noise of a known law, anew in every cell, look and run. Each value is turned into a normal
one, z = Φ⁻¹(F(noise)), so sums of squares follow χ² exactly, whatever the law. Too small sums refute the ledger:

- of z itself: less noise than was booked, on all cells, on some, or in some runs;
- of (z − z′)/√2 and (z + z′)/√2 for two values that should be independent: the same noise twice, in two runs, in two
  looks or in two cells of one look.

More noise than was booked is no leak, and a total that is off, say because ratings were left out, only makes sums
greater: so neither is accused. All tests together are wrong with at most the risk that is given (Bonferroni).

This needs no canary that happens to lie where the noise is missing, and a few hundred runs are plenty. How much of
epsilon is lost it does not say: the attacks do.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.special import chdtr, ndtri

from discreet.audit.attack import Read
from discreet.types import AnyArray, Doubles

ROWS = 200
"""Runs on each side that are tested."""
CELLS = 4096
"""Cells of a look that are tested: so many from the start, and as many over all of it."""
MOST_KEPT = 4_000_000
"""Values that are held in memory on each side."""
MOST_LOOKS = 12
"""Looks that are compared with each other."""
SHARE = 0.001
"""Of the risk of a whole audit; the bounds have the rest. So little is enough, since so many values are tested."""


class _Test(NamedTuple):
    """A sentence, and the odds of a false alarm by it."""

    odds: float
    sentence: str


class Noise:
    """The noise of the first runs on both sides."""

    def __init__(self) -> None:
        self._form: tuple[tuple[str, int], ...] | None = None
        self._looks: list[tuple[str, tuple[int, ...]]] = []
        self._rows: tuple[list[list[Doubles]], list[list[Doubles]]] = ([], [])

    def see(self, side: int, reads: Sequence[Read]) -> None:
        """One run. Runs that asked for something else than the first are left out."""
        fit = [read for read in reads if _is_plain(read)]
        form = tuple((read.look.contribution.name, read.look.answer.size) for read in fit)
        if self._form is None:
            self._form = form
            self._looks = [(read.look.contribution.name, read.look.answer.shape) for read in fit]
        cells = sum(min(read.look.answer.size, 2 * CELLS) for read in fit)
        most = min(ROWS, max(8, MOST_KEPT // max(1, cells)))
        if form == self._form and form and len(self._rows[side]) < most:
            self._rows[side].append([normal_values(read, side) for read in fit])

    def faults(self, risk: float) -> list[str]:
        """What is wrong with it, in words; any at all with at most ``risk`` where nothing is."""
        sides = [[np.stack(list(look)) for look in zip(*rows, strict=True)] for rows in self._rows if rows]
        if not sides:
            return []
        tests: list[_Test] = []
        whole = [np.concatenate(looks) for looks in zip(*sides, strict=True)]
        for place, (name, shape) in enumerate(self._looks):
            values = whole[place]
            tests.append(_smaller(values, f"there is less noise on {name!r} than the ledger says"))
            runs = [side[place] for side in sides]
            pairs = [(rows[0::2][: len(rows) // 2], rows[1::2][: len(rows) // 2]) for rows in runs]
            if len(runs) == 2:
                most = min(map(len, runs))
                pairs.append((runs[0][:most], runs[1][:most]))
            again = f"the noise on {name!r} comes again in other runs"
            tests += [_smaller(_apart(one, two), again) for one, two in pairs if len(one)]
            within = f"the noise on {name!r} comes again in other cells"
            cells = values[:, : 2 * (values.shape[1] // 2)]
            if cells.shape[1]:
                tests += _same(cells[:, 0::2], cells[:, 1::2], within)
            if len(shape) > 1 and shape[0] > 1 and values.shape[1] == np.prod(shape):
                rows = values.reshape(len(values), shape[0], -1)[:, : 2 * (shape[0] // 2)]
                halves = [rows[:, turn::2].reshape(len(values), -1) for turn in range(2)]
                tests += _same(halves[0], halves[1], within)
        for one, two in combinations(range(min(MOST_LOOKS, len(whole))), 2):
            most = min(whole[one].shape[1], whole[two].shape[1])
            names = f"{self._looks[one][0]!r} and {self._looks[two][0]!r} have the same noise"
            tests += _same(whole[one][:, :most], whole[two][:, :most], names)
        return list(dict.fromkeys(test.sentence for test in tests if test.odds * len(tests) < risk))


def _is_plain(read: Read) -> bool:
    """Whether the ledger says exactly how the noise of this look is distributed."""
    look = read.look
    if len(look.spends) != 1:
        return False
    (spend,) = look.spends
    plain = spend.mechanism == look.law and spend.sampling_rate == 1 and spend.times == 1
    return plain and abs(look.scale / spend.scale - 1) < 1e-6 and look.answer.size > 0


def normal_values(read: Read, side: int) -> Doubles:
    """The noise on some cells, as values that are standard normal if the ledger is right."""
    noise = (read.centred - side * read.moved).ravel()[_some(read.look.answer.size)] / read.look.scale
    if read.look.law == "laplace":
        noise = -np.sign(noise) * ndtri(0.5 * np.exp(-np.minimum(np.abs(noise), 500.0)))
    return np.asarray(noise, dtype=np.float64)


def _some(size: int) -> AnyArray | slice:
    if size <= 2 * CELLS:
        return slice(None)
    return np.union1d(np.arange(CELLS), np.linspace(0, size - 1, CELLS).astype(np.int64))


def _apart(one: Doubles, two: Doubles) -> Doubles:
    return np.asarray((one - two) / np.sqrt(2), dtype=np.float64)


def _same(one: Doubles, two: Doubles, sentence: str) -> list[_Test]:
    """Whether two sets of values are the same, or each other's opposite."""
    return [_smaller(_apart(one, two), sentence), _smaller(_apart(one, -two), sentence)]


def _smaller(values: Doubles, sentence: str) -> _Test:
    """The odds of values as small as these: of all together, of the smallest column, of the smallest row."""
    squares = values**2
    runs, cells = values.shape
    whole = float(chdtr(runs * cells, squares.sum()))
    column = float(chdtr(runs, squares.sum(axis=0)).min()) * cells
    row = float(chdtr(cells, squares.sum(axis=1)).min()) * runs
    return _Test(3 * min(whole, column, row), sentence)
