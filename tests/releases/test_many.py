"""Recommendations for many users by torch: the lists of the processor."""

import numpy as np
import pytest

import discreet as dc
from discreet.errors import InputError
from discreet.nightly.everyone import recommend_all
from discreet.releases import many

torch = pytest.importorskip("torch")
RATINGS = dc.synthetic(users=200, items=80, ratings=4_000, seed=1, like="movielens")


@pytest.fixture(scope="module")
def release():
    return dc.Almanac().fit(dc.NoPrivacy(RATINGS))


@pytest.mark.parametrize("choice", [{}, {"exclude": ["3", "7"]}, {"only": [str(n) for n in range(1, 9)]}])
def test_lists_are_those_of_the_processor(release, choice):
    names = RATINGS.catalogue.items.names.tolist()
    choice = {key: [names[int(place)] for place in places] for key, places in choice.items()}
    wanted = release.recommend_many(RATINGS, k=10, **choice)
    found = release.recommend_many(RATINGS, k=10, engine="torch", **choice)
    assert found.drop("score").equals(wanted.drop("score"))
    np.testing.assert_allclose(found["score"], wanted["score"], atol=2e-3)


def test_more_than_there_are(release):
    wanted = release.recommend_many(RATINGS, k=500)
    assert release.recommend_many(RATINGS, k=500, engine="torch").drop("score").equals(wanted.drop("score"))


def test_who_is_in_doubt_is_scored_on_the_processor(release, monkeypatch):
    monkeypatch.setattr(many, "NEARLY_EQUAL", np.inf)
    wanted = release.recommend_many(RATINGS, k=5)
    assert release.recommend_many(RATINGS, k=5, engine="torch").equals(wanted)


def test_equal_scores_keep_their_order():
    """Without features and without pairs, unrated items have the same score: the first come first."""
    nobody = dc.synthetic(users=30, items=40, ratings=300, seed=1)
    release = dc.Popularity().fit(dc.NoPrivacy(nobody))
    assert release.recommend_many(nobody, k=5, engine="torch").equals(release.recommend_many(nobody, k=5))


def test_a_whole_night(release, tmp_path):
    for engine in ("numba", "torch"):
        recommend_all(release, RATINGS, tmp_path / f"{engine}.csv", k=5, engine=engine, chunk=64)
    lists = [
        [line.split(",")[:3] for line in (tmp_path / f"{engine}.csv").read_text().splitlines()]
        for engine in ("numba", "torch")
    ]
    assert lists[0] == lists[1]


def test_another_engine_is_refused(release):
    with pytest.raises(InputError, match="engine must be 'numba' or 'torch'"):
        release.recommend_many(RATINGS, engine="spark")
