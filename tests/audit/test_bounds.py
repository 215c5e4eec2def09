"""The bounds against closed forms, brute force and simulation; correct mechanisms are not accused."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, norm

import discreet as dc
from discreet.audit.bounds import (
    Cut,
    best_cut,
    clopper_pearson,
    epsilon_bound,
    guessing_bound,
    guessing_probability,
    mu_bound,
    mu_interval,
)
from discreet.audit.judging import LIKELIHOOD, judge
from discreet.audit.one_run import guess
from discreet.privacy.accounting import gaussian_noise_multiplier
from discreet.privacy.noise import draw_discrete_gaussian, draw_discrete_laplace

STEPS = 2**12
"""Steps of the lattice in one scale of the noise."""


@given(runs=st.integers(1, 300), data=st.data(), risk=st.sampled_from([0.2, 0.025, 1e-6]))
def test_clopper_pearson_is_the_edge_of_what_the_binomial_allows(runs, data, risk):
    hits = data.draw(st.integers(0, runs))
    low, high = clopper_pearson(hits, runs, risk)
    assert 0 <= low <= hits / runs <= high <= 1
    if hits > 0:
        assert binom.sf(hits - 1, runs, low) == pytest.approx(risk, rel=1e-6)
    if hits < runs:
        assert binom.cdf(hits, runs, high) == pytest.approx(risk, rel=1e-6)


def test_clopper_pearson_covers_at_least_as_often_as_it_says():
    """Summed over all outcomes, not simulated."""
    hits = np.arange(51)
    low, high = clopper_pearson(hits, 50, 0.05)
    for p in np.linspace(0.01, 0.99, 33):
        odds = binom.pmf(hits, 50, p)
        assert odds[low > p].sum() <= 0.05 + 1e-12
        assert odds[high < p].sum() <= 0.05 + 1e-12


def test_the_bound_on_epsilon_takes_delta_off_and_never_falls_below_0():
    bound = epsilon_bound(0.0, 0.05)
    less = epsilon_bound(0.2, 0.05)
    hits = np.array([0, 100, 500, 1000])
    assert (bound(hits, 1000, hits[::-1], 1000)[:2] == 0).all()
    assert (less(hits, 1000, 0 * hits, 1000) <= bound(hits, 1000, 0 * hits, 1000)).all()
    low, _ = clopper_pearson(800, 1000, 0.025)
    _, high = clopper_pearson(100, 1000, 0.025)
    assert float(less(np.array(800), 1000, np.array(100), 1000)) == pytest.approx(math.log((low - 0.2) / high))


def test_best_cut_finds_a_leak_in_either_direction():
    rng = np.random.default_rng(1)
    same, apart = rng.normal(size=2000), rng.normal(size=2000)
    apart[:300] = 50  # a rare outcome that happens on one side only
    bound = epsilon_bound(0.0, 0.05)
    for absent, present in ((same, apart), (apart, same), (-same, -apart), (-apart, -same)):
        cut, value = best_cut(absent, present, bound)
        assert value > 3
        assert {cut.hits(absent), cut.hits(present)} == {0, 300}


@pytest.mark.parametrize("mu", [0.25, 1.0, 2.0])
def test_mu_of_the_optimal_test_is_tight(mu):
    rng = np.random.default_rng(2)
    absent, present = rng.normal(-mu / 2, 1, 40_000), rng.normal(mu / 2, 1, 40_000)
    middle = Cut(0.0, above=True, for_present=True)
    interval = mu_interval(middle.hits(present), middle.hits(absent), 40_000, 0.05)
    assert interval.low < mu < interval.high
    assert interval.high - interval.low < 0.08
    assert interval.estimate == pytest.approx(
        norm.ppf((present >= 0).mean()) - norm.ppf((absent >= 0).mean()), abs=1e-4
    )
    for factor in (0.5, 0.8, 1.25, 2):
        assert not interval.low < factor * mu < interval.high or factor * mu < 0.32


def laplace_scores(rng, epsilon, cells, runs, noise=1.0):
    """Log-likelihood ratios of a canary that moves ``cells`` sums, equally, under Laplace noise of the right scale."""
    moved = np.full(cells, epsilon / cells)
    drawn = draw_discrete_laplace(STEPS * noise, 2 * runs * cells, rng).reshape(2, runs, cells) / STEPS
    answers = drawn + np.array([0, 1])[:, None, None] * moved
    ratios = (np.abs(answers) - np.abs(answers - moved)).sum(axis=2).round(9)
    return ratios[0], ratios[1]


def gaussian_scores(rng, mu, runs, noise=1.0):
    drawn = draw_discrete_gaussian(STEPS * noise, 2 * runs, rng).reshape(2, runs) / STEPS
    return drawn[0] * mu - mu**2 / 2, (drawn[1] + mu) * mu - mu**2 / 2


AUDITS = 200
RUNS = 1500


def alarms(audit) -> int:
    return sum(audit(dc.Randomness(seed)) for seed in range(AUDITS))


def is_at_most(rate, alarms) -> bool:
    """Not to be refuted even with odds of one in a billion."""
    return binomtest(alarms, AUDITS, rate, alternative="greater").pvalue > 1e-9


@pytest.mark.parametrize("cells", [1, 2])
@pytest.mark.parametrize("confidence", [0.95, 0.6])
def test_200_audits_do_not_accuse_laplace_noise_beyond_the_stated_rate(cells, confidence):
    bounds = []

    def audit(randomness, noise=1.0):
        scores = laplace_scores(randomness, 1.0, cells, RUNS, noise)
        bounds.append(judge({LIKELIHOOD: scores}, RUNS // 3, 0.0, confidence).epsilon)
        return bounds[-1] > 1.0

    assert is_at_most(1 - confidence, alarms(audit))
    assert np.median(bounds) > 0.65  # and the bound says something
    assert alarms(lambda randomness: audit(randomness, 0.5)) == AUDITS  # half the noise is always found


def test_with_enough_runs_the_bound_comes_close_to_epsilon():
    scores = laplace_scores(dc.Randomness(1), 1.0, 2, 40_000)
    assert 0.9 < judge({LIKELIHOOD: scores}, 20_000, 0.0, 0.95).epsilon < 1
    ratios = gaussian_scores(dc.Randomness(1), 0.2367, 40_000)
    mu = judge({LIKELIHOOD: ratios}, 20_000, 1e-6, 0.95, ratios).mu
    assert 0.2 < mu.low < 0.2367 < mu.high < 0.28


@pytest.mark.parametrize("confidence", [0.95, 0.6])
def test_200_audits_do_not_accuse_gaussian_noise_beyond_the_stated_rate(confidence):
    mu, delta = 1 / gaussian_noise_multiplier(1.0, 1e-5), 1e-5
    widths = []

    def audit(randomness, noise=1.0):
        ratios = gaussian_scores(randomness, mu, RUNS, noise)
        verdict = judge({LIKELIHOOD: ratios}, RUNS // 3, delta, confidence, ratios)
        widths.append(verdict.mu.high - verdict.mu.low)
        return verdict.epsilon > 1.0 or verdict.mu.low > mu

    assert is_at_most(1 - confidence, alarms(audit))
    assert np.median(widths) < 0.4
    assert alarms(lambda randomness: audit(randomness, 0.4)) > 0.95 * AUDITS


def test_200_audits_in_one_run_do_not_accuse_laplace_noise_beyond_the_stated_rate():
    """Every canary has a cell of its own, and epsilon 1."""
    bounds = []

    def audit(randomness, noise=1.0):
        coins = randomness.words(1000) < 2**63
        answers = draw_discrete_laplace(STEPS * noise, 1000, randomness) / STEPS + coins
        scores = np.abs(answers) - np.abs(answers - 1.0)
        bounds.append(guess(scores, coins, 0.0, 0.95)[0])
        return bounds[-1] > 1.0

    assert is_at_most(0.05, alarms(audit))
    assert np.median(bounds) > 0.6
    assert alarms(lambda randomness: audit(randomness, 0.5)) == AUDITS


@pytest.mark.parametrize("epsilon", [0.0, 0.7, 2.0])
def test_randomised_response_attains_the_bound_of_one_run(epsilon):
    """Guessing what each canary answered is right with p each: the tail is the binomial's, exactly."""
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    for right in range(11):
        assert guessing_probability(right, 10, 10, epsilon, 0.0) == pytest.approx(binom.sf(right - 1, 10, p))


@pytest.mark.parametrize("seed", range(5))
def test_the_bound_of_one_run_holds_for_random_mechanisms_by_brute_force(seed):
    """3 canaries, 6 outcomes, every function from outcomes to guesses that is best for some number of right guesses.

    The mechanism is arbitrary; the least delta at which it is (ε, δ)-private is computed from its table.
    """
    rng = np.random.default_rng(seed)
    coins = np.array(list(itertools.product([0, 1], repeat=3)))
    table = rng.dirichlet(np.full(6, 0.3), size=8) * 0.5 + rng.dirichlet(np.full(6, 5.0)) * 0.5
    for epsilon in (0.2, 0.6, 1.0, 2.0):
        delta = max(
            np.maximum(table[a] - math.exp(epsilon) * table[b], 0).sum()
            for a, b in itertools.product(range(8), repeat=2)
            if np.abs(coins[a] - coins[b]).sum() == 1
        )
        for guessed in ([0], [0, 1], [0, 1, 2]):
            answers = np.array(list(itertools.product([0, 1], repeat=len(guessed))))
            right = (coins[:, None, guessed] == answers[None]).sum(axis=2)  # coins by answers
            for wanted in range(1, len(guessed) + 1):
                odds = (table.T @ (right >= wanted) / 8).max(axis=1).sum()  # the best answer to every outcome
                assert odds <= guessing_probability(wanted, len(guessed), 3, epsilon, delta) + 1e-12


def test_what_right_guesses_refute():
    assert guessing_bound(500, 1000, 1000, 0.0, 0.05) == 0.0
    bound = guessing_bound(800, 1000, 1000, 0.0, 0.05)
    assert guessing_probability(800, 1000, 1000, bound, 0.0) == pytest.approx(0.05, rel=1e-3)
    assert guessing_bound(800, 1000, 1000, 2e-5, 0.05) < bound
    assert guessing_bound(800, 1000, 1000, 6e-5, 0.05) == 0.0  # m·δ uses up the confidence


def test_mu_from_below_is_part_of_the_interval():
    interval = mu_interval(700, 400, 1000, 0.04)
    assert float(mu_bound(0.02)(np.array(700), 1000, np.array(400), 1000)) == pytest.approx(interval.low)
