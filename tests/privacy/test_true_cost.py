"""What fits with large epsilons claim beside what dp-accounting makes of their noise, sampler error included."""

import math

import dp_accounting
import pytest

import discreet as dc
from discreet.errors import OverspentError
from discreet.privacy.spend import Spend

RATINGS = dc.synthetic(users=80, items=30, ratings=1500, seed=1)
UNITS = {"user": dc.User(), "rating": dc.Rating()}
EVENTS = {"gaussian": dp_accounting.GaussianDpEvent, "laplace": dp_accounting.LaplaceDpEvent}


def true_epsilon(spends, delta, claimed):
    """By the library's accountant, at what samplers leave of delta."""
    accountant = dp_accounting.pld.PLDAccountant(value_discretization_interval=1e-3)
    for spend in spends:
        accountant.compose(EVENTS[spend.mechanism](spend.noise_multiplier), spend.times)
    odds = math.fsum(spend.slack * spend.times for spend in spends)
    return accountant.get_epsilon(delta - (odds + odds * math.exp(claimed)))


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("delta", [1e-6, 1e-9])
@pytest.mark.parametrize("epsilon", [27.0, 50.0])
@pytest.mark.parametrize("model", [dc.Bias(), dc.Almanac()], ids=repr)
def test_a_claim_bounds_what_the_noise_costs(model, epsilon, delta, unit):
    release = model.fit(dc.TrustedServer(RATINGS, dc.Ledger(epsilon, delta, UNITS[unit])))
    proven = release.guarantee.proven
    assert (proven.epsilon, proven.delta) == (pytest.approx(epsilon, rel=1e-3), delta)
    # The library rounds losses up to its grid, for each look anew.
    assert true_epsilon(release.spends, delta, proven.epsilon) <= proven.epsilon + 1e-3 * (1 + len(release.spends))


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("delta", [1e-6, 1e-9])
@pytest.mark.parametrize("limit", [27.0, 30.0, 50.0, 100.0, 300.0])
def test_an_account_with_a_large_limit_pays_for_fits_that_choose_on_the_way(limit, delta, unit, tmp_path):
    budget = dc.Budget(tmp_path / "budget.sqlite")
    budget.declare("films", epsilon=limit, delta=delta, unit=UNITS[unit])
    spends = []
    for number, epsilon in enumerate((1.0, limit / 3)):
        ledger = dc.Ledger(epsilon, delta, UNITS[unit])
        server = dc.TrustedServer(RATINGS, ledger, account="films", budget=budget)
        release = dc.spend_and_release(dc.Almanac(), server, tmp_path / str(number))
        assert release.guarantee.proven.epsilon == pytest.approx(epsilon, rel=1e-3)
        spends += release.spends
    spent = budget.account("films").spent
    assert limit / 3 < spent <= limit
    assert true_epsilon(spends, delta, limit) <= spent + 1e-3 * (1 + len(spends))
    ledger = dc.Ledger(limit, delta, UNITS[unit])
    with pytest.raises(OverspentError, match="over the limit"):
        server = dc.TrustedServer(RATINGS, ledger, account="films", budget=budget)
        dc.spend_and_release(dc.Almanac(), server, tmp_path / "more")


@pytest.mark.parametrize("unit", UNITS)
def test_an_account_pays_for_one_fit_with_all_of_a_large_limit(unit, tmp_path):
    budget = dc.Budget(tmp_path / "budget.sqlite")
    budget.declare("films", epsilon=50, delta=1e-6, unit=UNITS[unit])
    server = dc.TrustedServer(RATINGS, dc.Ledger(50.0, 1e-6, UNITS[unit]), account="films", budget=budget)
    dc.spend_and_release(dc.Almanac(), server, tmp_path / "release")
    assert 0 < budget.account("films").spent <= 50 * (1 + 1e-9)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_mechanism_that_is_off_with_odds_is_refused_where_e_to_the_epsilon_makes_much_of_them(delta):
    """Also at an epsilon of which no double holds the power."""
    for epsilon, granted in ((1.0, True), (1000.0, False)):
        ledger = dc.Ledger(epsilon, delta)
        off = Spend(what="sums", mechanism="pure", norm="l1", sensitivity=1, scale=2 / epsilon, slack=1e-310)
        if granted:
            ledger.charge(off)
            continue
        with pytest.raises(OverspentError, match=r"'sums' at epsilon 1000.*sampler error exceeds delta"):
            ledger.charge(off)


def test_without_a_plan_and_a_delta_next_to_none_remains_whatever_the_epsilon():
    ledger = dc.Ledger(60.0)
    dc.Almanac().fit(server := dc.TrustedServer(RATINGS, ledger))
    assert server.guarantee.proven.epsilon <= 60.0 and server.guarantee.proven.delta <= 1e-12
