"""Privacy on the command line: what --epsilon, --unit and --trust choose, and what is said about it."""

import json

import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.cli.app import app
from discreet.fitting.fit_on import fit_on
from discreet.fitting.private_forms import names_of_private_models
from discreet.names import every_model

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
        (["--epsilon", "1", "--trust", "two-servers"], "rating", "the third party"),
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


def test_what_is_measured_is_not_called_private(tmp_path):
    """The promise is the release's: the error was measured on the ratings themselves."""
    page = tmp_path / "page.html"
    command = ["evaluate", "popularity", *DATA, "--each-user", "--html", str(page)]
    assert "comes from held-out ratings" not in run(app, command).stdout
    printed = run(app, [*command, "--epsilon", "1"]).stdout
    assert "\nWhat is measured here comes from" in printed  # on a line of its own
    for text in (printed, page.read_text(encoding="utf-8")):
        assert "Proven: " in text and "comes from held-out ratings and is not private" in " ".join(text.split())


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
        (["--delta", "1e-6"], "--delta would give no privacy without --epsilon"),
        (["--unit", "user"], "--unit would give no privacy without --epsilon"),
        (["--unit", "rating"], "--unit would give no privacy without --epsilon"),
        (
            ["--trust", "devices", "--noise-seed", "3"],
            "--trust and --noise-seed would give no privacy without --epsilon",
        ),
        (["--epsilon", "1", "--unit", "household"], "--unit must be rating, user or value, got 'household'"),
        (["--epsilon", "1", "--trust", "god"], "--trust must be server, devices or two-servers, got 'god'"),
        (["--epsilon", "1", "--unit", "user", "--delta", "0"], "unit user in l1, only in l2, where noise"),
    ],
)
def test_impossible_terms_are_refused_in_one_sentence(tmp_path, options, sentence):
    result = run(app, ["fit", "popularity", *DATA, "-o", str(tmp_path / "release"), *options])
    assert result.exit_code == 2
    assert sentence in result.stderr and result.stderr.startswith("discreet: ") and result.stdout == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("model", "sentence"),
    [("mf", "MF has no private form yet; almanac, bias, popularity"), ("cosine", "Cosine has no private form")],
)
@pytest.mark.parametrize("command", ["fit", "evaluate"])
def test_models_that_cannot_be_private_say_so(tmp_path, command, model, sentence):
    words = {
        "fit": ["fit", model, "ml-100k", "-o", str(tmp_path / "release")],
        "evaluate": ["evaluate", "bias", model, "ml-100k"],
    }
    result = run(app, [*words[command], "--epsilon", "1"])
    assert result.exit_code == 2
    assert sentence in result.stderr and result.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_models_say_whether_they_have_a_private_form():
    listed = {model["model"]: model["private"] for model in json.loads(run(app, ["models", "--json"]).stdout)}
    assert listed["bias"] == listed["popularity"] == ["rating", "user"]
    assert listed["cosine"] == listed["mf"] == listed["paper:hybrid-knn"] == []
    assert "private" in run(app, ["models"]).stdout


@pytest.mark.parametrize("unit", ["rating", "user"])
def test_what_the_list_says_is_true(unit):
    for name in names_of_private_models(unit):
        release = fit_on(
            every_model()[name](), dc.synthetic(users=30, items=64, ratings=600, seed=1), dc.Terms(epsilon=1, unit=unit)
        )
        assert release.guarantee.proven is not None, name


def test_fit_points_to_the_certificate_of_what_has_one(tmp_path):
    private, plain = tmp_path / "private", tmp_path / "plain"
    text = run(app, ["fit", "popularity", *DATA, "-o", str(private), "--epsilon", "1"]).stdout
    assert (
        f"see `discreet show {private}`, `discreet certificate {private}` and `discreet recommend {private}`." in text
    )
    text = run(app, ["fit", "popularity", *DATA, "-o", str(plain)]).stdout
    assert f"see `discreet show {plain}` and `discreet recommend {plain}`." in text


def test_a_release_that_was_paid_for_is_not_replaced_by_accident(tmp_path):
    folder = fitted(tmp_path, "--epsilon", "1")
    card = (folder / "card.json").read_text()
    for options in ([], ["--epsilon", "2"]):
        result = run(app, ["fit", "bias", *DATA, "-o", str(folder), *options])
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr == (
            f"discreet: {folder} holds a private release that was paid for (epsilon 1): name another folder, "
            "or replace it with --replace; "
            "nothing was written or spent\n"
        )
    assert (folder / "card.json").read_text() == card
    assert run(app, ["fit", "bias", *DATA, "-o", str(folder), "--replace"]).exit_code == 0
    assert run(app, ["fit", "bias", *DATA, "-o", str(folder)]).exit_code == 2  # nor is one that nobody paid for


def test_a_forged_card_gets_no_certificate(tmp_path):
    folder = fitted(tmp_path, "--epsilon", "2")
    card = json.loads((folder / "card.json").read_text())
    card["guarantee"]["proven"]["epsilon"] = 0.01
    (folder / "card.json").write_text(json.dumps(card))
    result = run(app, ["certificate", str(folder)])
    assert result.exit_code == 2
    assert "the promise is false" in result.stderr


def test_als_hides_users_and_shows_every_look(tmp_path):
    settings = ["--set", "audience=2000", "--set", "sweeps=2", "--set", "weighting=tail"]
    folder = fitted(tmp_path, "--epsilon", "5", "--delta", "1e-5", "--unit", "user", *settings, model="als")
    certificate = json.loads(run(app, ["certificate", str(folder), "--json"]).stdout)
    assert certificate["guarantee"]["proven"]["epsilon"] == pytest.approx(5, rel=1e-3)
    assert certificate["guarantee"]["proven"]["delta"] <= 1e-5
    assert len(certificate["ledger"]) == 4  # item sums, how much users rate, two sweeps


def test_als_says_that_it_needs_a_delta_for_ratings(tmp_path):
    result = run(app, ["fit", "als", *DATA, "-o", str(tmp_path / "release"), "--epsilon", "5"])
    assert result.exit_code == 2
    assert "no proven bound for the unit rating in l1, only in l2" in result.output
    assert "with a delta: give one, for example 1e-6" in result.output
