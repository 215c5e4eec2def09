"""A fit is paid for before it looks at a rating, and stays paid whatever happens then."""

import logging
from dataclasses import dataclass

import numpy as np
import pytest

import discreet as dc
from discreet.errors import BudgetError, InputError, OverspentError
from discreet.privacy.budget import Reservation
from discreet.releases.releasable import CHECKED, UNCHECKED

RATINGS = dc.synthetic(users=40, items=30, ratings=500, seed=1)


@pytest.fixture
def budget(tmp_path):
    budget = dc.Budget(tmp_path / "budget.sqlite")
    budget.declare("data", epsilon=1.5)
    return budget


def server(epsilon=1.0, **more):
    return dc.TrustedServer(RATINGS, dc.Ledger(epsilon), **more)


@pytest.mark.parametrize("population", [dc.TrustedServer, dc.LocalDevices])
def test_a_release_is_written_and_booked(budget, tmp_path, population):
    asked = population(RATINGS, dc.Ledger(1.0))
    release = dc.spend_and_release(dc.Bias(), asked, tmp_path / "release", budget=budget, data="data")
    account = budget.account("data")
    [line] = account.spendings
    assert (line.purpose, line.state) == ("Bias(item_damping=5.0, user_damping=5.0)", "released")
    assert line.spends == asked.spends == release.spends
    assert line.epsilon == release.guarantee.proven.epsilon
    loaded = dc.Release.load(tmp_path / "release")
    assert np.array_equal(loaded.arrays["item_bias"], release.arrays["item_bias"])


def test_discreets_own_models_are_replayed_where_that_is_asked_for(tmp_path):
    def fitted(folder, **more):
        budget = dc.Budget(tmp_path / "budget.sqlite")
        return dc.spend_and_release(dc.Bias(), server(), tmp_path / folder, budget=budget, data="data", **more)

    plain, checked = fitted("plain"), fitted("checked", check_replay=True)
    assert UNCHECKED in plain.guarantee.notes and CHECKED not in plain.guarantee.notes
    assert CHECKED in checked.guarantee.notes and UNCHECKED not in checked.guarantee.notes
    assert dc.Release.load(tmp_path / "plain").guarantee == plain.guarantee


@dataclass(frozen=True)
class OfOnesOwn(dc.Popularity):
    """Not one of Discreet's, though it is made of one."""


@pytest.mark.parametrize("check", [False, True])
def test_other_models_are_always_replayed(budget, tmp_path, check):
    asked = {"budget": budget, "data": "data", "check_replay": check}
    assert CHECKED in dc.spend_and_release(OfOnesOwn(), server(), tmp_path / "release", **asked).guarantee.notes


@pytest.mark.parametrize(("model", "rehearsed"), [(dc.Bias(), 2), (dc.Almanac(), 1)], ids=["bias", "almanac"])
@pytest.mark.parametrize("check", [False, True])
def test_a_model_runs_once_after_its_rehearsal(tmp_path, monkeypatch, model, rehearsed, check):
    asked, own = [], dc.Release.of.__func__

    def release_of(kind, model, population, *arguments):
        asked.append(type(population).__name__)
        return own(kind, model, population, *arguments)

    monkeypatch.setattr(dc.Release, "of", classmethod(release_of))
    population = dc.TrustedServer(RATINGS, dc.Ledger(1.0, 1e-6, dc.User()))
    budget = dc.Budget(tmp_path / "budget.sqlite")
    dc.spend_and_release(model, population, tmp_path / "release", budget=budget, data="data", check_replay=check)
    assert len(asked) == rehearsed + check


def test_what_is_booked_is_booked_before_a_rating_is_looked_at(budget, tmp_path, monkeypatch):
    seen = []

    def look(contribution, ratings):
        seen.append([line.state for line in budget.account("data").spendings])
        return np.zeros(contribution.shape)

    monkeypatch.setattr("discreet.populations.weighted.finite_total", look)
    dc.spend_and_release(dc.Popularity(), server(), tmp_path / "release", budget=budget, data="data")
    with pytest.raises(OverspentError, match=r"asks for epsilon 1 of data, where 0\.5 of 1\.5 is left"):
        dc.spend_and_release(dc.Popularity(), server(), tmp_path / "other", budget=budget, data="data")
    assert seen == [["reserved"]]
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    "place", ["discreet.populations.weighted.finite_total", "discreet.releases.storage.write_arrays"]
)
@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_there_are_no_refunds(budget, tmp_path, monkeypatch, caplog, place, error):
    def fail(*_arguments, **_named):
        raise error

    monkeypatch.setattr(place, fail)
    with pytest.raises((KeyboardInterrupt, OSError, InputError)):
        dc.spend_and_release(dc.Popularity(), server(), tmp_path / "release", budget=budget, data="data")
    account = budget.account("data")
    assert [line.state for line in account.spendings] == ["reserved"]
    assert account.spent == pytest.approx(1.0)
    assert "no release was written, and what was booked for it stays spent" in caplog.text
    assert not (tmp_path / "release").exists()


def test_a_mark_that_cannot_be_made_does_not_undo_a_release(budget, tmp_path, monkeypatch, caplog):
    def fail(self):
        raise BudgetError("the server has left")

    monkeypatch.setattr(Reservation, "released", fail)
    with caplog.at_level(logging.WARNING, logger="discreet"):
        dc.spend_and_release(dc.Popularity(), server(), tmp_path / "release", budget=budget, data="data")
    assert "the release was written, but not marked as such: the server has left" in caplog.text
    assert budget.account("data").spent == pytest.approx(1.0)
    dc.Release.load(tmp_path / "release")


@dataclass(frozen=True, kw_only=True)
class Curious:
    """Asks for less while it is rehearsed."""

    def fit(self, population, progress=None):
        release = dc.Popularity().fit(_Half(population) if type(population).__name__ == "Rehearsal" else population)
        return release


class _Half:
    def __init__(self, population):
        self._population = population

    def __getattr__(self, name):
        return getattr(self._population, name)

    def sum(self, contribution, share=1.0):
        return self._population.sum(contribution, share / 2)


def test_a_model_that_looks_at_more_than_was_booked_releases_nothing(budget, tmp_path):
    with pytest.raises(OverspentError, match="looked at the ratings in another way than was booked"):
        dc.spend_and_release(Curious(), server(), tmp_path / "release", budget=budget, data="data")
    assert not (tmp_path / "release").exists()
    assert [line.state for line in budget.account("data").spendings] == ["reserved"]


def test_only_what_is_private_is_paid_for(budget, tmp_path):
    used = server()
    used.ledger.charge(dc.privacy.Spend(what="before", mechanism="laplace", norm="l1", sensitivity=1, scale=9.0))
    for population, sentence in (
        (dc.NoPrivacy(RATINGS), "a budget pays for what is private, and this is not: exact sums over the users were"),
        (server(randomness=dc.Randomness(seed=1)), "a budget pays for what is private, and this is not: the noise was"),
        (server(tuning="unpaid"), "a budget pays for what is private, and this is not: the settings were tuned on"),
        (used, "the ledger of this population was used before: start with a fresh one"),
        (
            dc.TrustedServer(RATINGS, dc.Ledger(1.0, unit=dc.Rating("replace"))),
            "the budget of data is kept for another unit",
        ),
    ):
        with pytest.raises(InputError, match=sentence):
            dc.spend_and_release(dc.Popularity(), population, tmp_path / "release", budget=budget, data="data")
    assert budget.account("data").spendings == ()
    assert not (tmp_path / "release").exists()


def test_the_file_of_a_budget_names_no_user(budget, tmp_path):
    names = [f"secret-{position}" for position in range(8)]
    rows = [
        (name, f"item {item}", 1 + (position + item) % 5) for position, name in enumerate(names) for item in range(5)
    ]
    users, items, values = zip(*rows, strict=True)
    import polars as pl

    frame = pl.DataFrame({"user": users, "item": items, "rating": values})
    ratings = dc.from_frame(frame, scale=(1, 5), items=frame.select("item").unique(), items_public=True)
    asked = dc.TrustedServer(ratings, dc.Ledger(1.0))
    dc.spend_and_release(dc.Bias(), asked, tmp_path / "release", budget=budget, data="data")
    content = (tmp_path / "budget.sqlite").read_bytes()
    assert b"Bias(" in content
    assert b"secret" not in content and b"item 1" not in content
