"""A database that an earlier version wrote is used as it is, and gets what it lacks at the first booking."""

import sqlite3
import stat
from contextlib import closing

from discreet.looks import Look
from discreet.privacy.budget import Budget
from discreet.privacy.ledger import Ledger
from discreet.privacy.spend import Spend

OLD = """
CREATE TABLE discreet_data_sets (
    name VARCHAR NOT NULL, unit VARCHAR, neighbours VARCHAR, epsilon DOUBLE, delta DOUBLE, PRIMARY KEY (name));
CREATE TABLE discreet_spendings (
    id INTEGER NOT NULL, data_set VARCHAR NOT NULL, unit VARCHAR NOT NULL, neighbours VARCHAR NOT NULL,
    purpose VARCHAR NOT NULL, reserved_at VARCHAR NOT NULL, released_at VARCHAR, epsilon DOUBLE NOT NULL,
    delta DOUBLE NOT NULL, total DOUBLE NOT NULL, spends JSON NOT NULL, PRIMARY KEY (id),
    FOREIGN KEY(data_set) REFERENCES discreet_data_sets (name));
CREATE INDEX ix_discreet_spendings_data_set ON discreet_spendings (data_set);
INSERT INTO discreet_data_sets VALUES ('films', 'rating', 'add-or-remove', 1.0, 0.0);
INSERT INTO discreet_spendings VALUES (1, 'films', 'rating', 'add-or-remove', 'Popularity()',
    '2026-01-01T00:00:00+00:00', '2026-01-01T00:00:01+00:00', 0.5, 0.0, 0.5, '[SPEND]');
"""


def half():
    ledger = Ledger(0.5)
    ledger.charge(Spend(what="counts", mechanism="laplace", norm="l1", sensitivity=1, scale=2.0))
    return ledger


def old_budget(folder):
    import json

    path = folder / "budget.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(OLD.replace("[SPEND]", json.dumps([spend.to_json() for spend in half().spends])))
    return path


def test_is_read_without_being_changed(tmp_path):
    path = old_budget(tmp_path)
    before = path.read_bytes()
    budget = Budget(path)
    assert budget.account("films").remaining == 0.5 and budget.account("films").run("nightly") is None
    assert budget.looks("films") == () and budget.sketches() == {} and budget.knows("films")
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_is_brought_up_to_date_by_whoever_books(tmp_path):
    path = old_budget(tmp_path)
    budget = Budget(path)
    line = budget.reserve("films", half(), "Popularity()", settings="a1", run_id="nightly")
    assert line.publishing("sha")
    line.released()
    budget.write_look("films", Look.now("compare", [("Bias", "a1")]))
    first, second = Budget(path).account("films").spendings
    assert (first.run_id, first.settings, first.epsilon) == (None, None, 0.5)
    assert (second.run_id, second.settings, second.arrays) == ("nightly", "a1", "sha")
    assert [look.models for look in budget.looks("films")] == [(("Bias", "a1"),)]
    assert budget.account("films").remaining == 0.0


def test_the_key_is_its_owners_alone(tmp_path):
    budget = Budget(tmp_path / "budget.sqlite")
    key = budget.key()
    file = tmp_path / "budget.sqlite.key"
    assert len(key) == 32 and Budget(tmp_path / "budget.sqlite").key() == key
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and [file] == list(tmp_path.iterdir())


def test_the_key_on_a_server(postgres):
    url = postgres.emptied()
    assert Budget(url).key() == Budget(url).key()
