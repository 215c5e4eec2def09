"""Recommendations and evaluation on a cluster are those of one machine."""

import re
from pathlib import Path

import polars as pl
import pytest

import discreet as dc
from discreet.spark import evaluate_frames, recommend_frame

from .conftest import RATINGS

TRAIN, TEST = RATINGS.split(test=0.2, seed=1)
RELEASE = dc.Almanac().fit(dc.NoPrivacy(TRAIN))


@pytest.fixture(scope="module")
def frames(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("split")
    for name, part in (("train", TRAIN), ("test", TEST)):
        part.to_frame().write_parquet(folder / f"{name}.parquet")
    return [spark.read.parquet(str(folder / f"{name}.parquet")) for name in ("train", "test")]


def test_recommendations_are_the_same_and_go_to_parquet(frames, tmp_path):
    found = recommend_frame(RELEASE, frames[0], k=5, partitions=3)
    found.write.parquet(str(tmp_path / "out"))
    table = pl.read_parquet(str(tmp_path / "out" / "*.parquet")).sort("user", "rank")
    expected = RELEASE.recommend_many(TRAIN, k=5).sort("user", "rank")
    assert table.columns == expected.columns
    assert table.drop("score").equals(expected.drop("score"))
    assert (table["score"] - expected["score"]).abs().max() < 1e-5
    assert len(list((tmp_path / "out").glob("*.parquet"))) > 1


def test_a_user_with_many_ratings_is_cut_to_the_latest(frames):
    found = recommend_frame(RELEASE, frames[0], k=80, most=10, time="time", partitions=3)
    counted = found.groupBy("user").count().toArrow().to_pydict()
    rated = dict(zip(*TRAIN.to_frame().group_by("user").len().to_dict(as_series=False).values(), strict=True))
    assert all(count == 80 - min(10, rated[user]) for user, count in zip(*counted.values(), strict=True))


def test_metrics_are_those_of_one_machine(frames):
    names = ("rmse", "mae", "ndcg@10", "recall@20")
    found = evaluate_frames(RELEASE, *frames, names, partitions=3)
    expected = dc.evaluate(RELEASE, TRAIN, TEST, metrics=names).rows[0].metrics
    for name in names:
        for end in ("mean", "low", "high"):
            assert getattr(found[name], end) == pytest.approx(getattr(expected[name], end), rel=1e-9)


def test_one_user_has_no_interval_on_a_cluster_either(frames):
    user = TEST.users[int(TEST.user_index[0])]
    alone = [frame.filter(frame["user"] == user) for frame in frames]
    found = evaluate_frames(RELEASE, *alone, ["rmse"], partitions=2)["rmse"]
    assert found.mean > 0 and (found.low, found.high) == (None, None)


def test_a_test_that_is_in_the_histories_is_refused(frames):
    with pytest.raises(dc.InputError, match="some held-out ratings are also in the histories"):
        evaluate_frames(RELEASE, frames[0], frames[0].limit(20), ["ndcg@10"], partitions=2)


def test_the_page_runs_as_printed(spark, tmp_path, monkeypatch):
    page = Path(__file__).parents[2] / "docs/spark.md"
    (code,) = re.findall(r"^```py\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    RATINGS.to_frame().write_parquet("ratings.parquet")
    pl.DataFrame({"item": list(RATINGS.catalogue.items)}).write_csv("items.csv")
    for name in ("ratings.parquet", "recommendations"):  # the executors have another working directory
        code = code.replace(f'"{name}"', repr(str(tmp_path / name)))
    exec(compile(code, str(page), "exec"), {})
    assert list((tmp_path / "recommendations").glob("*.parquet"))


@pytest.mark.parametrize("metric", ["coverage@10", "novelty@10"])
def test_what_is_about_all_users_at_once_is_refused(frames, metric):
    with pytest.raises(dc.InputError, match="about all users at once"):
        evaluate_frames(RELEASE, *frames, [metric], partitions=2)
