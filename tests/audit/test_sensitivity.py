"""The checker of declared bounds: it passes what is true, and finds what is not."""

import numpy as np
import pytest

import discreet as dc
from discreet.errors import InputError
from discreet.models.sums.item_statistics import item_counts, item_statistics

SCALE = dc.Scale(1, 5)


def catalogue(items):
    return dc.Catalogue.of([str(item) for item in range(items)], SCALE)


@pytest.mark.parametrize("items", [2, 7])
@pytest.mark.parametrize("unit", [None, dc.Rating(), dc.User()])
@pytest.mark.parametrize("statistic", ["counts", "sums"])
def test_the_sums_of_bias_and_popularity(statistic, unit, items):
    asked = item_counts(items, unit) if statistic == "counts" else item_statistics(items, SCALE, unit)
    for found in dc.audit.check_sensitivity(asked, catalogue(items), [1, 2.5, 5], users=2, most=300):
        assert found.exhaustive == (items == 2)
        assert found.share == pytest.approx(1)  # attained: a bound that nothing reaches would buy noise for nothing
        assert found.pairs > 100
        assert found.cells <= found.bound.cells or found.bound.cells == 0


@pytest.mark.parametrize("unit", [dc.Rating(), dc.User()])
def test_replacing_moves_no_further_than_twice(unit):
    asked = item_statistics(2, SCALE, unit)
    for found in dc.audit.check_sensitivity(asked, catalogue(2), [1, 5], neighbours="replace"):
        assert found.bound.value < found.furthest <= 2 * found.bound.value


def declared(total, *bounds, shape=(2,)):
    return dc.Contribution("statistic", shape, total, bounds)


def counts(ratings):
    return np.bincount(ratings.item_index, minlength=2)


@pytest.mark.parametrize(
    ("contribution", "sentence"),
    [
        (
            declared(counts, dc.Bound("rating", "l1", 0.9)),
            "one rating moves 'statistic' by 1 in l1, beyond its declared bound of 0.9; the user has 1 rating",
        ),
        (
            declared(counts, dc.Bound("user", "l1", 1.0)),
            "one user moves 'statistic' by 2 in l1, beyond its declared bound of 1; the user has 2 ratings",
        ),
        (
            declared(counts, dc.Bound("user", "l2", 2.0, cells=1)),
            "one user moves 'statistic' in 2 cells, more than the 1 that it declares; the user has 2 ratings",
        ),
        (
            # Centring by the user's mean: one rating moves all the others.
            declared(
                lambda ratings: np.bincount(
                    ratings.item_index,
                    weights=ratings.values
                    - (
                        np.bincount(ratings.user_index, ratings.values) / np.maximum(np.bincount(ratings.user_index), 1)
                    )[ratings.user_index],
                    minlength=2,
                ),
                dc.Bound("rating", "l1", 2.0),
            ),
            "one rating moves 'statistic' by 4 in l1, beyond its declared bound of 2; the user has 2 ratings",
        ),
        (
            declared(lambda ratings: counts(ratings) > 0, dc.Bound("user", "l1", 2.0)),
            "'statistic' is not a sum over users: it is not the sum of their totals",
        ),
        (declared(counts), "'statistic' declares no bound that could be checked"),
    ],
)
def test_what_is_not_true_is_found(contribution, sentence):
    with pytest.raises(InputError) as raised:
        dc.audit.check_sensitivity(contribution, catalogue(2), [1, 5])
    assert str(raised.value) == sentence


def test_a_large_universe_is_sampled_and_still_finds_a_forgotten_clip():
    asked = dc.Contribution(
        "sums", (8,), lambda r: np.bincount(r.item_index, r.values, minlength=8), (dc.Bound("user", "l2", 9.0),)
    )
    with pytest.raises(InputError, match=r"one user moves 'sums' by .* in l2, beyond its declared bound of 9"):
        dc.audit.check_sensitivity(asked, catalogue(8), [1, 5], users=3, most=200)


def test_a_statistic_that_counts_users_can_be_checked():
    users = dc.Contribution("users", (1,), lambda r: np.array([r.n_users]), (dc.Bound("user", "l1", 1.0, cells=1),))
    assert dc.audit.check_sensitivity(users, catalogue(2), [1, 5])[0].share == 1
