"""Sentences of the library, which speaks of arguments, in options of the command line, and which option would help."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import DataError

if TYPE_CHECKING:
    from discreet.cli.data_options import DataOptions

_TYPED = (
    ("repeats='last'", "--repeats last"),
    ("drop_unlisted=True", "--drop-unlisted"),
    ("or name its encoding", "or name its encoding, as in --encoding latin-1"),
)
_WIDTHS = re.compile(r"fields? where [\d,]+ are expected$")


def in_options(error: DataError, source: "DataOptions") -> DataError:
    """What is wrong with the files that these options name."""
    sentence = str(error)
    for said, typed in _TYPED:
        sentence = sentence.replace(said, typed)
    file = re.sub(r", row [\d,]+$", "", error.place or "")
    of_items = source.items is not None and Path(file) == Path(source.items)
    hint = _of_items(sentence, source) if of_items else _of_ratings(sentence, source)
    return DataError(sentence + hint, place=error.place)


def about_times(sentence: str) -> str:
    """What the library says of a split by time; it is found when the ratings are read already.

    >>> about_times("these ratings have no times to split by: name their column, or split at random")
    'these ratings have no times to split by: name their column, --time-column NAME, or split at random'
    """
    return sentence.replace(
        "times to split by: name their column", "times to split by: name their column, --time-column NAME"
    )


def _of_items(sentence: str, source: "DataOptions") -> str:
    """Which option would help with the table of items."""
    if sentence.endswith("the first row must name the columns"):
        return ", or --items-columns must, as in --items-columns item,title,genres"
    if source.items_columns is not None and _WIDTHS.search(sentence):
        return ": --items-columns must name every field"
    item = source.items_id_column or source.item_column or "item"
    if f"there is no column {item!r}; the columns are " in sentence:
        return "; --items-id-column NAME says which holds the items; without a header --items-columns names them all"
    return ""


def _of_ratings(sentence: str, source: "DataOptions") -> str:
    """The same for the ratings."""
    if sentence.endswith("the first row must name the columns"):
        example = "user,item" if source.implicit else "user,item,rating"
        return f", or --columns must, as in --columns {example}"
    if source.columns is not None and _WIDTHS.search(sentence):
        return ": --columns must name every field"
    for what in ("user", "item", "rating"):
        if getattr(source, f"{what}_column") is None and f"there is no column {what!r}; the columns are " in sentence:
            none = ", or --implicit that there are none" if what == "rating" else ""
            return f"; --{what}-column NAME says which holds the {what}s{none}"
    return ""
