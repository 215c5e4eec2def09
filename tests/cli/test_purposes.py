"""``--for``: whoever asks for a plan that does not go by it hears of it before anything is spent."""

import pytest

import discreet as dc
from discreet.cli.purposes import unfollowed

WITHOUT = "--for ranking is followed only with --epsilon: exact sums serve all purposes.\n"


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
def test_a_purpose_is_followed_with_and_without_a_delta(discreet, commands, command):
    for options in (("--for", "ranking"), ("--for", "both"), ("--for", "ranking", "--delta", "1e-6")):
        private = (*options, "--account", "-".join(options)) if command == "fit" else options
        outcome = discreet(*commands[command], "--epsilon", 1, *private, *(("--replace",) if command == "fit" else ()))
        assert (outcome.code, outcome.err) == (0, ""), options


def test_it_is_said_that_exact_sums_serve_all_purposes(discreet, commands):
    outcome = discreet(*commands["fit"], "--for", "ranking")
    assert outcome.code == 0 and outcome.err == WITHOUT


def test_other_reasons_not_to_go_by_a_purpose():
    catalogue = dc.synthetic(users=50, items=30, ratings=600, seed=1).catalogue
    assert "only with --epsilon" in unfollowed(dc.Almanac(purpose="ratings"), catalogue, dc.Terms())
    for model in (dc.Almanac(), dc.OwnTaste(), dc.Bias()):
        assert unfollowed(model, catalogue, dc.Terms(epsilon=1.0)) == ""
