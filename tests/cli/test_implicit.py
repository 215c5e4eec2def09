"""Data without ratings, from the command line: every command works, nothing is bought or printed about ratings."""

import csv
import json

import numpy as np
import pytest

import discreet as dc
from discreet.names import every_model
from discreet.populations.asking import takes_implicit

PRIVATE = ("--epsilon", 20, "--unit", "user", "--audience", 400)


@pytest.fixture(scope="module")
def clicks(tmp_path_factory):
    """An event log: some users click on an item several times."""
    made = dc.synthetic(users=150, items=40, ratings=3000, seed=1)
    path = tmp_path_factory.mktemp("clicks") / "clicks.csv"
    rng = np.random.default_rng(3)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["user", "item", "when"])
        for user, item in zip(made.user_index, made.item_index, strict=True):
            for _ in range(rng.integers(1, 3)):
                writer.writerow([f"u{user}", made.catalogue.items[int(item)], 1_700_000_000 + int(rng.integers(10**6))])
    path.with_name("items.csv").write_text(
        "\n".join(["item,title,genres", *(f"{i},Thing {i},a" for i in made.catalogue.items)])
    )
    return path


@pytest.fixture(scope="module")
def data(clicks):
    return (clicks, "--implicit", "--items", clicks.with_name("items.csv"), "--items-public")


def test_a_private_release_buys_counts_alone(discreet, data, tmp_path):
    outcome = discreet("fit", "almanac", *data, *PRIVATE, "-o", tmp_path / "out")
    assert outcome.code == 0, outcome.err
    release = dc.Release.load(tmp_path / "out")
    assert all("sum" not in spend.what and "product" not in spend.what for spend in release.spends), release.spends
    assert release.guarantee.proven.epsilon <= 20 and not release.predicts_ratings
    shown = discreet("recommend", tmp_path / "out", "--likes", "Thing 1", "-k", 3)
    assert shown.code == 0 and "predicted" not in shown.out, shown.err
    (tmp_path / "mine.csv").write_text("title\nThing 1\nThing 2\n")
    found = discreet("recommend", tmp_path / "out", "--history", tmp_path / "mine.csv", "--json")
    assert [entry["predicted"] for entry in json.loads(found.out)["suggestions"]] == [None] * 10
    assert discreet("show", tmp_path / "out").code == 0
    assert discreet("certificate", tmp_path / "out").code == 0


def test_rankings_are_measured_by_default(discreet, data):
    outcome = discreet("evaluate", "almanac", "popularity", "ease", "cosine", *data, "--json")
    assert outcome.code == 0, outcome.err
    rows = json.loads(outcome.out)["rows"]
    assert all("ndcg@10" in row["metrics"] and "rmse" not in row["metrics"] for row in rows)
    refused = discreet("evaluate", "popularity", *data, "--metrics", "rmse")
    assert refused.code == 2 and "these data have no ratings, so there is no rmse" in refused.err


def test_compare_takes_the_models_that_can(discreet, data, tmp_path):
    outcome = discreet(
        "compare", *data, "--models", "popularity,almanac", "--epsilon", 5, "--unit", "user", "-o", tmp_path
    )
    assert outcome.code == 0, outcome.err
    assert "RMSE" not in outcome.out and "NDCG" in outcome.out
    assert "RMSE" not in (tmp_path / "page.html").read_text()


def test_models_of_ratings_refuse_in_one_sentence(discreet, data, tmp_path):
    for command in (("fit", "bias", *data, "-o", tmp_path / "out"), ("evaluate", "bias", *data)):
        refused = discreet(*command)
        *notes, sentence = refused.err.splitlines()
        assert refused.code == 2 and sentence.startswith("discreet: ")
        assert all(line.startswith("Tags from items.csv: genres as a list") for line in notes)
        assert "Bias predicts ratings, and these data have none" in refused.err


def test_a_release_for_ratings_is_refused_before_anything_is_spent(discreet, clicks, data, tmp_path):
    for command in (
        ("fit", *data, "--for", "ratings", "-o", tmp_path / "out"),
        ("fit", "almanac:purpose=ratings", *data, "-o", tmp_path / "out"),
        ("plan", *data, "--for", "ratings"),
        ("evaluate", "auto", *data, "--for", "ratings"),
        ("compare", *data, "--models", "almanac", "--for", "ratings", "-o", tmp_path / "out"),
    ):
        refused = discreet(*command, "--epsilon", 1)
        assert refused.code == 2 and refused.err.count("\n") == 1
        assert refused.err.startswith("discreet: --for ratings is about ratings, and --implicit says there are none")
    assert not (tmp_path / "out").exists()
    account = json.loads(discreet("budget", clicks, "--json").out)
    assert account["spendings"] == [] and account["looks"] == []
    assert "--for" not in discreet("plan", *data, "--for", "ranking", "--epsilon", 1, "--audience", 400, "--fast").err


def test_description_and_audit(discreet, data):
    described = discreet("data", "describe", *data)
    assert described.code == 0 and "no ratings" in described.out and "scale" not in described.out
    audited = discreet("audit", "popularity", *data, "--epsilon", 1, "--runs", 100, "--seed", 1)
    assert audited.code == 0, audited.err + audited.out


def test_options_about_ratings_are_refused(discreet, clicks):
    for extra in (("--scale", "1:5"), ("--rating-column", "x"), ("--repeats", "last")):
        refused = discreet("data", "describe", clicks, "--implicit", *extra)
        assert refused.code == 2 and "--implicit says there are none" in refused.err


def test_a_first_row_that_names_a_user_is_not_printed(discreet, tmp_path):
    (tmp_path / "clicks.csv").write_text("ann-secret,tea\nbob,milk\n")
    refused = discreet("data", "describe", tmp_path / "clicks.csv", "--implicit")
    assert refused.code == 2 and "ann-secret" not in refused.err and "--columns" in refused.err
    assert discreet("data", "describe", tmp_path / "clicks.csv", "--implicit", "--columns", "user,item").code == 0


def test_any_data_set_can_be_read_without_its_ratings(discreet):
    described = json.loads(discreet("data", "describe", "synthetic", "--implicit", "--json").out)
    assert described["scale"] is None and described["ratings"] == 100_000


def test_a_value_that_is_not_there_cannot_be_hidden(discreet, data, tmp_path):
    refused = discreet("fit", "popularity", *data, "--epsilon", 1, "--unit", "value", "-o", tmp_path / "out")
    assert refused.code == 2 and "no value to hide" in refused.err


def test_every_model_learns_or_refuses():
    ratings = dc.data.without_ratings(dc.synthetic(users=60, items=40, ratings=900, seed=1))
    for name, kind in every_model().items():
        if not takes_implicit(kind()):
            target = ratings if getattr(kind, "raw_ratings", False) else dc.NoPrivacy(ratings)
            with pytest.raises(dc.InputError, match="predicts ratings, and these data have none"):
                kind().fit(target)
        elif name not in ("mult-vae", "private-vae", "auto-encoder"):  # which train for long
            target = ratings if getattr(kind, "raw_ratings", False) else dc.NoPrivacy(ratings)
            assert len(kind().fit(target).recommend(ratings.history_at(0), k=3)) == 3, name


def test_one_event_more_adds_a_pair_or_nothing():
    """Merged events need no more noise than pairs: where one event comes again, the sum stays as it was."""
    import polars as pl

    items = pl.DataFrame({"item": ["a", "b"]})
    made = {}
    for name, events in {
        "once": [("u", "a")],
        "twice": [("u", "a"), ("u", "a")],
        "both": [("u", "a"), ("u", "b")],
    }.items():
        frame = pl.DataFrame(events, schema=["user", "item"], orient="row")
        made[name] = dc.from_frame(frame, rating=None, items=items, items_public=True)
    counts = {name: dc.Popularity().fit(dc.NoPrivacy(data)).arrays["counts"] for name, data in made.items()}
    assert counts["once"].tolist() == counts["twice"].tolist() == [1, 0]
    assert np.abs(counts["both"] - counts["once"]).sum() == 1
    ledger = dc.Ledger(epsilon=1.0)
    release = dc.Popularity().fit(dc.TrustedServer(made["twice"], ledger))
    assert "one use more or less is hidden" in str(release.guarantee)
    stars = dc.from_frame(
        pl.DataFrame({"user": ["u"], "item": ["a"], "rating": [5]}), scale=(1, 5), items=items, items_public=True
    )
    other = dc.Ledger(epsilon=1.0)
    dc.Popularity().fit(dc.TrustedServer(stars, other))
    assert ledger.spends[0].noise_multiplier == other.spends[0].noise_multiplier
