"""DP-PMF and PDP-PMF as published: both modes beside naive ones, sampling, what they refuse and what they say."""

import math
from dataclasses import replace

import numpy as np
import pytest

import discreet as dc
from discreet.errors import InputError
from discreet.papers.personalised.algorithm import DPPMF, PDPPMF
from discreet.papers.personalised.levels import Levels, draw_levels, threshold_of
from discreet.privacy.personal import rates_for
from discreet.privacy.randomness import Randomness
from discreet.releases.published import Published

RATINGS = dc.synthetic(users=30, items=20, ratings=300, seed=2)
SMALL = {"factors": 3, "iterations": 7, "private_iterations": 5}


def naive_training(model: DPPMF, ratings: dc.Ratings, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """Equations (2) to (5) with momentum, pair by pair."""
    rng = np.random.default_rng(model.seed)
    users, items = (rng.normal(0, 0.1, (rows, model.factors)) for rows in (ratings.n_users, ratings.n_items))
    if model.start == "unit":
        users, items = (one / np.linalg.norm(one, axis=1, keepdims=True) for one in (users, items))
    speeds = np.zeros_like(users), np.zeros_like(items)
    for _ in range(model.iterations):
        of_user, of_item = model.user_penalty * users, model.item_penalty * items
        for i, j, r in zip(ratings.user_index, ratings.item_index, ratings.values, strict=True):
            error = float(r) - users[i] @ items[j]
            of_user[i] -= error * items[j]
            of_item[j] -= error * users[i]
        speeds = model.momentum * speeds[0] - rate * of_user, model.momentum * speeds[1] - rate * of_item
        users, items = users + speeds[0], items + speeds[1]
        if model.user_norm == "projected":
            users = users / np.maximum(np.linalg.norm(users, axis=1, keepdims=True), 1)
    return users, items


@pytest.mark.parametrize("how", [{}, {"momentum": 0.0, "start": "unit"}, {"user_norm": "projected"}])
def test_training_follows_the_printed_steps(how):
    model = DPPMF(learning_rate=1.0, **{"user_norm": "free", **how}, **SMALL)
    trained = model.train(RATINGS)
    assert trained.rate == 1 / len(RATINGS)
    users, items = naive_training(model, RATINGS, trained.rate)
    np.testing.assert_allclose(trained.users, users, rtol=1e-8)
    np.testing.assert_allclose(trained.items, items, rtol=1e-8)


def test_a_step_is_the_rate_over_all_ratings_kept_or_not():
    assert DPPMF(learning_rate=1.0, **SMALL).train(RATINGS, of=1000).rate == 1 / 1000
    # Longer steps overflow on small data: there they are shorter.
    assert DPPMF(**SMALL).train(RATINGS).rate < 50 / len(RATINGS)


def test_scaling_keeps_users_short_and_predictions_as_they_are():
    free, scaled = (DPPMF(user_norm=norm, **SMALL).train(RATINGS) for norm in ("free", "scaled"))
    np.testing.assert_allclose(scaled.users @ scaled.items.T, free.users @ free.items.T, rtol=1e-9)
    assert np.isclose(np.linalg.norm(scaled.users, axis=1).max(), 1)


def test_theorem_mode_is_the_minimum_of_the_perturbed_objective():
    model = DPPMF(mode="theorem", **SMALL)
    trained, noise = model.train(RATINGS), model.draw_noise(RATINGS, 0.5, Randomness(1))
    assert noise.shape == (1, 20, 3)
    items, columns = model.publish(RATINGS, trained, noise), RATINGS.by_item
    for item in range(RATINGS.n_items):
        raters = slice(columns.indptr[item], columns.indptr[item + 1])
        own = trained.users[columns.users[raters]]
        gradient = -(columns.values[raters] - own @ items[item]) @ own + 0.01 * items[item] + noise[0, item]
        assert np.abs(gradient).max() < 1e-6 * np.abs(noise).max()


@pytest.mark.parametrize("mode", ["listing", "fixed"])
def test_listing_mode_draws_new_noise_in_every_step_and_starts_at_the_trained_factors(mode):
    model = DPPMF(mode=mode, **SMALL)
    trained, noise = model.train(RATINGS), model.draw_noise(RATINGS, 0.5, Randomness(1))
    assert noise.shape == ((5 if mode == "listing" else 1), 20, 3)
    items = trained.items.copy()
    for step in range(5):
        pull = np.zeros_like(items)
        for i, j, r in zip(RATINGS.user_index, RATINGS.item_index, RATINGS.values, strict=True):
            pull[j] += (float(r) - trained.users[i] @ items[j]) * trained.users[i]
        items = items + trained.rate * (pull - 0.01 * items - noise[step if mode == "listing" else 0])
    np.testing.assert_allclose(model.publish(RATINGS, trained, noise), items, rtol=1e-8)
    unmoved = replace(model, private_iterations=0)
    np.testing.assert_array_equal(unmoved.publish(RATINGS, trained, noise), trained.items)


def test_noise_has_the_length_of_theorem_4():
    many = dc.synthetic(users=10, items=500, ratings=600, seed=1)
    noise = DPPMF(mode="theorem").draw_noise(many, 0.1, Randomness(1))[0]
    assert abs(np.linalg.norm(noise, axis=1).mean() / 1000 - 1) < 6.2 / math.sqrt(20 * 500)  # d·5/ε


# ── Levels and sampling ──


def test_a_rating_is_kept_as_often_as_its_level_allows():
    """T14: the printed formula, 1 from the threshold on, and the expected share that is kept."""
    levels = np.array([0.1, 0.2, 0.3, 0.393, 0.5, 1.0])
    expected = np.minimum(1, np.expm1(levels) / math.expm1(0.393))
    np.testing.assert_allclose(rates_for(levels, 0.393), expected, rtol=1e-12)
    assert rates_for(levels, 0.393)[3:].tolist() == [1, 1, 1]
    assert rates_for(np.array([0.1]), 0.393)[0] == pytest.approx(0.2185, abs=5e-5)


def test_the_published_specification_keeps_the_share_that_it_should():
    many = dc.synthetic(users=400, items=300, ratings=60_000, seed=1)
    kept, budget = PDPPMF(level_seed=3).sample(many, Randomness(4))
    levels = draw_levels(Levels(), len(many), 3)
    assert budget == levels.mean() and abs(budget - 0.393) < 0.01
    rates = rates_for(levels, budget)
    assert abs(len(kept) - rates.sum()) < 6.2 * math.sqrt(float((rates * (1 - rates)).sum()))
    assert abs(rates.mean() - 0.616) < 0.01
    groups = [np.mean(levels < 0.2), np.mean((levels >= 0.2) & (levels < 1)), np.mean(levels == 1)]
    np.testing.assert_allclose(groups, [0.54, 0.37, 0.09], atol=0.02)


def test_levels_and_threshold_can_be_given():
    levels = np.linspace(0.2, 0.8, len(RATINGS))
    model = PDPPMF(threshold=0.5, **SMALL)
    kept, budget = model.sample(RATINGS, Randomness(1), levels)
    assert budget == 0.5 and 0 < len(kept) < len(RATINGS)
    assert PDPPMF(threshold="max", **SMALL).sample(RATINGS, Randomness(1), levels)[1] == 0.8
    everything, most = PDPPMF(threshold=0.2, **SMALL).sample(RATINGS, Randomness(1), levels)
    assert len(everything) == len(RATINGS) and most == 0.2
    assert model.fit(RATINGS, levels=levels).arrays["item_factors"].shape == (20, 3)
    assert "a level of its own, as given" in model.fit(RATINGS, levels=levels).guarantee.reason


def test_the_published_threshold_depends_on_the_ratings_and_a_public_one_does_not():
    """T15, red for the published form: one rating less changes t, and with it all noise and all odds."""
    fewer = RATINGS.select(np.arange(len(RATINGS)) > 0)
    levels = np.linspace(0.1, 1.0, len(RATINGS))
    published = [
        PDPPMF().sample(ratings, Randomness(1), own)[1] for ratings, own in ((RATINGS, levels), (fewer, levels[1:]))
    ]
    assert published[0] != published[1]
    public = [
        PDPPMF(threshold=0.5).sample(ratings, Randomness(1), own)[1]
        for ratings, own in ((RATINGS, levels), (fewer, levels[1:]))
    ]
    assert public == [0.5, 0.5]


def test_without_privacy_nothing_is_sampled():
    kept, budget = PDPPMF(epsilon=None).sample(RATINGS, Randomness(1))
    assert kept is RATINGS and budget is None
    plain, personal = DPPMF(epsilon=None, **SMALL).fit(RATINGS), PDPPMF(epsilon=None, **SMALL).fit(RATINGS)
    np.testing.assert_array_equal(plain.arrays["item_factors"], personal.arrays["item_factors"])
    with pytest.raises(InputError, match="get no privacy"):
        PDPPMF(epsilon=None).fit(RATINGS, levels=np.ones(len(RATINGS)))


# ── What it says, and what it refuses ──


@pytest.mark.parametrize("model", [DPPMF(**SMALL), PDPPMF(**SMALL)])
def test_they_are_published_systems_that_say_what_is_wrong(model):
    assert isinstance(model, Published)
    promise = model.fit(RATINGS, randomness=Randomness(1)).guarantee
    assert promise.proven is None and promise.claimed.epsilon == model.epsilon and promise.seeded
    assert "trained without noise, and draw new noise each time" in promise.reason
    assert "trained on the same ratings" in promise.reason
    assert "leaves it out" in replace(model, mode="theorem").fit(RATINGS).guarantee.reason
    assert "length of 1" in replace(model, user_norm="free").fit(RATINGS).guarantee.reason
    assert replace(model, epsilon=None).fit(RATINGS).guarantee.claimed is None
    release, looks = model.observe(RATINGS, Randomness(1))
    assert [look.law for look in looks] == ["other"] and np.isclose(looks[0].spends[0].pure_epsilon, model.epsilon)
    assert release.arrays["item_factors"].shape == (20, 3)


def test_personal_levels_are_in_the_promise():
    promise = PDPPMF(**SMALL).fit(RATINGS).guarantee
    assert "a level of its own, drawn between 0.1 and 1, and this is the largest" in promise.reason
    assert "mean of private levels" in promise.reason
    assert "mean of private levels" not in PDPPMF(threshold="max", **SMALL).fit(RATINGS).guarantee.reason


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"epsilon": 0.0}, "epsilon must be positive and finite"),
        ({"conservative_epsilon": 0.0}, "conservative_epsilon must be positive"),
        ({"conservative_epsilon": 0.3}, "must not fall from conservative to moderate to liberal"),
        ({"moderate_epsilon": 2.0}, "must not fall from conservative to moderate to liberal"),
        ({"conservative": 0.8}, "together at most 1, got 1.17"),
        ({"moderate": -0.1}, "moderate must be at least 0 and at most 1"),
        ({"threshold": "median"}, "threshold must be 'mean', 'max' or a number"),
        ({"mode": "algorithm"}, "mode must be one of listing, fixed, theorem"),
        ({"momentum": 1.0}, "momentum must be"),
        ({"learning_rate": 0}, "learning_rate must be positive"),
    ],
)
def test_bad_settings_are_refused_in_a_sentence(wrong, words):
    with pytest.raises(InputError, match=words):
        PDPPMF(**wrong)


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        (np.ones(3), "levels must be one epsilon for each rating, got an array of shape"),
        (np.zeros(len(RATINGS)), "every privacy level must be positive and finite"),
        (np.full(len(RATINGS), np.nan), "every privacy level must be positive and finite"),
        (np.full(len(RATINGS), 1.5), "every privacy level must be at most epsilon, which is claimed: 1"),
    ],
)
def test_bad_levels_are_refused_in_a_sentence(levels, words):
    with pytest.raises(InputError, match=words):
        PDPPMF().fit(RATINGS, levels=levels)


@pytest.mark.parametrize("threshold", [0.05, 1.5, math.nan])
def test_a_threshold_outside_the_levels_is_refused(threshold):
    with pytest.raises(InputError, match="between the least and the greatest privacy level"):
        PDPPMF(threshold=threshold).fit(RATINGS)
    assert threshold_of(0.1, np.array([0.1, 0.2])) == 0.1


def test_nobody_and_nothing():
    """An empty history, and no ratings at all: every item is worth the same."""
    empty = RATINGS.select(np.zeros(len(RATINGS), dtype=np.bool_))
    for model in (DPPMF(epsilon=None, **SMALL), PDPPMF(**SMALL)):
        release = model.fit(empty)
        stranger = dc.History(RATINGS.catalogue, np.zeros(0, np.int32), np.zeros(0, np.float32))
        assert (release.score(stranger) == 0).all()
