"""``--for``: whoever asks for a plan that does not go by it hears of it before anything is spent."""

import json

import pytest

import discreet as dc
from discreet.cli.purposes import unfollowed

WITHOUT = (
    "--for ranking is followed only with a delta (--delta 1e-6, say): without one all purposes have the same plan.\n"
)


@pytest.fixture
def commands(table, items, tmp_path):
    data = (table, "--scale", "1:5", "--items", items, "--items-public", "--audience", 60)
    return {
        "fit": ("fit", *data, "-o", tmp_path / "fit"),
        "dry": ("fit", *data, "-o", tmp_path / "dry", "--dry-run"),
        "plan": ("plan", *data, "--fast"),
        "evaluate": ("evaluate", "auto", "popularity", *data, "--test", 0.2),
        "compare": ("compare", *data, "--models", "almanac,popularity", "--test", 0.2, "-o", tmp_path / "compared"),
    }


@pytest.mark.parametrize("command", ["fit", "dry", "plan", "evaluate", "compare"])
def test_a_purpose_is_followed_only_with_a_delta(discreet, commands, command):
    for options, sentence in (
        (("--for", "ranking"), WITHOUT),
        (("--for", "both"), ""),
        (("--for", "ranking", "--delta", "1e-6"), ""),
        (("--for", "ranking", "--unit", "user"), ""),
    ):
        private = (*options, "--account", "-".join(options)) if command == "fit" else options
        outcome = discreet(*commands[command], "--epsilon", 1, *private, *(("--replace",) if command == "fit" else ()))
        assert (outcome.code, outcome.err) == (0, sentence), options


def test_the_same_plan_for_all_purposes_is_what_is_said(discreet, commands, tmp_path):
    """Where the sentence is printed, the same is asked for."""
    looks = {}
    for purpose in ("ratings", "ranking"):
        fit = (*commands["fit"], "--replace", "--account", purpose, "--for", purpose, "--epsilon", 1)
        assert discreet(*fit).code == 0
        looks[purpose] = [spend.what for spend in dc.Release.load(tmp_path / "fit").spends]
    assert looks["ratings"] == looks["ranking"]


def test_it_is_said_before_anything_is_spent(discreet, commands, table, monkeypatch):
    def fail(*_arguments, **_named):
        raise KeyboardInterrupt

    monkeypatch.setattr("discreet.fitting.fit_and_save.pay_and_publish", fail)
    outcome = discreet(*commands["fit"], "--epsilon", 1, "--for", "ranking")
    assert outcome.code == 130 and outcome.err.startswith(WITHOUT)
    assert json.loads(discreet("budget", table, "--json").out)["spendings"] == []


def test_other_reasons_not_to_go_by_a_purpose():
    catalogue = dc.synthetic(users=50, items=30, ratings=600, seed=1).catalogue
    private = dc.Terms(epsilon=1.0, unit="user")
    assert "with these settings" in unfollowed(dc.Almanac(purpose="ratings", items=10), catalogue, private)
    assert "only with --epsilon" in unfollowed(dc.Almanac(purpose="ratings"), catalogue, dc.Terms())
    for model in (dc.Almanac(purpose=None), dc.Almanac(), dc.OwnTaste(), dc.Bias()):
        assert unfollowed(model, catalogue, dc.Terms(epsilon=1.0)) == ""
