"""The ledger's accountant beside others: dp-accounting's own, and Opacus's, which is independent code."""

import dp_accounting
import pytest

from discreet.privacy.accounting import epsilon_of
from discreet.privacy.spend import Spend

DELTA = 1e-6

# Printed by benchmarks/accounting.py with the PRV accountant of Opacus 1.6.0 (torch 2.13.0): sigma, sampling rate,
# steps, epsilon at delta 1e-6. Its errors were set to a 500th of epsilon and a 1000th of delta.
OPACUS = [
    (0.8, 0.001, 1000, 0.468706),
    (0.8, 0.01, 100, 2.019041),
    (0.8, 0.01, 1000, 3.713843),
    (0.8, 0.05, 200, 8.883891),
    (0.8, 0.2, 50, 17.173349),
    (1.0, 0.001, 1000, 0.185904),
    (1.0, 0.01, 100, 0.956237),
    (1.0, 0.01, 1000, 2.128891),
    (1.0, 0.05, 200, 5.497136),
    (1.0, 0.2, 50, 11.511338),
    (2.0, 0.001, 1000, 0.061266),
    (2.0, 0.01, 100, 0.228447),
    (2.0, 0.01, 1000, 0.722399),
    (2.0, 0.05, 200, 1.795734),
    (2.0, 0.2, 50, 3.982559),
    (5.0, 0.001, 1000, 0.021030),
    (5.0, 0.01, 100, 0.074695),
    (5.0, 0.01, 1000, 0.249540),
    (5.0, 0.05, 200, 0.599212),
    (5.0, 0.2, 50, 1.286860),
]


def ours(sigma, rate, times):
    spend = Spend(
        what="step", mechanism="gaussian", norm="l2", sensitivity=1, scale=sigma, sampling_rate=rate, times=times
    )
    return epsilon_of([spend], DELTA)


@pytest.mark.parametrize(("sigma", "rate", "times", "epsilon"), OPACUS)
def test_agrees_with_opacus_to_two_percent(sigma, rate, times, epsilon):
    assert ours(sigma, rate, times) == pytest.approx(epsilon, rel=0.02)


@pytest.mark.parametrize(("sigma", "rate", "times", "epsilon"), OPACUS[::3])
def test_agrees_with_the_accountants_of_the_library(sigma, rate, times, epsilon):
    """PLD to 2%; RDP is an upper bound, never below, and within a tenth where many steps make it tight."""
    step = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(sigma))
    pld = dp_accounting.pld.PLDAccountant().compose(step, times).get_epsilon(DELTA)
    rdp = dp_accounting.rdp.RdpAccountant().compose(step, times).get_epsilon(DELTA)
    assert ours(sigma, rate, times) == pytest.approx(pld, rel=0.02)
    assert rdp >= ours(sigma, rate, times)
    if rate >= 0.05:
        assert rdp <= 1.12 * ours(sigma, rate, times)


@pytest.mark.parametrize("sigma", [0.7, 2.0, 30.0])
@pytest.mark.parametrize("times", [1, 40])
def test_without_sampling_all_agree(sigma, times):
    event = dp_accounting.GaussianDpEvent(sigma)
    pld = dp_accounting.pld.PLDAccountant().compose(event, times).get_epsilon(DELTA)
    assert ours(sigma, 1.0, times) == pytest.approx(pld, rel=0.02)
    assert ours(sigma, 1.0, times) <= pld * (1 + 1e-9)
