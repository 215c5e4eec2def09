"""MovieLens in its original formats, from a folder or straight from the zip archive.

=========  ==============================  ==============================  ==========================
release    ratings                         items                           users
=========  ==============================  ==============================  ==========================
100K       u.data (tabs)                   u.item (``|``), u.genre         u.user (``|``)
1M         ratings.dat (``::``)            movies.dat (``::``)             users.dat (``::``)
10M        ratings.dat (``::``), halves    movies.dat (``::``)             none
20M and    ratings.csv, halves             movies.csv                      none
later
=========  ==============================  ==============================  ==========================

There is one more: the copy of 100K that the package RecBole carries (``ml-100k.inter``, ``.item`` and ``.user``;
tabs and a header). It has every rating, title, genre and fact of a user; release days, links and the official
splits are missing.
"""

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from discreet.data.catalogue import UNKNOWN_YEAR, Scale
from discreet.data.gather import Gatherer, ItemFacts, Repeats
from discreet.data.known_lists import known_list
from discreet.data.ratings import Ratings
from discreet.data.sources import Source
from discreet.data.text import text_batches
from discreet.doors import checked
from discreet.errors import DataError
from discreet.types import AnyArray, Progress, no_progress

STARS, HALF_STARS = Scale(1, 5), Scale(0.5, 5)
NO_GENRE = {"", "unknown", "(no genres listed)"}
OCCUPATIONS = (  # of MovieLens 1M, by code
    "other or not specified", "academic/educator", "artist", "clerical/admin", "college/grad student",
    "customer service", "doctor/health care", "executive/managerial", "farmer", "homemaker", "K-12 student",
    "lawyer", "programmer", "retired", "sales/marketing", "scientist", "self-employed", "technician/engineer",
    "tradesman/craftsman", "unemployed", "writer",
)  # fmt: skip

_YEAR = re.compile(r"\((\d{4})(?:[-\u2013]\d{0,4})?\)")

Record = tuple[int, list[str]]
Item = tuple[int, str, str, Sequence[str]]
"""Of an item: its row in the file, its identifier, its title and its genres."""
Users = tuple[list[str], dict[str, AnyArray]]
"""The users in order, and the facts that are known of them."""


@dataclass(frozen=True)
class Layout:
    """How one release is written."""

    ratings: str
    separator: str
    fields: tuple[str, ...] | None
    columns: Mapping[str, str]
    scale: Scale
    item_file: str
    items: Callable[[Source], Iterator[Item]]
    users: Callable[[Source], Users]

    def facts(self, source: Source, items_public: bool = False) -> ItemFacts:
        """What is known of the items; their list is public by somebody's word, or if it is known by its checksum."""
        found = item_facts(source.label(self.item_file), self.items(source))
        published = known_list(found.catalogue(self.scale), source)
        return replace(found, declared=items_public or published != "", published=published)


def recognise(source: Source) -> Layout | None:
    """Which release lies in a folder or archive, by the names of its files; None if it is not MovieLens."""
    inter = source.matching("", ".inter")
    if "u.data" in source:
        return _100K
    if "ratings.dat" in source and "movies.dat" in source:
        return _1M if "users.dat" in source else _10M
    if "ratings.csv" in source and "movies.csv" in source:
        return _CSV
    if len(inter) == 1:
        return _recbole(inter[0])
    return None


def read_movielens(
    path: str | Path, *, items_public: bool = False, repeats: Repeats = "keep", progress: Progress = no_progress
) -> Ratings:
    """Read any release of MovieLens from its folder or zip archive.

    Parameters
    ----------
    path
        The folder or the archive; the folder inside the archive may have any name.
    items_public
        Say that its list of items is public. One that is known by its checksum needs no word.
    repeats
        What becomes of several ratings of one item by one user: ``"keep"`` them, or merge them by a rule
        (``"last"``, ``"mean"`` or ``"recency"``, see :meth:`discreet.Ratings.merge`).
    progress
        Called with the number of bytes of ratings that were read.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "u.data").write_text("1\\t1\\t5\\t881250949\\n2\\t1\\t3\\t881250950\\n")
    >>> _ = (folder / "u.item").write_text("1|Toy Story (1995)|01-Jan-1995||http|0|0|1\\n")
    >>> _ = (folder / "u.genre").write_text("unknown|0\\nAction|1\\nAnimation|2\\n")
    >>> ratings = read_movielens(folder)
    >>> ratings, ratings.catalogue.genres
    (Ratings(2 ratings, 2 users, 1 item, scale 1 to 5), ('Animation',))
    """
    source = Source.of(Path(path))
    layout = recognise(source)
    if layout is None:
        raise DataError(
            f"{path} does not hold MovieLens: there is no u.data, ratings.dat or ratings.csv with its items"
        )
    facts = layout.facts(source, items_public)
    users, user_facts = layout.users(source)
    gatherer = Gatherer(layout.scale, items=facts.items, users=users)
    _add_ratings(gatherer, source, layout, layout.ratings, progress)
    label = source.label(layout.ratings)
    return gatherer.finish(label, facts=facts, user_facts=user_facts, repeats=repeats)


@checked
def read_movielens_split(path: str | Path, name: str) -> tuple[Ratings, Ratings]:
    """Read one of the official splits of MovieLens 100K, ``"u1"`` to ``"u5"``, ``"ua"`` or ``"ub"``: (train, test).

    Both parts have the same users and the same catalogue, as those of :meth:`discreet.Ratings.split` do.
    """
    source = Source.of(Path(path))
    for file in (f"{name}.base", f"{name}.test"):
        if file not in source:
            raise DataError(f"{path} has no file {file}; the official splits are u1 to u5, ua and ub")
    facts = _100K.facts(source)
    users, user_facts = _100K.users(source)
    gatherer = Gatherer(STARS, items=facts.items, users=users)
    _add_ratings(gatherer, source, _100K, f"{name}.base", no_progress)
    in_train = gatherer.size
    _add_ratings(gatherer, source, _100K, f"{name}.test", no_progress)
    # Mark the rows of the test part by their place in the order of reading, which the gatherer keeps for us.
    whole, places = gatherer.finish_with_places(source.label(f"{name}.base"), facts=facts, user_facts=user_facts)
    handling = whole.handling.after_selection()
    return whole._kept(places < in_train, handling), whole._kept(places >= in_train, handling)


def _add_ratings(gatherer: Gatherer, source: Source, layout: Layout, name: str, progress: Progress) -> None:
    size = source.size(name)
    with source.open(name) as file:
        batches = text_batches(
            file,
            source.label(name),
            separator=layout.separator,
            fields=layout.fields,
            columns=layout.columns,
        )
        for batch, where in batches:
            gatherer.add(batch, where)
            progress(file.tell(), size, f"reading {name}")


# ── Items ──


def year_of(title: str) -> int:
    """The year in a title: the last four digits in brackets, 0 if there are none.

    >>> year_of("Toy Story (1995)"), year_of("Land Before Time III (1995) (V)"), year_of("unknown")
    (1995, 1995, 0)
    """
    years = _YEAR.findall(title)
    return int(years[-1]) if years else UNKNOWN_YEAR


def item_facts(label: str, records: Iterator[Item]) -> ItemFacts:
    """Put items in order of their identifiers; one named twice is an error."""
    found: dict[str, tuple[str, Sequence[str]]] = {}
    for row, item, title, genres in records:
        if not item:
            raise DataError.at(f"{label}, row {row}", "the item has no identifier")
        if item in found:
            raise DataError.at(f"{label}, row {row}", f"the item {item!r} is listed twice")
        found[item] = (title.strip(), [genre for genre in genres if genre not in NO_GENRE])
    if not found:
        raise DataError(f"{label} is empty: it lists no item")
    ordered = sorted(found, key=_natural)
    titles = [found[item][0] for item in ordered]
    of_items, years = [found[item][1] for item in ordered], [year_of(title) for title in titles]
    return ItemFacts(ordered, titles, of_items, years, declared=False)


def _items_of_100k(source: Source) -> Iterator[Item]:
    genres = [record[0] for _, record in _records(source, "u.genre", "|", 2)]
    for row, (item, title, _, _, _, *flags) in _records(source, "u.item", "|", 5 + len(genres)):
        yield row, item, title, [name for name, flag in zip(genres, flags, strict=True) if flag == "1"]


def _items_of_dat(source: Source) -> Iterator[Item]:
    for row, line in _lines(source, "movies.dat"):
        # A title may hold colons: the identifier is before the first mark, the genres after the last.
        item, mark, rest = line.partition("::")
        title, last, genres = rest.rpartition("::")
        if not (mark and last):
            raise DataError.at(f"{source.label('movies.dat')}, row {row}", "expected item::title::genres")
        yield row, item, title, genres.split("|")


def _items_of_csv(source: Source) -> Iterator[Item]:
    label = source.label("movies.csv")
    rows = csv.reader(io.StringIO(source.text("movies.csv"), newline=""))
    header = next(rows, [])
    if header[:3] != ["movieId", "title", "genres"]:
        raise DataError.at(f"{label}, row 1", "the columns must be movieId, title and genres")
    for row, record in enumerate(rows, start=2):
        if not record:
            continue
        if len(record) < 3:
            raise DataError.at(f"{label}, row {row}", f"expected movieId, title and genres, got {len(record)} fields")
        yield row, record[0], record[1], record[2].split("|")


def _items_of_recbole(source: Source, name: str) -> Iterator[Item]:
    for row, (item, title, year, genres) in _records(source, name, "\t", 4, skip=1):
        # What follows the title was split off its brackets; the one film without a title is misspelt.
        whole = "unknown" if title == year == "unkonwn" else f"{title} ({year})"
        yield row, item, whole, genres.split(" ")


# ── Users ──


def _no_users(source: Source) -> Users:
    return [], {}


def _users_in(source: Source, name: str, separator: str, skip: int = 0) -> Users:
    if name not in source:
        return [], {}
    return _user_columns(source.label(name), list(_records(source, name, separator, 5, skip)))


def _users_of_1m(source: Source) -> Users:
    label = source.label("users.dat")
    rows: list[Record] = []
    for row, (user, gender, age, code, place) in _records(source, "users.dat", "::", 5):
        if not (code.isdecimal() and len(code) <= 4 and int(code) < len(OCCUPATIONS)):
            raise DataError.at(
                f"{label}, row {row}", f"the code of the occupation is not one of 0 to {len(OCCUPATIONS) - 1}"
            )
        rows.append((row, [user, age, gender, OCCUPATIONS[int(code)], place]))
    return _user_columns(label, rows)


def _user_columns(label: str, rows: list[Record]) -> Users:
    """Columns from records of user, age, gender, occupation and zip code, in order of the users."""
    seen: set[str] = set()
    for row, (user, age, *_) in rows:
        if not (age.isdecimal() and len(age) <= 4):
            raise DataError.at(f"{label}, row {row}", "the age is not a whole number")
        if user in seen:
            raise DataError.at(f"{label}, row {row}", "this user is listed twice")
        seen.add(user)
    ordered = sorted((record for _, record in rows), key=lambda record: _natural(record[0]))
    return [record[0] for record in ordered], {
        "age": np.array([int(record[1]) for record in ordered], dtype=np.int16),
        "gender": np.array([record[2] for record in ordered], dtype=np.str_),
        "occupation": np.array([record[3] for record in ordered], dtype=np.str_),
        "zip_code": np.array([record[4] for record in ordered], dtype=np.str_),
    }


# ── Small files ──


def _lines(source: Source, name: str) -> Iterator[tuple[int, str]]:
    for row, line in enumerate(source.text(name).split("\n"), start=1):
        if line.strip():
            yield row, line.rstrip("\r")


def _records(source: Source, name: str, separator: str, width: int, skip: int = 0) -> Iterator[Record]:
    for row, line in _lines(source, name):
        if row <= skip:
            continue
        record = line.split(separator)
        if len(record) != width:
            raise DataError.at(f"{source.label(name)}, row {row}", f"expected {width} fields, got {len(record)}")
        yield row, record


def _natural(name: str) -> tuple[int, str]:
    return (int(name), "") if name.isascii() and name.isdigit() and len(name) <= 18 else (2**63, name)


# ── The table of releases ──

_IN_ORDER = {"user": "user", "item": "item", "rating": "rating", "time": "time"}
_FIELDS = ("user", "item", "rating", "time")
_100K = Layout(
    "u.data", "\t", _FIELDS, _IN_ORDER, STARS, "u.item", _items_of_100k, lambda source: _users_in(source, "u.user", "|")
)
_1M = Layout("ratings.dat", "::", _FIELDS, _IN_ORDER, STARS, "movies.dat", _items_of_dat, _users_of_1m)
_10M = Layout("ratings.dat", "::", _FIELDS, _IN_ORDER, HALF_STARS, "movies.dat", _items_of_dat, _no_users)
_CSV = Layout(
    "ratings.csv",
    ",",
    None,
    {"user": "userId", "item": "movieId", "rating": "rating", "time": "timestamp"},
    HALF_STARS,
    "movies.csv",
    _items_of_csv,
    _no_users,
)


def _recbole(inter: str) -> Layout:
    stem = inter.removesuffix(".inter")
    return Layout(
        inter,
        "\t",
        None,
        {"user": "user_id:token", "item": "item_id:token", "rating": "rating:float", "time": "timestamp:float"},
        STARS,
        f"{stem}.item",
        lambda source: _items_of_recbole(source, f"{stem}.item"),
        lambda source: _users_in(source, f"{stem}.user", "\t", skip=1),
    )
