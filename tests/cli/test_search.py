"""``discreet search``: the best of several candidates, within one budget."""

import json

import pytest

import discreet as dc

SCALE = ("--scale", "1:5")


@pytest.fixture
def arguments(table, items):
    return (table, *SCALE, "--items", items, "--items-public", "--epsilon", 4)


def test_writes_the_best_and_books_the_search(discreet, arguments, tmp_path):
    folder = tmp_path / "release"
    candidates = ("bias", "bias:item_damping=1000")
    outcome = discreet("search", *candidates, *arguments, "-o", folder, "--json")
    assert outcome.code == 0, outcome.err
    told = json.loads(outcome.out)
    assert told["candidates"] == list(candidates) and told["chosen"] in candidates and told["model"] == "bias"
    release = dc.Release.load(folder)
    assert release.guarantee.tuning == "paid" and release.guarantee.proven.epsilon <= 4
    assert sum(spend.chooses for spend in release.spends) == 1
    assert told["budget"]["spent"][0]["epsilon"] == pytest.approx(release.guarantee.proven.epsilon, rel=1e-6)
    assert "paid for" in discreet("show", folder).out


def test_says_what_was_chosen(discreet, arguments, tmp_path):
    metric = ("--metric", "ndcg@10")
    outcome = discreet("search", "popularity", "bias", *arguments, *metric, "-o", tmp_path / "release")
    assert "Of 2 candidates" in outcome.out and "was chosen" in outcome.out
    assert "the search is paid for in the ledger" in outcome.out


@pytest.mark.parametrize(
    ("extra", "sentence"),
    [
        (("bias",), "at least two candidates"),
        (("bias", "mf"), "MF has no private form"),
        (("bias", "bias:item_damping=1", "--trust", "devices"), "needs a trusted server"),
        (("bias", "bias:item_damping=1", "--metric", "mae"), "by rmse or a metric of rankings"),
        (("bias", "popularity"), "Popularity does not predict ratings"),
    ],
)
def test_refuses_in_a_sentence(discreet, arguments, tmp_path, extra, sentence):
    outcome = discreet("search", *extra, *arguments, "-o", tmp_path / "new")
    assert outcome.code == 2
    assert sentence in outcome.err
    assert not (tmp_path / "new").exists()


def test_without_epsilon_there_is_nothing_to_pay_with(discreet, table, tmp_path):
    outcome = discreet("search", "bias", "als", table, *SCALE, "-o", tmp_path / "new")
    assert outcome.code == 2 and "a search is paid from --epsilon" in outcome.err
