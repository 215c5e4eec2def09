import numpy as np
import pytest

import discreet as dc
from discreet.errors import InputError

RATINGS = dc.synthetic(users=80, items=40, ratings=1500, seed=5)


def objective(model, release, ratings, users, biases):
    """What training minimises, with the users' side given."""
    q, c, mean = (release.arrays[key] for key in ("item_factors", "item_bias", "mean"))
    u, i = ratings.user_index, ratings.item_index
    errors = ratings.values - mean[0] - biases[u] - c[i] - (users[u] * q[i]).sum(axis=1)
    sizes = (users[u] ** 2).sum(axis=1) + biases[u] ** 2
    return float((errors**2).sum() + model.regularisation * sizes.sum())


def own_side(model, release, ratings):
    own = model.prepare(release).own(ratings)
    return own[:, : model.factors], own[:, -1]


def test_a_user_at_home_solves_the_training_problem():
    """No small change of a user's own side makes the training objective smaller."""
    model = dc.MF(factors=4, epochs=10)
    release = model.fit(RATINGS)
    users, biases = own_side(model, release, RATINGS)
    best = objective(model, release, RATINGS, users.astype(np.float64), biases.astype(np.float64))
    rng = np.random.default_rng(0)
    for size in (0.01, 0.1):
        shifted = users + rng.normal(0, size, users.shape), biases + rng.normal(0, size, biases.shape)
        assert objective(model, release, RATINGS, *shifted) > best


@pytest.mark.parametrize("biased", [True, False])
def test_training_explains_the_ratings(biased):
    few, many = (dc.MF(factors=8, epochs=epochs, biased=biased, regularisation=0.02) for epochs in (1, 60))
    errors = []
    for model in (few, many):
        predicted = model.fit(RATINGS).predict(RATINGS, RATINGS.user_index, RATINGS.item_index)
        errors.append(np.sqrt(np.mean((predicted - RATINGS.values) ** 2)))
    assert errors[1] < 0.9 * errors[0]
    assert errors[1] < 0.8 * RATINGS.values.std()


def test_without_biases_there_is_no_mean():
    release = dc.MF(factors=3, epochs=2, biased=False).fit(RATINGS)
    assert release.arrays["mean"][0] == 0
    assert not release.arrays["item_bias"].any()


def test_pairs_and_scores_agree():
    release = dc.MF(factors=3, epochs=2).fit(RATINGS)
    scores = release.scores(RATINGS)
    predicted = release.model.predict(release.model.prepare(release), RATINGS, RATINGS.user_index, RATINGS.item_index)
    np.testing.assert_allclose(predicted, scores[RATINGS.user_index, RATINGS.item_index], rtol=1e-4, atol=1e-4)


def test_another_seed_is_another_release():
    one, two = (dc.MF(factors=3, epochs=2, seed=seed).fit(RATINGS) for seed in (1, 2))
    assert not np.allclose(one.arrays["item_factors"], two.arrays["item_factors"])


@pytest.mark.parametrize(
    "settings",
    [{"factors": 0}, {"epochs": -1}, {"learning_rate": 0}, {"learning_rate": 2}, {"decay": 0}, {"regularisation": -1}],
)
def test_settings_are_checked(settings):
    (name,) = settings
    with pytest.raises(InputError, match=name):
        dc.MF(**settings)


def test_it_does_not_take_a_population():
    with pytest.raises(InputError, match="raw ratings"):
        dc.MF().fit(dc.NoPrivacy(RATINGS))


def test_accuracy_on_movielens(ml_100k):
    """One fold of another seed than the one whose results are reported."""
    train, test = next(iter(ml_100k.folds(5, seed=7)))
    assert dc.evaluate(dc.MF().fit(train), train, test)["rmse"] < 0.92
