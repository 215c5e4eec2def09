"""The tables of a budget, their version, and how an older database gets what it lacks.

version     what is new
1           without a number: the tables of the first databases, and columns that were added one by one
2           the table discreet_schema, which holds the version; where the release of a line is written
3           the limit that stood when the first fit was paid; how ratings were read when they were looked at
"""

from typing import Any

from discreet.errors import BudgetError
from discreet.privacy.connections import Backend, Connection

VERSION = 3
EXACT = "none"
"""In place of a unit: whose secret a release without privacy keeps."""
SERIAL = "serial"
"""A number that the database gives; each has its own word for it."""
_OF_DATA_SET = "VARCHAR NOT NULL REFERENCES discreet_data_sets (name)"

SCHEMA, DATA_SETS, SPENDINGS = "discreet_schema", "discreet_data_sets", "discreet_spendings"
LOOKS, SKETCHES, KEYS = "discreet_looks", "discreet_sketches", "discreet_keys"

TABLES: dict[str, dict[str, str]] = {
    SCHEMA: {"id": "INTEGER NOT NULL PRIMARY KEY", "version": "INTEGER NOT NULL"},
    DATA_SETS: {
        "name": "VARCHAR NOT NULL PRIMARY KEY",
        "unit": "VARCHAR",  # these four are the limit: null until it is declared
        "neighbours": "VARCHAR",
        "epsilon": "DOUBLE PRECISION",
        "delta": "DOUBLE PRECISION",
        "promised_epsilon": "DOUBLE PRECISION",  # the limit that stood when the first fit was paid
        "promised_delta": "DOUBLE PRECISION",
    },
    SPENDINGS: {
        "id": SERIAL,
        "data_set": _OF_DATA_SET,
        "unit": "VARCHAR NOT NULL",  # EXACT, and an infinite epsilon, for a release without privacy
        "neighbours": "VARCHAR NOT NULL",
        "purpose": "VARCHAR NOT NULL",
        "reserved_at": "VARCHAR NOT NULL",
        "released_at": "VARCHAR",
        "epsilon": "DOUBLE PRECISION NOT NULL",  # of this fit alone, at the delta that it was asked to meet
        "delta": "DOUBLE PRECISION NOT NULL",
        "total": "DOUBLE PRECISION NOT NULL",  # of everything until then, at the delta of the data set
        "spends": "JSON NOT NULL",
        # From here on: what older databases lack.
        "settings": "VARCHAR",  # hash of the model and its settings
        "run_id": "VARCHAR",  # by which a retry is known
        "claim": "VARCHAR",  # names the answers that were drawn for it: whoever has them may publish it
        "arrays": "VARCHAR",  # checksum of what is published, written down just before it appears
        "digest": "VARCHAR",  # of the reports that were paid for
        "folder": "VARCHAR",  # where its release is written
    },
    LOOKS: {
        "id": SERIAL,
        "data_set": _OF_DATA_SET,
        "at": "VARCHAR NOT NULL",
        "what": "VARCHAR NOT NULL",
        "models": "JSON NOT NULL",  # kinds, and hashes of their settings
        "reading": "VARCHAR",  # how the ratings were read
    },
    SKETCHES: {
        "id": SERIAL,
        "data_set": _OF_DATA_SET,
        "at": "VARCHAR NOT NULL",
        "place": "VARCHAR NOT NULL",  # the file or folder it was read from, where that is known
        "key_id": "VARCHAR NOT NULL",
        "users": "VARCHAR NOT NULL",
        "tastes": "VARCHAR NOT NULL",
        "items": "VARCHAR NOT NULL",
    },
    # The key of the sketches in PostgreSQL; beside a SQLite file it is a file of its own.
    KEYS: {"id": "INTEGER NOT NULL PRIMARY KEY", "key": "VARCHAR NOT NULL"},
}


def version_of(connection: Connection, place: str) -> int:
    """The version of the tables, 0 where there are none; a newer one than this is refused."""
    if not connection.columns(SCHEMA):
        return 1 if connection.columns(SPENDINGS) else 0
    found: list[Any] = [row["version"] for row in connection.rows(f"SELECT version FROM {SCHEMA}")]
    if len(found) != 1 or not isinstance(found[0], int) or found[0] < 1:
        raise BudgetError(
            f"the budget in {place} does not say which version its tables have ({SCHEMA} is damaged): "
            "put it back from a backup; nothing was spent"
        )
    if found[0] > VERSION:
        raise BudgetError(
            f"the budget in {place} was written by a newer Discreet: its tables have version {found[0]}, and this one "
            f"knows {VERSION}; install the newer one; nothing was spent"
        )
    return found[0]


def bring_up_to_date(connection: Connection, backend: Backend) -> None:
    """Make what is missing, in the transaction of whoever writes; nothing that is there is changed."""
    if version_of(connection, backend.place) == VERSION:
        return
    if lock := getattr(connection, "lock_tables", None):
        lock()  # of two who make them at once, one waits, and then finds them
    for table, columns in TABLES.items():
        present = connection.columns(table)
        if not present:
            kinds = (f"{name} {backend.serial if kind == SERIAL else kind}" for name, kind in columns.items())
            connection.run(f"CREATE TABLE {table} ({', '.join(kinds)})")
        for name in columns:
            if present and name not in present:
                connection.run(f"ALTER TABLE {table} ADD COLUMN {name} {columns[name]}")
        if "data_set" in columns:
            connection.run(f"CREATE INDEX IF NOT EXISTS ix_{table}_data_set ON {table} (data_set)")
    connection.run(
        f"UPDATE {DATA_SETS} SET promised_epsilon = epsilon, promised_delta = delta "
        f"WHERE name NOT IN (SELECT data_set FROM {SPENDINGS})"
    )
    statement = (
        f"INSERT INTO {SCHEMA} (id, version) VALUES (1, :version) ON CONFLICT (id) DO UPDATE SET version = :version"
    )
    connection.run(statement, version=VERSION)
