"""Bias and popularity against the formulas, and the bounds of their sums by brute force."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.data.labels import Labels
from discreet.data.ratings import Ratings
from discreet.errors import InputError
from discreet.models.sums.item_statistics import item_counts, item_statistics

CATALOGUE = dc.Catalogue.of(["a", "b", "c"], dc.Scale(1, 5))


def ratings_of(rows):
    """Ratings from (user, item, value) triples over four users."""
    user, item, value = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [])
    return Ratings.of_columns(CATALOGUE, Labels.of(["0", "1", "2", "3"], what="user"), user, item, value)


def test_bias_by_hand():
    ratings = ratings_of([(0, 0, 5), (0, 1, 3), (1, 0, 4), (2, 1, 2)])
    release = dc.Bias(item_damping=1, user_damping=2).fit(dc.NoPrivacy(ratings))
    mean = 14 / 4
    bias = np.array([(5 - mean + 4 - mean) / 3, (3 - mean + 2 - mean) / 3, 0])
    np.testing.assert_allclose(release.arrays["mean"], [mean])
    np.testing.assert_allclose(release.arrays["item_bias"], bias, rtol=1e-6)
    own = ((5 - mean - bias[0]) + (3 - mean - bias[1])) / 4
    np.testing.assert_allclose(release.predict(ratings, [0, 3], [2, 0]), [mean + own, mean + bias[0]], rtol=1e-6)


def test_without_damping_an_unrated_item_is_average():
    release = dc.Bias(item_damping=0, user_damping=0).fit(dc.NoPrivacy(ratings_of([(0, 0, 5)])))
    np.testing.assert_allclose(release.arrays["item_bias"], [0, 0, 0])


def test_popularity_by_hand():
    release = dc.Popularity().fit(dc.NoPrivacy(ratings_of([(0, 0, 5), (1, 0, 1), (2, 2, 3)])))
    assert release.arrays["counts"].tolist() == [2, 0, 1]


@pytest.mark.parametrize("setting", ["item_damping", "user_damping"])
def test_negative_damping_is_refused(setting):
    with pytest.raises(InputError, match=f"{setting} must not be negative, got -1"):
        dc.Bias(**{setting: -1})


SCALE = CATALOGUE.scale
contributions = [
    item_counts(3),
    item_counts(3, dc.User()),
    item_statistics(3, SCALE),
    item_statistics(3, SCALE, dc.User()),
]
every_contribution = pytest.mark.parametrize(
    "contribution", contributions, ids=lambda c: f"{c.name} {c.bounds[0].unit}"
)
triples = st.dictionaries(st.tuples(st.integers(0, 3), st.integers(0, 2)), st.integers(1, 5), max_size=12).map(
    lambda cells: [(user, item, value) for (user, item), value in cells.items()]
)


def length(moved, norm):
    return np.abs(moved).sum() if norm == "l1" else np.sqrt((moved**2).sum())


@every_contribution
@given(rows=triples)
def test_removing_any_unit_moves_the_sum_no_further_than_its_bound(contribution, rows):
    whole = contribution.total(ratings_of(rows))
    for bound in contribution.bounds:
        for unit in rows if bound.unit == "rating" else range(4):
            rest = [row for row in rows if (row != unit if bound.unit == "rating" else row[0] != unit)]
            moved = whole - contribution.total(ratings_of(rest))
            assert length(moved, bound.norm) <= bound.value + 1e-9
            assert bound.cells == 0 or np.count_nonzero(np.abs(moved) > 1e-9) <= bound.cells


@every_contribution
def test_bounds_are_attained(contribution):
    """A bound that nothing reaches would buy noise for nothing."""
    for bound in contribution.bounds:
        worst = max(
            length(contribution.total(ratings_of([(0, item, value)])), bound.norm)
            for item, value in itertools.product(range(3), (1, 5))
        )
        assert worst == pytest.approx(bound.value)


@every_contribution
@given(rows=triples)
def test_sums_are_additive_over_users(contribution, rows):
    parts = [contribution.total(ratings_of([row for row in rows if row[0] == user])) for user in range(4)]
    np.testing.assert_allclose(sum(parts), contribution.total(ratings_of(rows)), atol=1e-9)


def test_with_hardly_any_noise_the_private_bias_is_the_exact_one():
    ratings = dc.synthetic(users=200, items=50, ratings=4000, seed=1)
    undamped = dc.Bias(item_damping=0)  # damping pulls towards the line in log weight, which only noise calls for
    exact = undamped.fit(dc.NoPrivacy(ratings))
    private = undamped.fit(dc.TrustedServer(ratings, dc.Ledger(epsilon=1000.0)))
    np.testing.assert_allclose(private.arrays["item_bias"], exact.arrays["item_bias"], atol=0.01)
    np.testing.assert_allclose(private.arrays["mean"], exact.arrays["mean"], atol=0.01)


@pytest.mark.parametrize("epsilon", [0.01, 1.0])
@pytest.mark.parametrize(("unit", "delta"), [(dc.Rating(), 0.0), (dc.User(), 1e-6)])
def test_noise_never_makes_biases_absurd(unit, delta, epsilon):
    ratings = dc.synthetic(users=100, items=80, ratings=2000, seed=1)
    release = dc.Bias().fit(dc.TrustedServer(ratings, dc.Ledger(epsilon, delta, unit)))
    assert np.isfinite(release.arrays["item_bias"]).all()
    assert np.abs(release.arrays["item_bias"]).max() < 4


# ── One user, or one value, for another ──


@pytest.mark.parametrize("unit", [dc.Rating(), dc.User()], ids=str)
@pytest.mark.parametrize("statistic", [item_counts, item_statistics])
def test_replacing_a_unit_moves_less_than_removing_and_adding_one(statistic, unit):
    size = (3,) if statistic is item_counts else (3, CATALOGUE.scale)
    contribution = statistic(*size, unit)
    found = dc.audit.check_sensitivity(contribution, CATALOGUE, [1, 3, 5], users=1, neighbours="replace")
    for measured in found:
        if measured.bound.replace is not None:
            assert measured.exhaustive
            assert measured.furthest == pytest.approx(measured.bound.replace)  # it is attained, so no bound is lower
            assert measured.bound.replace < 2 * measured.bound.value


def test_devices_need_less_noise_than_for_twice_the_bound():
    """Nobody's history is so far from another's as both would have to be from nothing."""
    ratings = dc.synthetic(users=5, items=30, ratings=60, seed=1)
    unit = dc.User(neighbours="replace")
    devices = dc.LocalDevices(ratings, dc.Ledger(1.0, 1e-6, unit))
    server = dc.TrustedServer(ratings, dc.Ledger(1.0, 1e-6, dc.User()))
    for contribution, factor in ((item_counts(30, unit), 2**0.5), (item_statistics(30, CATALOGUE.scale, unit), 1.6641)):
        ratio = devices.calibrate(contribution).spend.scale / server.calibrate(contribution).spend.scale
        assert ratio == pytest.approx(factor, rel=1e-4)
