"""The published hybrid, against plain loops; and everything that a release owes its users."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

import discreet as dc
from discreet.data.labels import Labels
from discreet.data.ratings import Ratings
from discreet.errors import InputError
from discreet.fitting.fit_on import fit_on
from discreet.papers.hybrid_knn.algorithm import DAMPINGS, FORMS, JOINT, HybridKNN
from discreet.papers.hybrid_knn.privacy import SHARES, Sensitivities, corrected_epsilon

SCALE = dc.Scale(1, 5)


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return dc.synthetic(users=60, items=25, ratings=700, seed=3)


def naive_publication(ratings: Ratings, literal: bool = False):
    """Averages and exact sums with dictionaries, from the formulas of the paper."""
    rows = list(zip(ratings.user_index.tolist(), ratings.item_index.tolist(), ratings.values.tolist(), strict=True))
    size, users = ratings.n_items, ratings.n_users
    beta_m, beta_u = len(rows) / size, len(rows) / users
    mean = sum(value for _, _, value in rows) / len(rows)
    average = []
    for item in range(size):
        own = [value for _, other, value in rows if other == item]
        average.append((sum(own) + beta_m * mean) / (len(own) + beta_m))
    products, weights = np.zeros((size, size)), np.zeros((size, size))
    residuals = {}
    for user in range(users):
        own = [(item, value) for other, item, value in rows if other == user]
        total = sum(value - average[item] for item, value in own)
        level = (total + (beta_u * mean if literal else 0)) / (len(own) + beta_u)
        residuals[user] = {item: value - level - (0 if literal else average[item]) for item, value in own}
        for i, x in residuals[user].items():
            for j, y in residuals[user].items():
                products[i, j] += np.clip(x, -1, 1) * np.clip(y, -1, 1) / len(own)
                weights[i, j] += 1 / len(own)
    return mean, np.array(average), products, weights, residuals


@pytest.mark.parametrize("literal", [False, True])
def test_publishes_what_the_formulas_say(ratings, literal):
    model = HybridKNN(epsilon=None, gamma=0, centring="literal" if literal else "corrected")
    arrays = model.fit(ratings).arrays
    mean, average, products, weights, _ = naive_publication(ratings, literal)
    assert arrays["mean"][0] == pytest.approx(mean, abs=1e-5)
    np.testing.assert_allclose(arrays["item_average"], average, atol=1e-5)
    np.testing.assert_allclose(arrays["products"], products, atol=1e-5)
    np.testing.assert_allclose(arrays["weights"], weights, atol=1e-5)


def naive_moments(products, weights):
    """Every entry with one more rating of the mean of its kind, cell by cell."""
    size = len(products)
    kinds = {True: [(i, i) for i in range(size)], False: [(i, j) for i in range(size) for j in range(size) if i != j]}
    common = {kind: sum(products[c] for c in cells) / sum(weights[c] for c in cells) for kind, cells in kinds.items()}
    return np.array(
        [[(products[i, j] + common[i == j]) / (weights[i, j] + 1) for j in range(size)] for i in range(size)]
    )


def naive_joint(moments, near, item):
    """The best weights within the box, by a general optimiser."""
    a, b = moments[np.ix_(near, near)], moments[near, item]
    found = minimize(
        lambda w: w @ a @ w - 2 * b @ w,
        np.full(len(near), 0.5),
        jac=lambda w: 2 * (a @ w - b),
        bounds=[(0, 1)] * len(near),
        options={"ftol": 1e-15, "gtol": 1e-10},
    )
    return found.x


def test_joint_weights_stay_finite_where_noise_makes_the_covariance_negative(ratings):
    """Each within 0 and 1, so that no more than the k largest residuals can be added."""
    release = HybridKNN(epsilon=0.1, gamma=0, prediction="joint", clamps_averages=True).fit(
        ratings, randomness=dc.Randomness(1)
    )
    assert np.linalg.eigvalsh(release.model.moments(release)).min() < 0
    history = ratings.history_at(0)
    added = np.stack([release.scorer().shares(history, item) for item in range(25)])
    alone = Ratings.of_history(history)
    own = release.model._own(release, alone)
    residuals = release.model.residuals(alone, release.arrays["item_average"], own)
    assert (np.abs(added) <= np.abs(residuals) * (1 + 1e-5)).all()
    assert np.count_nonzero(added) > 0


@pytest.mark.parametrize("form", FORMS)
def test_predicts_by_the_nearest_rated_items(ratings, form):
    model = HybridKNN(epsilon=None, gamma=0, prediction=form, neighbours=3)
    release = model.fit(ratings)
    _, average, products, weights, residuals = naive_publication(ratings)
    published = np.divide(products, weights, out=np.zeros_like(products), where=weights > 0)
    if form == "plain":
        similar = published
    elif form == "ratio":
        similar = np.maximum(published, 0)  # neighbours have something in common
    else:
        covariance = products / (weights + 1)
        spread = np.sqrt(np.diag(covariance))
        similar = np.clip(covariance / np.outer(spread, spread), 0, 1)
    moments = published if form == "ratio" else naive_moments(products, weights)
    users, items = np.repeat(np.arange(10), 5).astype(np.int32), np.tile(np.arange(5), 10).astype(np.int32)
    expected = []
    for user, item in zip(users.tolist(), items.tolist(), strict=True):
        own = residuals[user]
        value = ratings.values[(ratings.user_index == user)][0]
        first = next(iter(own))
        level = value - average[first] - own[first]  # what the residual leaves is the user's average
        near = sorted((j for j in own if j != item and similar[item, j] != 0), key=lambda j: -abs(similar[item, j]))[:3]
        above = sum(similar[item, j] * own[j] for j in near)
        below = sum(abs(similar[item, j]) for j in near) + DAMPINGS.get(form, 0)
        if form in JOINT:
            above, below = naive_joint(moments, near, item) @ [own[j] for j in near], 1
        expected.append(average[item] + level + (above / below if near and form != "average" else 0))
    predicted = model.predict(model.prepare(release), ratings, users, items)
    np.testing.assert_allclose(predicted, expected, atol=1e-3 if form in JOINT else 2e-4)
    scores = release.scores(ratings)
    np.testing.assert_allclose(scores[users, items], predicted, atol=1e-5)


def test_noise_has_the_published_scales(ratings):
    """Mean absolute deviation of Laplace noise is its scale: 25² cells, 40 times, are within 3 %."""
    model = HybridKNN(epsilon=2.0, gamma=0, item_damping=5, user_damping=5)
    exact = replace(model, epsilon=None).measure(ratings, dc.Randomness(1))
    randomness = dc.Randomness(1)
    runs = [model.measure(ratings, randomness) for _ in range(40)]
    deltas = Sensitivities.published(4, 0, 1)
    for name, sensitivity, share in (
        ("item_totals", deltas.ratings, SHARES[1]),
        ("item_counts", deltas.counts, SHARES[1]),
        ("weights", deltas.weights, SHARES[2]),
    ):
        sizes = np.abs(np.stack([getattr(run, name) for run in runs]) - getattr(exact, name))
        assert sizes.mean() == pytest.approx(sensitivity / (share * 2.0), rel=0.15 if "item" in name else 0.03)
    # The exact products depend on the noisy averages, so noise is told from them by its independent cells.
    asymmetry = np.stack([np.abs(run.products - run.products.T)[np.triu_indices(25, 1)] for run in runs])
    assert asymmetry.mean() == pytest.approx(1.5 * deltas.products / (SHARES[2] * 2.0), rel=0.05)


@pytest.mark.parametrize("gamma", [0.0, 1.5, 3.5])
def test_noise_of_the_global_average_has_the_published_scales(ratings, gamma):
    """epsilon_1 is 2 % of epsilon. The mean of 4,000 sizes of Laplace noise is off by 10 % once in 4 billion: 6.3
    standard errors. Half the scale, or that of gamma 0, is refused."""
    model = HybridKNN(epsilon=2.0, gamma=gamma, item_damping=5, user_damping=5)
    sent, randomness = model.collect(ratings, dc.Randomness(1)), dc.Randomness(2)
    few = sent.select(sent.item_index < 1)  # so that a run is short
    runs = [model.measure(few, randomness) for _ in range(4000)]
    width = 4 + 2 * gamma
    for name, exact, sensitivity in (
        ("total", float(few.values.astype(np.float64).sum()), width),
        ("count", float(len(few)), 1.0),
    ):
        sizes = np.abs(np.array([getattr(run, name) for run in runs]) - exact)
        assert sizes.mean() == pytest.approx(sensitivity / (0.02 * 2.0), rel=0.1), name


@pytest.mark.parametrize("ignores", [False, True])
def test_noise_grows_with_the_perturbation_unless_it_is_ignored(ratings, ignores):
    """The scales of all other sums at gamma 3.5: tau + 2 gamma is 11 and 2B · 11 + 3B² is 25; ignored, 4 and 11.
    25 items, 200 times: the mean size is off by 10 % (7 standard errors) less than once in a billion."""
    model = HybridKNN(epsilon=2.0, gamma=3.5, ignores_perturbation=ignores, item_damping=5, user_damping=5)
    sent, randomness = model.collect(ratings, dc.Randomness(1)), dc.Randomness(2)
    exact = replace(model, epsilon=None).measure(sent, dc.Randomness(1))
    runs = [model.measure(sent, randomness) for _ in range(200)]
    wide, products = (4.0, 11.0) if ignores else (11.0, 25.0)
    for name, sensitivity, share in (("item_totals", wide, 0.19), ("item_counts", 1.0, 0.19), ("weights", 3.0, 0.79)):
        sizes = np.abs(np.stack([getattr(run, name) for run in runs]) - getattr(exact, name))
        assert sizes.mean() == pytest.approx(sensitivity / (share * 2.0), rel=0.1), name
    asymmetry = np.stack([np.abs(run.products - run.products.T)[np.triu_indices(25, 1)] for run in runs])
    assert asymmetry.mean() == pytest.approx(1.5 * products / (0.79 * 2.0), rel=0.1)


def test_published_sensitivities():
    assert Sensitivities.published(4, 0, 1) == Sensitivities(4, 1, 11, 3)
    assert Sensitivities.published(4, 3.5, 1) == Sensitivities(11, 1, 25, 3)
    assert HybridKNN(gamma=3.5, ignores_perturbation=True).sensitivities(4) == Sensitivities.published(4, 0, 1)


def test_perturbs_at_home(ratings):
    model = HybridKNN(epsilon=None, gamma=1.5)
    sent = model.collect(ratings, dc.Randomness(1))
    noise = sent.values - ratings.values
    assert np.abs(noise).max() <= 1.5 + 1e-5
    assert np.abs(noise).mean() == pytest.approx(0.75, rel=0.1)
    assert sent.catalogue is ratings.catalogue
    assert HybridKNN(gamma=0).collect(ratings, dc.Randomness(1)) is ratings


def test_says_what_is_claimed_and_why_it_is_not_proven(ratings):
    guarantee = HybridKNN(epsilon=1.0, gamma=0.5).fit(ratings).guarantee
    assert guarantee.proven is None and guarantee.claimed == dc.privacy.Loss(1.0)
    assert "epsilon 2.63" in str(guarantee) and "profile" in str(guarantee)
    clamped = HybridKNN(epsilon=1.0, gamma=0.5, clamps_averages=True).fit(ratings)
    assert "epsilon 2.63" in str(clamped.guarantee) and "profile" not in str(clamped.guarantee)
    assert clamped.arrays["item_average"].min() >= 0.5 and clamped.arrays["item_average"].max() <= 5.5
    literal = HybridKNN(epsilon=1.0, gamma=0, centring="literal")
    assert "epsilon 2.77" in str(literal.fit(ratings).guarantee) and "epsilon 2.63" not in str(
        literal.fit(ratings).guarantee
    )
    ignoring = HybridKNN(epsilon=1.0, gamma=3.5, ignores_perturbation=True).fit(ratings).guarantee
    assert "epsilon 4.82" in str(ignoring)
    alone = HybridKNN(epsilon=None, gamma=0.5).fit(ratings).guarantee
    assert alone.claimed is None and "bounds no epsilon" in str(alone)
    seeded = HybridKNN().fit(ratings, randomness=dc.Randomness(1)).guarantee
    assert seeded.seeded and "seeded" in str(seeded)


def test_noise_is_fresh_unless_it_is_seeded(ratings):
    model = HybridKNN()
    assert (model.fit(ratings).arrays["weights"] != model.fit(ratings).arrays["weights"]).any()
    same = [model.fit(ratings, randomness=dc.Randomness(1)).arrays["weights"] for _ in range(2)]
    np.testing.assert_array_equal(*same)


def test_holds_no_user_and_predicts_finite_numbers():
    """Even where averages are absurd: hardly any ratings, hardly any budget."""
    few = dc.synthetic(users=31, items=12, ratings=60, seed=1)
    for form in FORMS:
        release = HybridKNN(epsilon=0.01, gamma=3.5, prediction=form).fit(few)
        assert all(31 not in array.shape for array in release.arrays.values())
        assert np.isfinite(release.scores(few)).all()
        assert release.scores(few).dtype == np.float32


def test_a_user_without_ratings_gets_the_averages(ratings):
    release = HybridKNN(epsilon=None, gamma=0).fit(ratings)
    nobody = Ratings.of_columns(ratings.catalogue, Labels.of(["u"], what="user"), [], [], [])
    np.testing.assert_allclose(release.scores(nobody)[0], release.arrays["item_average"], atol=1e-5)


@pytest.mark.parametrize("form", ["plain", "ratio", "joint", "shrunk"])
def test_explains_by_what_each_rating_adds(ratings, form):
    release = HybridKNN(epsilon=None, gamma=0, prediction=form, neighbours=5).fit(ratings)
    history = ratings.history_at(2)
    item = int(np.setdiff1d(np.arange(25), history.items)[0])
    added = release.scorer().shares(history, item)
    assert np.count_nonzero(added) <= 5
    alone = replace(release, model=replace(release.model, prediction="average"))
    assert added.sum() == pytest.approx(release.score(history)[item] - alone.score(history)[item], abs=1e-5)
    assert release.recommend(history, k=2, explain=True)


@pytest.mark.parametrize("gamma", [0, 1])
def test_saves_and_loads_by_name(ratings, tmp_path, gamma):
    release = HybridKNN(epsilon=1.0, gamma=gamma, prediction="damped").fit(ratings)
    release.save(tmp_path / "release")
    again = dc.Release.load(tmp_path / "release")
    assert again.model == release.model
    assert again.guarantee == release.guarantee
    np.testing.assert_array_equal(again.scores(ratings), release.scores(ratings))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"epsilon": -1}, "epsilon must be positive and finite, or None for no noise, got -1"),
        ({"gamma": -0.5}, "gamma must not be negative, got -0.5"),
        ({"neighbours": 0}, "neighbours must be at least 1, got 0"),
        ({"bound": 0}, "bound must be positive"),
        ({"centring": "both"}, "centring must be 'corrected' or 'literal', got 'both'"),
        ({"prediction": "best"}, "prediction must be one of"),
        ({"user_damping": -1}, "user_damping must not be negative, got -1"),
    ],
)
def test_refuses_settings_that_mean_nothing(settings, sentence):
    with pytest.raises(InputError, match=sentence):
        HybridKNN(**settings)


def test_needs_raw_ratings(ratings):
    with pytest.raises(InputError, match="needs the raw ratings"):
        HybridKNN().fit(dc.NoPrivacy(ratings))
    with pytest.raises(InputError, match="its epsilon is a claim of a paper and not a limit"):
        fit_on(HybridKNN(), ratings, dc.Terms(epsilon=1.0))


def test_corrected_epsilon_of_every_relation():
    for gamma, factor in ((0, 2.627), (0.5, 2.629), (1, 2.632), (2, 2.665), (3.5, 2.695)):
        assert corrected_epsilon(1, gamma, scale=SCALE) == pytest.approx(factor, abs=5e-4)
    for gamma, factor in ((0, 1.072), (0.5, 0.897), (1, 0.772), (2, 0.604), (3.5, 0.456)):
        assert corrected_epsilon(1, gamma, scale=SCALE, relation="replace") == pytest.approx(factor, abs=5e-4)
    grown = [corrected_epsilon(1, 0, scale=SCALE, ratings_of_a_user=count) for count in (10, 100, 1000)]
    assert grown == sorted(grown) and grown[-1] > 100
    for gamma, factor in ((0, 2.771), (0.5, 2.689), (1, 2.632), (3.5, 2.695)):
        assert corrected_epsilon(1, gamma, scale=SCALE, literal=True) == pytest.approx(factor, abs=5e-4)


@pytest.mark.parametrize("relation", ["add-or-remove", "replace"])
def test_theorem_4_has_the_order_right_and_the_size_wrong(relation):
    """It says that DP which ignores RP is worth (tau + 2 gamma)/tau times what the hybrid is."""
    for gamma in (0.5, 1.0, 2.0, 3.5):
        hybrid, ignoring = (
            corrected_epsilon(1, gamma, scale=SCALE, relation=relation, ignores_perturbation=ignores)
            for ignores in (False, True)
        )
        assert hybrid < ignoring < (4 + 2 * gamma) / 4 * hybrid
    for gamma, there, changed in ((0.5, 2.94, 1.07), (3.5, 4.82, 1.07)):
        found = {"add-or-remove": there, "replace": changed}[relation]
        worth = corrected_epsilon(1, gamma, scale=SCALE, relation=relation, ignores_perturbation=True)
        assert worth == pytest.approx(found, abs=5e-3)


def test_the_ratio_is_all_that_its_form_uses(ratings):
    """Halves that are both twice as large have the same ratio: what is predicted from it alone does not change."""
    for form, same in (("plain", True), ("ratio", True), ("joint", False), ("shrunk", False)):
        release = HybridKNN(epsilon=None, gamma=0, prediction=form).fit(ratings)
        halves = {name: 2 * release.arrays[name] for name in ("products", "weights")}
        doubled = replace(release, arrays={**release.arrays, **halves})
        assert np.allclose(release.scores(ratings), doubled.scores(ratings), atol=1e-4) is same


def test_clamped_averages_lie_on_the_perturbed_scale():
    few = dc.synthetic(users=20, items=12, ratings=60, seed=1)
    model = HybridKNN(epsilon=0.01, gamma=0.5, clamps_averages=True, centring="literal")
    for seed in range(20):
        measured = model.measure(few, dc.Randomness(seed))
        assert 0.5 <= measured.mean <= 5.5 and measured.item_averages.min() >= 0.5


def test_movielens_numbers(ml_100k):
    """One split: what the published release is worth, and that its covariance is noise at epsilon 1."""
    train, test = ml_100k.split(test=0.2, seed=11)

    def error(form, **settings):
        model = HybridKNN(prediction=form, **settings)
        sent = model.collect(train, dc.Randomness(22))
        predicted = model.publish(sent, dc.Randomness(23)).predict(sent, test.user_index, test.item_index)
        return float(np.sqrt(np.mean((predicted - test.values) ** 2)))

    assert error("shrunk", epsilon=None, gamma=0) <= 0.93
    assert error("shrunk", epsilon=None, gamma=0, item_damping=5, user_damping=5) <= 0.92
    assert error("shrunk", epsilon=None, gamma=0.5) <= 0.935
    assert error("shrunk", epsilon=None, gamma=3.5) <= 1.03
    averages = error("average", epsilon=1.0, gamma=0)
    assert averages <= 1.05
    assert error("plain", epsilon=1.0, gamma=0) > averages + 0.05
