"""What people see: tables and notes; and the one JSON document that machines get instead.

Text may come from a file or a release that a stranger made: everything that is printed here is made printable first.
"""

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import typer

from discreet.printable import printable

GAP = 3  # between two columns
LONGEST = 5000  # characters in a cell: more would fill any terminal, and take minutes to break into lines
TEXT = 16  # a column of text that is narrower than this, and than its words, cannot be read


def table(
    title: str | None,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Iterable[str] = (),
    *,
    lines: bool = False,
) -> None:
    """Print a table on stdout; long text is broken into lines, the columns in ``right`` are aligned to the right.

    With ``lines`` cells may have several lines: for text of our own. Where the terminal is too narrow for its columns,
    each row becomes a few lines of names and values instead.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table

    title, columns = title and printable(title), [printable(column) for column in columns]
    rows = [[_cell(cell, lines) for cell in row] for row in rows]
    widths = [_width(line[0] for line in (columns, *rows))]  # the first column is never broken
    widths += [min(TEXT, _width(line[place] for line in (columns, *rows))) for place in range(1, len(columns))]
    if sum(widths) + GAP * (len(columns) - 1) > Console().width:
        _blocks(title, columns, rows, lines)
        return

    aligned = set(right)
    drawn = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for place, column in enumerate(columns):  # the first column names the row: it is the last to be broken
        justify: Literal["left", "right"] = "right" if column in aligned else "left"
        drawn.add_column(column, justify=justify, overflow="fold", no_wrap=place == 0)
    for row in rows:
        drawn.add_row(*row)
    _print(drawn)


def _cell(text: str, lines: bool) -> str:
    text = printable(text, lines=lines)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"


def _width(cells: Iterable[str]) -> int:
    return max(len(line) for cell in cells for line in (cell.splitlines() or [""]))


def _blocks(title: str | None, columns: Sequence[str], rows: Sequence[Sequence[str]], lines: bool) -> None:
    """The same table with a block of lines for each row."""
    if title:
        say(title)
    for row in rows:
        say("")
        facts([(column, cell) for column, cell in zip(columns, row, strict=True) if cell], lines=lines)


def table_of_numbers(title: str | None, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table on stdout, or several below each other where the terminal is too narrow for one.

    Each of them starts with the first column, which names the rows. No number is broken into lines.
    """
    from rich.console import Console

    widths = [max(len(line[place]) for line in (columns, *rows)) + GAP for place in range(len(columns))]
    for chosen in _packed(widths, Console().width):
        table(
            title,
            [columns[place] for place in chosen],
            [[row[place] for place in chosen] for row in rows],
            right=[columns[place] for place in chosen[1:]],
        )
        title = None


def _packed(widths: Sequence[int], room: int) -> list[list[int]]:
    """Which columns go together, at least one each beside the first."""
    tables, used = [[0]], widths[0]
    for place in range(1, len(widths)):
        if used + widths[place] > room and len(tables[-1]) > 1:
            tables.append([0])
            used = widths[0]
        tables[-1].append(place)
        used += widths[place]
    return tables


def facts(pairs: Iterable[tuple[str, str]], *, lines: bool = False) -> None:
    """Print names and values, two columns without a head."""
    from rich.table import Table

    drawn = Table(box=None, show_header=False, pad_edge=False)
    drawn.add_column(style="bold")
    drawn.add_column(overflow="fold")
    for name, value in pairs:
        drawn.add_row(printable(name), _cell(value, lines))
    _print(drawn)


def _print(drawn: Any) -> None:
    from rich.console import Console

    Console(markup=False, highlight=False, emoji=False).print(drawn)


def say(text: str) -> None:
    """Print a line of the result on stdout; paths and sentences are not broken into several lines."""
    typer.echo(printable(text))


def note(text: str) -> None:
    """Print a remark on stderr, beside the result and not part of it."""
    typer.echo(printable(text), err=True)


def document(value: Any) -> None:
    """Print exactly one JSON document on stdout. What is not a finite number becomes null."""
    typer.echo(json.dumps(_finite(value), indent=2, allow_nan=False))


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return value
