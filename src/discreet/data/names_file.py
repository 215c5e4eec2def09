"""A list of items, from a small file: what is in stock, or what must not be recommended."""

import csv
from pathlib import Path

from discreet.data.columns import SEPARATORS, ending
from discreet.data.remote import Remote, is_remote, remote_frame
from discreet.data.sources import decode, open_bytes
from discreet.errors import DataError, library_for


def read_names(path: str | Path) -> list[str]:
    """Names of items: a table with a column ``item`` or ``title``, here or at an address; or text, one on each line.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "stock.csv"
    >>> _ = file.write_text("item,pieces\\n17,3\\n42,1\\n")
    >>> read_names(file)
    ['17', '42']
    """
    if is_remote(path):
        return _elsewhere(Remote.of(str(path)))
    path = Path(path)
    if ending(path) in (".parquet", ".pq", ".arrow", ".feather", ".ipc"):
        return _of_columns(path)
    with open_bytes(path) as file:
        lines = decode(file.read(), str(path)).splitlines()
    separator = SEPARATORS.get(ending(path), ",")
    header = [name.strip().strip('"').lower() for name in (lines[0] if lines else "").split(separator)]
    named = next((name for name in ("item", "title") if name in header), None)
    if named is None:
        if ending(path) in SEPARATORS and len(header) > 1:
            raise DataError.at(f"{path}, row 1", "a table of items needs a column item or title")
        names = [line.strip() for line in lines]
    else:
        place = header.index(named)
        rows = csv.reader(lines[1:], delimiter=separator)
        names = [row[place].strip() for row in rows if len(row) > place]
    found = [name for name in names if name]
    if not found:
        raise DataError(f"{path} names no item")
    return found


def _elsewhere(address: Remote) -> list[str]:
    """The names that a database or an object store lists."""

    def wanted(names: list[str]) -> dict[str, str]:
        return {"item": "title" if "title" in names and "item" not in names else "item"}

    names = remote_frame(address, wanted)["item"].cast(str).drop_nulls()
    return [name for name in names.to_list() if name]


def _of_columns(path: Path) -> list[str]:
    with library_for("tables"):
        import polars as pl
    from discreet.data.columnar import collected, columns_of
    from discreet.data.sources import require_plain

    require_plain(path)
    try:
        table = pl.scan_parquet(path) if ending(path) in (".parquet", ".pq") else pl.scan_ipc(path)
        named = next((name for name in ("item", "title") if name in columns_of(table)), None)
        if named is None:
            raise DataError(f"{path}: a table of items needs a column item or title")
        names = collected(table.select(pl.col(named).cast(pl.String))).to_series().drop_nulls()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        raise DataError(f"{path} cannot be read: it is cut off or damaged") from None
    return [str(name) for name in names if name]
