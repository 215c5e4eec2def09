"""Patterns of who rates what, and rankings made of them at home."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

import discreet as dc
from discreet.models.almanac import pairs
from discreet.models.almanac.pairs import taste_factors
from discreet.models.almanac.ranking import CONSTANTS, ConditionalLogit, InteractionModel
from discreet.models.denoise.spectral import signal_of, spectral_threshold
from discreet.types import AnyArray

NOTHING = np.zeros((60, 0), dtype=np.float32)


def planted(size: int = 120, patterns: int = 3, seed: int = 0) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Co-counts that popularity and a few patterns explain, with a diagonal that says something else."""
    rng = np.random.default_rng(seed)
    counts = 400 * (np.arange(size) + 5.0) ** -0.7
    shape = rng.normal(size=(size, patterns)) * (0.4 * counts / counts.sum())[:, None]
    popularity = counts / counts.sum()
    weights = 1e4 * (np.outer(popularity, popularity) + shape @ shape.T)
    np.fill_diagonal(weights, counts)
    return weights.astype(np.float32), counts, shape


def some_ratings(seed: int = 3) -> dc.Ratings:
    return dc.synthetic(users=40, items=60, ratings=900, seed=seed)


def test_planted_patterns_are_found() -> None:
    weights, counts, shape = planted()
    factors, known = taste_factors(weights, counts, 0.0, 0.0, 1e-4, 10)
    np.testing.assert_array_equal(known, counts)
    popularity = counts / counts.sum()
    truth = np.outer(popularity, popularity) + shape @ shape.T
    found = factors.astype(np.float64) @ factors.T
    off = ~np.eye(len(counts), dtype=np.bool_)
    found *= (found * truth)[off].sum() / (found**2)[off].sum()
    assert factors.shape[1] == 4
    assert np.linalg.norm((found - truth)[off]) < 0.05 * np.linalg.norm(truth[off])


def test_the_diagonal_says_nothing() -> None:
    weights, counts, _ = planted()
    factors, _ = taste_factors(weights, counts, 0.0, 0.0, 1e-4, 10)
    np.fill_diagonal(weights, 1e6)
    again, _ = taste_factors(weights, counts, 0.0, 0.0, 1e-4, 10)
    np.testing.assert_array_equal(again, factors)


def test_noise_alone_has_no_patterns_and_chance_alone_has_only_popularity() -> None:
    _, counts, _ = planted()
    rng = np.random.default_rng(4)
    noise = np.triu(rng.normal(size=(120, 120)), 1).astype(np.float32)
    assert taste_factors(noise + noise.T, counts, 1.0, 1.0, 1e-4, 10)[0].shape == (120, 0)
    shares = counts / counts.sum()
    marks = (rng.random((3000, 120)) < 20 * shares).astype(np.float32)
    factors, _ = taste_factors(marks.T @ marks / 20, 3000 * shares, 0.0, 0.0, 1 / 20, 10)
    assert factors.shape[1] == 1


def test_never_more_patterns_than_asked_for() -> None:
    weights, counts, _ = planted(patterns=6)
    assert taste_factors(weights, counts, 0.0, 0.0, 1e-4, 2)[0].shape == (120, 2)


def test_the_signal_of_an_eigenvalue_is_what_its_eigenvector_has_of_it() -> None:
    """Against the truth, which is known here: a pattern of each strength, from far above the threshold to none."""
    size, rng, errors = 300, np.random.default_rng(6), []
    turn = np.linalg.qr(rng.normal(size=(size, size)))[0]
    truth = (turn * np.append(np.linspace(60, 0, 60), np.zeros(size - 60))) @ turn.T
    for _ in range(10):
        noise = np.triu(rng.normal(size=(size, size)), 1)
        values, vectors = np.linalg.eigh(truth + noise + noise.T)
        values, vectors = values[::-1], vectors[:, ::-1]
        found = signal_of(values, spectral_threshold(1.0, size), 120)[:70]
        errors.append(found - np.einsum("ik,ij,jk->k", vectors[:, :70], truth, vectors[:, :70]))
    assert np.abs(np.mean(errors, axis=0)).max() < 0.1 * 2 * np.sqrt(size)


def test_weak_patterns_are_used_as_far_as_they_are_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    weights, counts, shape = planted(size=300, patterns=60)
    rng = np.random.default_rng(7)
    noise = np.triu(rng.normal(size=weights.shape), 1) * 0.3
    noisy = (weights + noise + noise.T).astype(np.float32)
    popularity = counts / counts.sum()
    truth = 1e4 * (np.outer(popularity, popularity) + shape @ shape.T)
    off = ~np.eye(len(counts), dtype=np.bool_)

    def error_of(factors: AnyArray) -> float:
        found = factors.astype(np.float64) @ factors.T
        found *= (found * truth)[off].sum() / (found**2)[off].sum()
        return float(np.linalg.norm((found - truth)[off]))

    every, _ = taste_factors(noisy, counts, 0.3, 0.0, 1e-4, 100)
    monkeypatch.setattr(pairs, "CONSTANTS", replace(pairs.CONSTANTS, least_signal=np.inf))
    strong, _ = taste_factors(noisy, counts, 0.3, 0.0, 1e-4, 100)
    assert 1 < strong.shape[1] < every.shape[1]
    assert error_of(every) < error_of(strong)


def test_popularity_is_told_better_by_pairs_than_by_noisy_counts() -> None:
    weights, counts, _ = planted()
    rng = np.random.default_rng(1)
    noise = np.triu(rng.normal(size=weights.shape), 1) * 0.1
    noisy = np.maximum(counts + 20 * rng.normal(size=len(counts)), 0)
    _, known = taste_factors((weights + noise + noise.T).astype(np.float32), noisy, 0.1, 20.0, 1e-3, 10)
    assert np.linalg.norm(known - counts) < 0.5 * np.linalg.norm(noisy - counts)


def test_where_nobody_rated_there_is_nothing_to_find() -> None:
    factors, known = taste_factors(np.zeros((5, 5), dtype=np.float32), np.zeros(5), 1.0, 1.0, 0.0, 3)
    assert factors.shape == (5, 0)
    assert not known.any()


def test_expectations_are_those_of_the_formula() -> None:
    floor = CONSTANTS.popularity_floor
    ratings = some_ratings()
    rng = np.random.default_rng(2)
    counts = np.bincount(ratings.item_index, minlength=60).astype(np.float32)
    factors = np.zeros((60, 4), dtype=np.float32)
    rows = np.sort(rng.choice(60, 45, replace=False))
    factors[rows, :3] = rng.normal(size=(45, 3)) * 0.05  # the last column did not stand out
    found = InteractionModel.of(counts, factors).log_expectations(ratings)

    share = counts + CONSTANTS.least_popularity * counts.mean()
    share = share / share.sum()
    scales = (counts[rows] / counts[rows].mean() + CONSTANTS.damping) ** -CONSTANTS.power
    patterns = factors[rows, :3].astype(np.float64)
    for u in range(ratings.n_users):
        marks = np.zeros(60)
        marks[ratings.history_at(u).items] = 1
        n = marks.sum()
        weighted = patterns.T * scales**2
        own = np.linalg.inv(weighted @ patterns + CONSTANTS.interaction_variance / n * np.eye(3))
        smoother = patterns @ own @ weighted
        expected = n * share
        expected[rows] += smoother @ (marks - n * share)[rows]
        expected[rows] -= marks[rows] * np.diag(smoother)
        expected = np.maximum(expected, 0) + floor * n * share
        np.testing.assert_allclose(found[u], np.log(expected), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("patterns", [0, 2])
def test_whoever_rated_nothing_is_shown_what_is_popular(patterns: int) -> None:
    ratings = some_ratings()
    counts = np.bincount(ratings.item_index, minlength=60).astype(np.float32)
    factors = np.random.default_rng(0).normal(size=(60, patterns)).astype(np.float32)
    somebody = dc.Ratings.of_history(ratings.history_at(0))
    nobody = somebody.select(np.zeros(len(somebody), dtype=np.bool_))
    features = np.random.default_rng(1).normal(size=(60, 3)).astype(np.float32)
    scores = ConditionalLogit.of(InteractionModel.of(counts, factors), counts, features).scores(nobody)
    np.testing.assert_array_equal(np.argsort(-scores[0], kind="stable"), np.argsort(-counts, kind="stable"))


def test_without_any_counts_every_item_is_as_likely() -> None:
    popular = InteractionModel.of(np.zeros(60, dtype=np.float32), NOTHING)
    np.testing.assert_allclose(popular.share, 1 / 60, rtol=1e-6)
    scores = ConditionalLogit.of(popular, np.zeros(60, dtype=np.float32), NOTHING).scores(some_ratings())
    assert np.isfinite(scores).all()
    assert np.ptp(scores, axis=1).max() < 1e-5


def test_units_of_counts_do_not_matter() -> None:
    ratings = some_ratings()
    counts = np.bincount(ratings.item_index, minlength=60).astype(np.float32)
    factors = np.random.default_rng(0).normal(size=(60, 2)).astype(np.float32) * np.float32(0.05)
    liked = (counts / 60).astype(np.float32)
    models = [InteractionModel.of(unit * counts, factors) for unit in (1, 50)]
    scores = [ConditionalLogit.of(model, liked, NOTHING).scores(ratings) for model in models]
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-3)


def test_no_user_needs_more_memory_than_a_few_rows_of_items() -> None:
    ratings = dc.synthetic(users=100, items=2000, ratings=4000, seed=1)
    counts = np.bincount(ratings.item_index, minlength=2000).astype(np.float32)
    features = np.random.default_rng(1).normal(size=(2000, 30)).astype(np.float32)
    factors = np.random.default_rng(2).normal(size=(2000, 20)).astype(np.float32)
    popular = InteractionModel.of(counts, factors)
    ConditionalLogit.of(popular, counts, features).scores(ratings)  # what is compiled is not counted
    tracemalloc.start()
    ConditionalLogit.of(popular, counts, features).scores(ratings)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6 * 100 * 2000 * 4


def test_tastes_rank_better_than_popularity_with_and_without_features() -> None:
    ratings = dc.synthetic(users=400, items=150, ratings=16_000, seed=2)
    found = {
        name: dc.compare({name: model}, ratings, dc.evaluation.EachUser(seed=1), metrics=["ndcg@20"])
        .rows[0]
        .metrics["ndcg@20"]
        for name, model in {
            "popularity": dc.Popularity(),
            "almanac": dc.Almanac(),
            "without features": dc.Almanac(features=False),
        }.items()
    }
    assert found["almanac"].mean > 1.1 * found["popularity"].mean
    assert found["without features"].mean > 1.05 * found["popularity"].mean


def test_what_ratings_add_is_what_the_score_loses_without_them() -> None:
    ratings = dc.synthetic(users=400, items=150, ratings=16_000, seed=2)
    model = dc.Almanac()
    release = model.fit(dc.NoPrivacy(ratings))
    history = ratings.history_at(0)
    new = np.setdiff1d(np.arange(150), history.items)
    scores = release.score(history)
    best = new[np.argsort(-scores[new])[:5]]
    for item in best:
        added = release.scorer().shares(history, int(item))
        lost = np.empty(len(added))
        for place in range(len(added)):
            rest = np.delete(np.arange(len(added)), place)
            without = dc.History(history.catalogue, history.items[rest], history.values[rest])
            fewer = release.score(without)
            lost[place] = (scores[item] - scores[new].mean()) - (fewer[item] - fewer[new].mean())
        assert added.shape == history.items.shape
        assert np.corrcoef(added, lost)[0, 1] > 0.6


def test_reasons_come_with_suggestions_in_a_ranking() -> None:
    ratings = some_ratings()
    release = dc.Almanac().fit(dc.NoPrivacy(ratings))
    found = release.recommend(ratings.history_at(0), k=3, explain=True)
    assert all(suggestion.because for suggestion in found)
