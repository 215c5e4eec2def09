"""``discreet reproduce tables`` on small files in the formats of MovieLens 10M and 20M."""

import json
from pathlib import Path

import pytest

import discreet as dc
from discreet.evaluation import published_tables


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> Path:
    ratings = dc.synthetic(users=150, items=60, ratings=3000, scale=dc.Scale(0.5, 5), step=0.5, seed=2)
    rows = list(zip(*(c.tolist() for c in (ratings.user_index, ratings.item_index, ratings.values)), strict=True))
    folder = tmp_path_factory.mktemp("data")
    for name in ("ml-10m", "ml-20m"):
        (folder / name).mkdir()
    (folder / "ml-10m" / "ratings.dat").write_text("".join(f"{u + 1}::{i + 1}::{r:g}::9\n" for u, i, r in rows))
    (folder / "ml-10m" / "movies.dat").write_text("".join(f"{i + 1}::Film (1990)::Drama\n" for i in range(60)))
    lines = ["userId,movieId,rating,timestamp", *(f"{u + 1},{i + 1},{r:g},9" for u, i, r in rows)]
    (folder / "ml-20m" / "ratings.csv").write_text("\n".join([*lines, ""]))
    films = ["movieId,title,genres", *(f"{i + 1},Film (1990),Drama" for i in range(60))]
    (folder / "ml-20m" / "movies.csv").write_text("\n".join([*films, ""]))
    return folder


def test_prints_our_rows_beside_the_published_ones(discreet, folders):
    outcome = discreet(
        "reproduce", "tables", folders / "ml-10m", "--models", "bias", "--epsilon", "1,5,none", "--noise-seed", 1
    )
    assert outcome.code == 0, outcome.err
    lines = outcome.out.splitlines()
    assert any("AM-SSP (features)" in line and "0.8496*" in line and "AISTATS 2024" in line for line in lines)
    ours = next(line for line in lines if "ours: bias" in line).split()
    assert len([word for word in ours if word.startswith(("0.", "1."))]) == 3 and ours.count("-") == 2
    assert "3.4 for 1, 20.9 for 5, 132 for 20" in outcome.out
    assert "seed 1234" in outcome.out
    assert "do not compare our rows" in outcome.out


def test_prints_rankings(discreet, folders):
    arguments = ("--models", "popularity", "--epsilon", "none", "--held-out", 20, "--json")
    outcome = discreet("reproduce", "tables", folders / "ml-20m", *arguments)
    document = json.loads(outcome.out)
    assert document["published"]["rows"][-1]["reached"][0] == {
        "epsilon": 1.0,
        "value": 0.3402,
        "recomputed_epsilon": None,
    }
    assert 0 < document["ours"]["rows"][0]["metrics"]["recall@20"]["mean"] < 1
    assert document["ours"]["rows"][0]["epsilon"] is None
    measured = discreet("evaluate", "popularity", folders / "ml-20m", "--published", "ml-20m")
    assert measured.code == 2 and "holds out 20,000 users" in measured.err


def test_other_files_under_the_name_of_the_table_are_refused(discreet, folders, monkeypatch):
    monkeypatch.setattr("discreet.data.loading.check_counts", lambda *_: None)
    outcome = discreet("reproduce", "tables", "ml-10m", "--path", folders, "--models", "bias", "--epsilon", "none")
    assert outcome.code == 2
    assert "should have 69,878 users and 10,677 items" in outcome.err


def test_defaults_start_with_a_baseline(discreet, folders, monkeypatch):
    seen = {}

    def remember(models, *_, **__):
        seen.update(models)
        raise KeyboardInterrupt

    monkeypatch.setattr(published_tables, "our_rows", remember)
    discreet("reproduce", "tables", folders / "ml-10m")
    assert next(iter(seen)) == "bias"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("ml-100k",), "there is no published table for 'ml-100k'"),
        (("ml-10m", "--held-out", 5), "--held-out goes with the table ml-20m"),
        (("ml-10m", "--epsilon", "1,many"), "--epsilon takes numbers between commas, or none, got 'many'"),
        (("ml-10m", "--models", "popularity"), "popularity ranks items and does not predict ratings"),
        (("ml-10m", "--models", "mf"), "MF has no private form yet"),
    ],
)
def test_refuses_in_a_sentence(discreet, arguments, sentence):
    outcome = discreet("reproduce", "tables", *arguments)
    assert outcome.code == 2
    assert sentence in outcome.err


def test_the_split_can_be_had_for_any_model(discreet, folders):
    outcome = discreet("evaluate", "bias", folders / "ml-10m", "--published", "ml-10m", "--metrics", "rmse", "--json")
    assert "seed 1234" in json.loads(outcome.out)["split"]
    assert "has a seed of its own" in discreet("evaluate", "bias", "ml-10m", "--published", "ml-10m", "--seed", 1).err
