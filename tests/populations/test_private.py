"""Populations that hide: what they charge, how much noise they add, what they promise."""

import math
import os
from dataclasses import replace

import numpy as np
import pytest

import discreet as dc
from discreet.errors import InputError, OverspentError
from discreet.populations.calibration import FLOAT_MARGIN

RATINGS = dc.synthetic(users=40, items=30, ratings=500, seed=1)
COUNTS = dc.Contribution(
    "counts",
    (30,),
    lambda ratings: np.bincount(ratings.item_index, minlength=30),
    (dc.Bound("rating", "l1", 1.0, cells=1), dc.Bound("rating", "l2", 1.0, cells=1)),
)
UNBOUNDED = dc.Contribution("squares", (1,), lambda ratings: np.array([(ratings.values**2).sum()]))
EXACT = COUNTS.total(RATINGS)
POPULATIONS = [dc.TrustedServer, dc.LocalDevices]
every_population = pytest.mark.parametrize("population", POPULATIONS)


@every_population
def test_charges_the_share_it_was_asked_for(population):
    ledger = dc.Ledger(epsilon=2.0)
    asked = population(RATINGS, ledger)
    asked.sum(COUNTS, share=0.25)
    assert ledger.spent == pytest.approx(0.5)
    asked.sum(COUNTS, share=0.75)
    assert ledger.spent == pytest.approx(2.0)
    with pytest.raises(OverspentError):
        asked.sum(COUNTS, share=0.01)


def test_shares_of_gaussian_noise_add_up_to_the_limit():
    ledger = dc.Ledger(epsilon=2.0, delta=1e-6)
    server = dc.TrustedServer(RATINGS, ledger, noise="gaussian")
    for share in (0.1, 0.2, 0.3, 0.4):
        server.sum(COUNTS, share=share)
    assert 0.99 * 2.0 <= ledger.spent <= 2.0
    with pytest.raises(OverspentError):
        server.sum(COUNTS, share=0.01)


@every_population
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_what_is_no_number_is_not_released_as_one(population, wrong):
    broken = dc.Contribution("broken", (1,), lambda ratings: np.array([wrong]), (dc.Bound("rating", "l1", 1.0),))
    ledger = dc.Ledger(epsilon=1.0)
    with pytest.raises(InputError, match="'broken' of a user without ratings is no finite number"):
        population(RATINGS, ledger).sum(broken)
    assert ledger.spends == ()


@every_population
def test_refuses_before_it_computes(population):
    looked = []
    spying = dc.Contribution(
        "spy", (1,), lambda ratings: looked.extend(ratings.values) or np.zeros(1), (dc.Bound("rating", "l1", 1.0),)
    )
    ledger = dc.Ledger(epsilon=1.0)
    ledger.charge(dc.privacy.Spend(what="before", mechanism="laplace", norm="l1", sensitivity=1, scale=1.25))
    with pytest.raises(OverspentError):
        population(RATINGS, ledger).sum(spying, share=0.5)
    assert looked == []
    assert len(ledger.spends) == 1


@every_population
def test_refuses_what_has_no_bound_for_the_unit(population):
    ledger = dc.Ledger(epsilon=1.0)
    with pytest.raises(InputError, match="'squares' has no proven bound for the unit rating"):
        population(RATINGS, ledger).sum(UNBOUNDED)
    with pytest.raises(InputError, match="'counts' has no proven bound for the unit user"):
        population(RATINGS, dc.Ledger(1.0, 1e-6, dc.User(neighbours="replace"))).sum(COUNTS)
    assert ledger.spends == ()


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_the_noise_of_a_server_has_the_deviation_it_says(noise):
    """2,700 draws: a deviation 30% off lies more than 15 standard errors away."""
    samples = []
    for seed in range(90):
        server = dc.TrustedServer(RATINGS, dc.Ledger(1.0, 1e-6), noise=noise, randomness=dc.Randomness(seed))
        samples.append(server.sum(COUNTS) - EXACT)
    said = dc.TrustedServer(RATINGS, dc.Ledger(1.0, 1e-6), noise=noise).deviation(COUNTS)
    assert np.std(samples) == pytest.approx(said, rel=0.15)
    expected = math.sqrt(2) if noise == "laplace" else 1 / 0.2367
    assert said == pytest.approx(expected, rel=0.01)


def test_the_noise_of_devices_adds_up():
    samples = []
    for seed in range(30):
        devices = dc.LocalDevices(RATINGS, dc.Ledger(1.0), randomness=dc.Randomness(seed))
        samples.append(devices.sum(COUNTS) - EXACT)
    said = dc.LocalDevices(RATINGS, dc.Ledger(1.0)).deviation(COUNTS)
    assert said == pytest.approx(math.sqrt(2 * 40), rel=0.01)
    assert np.std(samples) == pytest.approx(said, rel=0.15)
    assert abs(np.mean(samples)) < 6 * said / math.sqrt(900)


def test_replacing_needs_twice_the_noise_of_adding_or_removing():
    once = dc.TrustedServer(RATINGS, dc.Ledger(1.0)).deviation(COUNTS)
    twice = dc.TrustedServer(RATINGS, dc.Ledger(1.0, unit=dc.Rating("replace"))).deviation(COUNTS)
    assert twice == pytest.approx(2 * once, rel=1e-4)


def test_a_device_that_could_hold_another_history_needs_twice_the_noise():
    bounded = dc.Contribution("one", (1,), lambda ratings: np.ones(1), (dc.Bound("user", "l2", 1.0),))
    server = dc.TrustedServer(RATINGS, dc.Ledger(1.0, 1e-6, dc.User()))
    devices = dc.LocalDevices(RATINGS, dc.Ledger(1.0, 1e-6, dc.User(neighbours="replace")))
    assert devices.deviation(bounded) == pytest.approx(2 * math.sqrt(40) * server.deviation(bounded), rel=1e-4)


@every_population
def test_answers_lie_on_the_lattice(population):
    answer = population(RATINGS, dc.Ledger(1.0)).sum(COUNTS)
    step = 2.0**-28
    np.testing.assert_array_equal(answer / step, np.rint(answer / step))


@every_population
def test_promises_what_the_ledger_says(population):
    asked = population(RATINGS, dc.Ledger(1.0))
    asked.sum(COUNTS, share=0.5)
    guarantee = asked.guarantee
    assert guarantee.proven.epsilon == 1.0  # not 0.5: whether to ask again was decided after seeing the answer
    assert 0 < guarantee.proven.delta < 1e-20  # the samplers' own
    assert ("the recommender" in guarantee.protects_from) == (population is dc.LocalDevices)


@every_population
def test_seeded_noise_promises_nothing(population):
    guarantee = population(RATINGS, dc.Ledger(1.0), randomness=dc.Randomness(seed=1)).guarantee
    assert guarantee.proven is None and guarantee.seeded
    assert "seeded" in str(guarantee)


@every_population
def test_tuning_that_was_not_paid_for_promises_nothing(population):
    guarantee = population(RATINGS, dc.Ledger(1.0), tuning="unpaid").guarantee
    assert guarantee.proven is None
    assert "tuned on these ratings" in str(guarantee)


def test_gaussian_noise_without_delta_is_refused():
    with pytest.raises(InputError, match="needs a delta above 0"):
        dc.TrustedServer(RATINGS, dc.Ledger(1.0), noise="gaussian").sum(COUNTS)


@pytest.mark.parametrize("share", [0, -1, 1.5])
def test_impossible_shares_are_refused(share):
    with pytest.raises(InputError, match="share of a budget"):
        dc.TrustedServer(RATINGS, dc.Ledger(1.0)).sum(COUNTS, share=share)


def test_devices_do_not_promise_to_hide_that_they_take_part():
    with pytest.raises(InputError, match="devices cannot hide that they take part"):
        dc.LocalDevices(RATINGS, dc.Ledger(1.0, 1e-6, dc.User()))
    sentence = str(
        dc.Popularity().fit(dc.Terms(epsilon=1.0, unit="user", trust="devices").population(RATINGS)).guarantee
    )
    assert "Not hidden: which devices take part." in sentence
    assert "whether they gave these ratings or quite others" in sentence


@every_population
def test_a_list_of_items_that_was_read_off_the_ratings_voids_every_promise(population):
    """One rating of a new item would change the catalogue itself, and with it every shape."""
    catalogue = replace(RATINGS.catalogue, declared=False)
    guarantee = dc.Popularity().fit(population(replace(RATINGS, catalogue=catalogue), dc.Ledger(1.0))).guarantee
    assert guarantee.proven is None
    assert "nobody declared the list of items public" in str(guarantee)


@every_population
@pytest.mark.parametrize("value", [1e7, -1.0, math.nan])
def test_a_rating_outside_the_declared_scale_is_refused(population, value):
    values = RATINGS.values.copy()
    values[3] = value
    with pytest.raises(InputError, match="outside the declared scale"):
        population(replace(RATINGS, values=values), dc.Ledger(1.0))


def test_a_forked_process_draws_other_noise_and_cannot_charge_the_same_ledger():
    server = dc.TrustedServer(RATINGS, dc.Ledger(1.0))
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            server.sum(COUNTS)
            os.write(write, b"charged")
        except InputError:
            os.write(write, server._randomness.words(4).tobytes())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    answer = os.read(read, 100)
    assert answer != b"charged"
    assert answer != server._randomness.words(4).tobytes()


def test_disjoint_items_compose_in_parallel_for_ratings_and_not_for_users():
    """A vector over all items costs one rating what a single entry costs; two sums of halves cost twice."""
    whole, halves = dc.Ledger(2.0), dc.Ledger(2.0)
    dc.TrustedServer(RATINGS, whole).sum(COUNTS, share=0.5)
    for part in (slice(0, 15), slice(15, 30)):
        half = dc.Contribution(
            "half",
            (15,),
            lambda ratings, part=part: COUNTS.total(ratings)[part],
            (dc.Bound("rating", "l1", 1.0, cells=1),),
        )
        dc.TrustedServer(RATINGS, halves).sum(half, share=0.5)
    assert whole.spent == pytest.approx(1.0)
    assert halves.spent == pytest.approx(2.0)


@pytest.mark.parametrize(("noise", "norm", "order"), [("laplace", "l1", 1), ("gaussian", "l2", 2)])
def test_noise_is_planned_for_totals_that_were_rounded_to_the_lattice(noise, norm, order):
    """Rounding moves neighbours apart, by half a step each in every cell; noise must be made for that, too."""
    cells = 4000
    asked = dc.Contribution("many", (cells,), lambda ratings: np.zeros(cells), (dc.Bound("rating", norm, 1.0),))
    plan = dc.TrustedServer(RATINGS, dc.Ledger(1.0, 1e-6), noise=noise).calibrate(asked)
    above = 0.5 * plan.grid * (1 + 2.0**-20)  # just above the middle of a step
    one, other = np.full(cells, above), np.full(cells, -1000 * plan.grid - above)
    images = [plan.add_noise(total, dc.Randomness(seed=1)) for total in (one, other)]
    by_rounding = np.linalg.norm(images[0] - images[1], order) - np.linalg.norm(one - other, order)
    assert by_rounding == pytest.approx(plan.spend.rounding, rel=1e-4)
    assert plan.spend.sensitivity == pytest.approx(1 + FLOAT_MARGIN + by_rounding, rel=1e-9)
