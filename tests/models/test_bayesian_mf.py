import numpy as np
import pytest

import discreet as dc
from discreet.models import bayesian_mf

RATINGS = dc.synthetic(users=80, items=40, ratings=1500, seed=5)


def plain_sweeps(ratings, factors, sweeps, seed=0):
    """The same sweeps with dense covariances and Python loops."""
    d, items = factors, ratings.n_items
    mean = float(ratings.values.mean())
    counts = np.bincount(ratings.item_index, minlength=items)
    biases = np.bincount(ratings.item_index, ratings.values - mean, items) / (counts + 5)
    w = np.concatenate([np.random.default_rng(seed).normal(0, 0.1, (items, d)), biases[:, None]], axis=1)
    w_cov = np.zeros((items, d + 1, d + 1))
    noise, a, b = 0.75, np.diag([1.0] * d + [3.0]), np.diag([30.0] * d + [5.0])
    data = list(zip(ratings.user_index, ratings.item_index, ratings.values - mean, strict=True))

    def posteriors(pairs, count, other, other_cov, precision):
        gram, moment = np.tile(noise * precision, (count, 1, 1)), np.zeros((count, d + 1))
        for me, them, t in pairs:
            y = np.append(other[them, :d], 1.0)
            gram[me] += np.outer(y, y)
            gram[me, :d, :d] += other_cov[them, :d, :d]
            moment[me] += (t - other[them, d]) * y - np.append(other_cov[them, :d, d], 0.0)
        inverse = np.linalg.inv(gram)
        return np.einsum("nab,nb->na", inverse, moment), noise * inverse

    for _ in range(sweeps):
        x, x_cov = posteriors(data, ratings.n_users, w, w_cov, a)
        a = np.linalg.inv((x.T @ x + x_cov.sum(axis=0)) / ratings.n_users)
        w, w_cov = posteriors([(i, u, t) for u, i, t in data], items, x, x_cov, b)
        b = np.linalg.inv((w.T @ w + w_cov.sum(axis=0)) / items)
        total = 0.0
        for u, i, t in data:
            z, y = np.append(x[u, :d], 1.0), w[i]
            total += (t - x[u, d] - y @ z) ** 2
            # Var[b_u + p·q + b_i] of independent beliefs
            v = np.append(w[i, :d], 1.0)
            total += v @ x_cov[u] @ v + z @ w_cov[i] @ z + (x_cov[u, :d, :d] * w_cov[i, :d, :d]).sum()
        noise = total / len(data)
    return w, w_cov, noise, a


@pytest.mark.parametrize("at_once", [65_536, 33])
def test_the_release_is_that_of_plain_loops(monkeypatch, at_once):
    monkeypatch.setattr(bayesian_mf, "USERS_AT_ONCE", at_once)
    release = dc.BayesianMF(factors=3, sweeps=3).fit(dc.NoPrivacy(RATINGS))
    means, covariances, noise, precision = plain_sweeps(RATINGS, 3, 3)
    np.testing.assert_allclose(release.arrays["item_means"], means, rtol=2e-3, atol=2e-3)
    packed = covariances[:, *np.tril_indices(4)]
    np.testing.assert_allclose(release.arrays["item_covariances"], packed, rtol=5e-3, atol=1e-4)
    assert release.arrays["noise"][0] == pytest.approx(noise, rel=1e-3)
    np.testing.assert_allclose(release.arrays["user_precision"], precision, rtol=2e-2, atol=1e-2)


def test_nothing_depends_on_the_scale():
    """Ratings of 0 to 100 instead of 1 to 5 give the same predictions, stretched."""
    catalogue = dc.Catalogue.of(list(RATINGS.catalogue.items), dc.Scale(0, 100))
    stretched = dc.Ratings.of_columns(
        catalogue, RATINGS.users, RATINGS.user_index, RATINGS.item_index, (RATINGS.values - 1) * 25
    )
    plain, wide = (
        dc.BayesianMF(factors=3, sweeps=4).fit(dc.NoPrivacy(ratings)).scores(ratings)
        for ratings in (RATINGS, stretched)
    )
    np.testing.assert_allclose(wide, (plain - 1) * 25, rtol=1e-2, atol=0.1)


def test_who_rated_little_is_expected_to_be_like_everyone():
    release = dc.BayesianMF(factors=3).fit(dc.NoPrivacy(RATINGS))
    whole = RATINGS.history_at(0)
    nothing = dc.History(RATINGS.catalogue, whole.items[:0], whole.values[:0])
    one = dc.History(RATINGS.catalogue, whole.items[:1], whole.values[:1])
    everyone = release.score(nothing)
    np.testing.assert_allclose(everyone, release.arrays["mean"][0] + release.arrays["item_means"][:, -1], rtol=1e-5)
    assert np.abs(release.score(one) - everyone).mean() < np.abs(release.score(whole) - everyone).mean()


def test_accuracy_on_movielens(ml_100k):
    train, test = next(iter(ml_100k.folds(5, seed=7)))
    assert dc.evaluate(dc.BayesianMF().fit(dc.NoPrivacy(train)), train, test)["rmse"] < 0.905
