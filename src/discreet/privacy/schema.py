"""The tables of a budget, and how an older database gets what it lacks."""

from typing import Any

from sqlalchemy import JSON, Column, Connection, Double, ForeignKey, Integer, MetaData, Select, String, Table, inspect
from sqlalchemy import select as _select

EXACT = "none"
"""In place of a unit: whose secret a release without privacy keeps."""
LOCK = 0x64697363
"""Of PostgreSQL, held while tables are made: any number that is always the same."""

TABLES = MetaData()
DATA_SETS = Table(
    "discreet_data_sets",
    TABLES,
    Column("name", String, primary_key=True),
    Column("unit", String),  # these four are the limit: null until it is declared
    Column("neighbours", String),
    Column("epsilon", Double),
    Column("delta", Double),
)
SPENDINGS = Table(
    "discreet_spendings",
    TABLES,
    Column("id", Integer, primary_key=True),
    Column("data_set", ForeignKey(DATA_SETS.c.name), nullable=False, index=True),
    Column("unit", String, nullable=False),  # EXACT, and an infinite epsilon, for a release without privacy
    Column("neighbours", String, nullable=False),
    Column("purpose", String, nullable=False),
    Column("reserved_at", String, nullable=False),
    Column("released_at", String),
    Column("epsilon", Double, nullable=False),  # of this fit alone, at the delta that it was asked to meet
    Column("delta", Double, nullable=False),
    Column("total", Double, nullable=False),  # of everything until then, at the delta of the data set
    Column("spends", JSON, nullable=False),
    # From here on: what older databases lack.
    Column("settings", String),  # hash of the model and its settings
    Column("run_id", String),  # by which a retry is known
    Column("claim", String),  # who may publish it: the last process that took the run over
    Column("arrays", String),  # checksum of what was published under a run id
    Column("digest", String),  # of the reports that were paid for
)
LOOKS = Table(
    "discreet_looks",
    TABLES,
    Column("id", Integer, primary_key=True),
    Column("data_set", ForeignKey(DATA_SETS.c.name), nullable=False, index=True),
    Column("at", String, nullable=False),
    Column("what", String, nullable=False),
    Column("models", JSON, nullable=False),  # kinds, and hashes of their settings
)
SKETCHES = Table(
    "discreet_sketches",
    TABLES,
    Column("id", Integer, primary_key=True),
    Column("data_set", ForeignKey(DATA_SETS.c.name), nullable=False, index=True),
    Column("at", String, nullable=False),
    Column("place", String, nullable=False),  # the file or folder it was read from, where that is known
    Column("key_id", String, nullable=False),
    Column("users", String, nullable=False),
    Column("tastes", String, nullable=False),
    Column("items", String, nullable=False),
)
KEYS = Table("discreet_keys", TABLES, Column("id", Integer, primary_key=True), Column("key", String, nullable=False))
"""The key of the sketches in PostgreSQL; beside a SQLite file it is a file of its own."""


def is_current(connection: Connection) -> bool:
    """Whether every table and column is there."""
    known = inspect(connection)
    return all(known.has_table(table.name) for table in TABLES.sorted_tables) and not _missing(connection)


def bring_up_to_date(connection: Connection) -> None:
    """Make what is missing, in the transaction of whoever writes; nothing that is there is changed."""
    TABLES.create_all(connection)
    for column in _missing(connection):
        connection.exec_driver_sql(f"ALTER TABLE {SPENDINGS.name} ADD COLUMN {column} VARCHAR")


def select_present(connection: Connection, table: Table) -> Select[Any]:
    """All columns of a table that an older database has."""
    present = {column["name"] for column in inspect(connection).get_columns(table.name)}
    return _select(*(column for column in table.c if column.name in present))


def _missing(connection: Connection) -> list[str]:
    present = {column["name"] for column in inspect(connection).get_columns(SPENDINGS.name)}
    return [column.name for column in SPENDINGS.c if column.name not in present]
