"""Small and large epsilons on the command line: what is granted with less is granted with more."""

import json

import pytest

import discreet as dc
from discreet.models.almanac.planner import PURPOSES

EPSILONS = (0.01, 0.1, 1, 5, 10, 20, 50, 100)
ALMANACS = tuple(f"almanac:purpose={purpose}" for purpose in PURPOSES)
NEED_A_DELTA = ("als", "noisy-pnbm", "langevin-pnbm", "filtered-mf", "private-vae")
"""These have Gaussian noise, for either unit."""
ONE_UNIT = {"huber-mf": "rating", "filtered-mf": "user"}
MODELS = ("bias", "popularity", "covariance-knn", "neighbour-list", "own-taste", "huber-mf", *NEED_A_DELTA, *ALMANACS)


@pytest.fixture
def declared(table, items, monkeypatch):
    monkeypatch.setattr("discreet.evaluation.made_up.MOST_USERS", 60)  # who stand in for 1,000
    return (table, "--scale", "1:5", "--items", items, "--items-public")


@pytest.mark.parametrize("unit", ["user", "rating"])
@pytest.mark.parametrize("model", MODELS)
def test_a_plan_is_made_for_every_epsilon_or_for_none(discreet, declared, model, unit):
    if model == "private-vae":
        pytest.importorskip("torch")
    for delta in (0, 1e-9, 1e-6):
        asked = ("plan", model, *declared, "--unit", unit, "--delta", delta, "--fast")
        outcomes = [discreet(*asked, "--epsilon", epsilon) for epsilon in EPSILONS]
        assert len({outcome.code for outcome in outcomes}) == 1, [outcome.err for outcome in outcomes]
        exact = delta == 0 and model not in ("own-taste", "neighbour-list") and not model.startswith("almanac")
        refused = ONE_UNIT.get(model, unit) != unit or (exact and (unit == "user" or model in NEED_A_DELTA))
        assert outcomes[0].code == (2 if refused else 0), outcomes[0].err
        if refused:
            assert all(outcome.err.count("\n") <= 3 and "sampler" not in outcome.err for outcome in outcomes)


@pytest.mark.parametrize("unit", ["user", "rating"])
@pytest.mark.parametrize("model", ["bias", "popularity", "covariance-knn", "almanac"])
def test_a_plan_tries_no_epsilon_that_cannot_be_had(discreet, declared, model, unit):
    for epsilon in (5, 10, 50, 300):
        outcome = discreet("plan", model, *declared, "--unit", unit, "--epsilon", epsilon, "--json")
        assert outcome.code == 0, outcome.err
        tried = [trial["epsilon"] for trial in json.loads(outcome.out)["made_up"]]
        assert tried[-1] is None and epsilon in tried
        assert all(other <= 1000 for other in tried[:-1]) and len(tried) == (5 if epsilon == 300 else 6)


def test_many_users_are_stood_in_for_with_as_little_noise_as_there_can_be(discreet, declared):
    asked = ("plan", "almanac", *declared, "--unit", "user", "--epsilon", 50, "--json")
    assert discreet(*asked, "--audience", 10**7).code == 0


@pytest.mark.parametrize("trust", ["devices", "two-servers"])
def test_a_plan_tries_no_epsilon_that_those_who_are_trusted_cannot_have(discreet, declared, trust):
    for epsilon in (10, 100, 1000):
        outcome = discreet("plan", "bias", *declared, "--unit", "user", "--epsilon", epsilon, "--trust", trust)
        assert outcome.code == 0, outcome.err


@pytest.mark.parametrize("unit", ["user", "rating"])
@pytest.mark.parametrize("model", ["bias", "popularity", "als", "covariance-knn", "almanac"])
def test_a_fit_with_a_large_epsilon_promises_it(discreet, declared, model, unit, tmp_path):
    for epsilon in (50, 100):
        asked = ("fit", model, *declared, "--unit", unit, "--delta", 1e-9, "--epsilon", epsilon)
        outcome = discreet(*asked, "-o", tmp_path / str(epsilon))
        assert outcome.code == 0, outcome.err
        proven = dc.Release.load(tmp_path / str(epsilon)).guarantee.proven
        assert 0.99 * epsilon < proven.epsilon <= epsilon * (1 + 1e-9) and proven.delta == 1e-9


def test_epsilons_are_compared_up_to_large_ones(discreet, declared, tmp_path):
    asked = ("compare", *declared, "--models", "bias,popularity,almanac", "--test", 0.2)
    for unit in ("user", "rating"):
        outcome = discreet(*asked, "--unit", unit, "--epsilon", ".1,1,10,50", "-o", tmp_path / unit, "--json")
        assert outcome.code == 0, outcome.err
        rows = {(row["model"], row["epsilon"]): row for row in json.loads(outcome.out)["rows"]}
        for model in ("bias", "popularity", "almanac"):
            kept = [row for (name, epsilon), row in rows.items() if name.startswith(model) and epsilon is not None]
            assert [row["epsilon"] for row in kept] == [0.1, 1, 10, 50]
            assert all(row["promise"] == "proven" for row in kept)


@pytest.mark.parametrize("unit", ["user", "rating"])
def test_an_account_with_a_large_limit_pays_for_small_and_large_fits(discreet, declared, table, unit, tmp_path):
    assert discreet("budget", table, "--epsilon", 50, "--delta", 1e-6, "--unit", unit).code == 0
    for number, (model, epsilon) in enumerate((("almanac", 1), ("bias", 1), ("almanac", 10))):
        asked = ("fit", model, *declared, "--unit", unit, "--delta", 1e-6, "--epsilon", epsilon)
        outcome = discreet(*asked, "-o", tmp_path / str(number))
        assert outcome.code == 0, outcome.err
    document = json.loads(discreet("budget", table, "--json").out)
    assert 10 < document["spent"][0]["epsilon"] < 12.1 and document["spent"][0]["delta"] == 1e-6
    assert discreet("budget", table).code == 0
    plan = discreet("plan", "almanac", *declared, "--unit", unit, "--delta", 1e-6, "--epsilon", 10, "--fast", "--json")
    assert plan.code == 0 and json.loads(plan.out)["fits"] >= 3
    outcome = discreet("fit", "bias", *declared, "--unit", unit, "--delta", 1e-6, "--epsilon", 49, "-o", tmp_path / "x")
    assert outcome.code == 2 and "over the limit" in outcome.err
