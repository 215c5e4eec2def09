"""The published S1: every reading of its text beside a naive one, what it refuses, and what it says of itself."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import InputError
from discreet.papers.objective_perturbation.algorithm import (
    CHOICES,
    ObjectivePerturbedMF,
    Trained,
    into_unit_ball,
    unit_rows,
)
from discreet.privacy.randomness import Randomness
from discreet.releases.published import Published

RATINGS = dc.synthetic(users=30, items=20, ratings=250, seed=2)
SMALL = {"factors": 3, "iterations": 6}
RIDGE = {"user_penalty": 0.05, "item_penalty": 0.05}


def naive_training(model: ObjectivePerturbedMF, ratings: dc.Ratings) -> tuple[np.ndarray, np.ndarray]:
    """Equations (2) to (5), pair by pair, with M of each row."""
    rng = np.random.default_rng(model.seed)
    users, items = (unit_rows(rng, count, model.factors) for count in (ratings.n_users, ratings.n_items))
    counts = (
        np.bincount(ratings.user_index, minlength=len(users)),
        np.bincount(ratings.item_index, minlength=len(items)),
    )
    whole = {"row": None, "ratings": len(ratings), "none": 1}[model.divisor]
    for _ in range(model.iterations):
        of_user, of_item = np.zeros_like(users), np.zeros_like(items)
        for i, j, r in zip(ratings.user_index, ratings.item_index, ratings.values, strict=True):
            error = float(r) - users[i] @ items[j]
            of_user[i] -= 2 * items[j] * error / (whole or counts[0][i])
            of_item[j] -= 2 * users[i] * error / (whole or counts[1][j])
        users, items = (
            users - model.learning_rate * (of_user + 2 * model.user_penalty * users),
            items - model.learning_rate * (of_item + 2 * model.item_penalty * items),
        )
        if model.user_norm == "projected":
            users = np.array([row / max(1.0, float(np.linalg.norm(row))) for row in users])
    return users, items


@pytest.mark.parametrize("divisor", CHOICES["divisor"])
@pytest.mark.parametrize("user_norm", ["free", "projected"])
def test_training_follows_the_printed_steps(divisor, user_norm):
    rate = 0.004 if divisor == "none" else 2.0**-5
    model = ObjectivePerturbedMF(divisor=divisor, user_norm=user_norm, learning_rate=rate, **SMALL)
    trained, (users, items) = model.train(RATINGS), naive_training(model, RATINGS)
    np.testing.assert_allclose(trained.users, users, rtol=1e-8)
    np.testing.assert_allclose(trained.items, items, rtol=1e-8)


def perturbed_objective(model: ObjectivePerturbedMF, trained: Trained, item: int, noise: np.ndarray, v: np.ndarray):
    """(6) of one item, but for a factor 1/M that is common to data and noise."""
    columns = RATINGS.by_item
    raters = slice(columns.indptr[item], columns.indptr[item + 1])
    own = trained.users[columns.users[raters]]
    count = max(1, len(own))
    whole = {"row": count, "ratings": len(RATINGS), "none": 1}[model.divisor]
    errors = columns.values[raters] - own @ v
    return (errors**2).sum() + model.item_penalty * whole * (v @ v) + noise @ v


@pytest.mark.parametrize("divisor", CHOICES["divisor"])
def test_the_exact_form_is_at_the_minimum_of_the_perturbed_objective(divisor):
    model = ObjectivePerturbedMF(divisor=divisor, minimiser="exact", learning_rate=0.004, **SMALL)
    trained, noise = model.train(RATINGS), model.draw_noise(RATINGS, Randomness(1))
    items, rng = model.publish(RATINGS, trained, noise), np.random.default_rng(4)
    for item in range(RATINGS.n_items):
        least = perturbed_objective(model, trained, item, noise[item], items[item])
        for _ in range(5):
            other = items[item] * (1 + 0.01 * rng.normal(size=model.factors))
            assert perturbed_objective(model, trained, item, noise[item], other) > least


@pytest.mark.parametrize("user_norm", ["free", "projected", "scaled"])
def test_many_steps_end_at_the_exact_minimum(user_norm):
    model = ObjectivePerturbedMF(user_norm=user_norm, epsilon=5.0, item_penalty=0.05, **SMALL)
    trained, noise = model.train(RATINGS), model.draw_noise(RATINGS, Randomness(2))
    exact = replace(model, minimiser="exact").publish(RATINGS, trained, noise)
    near = replace(model, iterations=8000).publish(RATINGS, trained, noise)
    np.testing.assert_allclose(near, exact, rtol=1e-3, atol=1e-2)


def test_steps_for_each_rating_end_near_the_minimum_too():
    model = ObjectivePerturbedMF(training="rating", epsilon=5.0, learning_rate=0.0005, item_penalty=0.5, **SMALL)
    trained, noise = model.train(RATINGS), model.draw_noise(RATINGS, Randomness(2))
    exact = replace(model, minimiser="exact").publish(RATINGS, trained, noise)
    near = replace(model, iterations=5000).publish(RATINGS, trained, noise)
    rated = np.bincount(RATINGS.item_index, minlength=RATINGS.n_items) > 0  # no step ever moves the others
    assert np.abs(near - exact)[rated].max() < 0.02 * np.abs(exact).max()


def test_alternating_solves_end_at_rest():
    model = ObjectivePerturbedMF(training="alternating", divisor="ratings", iterations=10, factors=2, **RIDGE)
    trained = model.train(RATINGS)
    again = model._improved(RATINGS, trained.users, trained.items, np.arange(len(RATINGS)))
    assert np.abs(again[0] @ again[1].T - trained.users @ trained.items.T).max() < 0.2
    # A penalty of λW leaves one direction: the second singular value of all predictions is next to nothing.
    values = np.linalg.svd(again[0] @ again[1].T, compute_uv=False)
    assert values[1] < 0.2 * values[0]


def test_noise_that_is_divided_by_all_ratings_is_that_much_smaller():
    model = ObjectivePerturbedMF(minimiser="exact", divisor="none", learning_rate=0.004, **SMALL)
    trained, noise = model.train(RATINGS), model.draw_noise(RATINGS, Randomness(3))
    clean = model.publish(RATINGS, trained, np.zeros_like(noise))
    full = model.publish(RATINGS, trained, noise) - clean
    shrunk = replace(model, shrunk_noise=True).publish(RATINGS, trained, noise) - clean
    np.testing.assert_allclose(shrunk * len(RATINGS), full, rtol=1e-6, atol=1e-6)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 5), st.integers(1, 12))
def test_projection_keeps_every_user_within_the_unit_ball(seed, factors, iterations):
    """T11: after every update, whatever the ratings are."""
    rng = np.random.default_rng(seed)
    ratings = dc.synthetic(users=8, items=6, ratings=int(rng.integers(8, 40)), seed=seed)
    model = ObjectivePerturbedMF(user_norm="projected", factors=factors, iterations=iterations, seed=seed)
    seen = []
    model.train(ratings, progress=lambda done, total, what: seen.append(done))
    assert len(seen) == iterations
    for steps in range(1, iterations + 1):
        assert replace(model, iterations=steps).train(ratings).longest <= 1 + 1e-12
    assert np.linalg.norm(into_unit_ball(100 * rng.normal(size=(5, 3))), axis=1).max() <= 1 + 1e-12


def test_scaling_leaves_predictions_as_they_are():
    free, scaled = (ObjectivePerturbedMF(user_norm=norm, **SMALL).train(RATINGS) for norm in ("free", "scaled"))
    np.testing.assert_allclose(scaled.users @ scaled.items.T, free.users @ free.items.T, rtol=1e-9)
    assert np.isclose(scaled.longest, 1)


def test_the_printed_sums_overflow():
    """A step of 2⁻⁵ on sums is too long for any but tiny data; on MovieLens 100K it ends in the seventh."""
    many = dc.synthetic(users=200, items=60, ratings=6000, seed=1)
    with pytest.raises(InputError, match=r"overflowed in step \d+: .* take a smaller one, or divisor='row'"):
        ObjectivePerturbedMF(divisor="none", factors=10).train(many)


def test_laplace_noise_has_the_scale_of_lemma_1():
    noise = ObjectivePerturbedMF(noise="laplace", epsilon=0.5, factors=50).draw_noise(
        dc.synthetic(users=10, items=200, ratings=300, seed=1), Randomness(1)
    )
    scale = 2 * 4 * np.sqrt(50) / 0.5
    assert abs(np.abs(noise).mean() / scale - 1) < 6.2 / np.sqrt(noise.size)
    radial = ObjectivePerturbedMF(epsilon=0.5).draw_noise(RATINGS, Randomness(1))
    assert abs(np.linalg.norm(radial, axis=1).mean() / (50 * 2 * 4 / 0.5) - 1) < 6.2 / np.sqrt(50 * len(radial))


def test_at_home_a_user_solves_the_printed_problem():
    model = ObjectivePerturbedMF(epsilon=None, factors=3, iterations=50, user_penalty=0.02)
    release = model.fit(RATINGS)
    factors, rows = release.arrays["item_factors"].astype(np.float64), RATINGS.select_users(np.array([4]))
    own = factors[rows.item_index]
    expected = np.linalg.solve(own.T @ own + 0.02 * len(own) * np.eye(3), own.T @ rows.values)
    np.testing.assert_allclose(model.score(release, rows)[0], factors @ expected, rtol=1e-4)
    nobody = dc.History(RATINGS.catalogue, np.zeros(0, np.int32), np.zeros(0, np.float32))
    assert (release.score(nobody) == 0).all()  # an empty history: every item is worth the same


def test_it_is_a_published_system_that_says_what_is_wrong():
    model = ObjectivePerturbedMF(**SMALL)
    assert isinstance(model, Published)
    promise = model.fit(RATINGS).guarantee
    assert promise.proven is None and promise.claimed.epsilon == 0.1
    assert "trained on the same ratings" in promise.reason and "length of 1" in promise.reason
    assert "length of 1" not in replace(model, user_norm="projected").fit(RATINGS).guarantee.reason
    assert "without noise" in replace(model, start="trained").fit(RATINGS).guarantee.reason
    assert "seeded" in model.fit(RATINGS, randomness=Randomness(1)).guarantee.reason
    assert model.fit(RATINGS, randomness=Randomness(1)).guarantee.seeded
    assert replace(model, epsilon=None).fit(RATINGS).guarantee.claimed is None
    release, looks = model.observe(RATINGS, Randomness(1))
    assert [look.law for look in looks] == ["other"] and np.isclose(looks[0].spends[0].pure_epsilon, 0.1)
    assert replace(model, epsilon=None).observe(RATINGS, Randomness(1))[1] == ()
    assert release.arrays["item_factors"].shape == (20, 3)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"epsilon": 0.0}, "epsilon must be positive and finite, or None for no noise, got 0.0"),
        ({"epsilon": float("inf")}, "epsilon must be positive and finite"),
        ({"factors": 0}, "factors must be at least 1"),
        ({"iterations": -1}, "iterations must not be negative"),
        ({"learning_rate": 0}, "learning_rate must be positive"),
        ({"item_penalty": 0}, "item_penalty must be positive"),
        ({"divisor": "all"}, "divisor must be one of row, ratings, none, got 'all'"),
        ({"noise": "gaussian"}, "noise must be one of radial, laplace"),
        ({"training": "rating", "divisor": "none"}, "divisor must be 'row', got 'none'"),
        ({"seed": -1}, "seed must be"),
    ],
)
def test_bad_settings_are_refused_in_a_sentence(wrong, words):
    with pytest.raises(InputError, match=words):
        ObjectivePerturbedMF(**wrong)
