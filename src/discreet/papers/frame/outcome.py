"""What came out: numbers by case, reading and repetition, with intervals over the repetitions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from discreet.data.catalogue import Scale
from discreet.papers.frame.cases import Case, Grid
from discreet.papers.frame.sets import Sets
from discreet.types import Doubles

CONFIDENCE = 0.95
"""Of every interval."""


@dataclass(frozen=True, kw_only=True)
class Data:
    """What a paper was run on: public facts of a public data set."""

    name: str
    users: int
    items: int
    ratings: int
    scale: Scale
    counts: Mapping[float, int]
    """How often each rating was given."""
    test_given: bool = False
    """Whether a test set came with them."""
    most_rated: int | None = None
    """How many of the items were kept, where not all were."""

    @property
    def title(self) -> str:
        """Its name, and what is left of it."""
        return self.name + ("" if self.most_rated is None else f" ({self.most_rated:,} most rated items)")

    @classmethod
    def of(cls, name: str, sets: Sets) -> "Data":
        """Counted, a given test set with the rest."""
        counts: dict[float, int] = {}
        for part in filter(None, (sets.ratings, sets.given)):
            for value, count in zip(*np.unique(part.values, return_counts=True), strict=True):
                counts[float(value)] = counts.get(float(value), 0) + int(count)
        ratings = sets.ratings
        return cls(
            name=name,
            users=ratings.n_users,
            items=ratings.n_items,
            ratings=sum(counts.values()),
            scale=ratings.catalogue.scale,
            counts=dict(sorted(counts.items())),
            test_given=sets.given is not None,
            most_rated=sets.most_rated,
        )


@dataclass(frozen=True, eq=False)
class Sample:
    """The numbers of one case, one for each repetition, in one reading."""

    case: Case
    values: Doubles

    @property
    def mean(self) -> float:
        """Over the repetitions."""
        return float(np.mean(self.values))

    @property
    def interval(self) -> tuple[float, float]:
        """Between which the mean lies, with 95 % confidence."""
        mean, half = with_half_width(self.values)
        return mean - half, mean + half

    def __str__(self) -> str:
        return f"{self.mean:.3f} at {self.case.setting}"


Line = Sequence[Sample]
"""Cases in order."""


def with_half_width(values: Sequence[float] | Doubles) -> tuple[float, float]:
    """The mean, and half its 95 % interval by Student's t; 0 for one value, of which nobody knows how it varies.

    >>> mean, half = with_half_width([1.0, 2.0, 3.0])
    >>> mean, round(half, 3)  # 4.303 / sqrt(3)
    (2.0, 2.484)
    """
    count, mean = len(values), float(np.mean(values))
    if count == 1:
        return mean, 0.0
    return mean, float(stdtrit(count - 1, (1 + CONFIDENCE) / 2) * np.std(values, ddof=1) / np.sqrt(count))


def ratios(line: Line, beside: Line) -> list[Sample]:
    """One line in another, repetition by repetition."""
    return [Sample(above.case, above.values / below.values) for above, below in zip(line, beside, strict=True)]


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcome:
    """Everything that was measured.

    Parameters
    ----------
    data, seeds, grid, figures
        On what, how often, which settings, for which figures.
    numbers
        Of every repetition, by case and reading. A case need not have every reading.
    """

    data: Data
    seeds: int
    grid: Grid
    figures: tuple[int, ...]
    numbers: Mapping[Case, Mapping[str, Sequence[float]]]

    def has(self, case: Case, reading: str) -> bool:
        """Whether it was run, and can be read so."""
        return reading in self.numbers.get(case, {})

    def at(self, case: Case, reading: str) -> Sample:
        """The numbers of one case."""
        return Sample(case, np.array(self.numbers[case][reading], dtype=np.float64))

    def line(self, cases: Iterable[Case], reading: str) -> list[Sample]:
        """The cases, in order, but for those that were not run or cannot be read so."""
        return [self.at(case, reading) for case in cases if self.has(case, reading)]

    def best(self, cases: Iterable[Case], readings: Sequence[str]) -> list[Sample]:
        """Each case in the reading in which its mean is least."""
        return [min((self.at(case, reading) for reading in readings), key=lambda found: found.mean) for case in cases]

    def to_json(self) -> dict[str, Any]:
        """As plain data, from which :meth:`from_json` makes the same outcome."""
        scale = self.data.scale
        return {
            "data": {
                **vars(self.data),
                "scale": [scale.low, scale.high],
                "counts": [list(one) for one in self.data.counts.items()],
            },
            "seeds": self.seeds,
            "figures": list(self.figures),
            "grid": {name: list(values) for name, values in self.grid.axes.items()},
            "cases": [
                {"method": case.method, "settings": dict(case.settings), "numbers": {k: list(v) for k, v in of.items()}}
                for case, of in self.numbers.items()
            ],
        }

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> "Outcome":
        """The outcome that :meth:`to_json` described."""
        data = found["data"]
        return cls(
            data=Data(**{**data, "scale": Scale(*data["scale"]), "counts": dict(data["counts"])}),
            seeds=found["seeds"],
            grid=Grid(**found["grid"]),
            figures=tuple(found["figures"]),
            numbers={Case(case["method"], **case["settings"]): case["numbers"] for case in found["cases"]},
        )
