"""Columns of a table of items as tags: what is publicly known of items, as words that an item has or has not.

    list      one tag for each value: text separated by ``|``, ``;`` or commas, a list, or text that writes one in
              brackets, as Python and JSON do; the most common values
    number    one tag for each of a few bins, equally many items in each
    text      one tag for each bucket that a word of it is hashed into: words that are new tomorrow have a bucket today

A tag is called ``column: value``. Everything here depends on the public table alone.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from discreet.data.columns import LONGEST_NAME
from discreet.data.labels import counted
from discreet.errors import InputError

Kind = Literal["list", "number", "text"]
KINDS: tuple[Kind, ...] = ("list", "number", "text")
_WORD = re.compile(r"[^\W\d_]{3,}")
_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")
_MARKS = {"|": " by bars", ";": " by semicolons", ",": " by commas"}


@dataclass(frozen=True)
class _Constants:
    """Chosen so that a user's own regression on them stays small."""

    most_values: int = 64
    """Tags of a list; rarer values have none."""
    bins: int = 6
    """Of a number."""
    buckets: int = 32
    """Of text."""
    most_words: float = 3.0
    """Values with more words than this on average are text."""


CONSTANTS = _Constants()


def parse_feature(text: str) -> tuple[str, Kind | None]:
    """A column and what it is, as in ``price:number``; None where the column itself tells.

    >>> parse_feature("price:number"), parse_feature("brand")
    (('price', 'number'), ('brand', None))
    """
    name, colon, kind = text.rpartition(":")
    if not colon:
        return kind, None
    for known in KINDS:
        if kind == known and name:
            return name, known
    raise InputError(f"a feature is a column, or column:kind with list, number or text as the kind, got {text!r}")


@dataclass(frozen=True)
class Tags:
    """The tags of each item that one column gives, and in words how the column was read."""

    rows: list[list[str]]
    how: str


def tags_of(column: pl.Series, kind: Kind | None = None) -> Tags:
    """The tags that a column gives.

    >>> tags_of(pl.Series("brand", ["a, b", "a", None]))
    Tags(rows=[['brand: a', 'brand: b'], ['brand: a'], []], how='brand as a list by commas, 2 tags, none for 1 item')
    """
    own = kind_of_column(column) if kind is None else kind
    if own == "number":
        rows = _bins(column)
        how = f"numbers, {counted(_distinct(rows), 'range')}"
    elif own == "text":
        rows = [
            [str(bucket) for bucket in sorted({bucket_of(word) for word in words_of(text)})] for text in _texts(column)
        ]
        how = f"text, words in {counted(_distinct(rows), 'bucket')}"
    else:
        values = split_values(column)
        rows, most = _most_common(values), CONSTANTS.most_values
        there = _distinct(values)
        how = f"a list{_separated(column)}, " + (
            counted(there, "tag") if there <= most else f"the {most} most common of {there:,} values"
        )
        if kind is None and _mostly_numbers(column):
            how += f" (most are numbers: {column.name[:LONGEST_NAME]}:number makes ranges of them)"
    named = [[f"{column.name}: {value}" for value in row] for row in rows]
    return Tags(named, f"{column.name[:LONGEST_NAME]} as {how}{_remark(rows)}")


def genres_of(column: pl.Series, none: Collection[str]) -> Tags:
    """The genres of a column of them, which are called by their own names; ``none`` are words for having none.

    >>> genres_of(pl.Series("genres", ["Drama|War", "-"]), ["-"])
    Tags(rows=[['Drama', 'War'], []], how='genres as a list by bars, 2 tags, none for 1 item')
    """
    rows = [[genre for genre in row if genre and genre not in none] for row in split_values(column)]
    return Tags(rows, f"{column.name} as a list{_separated(column)}, {counted(_distinct(rows), 'tag')}{_remark(rows)}")


def kind_of_column(column: pl.Series) -> Kind:
    """Whether a column holds numbers, lists of words, or text.

    >>> kind_of_column(pl.Series("price", ["1.5", "2", "10"])), kind_of_column(pl.Series("brand", ["a", "b|c"]))
    ('number', 'list')
    """
    if isinstance(column.dtype, pl.List):
        return "list"
    if column.dtype.is_numeric():
        return "number"
    texts = [text for text in _texts(column) if text]
    if texts and all(_is_number(text) for text in texts):
        return "number"
    values = [value for row in split_values(column) for value in row]
    words = sum(len(value.split()) for value in values) / max(len(values), 1)
    return "text" if words > CONSTANTS.most_words else "list"


def split_values(column: pl.Series) -> list[list[str]]:
    """The values of each item, of a column that may hold several: by bars, semicolons or commas, the first there is.

    >>> split_values(pl.Series("genres", ["Drama, War", "Drama"])), split_values(pl.Series("genres", ["A, B|C"]))
    ([['Drama', 'War'], ['Drama']], [['A, B', 'C']])
    """
    if isinstance(column.dtype, pl.List):
        return [[str(value).strip() for value in row or [] if value is not None] for row in column.to_list()]
    texts = _texts(column)
    if _in_brackets(texts):
        return [_written_list(text) for text in texts]
    mark = _mark(texts) or "|"
    return [[value for value in (part.strip() for part in text.split(mark)) if value] for text in texts]


def _mark(texts: Sequence[str]) -> str | None:
    """What separates the values of a column, if there is anything."""
    return next((mark for mark in _MARKS if any(mark in text for text in texts)), None)


def _in_brackets(texts: Sequence[str]) -> bool:
    """Whether a column holds lists as Python or JSON writes them, and nothing else."""
    there = [text.strip() for text in texts if text.strip()]
    return bool(there) and all(text[0] == "[" and text[-1] == "]" and "{" not in text for text in there)


def _written_list(text: str) -> list[str]:
    """The values of a list as Python, numpy or JSON writes it.

    >>> _written_list("['Drama', \\"Schindler's List\\"]"), _written_list("[Drama, War]")
    (['Drama', "Schindler's List"], ['Drama', 'War'])
    """
    inside = text.strip()[1:-1]
    quoted = [_unquoted(found) for found in _QUOTED.findall(inside)]
    return [value for value in (part.strip() for part in quoted or inside.split(",")) if value]


def _unquoted(text: str) -> str:
    if text[0] == '"':
        try:
            return str(json.loads(text))
        except ValueError:  # Python's escapes are not all JSON's
            pass
    return re.sub(r"\\(.)", r"\1", text[1:-1])


def _separated(column: pl.Series) -> str:
    """In words, by what the values of a column are told apart."""
    if isinstance(column.dtype, pl.List):
        return ""
    texts = _texts(column)
    return " in brackets" if _in_brackets(texts) else _MARKS.get(_mark(texts) or "", "")


def _distinct(rows: list[list[str]]) -> int:
    return len({value for row in rows for value in row})


def _mostly_numbers(column: pl.Series) -> bool:
    """Whether more than half of a column are numbers: then something else among them may be a mistake."""
    if isinstance(column.dtype, pl.List):
        return False
    texts = [text for text in _texts(column) if text]
    return sum(_is_number(text) for text in texts) * 2 > len(texts)


def _remark(rows: list[list[str]]) -> str:
    """Which items a column does not tell apart."""
    without = sum(not row for row in rows)
    if not without and len(rows) > 1 and all(row == rows[0] for row in rows):
        return ", the same for all items: it tells nothing of them"
    return f", none for {counted(without, 'item')}" if without else ""


def words_of(text: str) -> list[str]:
    """The words of a text: three letters at least, small.

    >>> words_of("A red kettle, 1.5 l")
    ['red', 'kettle']
    """
    return [word.lower() for word in _WORD.findall(text)]


def bucket_of(word: str) -> int:
    """Where a word is hashed to: the same everywhere and always."""
    return int.from_bytes(hashlib.blake2b(word.encode(), digest_size=4).digest()) % CONSTANTS.buckets


def _most_common(rows: list[list[str]]) -> list[list[str]]:
    counts = Counter(value for row in rows for value in set(row))
    kept = {
        value for value, _ in sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))[: CONSTANTS.most_values]
    }
    return [[value for value in dict.fromkeys(row) if value in kept] for row in rows]


def _bins(column: pl.Series) -> list[list[str]]:
    if column.dtype.is_numeric():
        numbers = column.cast(pl.Float64).fill_null(float("nan")).to_numpy()
    else:
        numbers = np.array([float(text) if _is_number(text) else np.nan for text in _texts(column)])
    known = np.isfinite(numbers)
    if not known.any():
        return [[] for _ in numbers]
    edges = np.unique(np.quantile(numbers[known], np.linspace(0, 1, CONSTANTS.bins + 1)[1:-1], method="lower"))
    places = np.searchsorted(edges, np.where(known, numbers, 0), side="left")
    names = [f"up to {edge:g}" for edge in edges] + [f"above {edges[-1]:g}"]
    return [[names[place]] if there else [] for place, there in zip(places.tolist(), known.tolist(), strict=True)]


def _texts(column: pl.Series) -> Sequence[str]:
    if isinstance(column.dtype, pl.List):  # a list that is to be read as text, or as a number
        return [" ".join(row) for row in split_values(column)]
    return [text or "" for text in column.cast(pl.String).to_list()]


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False
