"""The public items of data whose ratings are not read: for whoever plans before looking."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from discreet.data.catalogue import IMPLICIT, Catalogue, Scale
from discreet.data.columns import TEXT_ENDINGS, ending
from discreet.data.datasets import DATA_SETS, SYNTHETIC, locate
from discreet.data.item_file import read_catalogue
from discreet.data.movielens import recognise
from discreet.data.sources import Source, is_folder, is_there
from discreet.data.synthetic import synthetic
from discreet.data.text import header_of, require_columns
from discreet.data.text_format import TextFormat
from discreet.errors import DataError, InputError, require


def public_catalogue(
    data: str,
    *,
    path: str | Path | None = None,
    scale: Scale | None = None,
    implicit: bool = False,
    items: str | Path | None = None,
    item: str = "item",
    items_public: bool = False,
    title: str | None = None,
    features: Sequence[str] = (),
    columns: Sequence[str] | None = None,
    encoding: str = "utf-8",
) -> Catalogue:
    """The items of a data set by name, of a folder of MovieLens, or of the table in ``items``. No rating is read.

    >>> len(public_catalogue("synthetic"))
    1700
    """
    found = _catalogue_of_data(data, path, items_public)
    if found is None:
        if items is None:
            raise InputError(
                f"which items {data} is about is not known without its ratings: name a public table, --items FILE"
            )
        require(scale is not None or implicit, f"{data} does not say its rating scale: declare it, for example 1:5")
        return read_catalogue(
            items,
            IMPLICIT if scale is None else scale,
            item,
            items_public=items_public,
            title=title,
            features=features,
            columns=columns,
            encoding=encoding,
        )
    return replace(found, scale=IMPLICIT) if implicit else found


def _catalogue_of_data(data: str, path: str | Path | None, items_public: bool) -> Catalogue | None:
    """Of data that bring a list of items of their own; None for a table."""
    if data == SYNTHETIC:
        return synthetic().catalogue  # nobody gave these ratings
    entry = DATA_SETS.get(data)
    place = Path(data) if entry is None else locate(entry, path)
    if entry is not None and place is None:  # not here yet: as many items as its publisher states
        return Catalogue.of([str(number) for number in range(entry.items)], entry.scale, declared=True)
    assert place is not None
    if not is_there(place):
        raise DataError(f"there is no data set, file or folder {data}")
    if place.name in ("u.data", "ratings.dat") and recognise(Source.of(place.parent)) is not None:
        place = place.parent
    if not is_folder(place) and place.suffix.lower() != ".zip":
        return None
    source = Source.of(place)
    layout = recognise(source)
    if layout is not None:
        return layout.facts(source, items_public).catalogue(layout.scale)
    if entry is not None:
        return Catalogue.of([str(number) for number in range(entry.items)], entry.scale, declared=True)
    return None


def check_header(path: Path, text: TextFormat, columns: Mapping[str, str]) -> None:
    """Raise unless the first row of a table names these columns, by what they mean; no other row is read."""
    if ending(path) not in TEXT_ENDINGS:
        return
    names = list(text.columns) if text.columns is not None else header_of(path, text, columns.values())
    require_columns(names, columns, f"{path}, row 1", text.separator_of(path, columns.values()))
