"""A ledger charges first, refuses what would overspend, and survives JSON."""

import json
import math
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InputError, OverspentError
from discreet.privacy.ledger import MOST_LINES, Ledger
from discreet.privacy.spend import Spend
from discreet.privacy.unit import Rating, User


def laplace(epsilon, what="counts"):
    return Spend(what=what, mechanism="laplace", norm="l1", sensitivity=1, scale=1 / epsilon)


GAUSSIAN = Spend(what="gram", mechanism="gaussian", norm="l2", sensitivity=1, scale=5.0)


def test_charges_until_the_limit_and_not_beyond():
    ledger = Ledger(epsilon=1.0)
    ledger.charge(laplace(0.4))
    ledger.charge(laplace(0.6))
    assert ledger.spent == pytest.approx(1.0)
    with pytest.raises(OverspentError, match=r"'one more' would bring the spending to epsilon 1.1, which is 0.1 over"):
        ledger.charge(laplace(0.1, "one more"))
    assert len(ledger.spends) == 2


def test_several_spends_are_booked_together_or_not_at_all():
    ledger = Ledger(epsilon=1.0)
    with pytest.raises(OverspentError):
        ledger.charge(laplace(0.6), laplace(0.6))
    assert ledger.spends == ()


def test_gaussian_noise_needs_delta():
    with pytest.raises(OverspentError, match="needs a delta above 0"):
        Ledger(epsilon=1.0).charge(GAUSSIAN)


@pytest.mark.parametrize("epsilon", [0, -1, math.inf, math.nan])
def test_impossible_epsilon(epsilon):
    with pytest.raises(InputError, match="epsilon must be positive and finite"):
        Ledger(epsilon=epsilon)


def test_an_epsilon_too_small_for_any_noise_or_too_large_for_any_promise_is_refused():
    with pytest.raises(InputError, match="epsilon 1e-300 is too small"):
        Ledger(epsilon=1e-300)
    with pytest.raises(InputError, match=r"epsilon 1e\+06 promises nothing"):
        Ledger(epsilon=1e6)


@pytest.mark.parametrize("delta", [-0.1, 1.0, 2.0, math.nan])
def test_impossible_delta(delta):
    with pytest.raises(InputError, match=r"delta must lie in \[0, 1\)"):
        Ledger(epsilon=1.0, delta=delta)


def test_impossible_units():
    with pytest.raises(InputError, match="max_ratings must be at least 1, got 0"):
        User(max_ratings=0)
    with pytest.raises(InputError, match="neighbours must be"):
        Rating(neighbours="cousins")


@given(costs=st.lists(st.floats(0.01, 0.5), max_size=8))
@settings(deadline=None)
def test_never_exceeds_the_limit(costs):
    ledger = Ledger(epsilon=1.0)
    for cost in costs:
        try:
            ledger.charge(laplace(cost))
        except OverspentError:
            assert ledger.spent + cost > 1.0
    assert ledger.spent <= 1.0 + 1e-9


@pytest.mark.parametrize("unit", [Rating(), Rating("replace"), User(), User(max_ratings=200, neighbours="replace")])
def test_survives_json(unit):
    ledger = Ledger(epsilon=2.0, delta=1e-6, unit=unit)
    ledger.charge(GAUSSIAN, laplace(0.1))
    again = Ledger.from_json(json.loads(json.dumps(ledger.to_json())))
    assert again.to_json() == ledger.to_json()
    assert again.unit == unit and again.spent == ledger.spent


@pytest.mark.parametrize("damage", [lambda d: d.pop("unit"), lambda d: d["spends"][0][0].update(colour="red")])
def test_damaged_json_is_refused(damage):
    ledger = Ledger(epsilon=2.0)
    ledger.charge(laplace(0.1))
    data = json.loads(json.dumps(ledger.to_json()))
    damage(data)
    with pytest.raises(InputError):
        Ledger.from_json(data)


def test_a_forged_ledger_that_exceeds_its_limit_is_refused():
    ledger = Ledger(epsilon=2.0)
    ledger.charge(laplace(1.5))
    with pytest.raises(OverspentError):
        Ledger.from_json(ledger.to_json() | {"epsilon": 1.0})


def test_threads_cannot_both_take_the_last_of_it():
    ledger = Ledger(epsilon=1.0)
    refused = []

    def take():
        try:
            ledger.charge(laplace(0.25))
        except OverspentError:
            refused.append(1)

    threads = [threading.Thread(target=take) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ledger.spends) == 4 and len(refused) == 8


def test_who_contributes_less_pays_less():
    ledger = Ledger(epsilon=2.0, delta=1e-6, unit=User())
    ledger.charge(GAUSSIAN)
    assert ledger.cost(weight=0.5) < 0.6 * ledger.spent


def test_what_was_not_planned_together_is_not_composed_as_if_it_were():
    """A pure step, and Gaussian noise that may depend on its answer: their epsilons add up."""
    from discreet.privacy.accounting import epsilon_of

    ledger = Ledger(epsilon=3.0, delta=1e-6)
    ledger.charge(laplace(1.0))
    ledger.charge(GAUSSIAN)
    apart = 1.0 + epsilon_of([GAUSSIAN], 0.999e-6)  # a thousandth of delta is set aside for the samplers
    assert ledger.spent == pytest.approx(apart, rel=1e-6)
    assert epsilon_of(ledger.spends, 1e-6) < apart


def test_sampling_does_not_amplify_replacement():
    ledger = Ledger(epsilon=3.0, delta=1e-6, unit=User(neighbours="replace"))
    sampled = Spend(what="s", mechanism="gaussian", norm="l2", sensitivity=1, scale=5.0, sampling_rate=0.1)
    with pytest.raises(InputError, match="not for replacing"):
        ledger.charge(sampled)


def test_an_epsilon_that_the_samplers_cannot_support_is_refused_by_its_name():
    ledger = Ledger(epsilon=1000.0, delta=1e-6)
    exact = Spend(what="sums", mechanism="gaussian", norm="l2", sensitivity=1, scale=0.01, slack=1e-25)
    with pytest.raises(
        OverspentError,
        match="cannot calibrate the noise of 'sums' at epsilon 1000 and delta 1e-06",
    ):
        ledger.charge(exact)


def test_a_ledger_longer_than_a_release_may_be_is_refused_before_anything_is_computed():
    ledger = Ledger(epsilon=1, delta=1e-6)
    looks = [Spend(what="a", mechanism="gaussian", norm="l2", sensitivity=1, scale=1e4)] * MOST_LINES
    ledger.charge(*looks)
    with pytest.raises(InputError, match=r"at most 1,000 lines, and this would be number 1,001"):
        ledger.charge(looks[0])
    with pytest.raises(InputError, match=r"at most 1,000 lines"):
        Ledger(epsilon=1, delta=1e-6).plan(*looks, looks[0])
    assert len(ledger.spends) == MOST_LINES
