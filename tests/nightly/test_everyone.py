"""Recommendations for all users: the same as in memory, in any chunks, after any interruption, byte for byte."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.data.labels import Labels
from discreet.data.remote import Table
from discreet.nightly import everyone, histories, parts
from discreet.nightly.everyone import recommend_all

RATINGS = dc.synthetic(users=130, items=50, ratings=2000, seed=1)
RELEASE = dc.Cosine().fit(dc.NoPrivacy(RATINGS))


@pytest.fixture
def table(tmp_path):
    """The ratings as a file, in no order."""
    path = tmp_path / "ratings.csv"
    RATINGS.to_frame().sample(fraction=1, shuffle=True, seed=3).write_csv(path)
    return Table(place=str(path))


def expected(k=5, **named):
    return RELEASE.recommend_many(RATINGS, k, **named).drop("title")


def same(one: pl.DataFrame, other: pl.DataFrame) -> bool:
    """Equal rows; scores up to the order of sums, which chunks of few users change."""
    return one.drop("score").equals(other.drop("score")) and np.allclose(one["score"], other["score"], atol=1e-5)


@pytest.mark.parametrize("chunk", [7, 50, 130, 1000])
def test_chunks_change_nothing(table, tmp_path, chunk):
    done = recommend_all(RELEASE, table, tmp_path / "recs.parquet", k=5, chunk=chunk)
    assert same(pl.read_parquet(tmp_path / "recs.parquet"), expected())
    assert done.sentences() == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ratings.csv", "recs.parquet", "recs.parquet.json"]


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_the_same_inputs_give_the_same_bytes(table, tmp_path, ending):
    places = [tmp_path / f"{name}.{ending}" for name in "ab"]
    for place in places:
        recommend_all(RELEASE, table, place, k=5, chunk=40, titles=True)
    assert places[0].read_bytes() == places[1].read_bytes()
    read = {"parquet": pl.read_parquet, "csv": pl.read_csv, "jsonl": pl.read_ndjson}[ending](places[0])
    assert read.columns == ["user", "rank", "item", "title", "score"]
    assert read.height == expected().height


def test_a_second_run_has_nothing_to_do(table, tmp_path, monkeypatch):
    recommend_all(RELEASE, table, tmp_path / "recs.csv", k=5)
    monkeypatch.setattr(everyone, "recommend_many", None)  # whoever computes fails
    done = recommend_all(RELEASE, table, tmp_path / "recs.csv", k=5)
    assert done.done_before and "nothing to do" in done.sentences()[0]


@pytest.mark.parametrize("lost", ["changed", "removed"])
def test_a_table_that_is_not_what_was_written_is_written_again(table, tmp_path, lost):
    place = tmp_path / "recs.csv"
    recommend_all(RELEASE, table, place, k=5)
    content = place.read_bytes()
    place.write_text("user,rank\n") if lost == "changed" else place.unlink()
    assert not recommend_all(RELEASE, table, place, k=5).done_before
    assert place.read_bytes() == content


def interrupted(monkeypatch, after: int, *arguments, **named):
    """A run that is stopped after so many parts."""
    written, write = [], parts.write_part

    def stopping(path, found, *, header):
        if len(written) == after:
            raise KeyboardInterrupt
        written.append(path)
        write(path, found, header=header)

    with monkeypatch.context() as patched:
        patched.setattr(everyone, "write_part", stopping)
        with pytest.raises(KeyboardInterrupt):
            recommend_all(*arguments, **named)


def test_an_interrupted_run_goes_on_where_it_stopped(table, tmp_path, monkeypatch):
    asked = {"k": 5, "chunk": 20}
    interrupted(monkeypatch, 3, RELEASE, table, tmp_path / "recs.parquet", **asked)
    assert not (tmp_path / "recs.parquet").exists()
    read = []
    monkeypatch.setattr(histories.Spilled, "of", lambda *_: read.append(1))  # a file is not read again
    done = recommend_all(RELEASE, table, tmp_path / "recs.parquet", **asked)
    assert done.resumed == 3 and not read and "went on where it stopped" in done.sentences()[0]
    assert same(pl.read_parquet(tmp_path / "recs.parquet"), expected())


def test_ratings_in_memory_are_gone_on_with_too(tmp_path, monkeypatch):
    interrupted(monkeypatch, 2, RELEASE, RATINGS, tmp_path / "recs.parquet", k=5, chunk=20)
    assert recommend_all(RELEASE, RATINGS, tmp_path / "recs.parquet", k=5, chunk=20).resumed == 2


@pytest.mark.parametrize("changed", ["ratings", "release", "k", "stock"])
def test_what_was_changed_is_begun_anew(table, tmp_path, monkeypatch, changed):
    interrupted(monkeypatch, 3, RELEASE, table, tmp_path / "recs.parquet", k=5, chunk=20)
    release, named = RELEASE, {"k": 5}
    if changed == "ratings":
        with Path(table.place).open("a") as file:
            file.write("somebody,1,5,1\n")
    elif changed == "release":
        release = dc.Cosine(neighbours=3).fit(dc.NoPrivacy(RATINGS))
    elif changed == "k":
        named["k"] = 4
    else:
        named["exclude"] = ["1"]
    done = recommend_all(release, table, tmp_path / "recs.parquet", chunk=20, **named)
    assert done.started_anew and done.resumed == 0
    again = recommend_all(release, table, tmp_path / "other.parquet", chunk=20, **named)
    assert not again.done_before
    assert (tmp_path / "recs.parquet").read_bytes() == (tmp_path / "other.parquet").read_bytes()


def test_a_part_that_was_cut_off_is_made_again(table, tmp_path, monkeypatch):
    """Parts appear by a rename: what a killed process was writing has another name."""
    interrupted(monkeypatch, 2, RELEASE, table, tmp_path / "recs.csv", k=5, chunk=20)
    (tmp_path / ".recs.csv.parts" / "part-000002.csv.tmp").write_text("1,1,")
    recommend_all(RELEASE, table, tmp_path / "recs.csv", k=5, chunk=20)
    assert pl.read_csv(tmp_path / "recs.csv").height == expected().height


def test_only_one_process_writes_a_table(table, tmp_path):
    with (
        parts.parts_of(tmp_path / "recs.csv"),
        pytest.raises(dc.InputError, match="another process is writing"),
    ):
        recommend_all(RELEASE, table, tmp_path / "recs.csv")


def test_stock(table, tmp_path):
    items = list(RATINGS.catalogue.items)
    recommend_all(RELEASE, table, tmp_path / "recs.parquet", k=5, only=[*items[:20], "brand new"], exclude=items[:3])
    found = pl.read_parquet(tmp_path / "recs.parquet")
    assert set(found["item"]) <= set(items[3:20])
    assert same(found, expected(only=items[:20], exclude=items[:3]))


def test_ratings_of_unknown_items_are_left_out(table, tmp_path):
    with Path(table.place).open("a") as file:
        file.write("1,never heard of,5,1\nnew user,never heard of,5,1\n")
    done = recommend_all(RELEASE, table, tmp_path / "recs.parquet", k=5)
    assert done.incomplete and "left out" in done.sentences()[0]
    found = pl.read_parquet(tmp_path / "recs.parquet")
    assert same(found.filter(pl.col("user") == "1"), expected().filter(pl.col("user") == "1"))
    assert found.filter(pl.col("user") == "new user").height == 5  # what anybody without ratings is shown
    assert recommend_all(RELEASE, table, tmp_path / "recs.parquet", k=5).incomplete  # and again where nothing is done


def test_another_catalogue_is_matched_by_names(tmp_path):
    """Ratings in memory with more items than the release, in another order."""
    names = [*reversed(list(RATINGS.catalogue.items)), "new"]
    catalogue = dc.Catalogue.of(names, RATINGS.catalogue.scale)
    moved = dc.Ratings.of_columns(
        catalogue, RATINGS.users, RATINGS.user_index, len(names) - 2 - RATINGS.item_index, RATINGS.values
    )
    recommend_all(RELEASE, moved, tmp_path / "recs.parquet", k=5)
    assert same(pl.read_parquet(tmp_path / "recs.parquet"), expected())


def test_repeats_are_merged_as_when_they_are_loaded(tmp_path):
    rows = {"user": ["a", "a", "b"], "item": ["1", "1", "2"], "rating": [1, 5, 3], "at": [9, 4, 1]}
    pl.DataFrame(rows).write_parquet(tmp_path / "twice.parquet")
    table = Table(place=str(tmp_path / "twice.parquet"), time="at")
    with pytest.raises(dc.InputError, match="more than once: merge them"):
        recommend_all(RELEASE, table, tmp_path / "recs.parquet")
    for rule in ("last", "mean", "recency"):
        spilled = histories.Spilled.of(
            table.batches(), _folder(tmp_path / rule), RATINGS.catalogue, 10, rule, "the table"
        )
        loaded = dc.from_frame(pl.DataFrame(rows), scale=(1, 5), time="at", repeats=rule)
        assert spilled.chunk(0).values.tolist() == loaded.values.tolist()


def _folder(path):
    path.mkdir()
    return path


def test_rows_are_read_and_dealt_in_blocks(table, tmp_path, monkeypatch):
    monkeypatch.setattr(histories, "BLOCK", 17)
    recommend_all(RELEASE, table, tmp_path / "recs.parquet", k=5, chunk=11)
    assert same(pl.read_parquet(tmp_path / "recs.parquet"), expected())


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ("1,1,9,1", "ratings.csv, row 2002: the rating is outside the scale 1 to 5 of the release"),
        ("1,1,,1", "the rating is missing or not a number"),
        (",1,3,1", "the user is missing"),
    ],
)
def test_what_is_wrong_with_a_rating_is_said_without_it(table, tmp_path, row, sentence):
    with Path(table.place).open("a") as file:
        file.write(f"{row}\n")
    with pytest.raises(dc.InputError, match=sentence):
        recommend_all(RELEASE, table, tmp_path / "recs.parquet")
    assert not (tmp_path / "recs.parquet").exists()


def test_the_note_beside_the_table_holds_no_user(table, tmp_path):
    recommend_all(RELEASE, table, tmp_path / "recs.parquet", k=5)
    noted = json.loads((tmp_path / "recs.parquet.json").read_text())
    assert set(noted) == {"fingerprint", "sha256", "k", "model", "guarantee", "ratings_left_out", "discreet"}
    assert noted["model"] == "cosine" and noted["guarantee"].startswith("No privacy")


def test_arguments_are_checked_before_work(table, tmp_path):
    for place, sentence in (
        ("recs.xlsx", r"written as .parquet, .csv, .jsonl"),
        ("ratings.csv", "would replace the ratings"),
        (".", "should end in one of these"),
    ):
        with pytest.raises(dc.InputError, match=sentence):
            recommend_all(RELEASE, table, tmp_path / place)
    for named in (
        {"k": 0},
        {"chunk": 0},
        {"only": ["nothing that is known"]},
        {"exclude": list(RATINGS.catalogue.items)},
    ):
        with pytest.raises(dc.InputError):
            recommend_all(RELEASE, table, tmp_path / "recs.csv", **named)


def test_users_of_all_kinds_of_names_are_kept_apart(tmp_path):
    names = ["a", "a\0", "ä", "1", "01", " 1"]
    labels = Labels.of(names, what="user")
    ratings = dc.Ratings.of_columns(
        RATINGS.catalogue, labels, np.arange(6), np.arange(6), np.full(6, 5, dtype=np.float32)
    )
    pl.DataFrame(ratings.to_frame()).write_parquet(tmp_path / "r.parquet")
    recommend_all(RELEASE, Table(place=str(tmp_path / "r.parquet")), tmp_path / "recs.parquet", k=2, chunk=2)
    assert set(pl.read_parquet(tmp_path / "recs.parquet")["user"]) == set(names)


def test_data_without_ratings(tmp_path):
    """Who used what: nothing is needed but two columns, and what happened twice counts once."""
    rows = RATINGS.to_frame().select("user", "item")
    pl.concat([rows, rows.head(50)]).write_csv(tmp_path / "plays.csv")
    plays = dc.load(tmp_path / "plays.csv", rating=None)
    release = dc.ImplicitALS(factors=4).fit(dc.NoPrivacy(plays))
    done = recommend_all(release, Table(place=str(tmp_path / "plays.csv")), tmp_path / "recs.parquet", k=5, chunk=40)
    assert done.sentences() == []
    assert same(pl.read_parquet(tmp_path / "recs.parquet"), release.recommend_many(plays, 5).drop("title"))
