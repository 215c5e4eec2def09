"""Item-item weights from noisy co-occurrence counts; and what rankings make of them at home."""

import numpy as np
import pytest

import discreet as dc
from discreet.models.almanac.pairs import CONSTANTS, item_weights, released_width
from discreet.models.almanac.ranking import CONSTANTS as LOGIT
from discreet.models.almanac.ranking import InteractionModel
from discreet.models.home.neighbour_weights import NeighbourWeights
from discreet.types import AnyArray


def seen(noise: float, size: int = 30, seed: int = 1) -> tuple[AnyArray, AnyArray, AnyArray]:
    """W of two patterns and one pair of items that go together, their factors, and counts."""
    rng = np.random.default_rng(seed)
    counts = rng.uniform(50, 200, size)
    tastes = np.stack([counts / 200, rng.normal(0, 0.3, size)], axis=1)
    weights = 40 * tastes @ tastes.T
    weights[4, 9] = weights[9, 4] = weights[4, 9] + 15
    told = np.triu(rng.normal(0, noise, (size, size)) if noise else np.zeros((size, size)), 1)
    return (weights + told + told.T).astype(np.float32), tastes.astype(np.float32), counts


@pytest.mark.parametrize("noise", [0.0, 2.0])
def test_weights_are_those_of_the_formula(noise: float) -> None:
    weights, tastes, counts = seen(noise)
    neighbours, found = item_weights(weights, tastes, counts, noise, 0.1, 29)
    explained = tastes.astype(float) @ tastes.T
    off = ~np.eye(30, dtype=bool)
    explained *= (explained * weights)[off].sum() / (explained**2)[off].sum()
    kept = CONSTANTS.kept_with_noise if noise else CONSTANTS.kept
    gram = explained + kept * (weights - explained)
    np.fill_diagonal(gram, np.maximum(0.1 * counts, np.diag(explained)))
    ridge = CONSTANTS.ridge_of_ratings * 0.1 + CONSTANTS.ridge_of_noise * noise * np.sqrt(30)
    inverse = np.linalg.inv(gram + ridge * np.eye(30))
    wanted = -inverse / np.diag(inverse)
    np.fill_diagonal(wanted, 0)
    dense = np.zeros((30, 30))
    np.put_along_axis(dense, neighbours, found, axis=1)
    np.testing.assert_allclose(dense.T, wanted, rtol=1e-3, atol=1e-5)
    assert noise or neighbours[4, found[4].argmax()] == 9, "the pair that goes together"


def test_the_largest_weights_are_kept_in_the_order_of_items() -> None:
    weights, tastes, counts = seen(0.0)
    every, all_weights = item_weights(weights, tastes, counts, 0.0, 0.1, 29)
    neighbours, found = item_weights(weights, tastes, counts, 0.0, 0.1, 5)
    assert neighbours.shape == found.shape == (30, 5)
    assert (np.diff(neighbours, axis=1) > 0).all() and (neighbours != np.arange(30)[:, None]).all()
    for item in range(30):
        least = np.sort(np.abs(all_weights[item]))[-5]
        np.testing.assert_array_equal(neighbours[item], np.sort(every[item][np.abs(all_weights[item]) >= least]))


def test_without_a_pattern_all_weights_are_0() -> None:
    weights, tastes, counts = seen(0.0)
    found = item_weights(weights, tastes[:, :1], counts, 0.0, 0.1, 29)[1]
    assert found.shape == (30, 29) and not found.any(), "of the same shape as if there were one"
    assert item_weights(weights[:1, :1], tastes[:1], counts[:1], 0.0, 0.1, 0)[0].shape == (1, 0)
    alone = np.zeros_like(tastes)
    alone[0] = 1  # one item with factors, so that they explain no pair
    assert np.isfinite(item_weights(weights, alone, counts, 0.0, 0.1, 29)[1]).all()


def test_noise_that_leaves_no_inverse_gets_a_larger_ridge() -> None:
    weights, tastes, counts = seen(200.0)
    found = item_weights(weights, tastes, counts, 1e-6, 0.01, 29)[1]  # told that there is hardly any
    assert np.isfinite(found).all() and found.any()


def with_lists() -> tuple[dc.Ratings, AnyArray, AnyArray, NeighbourWeights]:
    ratings = dc.synthetic(users=40, items=60, ratings=900, seed=3)
    rng = np.random.default_rng(2)
    counts = np.bincount(ratings.item_index, minlength=60).astype(np.float32)
    factors, weights = np.zeros((60, 3), dtype=np.float32), np.zeros((60, 7), dtype=np.float32)
    rows = np.sort(rng.choice(60, 45, replace=False))
    factors[rows] = rng.normal(size=(45, 3)) * 0.05
    neighbours = np.zeros((60, 7), dtype=np.int32)
    for row in rows:
        neighbours[row] = np.sort(rng.choice(np.setdiff1d(rows, row), 7, replace=False))
        weights[row] = rng.normal(0.05, 0.1, 7)
    return ratings, counts, factors, NeighbourWeights(neighbours, weights)


def test_a_part_of_what_is_expected_comes_from_the_weights() -> None:
    ratings, counts, factors, lists = with_lists()
    alone = np.exp(InteractionModel.of(counts, factors).log_expectations(ratings))
    model = InteractionModel.of(counts, factors, lists)
    found = model.log_expectations(ratings)
    matrix = np.zeros((60, 60))
    for item in np.flatnonzero(lists.weights.any(axis=1)):
        matrix[lists.neighbours[item], item] = lists.weights[item]
        np.testing.assert_array_equal(lists.to_all(int(item)), matrix[:, item].astype(np.float32))
    rows = factors.any(axis=1)
    for u in range(ratings.n_users):
        marks = np.zeros(60)
        marks[ratings.history_at(u).items] = 1
        popular = marks.sum() * model.share
        by_weights = np.where(rows, np.maximum(marks @ matrix, 0), popular) + LOGIT.popularity_floor * popular
        expected = 0.7 * alone[u] + 0.3 * by_weights * alone[u].sum() / by_weights.sum()
        np.testing.assert_allclose(found[u], np.log(expected), rtol=1e-3, atol=1e-3)
    one = ratings.select_users(np.array([7]))  # by plain numpy, without a compiled kernel
    np.testing.assert_allclose(model.log_expectations(one)[0], found[7], rtol=1e-4, atol=1e-4)
    nobody = ratings.with_users([*ratings.users.names.tolist(), "nobody"])
    popular = np.log((1 + LOGIT.popularity_floor) * model.share)
    np.testing.assert_allclose(model.log_expectations(nobody)[-1], popular, rtol=1e-4, atol=1e-4)


def test_a_release_has_item_item_weights(tmp_path) -> None:
    ratings = dc.synthetic(users=400, items=150, ratings=16_000, seed=2)
    release = dc.Almanac().fit(dc.NoPrivacy(ratings))
    assert release.arrays["neighbour_weights"].shape == (150, released_width(150))
    assert release.arrays["neighbour_weights"].any(axis=1).mean() > 0.9
    release.save(tmp_path / "kept")
    again = dc.Release.load(tmp_path / "kept")
    history = ratings.history_at(0)
    np.testing.assert_array_equal(again.score(history), release.score(history))


def test_more_items_than_pairs_are_asked_for(force_plan) -> None:
    """The axes of what is released are explained by public facts, so a catalogue may be as large as it likes."""
    ratings = dc.synthetic(users=600, items=150, ratings=20_000, seed=2)
    ledger = dc.Ledger(epsilon=30.0, delta=1e-6)
    force_plan(items=0.3, counts=0.7)
    release = dc.Almanac().fit(dc.TrustedServer(ratings, ledger))
    assert release.arrays["neighbour_weights"].any(axis=1).sum() == 40
    assert release.arrays["neighbours"].shape == (150, released_width(150))
