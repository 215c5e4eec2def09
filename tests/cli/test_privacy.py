"""Privacy on the command line: what --epsilon, --unit and --trust choose, and what is said about it."""

import json

import pytest
from typer.testing import CliRunner

from discreet.cli.app import app

run = CliRunner().invoke
DATA = ["synthetic"]


def fitted(tmp_path, *options, model="popularity"):
    result = run(app, ["fit", model, *DATA, "-o", str(tmp_path / "release"), *options])
    assert result.exit_code == 0, result.output
    return tmp_path / "release"


def test_without_epsilon_there_is_no_privacy_and_the_output_says_so(tmp_path):
    result = run(app, ["fit", "popularity", *DATA, "-o", str(tmp_path / "release")])
    assert "No privacy: exact sums over the users were released." in result.stdout


@pytest.mark.parametrize(
    ("options", "unit", "protects"),
    [
        (["--epsilon", "1"], "rating", "the public"),
        (["--epsilon", "1", "--unit", "user"], "user", "other users"),
        (["--epsilon", "1", "--trust", "devices"], "rating", "the recommender"),
    ],
)
def test_certificate_says_what_was_asked_for(tmp_path, options, unit, protects):
    folder = fitted(tmp_path, *options)
    certificate = json.loads(run(app, ["certificate", str(folder), "--json"]).stdout)
    assert certificate["guarantee"]["proven"]["epsilon"] == pytest.approx(1, rel=1e-3)
    assert certificate["guarantee"]["unit"]["name"] == unit
    assert protects in certificate["guarantee"]["protects_from"]
    assert [line["what"] for line in certificate["ledger"]] == ["how often each item was rated"]
    assert certificate["sources"] == {"counts": ["how often each item was rated"]}


def test_certificate_reads_in_plain_words(tmp_path):
    text = run(app, ["certificate", str(fitted(tmp_path, "--epsilon", "2", "--unit", "user"))]).stdout
    assert "Proven: whoever sees this release" in text
    assert "epsilon 2" in text and "gaussian noise of scale" in text


def test_seeded_noise_is_called_what_it_is(tmp_path):
    text = run(app, ["certificate", str(fitted(tmp_path, "--epsilon", "1", "--noise-seed", "1"))]).stdout
    assert "No privacy: the noise was seeded" in text


def test_measuring_private_models(tmp_path):
    command = ["evaluate", "popularity", *DATA, "--each-user", "--epsilon", "1", "--json"]
    row = json.loads(run(app, command).stdout)["rows"][0]
    assert "epsilon 1" in row["guarantee"]
    assert 0 < row["metrics"]["ndcg@100"]["mean"] < 1


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--epsilon", "0"], "epsilon must be positive and finite, got 0.0"),
        (["--epsilon", "nan"], "epsilon must be positive and finite, got nan"),
        (["--epsilon", "1", "--delta", "1"], "delta must lie in [0, 1), got 1.0"),
        (["--delta", "1e-6"], "delta says nothing without epsilon"),
        (["--epsilon", "1", "--unit", "household"], "--unit must be rating or user, got 'household'"),
        (["--epsilon", "1", "--trust", "god"], "--trust must be server or devices, got 'god'"),
        (["--epsilon", "1", "--unit", "user", "--delta", "0"], "has no proven bound for the unit user in l1"),
    ],
)
def test_impossible_terms_are_refused_in_one_sentence(tmp_path, options, sentence):
    result = run(app, ["fit", "popularity", *DATA, "-o", str(tmp_path / "release"), *options])
    assert result.exit_code == 2
    assert sentence in result.stderr and result.stderr.startswith("discreet: ") and result.stdout == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("model", "sentence"),
    [("mf", "MF needs the raw ratings, so it cannot be private"), ("cosine", "so no noise can make it private")],
)
def test_models_that_cannot_be_private_say_so(tmp_path, model, sentence):
    result = run(app, ["fit", model, *DATA, "-o", str(tmp_path / "release"), "--epsilon", "1"])
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert list(tmp_path.iterdir()) == []
