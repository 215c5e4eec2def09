"""The accountant against closed forms and golden values, and its properties."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InputError
from discreet.privacy.accounting import calibrate, delta_of, epsilon_of, gaussian_noise_multiplier
from discreet.privacy.spend import Spend


def laplace(scale, **more):
    return Spend(what="laplace", mechanism="laplace", norm="l1", sensitivity=1, scale=scale, **more)


def gaussian(scale, **more):
    return Spend(what="gaussian", mechanism="gaussian", norm="l2", sensitivity=1, scale=scale, **more)


def pure(epsilon, **more):
    return Spend(what="pure", mechanism="pure", norm="l1", sensitivity=1, scale=1 / epsilon, **more)


@pytest.mark.parametrize(
    ("epsilon", "delta", "mu"),
    [
        (1, 1e-4, 0.3139),
        (2, 1e-4, 0.5766),
        (5, 1e-4, 1.2564),
        (10, 1e-4, 2.1965),
        (1, 1e-6, 0.2367),
        (2, 1e-6, 0.4483),
        (5, 1e-6, 1.0204),
        (10, 1e-6, 1.8481),
        (20, 1e-6, 3.2354),
    ],
)
def test_gaussian_golden_values(epsilon, delta, mu):
    assert 1 / gaussian_noise_multiplier(epsilon, delta) == pytest.approx(mu, abs=6e-5)
    assert epsilon_of([gaussian(1 / mu)], delta) == pytest.approx(epsilon, rel=3e-4)


def test_composed_gaussians_golden_value():
    assert epsilon_of([gaussian(5.0, times=10)], 1e-6) == pytest.approx(2.9216, abs=1e-4)
    assert epsilon_of([gaussian(5.0)] * 10, 1e-6) == pytest.approx(2.9216, abs=1e-4)


@pytest.mark.parametrize(
    ("rate", "epsilon"), [(0.001, 0.186), (0.005, 1.028), (0.01, 2.125), (0.02, 4.445), (0.05, 12.24)]
)
def test_sampled_gaussian_golden_values(rate, epsilon):
    """Sigma 1, a thousand steps, delta 1e-6."""
    assert epsilon_of([gaussian(1.0, sampling_rate=rate, times=1000)], 1e-6) == pytest.approx(epsilon, rel=0.005)


@pytest.mark.parametrize(("epsilon", "times", "composed"), [(0.1, 100, 4.307), (0.15, 100, 6.882), (0.8, 52, 35.15)])
def test_optimal_composition_of_pure_steps(epsilon, times, composed):
    """Any pure mechanism at delta 1e-5."""
    assert epsilon_of([pure(epsilon, times=times)], 1e-5) == pytest.approx(composed, rel=0.002)


def test_pure_epsilon_adds():
    assert epsilon_of([laplace(2.0), laplace(4.0, times=3), pure(0.25)], 0.0) == pytest.approx(0.5 + 0.75 + 0.25)


def test_gaussian_noise_is_never_pure():
    assert epsilon_of([gaussian(100.0)], 0.0) == math.inf


@given(epsilon=st.floats(0.01, 5), rate=st.floats(0.001, 1))
def test_amplification_of_a_pure_step(epsilon, rate):
    amplified = pure(epsilon, sampling_rate=rate).pure_epsilon
    assert amplified == pytest.approx(math.log(1 + rate * (math.exp(epsilon) - 1)), rel=1e-9)
    assert rate * epsilon <= amplified * (1 + 1e-9) and amplified <= epsilon * (1 + 1e-9)


spends = st.one_of(
    st.builds(laplace, st.floats(1, 50), times=st.integers(1, 3)),
    st.builds(gaussian, st.floats(1, 50), times=st.integers(1, 3)),
    st.builds(pure, st.floats(0.02, 1)),
)


@given(before=st.lists(spends, max_size=2), extra=spends)
@settings(deadline=None, max_examples=20)
def test_composing_is_monotone(before, extra):
    assert epsilon_of([*before, extra], 1e-6) >= epsilon_of(before, 1e-6) - 1e-3
    assert epsilon_of([*before, extra], 1e-6) >= epsilon_of([extra], 1e-6) - 1e-3


@given(spend=spends, factor=st.floats(1, 5))
@settings(deadline=None, max_examples=20)
def test_more_noise_never_costs_more(spend, factor):
    from dataclasses import replace

    assert epsilon_of([replace(spend, scale=spend.scale * factor)], 1e-6) <= epsilon_of([spend], 1e-6) + 1e-3


@given(epsilon=st.floats(0.05, 10), delta=st.sampled_from([1e-8, 1e-6, 1e-4]))
@settings(deadline=None, max_examples=20)
def test_calibrate_then_compose_returns_to_the_asked_epsilon(epsilon, delta):
    def plan(noise):
        return [gaussian(noise), gaussian(2 * noise, times=2)]

    reached = epsilon_of(plan(calibrate(plan, epsilon, delta)), delta)
    assert 0.99 * epsilon <= reached <= epsilon


@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_calibrate_mixed_and_sampled_mechanisms(epsilon):
    def plan(noise):
        return [gaussian(noise, sampling_rate=0.1, times=20), laplace(5 * noise)]

    reached = epsilon_of(plan(calibrate(plan, epsilon, 1e-6)), 1e-6)
    assert 0.99 * epsilon <= reached <= epsilon


def test_delta_and_epsilon_are_inverse():
    plan = [gaussian(4.0), laplace(10.0)]
    epsilon = epsilon_of(plan, 1e-6)
    assert delta_of(plan, epsilon) == pytest.approx(1e-6, rel=0.01)


def test_a_sampler_that_is_off_costs_delta():
    clean, off = gaussian(4.0), gaussian(4.0, slack=1e-7)
    assert epsilon_of([off], 1e-6) > epsilon_of([clean], 1e-6)
    assert delta_of([laplace(1.0, slack=1e-20)], 1.0) == pytest.approx(1e-20 * (1 + math.e))


def test_a_delta_below_the_samplers_own_cannot_be_met():
    assert epsilon_of([laplace(1.0, slack=1e-20)], 1e-25) == math.inf
    assert epsilon_of([laplace(1.0, slack=1e-20)], 1e-19) == 1.0
    assert epsilon_of([gaussian(4.0, slack=1e-7)], 1e-8) == math.inf


def test_a_smaller_weight_pays_less():
    """At half the contribution a Gaussian release costs as with twice the noise."""
    assert epsilon_of([gaussian(4.0).for_weight(0.5)], 1e-6) == pytest.approx(epsilon_of([gaussian(8.0)], 1e-6))


@pytest.mark.parametrize(
    "bad",
    [
        {"scale": 0},
        {"scale": math.nan},
        {"sensitivity": -1},
        {"sampling_rate": 0},
        {"sampling_rate": 1.5},
        {"times": 0},
        {"norm": "l2"},
        {"mechanism": "magic"},
        {"slack": 1.0},
    ],
)
def test_impossible_spends_are_refused(bad):
    good = {"what": "x", "mechanism": "laplace", "norm": "l1", "sensitivity": 1, "scale": 1}
    with pytest.raises(InputError):
        Spend(**(good | bad))


def test_spends_survive_json():
    spend = gaussian(3.0, sampling_rate=0.1, times=7, slack=1e-20)
    assert Spend.from_json(spend.to_json()) == spend
