"""``discreet recommend --all`` and ``discreet similar``, end to end."""

import json
import signal
import subprocess
import sys
import time

import polars as pl
import pytest

import discreet as dc


def test_everyone_gets_what_each_would_get_alone(discreet, release, table, tmp_path):
    outcome = discreet("recommend", release, "--all", table, "-o", tmp_path / "recs.parquet", "-k", 4)
    assert outcome.code == 0 and outcome.err == ""
    assert outcome.out.startswith(f"The recommendations are in {tmp_path}/recs.parquet.")
    found = pl.read_parquet(tmp_path / "recs.parquet")
    assert found.columns == ["user", "rank", "item", "score"]
    loaded = dc.Release.load(release)
    ratings = dc.load(table, scale=(1, 5), items=None)
    own = {name: float(value) for name, value in _of_user(ratings, ratings.users[5])}
    alone = loaded.recommend(dc.History.of(loaded.catalogue, own), 4)
    assert found.filter(pl.col("user") == ratings.users[5])["item"].to_list() == [one.item for one in alone]


def _of_user(ratings, name):
    frame = ratings.to_frame().filter(pl.col("user") == name)
    return zip(frame["item"], frame["rating"], strict=True)


def test_again_there_is_nothing_to_do(discreet, release, table, tmp_path):
    command = ("recommend", release, "--all", table, "-o", tmp_path / "recs.csv")
    discreet(*command)
    content = (tmp_path / "recs.csv").read_bytes()
    assert "nothing to do" in discreet(*command).out
    assert json.loads(discreet(*command, "--json").out)["done_before"] is True
    assert (tmp_path / "recs.csv").read_bytes() == content


def test_stock_comes_from_files(discreet, release, table, tmp_path):
    items = list(dc.Release.load(release).catalogue.items)
    (tmp_path / "stock.csv").write_text("\n".join(["item,pieces", *(f"{item},3" for item in items[:12]), "new,1", ""]))
    (tmp_path / "never.txt").write_text(f"{items[0]}\n{items[1]}\n")
    stock = ("--only", tmp_path / "stock.csv", "--exclude", tmp_path / "never.txt")
    assert discreet("recommend", release, "--all", table, "-o", tmp_path / "recs.parquet", *stock).code == 0
    assert set(pl.read_parquet(tmp_path / "recs.parquet")["item"]) <= set(items[2:12])
    shown = json.loads(discreet("recommend", release, "--likes", items[5], *stock, "--json").out)["suggestions"]
    assert {one["item"] for one in shown} == set(items[2:12]) - {items[5]}


def test_a_named_data_set_and_a_column_of_titles(discreet, table, tmp_path):
    dc.Popularity().fit(dc.NoPrivacy(dc.load("synthetic"))).save(tmp_path / "popular")
    place = tmp_path / "recs.jsonl"
    outcome = discreet("recommend", tmp_path / "popular", "--all", "synthetic", "-o", place, "-k", 2, "--titles")
    assert outcome.code == 0
    row = json.loads(place.read_text().splitlines()[0])
    assert list(row) == ["user", "rank", "item", "title", "score"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--all"], "--all needs the ratings of the users"),
        (["--all", "TABLE"], "--all writes a table: name it with -o"),
        (["--all", "TABLE", "more", "-o", "x.csv"], "--all takes one DATA"),
        (["--all", "TABLE", "-o", "x.csv", "--explain"], "leave out --history, --likes and --explain"),
        (["--all", "TABLE", "-o", "x.txt"], "recommendations are written as .parquet, .csv, .jsonl"),
        (["--all", "nothing.csv", "-o", "x.csv"], "there is no file or folder nothing.csv"),
        (["--likes", "1", "-o", "x.csv", "--chunk", "5"], "--output and --chunk goes with --all"),
        (["--all", "TABLE", "-o", "x.csv", "--repeats", "first"], "--repeats must be last, mean or recency"),
        (["--all", "TABLE", "-o", "x.csv", "--query", "select 1"], "--query is for a database"),
    ],
)
def test_what_is_wrong_is_one_sentence(discreet, release, table, tmp_path, monkeypatch, words, sentence):
    monkeypatch.chdir(tmp_path)
    outcome = discreet("recommend", release, *(str(table) if word == "TABLE" else word for word in words))
    assert outcome.code == 2 and sentence in outcome.err and outcome.err.count("\n") == 1
    assert not any(tmp_path.glob("x.*"))


def test_a_killed_run_goes_on(tmp_path):
    """A process that is killed in the middle; the same command finishes, with the bytes of one that was not."""
    ratings = dc.synthetic(users=3000, items=60, ratings=40_000, seed=1)
    ratings.to_frame().write_parquet(tmp_path / "ratings.parquet")
    dc.Bias().fit(dc.NoPrivacy(ratings)).save(tmp_path / "release")
    command = [sys.executable, "-m", "discreet", "recommend", "release", "--all", "ratings.parquet", "--chunk", "20"]
    running = subprocess.Popen([*command, "-o", "recs.parquet"], cwd=tmp_path)
    parts = tmp_path / ".recs.parquet.parts"
    while running.poll() is None and len(list(parts.glob("part-*.parquet"))) < 5:
        time.sleep(0.001)
    running.send_signal(signal.SIGKILL)
    running.wait()
    again = subprocess.run([*command, "-o", "recs.parquet"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "went on where it stopped" in again.stdout or "nothing to do" in again.stdout
    subprocess.run([*command, "-o", "whole.parquet"], cwd=tmp_path, capture_output=True, check=True)
    assert (tmp_path / "recs.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()
    assert not parts.exists()


def test_similar_items(discreet, tmp_path):
    ratings = dc.synthetic(users=60, items=40, ratings=900, seed=1)
    dc.Cosine().fit(dc.NoPrivacy(ratings)).save(tmp_path / "cosine")
    title = str(ratings.catalogue.titles[3])
    shown = discreet("similar", tmp_path / "cosine", title, "-k", 3)
    found = json.loads(discreet("similar", tmp_path / "cosine", title, "-k", 3, "--json").out)["similar"]
    assert len(found) == 3 and all(one["title"] in shown.out for one in found)
    wrong = discreet("similar", tmp_path / "cosine", "no such title")
    assert wrong.code == 2 and "there is no item" in wrong.err
