"""Is the noise what the ledger says? Tested on the looks themselves, whose exact totals an audit knows.

In every run y − total is noise of a known law, anew in every cell, look and run. Each value v is turned into a normal
one of the same odds, |z| = Φ⁻¹(1 − P(noise > |v|)), so that sums of squares follow χ², whatever the law. Too small sums
refute the ledger:

- of the noise itself: there is less than was booked, on all cells, on some, or in some runs;
- of differences and sums of two values that should be independent: the same noise twice, in two runs, in two looks or
  in two cells of one look. The law of a difference of two Laplace numbers of scale 1 is P(v > x) = (1 + x/2) e⁻ˣ / 2.

More noise than was booked is no leak, and a total that is off, say because ratings were left out, only makes values
greater (Anderson: noise about 0 exceeds any size less often than noise about another middle): so neither is accused.
What a run asks for next may hang on the noise that came before. So noise is tested in all runs that asked for the same
as the first up to that look: whoever left out those that went on in another way would keep small noise, say, and accuse
it. Beside later looks it is then of no known law, and only the later one of two is taken as fresh (Anderson again).

All tests together are wrong with at most the risk that is given (Bonferroni).

This needs no canary that happens to lie where the noise is missing, and a few hundred runs are plenty. How much of
epsilon is lost it does not say: the attacks do.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import combinations, takewhile
from typing import NamedTuple

import numpy as np
from scipy.special import chdtr, ndtri

from discreet.audit.attack import Read
from discreet.types import Doubles

ROWS = 200
"""Runs on each side that are tested."""
CELLS = 4096
"""Cells of a look that are tested: so many from the start, and as many over all of it."""
MOST_KEPT = 4_000_000
"""Values that are held in memory on each side."""
MOST_LOOKS = 12
"""Looks that are compared with each other."""
ALIKE = 0.8
"""Where there is too little noise as well, values come again if their differences are smaller than this beside it."""
SHARE = 0.001
"""Of the risk of a whole audit; the bounds have the rest. So little is enough, since so many values are tested."""


class _Test(NamedTuple):
    """A sentence, the odds of a false alarm by it, how large the values are on average, and of which looks they are."""

    odds: float
    size: float
    looks: tuple[int, ...]
    sentence: str


class Noise:
    """The noise of the first runs on both sides."""

    def __init__(self) -> None:
        self._form: tuple[tuple[str, int], ...] | None = None
        self._looks: list[tuple[str, tuple[int, ...], str]] = []
        self._rows: tuple[list[list[Doubles]], list[list[Doubles]]] = ([], [])

    def see(self, side: int, reads: Sequence[Read]) -> None:
        """One run: its looks up to the first that the first run did not ask for."""
        fit = [read for read in reads if _is_plain(read)]
        form = tuple((read.look.contribution.name, read.look.answer.size) for read in fit)
        if self._form is None:
            self._form = form
            self._looks = [
                (read.look.contribution.name, read.look.answer.shape, read.look.spends[0].mechanism) for read in fit
            ]
        cells = sum(min(read.look.answer.size, 2 * CELLS) for read in fit)
        most = min(ROWS, max(8, MOST_KEPT // max(1, cells)))
        if len(self._rows[side]) < most:
            alike = takewhile(lambda both: both[0] == both[1], zip(form, self._form, strict=False))
            self._rows[side].append([scaled_noise(read, side) for read, _ in zip(fit, alike, strict=False)])

    def _of_looks(self, *places: int, sides: Sequence[int] = (0, 1)) -> list[Doubles]:
        """For each of these looks, runs by cells: of the runs that asked for all of them, one side after the other."""
        rows = [row for side in sides for row in self._rows[side] if len(row) > max(places)]
        return [np.stack([row[place] for row in rows]) for place in places] if rows else []

    def faults(self, risk: float) -> list[str]:
        """What is wrong with it, in words; any at all with at most ``risk`` where nothing is."""
        less = [
            _test(_normal(values, law), (place,), f"there is less noise on {name!r} than the ledger says")
            for place, (name, _, law) in enumerate(self._looks)
            for values in self._of_looks(place)
        ]
        if not less:
            return []
        same = [*self._again(), *self._within(), *self._between()]
        enough = risk / (len(less) + len(same))
        found = {place: test for place, test in enumerate(less) if test.odds < enough}

        def repeats(test: _Test) -> bool:
            # Where there is too little noise, differences are small too: that alone makes it no repetition.
            small = [found[place].size for place in test.looks if place in found]
            return test.odds < enough and (not small or test.size < ALIKE * min(small))

        same = [test for test in same if repeats(test)]
        return list(dict.fromkeys(test.sentence for test in (*found.values(), *same)))

    def _again(self) -> Iterator[_Test]:
        """In other runs on the same data, and in the run that came next."""
        for place, (name, _, law) in enumerate(self._looks):
            runs = [rows for side in (0, 1) for rows in self._of_looks(place, sides=(side,))]
            pairs = [(rows[0::2][: len(rows) // 2], rows[1::2][: len(rows) // 2]) for rows in runs]
            if len(runs) == 2:
                most = min(map(len, runs))
                pairs.append((runs[0][:most], runs[1][:most]))
            for one, two in pairs:
                if len(one):
                    values = _normal(one - two, law, pair=True)
                    yield _test(values, (place,), f"the noise on {name!r} comes again in other runs")

    def _within(self) -> Iterator[_Test]:
        """In neighbouring cells, and in neighbouring rows."""
        for place, (name, shape, law) in enumerate(self._looks):
            for values in self._of_looks(place):
                runs, cells = values.shape
                halves = [(values[:, 0 : cells - 1 : 2], values[:, 1::2])] if cells > 1 else []
                if len(shape) > 1 and shape[0] > 1 and cells == math.prod(shape):
                    rows = values.reshape(runs, shape[0], -1)[:, : 2 * (shape[0] // 2)]
                    halves.append((rows[:, 0::2].reshape(runs, -1), rows[:, 1::2].reshape(runs, -1)))
                for one, two in halves:
                    for other in (two, -two):
                        normal = _normal(one - other, law, pair=True)
                        yield _test(normal, (place,), f"the noise on {name!r} comes again in other cells")

    def _between(self) -> Iterator[_Test]:
        """In other looks with noise of the same law, cell by cell from the first."""
        steady = all(len(row) == len(self._looks) for rows in self._rows for row in rows)
        for one, two in combinations(range(min(MOST_LOOKS, len(self._looks))), 2):
            (first, _, law), (second, _, other_law) = self._looks[one], self._looks[two]
            found = self._of_looks(one, two) if law == other_law else []
            most = min((values.shape[1] for values in found), default=0)
            for sign in (1, -1) if found else ():
                values = _normal(found[1][:, :most] - sign * found[0][:, :most], law, pair=steady)
                yield _test(values, (one, two), f"{first!r} and {second!r} have the same noise")


def _is_plain(read: Read) -> bool:
    """Whether the ledger says exactly how the noise of this look is distributed: one number of noise in each cell.

    Where many devices answer, there is more than was booked for each of them, and nothing is tested.
    """
    look = read.look
    if len(look.spends) != 1 or look.answer.size == 0 or look.law == "other":
        return False
    (spend,) = look.spends
    if spend.mechanism == "pure" or spend.sampling_rate < 1 or spend.times > 1:
        return False
    said, booked = (
        scale * (math.sqrt(2) if law == "laplace" else 1.0)
        for law, scale in ((look.law, look.scale), (spend.mechanism, spend.scale))
    )
    return said <= booked * (1 + 1e-6)


def scaled_noise(read: Read, side: int) -> Doubles:
    """The noise on some cells, in scales of what the ledger says."""
    noise = (read.centred - side * read.moved).ravel() / read.look.spends[0].scale
    if noise.size > 2 * CELLS:
        noise = noise[np.union1d(np.arange(CELLS), np.linspace(0, noise.size - 1, CELLS).astype(np.int64))]
    return np.asarray(noise, dtype=np.float64)


def _normal(values: Doubles, law: str, *, pair: bool = False) -> Doubles:
    """Noise, or the difference of two such values, as normal values of the same odds; without their signs."""
    size = np.abs(values)
    if law == "gaussian":
        return np.asarray(size / math.sqrt(2) if pair else size)
    size = np.minimum(size, 500.0)  # beyond that the odds are 0 to a computer
    odds = np.exp(-size) / 2
    return np.asarray(-ndtri(odds * (1 + size / 2) if pair else odds))


def _test(values: Doubles, looks: tuple[int, ...], sentence: str) -> _Test:
    """The odds of values as small as these: of all together, of the smallest column, of the smallest row."""
    squares = values**2
    runs, cells = values.shape
    whole = float(chdtr(runs * cells, squares.sum()))
    column = float(chdtr(runs, squares.sum(axis=0)).min()) * cells
    row = float(chdtr(cells, squares.sum(axis=1)).min()) * runs
    return _Test(3 * min(whole, column, row), float(squares.mean()), looks, sentence)
