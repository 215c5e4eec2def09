"""Protocols: nothing lost, nothing leaked, the same again for the same seed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.data.ratings import Ratings
from discreet.errors import InputError

RATINGS = dc.synthetic(users=60, items=40, ratings=900, seed=3)
ALL = [
    dc.evaluation.Folds(count=4, seed=5),
    dc.evaluation.HoldOut(test=0.25, seed=5, repeats=2),
    dc.evaluation.EachUser(seed=5, repeats=2),
    dc.evaluation.EachUser(shares=(0.7, 0.3), seed=5),
    dc.evaluation.HeldOutUsers(test=0.2, seed=5, repeats=2),
]


def pairs(ratings: Ratings) -> set[tuple[str, int, float]]:
    names = ratings.users.names[ratings.user_index].tolist()
    return set(zip(names, ratings.item_index.tolist(), ratings.values.tolist(), strict=True))


@pytest.mark.parametrize("protocol", ALL, ids=lambda protocol: type(protocol).__name__)
class TestEveryProtocol:
    def test_nothing_is_lost_and_nothing_is_in_two_parts(self, protocol):
        for split in protocol.splits(RATINGS):
            parts = [pairs(split.train), pairs(split.test)]
            if split.mask is not None:
                parts.append(pairs(split.mask))
            if split.histories is not split.train:
                parts.append(pairs(split.histories))
            assert set.union(*parts) == pairs(RATINGS)
            assert sum(map(len, parts)) == len(RATINGS)
            assert len(split.test) > 0

    def test_histories_and_test_list_the_same_users(self, protocol):
        for split in protocol.splits(RATINGS):
            for part in (split.test, split.mask):
                assert part is None or np.array_equal(part.users.names, split.histories.users.names)

    def test_a_seed_says_it_all(self, protocol):
        first, again = list(protocol.splits(RATINGS)), list(protocol.splits(RATINGS))
        assert [pairs(split.test) for split in first] == [pairs(split.test) for split in again]
        assert len(first) == protocol.runs

    def test_runs_differ(self, protocol):
        tests = [frozenset(pairs(split.test)) for split in protocol.splits(RATINGS)]
        assert len(set(tests)) == len(tests)

    def test_description_names_the_seeds(self, protocol):
        seeds = "seeds 5 to 6" if getattr(protocol, "repeats", 1) == 2 else "seed 5"
        assert protocol.describe().endswith(seeds)


def test_folds_hold_out_every_rating_once():
    tests = [pairs(split.test) for split in dc.evaluation.Folds(count=7, seed=1).splits(RATINGS)]
    assert set.union(*tests) == pairs(RATINGS)
    assert sum(map(len, tests)) == len(RATINGS)


def test_repeats_are_consecutive_seeds():
    both = [pairs(split.test) for split in dc.evaluation.HoldOut(seed=8, repeats=2).splits(RATINGS)]
    single = [pairs(next(dc.evaluation.HoldOut(seed=seed).splits(RATINGS)).test) for seed in (8, 9)]
    assert both == single


def test_held_out_users_are_strangers():
    for split in dc.evaluation.HeldOutUsers(test=0.2, repeats=3).splits(RATINGS):
        assert not set(split.train.users) & set(split.histories.users)
        assert split.histories.n_users == 12
        share = len(split.histories) / (len(split.histories) + len(split.test))
        assert share == pytest.approx(0.8, abs=0.05)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.1, 0.8))
def test_each_user_gives_the_same_share(seed, test_share):
    split = next(dc.evaluation.EachUser(shares=(1 - test_share, test_share), seed=seed).splits(RATINGS))
    sizes = np.diff(RATINGS.indptr)
    assert np.array_equal(np.diff(split.test.indptr), np.rint(sizes * test_share).astype(int))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: dc.evaluation.Folds(count=1), "folds must be at least 2, got 1"),
        (lambda: dc.evaluation.Folds(seed=-1), "seed must be a whole number from 0 on, got -1"),
        (lambda: dc.evaluation.HoldOut(test=1.5), "test must be a share between 0 and 1, got 1.5"),
        (lambda: dc.evaluation.HoldOut(repeats=0), "repeats must be at least 1, got 0"),
        (lambda: dc.evaluation.EachUser(shares=(0.8, 0.1)), "shares must be two or three positive numbers"),
        (lambda: dc.evaluation.EachUser(shares=(0.4, 0.2, 0.2, 0.2)), "shares must be two or three positive numbers"),
        (lambda: dc.evaluation.HeldOutUsers(history=0), "history must be a share between 0 and 1, got 0"),
        (lambda: dc.evaluation.Folds(count=2.5), "folds must be a whole number, got 2.5"),
        (lambda: dc.evaluation.Folds(count="5"), "folds must be a whole number, got '5'"),
        (lambda: dc.evaluation.Folds(seed="1"), "seed must be a whole number from 0 on, got '1'"),
        (lambda: dc.evaluation.HoldOut(test="0.2"), "test must be a share between 0 and 1, got '0.2'"),
        (lambda: dc.evaluation.HoldOut(repeats=1.5), "repeats must be a whole number, got 1.5"),
        (lambda: dc.evaluation.EachUser(shares=0.8), "shares must be two or three positive numbers .* got 0.8"),
        (lambda: dc.evaluation.EachUser(shares=("a", "b")), "shares must be two or three positive numbers"),
        (lambda: list(dc.evaluation.Folds(count=901).splits(RATINGS)), "901 folds need at least 901 ratings"),
    ],
)
def test_wrong_settings(make, message):
    with pytest.raises(InputError, match=message):
        make()
