"""The almanac on the command line: what is paid for on which terms, and recommendations from the release."""

import json

import pytest

import discreet as dc

SUMS = "how often each item was rated, and its ratings' sum"
PAIRS = "products of pairs of items, and their weights"


@pytest.mark.parametrize(
    ("options", "looks"),
    [
        (["--epsilon", "1", "--unit", "user"], [SUMS]),
        (["--epsilon", "1", "--unit", "user", "--audience", "500000"], [SUMS, PAIRS]),
        (["--epsilon", "1"], [SUMS]),
        (["--epsilon", "4", "--delta", "1e-6"], [SUMS, PAIRS]),
    ],
)
def test_fit_books_every_look_and_recommends(discreet, tmp_path, options, looks):
    folder = tmp_path / "release"
    outcome = discreet("fit", "almanac", "synthetic", "-o", folder, *options)
    assert outcome.code == 0, outcome.err
    release = dc.Release.load(folder)
    assert [spend.what for spend in release.spends] == looks
    assert release.guarantee.proven.epsilon <= float(options[1]) * (1 + 1e-9)
    certificate = json.loads(discreet("certificate", folder, "--json").out)
    assert set(certificate["sources"]) == set(release.arrays)


def test_settings_are_read(discreet, tmp_path):
    settings = ("--set", "features=false", "--set", "items=50", "--set", "pair_share=0.5")
    outcome = discreet("fit", "almanac", "synthetic", "-o", tmp_path / "release", *settings)
    assert outcome.code == 0, outcome.err
    model = dc.Release.load(tmp_path / "release").model
    assert (model.features, model.items, model.pair_share) == (False, 50, 0.5)
