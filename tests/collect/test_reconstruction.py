"""The attack: what it recovers, checked against counting and against what is known of MovieLens 100K."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.collect.reconstruction import MOVIELENS
from discreet.errors import InputError

SCALE = dc.Scale(1, 5)
LEVELS = np.array(list(MOVIELENS), dtype=float)
SHARES = np.array(list(MOVIELENS.values()), dtype=float) / sum(MOVIELENS.values())
MECHANISMS = [
    dc.collect.UniformNoise(gamma=1.0),
    dc.collect.UniformNoise(gamma=2.5),
    dc.collect.RandomisedResponse(epsilon=1.0),
    dc.collect.Piecewise(epsilon=2.0),
]


@pytest.mark.parametrize(
    ("gamma", "accuracy", "certain"),
    [
        (0.5, 1.00, 1.000),
        (1.0, 0.67, 0.136),
        (1.5, 0.56, 0.091),
        (2.0, 0.51, 0.069),
        (2.5, 0.47, 0.055),
        (3.0, 0.45, 0.046),
        (3.5, 0.44, 0.039),
    ],
)
def test_what_uniform_noise_gives_away_on_movielens(gamma, accuracy, certain):
    risk = dc.collect.risk_of(dc.collect.UniformNoise(gamma=gamma))
    assert risk.blind == pytest.approx(0.342, abs=0.0005)
    assert risk.accuracy == pytest.approx(accuracy, abs=0.0051)
    assert risk.certain == pytest.approx(certain, abs=0.001)
    if gamma > 0.5:  # only the outermost 1 / 2γ of what is sent for the lowest and the highest rating is theirs alone
        assert risk.certain == pytest.approx((SHARES[0] + SHARES[-1]) / (2 * gamma), abs=1e-6)


def test_the_histogram_is_that_of_movielens(ml_100k):
    values, counts = np.unique(ml_100k.values, return_counts=True)
    assert dict(zip(values.tolist(), counts.tolist(), strict=True)) == MOVIELENS


@given(st.lists(st.integers(1, 5), min_size=1, max_size=50), st.floats(0, 0.4999))
def test_whole_ratings_are_recovered_for_certain_below_one_half(ratings, gamma):
    mechanism = dc.collect.UniformNoise(gamma=gamma)
    sent = mechanism.channel(SCALE).perturb(np.array(ratings), dc.Randomness(seed=1))
    found = dc.collect.reconstruct(mechanism, sent)
    assert found.guesses.tolist() == ratings
    assert (found.certainty == 1).all()
    assert np.rint(sent).tolist() == ratings
    assert dc.collect.risk_of(mechanism).certain == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_the_attack_is_right_as_often_as_computed(mechanism):
    ratings = np.random.default_rng(1).choice(LEVELS, p=SHARES, size=40_000)
    sent = mechanism.channel(SCALE).perturb(ratings, dc.Randomness(seed=1))
    found, risk = dc.collect.reconstruct(mechanism, sent), dc.collect.risk_of(mechanism)
    error = 5 * 0.5 / math.sqrt(len(ratings))
    assert (found.guesses == ratings).mean() == pytest.approx(risk.accuracy, abs=error)
    assert found.certainty.mean() == pytest.approx(risk.accuracy, abs=error)
    assert (found.certainty == 1).mean() == pytest.approx(risk.certain, abs=error)
    assert risk.accuracy >= risk.blind


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_the_posterior_is_that_of_bayes(mechanism):
    channel = mechanism.channel(SCALE)
    sent = channel.perturb(np.repeat(LEVELS, 20), dc.Randomness(seed=2))
    found = dc.collect.reconstruct(mechanism, sent)
    for value, posterior in zip(sent, found.posterior, strict=True):
        output = channel.outputs(np.array([value]))
        joint = [
            share * channel.law.odds(output, int(channel.secrets(np.array([level]))[0]))[0]
            for level, share in zip(LEVELS, SHARES, strict=True)
        ]
        np.testing.assert_allclose(posterior, np.array(joint) / sum(joint), atol=1e-12)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
@pytest.mark.parametrize("kind", [dc.collect.RandomisedResponse, dc.collect.Piecewise])
def test_local_privacy_bounds_every_posterior(kind, epsilon):
    mechanism = kind(epsilon=epsilon)
    sent = mechanism.channel(SCALE).perturb(np.repeat(LEVELS, 200), dc.Randomness(seed=3))
    posterior = dc.collect.reconstruct(mechanism, sent).posterior
    odds = posterior / (1 - posterior)
    assert (odds <= SHARES / (1 - SHARES) * math.exp(epsilon) * (1 + 1e-9)).all()
    assert dc.collect.risk_of(mechanism).certain == 0


def test_more_noise_gives_less_away():
    risks = [dc.collect.risk_of(dc.collect.UniformNoise(gamma=gamma)).accuracy for gamma in np.arange(0.5, 4, 0.25)]
    assert risks == sorted(risks, reverse=True)


def test_a_value_that_no_rating_leads_to_says_nothing():
    found = dc.collect.reconstruct(dc.collect.UniformNoise(gamma=0.2), np.array([1.5]))
    np.testing.assert_allclose(found.posterior[0], SHARES)


def test_a_prior_must_be_one():
    for prior in ({1: 1.0}, {1: 1.0, 2: -1.0}, {1: 0.0, 2: 0.0}, {1: math.nan, 2: 1.0}):
        with pytest.raises(InputError, match="a prior gives each"):
            dc.collect.risk_of(dc.collect.UniformNoise(gamma=1), prior)
