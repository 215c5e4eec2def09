"""Personal epsilons: everybody pays what they wished, and nobody more."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import discreet as dc
from discreet.errors import InputError
from discreet.privacy.guarantee import Loss
from discreet.privacy.personal import draw_sample, paid_by, rates_for, weights_for
from discreet.privacy.randomness import Randomness

epsilons = st.lists(st.floats(0.01, 12), min_size=1, max_size=6).map(np.array)


@given(epsilons=epsilons, base=st.floats(0.05, 10))
def test_sampling_pays_the_wish_exactly_and_never_above_the_base(epsilons, base):
    for epsilon, rate in zip(epsilons, rates_for(epsilons, base), strict=True):
        paid = paid_by(rate, Loss(base)).epsilon
        assert paid <= min(epsilon, base) * (1 + 1e-12)
        assert paid == pytest.approx(min(epsilon, base), rel=1e-9)


@given(epsilons=epsilons, base=st.floats(0.05, 10))
def test_who_wishes_for_more_privacy_takes_part_less(epsilons, base):
    order = np.sort(epsilons)
    assert (np.diff(rates_for(order, base)) >= 0).all()
    assert (np.diff(weights_for(order, base)) >= 0).all()
    assert ((rates_for(order, base) > 0) & (rates_for(order, base) <= 1)).all()


def test_large_epsilons_do_not_overflow():
    rates = rates_for(np.array([1.0, 900.0, 2000.0]), 1000.0)
    assert rates[0] == 0 or 0 < rates[0] < 1e-300
    assert rates[1] == pytest.approx(math.exp(-100), rel=1e-9) and rates[2] == 1


def test_the_proof_of_sampling_by_brute_force():
    """Randomised response on one bit, after sampling: the odds of both answers, both ways round."""
    base = 1.3
    keep = math.exp(base) / (1 + math.exp(base))  # odds to answer truly; without the unit the answer is 0's
    for epsilon in (0.1, 0.7, 1.3):
        rate = rates_for(np.array([epsilon]), base)[0]
        without = np.array([keep, 1 - keep])
        within = rate * np.array([1 - keep, keep]) + (1 - rate) * without
        losses = np.abs(np.log(within / without))
        assert losses.max() == pytest.approx(epsilon, rel=1e-6)
        assert losses.max() <= epsilon


@given(epsilons=epsilons, base=st.floats(0.05, 10))
def test_weights_of_laplace_noise(epsilons, base):
    ledger = dc.Ledger(epsilon=base)
    ledger.charge(dc.privacy.Spend(what="sum", mechanism="laplace", norm="l1", sensitivity=3.0, scale=3.0 / base))
    for epsilon, weight in zip(epsilons, weights_for(epsilons, base), strict=True):
        assert ledger.cost(weight) <= min(epsilon, base) * (1 + 1e-12)
        assert ledger.cost(weight) == pytest.approx(min(epsilon, base), rel=1e-6)


@pytest.mark.parametrize("base", [0.5, 2.0, 8.0])
def test_weights_of_gaussian_noise_that_populations_add(base):
    """Round trip: the noise is fitted to the base, and each weight costs its epsilon, within 1% below."""
    ratings = dc.synthetic(users=20, items=10, ratings=100, seed=1)
    ledger = dc.Ledger(epsilon=base, delta=1e-6, unit=dc.User())
    server = dc.TrustedServer(ratings, ledger)
    for share in (0.3, 0.7):
        server.sum(dc.Contribution("x", (2,), lambda part: np.ones(2), (dc.Bound("user", "l2", 2.0),)), share)
    wishes = np.array([0.1, 0.4, 1.0, 5.0, 20.0])
    for epsilon, weight in zip(wishes, weights_for(wishes, base, 1e-6), strict=True):
        assert 0.99 * min(epsilon, base) <= ledger.cost(weight) <= min(epsilon, base)


def test_the_sample_has_its_rates():
    rates = np.tile([0.1, 0.5, 1.0], 20_000)
    taken = draw_sample(rates, Randomness(seed=1)).reshape(-1, 3).sum(axis=0)
    assert taken[2] == 20_000
    for count, rate in zip(taken[:2].tolist(), (0.1, 0.5), strict=True):
        assert stats.binomtest(count, 20_000, rate).pvalue > 1e-9
        assert stats.binomtest(count, 20_000, 0.7 * rate).pvalue < 1e-20
    assert (draw_sample(rates) != draw_sample(rates)).any()


def test_delta_is_paid_at_the_same_rate():
    assert paid_by(0.25, Loss(1.0, 1e-6)).delta == pytest.approx(2.5e-7)


@given(epsilon=st.floats(0.01, 3), base=st.floats(0.01, 3), size=st.integers(1, 5))
def test_a_group_of_sampled_ratings_pays_no_more_than_together(epsilon, base, size):
    """Group privacy: a user whose ratings are sampled one by one."""
    rate = rates_for(np.array([epsilon]), base)[0]
    alone = paid_by(rate, Loss(base))
    assert alone.for_group(size).epsilon <= size * min(epsilon, base) * (1 + 1e-9)
    assert alone.for_group(size).epsilon <= Loss(base).for_group(size).epsilon * (1 + 1e-9)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: weights_for(np.array([1.0, -1.0]), 1.0),
        lambda: weights_for(np.array([]), 1.0),
        lambda: weights_for(np.array([1.0]), 1.0, delta=1.0),
        lambda: rates_for(np.array([1.0]), 0.0),
        lambda: rates_for(np.array([math.inf]), 1.0),
        lambda: paid_by(0.0, Loss(1.0)),
        lambda: draw_sample(np.array([0.5, 1.5])),
    ],
)
def test_impossible_wishes_are_refused(wrong):
    with pytest.raises(InputError):
        wrong()
