"""The almanac on the command line: what is paid for on which terms, and recommendations from the release."""

import json

import pytest

import discreet as dc

SUMS = "how often each item was rated, and its ratings' sum"
PAIRS = "products of pairs of items, and their weights"
TOGETHER = "how often pairs of items were rated together"
USERS = "how many users rated how much"
COUNT, ROOTS = "how many ratings there are", "how many pairs users rate"
LEVEL = "how many ratings there are, and how far they lie from what is expected"
PRIORS = "how well users' own ratings foresee each other"
COMMON = "what users' own fits have in common"
FACTORS = "what users' own factors say about each item"


@pytest.mark.parametrize(
    ("options", "looks"),
    [
        (["--epsilon", "0.1"], [COUNT, ROOTS, LEVEL, SUMS, SUMS, LEVEL, PRIORS]),
        (
            ["--epsilon", "10", "--delta", "1e-6"],
            [COUNT, ROOTS, LEVEL, SUMS, SUMS, LEVEL, TOGETHER, PAIRS, PRIORS],
        ),
        (
            ["--epsilon", "1", "--delta", "1e-6", "--for", "ranking"],
            [COUNT, ROOTS, SUMS, SUMS, TOGETHER],
        ),
    ],
)
def test_fit_books_every_look_and_recommends(discreet, tmp_path, options, looks):
    """The noise is secret and decides what is asked for next, so each epsilon is far from where the plan changes."""
    folder = tmp_path / "release"
    outcome = discreet("fit", "almanac", "synthetic", "-o", folder, *options)
    assert outcome.code == 0, outcome.err
    release = dc.Release.load(folder)
    assert [spend.what for spend in release.spends] == looks
    assert release.guarantee.proven.epsilon <= float(options[1]) * (1 + 1e-9)
    certificate = json.loads(discreet("certificate", folder, "--json").out)
    assert set(certificate["sources"]) == set(release.arrays)


@pytest.mark.parametrize(("epsilon", "among"), [("0.05", {COMMON}), ("20", {COMMON, FACTORS, TOGETHER})])
def test_with_a_whole_user_hidden_a_plan_follows_the_first_answers(discreet, tmp_path, epsilon, among):
    """What follows them is decided by noisy answers, and may change from run to run."""
    outcome = discreet(
        "fit", "almanac", "synthetic", "-o", tmp_path / "release", "--epsilon", epsilon, "--unit", "user"
    )
    assert outcome.code == 0, outcome.err
    release = dc.Release.load(tmp_path / "release")
    looks = [spend.what for spend in release.spends]
    assert looks[:2] == [USERS, SUMS] and looks[-1] == PRIORS and among <= set(looks)
    assert release.guarantee.proven.epsilon <= float(epsilon) * (1 + 1e-9)


def test_where_noise_hides_most_the_level_is_asked_for_around_the_item_sums(discreet, tmp_path):
    folder = tmp_path / "release"
    outcome = discreet("fit", "almanac", "synthetic", "-o", folder, "--epsilon", "0.02", "--delta", "1e-6")
    assert outcome.code == 0, outcome.err
    spends = dc.Release.load(folder).spends
    assert [spend.what for spend in spends] == [COUNT, ROOTS, LEVEL, SUMS, SUMS, LEVEL, PRIORS]
    assert {spend.mechanism for spend in spends} == {"laplace"}


def test_what_a_release_is_for_is_a_setting_and_is_shown(discreet, tmp_path):
    for name in ("auto", "almanac"):
        words = () if name == "auto" else (name,)
        options = ("--epsilon", "5", "--unit", "user", "--for", "ranking", "-o", tmp_path / name)
        outcome = discreet("fit", *words, "synthetic", *options)
        assert outcome.code == 0, outcome.err
        assert dc.Release.load(tmp_path / name).model.purpose == "ranking"
        assert "purpose=ranking" in discreet("show", tmp_path / name).out
    outcome = discreet("fit", "bias", "synthetic", "--for", "ranking", "-o", tmp_path / "bias")
    assert outcome.code != 0
    assert "leave out --for" in outcome.err


def test_settings_are_read(discreet, tmp_path):
    settings = ("--set", "features=false", "--set", "factors=5", "--set", "purpose=ranking")
    outcome = discreet("fit", "almanac", "synthetic", "-o", tmp_path / "release", *settings)
    assert outcome.code == 0, outcome.err
    model = dc.Release.load(tmp_path / "release").model
    assert (model.features, model.factors, model.purpose) == (False, 5, "ranking")
