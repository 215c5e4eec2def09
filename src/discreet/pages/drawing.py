"""What all pictures share: a chart with its words, the look of axes and letters, and which colour is whose.

altair is imported in the files that draw, and only when a picture is drawn. Every colour stands for a role (ink, line,
one of ten series), so that a page can give each role another colour in the dark: see ``pages/style.py``.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ParamSpec

from discreet.errors import require
from discreet.extras import load_extra
from discreet.files import write_whole
from discreet.pages.style import DASHES, FONT, INK, LINE, QUIET, SERIES, SHAPES

WIDTH, HALF = 620, 430  # a picture across the page, and one of two beside each other
P = ParamSpec("P")
NARROW, NARROW_DOTS = 250, 150  # on a phone: where nothing, and where names and numbers stand beside the drawing


@dataclass(frozen=True)
class Picture:
    """A chart with its title, what it shows in a sentence, and a name for a file.

    In a notebook ``picture.chart`` displays itself.

    Parameters
    ----------
    name
        Short, for file names.
    title
        What a reader should see first.
    caption
        One sentence or two: how to read it.
    alt
        What it shows, for people who cannot see it.
    chart
        The altair chart.
    wide
        Whether it goes across the page.
    narrow
        The same chart for a narrow page, with letters that can be read there; None to let the one chart scroll.
    """

    name: str
    title: str
    caption: str
    alt: str
    chart: Any
    wide: bool = False
    narrow: Any = None

    @property
    def drawn(self) -> bool:
        """Whether there is a chart: there is none where the extra ``pictures`` is not installed."""
        return self.chart is not None

    def svg(self, background: str = "transparent") -> str:
        """The picture as SVG text, without a background unless one is named."""
        return str(vl_convert().vegalite_to_svg(self.chart.properties(background=background).to_dict()))

    def narrow_svg(self) -> str | None:
        """The same for a narrow page, or None."""
        return None if self.narrow is None else replace(self, chart=self.narrow).svg()

    def png(self) -> bytes:
        """The picture as PNG on white, two pixels to a point."""
        return bytes(vl_convert().vegalite_to_png(self.chart.properties(background="white").to_dict(), scale=2))

    def save(self, path: str | Path) -> None:
        """Write the picture as ``.svg`` or ``.png``, whole or not at all."""
        path = Path(path)
        require(path.suffix in (".svg", ".png"), f"a picture is saved as .svg or .png, got {path.name!r}")
        write_whole(path, self.svg("white").encode() if path.suffix == ".svg" else self.png())


UNDRAWN = Picture(name="undrawn", title="", caption="", alt="", chart=None)
"""In place of every picture where the extra ``pictures`` is not installed: pages leave it out, and say so."""


def altair() -> Any:
    """The library that describes charts."""
    return load_extra("altair", "pictures", "a picture")


def vl_convert() -> Any:
    """The library that draws them."""
    altair()  # which made the chart, or could not
    return load_extra("vl_convert", "pictures", "a picture")


def check_picture() -> None:
    """Raise, before the work starts, where a picture could not be drawn at its end."""
    vl_convert()


def can_draw() -> bool:
    """Whether both are installed; neither is loaded for that."""
    return all(find_spec(name) is not None for name in ("altair", "vl_convert"))


def needs_altair(chart: Callable[P, Picture]) -> Callable[P, Picture]:
    """Let a function that makes a picture return :data:`UNDRAWN` where pictures cannot be drawn."""

    @wraps(chart)
    def drawn(*arguments: P.args, **named: P.kwargs) -> Picture:
        return chart(*arguments, **named) if can_draw() else UNDRAWN

    return drawn


def colours(count: int) -> list[str]:
    """The first ``count`` colours of series; they repeat after ten, in other shapes."""
    return [SERIES[position % len(SERIES)] for position in range(count)]


def shapes(count: int) -> list[str]:
    """The shapes that go with them: colour and shape together are one model's own.

    >>> len(set(zip(colours(40), shapes(40), strict=True)))
    40
    """
    return [SHAPES[position // len(SERIES) % len(SHAPES)] for position in range(count)]


def dashes(count: int) -> list[tuple[int, ...]]:
    """The same for lines."""
    return [DASHES[position // len(SERIES) % len(DASHES)] for position in range(count)]


def scaled(channel: Any, field: str, domain: Sequence[float], *, log: bool = False, **axis: Any) -> Any:
    """An axis, ``alt.X`` or ``alt.Y``, that ends where its domain does."""
    alt = altair()
    scale = alt.Scale(type="log" if log else "linear", domain=list(domain), nice=False, zero=False)
    return channel(field, scale=scale, axis=alt.Axis(**axis))


def plot(values: list[dict[str, Any]]) -> Any:
    """A chart of these rows, nothing drawn yet."""
    alt = altair()
    return alt.Chart(alt.Data(values=values))


def styled(chart: Any) -> Any:
    """The chart in the look that all pictures have."""
    axis = {
        "labelColor": QUIET,
        "titleColor": QUIET,
        "titleFontWeight": "normal",
        "titleFontSize": 12,
        "labelFontSize": 12,
        "titlePadding": 12,
        "gridColor": LINE,
        "domainColor": LINE,
        "tickColor": LINE,
        "ticks": False,
        "labelPadding": 6,
    }
    return (
        chart.configure(font=FONT, padding=6)
        .configure_view(stroke=None)
        .configure_axis(**axis)
        .configure_axisY(domain=False)
        .configure_legend(labelColor=INK, labelFontSize=12, symbolSize=110, columnPadding=18, padding=10)
        .configure_text(font=FONT)
    )


def ticks_between(low: float, high: float, most: int = 7) -> list[float]:
    """Powers of ten between two numbers, with 2 and 5 times them where there are only a few; at most so many."""
    powers = [10.0**power for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]
    steps = (1.0,) if high / low > 300 else (1.0, 3.0) if high / low > 30 else (1.0, 2.0, 5.0)
    ticks = [power * step for power in powers for step in steps if low <= power * step <= high]
    return ticks[:: -(-len(ticks) // most) or 1]
