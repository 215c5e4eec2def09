"""One HTML file that works offline: tables, pictures, a list of recommendations with its reasons.

A page is a title and sections, in order. Pictures are inline SVG, the style sheet and the short script
are inline too, and the page asks the network for nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Protocol

import discreet
from discreet.data.history import History
from discreet.evaluation.results import Report, Row
from discreet.files import write_whole
from discreet.releases.release import Recommendations
from discreet.reports.drawing import Picture
from discreet.reports.pictures import inline
from discreet.reports.style import SERIES, SHAPES, script, style_sheet
from discreet.reports.words import display_name, is_error

TIMES = (("fit_seconds", "fit, s", 3), ("predict_seconds", "predict, s", 3), ("peak_memory_mb", "memory, MB", 0))


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
        tiles = "".join(
            f"<div><dt>{escape(name)}</dt><dd{' class=long' if len(value) > 9 else ''}>{escape(value)}</dd></div>"
            for name, value in self.facts.items()
        )
        return f'<dl class="facts">{tiles}</dl>'


@dataclass(frozen=True, kw_only=True)
class Text:
    """A heading and paragraphs; ``note`` is set apart, ``code`` is a command to repeat."""

    title: str
    paragraphs: Sequence[str] = ()
    note: str = ""
    code: str = ""

    def html(self) -> str:
        """Plain text."""
        return _section(
            self.title,
            *self.paragraphs,
            more=(f'<p class="note">{escape(self.note)}</p>' if self.note else "")
            + (f"<pre><code>{escape(self.code)}</code></pre>" if self.code else ""),
        )


@dataclass(frozen=True, kw_only=True)
class Pictures:
    """Pictures side by side; where ``lead`` is true the wide ones go across the page."""

    title: str
    pictures: Sequence[Picture]
    text: str = ""
    lead: bool = False

    def html(self) -> str:
        """Figures with captions."""
        figures = "".join(
            f'<figure class="{"wide" if self.lead and picture.wide else "half"}"><h3>{escape(picture.title)}</h3>'
            f"{_drawing(picture)}<figcaption>{escape(picture.caption)}</figcaption></figure>"
            for picture in self.pictures
        )
        return _section(self.title, self.text, more=f'<div class="pictures">{figures}</div>')


@dataclass(frozen=True, kw_only=True)
class Table:
    """The rows of a report, sortable, the best value of each metric set apart."""

    report: Report
    title: str = "All numbers"
    text: str = ""

    def html(self) -> str:
        """A table with a caption."""
        report, names = self.report, self.report.metric_names
        best = {
            (name, epsilon): (min if is_error(name) else max)(
                row[name] for row in report.rows if name in row.metrics and row.epsilon == epsilon
            )
            for name in names
            for epsilon in {row.epsilon for row in report.rows if name in row.metrics}
        }
        several = ["epsilon"] if self._several else []
        columns = ["model", *several, *(display_name(name) for name in names), *(label for _, label, _ in TIMES)]
        kinds = ["text", *["number"] * (len(several) + len(names) + len(TIMES))]
        if self._promised:
            columns, kinds = [*columns, "guarantee"], [*kinds, "text"]
        head = "".join(
            f'<th scope="col" data-kind="{kind}"><button type="button">{escape(column)}</button></th>'
            for column, kind in zip(columns, kinds, strict=True)
        )
        body = "".join(self._row(row, report.models.index(row.model), names, best) for row in report.rows)
        caption = f"{report.data}: {report.split}. " + (f"±: {report.interval}. " if report.interval else "")
        return _section(
            self.title,
            self.text,
            more='<div class="scroll" tabindex="0" role="region" aria-label="Table of results">'
            f'<table class="sortable"><caption>{escape(caption)}Choose a column to sort by it.</caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>" + self._settings(),
        )

    @property
    def _several(self) -> bool:
        return len({row.epsilon for row in self.report.rows}) > 1

    @property
    def _promised(self) -> bool:
        return any(row.guarantee for row in self.report.rows)

    def _settings(self) -> str:
        """What every model was set to, folded away."""
        known = list({row.model: row for row in self.report.rows if row.settings}.values())
        entries = "".join(
            f"<dt>{escape(row.model)}</dt><dd>"
            + escape(", ".join(f"{name} = {value}" for name, value in row.settings.items()))
            + "</dd>"
            for row in known
        )
        return f"<details><summary>Settings of every model</summary><dl>{entries}</dl></details>" if known else ""

    def _row(self, row: Row, place: int, names: Sequence[str], best: Mapping[tuple[str, float | None], float]) -> str:
        cells = []
        if self._several:
            value = "Infinity" if row.epsilon is None else f"{row.epsilon:g}"
            cells.append(f'<td data-value="{value}">{"none" if row.epsilon is None else value}</td>')
        for name in names:
            if name not in row.metrics:
                cells.append('<td aria-label="not measured">·</td>')
                continue
            estimate = row.metrics[name]
            first = len(self.report.rows) > 1 and estimate.mean == best[name, row.epsilon]
            chosen = ' class="best"' if first else ""
            half = f"{(estimate.high - estimate.low) / 2:.4f}".removeprefix("0")
            cells.append(f'<td{chosen} data-value="{estimate.mean}">{estimate.mean:.4f}<small>±{half}</small></td>')
        for attribute, _, digits in TIMES:
            value = getattr(row, attribute)
            cells.append(
                '<td aria-label="not measured">·</td>'
                if value is None
                else f'<td data-value="{value}">{value:,.{digits}f}</td>'
            )
        if self._promised:
            promise = escape(row.guarantee or "none")
            if self._several:  # sentences that differ in a number only would fill the page
                promise = {"proven": "proven", "claimed": "only claimed", None: "none"}[row.promise]
                promise = "asks for nothing" if row.epsilon == 0 else promise
            cells.append(f'<td class="words" data-value="{promise}">{promise}</td>')
        return (
            f'<tr data-model="{escape(row.model)}"><th scope="row" data-value="{escape(row.model)}">'
            f'<span class="dot {SHAPES[place // len(SERIES) % len(SHAPES)]}" '
            f'style="background:var(--series{place % len(SERIES)})"></span>'
            f"{escape(row.model)}</th>{''.join(cells)}</tr>"
        )


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
        items = "".join(
            f'<li><span class="place">{place}</span><div><div class="title">{escape(suggestion.title)}</div>'
            + self._because(place - 1)
            + "</div></li>"
            for place, suggestion in enumerate(self.recommendations, start=1)
        )
        panels = f'<div class="panel"><h3>Recommended next</h3><ol class="suggested">{items}</ol></div>'
        own = self._own()
        return _section(self.title, self.text, more=f'<div class="shelf{"" if own else " alone"}">{own}{panels}</div>')

    def _because(self, position: int) -> str:
        reasons = self.recommendations[position].because
        if not reasons:
            return ""
        parts = "".join(
            f'<li><span class="bar" aria-hidden="true"><b style="width:{100 * reason.share:.0f}%"></b></span>'
            f"{escape(reason.title)} <span>{reason.share:.0%}</span></li>"
            for reason in reasons
        )
        return f'<ul class="because" aria-label="because of">{parts}</ul>'

    def _own(self) -> str:
        if self.history is None or len(self.history) == 0:
            return ""
        history, scale = self.history, self.history.catalogue.scale
        # The reasons come first: they are what a reader will look for; then the highest rated.
        named = {reason.item for suggestion in self.recommendations for reason in suggestion.because}
        order = sorted(
            range(len(history)),
            key=lambda row: (history.catalogue.items[int(history.items[row])] not in named, -history.values[row]),
        )[: self.shown]
        order.sort(key=lambda row: -history.values[row])
        rows = "".join(
            f"<li><span>{escape(str(history.catalogue.titles[history.items[row]]))}</span>"
            f"{_value(float(history.values[row]), scale.high)}</li>"
            for row in order
        )
        rest = len(history) - len(order)
        more = f'<li class="more">and {rest} more</li>' if rest else ""
        return f'<div class="panel own"><h3>What this user rated</h3><ul>{rows}{more}</ul></div>'


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
    top = ""
    if body and isinstance(body[0], Facts):  # numbers that come first belong under the headline
        top = body.pop(0).html()
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<link rel="icon" href="data:,">\n'
        f'<meta name="generator" content="Discreet {discreet.__version__}">\n'
        f"<title>{escape(title)}</title>\n<style>{style_sheet()}</style>\n</head>\n<body>\n"
        f'<header><p class="name">Discreet</p><h1>{escape(title)}</h1>'
        + (f'<p class="lead">{escape(lead)}</p>' if lead else "")
        + '<button class="theme" type="button" hidden aria-label="Change between light and dark">◐</button>'
        f"{top}</header>\n<main>\n"
        + "\n".join(section.html() for section in body)
        + f"\n</main>\n<footer><p>Written by Discreet {discreet.__version__}. "
        "This page is one file and asks the network for nothing.</p></footer>\n"
        f"<script>{script()}</script>\n</body>\n</html>\n"
    )


def _drawing(picture: Picture) -> str:
    """The picture; where it has another form for narrow pages both, of which the style sheet shows one."""
    narrow, drawn = picture.narrow_svg(), inline(picture.svg(), picture.alt)
    if narrow is None:
        return f'<div class="drawing scrolls">{drawn}</div>'
    return (
        f'<div class="drawing on-wide">{drawn}</div><div class="drawing on-narrow">{inline(narrow, picture.alt)}</div>'
    )


def _section(title: str, *paragraphs: str, more: str = "") -> str:
    text = "".join(f"<p>{escape(paragraph)}</p>" for paragraph in paragraphs if paragraph)
    return f"<section><h2>{escape(title)}</h2>{text}{more}</section>"


def _value(value: float, highest: float) -> str:
    """Stars where the scale has five, the number otherwise."""
    if highest != 5:
        return f'<span class="value">{value:g}</span>'
    full = round(value)
    return f'<span class="value" role="img" aria-label="{value:g} of 5">{"★" * full}<i>{"★" * (5 - full)}</i></span>'
