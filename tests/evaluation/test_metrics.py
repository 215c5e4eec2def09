"""Metrics against cases worked by hand, and against a slow implementation written from the definitions."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.data.catalogue import Catalogue, Scale
from discreet.data.labels import Labels
from discreet.data.ratings import Ratings
from discreet.errors import InputError
from discreet.evaluation.metrics import error_cdf, error_sizes, error_terms, find_hits, ndcg_at, recall_at
from discreet.releases.recommendations import best_items


def ratings_of(pairs: list[set[int]], items: int) -> Ratings:
    """One user for each set of items, all ratings 3."""
    users = [user for user, own in enumerate(pairs) for _ in own]
    columns = [item for own in pairs for item in sorted(own)]
    catalogue = Catalogue.of([str(item) for item in range(items)], Scale(1, 5))
    labels = Labels.of([str(user) for user in range(len(pairs))], what="user")
    return Ratings.of_columns(catalogue, labels, users, columns, [3] * len(users))


# ── By hand ──


def test_errors_by_hand():
    predicted, given_ratings = np.array([3.0, 4.5, 2.0, 5.0]), np.array([4.0, 4.0, 2.0, 2.0])
    # errors −1, 0.5, 0, 3
    sizes = error_sizes(predicted, given_ratings)
    assert error_terms("rmse", sizes).tolist() == [1, 0.25, 0, 9]
    assert error_terms("mae", sizes).tolist() == [1, 0.5, 0, 3]
    assert error_terms("within 0.5", sizes).tolist() == [0, 1, 1, 0]
    assert error_cdf(sizes, [0, 0.4, 0.5, 1, 2.9, 3]).tolist() == [0.25, 0.25, 0.5, 0.75, 0.75, 1]


def test_an_error_of_exactly_x_counts_as_within_x_in_single_precision():
    predicted = np.array([3.6, 2.4], dtype=np.float32)
    sizes = error_sizes(predicted, np.array([4.1, 1.9], dtype=np.float32))
    assert error_cdf(sizes, [0.5]).tolist() == [1.0]
    assert error_terms("within 0.5", sizes).tolist() == [1.0, 1.0]


@pytest.mark.parametrize(("predicted", "given_ratings"), [([], []), ([1.0], [1.0, 2.0])])
def test_errors_need_matching_arrays(predicted, given_ratings):
    with pytest.raises(InputError, match="as many predictions as ratings"):
        error_sizes(np.array(predicted), np.array(given_ratings))


@pytest.mark.parametrize(
    ("k", "hits", "held_out", "ndcg", "recall"),
    [
        (3, [1, 1, 0], 2, 1.0, 1.0),  # both on top
        (3, [0, 0, 0], 2, 0.0, 0.0),
        (1, [0, 1, 1], 2, 0.0, 0.0),  # only the first place counts
        (2, [0, 1, 1], 5, (1 / math.log2(3)) / (1 + 1 / math.log2(3)), 1 / 2),  # of 5 no more than 2 could be found
        (3, [0, 1, 1], 2, (1 / math.log2(3) + 1 / 2) / (1 + 1 / math.log2(3)), 1.0),
        (3, [0, 0, 1], 1, 1 / 2, 1.0),
        (10, [0, 1, 0], 2, (1 / math.log2(3)) / (1 + 1 / math.log2(3)), 1 / 2),  # fewer items than k
    ],
)
def test_ranking_by_hand(k, hits, held_out, ndcg, recall):
    found = np.array([hits], dtype=np.bool_)
    assert ndcg_at(k, found, np.array([held_out])) == pytest.approx([ndcg])
    assert recall_at(k, found, np.array([held_out])) == pytest.approx([recall])


def test_masked_items_and_ties():
    scores = np.array([[5, 5, 5, 5, 9], [1, 2, 3, 4, 5]], dtype=np.float32)
    history, mask = ratings_of([{4}, set()], 5), ratings_of([{1}, {4}], 5)
    assert best_items(scores, [history, mask], 3).tolist() == [[0, 2, 3], [3, 2, 1]]
    assert scores[0, 4] == 9, "the scores that were passed stay as they are"


def test_fewer_items_than_places():
    scores = np.array([[3, 1, 2]], dtype=np.float32)
    best = best_items(scores, [ratings_of([{0, 1}], 3)], 10)
    assert best.tolist() == [[2, -1, -1]]
    assert find_hits(best, ratings_of([{0, 2}], 3)).tolist() == [[True, False, False]]


def test_scores_that_are_not_numbers_are_never_best():
    scores = np.array([[np.nan, 1, -np.inf, np.inf]], dtype=np.float32)
    assert best_items(scores, [], 4).tolist() == [[3, 1, -1, -1]]


def test_k_must_be_positive():
    with pytest.raises(InputError, match="k must be at least 1, got 0"):
        best_items(np.zeros((1, 2), dtype=np.float32), [], 0)


# ── Against the definitions, slowly ──


def slow_ranking(scores: list[float], seen: set[int], k: int) -> list[int]:
    order = sorted((item for item in range(len(scores)) if item not in seen), key=lambda item: (-scores[item], item))
    return order[:k]


def slow_ndcg(ranked: list[int], held_out: set[int], k: int) -> float:
    gain = 0.0
    for rank, item in enumerate(ranked, start=1):
        if item in held_out:
            gain += math.log(2) / math.log(rank + 1)
    ideal = 0.0
    for rank in range(1, min(k, len(held_out)) + 1):
        ideal += math.log(2) / math.log(rank + 1)
    return gain / ideal


def slow_recall(ranked: list[int], held_out: set[int], k: int) -> float:
    return len(set(ranked) & held_out) / min(k, len(held_out))


@st.composite
def rankings(draw):
    items = draw(st.integers(2, 25))
    users = draw(st.integers(1, 4))
    # Few different scores, so that ties are common.
    scores = draw(
        st.lists(
            st.lists(st.sampled_from([-2.0, 0.0, 0.5, 1.0, 7.0]), min_size=items, max_size=items),
            min_size=users,
            max_size=users,
        )
    )
    parts = [draw(st.lists(st.sampled_from("htmn"), min_size=items, max_size=items)) for _ in range(users)]
    for own in parts:
        own[draw(st.integers(0, items - 1))] = "t"  # at least one item held out
    history, test, mask = (
        [{item for item, part in enumerate(own) if part == letter} for own in parts] for letter in "htm"
    )
    return scores, history, test, mask, draw(st.integers(1, 30))


@settings(deadline=None)  # the first example waits for numba
@given(rankings())
def test_ranking_agrees_with_the_definition(case):
    scores, history, test, mask, k = case
    items = len(scores[0])
    held_out = ratings_of(test, items)
    best = best_items(np.array(scores, dtype=np.float32), [ratings_of(history, items), ratings_of(mask, items)], k)
    hits, counts = find_hits(best, held_out), np.diff(held_out.indptr)
    for user in range(len(scores)):
        ranked = slow_ranking(scores[user], history[user] | mask[user], k)
        assert best[user][: len(ranked)].tolist() == ranked
        assert set(best[user][len(ranked) :].tolist()) <= {-1}
        assert ndcg_at(k, hits, counts)[user] == pytest.approx(slow_ndcg(ranked, test[user], k))
        assert recall_at(k, hits, counts)[user] == pytest.approx(slow_recall(ranked, test[user], k))


@settings(deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 200), st.integers(1, 300))
def test_top_items_of_many(seed, k, items):
    """Larger heaps than hypothesis would draw item by item."""
    scores = np.random.default_rng(seed).integers(0, 40, size=(3, items)).astype(np.float32)
    best = best_items(scores, [], k)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    assert np.array_equal(best, order)


@given(st.lists(st.tuples(st.floats(1, 5), st.integers(1, 5)), min_size=1, max_size=40))
def test_errors_agree_with_the_definition(pairs):
    predicted, given_ratings = (np.array(column, dtype=np.float64) for column in zip(*pairs, strict=True))
    sizes = [abs(a - b) for a, b in pairs]
    assert error_sizes(predicted, given_ratings).tolist() == pytest.approx(sizes)
    grid = [0.05, 0.333, 1.7, 4]
    expected = [sum(size <= x + 1e-6 for size in sizes) / len(sizes) for x in grid]
    assert error_cdf(error_sizes(predicted, given_ratings), grid).tolist() == expected
    for x, share in zip(grid, expected, strict=True):
        assert error_terms(f"within {x}", np.array(sizes)).mean() == pytest.approx(share)
