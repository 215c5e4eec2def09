"""A budget outlives processes, is never overspent by any number of them, and loses nothing when they die."""

import os
import re
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BudgetError, InputError, OverspentError
from discreet.privacy import budget as budget_module
from discreet.privacy.account import Account, OneMore, Spending
from discreet.privacy.budget import Budget, default_path
from discreet.privacy.ledger import Ledger
from discreet.privacy.spend import Spend
from discreet.privacy.unit import Rating, User

SPENDERS = Path(__file__).with_name("spenders.py")
DELTA = 1e-6


def laplace(epsilon, unit=None, delta=0.0):
    ledger = Ledger(epsilon, delta, unit)
    ledger.charge(Spend(what="counts", mechanism="laplace", norm="l1", sensitivity=1, scale=1 / epsilon))
    return ledger


def gaussian(scale=8.0, unit=None):
    ledger = Ledger(100.0, DELTA, unit or User())
    ledger.charge(Spend(what="gram", mechanism="gaussian", norm="l2", sensitivity=1, scale=scale))
    return ledger


def test_books_until_the_limit_and_not_beyond(url):
    budget = Budget(url)
    budget.declare("data", epsilon=1.0)
    budget.reserve("data", laplace(0.5), "Bias()").released()
    budget.reserve("data", laplace(0.25), "Popularity()")
    with pytest.raises(OverspentError) as refused:
        budget.reserve("data", laplace(0.75), "Bias(item_damping=1)")
    assert str(refused.value) == (
        "Bias(item_damping=1) asks for epsilon 0.75 of data, where 0.25 of 1 is left: "
        "together that comes to 1.5, 0.5 over the limit; nothing was computed or spent"
    )
    account = Budget(url).account("data")  # as another process finds it
    assert (account.epsilon, account.delta, account.unit) == (1.0, 0.0, Rating())
    assert (account.spent, account.remaining) == (0.75, 0.25)
    lines = [(line.purpose, line.state, line.epsilon, line.total) for line in account.spendings]
    assert lines == [("Bias()", "released", 0.5, 0.5), ("Popularity()", "reserved", 0.25, 0.75)]
    assert account.spends == (*laplace(0.5).spends, *laplace(0.25).spends)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", account.spendings[0].reserved_at)
    Budget(url).reserve("data", laplace(0.25), "the last of it")
    assert budget.account("data").remaining == 0.0


def test_accounts_of_different_data_sets_do_not_meet(url):
    budget = Budget(url)
    budget.declare("one", epsilon=1.0)
    budget.reserve("one", laplace(1.0), "all")
    budget.reserve("other", laplace(5.0), "all")
    assert (budget.account("one").spent, budget.account("other").spent) == (1.0, 5.0)
    assert budget.account("third") == Account(data="third")


def test_without_a_limit_everything_is_booked_and_nothing_refused(url):
    budget = Budget(url)
    for epsilon in (3.0, 4.0):
        budget.reserve("data", laplace(epsilon), "much").released()
    account = budget.account("data")
    assert (account.spent, account.epsilon, account.remaining) == (7.0, None, None)
    with pytest.raises(InputError, match="data has spent epsilon 7 at delta 0 already, so its limit cannot be 5"):
        budget.declare("data", epsilon=5.0)
    budget.declare("data", epsilon=8.0)
    with pytest.raises(OverspentError):
        budget.reserve("data", laplace(2.0), "more")


def test_a_limit_can_be_lowered_and_never_raised(url):
    budget = Budget(url)
    budget.declare("data", epsilon=2.0, delta=1e-5, unit=User())
    budget.declare("data", epsilon=2.0)  # says the same again
    assert budget.account("data").delta == 1e-5
    budget.declare("data", epsilon=1.5, delta=1e-6)
    for epsilon, delta in ((1.6, 1e-6), (1.5, 1e-5), (1.0, 1e-5)):
        with pytest.raises(InputError, match=r"the limit of data is epsilon 1\.5, delta 1e-06: it can be lowered, and"):
            budget.declare("data", epsilon=epsilon, delta=delta)
    with pytest.raises(InputError, match="kept for another unit"):
        budget.declare("data", epsilon=1.0, unit=Rating())
    budget.reserve("data", gaussian(), "gram")
    with pytest.raises(InputError, match=r"data has spent epsilon 0\.5"):
        budget.declare("data", epsilon=0.1)
    with pytest.raises(InputError, match="data has spent epsilon inf at delta 0 already"):
        budget.declare("data", epsilon=1.0, delta=0.0)
    account = budget.account("data")
    assert (account.epsilon, account.delta, account.unit) == (1.5, 1e-6, User())


@pytest.mark.parametrize(("epsilon", "delta"), [(0, 0), (-1, 0), (float("nan"), 0), (float("inf"), 0), (1, 1), (1, -1)])
def test_impossible_limits_are_refused(tmp_path, epsilon, delta):
    budget = Budget(tmp_path / "budget.sqlite")
    with pytest.raises(InputError, match=r"epsilon must be positive and finite|delta must lie in"):
        budget.declare("data", epsilon=epsilon, delta=delta)
    assert list(tmp_path.iterdir()) == []


def test_units_do_not_mix(url):
    budget = Budget(url)
    budget.declare("data", epsilon=2.0, delta=DELTA, unit=User())
    budget.reserve("data", gaussian(unit=User()), "users")
    budget.reserve("data", gaussian(unit=User(max_ratings=200)), "users, of whom few ratings are used")
    for other in (Rating(), Rating("replace"), User(neighbours="replace")):
        with pytest.raises(InputError, match=r"data is kept for another unit \(all ratings of one user, present or"):
            budget.reserve("data", laplace(0.1, other), "other")
    assert len(budget.account("data").spendings) == 2


def test_without_a_limit_a_release_for_users_costs_ratings_too(url):
    budget = Budget(url)
    budget.reserve("data", laplace(1.0), "ratings")
    budget.reserve("data", gaussian(), "users")
    budget.reserve("data", laplace(2.0), "ratings")
    account = budget.account("data")
    ratings = Ledger(100.0, DELTA)
    ratings.charge(*laplace(1.0).spends)
    ratings.charge(*(spend.for_group(2) for spend in gaussian().spends))
    ratings.charge(*laplace(2.0).spends)
    assert account.unit is None
    assert [(part.unit, part.bounds_its_unit) for part in account.parts] == [(Rating(), True), (User(), False)]
    assert [part.spent for part in account.parts] == [ratings.spent, float("inf")]  # many ratings bound no user
    assert [line.total for line in account.spendings] == [1.0, float("inf"), ratings.spent]
    assert [part["epsilon"] for part in account.summary()["spent"]] == [ratings.spent, None]
    with pytest.raises(InputError, match="data was spent for several units, which do not add up: see its parts"):
        _ = account.spent
    with pytest.raises(InputError, match=r"data was spent for another unit before \(one rating, present or absent\)"):
        budget.declare("data", epsilon=100.0, delta=DELTA, unit=User())
    budget.declare("data", epsilon=100.0, delta=DELTA)
    account = budget.account("data")
    assert (account.unit, account.spent) == (Rating(), ratings.spent)


def test_a_limit_for_ratings_pays_twice_for_users(url):
    budget = Budget(url)
    budget.declare("data", epsilon=1.0)
    budget.reserve("data", laplace(0.25, User()), "users")
    budget.reserve("data", laplace(0.25), "ratings")
    budget.reserve("data", laplace(0.125, User(neighbours="replace")), "users, replaced")
    account = budget.account("data")
    assert account.spent == 0.875
    assert [(line.epsilon, line.total) for line in account.spendings] == [(0.25, 0.5), (0.25, 0.75), (0.125, 0.875)]
    with pytest.raises(
        OverspentError,
        match=r"users asks for epsilon 0\.125 of data \(for one rating, present or absent it counts 2 times\), "
        r"where 0\.0625 of 1 is left: together that comes to 1\.125",
    ):
        budget.reserve("data", laplace(0.125, User()), "users")
    with pytest.raises(InputError, match="kept for another unit"):
        budget.reserve("data", laplace(0.1, Rating("replace")), "values")


@pytest.mark.parametrize("fit", [laplace(0.3, User()), gaussian(), gaussian(3.0)], ids=["laplace", "gaussian", "more"])
@pytest.mark.parametrize("before", [(), (laplace(0.1, User()),), (gaussian(), laplace(0.1, User()))])
def test_what_is_left_can_be_asked_for_and_no_more(url, fit, before):
    """In epsilon for one more fit like the last, and how many of those; tried out against the budget itself."""
    budget = Budget(url)
    budget.declare("data", epsilon=3.0, delta=DELTA, unit=User())
    assert budget.account("data").one_more() == OneMore(epsilon=3.0, fits=1)
    for plan in (*before, fit):
        budget.reserve("data", plan, "it")
    left = budget.account("data").one_more()
    assert budget.account("data").remaining == left.epsilon

    def scaled(noise):
        ledger = Ledger(100.0, fit.delta, User())
        ledger.plan(*(replace(spend, scale=spend.scale * noise) for spend in fit.spends))
        ledger.charge(*ledger.planned)
        return ledger

    low, high = 0.01, 100.0
    for _ in range(60):
        middle = (low * high) ** 0.5
        low, high = (low, middle) if scaled(middle).spent <= left.epsilon * (1 + 1e-9) else (middle, high)
    with pytest.raises(OverspentError):
        budget.account("data").total_with(scaled(high * 0.99999), "more")
    budget.account("data").total_with(scaled(high * 1.00001), "it")
    for _ in range(left.fits):
        budget.reserve("data", fit, "again")
    with pytest.raises(OverspentError):
        budget.reserve("data", fit, "once too often")
    assert budget.account("data").one_more().fits == 0


def test_without_a_limit_there_is_no_telling_what_is_left(url):
    budget = Budget(url)
    budget.reserve("data", laplace(1.0), "it")
    assert budget.account("data").one_more() is None


def test_what_is_spent_is_composed_and_not_added_up(url):
    budget = Budget(url)
    budget.declare("data", epsilon=1.0, delta=DELTA, unit=User())
    for _ in range(3):
        budget.reserve("data", gaussian(), "gram")
    account = budget.account("data")
    ledger = Ledger(1.0, DELTA, User())
    ledger.charge(*gaussian().spends * 3)
    assert account.spent == ledger.spent == account.spendings[-1].total
    assert account.spent < 0.7 * sum(line.epsilon for line in account.spendings)
    with pytest.raises(OverspentError, match=r"gram asks for epsilon 0\.5"):
        budget.reserve("data", gaussian(), "gram")


def test_gaussian_noise_needs_a_limit_with_a_delta(url):
    budget = Budget(url)
    budget.declare("data", epsilon=1.0, unit=User())
    with pytest.raises(OverspentError, match="gram adds Gaussian noise, which needs a delta above 0, and the limit"):
        budget.reserve("data", gaussian(), "gram")
    assert budget.account("data").spendings == ()


@given(plans=st.lists(st.one_of(st.floats(0.01, 0.5).map(laplace), st.floats(5, 40).map(gaussian)), max_size=6))
@settings(max_examples=25)
def test_an_account_refuses_exactly_what_a_ledger_refuses(plans):
    ledger = Ledger(1.0, DELTA)
    account = Account(data="data", unit=Rating(), epsilon=1.0, delta=DELTA)
    for own in plans:
        plan = Ledger(own.epsilon, own.delta, Rating())
        plan.charge(*own.spends)
        try:
            total = account.total_with(plan, "it")
        except OverspentError:
            with pytest.raises(OverspentError):
                ledger.charge(*plan.spends)
            continue
        ledger.charge(*plan.spends)
        line = Spending(
            id=0,
            unit=Rating(),
            purpose="it",
            reserved_at="",
            released_at=None,
            epsilon=0,
            delta=DELTA,
            total=total,
            spends=plan.spends,
        )
        account = replace(account, spendings=(*account.spendings, line))
        assert total == account.spent == ledger.spent <= 1.0 + 1e-9


def test_nothing_about_ratings_or_users_is_kept(url):
    """Only these columns, and in them only what mechanisms are and what they were for; sketches need a secret key."""
    budget = Budget(url)
    budget.reserve("data", laplace(0.5), "Bias()")
    with budget._reading() as connection:
        found = {name: connection.columns(name) for name in connection.tables()}
    assert found == {
        "discreet_schema": ["id", "version"],
        "discreet_data_sets": [
            "name", "unit", "neighbours", "epsilon", "delta", "promised_epsilon", "promised_delta",
        ],
        "discreet_spendings": [
            "id", "data_set", "unit", "neighbours", "purpose", "reserved_at", "released_at",
            "epsilon", "delta", "total", "spends", "settings", "run_id", "claim", "arrays", "digest",
            "folder",
        ],
        "discreet_looks": ["id", "data_set", "at", "what", "models", "reading"],
        "discreet_sketches": ["id", "data_set", "at", "place", "key_id", "users", "tastes", "items"],
        "discreet_keys": ["id", "key"],
    }  # fmt: skip


def start(job, url):
    return subprocess.Popen(
        [sys.executable, str(SPENDERS), job, url], stdout=subprocess.PIPE, text=True, start_new_session=True
    )


@contextmanager
def killed_after(job, url, lines):
    """Run the spenders until they have written so many lines, then ``kill -9`` them all; gives every line."""
    with start(job, url) as process:
        written = [process.stdout.readline() for _ in range(lines)]
        os.killpg(process.pid, signal.SIGKILL)
        written += process.stdout.readlines()
    assert process.returncode == -signal.SIGKILL
    yield [line.split() for line in written]


def test_a_hundred_processes_at_once_never_overspend(url):
    budget = Budget(url)
    budget.declare("data", epsilon=1.0)
    with start("once", url) as process:
        answers = [line.split(maxsplit=1) for line in process.stdout]
    assert len(answers) == 100 and {answer for answer, _ in answers} == {"booked", "refused"}, answers
    booked = [float(amount) for answer, amount in answers if answer == "booked"]
    refused = [float(amount) for answer, amount in answers if answer == "refused"]
    account = budget.account("data")
    assert account.spent <= 1.0 + 1e-9
    assert account.spent == pytest.approx(sum(booked), rel=1e-12)
    assert account.spent + min(refused) > 1.0  # nobody was refused who could have been served
    ledger = Ledger(epsilon=1.0)
    ledger.charge(*account.spends)
    assert ledger.spent == account.spent == account.spendings[-1].total
    assert sorted(line.epsilon for line in account.spendings) == sorted(booked)
    assert {line.state for line in account.spendings} == {"released"}


def test_kill_9_loses_nothing_that_was_booked(url):
    budget = Budget(url)
    budget.declare("data", epsilon=1.0)
    with killed_after("forever", url, lines=60) as answers:
        assert {answer for answer, _ in answers} == {"booked"}, answers
        account = budget.account("data")
        told = {int(line) for _, line in answers}
        kept = {line.id for line in account.spendings}
        assert told <= kept
        assert len(kept - told) <= 8  # whoever was killed before they could tell
        assert account.spent == len(kept) / 1024
        assert {line.state for line in account.spendings} == {"reserved", "released"}
    budget.reserve("data", laplace(account.remaining), "what is left")  # nobody holds a lock any more
    assert budget.account("data").remaining == 0.0
    with pytest.raises(OverspentError):
        budget.reserve("data", laplace(1 / 1024), "one more")


def test_kill_9_in_the_middle_of_a_booking_books_nothing(url):
    budget = Budget(url)
    budget.declare("data", epsilon=1.0)
    with killed_after("halfway", url, lines=1) as answers:
        assert answers == [["halfway"]]
    assert budget.account("data").spendings == ()
    budget.reserve("data", laplace(1.0), "all")
    assert budget.account("data").remaining == 0.0


def test_a_server_that_is_killed_with_9_loses_nothing_that_was_booked(postgres):
    url = postgres.emptied()
    budget = Budget(url)
    budget.declare("data", epsilon=1.0)
    with start("forever", url) as process:
        written = [process.stdout.readline() for _ in range(40)]
        postgres.crash()
        os.killpg(process.pid, signal.SIGKILL)  # whoever did not notice
        written += process.stdout.readlines()
    answers = [line.split(maxsplit=1) for line in written]
    account = budget.account("data")
    told = {int(line) for answer, line in answers if answer == "booked"}
    kept = {line.id for line in account.spendings}
    assert told <= kept and len(kept - told) <= 8
    assert account.spent == len(kept) / 1024
    failed = [line for answer, line in answers if answer == "failed"]
    assert all("discreet.errors.BudgetError: the budget in postgresql://" in line for line in failed)


def test_who_holds_the_budget_too_long_is_not_waited_for(url, monkeypatch):
    Budget(url).declare("data", epsilon=1.0)
    monkeypatch.setattr(budget_module, "PATIENCE", 0.2)
    budget = Budget(url)
    with budget._writing() as connection:
        budget._lock(connection, "data")
        with pytest.raises(BudgetError, match=r"cannot be used: .*lock.*; nothing was spent"):
            Budget(url).reserve("data", laplace(0.5), "late")
    assert budget.account("data").spendings == ()


def test_looking_leaves_nothing_behind(tmp_path):
    budget = Budget(tmp_path / "budget.sqlite")
    assert budget.account("data") == Account(data="data")
    assert list(tmp_path.iterdir()) == []
    budget.reserve("data", laplace(0.5), "Bias()")
    (tmp_path / "budget.sqlite").chmod(0o400)
    assert budget.account("data").spent == 0.5


def test_looking_leaves_nothing_behind_on_a_server(postgres):
    budget = Budget(postgres.emptied())
    assert budget.account("data") == Account(data="data")
    with budget._reading() as connection:
        assert connection.tables() == []


def test_what_is_no_database_is_refused(tmp_path):
    (tmp_path / "letter.txt").write_text("dear budget, " * 100)
    (tmp_path / "folder").mkdir()
    for name, reason in (
        ("letter.txt", "file is not a database"),
        ("folder", "unable to open database file"),
    ):
        budget = Budget(tmp_path / name)
        sentence = f"the budget in {tmp_path / name} cannot be used: {reason}; nothing was spent"
        with pytest.raises(BudgetError) as refused:
            budget.account("data")
        assert str(refused.value) == sentence
        with pytest.raises(BudgetError):
            budget.reserve("data", laplace(0.5), "Bias()")
    assert (tmp_path / "letter.txt").read_text() == "dear budget, " * 100


def test_a_damaged_line_stops_all_spending(tmp_path):
    budget = Budget(tmp_path / "budget.sqlite")
    budget.declare("data", epsilon=1.0)
    budget.reserve("data", laplace(0.5), "Bias()")
    with closing(sqlite3.connect(tmp_path / "budget.sqlite")) as connection:
        connection.execute("""UPDATE discreet_spendings SET spends = '[{"what": "?"}]'""")
        connection.commit()
    with pytest.raises(BudgetError, match=r"line 1 of data in the budget in .* is damaged: this is not a line"):
        budget.reserve("data", laplace(0.1), "Bias()")


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("mysql://me:secret@host/x", "a budget is kept in SQLite or PostgreSQL, not in mysql: write for example"),
        ("postgresql://me:secret@host:port/x", "the URL of the budget cannot be read; write for example"),
        ("://secret", "the URL of the budget cannot be read; write for example"),
        ("sqlite://", "a budget must outlive the process: write for example"),
        ("sqlite:///:memory:", "a budget must outlive the process: write for example"),
    ],
)
def test_urls_that_cannot_be_a_budget(url, sentence):
    with pytest.raises(InputError) as refused:
        Budget(url)
    assert str(refused.value).startswith(sentence)
    assert "secret" not in str(refused.value)


def test_a_server_that_is_down_is_a_sentence(tmp_path):
    budget = Budget(f"postgresql://me:secret@/data?host={tmp_path}")
    for use in (
        lambda: budget.account("data"),
        lambda: budget.declare("data", epsilon=1.0),
        lambda: budget.reserve("data", laplace(0.5), "Bias()"),
    ):
        with pytest.raises(BudgetError) as refused:
            use()
        assert re.fullmatch(r"the budget in postgresql://.* cannot be used: .*; nothing was spent", str(refused.value))
        assert "secret" not in str(refused.value)


def test_where_a_budget_is_kept(tmp_path, monkeypatch):
    monkeypatch.delenv("DISCREET_BUDGET", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    assert default_path() == tmp_path / "share" / "discreet" / "budget.sqlite"
    assert Budget().place == str(default_path())
    Budget().declare("data", epsilon=1.0)
    assert Budget(f"sqlite:///{default_path()}").account("data").epsilon == 1.0
    monkeypatch.setenv("DISCREET_BUDGET", str(tmp_path / "other.sqlite"))
    assert Budget().place == str(tmp_path / "other.sqlite")
    monkeypatch.setenv("DISCREET_BUDGET", "postgresql://me:secret@host/data")
    assert Budget().place == "postgresql://me:***@host/data"
    assert Budget(tmp_path / "third.sqlite").place == str(tmp_path / "third.sqlite")


def test_a_release_without_privacy_is_a_line_and_leaves_nothing_to_limit(url):
    budget = Budget(url)
    budget.reserve("data", laplace(1.0), "private").released()
    exposed = budget.expose("data", "MF()")
    account = budget.account("data")
    assert (account.unit, account.spent, account.remaining) == (Rating(), float("inf"), None)
    assert [(line.purpose, line.unit, line.state) for line in account.exact] == [("MF()", None, "reserved")]
    exposed.released()
    budget.reserve("data", laplace(1.0, User()), "for users").released()
    account = budget.account("data")
    assert [line.total for line in account.spendings] == [1.0, float("inf"), float("inf")]
    assert [part.spent for part in account.parts] == [float("inf")] * 2
    assert account.to_json()["spent"][0]["epsilon"] is None
    with pytest.raises(
        InputError, match=r"data was released without privacy before \(MF\(\), \d{4}-\d\d-\d\d\): what it tells"
    ):
        budget.declare("data", epsilon=1000.0)
    assert budget.account("data").epsilon is None


def test_where_there_is_a_limit_nothing_is_exposed(url):
    budget = Budget(url)
    budget.declare("data", epsilon=1.0)
    with pytest.raises(
        OverspentError, match=r"data has a limit of epsilon 1, and MF\(\) without privacy would overspend"
    ):
        budget.expose("data", "MF()")
    assert budget.account("data").spendings == ()


def test_a_mistyped_place_does_not_become_a_new_budget(tmp_path):
    with pytest.raises(BudgetError, match="there is no folder"):
        Budget(tmp_path / "nowhere" / "budget.sqlite")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "letter.txt").write_text("dear budget")
    with pytest.raises(BudgetError, match="there is no folder"):
        Budget(tmp_path / "letter.txt" / "budget.sqlite")
    assert (tmp_path / "letter.txt").read_text() == "dear budget"
