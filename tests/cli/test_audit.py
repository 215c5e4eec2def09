"""``discreet audit``: the verdict as a table, as JSON, as a page; and what it refuses."""

import json

import numpy as np
import pytest

import discreet as dc
from discreet.populations.held import held_by

QUICK = ("--runs", 200, "--seed", 3)


def test_people_get_the_verdict_and_what_it_rests_on(discreet, table):
    outcome = discreet("audit", "popularity", table, "--scale", "1:5", "--epsilon", 1, *QUICK)
    assert outcome.code == 0
    assert outcome.out.startswith("No leak was found: epsilon is at least 0.")
    for words in ("where epsilon 1 is proven", "200 runs on each side", "100% of what the ledger allows", "one rating"):
        assert words in outcome.out


def without_times(document):
    assert document.pop("seconds") > 0 and document["more"].pop("seconds") > 0
    return document


def test_the_json_document_has_the_promised_shape(discreet, table):
    command = ("audit", "bias", table, "--scale", "1:5", "--epsilon", 1, "--unit", "user", *QUICK, "--json")
    document, again = (without_times(json.loads(discreet(*command).out)) for _ in range(2))
    assert document == again  # a seed makes it repeatable
    assert document["proven"] == {"epsilon": pytest.approx(1, rel=1e-3), "delta": 1e-6}
    assert document["claimed"] is None
    assert document["mu"]["low"] <= document["mu"]["proven"] == pytest.approx(0.2367, rel=1e-3)
    assert document["runs"] == 200 and document["unit"] == "user" and not document["accuses"]
    assert document["epsilon_low"] <= 1 and document["faults"] == []


def test_in_one_run(discreet, table):
    command = ("audit", "bias", table, "--scale", "1:5", "--epsilon", 1, "--one-run", "--canaries", 40, "--seed", 3)
    document = json.loads(discreet(*command, "--json").out)
    assert document["canaries"] == 40 and document["guesses"]["of"] <= 40
    assert "were right" in discreet(*command).out


def test_on_devices_and_from_the_release_alone(discreet, table):
    command = ("audit", "popularity", table, "--scale", "1:5", "--epsilon", 1, *QUICK, "--json")
    assert json.loads(discreet(*command, "--trust", "devices").out)["trust"] == "devices"
    assert json.loads(discreet(*command, "--release-only").out)["attack"] == "learned from the release"


def test_a_page_and_a_picture(discreet, table, tmp_path):
    page, picture = tmp_path / "audit.html", tmp_path / "audit.png"
    outcome = discreet(
        "audit", "popularity", table, "--scale", "1:5", "--epsilon", 1, *QUICK, "--html", page, "--picture", picture
    )
    assert f"The page is {page}" in outcome.out and f"The picture is {picture}" in outcome.out
    text = page.read_text(encoding="utf-8")
    assert text.count("<svg") == 4 and "with the canary" in text and "No leak was found" in text
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_broken_promise_ends_with_1(discreet, table, monkeypatch):
    def exact(self, contribution, share=1.0):
        self.ledger.charge(self.calibrate(contribution, share).spend)
        return np.asarray(contribution.total(held_by(self)), dtype=np.float64)

    monkeypatch.setattr(dc.TrustedServer, "sum", exact)
    outcome = discreet("audit", "popularity", table, "--scale", "1:5", "--epsilon", 1, *QUICK)
    assert outcome.code == 1
    assert outcome.out.startswith("The promise is broken: epsilon is at least")


def test_bad_requests_end_with_2_and_a_sentence(discreet, table, tmp_path):
    requests = {
        ("--epsilon", 0): "epsilon must be positive and finite, got 0.0",
        ("--epsilon", "nan"): "epsilon must be positive and finite, got nan",
        ("--epsilon", 1, "--delta", 1): "delta must lie in [0, 1), got 1.0",
        ("--epsilon", 1, "--unit", "household"): "--unit must be rating, user or value, got 'household'",
        ("--epsilon", 1, "--trust", "god"): "--trust must be server, devices or two-servers, got 'god'",
        ("--epsilon", 1, "--confidence", 1): "confidence must lie between 0.5 and 1, got 1.0",
        ("--epsilon", 1, "--runs", 10): "an audit needs at least 40 runs on each side, got 10",
        ("--epsilon", 5, "--runs", 100): "with 100 runs on each side an audit can show an epsilon of 2.19 at most, "
        "and 5 is to be tested: run at least 1581",
        ("--epsilon", 1, "--one-run", "--canaries", 10): "with 10 canaries an audit can show an epsilon of 0.198 at "
        "most, and 1 is to be tested: use at least 20",
        ("--epsilon", 1, "--one-run", "--canaries", 1): "an audit in one run needs at least 2 canaries, got 1",
        ("--epsilon", 1, "--one-run", "--runs", 100): "--runs and --one-run are different ways to audit: choose one",
        ("--epsilon", 1, "--canaries", 100): "--canaries goes with --one-run",
        ("--epsilon", 1, "--release-only", "--one-run"): "--release-only goes with --runs, not with --one-run",
        ("--epsilon", 1, "--picture", "a.pdf"): "--picture must end in .png or .svg, got a.pdf",
        ("--epsilon", 1, "--html", tmp_path): f"{tmp_path} is a folder: name a file to write to",
    }
    for arguments, sentence in requests.items():
        outcome = discreet("audit", "popularity", table, "--scale", "1:5", *arguments)
        assert outcome.code == 2, arguments
        assert outcome.out == "", arguments
        assert outcome.err == f"discreet: {sentence}\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("mf",), "MF has no private form yet; almanac, bias, popularity"),
        (("cosine",), "Cosine has no private form yet; almanac, bias, popularity"),
        (("paper:hybrid-knn", "--unit", "user"), "makes its claim for one rating and a server"),
        (("paper:hybrid-knn", "--one-run"), "is audited by --runs"),
        (("paper:hybrid-knn", "--set", "epsilon=3"), "--epsilon 1 and the setting epsilon=3.0 are the same claim"),
        (("popularity", "--unit", "user", "--delta", 0), "has no proven bound for the unit user in l1"),
        (("popularity", "--unit", "user", "--one-run", "--delta", 1e-4), "1000 canaries times delta 0.0001 use up"),
    ],
)
def test_what_promises_nothing_cannot_be_audited(discreet, table, arguments, sentence):
    model, *options = arguments
    outcome = discreet("audit", model, table, "--scale", "1:5", "--epsilon", 1, *options)
    assert outcome.code == 2
    assert sentence in outcome.err


FEW = ("--runs", 40, "--seed", 3)


@pytest.fixture
def few_explored(monkeypatch):
    """The canary that moves the looks most is the right one here: there is no need to look long for another."""
    monkeypatch.setattr("discreet.audit.runs.EXPLORING", 8)


PUBLIC = ("--set", "gamma=0", "--set", "item_damping=20", "--set", "user_damping=15")


@pytest.mark.parametrize("how", [("--epsilon", 1), ("--set", "epsilon=1"), ()], ids=str)
def test_a_paper_is_audited_by_its_own_claim(discreet, table, how, few_explored):
    """Its dampings are exact counts: every run tells whether the rating is there."""
    outcome = discreet("audit", "paper:hybrid-knn", table, "--scale", "1:5", *how, *FEW, "--json")
    document = json.loads(outcome.out)
    assert outcome.code == 1 and document["accuses"]
    assert document["proven"] is None and document["claimed"]["epsilon"] == 1
    assert document["epsilon_low"] > 1
    assert "1 of 7 looks at the ratings is not in the ledger" in document["faults"]


def test_what_a_paper_forgot_to_add_up_is_found_without_statistics(discreet, table, few_explored):
    outcome = discreet("audit", "paper:hybrid-knn", table, "--scale", "1:5", *PUBLIC, *FEW)
    assert outcome.code == 1
    assert "The noise of its 6 sums adds up to epsilon 2, where epsilon 1 is claimed." in outcome.out
    assert "A canary moves 'the sum of all ratings' by 5 in l1, and the noise is made for 4." in outcome.out
    assert "is not in the ledger" not in outcome.out  # dampings that are public cost nothing


def test_an_audit_that_is_told_nothing_takes_the_time_that_it_has(discreet, table, monkeypatch):
    """It tests epsilon 1, makes the runs that it has time for, and says what more of them would show."""
    monkeypatch.setattr("discreet.audit.runs.SECONDS", 4)
    command = ("audit", "popularity", table, "--scale", "1:5")
    document = json.loads(discreet(*command, "--json").out)
    assert document["proven"]["epsilon"] == 1 and not document["accuses"]
    assert 40 <= document["runs"] < 4000 and 0 < document["seconds"] < 60
    more = document["more"]
    assert more["runs"] == 4 * document["runs"] and more["of"] == "epsilon"
    assert document["epsilon_low"] <= more["low"] and more["seconds"] > 0
    assert "more runs" in discreet(*command, "--runs", 200).out


def test_covariances_are_audited_at_full_strength(discreet, table, items, few_explored):
    """Laplace and Gaussian noise in one ledger: mu is measured on the Gaussian part alone."""
    where = (table, "--scale", "1:5", "--items", items, "--items-public")
    how = ("--epsilon", 5, "--delta", 1e-6, "--set", "covariance_share=0.8", "--runs", 80, "--seed", 3)
    document = json.loads(discreet("audit", "covariance-knn", *where, *how, "--json").out)
    assert document["exercised"] > 0.95 and not document["accuses"]
    assert document["mu"]["low"] < document["mu"]["proven"] < document["mu"]["high"]
