"""One HTML file that works offline: tables, pictures, a list of recommendations with its reasons.

A page is a title and sections, in order. Pictures are inline SVG, the style sheet and the short script
are inline too, and the page asks the network for nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from markupsafe import Markup

import discreet
from discreet.data.history import History
from discreet.evaluation.results import Results, Row
from discreet.files import write_whole
from discreet.pages.drawing import Picture
from discreet.pages.rendering import render
from discreet.pages.style import SERIES, SHAPES, script, style_sheet
from discreet.pages.words import display_name, half_width, is_error
from discreet.releases.release import Recommendations

TIMES = (("fit_seconds", "fit, s", 3), ("predict_seconds", "predict, s", 3), ("peak_memory_mb", "memory, MB", 0))


LEFT_OUT = "The pictures are left out, since what draws them is not installed: pip install 'discreet[pictures]'."


class Section(Protocol):
    """A part of a page."""

    def html(self) -> str:
        """The section as HTML."""
        ...


@dataclass(frozen=True, kw_only=True)
class Facts:
    """A few numbers worth seeing at once, each with what it is."""

    facts: Mapping[str, str]

    def html(self) -> str:
        """Tiles."""
        return render("facts.html", facts=self.facts)


@dataclass(frozen=True, kw_only=True)
class Text:
    """A heading and paragraphs; ``note`` is set apart, ``code`` is a command to repeat."""

    title: str
    paragraphs: Sequence[str] = ()
    note: str = ""
    code: str = ""

    def html(self) -> str:
        """Plain text."""
        return render("text.html", title=self.title, paragraphs=self.paragraphs, note=self.note, code=self.code)


@dataclass(frozen=True, kw_only=True)
class Pictures:
    """Pictures side by side; where ``lead`` is true the wide ones go across the page."""

    title: str
    pictures: Sequence[Picture]
    text: str = ""
    lead: bool = False

    def html(self) -> str:
        """Figures with captions."""
        drawn = [picture for picture in self.pictures if picture.drawn]
        return render(
            "pictures.html",
            title=self.title,
            paragraphs=[self.text],
            pictures=drawn,
            lead=self.lead,
            missing="" if len(drawn) == len(self.pictures) else LEFT_OUT,
        )


class Cell(NamedTuple):
    """A cell of a table: what is shown, what it is sorted by, what stands small beside it, and its look."""

    text: str
    value: object
    small: str = ""
    kind: str = ""


@dataclass(frozen=True, kw_only=True)
class Table:
    """The rows of results, sortable, the best value of each metric set apart."""

    results: Results
    title: str = "All numbers"
    text: str = ""

    def html(self) -> str:
        """A table with a caption."""
        results, names = self.results, self.results.metric_names
        best = {
            (name, epsilon): (min if is_error(name) else max)(
                row[name] for row in results.rows if name in row.metrics and row.epsilon == epsilon
            )
            for name in names
            for epsilon in {row.epsilon for row in results.rows if name in row.metrics}
        }
        several = ["epsilon"] if self._several else []
        columns = ["model", *several, *(display_name(name) for name in names), *(label for _, label, _ in TIMES)]
        kinds = ["text", *["number"] * (len(several) + len(names) + len(TIMES))]
        if self._promised:
            columns, kinds = [*columns, "guarantee"], [*kinds, "text"]
        known = {
            f"{row.model}: {row.chosen}" if row.chosen else row.model: row.settings
            for row in results.rows
            if row.settings
        }
        return render(
            "table.html",
            title=self.title,
            paragraphs=[self.text],
            caption=f"{results.data}: {results.split}. " + (f"±: {results.interval}. " if results.interval else ""),
            columns=list(zip(columns, kinds, strict=True)),
            rows=[self._row(row, results.models.index(row.model), names, best) for row in results.rows],
            settings=[
                (model, ", ".join(f"{name} = {value}" for name, value in settings.items()))
                for model, settings in known.items()
            ],
        )

    @property
    def _several(self) -> bool:
        return len({row.epsilon for row in self.results.rows}) > 1

    @property
    def _promised(self) -> bool:
        return any(row.guarantee for row in self.results.rows)

    def _row(
        self, row: Row, place: int, names: Sequence[str], best: Mapping[tuple[str, float | None], float]
    ) -> dict[str, Any]:
        cells: list[Cell | None] = []  # None where nothing was measured
        if self._several:
            value = "Infinity" if row.epsilon is None else f"{row.epsilon:g}"
            cells.append(Cell("none" if row.epsilon is None else value, value))
        for name in names:
            if name not in row.metrics:
                cells.append(None)
                continue
            estimate = row.metrics[name]
            first = len(self.results.rows) > 1 and estimate.mean == best[name, row.epsilon]
            cells.append(Cell(f"{estimate.mean:.4f}", estimate.mean, half_width(estimate), "best" if first else ""))
        for attribute, _, digits in TIMES:
            number = getattr(row, attribute)
            cells.append(None if number is None else Cell(f"{number:,.{digits}f}", number))
        if self._promised:
            promise = row.guarantee or "none"
            if self._several:  # sentences that differ in a number only would fill the page
                promise = {"proven": "proven", "claimed": "only claimed", None: "none"}[row.promise]
                promise = "asks for nothing" if row.epsilon == 0 else promise
            cells.append(Cell(promise, promise, kind="words"))
        return {
            "model": row.model,
            "colour": place % len(SERIES),
            "shape": SHAPES[place // len(SERIES) % len(SHAPES)],
            "cells": cells,
        }


@dataclass(frozen=True, kw_only=True)
class Suggestions:
    """A recommendation list, with the user's own ratings beside it and the reasons under each title."""

    recommendations: Recommendations
    history: History | None = None
    title: str = "Recommended for one user, and why"
    text: str = ""
    shown: int = field(default=12)

    def html(self) -> str:
        """Two panels."""
        own = self._own()
        return render(
            "suggestions.html",
            title=self.title,
            paragraphs=[self.text],
            suggestions=self.recommendations,
            own=own,
            rest=0 if self.history is None else len(self.history) - len(own),
            highest=None if self.history is None else self.history.catalogue.scale.high,
        )

    def _own(self) -> list[tuple[str, float]]:
        """Some of the user's own ratings, the highest first."""
        if self.history is None:
            return []
        history = self.history
        # The reasons come first: they are what a reader will look for; then the highest rated.
        named = {reason.item for suggestion in self.recommendations for reason in suggestion.because}
        order = sorted(
            range(len(history)),
            key=lambda row: (history.catalogue.items[int(history.items[row])] not in named, -history.values[row]),
        )[: self.shown]
        order.sort(key=lambda row: -history.values[row])
        return [(str(history.catalogue.titles[history.items[row]]), float(history.values[row])) for row in order]


def write_page(path: str | Path, *, title: str, sections: Sequence[Section], lead: str = "") -> Path:
    """Write a page; an existing file is replaced, whole or not at all.

    Parameters
    ----------
    path
        The file.
    title, lead
        The headline, and one or two sentences under it.
    sections
        :class:`Facts`, :class:`Text`, :class:`Pictures`, :class:`Table` or :class:`Suggestions`, in order.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_page(Path(folder) / "page.html", title="Hello", sections=[Facts(facts={"answer": "42"})])
    ...     "<dt>answer</dt><dd>42</dd>" in page.read_text(encoding="utf-8")
    True
    """
    path = Path(path)
    write_whole(path, render_page(title=title, lead=lead, sections=sections).encode())
    return path


def render_page(*, title: str, sections: Sequence[Section], lead: str = "") -> str:
    """The page as text."""
    body = list(sections)
    # Numbers that come first belong under the headline.
    top = body.pop(0).html() if body and isinstance(body[0], Facts) else ""
    return render(
        "page.html",
        title=title,
        lead=lead,
        version=discreet.__version__,
        style_sheet=Markup(style_sheet()),
        script=Markup(script()),
        top=Markup(top),
        sections=[Markup(section.html()) for section in body],
    )
