import json
from pathlib import Path

import pytest

from discreet.cli.app import app

SCALE = ("--scale", "1:5")


def test_the_json_document_has_the_promised_shape(discreet, table):
    outcome = discreet("evaluate", "bias", "popularity", table, *SCALE, "--folds", 2, "--seed", 3, "--json")
    assert outcome.code == 0
    assert outcome.err == ""
    document = json.loads(outcome.out)
    assert set(document) == {"data", "split", "rows", "account", "audience"}
    assert document["audience"] is None
    assert document["split"] == "2 folds of all ratings, seed 3"
    assert [row["model"] for row in document["rows"]] == ["bias", "popularity"]
    for row in document["rows"]:
        assert set(row) == {
            "model",
            "metrics",
            "fit_seconds",
            "predict_seconds",
            "peak_memory_mb",
            "epsilon",
            "promise",
            "unit",
            "guarantee",
            "chosen",
            "reason",
        }
        assert (row["chosen"], row["reason"]) == (None, None)
        assert (row["guarantee"], row["epsilon"], row["promise"], row["unit"]) == (None, None, None, None)
        for estimate in row["metrics"].values():
            assert estimate["low"] <= estimate["mean"] <= estimate["high"]
    assert "rmse" in document["rows"][0]["metrics"]
    assert "rmse" not in document["rows"][1]["metrics"]


def test_people_get_a_table_and_the_truth_about_privacy(discreet, table):
    outcome = discreet("evaluate", "bias:item_damping=0", "bias", table, *SCALE, "--test", 0.3, "--seeds", 2)
    assert outcome.code == 0
    assert "bias:item_damping=0" in outcome.out
    assert "30% of all ratings held out, seeds 0 to 1" in outcome.out
    assert "No privacy" in outcome.out


@pytest.mark.parametrize(
    ("way", "split"),
    [
        (("--each-user",), "ratings of each user 80:10:10, seed 0"),
        (("--held-out-users", "--seed", 5), "10% of the users held out, 80% of their ratings as history, seed 5"),
        (("--test", 0.2), "20% of all ratings held out, seed 0"),
        ((), "5 folds of all ratings, seed 0"),
    ],
)
def test_ways_to_split(discreet, table, way, split):
    outcome = discreet("evaluate", "popularity", table, *SCALE, *way, "--metrics", "ndcg@5,recall@5", "--json")
    document = json.loads(outcome.out)
    assert document["split"] == split
    assert list(document["rows"][0]["metrics"]) == ["ndcg@5", "recall@5"]


def test_settings_reach_the_model(discreet, table):
    rows = []
    for setting in ("item_damping=1000000", "bias.item_damping=1000000", "item_damping=1"):
        document = json.loads(discreet("evaluate", "bias", table, *SCALE, "--set", setting, "--json").out)
        rows.append(document["rows"][0]["metrics"]["rmse"]["mean"])
    assert rows[0] == rows[1] != rows[2]


def test_bad_requests_end_with_2_and_a_sentence(discreet, table, tmp_path):
    requests = {
        ("--folds", 1): "folds must be at least 2, got 1",
        ("--test", 1.5): "test must be a share between 0 and 1, got 1.5",
        ("--test", "nan"): "test must be a share between 0 and 1, got nan",
        ("--seed", -1): "seed must be a whole number from 0 on, got -1",
        ("--test", 0.2, "--seeds", 0): "repeats must be at least 1, got 0",
        ("--seeds", 2): "--seeds goes with --test, --each-user or --held-out-users, not with folds",
        ("--folds", 5, "--test", 0.2): "--folds and --test are different ways to split: choose one",
        ("--each-user", "--held-out-users"): "--each-user and --held-out-users are different ways to split: choose one",
        ("--metrics", "rmze"): "there is no metric 'rmze'; did you mean 'rmse'?",
        ("--metrics", ","): "--metrics needs names, for example rmse,ndcg@10",
        ("--metrics", "ndcg@0"): "a metric's k must be at least 1, got 'ndcg@0'",
        ("--metrics", "recall@x"): "a metric's k must be a whole number, as in ndcg@10, got 'recall@x'",
        ("--metrics", "foo"): "there is no metric 'foo'; there are rmse, mae, within X, and ndcg, recall, hit, mrr, "
        "coverage and novelty @K",
        ("--set", "depth=3"): "there is no bias setting 'depth'; it has item_damping, user_damping",
        ("--html", tmp_path): f"{tmp_path} is a folder: name a file to write to",
        ("--folds", 100_000): "100000 folds need at least 100000 ratings",
    }
    for arguments, sentence in requests.items():
        outcome = discreet("evaluate", "bias", table, *SCALE, *arguments, "--json")
        assert outcome.code == 2, arguments
        assert outcome.out == "", arguments
        assert json.loads(outcome.err)["sentence"].startswith(sentence)
        assert outcome.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_wrong_usage_is_one_sentence_too(discreet, table):
    requests = {
        ("evaluate",): "missing argument 'DATA'; see `discreet evaluate --help`",
        ("evaluate", "bias"): "DATA is missing: write `discreet evaluate bias DATA`",
        ("evaluate", "cosine:power=2"): "DATA is missing: write `discreet evaluate cosine:power=2 DATA`",
        ("evaluate", "ml-100k"): "MODEL is missing: write `discreet evaluate MODEL... ml-100k`",
        ("evaluate", "bias", table, "--folds", "many"): "invalid value for '--folds'",
        ("evalute",): "no such command 'evalute'; did you mean 'evaluate'?",
        ("fit", "bias", "ml-100k"): "missing option '--output'",
        ("--verbose",): "no such option: --verbose",
        ("data", "lost"): "no such command 'lost'",
    }
    for arguments, sentence in requests.items():
        outcome = discreet(*arguments)
        assert (outcome.code, outcome.out) == (2, ""), arguments
        assert outcome.err.startswith(f"discreet: {sentence}"), outcome.err
        assert outcome.err.count("\n") == 1 and "Usage:" not in outcome.err


def test_a_group_without_a_command_shows_its_help(discreet):
    for arguments in ((), ("data",)):
        outcome = discreet(*arguments)
        assert "Usage: discreet" in outcome.out + outcome.err


def test_a_setting_that_some_models_do_not_have_is_pointed_out(discreet, table):
    command = ("evaluate", "bias", "popularity", table, *SCALE, "--test", 0.2)
    outcome = discreet(*command, "--set", "item_damping=2")
    assert outcome.code == 0
    assert outcome.err == ("--set item_damping=2 changes bias, and not popularity, which has no such setting.\n")
    assert discreet(*command, "--set", "bias.item_damping=2").err == ""


def test_evaluate_writes_a_page(discreet, table, tmp_path):
    outcome = discreet("evaluate", "bias", table, *SCALE, "--html", tmp_path / "page.html")
    assert f"The page is {tmp_path}/page.html" in outcome.out
    assert "<svg" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_compare_writes_a_page_and_pictures(discreet, table, tmp_path):
    outcome = discreet(
        "compare", table, *SCALE, "--models", "bias,popularity", "--test", 0.2, "-o", tmp_path / "out", "--json"
    )
    document = json.loads(outcome.out)
    assert [row["model"] for row in document["rows"]] == ["bias", "popularity"]
    assert document["page"] == str(tmp_path / "out" / "page.html")
    written = {str(path) for path in (tmp_path / "out").iterdir()}
    assert written == {document["page"], *document["pictures"]}
    assert str(tmp_path / "out" / "rmse.png") in written
    assert all(Path(picture).read_bytes().startswith(b"\x89PNG") for picture in document["pictures"])


def test_compare_draws_everything_before_it_writes_anything(discreet, table, tmp_path, monkeypatch):
    def fail(*_arguments, **_named):
        raise MemoryError

    for place in ("discreet.pages.drawing.Picture.png", "discreet.pages.comparisons.render_page"):
        with monkeypatch.context() as patched, pytest.raises(SystemExit, match="2"):
            patched.setattr(place, fail)
            app(["compare", str(table), *SCALE, "--models", "bias", "--test", "0.2", "-o", str(tmp_path / "out")])
    assert not (tmp_path / "out").exists()


def test_compare_is_refused_before_the_work_starts(discreet, table, tmp_path):
    (tmp_path / "out").write_text("taken")
    for arguments in (("--models", "bias,bia"), ("--models", ","), ()):
        outcome = discreet("compare", table, *SCALE, *arguments, "-o", tmp_path / "out")
        assert outcome.code == 2
        assert outcome.err.startswith("discreet: ")
    assert (tmp_path / "out").read_text() == "taken"


def test_auto_says_what_it_chose_and_for_how_many_users(discreet, table, items):
    private = (
        "auto",
        table,
        *SCALE,
        "--items",
        items,
        "--items-public",
        "--epsilon",
        1,
        "--unit",
        "user",
        "--test",
        0.2,
    )
    outcome = discreet("evaluate", *private)
    assert outcome.code == 0, outcome.err
    assert outcome.err == "About 1,000 users are assumed; --audience N announces how many there are, roughly.\n"
    assert "auto: With epsilon 1 for every user and about 1,000 users" in outcome.out
    told = discreet("evaluate", *private, "--audience", 60, "--json")
    document = json.loads(told.out)
    assert told.err == "" and document["audience"] == {"users": 60, "known": "announced"}
    assert document["rows"][0]["chosen"] == "almanac" and "about 60 users" in document["rows"][0]["reason"]
    exact = discreet("evaluate", "auto", table, *SCALE, "--test", 0.2)
    assert exact.err == "" and "auto: Without privacy Almanac" in exact.out


def test_a_setting_of_what_auto_has_not_chosen_yet_is_refused(discreet, table):
    sentence = "discreet: --set is for a model with a name, and auto has not chosen one yet: name the model"
    for models, setting in (
        (("auto",), "factors=3"),
        (("auto",), "almanac.factors=3"),
        (("auto", "bias"), "item_damping=2"),
        (("auto", "bias"), "auto.factors=2"),
        (("auto:factors=3", "bias"), "bias.item_damping=2"),
    ):
        refused = discreet("evaluate", *models, table, *SCALE, "--set", setting)
        assert refused.code == 2 and refused.err.startswith(sentence) and refused.err.count("\n") == 1
    assert "or write --set bias.NAME=VALUE" in discreet("evaluate", "auto", "bias", table, *SCALE, "--set", "a=2").err
    assert "named twice" in discreet("evaluate", "auto", "auto", table, *SCALE).err
    command = ("evaluate", "auto", "bias", table, *SCALE, "--test", 0.2, "--set", "bias.item_damping=2")
    assert discreet(*command).code == 0
