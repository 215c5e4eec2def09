"""How wide priors at home should be: the errors, the bound, and that the answer is right where it is known."""

from dataclasses import replace

import numpy as np
import pytest

import discreet as dc
from discreet.data.labels import Labels
from discreet.kernels import left_out
from discreet.kernels.left_out import left_out_errors
from discreet.models.almanac.questions import CONSTANTS, PriorLosses, scales_of
from discreet.models.home.user_regression import UserRegression
from discreet.releases.choices import PARTS

SCALE = dc.Scale(1, 5)


def regression(rng, items, features=3, factors=2):
    base = rng.uniform(2, 4, items).astype(np.float32)
    counts = rng.uniform(1, 100, items).astype(np.float32)
    unknown = rng.uniform(0, 0.3, items).astype(np.float32)
    columns = rng.normal(size=(items, features)).astype(np.float32), 0.2 * rng.normal(size=(items, factors))
    return UserRegression.of(base, unknown, counts, columns[0], columns[1].astype(np.float32), SCALE.width)


def some_ratings(rng, items, lengths):
    users = np.repeat(np.arange(len(lengths)), lengths).astype(np.int32)
    chosen = np.concatenate([np.sort(rng.permutation(items)[:n]) for n in lengths]).astype(np.int32)
    catalogue = dc.Catalogue.of([str(i) for i in range(items)], SCALE, declared=True)
    values = rng.integers(1, 6, len(users)).astype(np.float32)
    return dc.Ratings.of_columns(catalogue, Labels.of([f"u{u}" for u in range(len(lengths))]), users, chosen, values)


def losses(known, ratings, norm="l2", one_in=1):
    return PriorLosses(known, nothing(known), 10.0, one_in, norm).losses(ratings)


def nothing(known):
    return np.zeros(len(known.base))


def test_errors_are_those_of_fitting_again_without_each_rating():
    rng = np.random.default_rng(1)
    rows, roots, base = rng.normal(size=(30, 4)), rng.uniform(0.3, 1, 30), rng.normal(size=30)
    indptr = np.array([0, 1, 1, 8, 20])
    items = np.concatenate([rng.permutation(30)[:n] for n in (1, 7, 12)]).astype(np.int32)
    values = rng.normal(size=20).astype(np.float32)
    penalties, h = rng.uniform(0.1, 2, (3, 4)), rng.uniform(0, 0.5, 30)
    rest_of_it = rows * roots[:, None], roots, h / (1 - h), penalties, 99, 1
    found = left_out_errors(indptr, items, values, base, *rest_of_it)
    for u in range(4):
        own = range(indptr[u], indptr[u + 1])
        for g in range(3):
            total = 0.0
            for out in own:
                rest = [at for at in own if at != out]
                v = rows[items[rest]]
                weights = roots[items[rest]] ** 2
                left = (v * weights[:, None]).T @ v + np.diag(penalties[g])
                solved = np.linalg.solve(left, v.T @ (weights * (values[rest] - base[items[rest]])))
                i = items[out]
                others = (base[i] - h[i] * values[out]) / (1 - h[i])  # what is expected of the item without this one
                total += (values[out] - others - rows[i] @ solved) ** 2
            assert found[u, g] == pytest.approx(total)


def test_some_ratings_stand_for_all_of_a_heavy_user():
    rng = np.random.default_rng(2)
    known, ratings = regression(rng, 400), some_ratings(rng, 400, [300])
    whole, few = (
        left_out_errors(
            *(ratings.indptr, ratings.item_index, ratings.values, known.base.astype(float)),
            *(known.rows.astype(float), np.ones(400), np.zeros(400), np.ones((1, known.rows.shape[1])), most, 1),
        )[0, 0]
        for most in (1000, 100)
    )
    assert few == pytest.approx(whole, rel=0.3)


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_one_user_adds_1_at_most_and_one_rating_moves_it_by_2_at_most(norm):
    rng = np.random.default_rng(3)
    order = 1 if norm == "l1" else 2
    reached = 0.0
    for _ in range(20):
        known, ratings = regression(rng, 12), some_ratings(rng, 12, [5])
        known = stretched(known, rng)
        told = losses(known, ratings, norm)
        reached = max(reached, float(np.linalg.norm(told[0], order)))
        for out in range(5):
            rest = np.delete(np.arange(5), out)
            without = dc.Ratings.of_columns(
                ratings.catalogue,
                ratings.users,
                ratings.user_index[rest],
                ratings.item_index[rest],
                ratings.values[rest],
            )
            moved = np.linalg.norm(told[0] - losses(known, without, norm)[0], order)
            assert moved <= 2
    assert 0.9 < reached <= 1


def stretched(known, rng):
    """With rows so long that most vectors are scaled down."""
    return UserRegression(
        known.base, known.rows * np.float32(rng.choice([1, 30, 1e6])), known.weights, known.residual_variance, 2
    )


def test_what_is_not_finite_counts_as_nothing():
    rng = np.random.default_rng(4)
    known, ratings = regression(rng, 12), some_ratings(rng, 12, [5, 7])
    known.rows[ratings.item_index[0]] = np.inf
    assert np.isfinite(losses(known, ratings)).all()


def test_a_sum_is_the_sum_of_its_parts_to_the_last_bit():
    rng = np.random.default_rng(5)
    known, ratings = regression(rng, 50), some_ratings(rng, 50, [9, 0, 30, 2, 17])
    asked = PriorLosses.of(known, nothing(known), 5, 58, False).contribution
    parts = [asked.total(ratings.select_users(np.array(own))) for own in ([0, 1], [2], [3, 4])]
    assert np.array_equal(asked.total(ratings), sum(parts))


def test_one_user_in_so_many_is_asked_by_their_own_ratings_alone():
    rng = np.random.default_rng(6)
    known, ratings = regression(rng, 60), some_ratings(rng, 60, [8] * 2000)
    asked = losses(known, ratings, one_in=10).any(axis=1)
    assert 140 < asked.sum() < 260  # 200 expected, 4.5 deviations
    later = ratings.select_users(np.arange(1000, 2000))
    assert np.array_equal(losses(known, later, one_in=10).any(axis=1), asked[1000:])
    assert PriorLosses.of(known, nothing(known), 100 * CONSTANTS.users, 1e9, False).one_in == 100
    wide = regression(rng, 60, features=100)
    assert PriorLosses.of(wide, nothing(wide), 100 * CONSTANTS.users, 1e9, False).one_in > 300


def test_noise_alone_changes_little():
    rng = np.random.default_rng(7)
    scales = np.array([scales_of(rng.normal(size=(len(PARTS), 2)), 1.0) for _ in range(1000)])
    assert np.abs(np.log2(scales)).mean() < 0.2
    assert scales_of(np.zeros((4, 2)), 0.0).tolist() == [1, 1, 1, 1]


def test_priors_are_found_where_they_are_known():
    """Users of these ratings differ twice as much in their biases as usual, and hardly in what else they like."""
    rng = np.random.default_rng(8)
    items, users = 200, 1500
    known = regression(rng, items, factors=0)
    own = rng.normal(size=(users, known.rows.shape[1]))
    for columns, scale in zip(known.columns_of_parts, (2.0, 0.3, 0.3, 1.0), strict=True):
        own[:, columns] *= scale
    ratings = some_ratings(rng, items, [12] * users)
    expected = known.base[ratings.item_index] + np.sum(own[ratings.user_index] * known.rows[ratings.item_index], axis=1)
    spread = np.sqrt(known.residual_variance / known.weights[ratings.item_index])
    values = (expected + spread * rng.normal(size=len(expected))).astype(np.float32)
    wide = dc.Catalogue.of(list(ratings.catalogue.items), dc.Scale(-20, 20), declared=True)
    made = dc.Ratings.of_columns(wide, ratings.users, ratings.user_index, ratings.item_index, values)
    of_bias, of_features, of_following, _ = scales_of(
        PriorLosses.of(known, nothing(known), users, len(made), False).contribution.total(made), 0.0
    )
    assert of_bias > 1.2
    assert of_features < 0.7
    assert of_following < 0.7


@pytest.mark.parametrize("unit", ["user", "rating"])
def test_a_fit_asks_once_and_releases_what_it_learned(unit, tmp_path):
    ratings = dc.synthetic(users=400, items=80, ratings=8000, seed=3)
    for purpose in ("ratings", "both", "ranking"):
        ledger = dc.Ledger(epsilon=20.0, delta=1e-6, unit=dc.User() if unit == "user" else dc.Rating())
        release = dc.Almanac(purpose=purpose).fit(dc.TrustedServer(ratings, ledger))
        asked = [spend for spend in ledger.spends if "foresee each other" in spend.what]
        assert len(asked) == ("prior_scales" in release.arrays) == (purpose != "ranking")
        release.save(tmp_path / purpose)
        again = dc.Release.load(tmp_path / purpose)
        assert np.array_equal(again.predict(ratings, [0], [1]), release.predict(ratings, [0], [1]))
        if purpose != "ranking":  # an older release has none, and the usual priors
            older = replace(release, arrays={n: a for n, a in release.arrays.items() if n != "prior_scales"})
            pairs = ratings.user_index, ratings.item_index  # one alone may be the same by chance, to the last bit
            assert not np.array_equal(older.predict(ratings, *pairs), release.predict(ratings, *pairs))


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_torch_adds_up_to_the_same_bits(norm, monkeypatch):
    pytest.importorskip("torch")
    rng = np.random.default_rng(9)
    known, ratings = regression(rng, 90), some_ratings(rng, 90, [*rng.integers(0, 20, 300), 90, 25, 24, 0])
    parts = [ratings.select_users(np.arange(first, first + 76)) for first in range(0, 304, 76)]
    known.rows[ratings.item_index[-1]] = np.inf
    for one_in, scale in ((1, 1.0), (3, 1.0), (1, 1e6)):
        longer = replace(known, rows=known.rows * np.float32(scale))
        asked = PriorLosses(longer, rng.uniform(0, 1, 90), 10.0, one_in, norm).contribution
        expected = asked.total(ratings)
        assert expected.any()
        for at_once in (1 << 31, 8 * 20 * 20 * 50):
            monkeypatch.setattr(left_out, "BYTES", at_once)
            assert np.array_equal(expected, asked.on_torch(parts))
    assert not asked.on_torch([ratings.select_users(np.array([303]))]).any()
