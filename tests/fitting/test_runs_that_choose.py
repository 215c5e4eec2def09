"""Runs with a name of a model that chooses on the way, and several fits that one limit pays for."""

import numpy as np
import pytest

import discreet as dc
from discreet.fitting.planning import plan_for
from discreet.models.sums.activity import Activity
from discreet.privacy.booking import wholes
from discreet.privacy.composition import Filter
from discreet.privacy.gaussian import mu_of
from discreet.privacy.spend import Spend
from discreet.releases.storage import read_card

RATINGS = dc.synthetic(users=400, items=60, ratings=8000, seed=1)
UNITS = [dc.Rating(), dc.User()]


class StoppedError(Exception):
    pass


def fit(tmp_path, unit, folder="release", run_id="nightly", stop_at=None):
    budget = dc.Budget(tmp_path / "budget.sqlite")
    server = dc.TrustedServer(RATINGS, dc.Ledger(1.0, 1e-6, unit), account="films", budget=budget)

    def progress(done, steps, what):
        if stop_at is not None and done == stop_at:
            raise StoppedError

    return dc.spend_and_release(dc.Almanac(), server, tmp_path / folder, run_id=run_id, progress=progress)


@pytest.fixture(params=UNITS, ids=str)
def unit(request, tmp_path):
    dc.Budget(tmp_path / "budget.sqlite").declare("films", epsilon=1.0, delta=1e-6, unit=request.param)
    return request.param


def account(tmp_path):
    return dc.Budget(tmp_path / "budget.sqlite").account("films")


def test_a_run_that_is_done_is_found_again(tmp_path, unit):
    fit(tmp_path, unit)
    lines, arrays = account(tmp_path).spendings, read_card(tmp_path / "release")["arrays_sha256"]
    assert all(line.state == "released" for line in lines)
    fit(tmp_path, unit)
    assert account(tmp_path).spendings == lines
    assert read_card(tmp_path / "release")["arrays_sha256"] == arrays


def test_a_run_that_was_stopped_goes_on_with_its_answers_and_pays_once(tmp_path, unit, monkeypatch):
    seen = []
    name = "by_histogram" if unit.name == "user" else "by_sums"
    original = getattr(Activity, name)
    monkeypatch.setattr(Activity, name, lambda answer, noise: (seen.append(answer.copy()), original(answer, noise))[1])
    for stop_at in (1, 2, 1):
        with pytest.raises(StoppedError):
            fit(tmp_path, unit, stop_at=stop_at)
    released = fit(tmp_path, unit)
    assert account(tmp_path).spent <= 1 + 1e-9
    if unit.name == "rating":
        assert [spend for line in account(tmp_path).spendings for spend in line.spends] == list(released.spends)
    drawn = {answer.tobytes() for answer in seen if np.any(answer)}  # zeros are those of rehearsals
    assert len(drawn) <= 1
    assert not [place for place in tmp_path.iterdir() if place.name.startswith(".discreet")]


def test_a_plan_says_how_many_fits_a_limit_allows(tmp_path):
    """With the unit rating a fit may switch to Gaussian noise; those after it have no other, and cost less."""
    limit = (2.5, 1e-6)
    budget = dc.Budget(tmp_path / "budget.sqlite")
    budget.declare("films", epsilon=limit[0], delta=limit[1])
    terms = dc.Terms(epsilon=1.0, delta=1e-6)
    used, kinds = 0.0, []
    for night in range(4):
        spent = [batch for line in account(tmp_path).spendings for batch in line.batches]
        _, plan = plan_for(dc.Almanac(), RATINGS.catalogue, terms, 400, limit=limit, spent=spent)
        assert plan.fits >= 1
        released = fit(tmp_path, dc.Rating(), folder=f"release-{night}", run_id=f"night {night}")
        before, used = used, account(tmp_path).spent
        assert used - before <= plan.next_fit + 1e-6
        kinds.append({spend.mechanism for spend in released.spends})
    assert kinds[0] == {"laplace", "gaussian"} and kinds[1:] == [{"gaussian"}] * 3
    assert used <= limit[0]
    fit(tmp_path, dc.Rating(), folder="release-0", run_id="night 0")  # found, as it was booked
    assert account(tmp_path).spent == used


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
@pytest.mark.parametrize("of_limit", [1.0, 0.1, 10.0])
def test_looks_of_one_noise_cost_an_account_as_much_as_any_mixture(epsilon, of_limit):
    ledger = dc.Ledger(epsilon, 1e-6)
    for before in (0.0, 3.0):
        start = Filter(epsilon=None, delta=1e-6 * of_limit, pure=before)
        most = max(start.after(plan.spends).spent for plan in wholes(ledger))
        for part in np.linspace(0.02, 0.98, 25):
            pure = Spend(what="a", mechanism="laplace", norm="l1", sensitivity=part * epsilon, scale=1.0)
            mu = mu_of((1 - part) * epsilon, 1e-6 * (1 - 1e-3))
            rest = Spend(what="b", mechanism="gaussian", norm="l2", sensitivity=mu, scale=1.0)
            assert start.after([pure]).after([rest]).spent <= most * (1 + 1e-6)
