"""A limit that is declared or lowered after answers were seen may have been chosen by them."""

import json
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.cli.app import app
from discreet.errors import OverspentError
from discreet.privacy.gaussian import epsilon_of_mu

MU, DELTA, LOOKS = 0.2, 0.01, 100


@pytest.fixture
def budget(tmp_path, monkeypatch):
    monkeypatch.setenv("DISCREET_BUDGET", str(tmp_path / "budget.sqlite"))
    return dc.Budget(tmp_path / "budget.sqlite")


@pytest.fixture
def show(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")

    def run(*arguments):
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            app(["budget", "--account", "films", *arguments], prog_name="discreet")
        out, err = capsys.readouterr()
        assert ended.value.code in (None, 0), err
        return out

    return run


def look(mu=MU, delta=DELTA, mechanism="gaussian"):
    ledger = dc.Ledger(20.0, delta)
    norm = "l2" if mechanism == "gaussian" else "l1"
    ledger.charge(dc.privacy.Spend(what="means", mechanism=mechanism, norm=norm, sensitivity=mu, scale=1.0))
    return ledger


def true_delta():
    """Of "epsilon is what the tally says when it stops", where it stops as soon as that is far too little.

    The loss of j looks is a random walk, N(j μ²/2, j μ²); delta is the mean of (1 - e^(epsilon - loss))+.
    """
    steps = np.arange(1, LOOKS + 1)
    losses = np.cumsum(np.random.default_rng(1).normal(MU**2 / 2, MU, size=(20_000, LOOKS)), axis=1)
    tally = np.array([epsilon_of_mu(MU * np.sqrt(count), DELTA) for count in steps])
    stops = losses > tally + 0.3 * MU * np.sqrt(steps)
    stops[:, -1] = True
    at = stops.argmax(axis=1)
    return float(np.maximum(0, 1 - np.exp(tally[at] - losses[np.arange(len(losses)), at])).mean())


def test_a_limit_that_is_declared_after_answers_were_seen_is_a_tally(door, budget, show):
    for number in range(5):
        budget.reserve("films", look(), f"fit {number}").released()
    spent = budget.account("films").spent
    text = show("--epsilon", f"{spent * (1 + 1e-6)}", "--delta", f"{DELTA}")
    found = json.loads(show("--json"))
    true = true_delta()
    promised = next(line for line in text.splitlines() if line.strip().startswith("promised"))
    door(
        f"the limit: epsilon {spent:.3g}, delta {DELTA}",
        f"chosen by the answers: delta {true:.3g}, {true / DELTA:.1f} times as much",
        " ".join(promised.split()),
    )
    assert true > 3 * DELTA
    assert "tally" in promised and found["promised"] is None and found["limit"] is not None
    assert budget.account("films").promised is None
    show("--epsilon", f"{spent * (1 + 1e-7)}")  # nor does lowering it make a promise of it
    assert budget.account("films").promised is None
    with pytest.raises(OverspentError):
        budget.reserve("films", look(), "one more")


def test_a_limit_that_is_lowered_after_answers_were_seen_promises_what_it_did(door, budget, show):
    show("--epsilon", "5", "--delta", f"{DELTA}")
    show("--epsilon", "4")  # nothing was spent yet
    budget.reserve("films", look(), "a fit").released()
    text = show("--epsilon", "1")
    account = budget.account("films")
    door("the limit: epsilon 1", "chosen after an answer was seen", account.promise)
    assert (account.epsilon, account.promised) == (1.0, dc.privacy.Loss(4.0, DELTA))
    assert "epsilon 4" in text and "tally" not in text
    assert json.loads(show("--json"))["promised"] == {"epsilon": 4.0, "delta": DELTA}
    with pytest.raises(OverspentError):
        budget.reserve("films", look(5 * MU), "one that is too much now")


@pytest.mark.parametrize("way", ["command line", "python"])
def test_a_limit_that_is_declared_for_a_second_account_says_that_there_is_a_first(door, budget, capsys, caplog, way):
    """The way round a late limit: a fresh account, whose limit is declared before its first fit."""
    ratings = dc.synthetic(users=100, items=30, ratings=1500, seed=1)

    def fit(account, epsilon):
        dc.Popularity().fit(dc.TrustedServer(ratings, dc.Ledger(epsilon), account=account, budget=budget))

    fit("films", 1.0)
    assert "is new" not in caplog.text  # nobody has paid yet
    budget.declare("fresh", epsilon=1.0)
    if way == "python":
        fit("fresh", 0.5)
    else:
        folder = Path(budget.place).parent
        names = ratings.users.names[ratings.user_index], ratings.catalogue.items.names[ratings.item_index]
        rows = [",".join(map(str, row)) for row in zip(*names, ratings.values, strict=True)]
        (folder / "ratings.csv").write_text("\n".join(["user,item,rating", *rows]))
        (folder / "items.csv").write_text("\n".join(["item", *ratings.catalogue.items.names]))
        words = ["fit", "popularity", folder / "ratings.csv", "--items", folder / "items.csv", "--items-public"]
        words += ["--scale", "1:5", "--epsilon", "0.5", "--account", "fresh", "-o", folder / "release"]
        with pytest.raises(SystemExit) as ended:
            app([str(word) for word in words], prog_name="discreet")
        assert ended.value.code in (None, 0), capsys.readouterr().err
    [said] = caplog.messages
    promise = budget.account("fresh").promise
    door(
        "epsilon 1 of all fits together", "another account paid for a fit on these people before", f"{promise}; {said}"
    )
    assert "look like those of films" in said and "paid from this account" in promise
    caplog.clear()
    fit("fresh", 0.25)  # it was said once
    assert "look like" not in caplog.text


def test_what_the_first_limit_refuses_stays_refused_under_a_lower_one(door, budget):
    """A lower limit lets sampled noise take all of delta at once, and so counts less for it than the first one did."""

    def steps():
        ledger = dc.Ledger(20.0, 1e-5)
        spend = dc.privacy.Spend(
            what="steps", mechanism="gaussian", norm="l2", sensitivity=1.0, scale=1.0, sampling_rate=0.05, times=50
        )
        ledger.charge(spend)
        return ledger

    budget.reserve("half", steps(), "steps")
    half = budget.account("half")._filter(1e-5).spent
    from discreet.privacy.accounting import epsilon_of

    whole = epsilon_of(list(steps().spends), 1e-5 * (1 - 1e-3))
    assert whole < half
    budget.declare("films", epsilon=half * 1.0001, delta=1e-5)
    budget.reserve("films", steps(), "steps").released()
    between = (whole + half) / 2
    budget.declare("films", epsilon=between)
    rest = look((between - whole) / 2, 1e-5, "laplace")
    with pytest.raises(OverspentError) as refused:
        budget.reserve("films", rest, "a pure look")
    door(
        f"promised: epsilon {half * 1.0001:.4g}",
        f"{half + rest.spent:.4g}: what the steps took of delta was decided before",
        str(refused.value),
    )


def test_a_budget_of_an_earlier_version_does_not_say_when_its_limit_was_declared(budget):
    for name in ("spent", "unspent"):
        budget.declare(name, epsilon=1.0, delta=DELTA)
    budget.reserve("spent", look(), "a fit")
    with budget._backend.writing() as connection:
        for column in ("promised_epsilon", "promised_delta"):
            connection.run(f"ALTER TABLE discreet_data_sets DROP COLUMN {column}")
        connection.run("UPDATE discreet_schema SET version = 2")
        connection.commit()
    for _ in ("read as it is", "brought up to date"):
        assert budget.account("spent").promised is None
        assert budget.account("unspent").promised == dc.privacy.Loss(1.0, DELTA)
        budget.declare("other", epsilon=1.0)
    budget.reserve("unspent", look(), "its first fit")
    assert budget.account("unspent").promised == dc.privacy.Loss(1.0, DELTA)
