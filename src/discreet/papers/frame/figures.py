"""The figures of a paper, drawn from what came out here."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass

from discreet.pages.curves import Point, curves_chart
from discreet.pages.drawing import Picture
from discreet.papers.frame.cases import Case
from discreet.papers.frame.outcome import Line, Outcome, ratios

OURS = "ours"
"""Curves whose names begin so are dashed: they are no part of the paper."""


@dataclass(frozen=True)
class Curve:
    """Cases in one reading; or each in another case of the same reading."""

    cases: Sequence[Case]
    reading: str
    beside: Sequence[Case] = ()

    def line(self, outcome: Outcome) -> Line:
        """The numbers, but for cases that cannot be read so."""
        if not self.beside:
            return outcome.line(self.cases, self.reading)
        pairs = [pair for pair in zip(self.cases, self.beside, strict=True) if outcome.has(pair[0], self.reading)]
        return ratios(*(outcome.line(side, self.reading) for side in zip(*pairs, strict=True)))


@dataclass(frozen=True)
class Axis:
    """The setting that runs to the right, what it is called, and whether equal steps are equal factors."""

    setting: str
    title: str
    log: bool = False


@dataclass(frozen=True)
class Figure:
    """One picture.

    Parameters
    ----------
    number
        In the paper.
    title, caption
        What it shows, and what the paper says about it.
    curves
        By name.
    x, y
        The axes.
    part
        Of a second picture of the same figure.
    level
        A name and a curve of one case, at whose height a line runs across; or the height.
    also
        Cases that belong to the figure and are not drawn.
    """

    number: int
    title: str
    caption: str
    curves: Mapping[str, Curve]
    x: Axis
    y: str
    _: KW_ONLY
    part: str = ""
    level: tuple[str, Curve | float] | None = None
    also: Sequence[Case] = ()

    @property
    def name(self) -> str:
        """Of its file."""
        return "-".join(["figure", str(self.number), *filter(None, [self.part])])

    @property
    def cases(self) -> list[Case]:
        """What must be run for it, each case once."""
        level = [self.level[1]] if self.level is not None and isinstance(self.level[1], Curve) else []
        drawn = [case for curve in (*level, *self.curves.values()) for case in (*curve.beside, *curve.cases)]
        return list(dict.fromkeys([*drawn, *self.also]))

    def draw(self, outcome: Outcome) -> Picture:
        """The picture."""
        lines = {name: line for name, curve in self.curves.items() if (line := curve.line(outcome))}
        return curves_chart(
            {
                name: [Point(found.case[self.x.setting], found.mean, *found.interval) for found in line]
                for name, line in lines.items()
            },
            dashed=[name for name in lines if name.startswith(OURS)],
            name=self.name,
            title=f"Fig. {self.number}{', ' + self.part if self.part else ''}: {self.title}",
            caption=self.caption,
            x=self.x.title,
            y=self.y,
            log_x=self.x.log,
            level=None if self.level is None else (self.level[0], _height(self.level[1], outcome)),
        )


def _height(level: Curve | float, outcome: Outcome) -> float:
    return level.line(outcome)[0].mean if isinstance(level, Curve) else level
