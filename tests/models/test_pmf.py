import numpy as np
import pytest

import discreet as dc
from discreet.errors import InputError

RATINGS = dc.synthetic(users=80, items=40, ratings=1500, seed=5)


def plain_training(model, ratings):
    """Gradient descent with momentum on dense matrices."""
    rng = np.random.default_rng(model.seed)
    p = rng.normal(0, 0.1, (ratings.n_users, model.factors))
    q = rng.normal(0, 0.1, (ratings.n_items, model.factors))
    values, known = ratings.csr.toarray().astype(np.float64), np.zeros((ratings.n_users, ratings.n_items))
    known[ratings.user_index, ratings.item_index] = 1
    rate = min(model.learning_rate / len(ratings), 0.5 / np.linalg.norm(values, 2))
    p_velocity, q_velocity = np.zeros_like(p), np.zeros_like(q)
    for _ in range(model.steps):
        errors = known * (values - p @ q.T)
        p_gradient = -errors @ q + model.regularisation * p
        q_gradient = -errors.T @ p + model.regularisation * q
        p_velocity = model.momentum * p_velocity - rate * p_gradient
        q_velocity = model.momentum * q_velocity - rate * q_gradient
        p, q = p + p_velocity, q + q_velocity
    return q


def test_training_is_gradient_descent_with_momentum():
    model = dc.models.PMF(factors=4, steps=12)
    release = model.fit(RATINGS)
    np.testing.assert_allclose(release.arrays["item_factors"], plain_training(model, RATINGS), rtol=1e-3, atol=1e-3)


def test_small_data_do_not_overflow():
    tiny = dc.synthetic(users=5, items=4, ratings=20, seed=1)
    release = dc.models.PMF().fit(tiny)
    assert np.isfinite(release.scores(tiny)).all()


@pytest.mark.parametrize(
    "settings",
    [
        {"factors": 0},
        {"steps": -1},
        {"learning_rate": 0},
        {"momentum": 1},
        {"regularisation": -1},
        {"home_regularisation": -1},
    ],
)
def test_settings_are_checked(settings):
    (name,) = settings
    with pytest.raises(InputError, match=name):
        dc.models.PMF(**settings)


def test_accuracy_on_movielens(ml_100k):
    train, test = next(iter(ml_100k.folds(5, seed=7)))
    assert dc.evaluate(dc.models.PMF().fit(train), train, test)["rmse"] < 0.95
