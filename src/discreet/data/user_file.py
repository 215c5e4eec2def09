"""What is known of users besides their ratings: a table with a column of users, and facts such as age and occupation.

MovieLens 100K and 1M bring such a table, which is read with them. Facts are private, like ratings.
"""

import csv
import gzip
import hashlib
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from discreet.data.columns import SEPARATORS, ending, what_is_there
from discreet.data.ratings import Ratings
from discreet.data.remote import Remote, is_remote, remote_frame
from discreet.errors import DataError
from discreet.types import AnyArray

OLDEST = 150
"""Ages are whole numbers up to this; 0 stands for an age that nobody told."""
LARGEST_FIELD = 1000
"""Characters of one fact: what is longer is no word that describes a person."""


@dataclass(frozen=True, eq=False)
class UserFacts:
    """Users, and a column of each fact; empty text and age 0 where it is not known. Private."""

    users: tuple[str, ...]
    columns: Mapping[str, AnyArray]

    def of(self, ratings: Ratings) -> Ratings:
        """The same ratings with these facts; users whom the table does not name have none, and others are ignored.

        >>> import discreet as dc
        >>> ratings = dc.synthetic(users=3, items=8, ratings=12, seed=1)
        >>> UserFacts(("2",), {"age": np.array([30], dtype=np.int16)}).of(ratings).user_facts["age"].tolist()
        [0, 30, 0]
        """
        found = np.array([self._places.get(name, -1) for name in ratings.users.names.tolist()], dtype=np.int64)
        facts = dict(ratings.user_facts)
        for name, column in self.columns.items():
            padded = np.concatenate([column, np.zeros(1, dtype=column.dtype)])
            facts[name] = padded[found]
        return replace(ratings, user_facts=facts)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.users)}

    def digest(self) -> str:
        """A checksum of all of it."""
        found = hashlib.sha256("\0".join(self.users).encode())
        for name, column in sorted(self.columns.items()):
            found.update(f"\n{name}:{column.dtype}\n".encode() + column.tobytes())
        return found.hexdigest()


def read_users(path: str | Path, user: str = "user") -> UserFacts:
    """Read a CSV or TSV file (or ``.gz`` of one) whose first row names the columns, or a table at an address.

    One is ``user``. ``age`` holds whole numbers; every other column is text. Nothing of a row is ever in a message.

    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "users.csv"
    >>> _ = file.write_text("user,age,occupation\\nann,31,writer\\nbob,,\\n")
    >>> facts = read_users(file)
    >>> facts.users, facts.columns["age"].tolist(), facts.columns["occupation"].tolist()
    (('ann', 'bob'), [31, 0], ['writer', ''])
    """
    separator: str | None
    if is_remote(path):
        path, separator = Remote.of(str(path)), ","
        rows = _fetched(path, user)
    else:
        path = Path(path)
        separator = SEPARATORS.get(ending(path))
        if separator is None:
            raise DataError(f"{path} is no table of users that Discreet reads: .csv, .tsv or .csv.gz")
        rows = _rows(path, separator)
    names = [name.strip() for name in next(rows, (0, []))[1]]
    if not names:
        raise DataError(f"{path} is empty: the first row must name the columns, one of them {user}")
    if user not in names:
        raise DataError(f"{path}: there is no column {user!r}; {what_is_there(names, separator)}")
    if len(set(names)) < len(names):
        raise DataError(f"{path}, row 1: two columns have the same name")
    own = names.index(user)
    users: dict[str, None] = {}
    texts: list[list[str]] = []
    for row, fields in rows:
        if len(fields) != len(names):
            raise DataError(f"{path}, row {row}: expected {len(names)} fields, got {len(fields)}")
        if any(len(field) > LARGEST_FIELD for field in fields):
            raise DataError(f"{path}, row {row}: a field is longer than {LARGEST_FIELD} characters")
        fields = [field.strip() for field in fields]
        if not fields[own]:
            raise DataError(f"{path}, row {row}: the user has no name")
        if fields[own] in users:
            raise DataError(f"{path}, row {row}: this user is listed twice")
        users[fields[own]] = None
        texts.append(
            [_age(field, path, row) if name == "age" else field for name, field in zip(names, fields, strict=True)]
        )
    columns = {}
    for place, name in enumerate(names):
        if place != own:
            column = [fields[place] for fields in texts]
            columns[name] = np.array(column, dtype=np.int16) if name == "age" else np.array(column, dtype=np.str_)
    return UserFacts(tuple(users), columns)


def _age(field: str, path: str | Path, row: int) -> str:
    if field == "":
        return "0"
    if not (field.isascii() and field.isdigit() and len(field) <= 3 and int(field) <= OLDEST):
        raise DataError(f"{path}, row {row}: the age is not a whole number up to {OLDEST}")
    return str(int(field))


def _fetched(address: Remote, user: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of a table that lies elsewhere, after the names of its columns."""

    def wanted(names: list[str]) -> dict[str, str]:
        return {"user": user} | {name: name for name in names if name not in ("user", user)}

    frame = remote_frame(address, wanted)
    yield 0, [user, *frame.columns[1:]]
    for row, fields in enumerate(frame.iter_rows(), start=1):
        yield row, ["" if field is None else str(field) for field in fields]


def _rows(path: Path, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Rows that are not empty, with their numbers."""
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
            text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
            for row, fields in enumerate(csv.reader(text, delimiter=separator, strict=True), start=1):
                if any(field.strip() for field in fields):
                    yield row, fields
    except FileNotFoundError:
        raise DataError(f"{path} cannot be read: there is no such file") from None
    except UnicodeDecodeError:
        raise DataError(f"{path} is not UTF-8 text: save it as UTF-8") from None
    except csv.Error:
        raise DataError(f"{path} is no table: a quotation mark is not closed, or a row is too long") from None
    except (OSError, EOFError):
        raise DataError(f"{path} cannot be read: it is cut off, damaged or not allowed") from None
