"""Hit rate, MRR, coverage and novelty by hand, and splits by time."""

from dataclasses import dataclass

import numpy as np
import pytest

import discreet as dc
from discreet.data.labels import Labels

ITEMS = 5


@dataclass(frozen=True, kw_only=True)
class InOrder:
    """Ranks the items as they come in the catalogue."""

    def fit(self, population, progress=None):
        return dc.Release.of(self, population, {})

    def score(self, release, histories):
        return np.tile(-np.arange(ITEMS, dtype=np.float32), (histories.n_users, 1))


def tiny(pairs, times=None):
    users, items = np.array(pairs).T
    catalogue = dc.Catalogue.of([f"i{i}" for i in range(ITEMS)], dc.Scale(1, 5), declared=True)
    names = Labels.of([f"u{u}" for u in range(users.max() + 1)], what="user")
    return dc.Ratings.of_columns(catalogue, names, users, items, np.full(len(users), 4), times)


def test_by_hand():
    """u0 has rated item 0 and sees 1, 2; u1 has rated item 1 and sees 0, 2. Held out: item 2 of u0, item 4 of u1."""
    train, test = tiny([(0, 0), (1, 1)]), tiny([(0, 2), (1, 4)])
    release = InOrder().fit(dc.NoPrivacy(train))
    names = ["hit@2", "mrr@2", "coverage@2", "novelty@2", "hit@1", "mrr@4", "coverage@1"]
    found = dc.evaluate(release, train, test, metrics=names)
    assert found["hit@2"] == 0.5 and found["hit@1"] == 0
    assert found["mrr@2"] == 0.25  # place 2, and none
    assert found["mrr@4"] == pytest.approx((1 / 2 + 1 / 4) / 2)
    assert found["coverage@2"] == 3 / 5 and found["coverage@1"] == 2 / 5
    # Two histories: items 0 and 1 are in one of them, (1 + 1) / (2 + 1); item 2 in none, 1 / 3.
    known, new = -np.log2(2 / 3), -np.log2(1 / 3)
    assert found["novelty@2"] == pytest.approx((known + new) / 2)


def test_novelty_counts_all_users_also_those_who_are_not_tested():
    """Item 0 was rated by three of four users; of the one who is tested, nothing is known."""
    train = tiny([(0, 0), (1, 0), (2, 0), (3, 1)]).select(np.array([True, True, True, False]))
    test = tiny([(0, 2), (1, 3), (2, 4), (3, 0)]).select(np.array([False, False, False, True]))
    release = InOrder().fit(dc.NoPrivacy(train))
    assert dc.evaluate(release, train, test, metrics=["novelty@1"])["novelty@1"] == pytest.approx(np.log2(5 / 4))


def test_novelty_of_strangers_is_by_what_was_trained_on():
    """Everybody has rated item 0, so that it is new to nobody, however few users are held out."""
    ratings = tiny([(user, item) for user in range(20) for item in range(ITEMS)])
    protocol = dc.evaluation.HeldOutUsers(test=0.1, history=0.4, seed=1)
    assert dc.compare({"in order": InOrder()}, ratings, protocol, metrics=["novelty@5"])["novelty@5"] == 0


def test_coverage_of_one_split_and_one_user_have_no_interval():
    train, test = tiny([(0, 0), (1, 1)]), tiny([(0, 2), (1, 4)])
    release = InOrder().fit(dc.NoPrivacy(train))
    both = dc.evaluate(release, train, test, metrics=["coverage@2", "hit@2"])
    ends = both.to_json()["rows"][0]["metrics"]
    assert (ends["coverage@2"]["low"], ends["coverage@2"]["high"]) == (None, None)
    assert ends["hit@2"]["low"] is not None and "±" in str(both) and both.interval
    assert both.to_frame()["coverage@2 low"].to_list() == [None]
    first = np.array([True, False])
    alone = dc.evaluate(release, train.select(first), test.select(first), metrics=["hit@2", "coverage@2"])
    assert alone.interval == "" and "±" not in str(alone)
    several = dc.compare(
        {"in order": InOrder()},
        tiny([(user, item) for user in range(20) for item in range(ITEMS)]),
        dc.evaluation.HoldOut(repeats=2),
        metrics=["coverage@2"],
    )
    assert several.rows[0].metrics["coverage@2"].half is not None and "2 seeds" in several.interval


def test_what_was_seen_is_measured_by_no_ranking_and_data_without_ratings_by_no_error():
    ratings = tiny([(0, 0), (1, 1)])
    with pytest.raises(dc.InputError, match="ask for metrics=\\('rmse', 'mae'\\)"):
        dc.evaluate(InOrder().fit(dc.NoPrivacy(ratings)), ratings, ratings)
    clicks = dc.data.without_ratings(ratings)
    with pytest.raises(dc.InputError, match="measure rankings, ndcg@10 for example") as refused:
        dc.evaluate(InOrder().fit(dc.NoPrivacy(clicks)), clicks, clicks)
    assert "rmse" not in str(refused.value)


def test_a_split_by_time_holds_out_what_came_last():
    pairs = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 3), (2, 4)]
    ratings = tiny(pairs, [10, 20, 60, 30, 50, 40])
    (split,) = dc.evaluation.ByTime(test=1 / 3).splits(ratings)
    assert split.test.times.tolist() == [60, 50] and split.train.times.max() == 40
    assert split.train.handling.split and split.histories is split.train
    (split,) = dc.evaluation.ByTime(test=0.1, each_user=True).splits(ratings)
    assert sorted(split.test.times.tolist()) == [50, 60]  # one of each user with two or more
    with pytest.raises(dc.InputError, match="have no times"):
        next(dc.evaluation.ByTime().splits(tiny(pairs)))
    with pytest.raises(dc.InputError, match="too few times"):
        next(dc.evaluation.ByTime().splits(tiny(pairs, [1] * 6)))


def test_a_search_goes_by_bounded_metrics():
    with pytest.raises(dc.InputError, match="a search goes by"):
        dc.evaluation.Search(candidates=[dc.Bias(), dc.Almanac()], metric="novelty@10")
    assert dc.evaluation.Search(candidates=[dc.Bias(), dc.Almanac()], metric="hit@10").metric == "hit@10"
