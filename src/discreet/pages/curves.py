"""Figures like those of a paper: one quantity over another, a line for each setting; and plain tables beside them."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.errors import require
from discreet.pages.drawing import HALF, NARROW, Picture, altair, colours, needs_altair, plot, scaled, styled
from discreet.pages.rendering import render
from discreet.pages.style import QUIET

STACKED = 12
"""Rows of a table whose cells go below each other on a phone."""
SENTENCE = 30
"""Letters above which a cell holds a sentence, and its column is broken into lines."""
SHORT = 14
"""Letters of a name of which two fit beside each other on a phone."""


@dataclass(frozen=True)
class Point:
    """A value at ``x``, between two bounds."""

    x: float
    y: float
    low: float
    high: float


@needs_altair
def curves_chart(
    curves: Mapping[str, Sequence[Point]],
    *,
    name: str,
    title: str,
    caption: str,
    x: str,
    y: str,
    log_x: bool = False,
    level: tuple[str, float] | None = None,
    dashed: Collection[str] = (),
) -> Picture:
    """Lines with dots, and bars where bounds are known.

    Parameters
    ----------
    curves
        Points of every line, by its name.
    name, title, caption
        Of the picture.
    x, y
        What the axes show.
    log_x
        Whether equal steps to the right are equal factors.
    level
        A name and a height at which a dashed line runs across.
    dashed
        Which curves are dashed.

    Examples
    --------
    >>> points = [Point(1, 2, 2, 2), Point(2, 3, 2.5, 3.5)]
    >>> curves_chart({"a": points}, name="n", title="t", caption="c", x="x", y="y").alt
    'y by x. a: 2.000 at 1, 3.000 at 2'
    """
    alt = altair()
    drawn = [(series, point) for series, points in curves.items() for point in points]
    require(len(drawn) > 0, "there is nothing to draw")
    values = [
        {
            "series": series,
            "x": point.x,
            "y": point.y,
            "low": point.low,
            "high": point.high,
            "dashed": series in dashed,
            "note": f"{series}: {point.y:.4f} at {point.x:g}",
        }
        for series, point in drawn
    ]
    heights = [height for _, point in drawn for height in (point.low, point.high)] + ([level[1]] if level else [])
    room = 0.06 * max(max(heights) - min(heights), 1e-3)
    across = [point.x for _, point in drawn]
    dash = alt.StrokeDash("dashed:N", legend=None, scale=alt.Scale(domain=[False, True], range=[[1, 0], [6, 4]]))
    below, end = _free_place(curves, level[1], room) if level else (True, 0)

    def draw(width: int, columns: int) -> Any:
        base = plot(values).encode(
            x=scaled(
                alt.X,
                "x:Q",
                _domain(min(across), max(across), log_x),
                log=log_x,
                title=x,
                labelExpr="datum.value",
                grid=False,
                values=sorted(set(across)),
                labelOverlap="greedy",
                labelSeparation=5,
            ),
            color=alt.Color(
                "series:N",
                sort=None,
                scale=alt.Scale(domain=list(curves), range=colours(len(curves))),
                legend=alt.Legend(title=None, orient="bottom", columns=columns, symbolType="circle", symbolOpacity=1),
            ),
        )
        height = scaled(alt.Y, "y:Q", [min(heights) - room, max(heights) + room], title=y, tickCount=5)
        layers: list[Any] = [
            base.mark_line(strokeWidth=2.2).encode(y=height, strokeDash=dash),
            base.mark_rule(strokeWidth=4, opacity=0.28, strokeCap="round").encode(y=alt.Y("low:Q"), y2="high:Q"),
            base.mark_circle(size=55, opacity=1).encode(y=height, description="note:N"),
        ]
        if level is not None:
            line = plot([{"y": level[1], "text": level[0]}])
            layers += [
                line.mark_rule(color=QUIET, strokeDash=[4, 4]).encode(y="y:Q"),
                line.mark_text(
                    align="right" if end else "left", dy=9 if below else -9, fontSize=11.5, color=QUIET
                ).encode(y="y:Q", x=alt.value(width - 4 if end else 4), text="text:N"),
            ]
        return styled(alt.layer(*layers).properties(width=width, height=270))

    described = "; ".join(
        f"{series}: " + ", ".join(f"{point.y:.3f} at {point.x:g}" for point in points)
        for series, points in curves.items()
    )
    return Picture(
        name=name,
        title=title,
        caption=caption,
        alt=f"{y} by {x}. {described}",
        chart=draw(HALF, max(1, min(4, HALF // (24 + 6 * max(map(len, curves)))))),
        narrow=draw(NARROW, 2 if max(map(len, curves)) <= SHORT else 1),
    )


@dataclass(frozen=True, kw_only=True)
class Rows:
    """A plain table on a page: a row for each claim, setting or whatever it is about.

    The first cell of a row names it; what follows on a second line is set smaller. On a phone the cells of a short
    table go below each other, each with the name of its column; a long one scrolls.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    text: str = ""

    def html(self) -> str:
        """A table whose first column names the rows.

        >>> "1 &lt; 2</td>" in Rows(title="t", columns=["a", "b"], rows=[["x", "1 < 2"]]).html()
        True
        """
        wordy = [max(map(len, column)) > SENTENCE for column in zip(*self.rows, strict=True)]
        return render(
            "rows.html",
            title=self.title,
            paragraphs=[self.text],
            columns=self.columns,
            rows=self.rows,
            wordy=wordy or [False] * len(self.columns),
            stacks=len(self.rows) <= STACKED,
        )


def _free_place(curves: Mapping[str, Sequence[Point]], level: float, room: float) -> tuple[bool, int]:
    """Where the name of a level is furthest from the curves: whether below its line, and at which end."""

    def distance(place: tuple[bool, int]) -> float:
        below, end = place
        height = level - room if below else level + room
        return min(abs(points[end].y - height) for points in curves.values())

    return max(((below, end) for below in (True, False) for end in (0, -1)), key=distance)


def _domain(low: float, high: float, log: bool) -> list[float]:
    """A little more than the points need."""
    if log:
        factor = math.exp(0.05 * max(math.log(high / low), 0.5))
        return [low / factor, high * factor]
    room = 0.05 * max(high - low, 0.1)
    return [low - room, high + room]
