from itertools import pairwise

import numpy as np
import pytest

import discreet as dc
from discreet.errors import InputError
from discreet.looks import Looks
from discreet.populations.population import exact_total

RATINGS = dc.synthetic(users=80, items=40, ratings=1500, seed=5)


class Recorder:
    """A population that keeps what it was asked."""

    unit, spends, unpaid_looks, log = None, (), (), Looks()

    def __init__(self, ratings):
        self.ratings, self.asked = ratings, []
        self.catalogue, self.guarantee = ratings.catalogue, dc.NoPrivacy(ratings).guarantee
        self.reading = dc.NoPrivacy(ratings).reading

    def deviation(self, contribution, share=1.0):
        return 0.0

    def sum(self, contribution, share=1.0):
        self.asked.append(contribution)
        return exact_total(contribution, self.ratings)


def rating_objective(release, ratings, penalty, biased):
    """The whole objective, the users' side solved for."""
    side = release.scorer().prepared
    own, design, offsets = side.own(ratings), side.factors, side.offsets
    u, i = ratings.user_index, ratings.item_index
    q = release.arrays["item_factors"].astype(np.float64)
    c = release.arrays["item_bias"].astype(np.float64)
    errors = ratings.values - offsets[i] - (own[u].astype(np.float64) * design[i]).sum(axis=1)
    sizes = (own[u] ** 2).sum(axis=1) + (q[i] ** 2).sum(axis=1) + (c[i] ** 2 if biased else 0)
    return float((errors**2 + penalty * sizes).sum())


@pytest.mark.parametrize("biased", [True, False])
def test_every_sweep_lowers_the_objective(biased):
    values = []
    for sweeps in (1, 2, 3, 5, 8):
        model = dc.ALS(factors=4, sweeps=sweeps, biased=biased, regularisation=0.1)
        values.append(rating_objective(model.fit(dc.NoPrivacy(RATINGS)), RATINGS, 0.1, biased))
    assert all(later <= earlier * (1 + 1e-5) for earlier, later in pairwise(values))
    assert values[-1] < 0.95 * values[0]


def test_an_item_solves_its_normal_equations():
    """The last step by hand, with dense matrices."""
    before, after = (dc.ALS(factors=3, sweeps=sweeps).fit(dc.NoPrivacy(RATINGS)) for sweeps in (4, 5))
    own = before.scorer().prepared.own(RATINGS)
    mean, penalty = before.arrays["mean"][0], before.model.regularisation
    for item in (0, 7):
        rows = RATINGS.item_index == item
        users = RATINGS.user_index[rows]
        z = np.concatenate([own[users, :-1], np.ones((len(users), 1))], axis=1)
        t = RATINGS.values[rows] - mean - own[users, -1]
        expected = np.linalg.solve(z.T @ z + penalty * len(users) * np.eye(4), z.T @ t)
        np.testing.assert_allclose(after.arrays["item_factors"][item], expected[:-1], rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(after.arrays["item_bias"][item], expected[-1], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("model", [dc.ALS(factors=3, sweeps=2), dc.ImplicitALS(factors=3, sweeps=2)])
def test_one_sum_a_sweep_that_adds_up_over_users(model):
    population = Recorder(RATINGS)
    model.fit(population)
    sweeps = [asked for asked in population.asked if "factors" in asked.name]
    assert len(sweeps) == 2
    assert len(population.asked) <= 3  # and one about item means
    halves = [RATINGS.select_users(np.arange(40)), RATINGS.select_users(np.arange(40, 80))]
    for asked in sweeps:
        whole = asked.total(RATINGS)
        np.testing.assert_allclose(sum(asked.total(half) for half in halves), whole, rtol=1e-4, atol=1e-5)
        device = asked.total(RATINGS.select_users(np.array([3])))
        assert device.shape == asked.shape


def ranking_objective(release, ratings):
    model = release.model
    q = release.arrays["item_factors"].astype(np.float64)
    p = model._fold_in(ratings, release.arrays["item_factors"]).astype(np.float64)
    known = np.zeros((ratings.n_users, ratings.n_items))
    known[ratings.user_index, ratings.item_index] = 1
    scores, w = p @ q.T, model.unobserved_weight
    value = (known * (1 - scores) ** 2).sum() + w * (scores**2).sum()
    user_sizes = (known.sum(axis=1) + w * ratings.n_items) * (p**2).sum(axis=1)
    item_sizes = (known.sum(axis=0) + w * ratings.n_users) * (q**2).sum(axis=1)
    return value + model.regularisation * (user_sizes.sum() + item_sizes.sum())


def test_every_sweep_lowers_the_ranking_objective():
    values = [
        ranking_objective(dc.ImplicitALS(factors=4, sweeps=sweeps).fit(dc.NoPrivacy(RATINGS)), RATINGS)
        for sweeps in (1, 2, 3, 5, 8)
    ]
    assert all(later <= earlier * (1 + 1e-5) for earlier, later in pairwise(values))
    assert values[-1] < 0.98 * values[0]


def test_a_ranking_user_solves_their_normal_equations():
    model = dc.ImplicitALS(factors=5, sweeps=3)
    q = model.fit(dc.NoPrivacy(RATINGS)).arrays["item_factors"]
    own = model._fold_in(RATINGS, q)
    w, wide = model.unobserved_weight, q.astype(np.float64)
    for user in (0, 11):
        rows = wide[RATINGS.item_index[RATINGS.user_index == user]]
        penalty = model.regularisation * (len(rows) + w * len(q))
        left = w * wide.T @ wide + rows.T @ rows + penalty * np.eye(5)
        np.testing.assert_allclose(own[user], np.linalg.solve(left, rows.sum(axis=0)), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (dc.ALS, {"factors": 0}),
        (dc.ALS, {"regularisation": 0}),
        (dc.ALS, {"sweeps": 0}),
        (dc.ImplicitALS, {"factors": 0}),
        (dc.ImplicitALS, {"unobserved_weight": 0}),
        (dc.ImplicitALS, {"regularisation": 0}),
        (dc.ImplicitALS, {"sweeps": 0}),
        (dc.BayesianMF, {"factors": 0}),
        (dc.BayesianMF, {"sweeps": 0}),
    ],
)
def test_settings_are_checked(kind, settings):
    (name,) = settings
    with pytest.raises(InputError, match=name):
        kind(**settings)


def test_they_take_a_population():
    for model in (dc.ALS(), dc.ImplicitALS(), dc.BayesianMF()):
        with pytest.raises(InputError, match="NoPrivacy"):
            model.fit(RATINGS)


def test_accuracy_on_movielens(ml_100k):
    train, test = next(iter(ml_100k.folds(5, seed=7)))
    assert dc.evaluate(dc.ALS().fit(dc.NoPrivacy(train)), train, test)["rmse"] < 0.925


@pytest.mark.parametrize("model", [dc.BayesianMF(), dc.ImplicitALS()])
def test_who_cannot_answer_refuses_before_anything_is_spent(model):
    ledger = dc.Ledger(epsilon=1.0, delta=1e-6, unit=dc.User(max_ratings=50))
    population = dc.TrustedServer(RATINGS, ledger)
    with pytest.raises(InputError, match="no proven bound"):
        model.fit(population)
    assert not population.spends
