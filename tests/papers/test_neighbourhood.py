"""Learned neighbourhoods as published: the kernels against plain numpy, and each algorithm line by line."""

import math
from dataclasses import replace

import numpy as np
import pytest

import discreet as dc
from discreet.data.ratings import Ratings
from discreet.errors import InputError
from discreet.kernels.published_pnbm import published_gradient, sums_of_similarities
from discreet.papers.neighbourhood import similarities as shared
from discreet.papers.neighbourhood.descent import DPSGDPNBM
from discreet.papers.neighbourhood.factors import DPPSMF, DPSGDMF, predicted
from discreet.papers.neighbourhood.privacy import most_error, published_sensitivity
from discreet.papers.neighbourhood.sampling import DPPSPNBM, capped
from discreet.privacy.guarantee import Loss

RATINGS = dc.synthetic(users=25, items=12, ratings=150, seed=2)
RNG = np.random.default_rng(5)


def signed(size: int) -> np.ndarray:
    near = RNG.uniform(-1, 1, (size, size)).astype(np.float32)
    np.fill_diagonal(near, 0)
    return near


def in_numpy(ratings: Ratings, means, near, *, error=math.inf, feature=math.inf, floor=0.0, one_term=False, raw=False):
    """The gradient, one rating after another."""
    gradient = np.zeros(near.shape)
    for user in range(ratings.n_users):
        place = slice(ratings.indptr[user], ratings.indptr[user + 1])
        items, values = ratings.item_index[place], ratings.values[place].astype(np.float64)
        a = values - means[items]
        for i, target in zip(items, values if raw else a, strict=True):
            s = near[i, items].astype(np.float64)
            below = np.abs(s).sum()
            divisor = max(below, floor)
            if divisor == 0:
                continue
            p = s @ a / divisor
            e = np.clip(p - target, -error, error)
            f = a - (0 if one_term or below < floor else np.sign(s) * p)
            f = np.clip(f, -feature, feature)
            f[items == i] *= near[i, i] != 0
            np.add.at(gradient[i], items, e * f / divisor)
    return gradient


@pytest.mark.parametrize(
    ("how", "model"),
    [
        ({"error": 2.0, "feature": 4.0}, DPSGDPNBM()),
        ({"error": 2.0, "feature": 4.0, "floor": 3.0}, DPSGDPNBM(enforces_bound=True, bound=3.0)),
        ({"floor": 3.0, "one_term": True, "raw": True}, DPSGDPNBM(as_released_code=True, bound=3.0)),
    ],
)
def test_gradient_is_what_numpy_says(how, model):
    near = signed(12)
    if model.as_released_code:
        np.fill_diagonal(near, 0.3)
    means = shared.item_means(RATINGS)
    np.testing.assert_allclose(
        model.gradient(RATINGS, means, near, 1), in_numpy(RATINGS, means, near, **how), atol=2e-4
    )


def test_gradient_is_the_derivative_of_half_the_squared_errors():
    """Where nothing is clamped, by finite differences."""
    near, means = signed(12).astype(np.float64), shared.item_means(RATINGS).astype(np.float64)

    def loss(similarities):
        total = 0.0
        for user in range(RATINGS.n_users):
            place = slice(RATINGS.indptr[user], RATINGS.indptr[user + 1])
            items, a = RATINGS.item_index[place], RATINGS.values[place] - means[RATINGS.item_index[place]]
            s = similarities[np.ix_(items, items)]
            below = np.abs(s).sum(axis=1)
            total += 0.5 * ((s @ a / np.where(below > 0, below, 1) - a)[below > 0] ** 2).sum()
        return total

    exact = DPPSPNBM().gradient(RATINGS, means.astype(np.float32), near.astype(np.float32))
    for i, j in [(0, 1), (3, 7), (11, 2), (5, 6)]:
        moved = near.copy()
        moved[i, j] += 1e-5
        back = near.copy()
        back[i, j] -= 1e-5
        assert exact[i, j] == pytest.approx((loss(moved) - loss(back)) / 2e-5, abs=2e-3)


def test_weights_say_how_often_a_rating_counts():
    near, means, columns = signed(12), shared.item_means(RATINGS), RATINGS.by_item
    items = np.repeat(np.arange(12), np.diff(columns.indptr))
    by_item = columns.indptr, columns.users, columns.values - means[items]
    by_user = RATINGS.indptr, RATINGS.item_index, RATINGS.values - means[RATINGS.item_index]
    how = {"most_error": math.inf, "most_feature": math.inf}
    weights = RNG.integers(0, 3, len(RATINGS)).astype(np.float32)
    alone = [
        published_gradient(near, by_item, by_user, (np.arange(len(RATINGS)) == place).astype(np.float32), **how)
        for place in range(len(RATINGS))
    ]
    together = published_gradient(near, by_item, by_user, weights, **how)
    np.testing.assert_allclose(together, np.tensordot(weights, alone, 1), atol=1e-4)
    # So a batch, on average over all batches, is the whole: eq. (11) without the prior.
    whole = published_gradient(near, by_item, by_user, np.ones(len(RATINGS), dtype=np.float32), **how)
    np.testing.assert_allclose(np.sum(alone, axis=0), whole, atol=1e-4)


def test_sums_of_similarities():
    near, columns = signed(12), RATINGS.by_item
    found = sums_of_similarities(near, columns.indptr, columns.users, RATINGS.indptr, RATINGS.item_index)
    place, item = 17, int(np.searchsorted(columns.indptr, 17, side="right")) - 1
    user = columns.users[place]
    own = RATINGS.item_index[RATINGS.indptr[user] : RATINGS.indptr[user + 1]]
    assert found[place] == pytest.approx(np.abs(near[item, own]).sum(), rel=1e-5)


# ── Algorithm 1 ──


def test_errors_are_clamped_more_and_more():
    assert [round(most_error(t, 4), 3) for t in (1, 2, 5, 10, 20)] == [2.0, 1.5, 1.0, 0.773, 0.643]
    assert published_sensitivity(1, 4, 10) == pytest.approx(1.6)
    assert DPSGDPNBM(epsilon=2.0, iterations=5, bound=10, batch=0.5).noise_scale(1, 4) == pytest.approx(
        0.5 * 5 * 1.6 / 2
    )
    assert DPSGDPNBM(bound=10, as_released_code=True).noise_scale(1, 4) == pytest.approx(1.6 / np.sqrt(2))


@pytest.mark.parametrize("start", ["constant", "cosine", "random"])
def test_two_steps_of_descent_without_noise(start):
    model = DPSGDPNBM(epsilon=None, iterations=2, learning_rate=0.4, start=start, neighbours=11)
    means = shared.item_means(RATINGS)
    near = 10 * shared.start_of(model, RATINGS)
    for iteration in (1, 2):
        slope = in_numpy(RATINGS, means, near, error=most_error(iteration, 4), feature=4.0)
        near = (near - 0.4 * (10 * slope + 0.005 * near)).astype(np.float32)
    release = model.fit(RATINGS)
    np.testing.assert_allclose(release.arrays["similarities"], near, atol=5e-3)
    np.testing.assert_allclose(release.arrays["item_mean"], means)


def test_the_released_code_is_symmetric_and_decays_more():
    model = DPSGDPNBM(epsilon=1.0, start="random", as_released_code=True, iterations=3)
    _, near = model.learn(RATINGS, dc.Randomness(1))
    np.testing.assert_allclose(near, near.T, atol=1e-5)


def test_a_constant_similarity_predicts_item_mean_and_mean_deviation():
    release = DPSGDPNBM(epsilon=None, iterations=0).fit(RATINGS)
    means = shared.item_means(RATINGS)
    own = slice(RATINGS.indptr[3], RATINGS.indptr[4])
    items, values = RATINGS.item_index[own], RATINGS.values[own]
    new = next(item for item in range(12) if item not in items)
    expected = means[new] + (values - means[items]).mean()
    assert release.predict(RATINGS, [3], [new])[0] == pytest.approx(np.clip(expected, 1, 5), abs=1e-4)


def test_noise_is_on_every_pair_and_as_large_as_published():
    nobody = RATINGS.select(np.zeros(len(RATINGS), dtype=np.bool_))
    model = DPSGDPNBM(epsilon=1.0, regularisation=0.0)
    drawn = [model.learn(nobody, dc.Randomness(seed))[1] for seed in range(60)]
    noise = (np.array(drawn) - 10)[:, ~np.eye(12, dtype=np.bool_)]
    scale = 0.1 * 10 * model.noise_scale(1, 4)
    # The mean of |Laplace| is its scale; 7920 draws: 6 standard errors, a false alarm in 10^9.
    assert np.abs(noise).mean() == pytest.approx(scale, abs=6 * scale / np.sqrt(noise.size))


def test_a_batch_has_its_share_of_the_ratings():
    model = DPSGDPNBM(batch=0.25)
    weights = model._batch(1000, dc.Randomness(1))
    assert weights is not None and weights.sum() == 250
    assert model._batch(1000, dc.Randomness(2)) is not None and DPSGDPNBM()._batch(1000, dc.Randomness(1)) is None
    assert model.fit(RATINGS).arrays["similarities"].shape == (12, 12)


# ── Algorithm 2 ──


def test_steps_become_shorter_after_the_second():
    assert [round(DPPSPNBM(learning_rate=1.0).step_length(t), 4) for t in (1, 2, 3, 9)] == [1, 1, 0.8123, 0.5359]
    code = DPPSPNBM(learning_rate=1.0, as_released_code=True)
    assert code.step_length(40) == 1 and code.step_length(41) == pytest.approx(41**-0.3)


@pytest.mark.parametrize("prior", ["eq12", "dense", "touched"])
def test_one_step_of_sampling_without_noise(prior):
    model = DPPSPNBM(epsilon=None, iterations=1, learning_rate=0.1, regularisation=0.5, prior=prior, neighbours=11)
    means = shared.item_means(RATINGS)
    near = shared.start_of(model, RATINGS)
    slope = in_numpy(RATINGS, means, near)
    counts = np.bincount(RATINGS.item_index, minlength=12)
    p = counts / len(RATINGS)
    q = p * (1 - p) ** (len(RATINGS) - 1)
    inverse = {"eq12": 1 / (1 - np.outer(q, q)), "dense": 1.0, "touched": (slope != 0) * 1.0}[prior]
    expected = near - 0.05 * (slope + 0.5 * near * inverse)
    np.fill_diagonal(expected, 0)
    np.testing.assert_allclose(model.fit(RATINGS).arrays["similarities"], expected, atol=1e-4)


def test_a_lazily_applied_prior_is_unbiased_only_as_touched():
    """Four ratings, batches of two, all sixteen of them: the mean of the prior term is the whole of it."""
    catalogue = dc.Catalogue.of(["a", "b"], dc.Scale(1, 5))
    users = dc.synthetic(users=2, items=2, ratings=4, seed=1).users
    four = Ratings.of_columns(catalogue, users, [0, 0, 1, 1], [0, 1, 0, 1], [1.0, 2.0, 4.0, 5.0])
    model = DPPSPNBM(batch=0.5, prior="touched")
    inverse = model.inverse_prior(four)
    touched = np.mean([any(item == 0 for item in (a % 2, b % 2)) for a in range(4) for b in range(4)])  # the row of a
    assert inverse[0, 1] == pytest.approx(1 / touched)
    eq12 = replace(model, prior="eq12").inverse_prior(four)
    assert abs(eq12[0, 1] * touched - 1) > 0.1


def test_tempering_is_none_at_four_times_the_bound():
    assert DPPSPNBM(epsilon=20.0).tempering(4.0) == pytest.approx(20 / 12_800)
    assert DPPSPNBM(epsilon=None).tempering(4.0) == 1


def test_step_noise_has_the_temperature():
    """The stationary variance scales with it: here one step of noise alone."""
    nobody = RATINGS.select(np.zeros(len(RATINGS), dtype=np.bool_))
    model = DPPSPNBM(epsilon=20.0, iterations=1, learning_rate=1.0, temperature=0.25, regularisation=0.0)
    drawn = np.array([model.learn(nobody, dc.Randomness(seed))[1] for seed in range(40)])[
        :, ~np.eye(12, dtype=np.bool_)
    ]
    # 5280 normal draws: 6 standard errors of the deviation.
    assert np.std(drawn - 1) == pytest.approx(0.5, abs=6 * 0.5 / np.sqrt(2 * drawn.size))


def test_the_cap_keeps_at_most_so_many_ratings_of_everyone():
    some = capped(RATINGS, 3, dc.Randomness(1))
    np.testing.assert_array_equal(np.diff(some.indptr), np.minimum(np.diff(RATINGS.indptr), 3))
    assert capped(RATINGS, 100, dc.Randomness(1)) is RATINGS


# ── The rivals ──


def test_factorisation_learns_without_noise_and_not_with_much():
    ratings = dc.synthetic(users=100, items=60, ratings=3000, seed=1)
    how = {"learning_rate": 0.02, "iterations": 30}
    errors = []
    for epsilon in (None, 0.1):
        model = DPSGDMF(epsilon=epsilon, **how)
        guess = predicted(model, model.learn(ratings, dc.Randomness(1)), ratings)
        errors.append(float(np.sqrt(np.mean((guess - ratings.values) ** 2))))
    assert errors[0] < 0.9 * np.std(ratings.values) < errors[1]


def test_sampling_factors_moves_nothing_at_any_epsilon():
    guesses = []
    for epsilon in (2.0, 200.0):
        model = DPPSMF(epsilon=epsilon, iterations=20)
        guesses.append(predicted(model, model.learn(RATINGS, dc.Randomness(1)), RATINGS))
    assert np.abs(guesses[0] - guesses[1]).max() < 0.01


def test_sampling_factors_learns_with_longer_steps():
    model = DPPSMF(epsilon=None, iterations=300, learning_rate=0.05, regularisation=0.1)
    guess = predicted(model, model.learn(RATINGS, dc.Randomness(1)), RATINGS)
    assert np.sqrt(np.mean((guess - RATINGS.values) ** 2)) < 0.8 * np.std(RATINGS.values)


# ── What is released ──


@pytest.mark.parametrize("kind", [DPSGDPNBM, DPPSPNBM, DPSGDMF, DPPSMF])
def test_claims_and_proves_nothing(kind):
    guarantee = kind(epsilon=2.0).fit(RATINGS).guarantee
    assert guarantee.proven is None and guarantee.claimed == Loss(2.0)
    assert str(guarantee.unit).startswith("the value" if kind in (DPSGDPNBM, DPSGDMF) else "all ratings of one user")
    nothing = kind(epsilon=None).fit(RATINGS).guarantee
    assert nothing.proven is None and nothing.claimed is None


def test_says_what_else_leaks():
    assert "first similarities" in DPSGDPNBM(start="cosine").fit(RATINGS).guarantee.reason
    assert "first similarities" not in DPSGDPNBM().fit(RATINGS).guarantee.reason
    assert "not clamped" in DPSGDPNBM(as_released_code=True, start="random").fit(RATINGS).guarantee.reason
    assert "epsilon 3.33e+03 at temperature 0.006" in DPPSPNBM(epsilon=20.0, iterations=1).fit(RATINGS).guarantee.reason


def test_explanations_add_up_to_the_prediction():
    release, history = DPSGDPNBM(epsilon=None, iterations=3).fit(RATINGS), RATINGS.history_at(3)
    new = next(item for item in range(12) if item not in history.items)
    whole = release.arrays["item_mean"][new] + release.model.explain(release, history, new).sum()
    assert release.model.predict(release, RATINGS, np.array([3], np.int32), np.array([new], np.int32))[
        0
    ] == pytest.approx(whole, abs=1e-4)


def test_a_release_is_a_start(tmp_path):
    DPSGDPNBM(epsilon=None, iterations=2).fit(RATINGS).save(tmp_path / "release")
    again = DPSGDPNBM(epsilon=None, iterations=0, rescaling=1.0, start=str(tmp_path / "release")).fit(RATINGS)
    first = dc.Release.load(tmp_path / "release")
    np.testing.assert_allclose(again.arrays["similarities"], first.arrays["similarities"])


# ── Bad input ──


@pytest.mark.parametrize(
    ("kind", "settings", "says"),
    [
        (DPSGDPNBM, {"rescaling": 0}, "rescaling must be positive, got 0"),
        (DPSGDPNBM, {"rescaling": -1.0}, "rescaling must be positive, got -1.0"),
        (DPSGDPNBM, {"epsilon": 0}, "epsilon must be positive, got 0"),
        (DPSGDPNBM, {"bound": 0}, "bound must be positive, got 0"),
        (DPSGDPNBM, {"batch": 0}, "batch must be above 0 and at most 1, got 0"),
        (DPSGDPNBM, {"neighbours": 0}, "neighbours must be at least 1, got 0"),
        (DPSGDPNBM, {"start": ""}, "start must be one of constant, cosine, random or the folder of a release, got ''"),
        (DPPSPNBM, {"temperature": 0}, "temperature must be positive, got 0"),
        (DPPSPNBM, {"prior": "eq13"}, "prior must be one of eq12, touched, dense, got 'eq13'"),
        (DPPSMF, {"temperature": 0}, "temperature must be positive, got 0"),
        (DPSGDMF, {"factors": 0}, "factors must be at least 1, got 0"),
    ],
)
def test_settings_that_cannot_be(kind, settings, says):
    with pytest.raises(InputError) as error:
        kind(**settings)
    assert str(error.value) == says


def test_more_neighbours_than_items():
    with pytest.raises(InputError, match="the catalogue lists 12: neighbours may be at most 11, or None"):
        DPSGDPNBM(neighbours=12).fit(RATINGS)


def test_a_start_that_is_none(tmp_path):
    with pytest.raises(InputError, match="constant, cosine, random or the folder of a release, got 'cosin'"):
        DPSGDPNBM(start="cosin").fit(RATINGS)
    dc.Popularity().fit(dc.NoPrivacy(RATINGS)).save(tmp_path / "popular")
    with pytest.raises(InputError, match="no similarity for every pair"):
        DPSGDPNBM(start=str(tmp_path / "popular")).fit(RATINGS)
    other = dc.synthetic(users=25, items=14, ratings=150, seed=2)
    DPSGDPNBM().fit(other).save(tmp_path / "other")
    with pytest.raises(
        InputError, match="is of another catalogue, of 14 items: start from one that was fitted on the same 12"
    ):
        DPPSPNBM(start=str(tmp_path / "other")).fit(RATINGS)
