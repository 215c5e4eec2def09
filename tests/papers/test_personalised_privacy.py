"""Theorems 4 and 6 by brute force: the red tests keep DP-PMF and PDP-PMF from being called proven.

False alarms: every count below is at least six deviations from its limit.
"""

import math

import numpy as np
import pytest

import discreet as dc
from discreet.audit.bounds import epsilon_bound
from discreet.audit.canaries import users_of
from discreet.papers.personalised.algorithm import DPPMF, Trained
from discreet.papers.personalised.privacy import (
    composed,
    fresh_noise_variance,
    one_rater,
    recovered,
    replaced,
    sampled_sides,
)
from discreet.privacy.randomness import Randomness

EPSILON = 0.1


def one_user_with(items: int) -> dc.Ratings:
    """A user with a 5 for every item: as many items with one rating, each a run of its own."""
    catalogue = dc.Catalogue.of([str(item) for item in range(items)], dc.Scale(1, 5))
    return users_of(catalogue, [[(item, 5.0) for item in range(items)]])


# ── What fails ──


def test_a_removed_rating_shows_whatever_is_claimed():
    """T10: |v| beyond ten spreads has odds 5e-5 with the rating and 0.9 without it; e^0.1 is allowed between them."""
    runs = 4000
    rated = one_user_with(runs)
    removed = rated.select(np.zeros(runs, dtype=np.bool_))
    model = DPPMF(epsilon=EPSILON, factors=1, mode="theorem")
    there, gone = one_rater(EPSILON)
    frequencies = []
    for ratings in (rated, removed):  # U is constant and of norm 1, which is all that Theorem 4 asks for
        trained = Trained(np.ones((1, 1)), np.zeros((runs, 1)), 1.0)
        items = model.publish(ratings, trained, model.draw_noise(ratings, EPSILON, Randomness(3)))
        frequencies.append(float(np.mean(np.abs(items) > 10 * there)))
    assert frequencies[0] < 0.002  # 4.5e-5 expected, a little more as the centre is not 0
    assert frequencies[1] > 0.87 and frequencies[1] == pytest.approx(math.exp(-10 * there / gone), abs=0.03)
    assert math.log(frequencies[1] / 0.002) > 60 * EPSILON


def test_two_hundred_runs_show_much_more_where_a_tenth_is_claimed():
    """An audit: |v| beyond ten spreads, 200 runs on each side, a bound from below that is wrong with odds 1e-4."""
    there, _ = one_rater(EPSILON)
    model, runs, hits = DPPMF(epsilon=EPSILON, factors=1, mode="theorem"), 200, []
    rated = one_user_with(runs)
    for ratings in (rated.select(np.zeros(runs, dtype=np.bool_)), rated):
        noise = model.draw_noise(ratings, EPSILON, Randomness(9))
        items = model.publish(ratings, Trained(np.ones((1, 1)), np.zeros((runs, 1)), 1.0), noise)
        hits.append(int(np.count_nonzero(np.abs(items) > 10 * there)))
    assert float(epsilon_bound(0.0, 1e-4)(hits[0], runs, hits[1], runs)) > 2.5


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 10.0])
def test_and_no_epsilon_helps(epsilon):
    there, gone = one_rater(epsilon)
    assert gone / there == pytest.approx(101)


def test_fresh_noise_is_averaged_away():
    """T12: the variance of the last iterate is γ² Σ(1 − γh)^2s σ², far from that of one noise in all steps."""
    runs, steps, rate = 20_000, 50, 0.02
    ratings = one_user_with(runs)
    trained = Trained(np.ones((1, 1)), np.full((runs, 1), 5.0 / 1.01), rate)
    curvature, variance = 1.01, 2 * (5 / EPSILON) ** 2
    found = {}
    for mode in ("listing", "fixed"):
        model = DPPMF(epsilon=EPSILON, factors=1, mode=mode, private_iterations=steps)
        found[mode] = float(np.var(model.publish(ratings, trained, model.draw_noise(ratings, EPSILON, Randomness(7)))))
    fresh = fresh_noise_variance(rate, curvature, steps, variance)
    kept = variance * (rate * composed(rate, curvature, steps)) ** 2
    assert found["listing"] == pytest.approx(fresh, rel=6.5 * math.sqrt(5 / runs))
    assert found["fixed"] == pytest.approx(kept, rel=6.5 * math.sqrt(5 / runs))
    assert found["fixed"] > 20 * found["listing"]
    # So a changed value loses many times what is claimed: its shift is that of one noise in all steps.
    assert composed(rate, curvature, steps) > 30


def test_the_loss_of_fresh_noise_is_that_of_its_slowest_tail():
    """ε Σw/max w: far out, the sum of w_s η_s falls as its widest term does, and a shift of Σw costs that much."""
    for product in (0.01, 0.1, 0.5):
        weights = (1 - product) ** np.arange(50)
        assert composed(1.0, product, 50) == pytest.approx(weights.sum() / weights.max())


def test_the_start_is_not_private():
    """Without steps Algorithm 2 publishes what was trained without noise."""
    ratings = dc.synthetic(users=60, items=40, ratings=600, seed=4)
    model = DPPMF(epsilon=EPSILON, factors=4, private_iterations=0)
    np.testing.assert_array_equal(
        model.fit(ratings).arrays["item_factors"], model.train(ratings).items.astype(np.float32)
    )


def test_one_who_rated_a_single_item_recovers_its_factors_without_noise():
    """The Sybil: predictions and the public V̄ give u, and u gives the v that was trained on everybody's ratings."""
    rng = np.random.default_rng(1)
    catalogue = dc.Catalogue.of([str(item) for item in range(8)], dc.Scale(1, 5))
    rows = [[(item, float(rng.integers(1, 6))) for item in range(8) if rng.random() < 0.7] for _ in range(14)]
    target, value = 3, 5.0
    ratings = users_of(catalogue, [*rows, [(target, value)]])
    model = DPPMF(epsilon=EPSILON, factors=3, iterations=20_000, momentum=0.9, learning_rate=3.0, user_norm="free")
    trained = model.train(ratings)
    public = model.publish(ratings, trained, model.draw_noise(ratings, EPSILON, Randomness(2)))
    sybil = trained.users[-1]
    predictions = public @ sybil  # what the recommender tells the Sybil of all items
    found_user = np.linalg.lstsq(public, predictions, rcond=None)[0]
    found = recovered(found_user, value, model.user_penalty)
    np.testing.assert_allclose(found, trained.items[target], rtol=1e-3)
    assert np.linalg.norm(public[target] - trained.items[target]) > 100 * np.linalg.norm(found - trained.items[target])


# ── What holds ──


def test_sampling_over_a_private_base_keeps_both_sides_of_theorem_6():
    """T14 on a grid; the lower side is strictly better where the level is below the threshold."""
    for threshold in (0.1, 0.393, 0.7, 1.0, 3.0):
        for level in np.linspace(0.01, threshold, 40):
            below, above = sampled_sides(float(level), threshold)
            assert above == pytest.approx(level) and below >= -level - 1e-12
            assert level >= threshold or below > -level


@pytest.mark.parametrize(("level", "threshold"), [(0.1, 0.393), (0.2, 0.7), (0.5, 1.0)])
def test_a_changed_value_loses_its_level_once_over_a_base_that_hides_values(level, threshold):
    """Brute force over the odds A, A' with the value in the sample and B without it. Remark 7 has twice the level."""
    rate = math.expm1(level) / math.expm1(threshold)
    ratio = np.exp(np.linspace(-threshold, threshold, 201))
    first, second = np.meshgrid(ratio, ratio)  # A/B and A'/B
    losses = np.log((rate * first + 1 - rate) / (rate * second + 1 - rate))
    hides_values = np.abs(np.log(first / second)) <= threshold + 1e-12
    once, removal = replaced(level, threshold)
    assert losses[hides_values].max() <= once + 1e-9
    assert losses.max() == pytest.approx(removal, abs=1e-9) and once < removal < 2 * level
