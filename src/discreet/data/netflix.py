"""The Netflix Prize: a heading ``movie:`` and then ``user,rating,date`` lines, film after film.

The ratings lie in one file a film (``mv_0000001.txt`` …, in the folder ``training_set``) or in four combined ones
(``combined_data_1.txt`` …). Beside them may lie ``movie_titles.csv`` (``movie,year,title``, Latin-1; titles hold
commas) and ``probe.txt``, the list of pairs that everyone held out for testing.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from discreet.data.catalogue import UNKNOWN_YEAR, Scale
from discreet.data.gather import Gatherer, ItemFacts, Repeats, Where, rows_of
from discreet.data.ratings import Ratings
from discreet.data.sources import BLOCK, Source, record_blocks
from discreet.doors import checked
from discreet.errors import DataError
from discreet.strings import Strings
from discreet.types import AnyArray, Booleans, Progress, no_progress

SCALE = Scale(1, 5)
TITLES, PROBE = ("movie_titles.csv", "movie_titles.txt"), "probe.txt"


def is_netflix(source: Source) -> bool:
    """Whether a folder or archive holds ratings of the Netflix Prize, by the names of its files."""
    return bool(_rating_files(source))


def read_netflix(
    path: str | Path, *, items_public: bool = False, repeats: Repeats = "keep", progress: Progress = no_progress
) -> Ratings:
    """Read the ratings of the Netflix Prize from a folder or a zip archive.

    Titles carry their year, as those of MovieLens do, so that two films of one name can be told apart. That the list of
    films is public is for somebody to say: ``items_public``.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "mv_0000001.txt").write_text("1:\\n1488844,3,2005-09-06\\n822109,5,2005-05-13\\n")
    >>> _ = (folder / "movie_titles.csv").write_text("1,2003,Dinosaur Planet\\n")
    >>> ratings = read_netflix(folder)
    >>> ratings, str(ratings.catalogue.titles[0])
    (Ratings(2 ratings, 2 users, 1 item, scale 1 to 5), 'Dinosaur Planet (2003)')
    """
    source = Source.of(Path(path))
    names = _rating_files(source)
    if not names:
        raise DataError(f"{path} does not hold the Netflix Prize: there is no mv_*.txt and no combined_data_*.txt")
    facts = _titles(source, items_public)
    gatherer = Gatherer(SCALE, items=facts.items if facts else None)
    movie: str | None = None
    done = 0
    for block, where in _blocks(source, names):
        lines = _lines(block, where, 3)
        batch, positions, movie = _under_headings(lines, movie, where)
        dates = batch["f2"].str.to_datetime("%Y-%m-%d", strict=False, time_unit="us")
        columns = batch.select(pl.col("f0").alias("user"), "item", pl.col("f1").alias("rating"), dates.alias("time"))
        gatherer.add(columns, _at(where, positions))
        done += len(block)
        progress(done, max(done, sum(map(source.size, names)) if len(names) < 10 else done), "reading ratings")
    return gatherer.finish(str(path), facts=facts, repeats=repeats)


@checked
def read_netflix_probe(path: str | Path, *, progress: Progress = no_progress) -> tuple[Ratings, Ratings]:
    """Read the Netflix Prize and hold out the pairs of ``probe.txt``: ``(train, probe)`` over the same users."""
    source = Source.of(Path(path))
    if PROBE not in source:
        raise DataError(f"{path} has no file {PROBE}")
    ratings = read_netflix(path, progress=progress).merge("last")
    held_out = np.zeros(len(ratings), dtype=np.bool_)
    movie: str | None = None
    for block, where in _blocks(source, [PROBE]):
        batch, positions, movie = _under_headings(_lines(block, where, 1), movie, where)
        rows = _rows_of_pairs(
            ratings, _numbers(batch["f0"], ratings.users.names), _numbers(batch["item"], ratings.catalogue.items.names)
        )
        if bool((rows < 0).any()):
            first = int(positions[int((rows < 0).argmax())])
            raise DataError.at(where(first), "this pair is not among the ratings")
        held_out[rows] = True
    handling = ratings.handling.after_selection()
    return ratings._kept(~held_out, handling), ratings._kept(held_out, handling)


def _rating_files(source: Source) -> list[str]:
    return source.matching("combined_data_", ".txt") or source.matching("mv_", ".txt")


def _blocks(source: Source, names: list[str]) -> Iterator[tuple[bytes, Where]]:
    """Blocks of whole lines; small files are put together, so that they are not parsed one by one."""
    parts: list[bytes] = []
    starts: list[tuple[int, str, int]] = []  # line within the block, file, row in that file
    lines = size = 0
    for name in names:
        row = 1
        with source.open(name) as file:
            for part in record_blocks(file, source.label(name), quoted=False):
                whole = part if part.endswith(b"\n") else part + b"\n"
                starts.append((lines, source.label(name), row))
                parts.append(whole)
                count = whole.count(b"\n")
                row, lines, size = row + count, lines + count, size + len(whole)
                if size >= BLOCK // 2:
                    yield b"".join(parts), _in_parts(starts)
                    parts, starts, lines, size = [], [], 0, 0
    if parts:
        yield b"".join(parts), _in_parts(starts)


def _in_parts(starts: list[tuple[int, str, int]]) -> Where:
    firsts = [first for first, _, _ in starts]

    def where(position: int) -> str:
        first, label, row = starts[int(np.searchsorted(firsts, position, side="right")) - 1]
        return rows_of(label, row)(position - first)

    return where


def _lines(block: bytes, where: Where, width: int) -> pl.DataFrame:
    """The fields of each line as text; a heading has but one."""
    header = ",".join(f"f{number}" for number in range(width)).encode() + b"\n"
    try:
        return pl.read_csv(header + block, quote_char=None, infer_schema=False)
    except pl.exceptions.PolarsError:
        for number, line in enumerate(block.split(b"\n")):
            if line.count(b",") >= width:
                raise DataError.at(where(number), "expected user,rating,date") from None
        raise DataError.at(where(0), "the lines below are not of the form user,rating,date") from None


def _under_headings(lines: pl.DataFrame, movie: str | None, where: Where) -> tuple[pl.DataFrame, AnyArray, str | None]:
    """Take the headings out and write each line's film beside it: lines, their places, and the last film."""
    heading = lines["f0"].str.ends_with(":").fill_null(False)
    items = pl.select(
        pl.when(heading)
        .then(lines["f0"].str.strip_suffix(":"))
        .otherwise(None)
        .forward_fill()
        .fill_null(pl.lit(movie, dtype=pl.String))
    ).to_series()
    keep = (~heading & lines["f0"].is_not_null()).to_numpy()
    positions = np.flatnonzero(keep)
    last = items[-1] if len(items) else movie
    if len(positions) and items[int(positions[0])] is None:
        raise DataError.at(where(int(positions[0])), "a rating comes before the first heading, which names the film")
    return lines.with_columns(items.alias("item")).filter(pl.Series(keep)), positions, last


def _at(where: Where, positions: AnyArray) -> Where:
    return lambda position: where(int(positions[position]))


def _titles(source: Source, declared: bool) -> ItemFacts | None:
    name = next((name for name in TITLES if name in source), None)
    if name is None:
        return None
    found: dict[str, tuple[str, int]] = {}
    for row, line in enumerate(source.text(name).split("\n"), start=1):
        if not line.strip():
            continue
        item, _, rest = line.rstrip("\r").partition(",")
        year, comma, title = rest.partition(",")
        if not (comma and item.isdigit() and (year.isdigit() or year == "NULL")):
            raise DataError.at(f"{source.label(name)}, row {row}", "expected movie,year,title")
        if item in found:
            raise DataError.at(f"{source.label(name)}, row {row}", f"the item {item!r} is listed twice")
        found[item] = (title, UNKNOWN_YEAR if year == "NULL" else int(year))
    ordered = sorted(found, key=int)
    named = [found[item] for item in ordered]
    titles = [f"{title} ({year})" if year else title for title, year in named]
    return ItemFacts(ordered, titles, [()] * len(ordered), [year for _, year in named], declared)


def _numbers(names: pl.Series, known: Strings) -> AnyArray:
    """Position of each name among the known ones, -1 for others."""
    table = pl.DataFrame({"name": known.tolist(), "number": np.arange(len(known), dtype=np.int64)})
    column = names.alias("name").to_frame().join(table, on="name", how="left", maintain_order="left")["number"]
    return np.asarray(column.fill_null(-1).to_numpy())


def _rows_of_pairs(ratings: Ratings, users: AnyArray, items: AnyArray) -> AnyArray:
    """The row that holds each pair, -1 where none does; ratings are searched in blocks to bound the memory."""
    wanted = users * ratings.n_items + items
    rows = np.full(len(wanted), -1, dtype=np.int64)
    known = (users >= 0) & (items >= 0)
    for first in range(0, len(ratings), 10_000_000):
        part = slice(first, first + 10_000_000)
        keys = ratings.user_index[part].astype(np.int64) * ratings.n_items + ratings.item_index[part]
        places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        found: Booleans = known & (keys[places] == wanted)
        rows[found] = first + places[found]
    return rows
