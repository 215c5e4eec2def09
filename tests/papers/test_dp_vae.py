"""DP-VAE as published: its network and listing against naive ones, its claims against counter-examples."""

import numpy as np
import pytest

import discreet as dc
from discreet.data.history import History
from discreet.data.user_file import UserFacts
from discreet.errors import InputError
from discreet.models.home.user_prior import LEAST_VARIANCE, UserPriors
from discreet.papers.dp_vae.algorithm import DPVAE, dense_rows
from discreet.papers.dp_vae.clipping import expected_error, optimal_clip
from discreet.papers.dp_vae.construction import contribution_bounds
from discreet.papers.dp_vae.factors import FactorGradients, Factors, RowGradient
from discreet.papers.dp_vae.network import Network
from discreet.papers.dp_vae.priors import exact_means, negative_share, published_priors
from discreet.papers.dp_vae.privacy import batch_deviation, multiplier
from discreet.papers.dp_vae.rounds import Rounds, draw_levels
from discreet.releases.published import Published

RATINGS = dc.synthetic(users=40, items=30, ratings=600, seed=1)
DELTA = 1.25e-5


def with_facts(ratings=RATINGS):
    rng = np.random.default_rng(2)
    names = tuple(ratings.users.names.tolist())
    columns = {
        "age": rng.integers(10, 70, len(names)).astype(np.int16),
        "gender": rng.choice(["M", "F"], len(names)),
        "occupation": rng.choice(["writer", "doctor", "student"], len(names)),
    }
    return UserFacts(names, columns).of(ratings)


def batch(network: Network, users=5, seed=0):
    """Everything in double precision."""
    rng = np.random.default_rng(seed)
    rows = (rng.random((users, network.items)) < 0.4).astype(np.float64)
    noise = rng.standard_normal((users, network.latent))
    priors = UserPriors(rng.normal(0, 1, noise.shape), rng.uniform(0.2, 2, noise.shape))
    return rows, noise, priors


def loss(network: Network, flat, row, noise, means, variances, divergence):
    """The formula of one user, written down once more."""
    weights = network.views(flat)
    first = np.tanh(row / max(np.sqrt(row.sum()), 1) @ weights["encoder_in"] + weights["encoder_in_bias"])
    codes = first @ weights["encoder_out"] + weights["encoder_out_bias"]
    code, extra = codes, 0.0
    if network.variational:
        middle, log_variance = codes[: network.latent], codes[network.latent :]
        code = middle + np.exp(log_variance / 2) * noise
        terms = np.log(variances) - log_variance + (np.exp(log_variance) + (middle - means) ** 2) / variances - 1
        extra = divergence * terms.sum() / 2
    third = np.tanh(code @ weights["decoder_in"] + weights["decoder_in_bias"])
    scores = third @ weights["decoder_out"] + weights["decoder_out_bias"]
    return extra - (row * (scores - np.log(np.exp(scores).sum()))).sum()


@pytest.mark.parametrize("variational", [True, False])
def test_gradients_are_those_of_the_loss_user_by_user(variational):
    """By differences, in double precision; norms and sums are those of each user's own explicit gradient (T16)."""
    network = Network(7, hidden=3, latent=2, variational=variational)
    flat = network.start(1).astype(np.float64)
    rows, noise, priors = batch(network)
    found = network.gradients(network.views(flat), rows, noise, priors, 0.7)
    explicit = []
    for user in range(len(rows)):
        own = np.zeros(network.count)
        found.total(np.eye(len(rows))[user], own)
        explicit.append(own)
        for place in range(network.count):
            sides = []
            for step in (1e-5, -1e-5):
                moved = flat.copy()
                moved[place] += step
                means, variances = priors.means[user], priors.variances[user]
                sides.append(loss(network, moved, rows[user], noise[user], means, variances, 0.7))
            assert (sides[0] - sides[1]) / 2e-5 == pytest.approx(own[place], abs=1e-6)
    assert found.norms == pytest.approx(np.linalg.norm(explicit, axis=1), rel=1e-10)
    assert found.sums == pytest.approx(np.abs(explicit).sum(axis=1), rel=1e-10)
    weights = np.array([0.5, 0.0, 1.0, 2.0, 0.1])
    together = np.zeros(network.count)
    found.total(weights, together)
    assert together == pytest.approx(weights @ np.array(explicit), rel=1e-10, abs=1e-12)


def test_the_paper_s_sizes():
    sizes = (1682, 80, 20), (26744, 100, 30), (17770, 100, 50)
    assert [Network(*size).count for size in sizes] == [275_802, 5_384_804, 3_587_070]
    assert Network(1682).count == 275_802


# ── Clipping and noise ──


def test_h_rises_everywhere_so_that_optimal_clip_is_the_least_norm():
    """V5, whatever the gradients: on real ones and on adversarial ones, at every level up to 1."""
    network = Network(RATINGS.n_items, hidden=8, latent=4)
    rows = dense_rows(RATINGS)(np.arange(20))
    priors = UserPriors.standard(20, 4)
    found = network.gradients(network.views(network.start(1)), rows, np.zeros((20, 4)), priors, 0.5)
    rng = np.random.default_rng(1)
    for norms, sums, count in (
        (found.norms, found.sums, network.count),
        (rng.uniform(0.1, 9, 20), rng.uniform(1, 9, 20) * np.sqrt(50), 50),  # |g|₁ up to √l ‖g‖
    ):
        sums = np.minimum(sums, np.sqrt(count) * norms)
        error = expected_error(norms, sums, np.ones(20), DELTA, count)
        grid = np.linspace(0, norms.max(), 200)
        assert np.all(np.diff([error(bound) for bound in grid]) > 0)
        assert optimal_clip(norms, error) == norms.min()


def test_the_bisection_finds_the_minimum_of_any_valley():
    rng = np.random.default_rng(3)
    for size in range(1, 40):
        norms = rng.permutation(np.arange(1.0, size + 1))
        best = float(rng.integers(1, size + 1))
        assert optimal_clip(norms, lambda bound, best=best: abs(bound - best)) == best


def rounds(**settings):
    noise = {"levels": None, "delta": DELTA, "clipping": "constant", "clip": 1.5, "epsilon": 1}
    return Rounds(**({"epochs": 1, "batch": 10, "learning_rate": 0.1} | noise | settings))


class Fixed:
    """Gradients that are all the same vector."""

    def __init__(self, users, size, length):
        self.norms, self.sums, self.size = np.full(users, length), np.full(users, length), size

    def total(self, weights, out):
        out[...] = np.sum(weights) * self.norms[0] / np.sqrt(self.size)


def test_every_user_is_clipped_and_gets_their_own_noise():
    """ĝ_k has deviation z S/ε_k: that of a sum is the root of the sum of squares."""
    levels = np.array([1.0, 0.5, 0.1])
    share, deviation = rounds(levels=levels).clipped(Fixed(3, 4, 6.0), np.arange(3), 4)
    assert share == pytest.approx(np.full(3, 0.25))
    assert deviation == pytest.approx(1.5 * multiplier(DELTA) * np.sqrt(1 + 4 + 100))
    assert batch_deviation(levels, DELTA) == pytest.approx(deviation / 1.5)


def test_noise_is_gaussian_and_of_the_stated_size():
    """One step from 0 with 100,000 weights: mean and deviation within 5 standard errors (odds 1e-6 by chance)."""
    size, levels = 100_000, np.full(10, 0.5)
    flat = np.zeros(size, dtype=np.float32)
    done = rounds(levels=levels).descend(
        flat, 10, lambda users: Fixed(10, size, 1e-9), np.random.default_rng(1), np.random.default_rng(2)
    )
    expected = 0.1 / 10 * 1.5 * batch_deviation(levels, DELTA)
    assert done == 1
    assert abs(flat.mean()) < 5 * expected / np.sqrt(size)
    assert abs(flat.std() / expected - 1) < 5 / np.sqrt(2 * size)


def test_levels_are_uniform_up_to_the_largest():
    levels = draw_levels(1.5, 10_000, seed=1)
    assert levels.min() > 0 and levels.max() <= 1.5 and abs(levels.mean() - 0.75) < 5 * 1.5 / np.sqrt(12 * 10_000)
    assert set(draw_levels(0.3, 5, 1, same=True)) == {0.3}


def test_optimal_clip_makes_training_overflow():
    """Larger weights have larger gradients, these a larger bound, and this larger noise."""
    network, priors = Network(30, 80, 20), UserPriors.standard(40, 20)
    order, flat, rows = np.random.default_rng(1), network.start(1), dense_rows(RATINGS)

    def gradients(users):
        noise = np.zeros((len(users), 20), dtype=np.float32)
        own = UserPriors(priors.means[users], priors.variances[users])
        return network.gradients(network.views(flat), rows(users), noise, own, 0.5)

    found = rounds(levels=np.full(40, 0.1), clipping="optimal", epochs=400, learning_rate=0.05)
    assert found.descend(flat, 40, gradients, order, np.random.default_rng(2)) < 1600
    assert np.isfinite(flat).all()


# ── Priors and the cold start ──


def test_priors_have_the_paper_s_noise_and_exact_ones_have_none():
    embedded = np.random.default_rng(1).random((2000, 3, 4)).astype(np.float32)
    means = exact_means(embedded)
    exact = published_priors(embedded, means, None, DELTA, np.random.default_rng(1))
    noisy = published_priors(embedded, means, np.full(2000, 0.5), DELTA, np.random.default_rng(1))
    assert exact.means == pytest.approx((embedded * means).sum(axis=1), rel=1e-5)
    spread = (noisy.means - exact.means).std()
    assert abs(spread / (multiplier(DELTA) / 0.5) - 1) < 5 / np.sqrt(2 * 8000)  # by chance 1 in a million
    assert noisy.variances.min() >= LEAST_VARIANCE
    assert [round(negative_share(variance, 4.8), 2) for variance in (4.0, 0.5)] == [0.2, 0.46]


def test_a_user_without_ratings_is_recommended_from_what_they_say_of_themselves():
    ratings = with_facts()
    release = DPVAE(epsilon=None, hidden=8, latent=4, epochs=30, learning_rate=0.02).fit(ratings)
    young, old = (
        History.of(ratings.catalogue, {}, {"age": age, "gender": "F", "occupation": word})
        for age, word in ((12, "student"), (60, "doctor"))
    )
    assert len(release.recommend(young, k=5)) == 5
    assert not np.allclose(release.score(young), release.score(old))
    silent = release.score(History.of(ratings.catalogue, {}))
    assert np.isfinite(silent).all() and not np.allclose(silent, release.score(young))


def test_ratings_count_and_facts_do_not_where_there_are_ratings():
    ratings = with_facts()
    release = DPVAE(epsilon=None, hidden=8, latent=4, epochs=2).fit(ratings)
    own = ratings.history_at(0)
    bare = History(own.catalogue, own.items, own.values)
    assert np.array_equal(release.score(own), release.score(bare))


def test_a_release_with_priors_is_saved_and_loaded(tmp_path):
    release = DPVAE(hidden=8, latent=4, epochs=1).fit(with_facts())
    release.save(tmp_path / "release")
    again = dc.Release.load(tmp_path / "release")
    history = History.of(release.catalogue, {}, {"age": 30, "occupation": "writer"})
    assert np.array_equal(again.score(history), release.score(history))
    assert again.guarantee.claimed is not None and again.guarantee.proven is None


@pytest.mark.parametrize("clipping", ["optimal", "constant", "plain"])
def test_what_is_claimed_is_never_proven(clipping):
    model = DPVAE(hidden=4, latent=2, epochs=1, clipping=clipping)
    release, looks = model.observe(RATINGS, dc.Randomness(1))
    assert release.guarantee.proven is None and release.guarantee.claimed.epsilon == 1.0
    assert release.guarantee.seeded and len(looks) == 1
    assert isinstance(model, Published)


@pytest.mark.parametrize(
    "setting",
    [
        {"epsilon": 0},
        {"delta": 1.0},
        {"levels": "none"},
        {"clipping": "median"},
        {"clip": -1},
        {"hidden": 0},
        {"epochs": -1},
        {"learning_rate": 0},
    ],
)
def test_settings_that_make_no_sense_are_refused(setting):
    with pytest.raises(InputError, match=next(iter(setting))):
        DPVAE(**setting)


# ── Factors ──


@pytest.mark.parametrize("biased", [True, False])
def test_factor_gradients_add_up_to_their_norms(biased):
    rng, model = np.random.default_rng(1), Factors(factors=3, biased=biased)
    rows = tuple(
        RowGradient(
            user, np.arange(4), rng.normal(size=3), rng.normal(size=(4, 3)), 0.5 * biased, biased * rng.normal(size=4)
        )
        for user in range(2)
    )
    found = FactorGradients(model, 2, 4, rows)
    for user in range(2):
        own = np.zeros(6 * 4, dtype=np.float32)
        found.total(np.eye(2)[user], own)
        assert found.norms[user] == pytest.approx(np.linalg.norm(own), rel=1e-6)
        assert found.sums[user] == pytest.approx(np.abs(own).sum(), rel=1e-6)


def test_factors_learn_without_noise():
    scores = Factors(factors=4, seed=1).train(
        RATINGS, rounds(epochs=200, learning_rate=0.05, epsilon=None), np.random.default_rng(1)
    )
    errors = scores[RATINGS.user_index, RATINGS.item_index] - RATINGS.values
    assert np.sqrt(np.mean(errors**2)) < 0.7 * RATINGS.values.std()


# ── Data sets ──


def test_bounds_of_the_formula_and_those_that_are_printed():
    assert contribution_bounds(1682) == (34, 33707)
    assert contribution_bounds(1682, printed=True)[1] == 1772
    with pytest.raises(InputError, match="omega"):
        contribution_bounds(10, omega=0.0)
