"""A budget says which version its tables have, and what it cannot read is one sentence that stops all spending."""

import copy
import pickle
import sqlite3
from contextlib import closing

import pytest

from discreet.errors import BudgetError, InputError, OverspentError
from discreet.looks import Look
from discreet.privacy.budget import Budget
from discreet.privacy.ledger import Ledger
from discreet.privacy.schema import TABLES, VERSION
from discreet.privacy.spend import Spend


def laplace(epsilon):
    ledger = Ledger(epsilon)
    ledger.charge(Spend(what="counts", mechanism="laplace", norm="l1", sensitivity=1, scale=1 / epsilon))
    return ledger


def changed(budget, *statements):
    """Run statements on its tables, past all checks."""
    with budget._backend.writing() as connection:
        for statement in statements:
            connection.run(statement)
        connection.commit()


def every_use(budget):
    return (
        lambda: budget.account("data"),
        lambda: budget.declare("data", 0.75),
        lambda: budget.reserve("data", laplace(0.1), "more"),
    )


def refused(use):
    with pytest.raises(BudgetError) as found:
        use()
    assert "\n" not in str(found.value) and str(found.value).endswith("nothing was spent")
    return str(found.value)


@pytest.fixture
def budget(url):
    budget = Budget(url)
    budget.declare("data", epsilon=1.0)
    budget.reserve("data", laplace(0.5), "Bias()")
    return budget


def test_a_newer_database_is_refused_and_left_as_it_is(budget, url):
    changed(budget, f"UPDATE discreet_schema SET version = {VERSION + 1}")
    for use in every_use(Budget(url)):
        sentence = refused(use)
        assert f"was written by a newer Discreet: its tables have version {VERSION + 1}, and this one knows" in sentence
    changed(budget, f"UPDATE discreet_schema SET version = {VERSION}")
    assert len(Budget(url).account("data").spendings) == 1


def test_a_version_that_is_lost_is_refused(budget, url):
    changed(budget, "DELETE FROM discreet_schema")
    for use in every_use(Budget(url)):
        assert "does not say which version its tables have" in refused(use)


def test_an_older_database_is_migrated_by_whoever_writes(budget, url):
    changed(
        budget,
        "DROP TABLE discreet_schema",
        "DROP TABLE discreet_looks",
        *(f"ALTER TABLE discreet_spendings DROP COLUMN {name}" for name in ("folder", "digest", "run_id")),
    )
    old = Budget(url)
    assert old.account("data").remaining == 0.5 and old.looks("data") == () and old.unfinished() == ()
    old.write_look("data", Look.now("compare", [("Bias", "a1")]))
    old.reserve("data", laplace(0.25), "more", folder="/tmp/somewhere")
    with old._reading() as connection:
        assert connection.rows("SELECT id, version FROM discreet_schema") == [{"id": 1, "version": VERSION}]
        for name, columns in TABLES.items():
            assert set(connection.columns(name)) == set(columns)
    assert old.account("data").remaining == 0.25 and len(old.looks("data")) == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("UPDATE discreet_spendings SET unit = 'household'", "the unit 'household', which this version does not know"),
        ("UPDATE discreet_spendings SET unit = 'none'", "the unit 'none', which this version does not know"),
        ("UPDATE discreet_spendings SET neighbours = 'some'", "neighbours must be 'add-or-remove' or 'replace'"),
        ("UPDATE discreet_data_sets SET unit = 'household'", "the unit 'household', which this version does not know"),
        ("UPDATE discreet_data_sets SET unit = NULL", "the unit None, which this version does not know"),
        ("UPDATE discreet_data_sets SET delta = NULL", "its limit is not whole"),
        ("UPDATE discreet_data_sets SET epsilon = -1", "its epsilon is not a number of at least 0"),
        ("UPDATE discreet_spendings SET spends = '{}'", "its spends are no JSON list"),
        ("UPDATE discreet_spendings SET spends = '[3]'", "it cannot be read"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(budget, url, change, words):
    changed(budget, change)
    for use in every_use(Budget(url)):
        sentence = refused(use)
        assert words in sentence or words.replace("it cannot be read", "this is not a line of a ledger") in sentence
        assert "data in the budget in" in sentence


@pytest.mark.parametrize("content", ["'{'", "'[[['", "x'ff00'", "''", f"'{'[' * 100_000}'"])
def test_a_row_that_is_no_json_is_named(tmp_path, content):
    """PostgreSQL keeps such rows out itself."""
    budget = Budget(tmp_path / "budget.sqlite")
    budget.declare("data", epsilon=1.0)
    budget.reserve("data", laplace(0.5), "Bias()")
    budget.write_look("data", Look.now("compare", [("Bias", "a1")]))
    with closing(sqlite3.connect(tmp_path / "budget.sqlite")) as connection:
        connection.execute(f"UPDATE discreet_spendings SET spends = {content}")
        connection.execute(f"UPDATE discreet_looks SET models = {content}")
        connection.commit()
    for use in every_use(budget):
        assert "line 1 of data in the budget in" in refused(use) and "no JSON list" in refused(use)
    assert "the look 1 at data in the budget in" in refused(lambda: budget.looks("data"))


@pytest.mark.parametrize(
    "place",
    [
        "sqlite://",
        "sqlite:///",
        "sqlite:///:memory:",
        ":memory:",
        "file::memory:",
        "file::memory:?cache=shared",
        "file:budget?mode=memory",
        "sqlite:///file::memory:",
        "sqlite:///file:budget?mode=memory&uri=true",
        "sqlite+pysqlite:///:memory:",
    ],
)
def test_what_would_be_kept_in_memory_is_refused(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="a budget must outlive the process: write for example"):
        Budget(place)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "place", ["postgresql://me:secret@host/x?nonsense=1", "sqlite://host/x", "sqlite:///x?timeout=1"]
)
def test_urls_with_what_no_database_knows(place):
    with pytest.raises(InputError) as found:
        Budget(place)
    assert "secret" not in str(found.value) and "write for example" in str(found.value)


def test_a_password_is_shown_nowhere():
    for url in ("postgresql+psycopg://me:secret@host:5432/x", "postgres://host/x?user=me&password=secret"):
        place = Budget(url).place
        assert place.startswith("postgresql://") and "secret" not in place and "***" in place


def test_a_name_that_no_database_can_keep_is_a_sentence(url):
    budget = Budget(url)
    for name in ("films \ud800", "films \0"):
        try:
            budget.declare(name, epsilon=1.0)
        except BudgetError as error:
            assert str(error).startswith("the budget in ") and "\n" not in str(error)


def test_a_copy_of_a_ledger_is_the_ledger():
    """A limit is spent once, whatever is copied."""
    ledger = Ledger(1.0)
    spend = laplace(0.6).spends[0]
    for other in (copy.copy(ledger), copy.deepcopy(ledger), copy.deepcopy([ledger, ledger])[0]):
        assert other is ledger
    copy.copy(ledger).charge(spend)
    for other in (ledger, copy.copy(ledger), copy.deepcopy(ledger)):
        with pytest.raises(OverspentError):
            other.charge(spend)
    with pytest.raises(InputError, match="a ledger cannot be pickled, since its copy would be spent a second time"):
        pickle.dumps(ledger)
