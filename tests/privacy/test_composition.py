"""The filter: never over the limit, whatever the order; and what was planned never costs more than it counts."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.data.handling import Handling
from discreet.errors import OverspentError
from discreet.populations.calibration import calibrate_noise
from discreet.privacy.accounting import epsilon_of
from discreet.privacy.composition import SAMPLER_ODDS, Filter, composed_epsilon, filtered_epsilon
from discreet.privacy.gaussian import mu_of, mu_of_pure
from discreet.privacy.ledger import Ledger
from discreet.privacy.selection import pure_share
from discreet.privacy.spend import Spend
from discreet.privacy.unit import units_changed

DELTA = 1e-6


def pure(epsilon, **more):
    return Spend(what="pure", mechanism="pure", norm="l1", sensitivity=1, scale=1 / epsilon, **more)


def gaussian(mu, **more):
    return Spend(what="gaussian", mechanism="gaussian", norm="l2", sensitivity=mu, scale=1.0, **more)


pures = st.builds(pure, st.floats(0.001, 0.5), times=st.integers(1, 3), slack=st.sampled_from([0.0, 1e-28]))
gaussians = st.builds(gaussian, st.floats(0.001, 0.3), times=st.integers(1, 3))
batches = st.lists(st.lists(st.one_of(pures, gaussians), min_size=1, max_size=3).map(tuple), max_size=6)


def proven(batches, epsilon, delta):
    """The two phases by the letter: p of what came before the first Gaussian noise, and the sum of μ² after it."""
    p = mu_squared = 0.0
    switched = False
    for batch in batches:
        kinds = [spend.mechanism for spend in batch]
        for spend in batch:
            once = 1 / spend.noise_multiplier
            if spend.mechanism == "gaussian":
                mu_squared += spend.times * once**2
            elif switched:
                mu_squared += spend.times * mu_of_pure(once) ** 2
            else:
                p += spend.times * once
        switched = switched or "gaussian" in kinds
    most = mu_of(max(0.0, epsilon - p), delta) * (1 + 1e-6) + 1e-9
    return p <= epsilon * (1 + 1e-8) and math.sqrt(mu_squared) <= most


@given(batches=batches)
@settings(max_examples=60)
def test_nothing_over_the_limit_is_accepted(batches):
    ledger = Ledger(1.0, DELTA)
    taken = []
    for batch in batches:
        try:
            ledger.charge(*batch)
        except OverspentError:
            assert filtered_epsilon([*taken, batch], DELTA, 1.0) > 1.0
            continue
        taken.append(batch)
        assert proven(taken, 1.0, DELTA)
        assert ledger.spent == filtered_epsilon(taken, DELTA, 1.0) <= 1.0 + 1e-9
    assert composed_epsilon(ledger.spends, DELTA) <= ledger.spent * (1 + 1e-9)
    again = Ledger.from_json(ledger.to_json())
    assert again.to_json() == ledger.to_json() and again.spent == ledger.spent


@given(spends=st.one_of(st.lists(pures, max_size=6), st.lists(gaussians, max_size=6)), random=st.randoms())
def test_the_order_does_not_matter_among_one_kind(spends, random):
    shuffled = list(spends)
    random.shuffle(shuffled)
    one, other = ([[spend] for spend in order] for order in (spends, shuffled))
    assert filtered_epsilon(one, DELTA) == pytest.approx(filtered_epsilon(other, DELTA), rel=1e-12)
    assert filtered_epsilon([spends], DELTA) == pytest.approx(filtered_epsilon(one, DELTA), rel=1e-12)


@given(batches=batches)
@settings(max_examples=60)
def test_a_plan_costs_no_more_than_the_same_spends_chosen_on_the_way(batches):
    spends = [spend for batch in batches for spend in batch]
    together = composed_epsilon(spends, DELTA)
    assert together <= filtered_epsilon(batches, DELTA) * (1 + 1e-12)
    ledger = Ledger(100.0, DELTA)
    ledger.plan(*spends)
    for spend in spends:
        ledger.charge(spend)
    assert ledger.spent == together and ledger.spends == tuple(spends)
    with pytest.raises(OverspentError, match="is not what was planned next"):
        ledger.charge(pure(0.1))


@given(spends=st.lists(st.one_of(pures, gaussians), min_size=1, max_size=3))
@settings(max_examples=15)
def test_a_plan_costs_at_least_what_is_true(spends):
    """Against the distribution of the privacy loss, which is exact but for its rounding."""
    assert composed_epsilon(spends, DELTA) >= epsilon_of(spends, DELTA) * (1 - 1e-3) - 1e-3


def test_many_small_pure_looks_after_gaussian_noise_count_as_gaussian():
    small = [pure(0.01)] * 200
    ledger = Ledger(2.0, DELTA)
    ledger.charge(gaussian(0.01))
    for spend in small:
        ledger.charge(spend)
    assert ledger.spent < 1.0  # where they add up to 2
    with pytest.raises(OverspentError):
        Ledger(1.5).charge(*small)
    assert composed_epsilon(ledger.spends, DELTA) <= ledger.spent * (1 + 1e-12)


# ── Noise on samples ──

SAMPLED = gaussian(1.0, sampling_rate=0.01, times=100)


def test_sampled_noise_takes_half_of_delta_and_adds_up():
    half, quarter = (epsilon_of([SAMPLED], DELTA * 0.999 / part) for part in (2, 4))
    assert filtered_epsilon([[SAMPLED]], DELTA) == half
    assert filtered_epsilon([[SAMPLED], [pure(0.5)], [SAMPLED]], DELTA) == pytest.approx(half + 0.5 + quarter)
    last = epsilon_of([gaussian(0.2)], DELTA * 0.999 / 2)
    assert filtered_epsilon([[SAMPLED], [gaussian(0.2)]], DELTA) == pytest.approx(half + last)


def test_sampled_noise_after_gaussian_counts_with_the_mu_of_its_epsilon():
    aside = epsilon_of([SAMPLED], DELTA * 0.0005 / 2)
    counted = Filter(epsilon=20.0, delta=DELTA).after([gaussian(0.2)]).after([SAMPLED])
    assert counted.mu_squared == pytest.approx(0.04 + mu_of_pure(aside) ** 2)
    assert counted.spent == filtered_epsilon([[gaussian(0.2)], [SAMPLED]], DELTA, 20.0)


def test_sampled_steps_that_are_planned_together_cost_least():
    together = composed_epsilon([SAMPLED, SAMPLED, pure(0.1)], DELTA)
    assert epsilon_of([SAMPLED, SAMPLED], DELTA * 0.999) < together
    assert together <= 0.1 + epsilon_of([SAMPLED, SAMPLED], DELTA * 0.999)
    assert together < filtered_epsilon([[SAMPLED], [SAMPLED], [pure(0.1)]], DELTA)
    assert composed_epsilon([SAMPLED], 0.0) == filtered_epsilon([[SAMPLED]], 0.0) == math.inf


# ── Samplers ──


def test_samplers_have_their_own_part_of_delta():
    ledger = Ledger(1.0, DELTA)
    ledger.charge(replace(gaussian(0.01), slack=1e-10))
    with pytest.raises(OverspentError, match="sampler error exceeds delta"):
        ledger.charge(replace(gaussian(0.01), slack=1e-10))
    without = Ledger(1.0)
    without.charge(replace(pure(0.1), slack=SAMPLER_ODDS / 2))
    assert without.sampler_delta == pytest.approx(SAMPLER_ODDS * (1 + math.e))
    with pytest.raises(OverspentError, match="sampler error exceeds delta"):
        without.charge(replace(pure(0.1), slack=SAMPLER_ODDS))
    planned = Ledger(1.0)
    planned.plan(replace(pure(0.5), slack=1e-15))
    assert planned.sampler_delta == pytest.approx(1e-15 * (1 + math.exp(0.5)))


# ── What populations plan is accepted, up to the limit ──


def asked(noise):
    bounds = {
        "laplace": (dc.Bound("rating", "l1", 2.0),),
        "gaussian": (dc.Bound("rating", "l2", 1.3), dc.Bound("user", "l2", 1.7)),
    }
    return dc.Contribution(noise, (50, 40), lambda part: np.zeros((50, 40)), bounds[noise])


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 7.0, 20.0])
@pytest.mark.parametrize("shares", [(1.0,), (0.3, 0.7), (0.1, 0.2, 0.7), (1 / 3, 1 / 3, 1 / 3), (0.1,) * 10])
@pytest.mark.parametrize("delta", [1e-4, 1e-6, 1e-12])
def test_shares_fill_a_ledger_exactly(epsilon, shares, delta):
    for unit, noises in (
        (dc.Rating(), ["laplace"] * len(shares)),
        (dc.User(), ["gaussian"] * len(shares)),
        (dc.Rating(), ["laplace"] * (len(shares) - 1) + ["gaussian"]),  # as CovarianceKNN asks
    ):
        ledger = dc.Ledger(epsilon, delta, unit)
        for noise, share in zip(noises, shares, strict=True):
            ledger.charge(calibrate_noise(asked(noise), share, ledger, None, Handling()).spend)
        assert epsilon * (1 - 1e-6) <= ledger.spent <= epsilon * (1 + 1e-9)
        planned = dc.Ledger(epsilon, delta, unit)
        planned.plan(*ledger.spends)
        assert planned.spent <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_a_pure_share_fits_before_and_after_gaussian_noise(share):
    for first in ("pure", "gaussian"):
        ledger = dc.Ledger(1.0, DELTA, dc.User())
        for kind in (first, "gaussian" if first == "pure" else "pure"):
            if kind == "pure":
                ledger.charge(pure(pure_share(ledger, share)))
            else:
                ledger.charge(calibrate_noise(asked("gaussian"), 1 - share, ledger, None, Handling()).spend)
        assert 0.99 <= ledger.spent <= 1.0 + 1e-9


# ── Units ──

UNITS = [dc.Rating(), dc.Rating("replace"), dc.User(), dc.User(neighbours="replace")]


def neighbours_of(data, unit):
    """All data sets next to one, where items are A and B, values 1 and 2, and a user gives at most one of each."""
    histories = [{}, *({item: value} for item in "AB" for value in (1, 2))]
    histories += [{"A": one, "B": two} for one in (1, 2) for two in (1, 2)]
    for user, history in data.items():
        rest = {name: given for name, given in data.items() if name != user}
        if unit.name == "user":
            yield from [rest] if unit.neighbours == "add-or-remove" else [rest | {user: other} for other in histories]
        for item in "AB" if unit.name == "rating" else "":
            other = {name: value for name, value in history.items() if name != item}
            if unit.neighbours == "replace" and item in history:
                yield rest | {user: other | {item: 3 - history[item]}}
            elif unit.neighbours == "add-or-remove" and item in history:
                yield rest | {user: other}
            elif unit.neighbours == "add-or-remove":
                yield from (rest | {user: history | {item: value}} for value in (1, 2))
    if unit == dc.User():
        yield from (data | {f"{len(data)}": other} for other in histories)


@pytest.mark.parametrize("kept", UNITS, ids=str)
@pytest.mark.parametrize("counted", UNITS, ids=str)
def test_how_many_units_change_by_brute_force(kept, counted):
    """The distance between neighbours of one kind in steps of the other, on all small worlds that can be reached."""
    start = {"0": {"A": 1, "B": 2}}
    farthest = 0
    for goal in map(_key, neighbours_of(start, kept)):
        reached, steps = {_key(start)}, 0
        while goal not in reached and steps < 3:
            reached |= {_key(other) for one in reached for other in neighbours_of(_data(one), counted)}
            steps += 1
        farthest = max(farthest, steps if goal in reached else 99)
    changed = units_changed(kept, counted)
    if changed is None:  # of any number of ratings some are out of reach, or all of them one by one
        assert farthest > 1
    else:
        assert farthest == changed


def _key(data):
    """Users have no names: who left and came back is the same user."""
    return tuple(sorted(tuple(sorted(history.items())) for history in data.values()))


def _data(key):
    return {str(place): dict(history) for place, history in enumerate(key)}
