"""``discreet compare --epsilon …``: models by epsilons in one table, one document and one picture."""

import json
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from discreet.names import MODELS

SCALE = ("--scale", "1:5")
FEW = ("--models", "bias,popularity,own-taste,paper:hybrid-knn,mf", "--set", "mf.epochs=1")


def compare(discreet, table, items, folder, *options):
    command = ("compare", table, *SCALE, "--items", items, "--items-public", "--test", 0.2, "--seed", 3, "-o", folder)
    return discreet(*command, *options)


def test_one_document_with_epsilons_and_guarantees(discreet, table, items, tmp_path):
    outcome = compare(discreet, table, items, tmp_path, *FEW, "--epsilon", "10,.1,1", "--unit", "user", "--json")
    assert outcome.code == 0, outcome.err
    document = json.loads(outcome.out)
    assert document["page"] == str(tmp_path / "page.html")
    assert document["pictures"] == [str(tmp_path / "privacy.png")]
    assert Path(document["pictures"][0]).read_bytes().startswith(b"\x89PNG")
    found = {(row["model"], row["epsilon"]): row for row in document["rows"]}
    epsilons = (0.1, 1.0, 10.0, None)
    expected = {(name, epsilon) for name in ("bias", "popularity", "paper:hybrid-knn") for epsilon in epsilons}
    assert set(found) == expected | {("own-taste", 0.0), ("mf", None)}
    for (name, epsilon), row in found.items():
        if epsilon is None:
            assert (row["promise"], row["guarantee"], row["unit"]) == (None, None, None)
        elif name == "paper:hybrid-knn":
            assert (row["promise"], row["unit"]) == ("claimed", "rating")
            assert row["guarantee"].startswith(f"Claimed, not proven: epsilon {epsilon:g}")
        else:
            assert (row["promise"], row["unit"]) == ("proven", "user")
            assert row["guarantee"].startswith("Proven: ")
        for estimate in row["metrics"].values():
            assert estimate["low"] <= estimate["mean"] <= estimate["high"]
        assert "ndcg@100" in row["metrics"] and ("rmse" in row["metrics"]) == (name != "popularity")
    assert outcome.err == "mf has no private form for this, and will appear without privacy only.\n"


def test_people_get_models_by_epsilons(discreet, table, items, tmp_path):
    outcome = compare(discreet, table, items, tmp_path, *FEW, "--epsilon", "1,10", "--unit", "user")
    assert outcome.code == 0, outcome.err
    assert outcome.out.count("epsilon 1 ") >= 2 and "no privacy" in outcome.out
    assert "RMSE, lower is better" in outcome.out and "NDCG@100, higher is better" in outcome.out
    rows = [line.split() for line in outcome.out.splitlines()]
    assert any(row[:1] == ["own-taste"] and row[-3:] == ["asks", "for", "nothing"] for row in rows)
    assert any(row[:1] == ["mf"] and row[1:3] == ["-", "-"] and row[-1] == "none" for row in rows)
    assert any(row[:1] == ["paper:hybrid-knn"] and "claimed," in row for row in rows)
    assert "Proven: epsilon bounds what a release tells about all ratings of one user" in outcome.out
    assert "Only claimed: a paper says so" in outcome.out
    assert "is not private" in outcome.out
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    for words in ("What privacy costs", "bias (proven)", "paper:hybrid-knn (only claimed, for one rating)", "no noise"):
        assert words in page
    assert "comes from held-out ratings and is not private" in page
    assert "own-taste, costs nothing" in page and "without privacy" in page
    assert '<td class="words" data-value="asks for nothing">' in page  # among all numbers, too


def test_without_names_all_private_models_and_the_best_others(discreet, table, items, tmp_path):
    outcome = compare(
        discreet, table, items, tmp_path, "--epsilon", 1, "--unit", "user", "--metrics", "ndcg@5", "--json"
    )
    assert outcome.code == 0, outcome.err
    rows = json.loads(outcome.out)["rows"]
    private = {row["model"] for row in rows if row["epsilon"] == 1}
    assert {"almanac", "bias", "popularity"} <= private
    assert {"bayesian-mf", "implicit-als"} <= {row["model"] for row in rows} - private
    assert not {"cosine", "mf", "ease"} & {row["model"] for row in rows}
    assert outcome.err == "About 1,000 users are assumed; --audience N announces how many there are, roughly.\n"


def test_models_before_the_data_are_told_their_place(discreet):
    outcome = discreet("compare", "cosine", "ml-100k", "--epsilon", "1,10")
    assert outcome.code == 2 and outcome.err.endswith("; models are named with --models, commas between them\n")


def test_what_promises_nothing_is_not_called_proven(discreet, table, tmp_path):
    """The items of a bare table were read off the ratings: then nothing is promised."""
    command = ("compare", table, *SCALE, "--models", "popularity", "--test", 0.2, "-o", tmp_path, "--epsilon", "1,10")
    outcome = discreet(*command)
    assert outcome.code == 0, outcome.err
    assert "None, in spite of an epsilon" in outcome.out and "Proven:" not in outcome.out
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "popularity (nothing promised)" in page


def test_the_audience_is_told(discreet, table, items, tmp_path):
    command = ("--models", "covariance-knn", "--epsilon", "1,2", "--audience", 60, "--metrics", "rmse", "--json")
    outcome = compare(discreet, table, items, tmp_path, *command)
    assert (outcome.code, outcome.err) == (0, "")
    assert "audience = 60" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_auto_is_chosen_for_each_epsilon_as_fit_chooses(discreet, table, items, tmp_path):
    """With six users noise would hide what epsilon 1 publishes, and not what epsilon 10 does."""
    listed = tmp_path / "items.csv"
    names = items.read_text().split()[1:]
    listed.write_text(
        "\n".join(["item,genres", *(f"{name},{'ab'[place % 2]}" for place, name in enumerate(names)), ""])
    )
    told = ("--unit", "user", "--audience", 6, "--metrics", "rmse", "--models", "auto,own-taste")
    outcome = compare(discreet, table, listed, tmp_path / "out", *told, "--epsilon", "1,10", "--json")
    assert outcome.code == 0, outcome.err
    rows = {row["epsilon"]: row for row in json.loads(outcome.out)["rows"] if row["model"] == "auto"}
    assert {epsilon: row["chosen"] for epsilon, row in rows.items()} == {1: "own-taste", 10: "almanac", None: "almanac"}
    fit = ("fit", table, *SCALE, "--items", listed, "--items-public", "--audience", 6, "--json")
    for epsilon, row in rows.items():
        private = () if epsilon is None else ("--epsilon", epsilon, "--unit", "user")
        done = json.loads(discreet(*fit, *private, "--account", epsilon, "-o", tmp_path / str(epsilon)).out)
        assert (done["model"], done["reason"]) == (row["chosen"], row["reason"])
    free = next(row for row in json.loads(outcome.out)["rows"] if row["model"] == "own-taste")
    assert rows[1]["metrics"] == free["metrics"]
    shown = compare(discreet, table, listed, tmp_path / "out", *told, "--epsilon", "1,10")
    page = (tmp_path / "out" / "page.html").read_text(encoding="utf-8")
    for words in ("so OwnTaste goes by", "Almanac is the most accurate", "auto: Without privacy Almanac"):
        assert words in shown.out and words in page


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--epsilon", "1,much"), "--epsilon must be a number, or several as in .1,1,10, got '1,much'"),
        (("--epsilon", "1,0"), "epsilon must be positive and finite, got 0.0"),
        (("--epsilon", "1,inf"), "epsilon must be positive and finite, got inf"),
        (("--unit", "user"), "--unit would give no privacy without --epsilon"),
        (("--epsilon", "1", "--audience", "0"), "--audience must be at least 1, got 0"),
        (("--epsilon", "1", "--models", "bias,bia"), "there is no model 'bia'; did you mean 'bias'?"),
    ],
)
def test_what_is_wrong_is_said_before_the_work(discreet, table, tmp_path, options, sentence):
    outcome = discreet("compare", table, *SCALE, "-o", tmp_path / "out", *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"discreet: {sentence}") and outcome.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_progress_names_the_model_and_its_epsilon(discreet, table, items, tmp_path, monkeypatch):
    steps = []

    @contextmanager
    def drawn():
        yield lambda *step: steps.append(step)

    monkeypatch.setattr("discreet.cli.progress._drawn", drawn)
    outcome = compare(discreet, table, items, tmp_path, "--models", "bias", "--epsilon", "1,10", "--json")
    assert outcome.code == 0
    assert {"bias, epsilon 1", "bias, epsilon 10", "bias"} <= {what for _, _, what in steps}
    done = [step / total for step, total, what in steps if what.startswith("bias")]
    assert done == sorted(done)


@pytest.fixture
def without_torch(monkeypatch):
    """As if the extra ``torch`` was not installed."""
    for loaded in [name for name in sys.modules if name.partition(".")[0] == "torch"]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, "torch", None)


def test_models_lists_everything_where_torch_is_missing(discreet, without_torch):
    outcome = discreet("models")
    assert outcome.code == 0 and "pip install 'discreet[torch]'" in outcome.out
    found = {each["model"]: each for each in json.loads(discreet("models", "--json").out)}
    lacking = {name for name, each in found.items() if each["missing_extras"]}
    assert lacking == {"mult-vae", "private-vae", "auto-encoder"} and {"almanac", "paper:dp-vae"} <= found.keys()
    assert found["private-vae"]["private"] is None and found["mult-vae"]["private"] == []
    assert found["almanac"]["private"] == ["rating", "user"]


@pytest.mark.parametrize("privacy", [(), ("--epsilon", 1, "--unit", "user")])
def test_compare_leaves_out_what_cannot_run_here(discreet, table, items, tmp_path, without_torch, privacy, monkeypatch):
    for name in ("noisy-pnbm", "langevin-pnbm", "pnbm", "warp"):  # slow, and they need no library
        monkeypatch.delitem(MODELS, name)
    outcome = compare(discreet, table, items, tmp_path, *privacy, "--metrics", "ndcg@5", "--json")
    assert outcome.code == 0, outcome.err
    assert {"almanac", "bias"} <= {row["model"] for row in json.loads(outcome.out)["rows"]}
    (said,) = [line for line in outcome.err.splitlines() if "mult-vae" in line]
    assert "private-vae" in said and "auto-encoder" in said and "discreet[torch" in said
    refused = compare(discreet, table, items, tmp_path, "--models", "mult-vae")
    assert refused.code == 2 and "pip install 'discreet[torch]'" in refused.err


def test_a_model_without_a_private_form_is_refused_where_torch_is_missing(discreet, table, items, without_torch):
    outcome = discreet("evaluate", "cosine", table, "--scale", "1:5", "--items", items, "--epsilon", 1)
    assert outcome.code == 2 and "almanac" in outcome.err and "torch" not in outcome.err
