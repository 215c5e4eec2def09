"""Small pieces of HTML for notebooks: what ``print`` shows, as a table. Everything is escaped, and nothing is loaded.

Colours and fonts are the notebook's own, so that both light and dark ones stay readable.
"""

from collections.abc import Iterable, Sequence
from html import escape

from discreet.printable import printable

BADGES = {"proven": "#1b7f4d", "claimed": "#b26a00", "none": "#8a8a8a"}
MOST_ROWS = 1000
"""Of a table: more would make a notebook slow."""


def text(words: str) -> str:
    """Text of anybody's, made safe.

    >>> text("<b>\\x1b")
    '&lt;b&gt;\\\\x1b'
    """
    return escape(printable(words))


def box(*parts: str) -> str:
    """Pieces below each other."""
    return f'<div class="discreet">{"".join(parts)}</div>'


def paragraph(words: str, *, small: bool = False) -> str:
    """A sentence or two."""
    return f'<p style="margin:.3em 0;max-width:60em{";opacity:.75;font-size:90%" if small else ""}">{text(words)}</p>'


def title(words: str, badge: str = "", kind: str = "none") -> str:
    """A head line, perhaps with a coloured word beside it.

    >>> title("Release", "proven", "proven").count("proven")
    1
    """
    colour = BADGES[kind]
    style = f"background:{colour};color:#fff;border-radius:.6em;padding:.1em .6em;margin-left:.6em;font-size:85%"
    mark = f'<span style="{style}">{text(badge)}</span>' if badge else ""
    return f'<p style="margin:.3em 0"><strong>{text(words)}</strong>{mark}</p>'


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Names and values.

    >>> facts([("items", "30")])
    '<table><tbody><tr><th style="text-align:left">items</th><td style="text-align:left">30</td></tr></tbody></table>'
    """
    left = ' style="text-align:left"'
    rows = (f"<tr><th{left}>{text(name)}</th><td{left}>{text(value)}</td></tr>" for name, value in pairs)
    return f"<table><tbody>{''.join(rows)}</tbody></table>"


def table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: Iterable[str] = (), caption: str = ""
) -> str:
    """A table; the columns in ``right`` hold numbers."""
    numbers = set(right)
    styles = [f' style="text-align:{"right" if column in numbers else "left"}"' for column in columns]
    head = "".join(f"<th{style}>{text(column)}</th>" for column, style in zip(columns, styles, strict=True))
    body = "".join(
        "<tr>" + "".join(f"<td{style}>{text(cell)}</td>" for cell, style in zip(row, styles, strict=True)) + "</tr>"
        for row in rows[:MOST_ROWS]
    )
    left_out = len(rows) - MOST_ROWS
    more = paragraph(f"… and {left_out:,} more", small=True) if left_out > 0 else ""
    said = f'<caption style="text-align:left">{text(caption)}</caption>' if caption else ""
    return f"<table>{said}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"
