"""Noisy descent, Langevin steps and lists in one shot: formulas, accounts, what is refused, shorter lists."""

import math

import numpy as np
import pytest

import discreet as dc
from discreet.errors import InputError
from discreet.models.home.lists import home_of
from discreet.models.sums.similarity_gradient import gradient_residuals
from discreet.populations.rehearsal import follow, rehearse

RATINGS = dc.synthetic(users=120, items=40, ratings=2400, seed=6)
LEARNED = [dc.NoisyPNBM, dc.LangevinPNBM]
LISTS = [dc.NeighbourList, *LEARNED]


def error(release, ratings=RATINGS, test=RATINGS):
    predicted = release.predict(ratings, test.user_index, test.item_index).astype(np.float64)
    return np.sqrt(np.mean((predicted - test.values) ** 2))


def dense(release):
    """Similarities as a matrix; of a place without similarity nothing is told."""
    matrix = np.zeros((40, 40))
    for item in range(40):
        kept = release.arrays["similarities"][item] > 0
        matrix[item, release.arrays["neighbours"][item][kept]] = release.arrays["similarities"][item][kept]
    return matrix


# ── What they do ──


@pytest.mark.parametrize("kind", LISTS)
def test_a_prediction_is_the_own_expectation_and_the_mean_residual_of_neighbours(kind):
    release = kind(neighbours=7, floor=0.4).fit(dc.NoPrivacy(RATINGS))
    home = home_of(release.arrays, release.catalogue, features=True)
    own, matrix = home.coefficients(RATINGS), dense(release)
    residuals = np.zeros((120, 40))
    residuals[RATINGS.user_index, RATINGS.item_index] = gradient_residuals(home, RATINGS)
    seen = RATINGS.csr.toarray() > 0
    expected = home.base + own @ home.rows.T + residuals @ matrix.T / np.maximum(seen @ matrix.T, 0.4)
    users, items = (grid.ravel() for grid in np.indices((120, 40)))
    predicted = release.predict(RATINGS, users, items).reshape(120, 40)
    np.testing.assert_allclose(predicted, np.clip(expected, 1, 5), atol=1e-4)


def test_a_step_of_descent_is_the_formula():
    model = dc.NoisyPNBM(steps=1, step=0.05, clip=1e6, pull=0.0, neighbours=39, start="constant")
    release = model.fit(dc.NoPrivacy(RATINGS))
    home = home_of(release.arrays, release.catalogue, features=True)
    seen, residuals = RATINGS.csr.toarray() > 0, np.zeros((120, 40))
    residuals[RATINGS.user_index, RATINGS.item_index] = gradient_residuals(home, RATINGS)
    start = np.full((40, 40), model.even)
    np.fill_diagonal(start, 0)
    below = seen @ start.T
    assert (below < model.floor).all()  # so the divisor does not move
    pulls = np.where(seen, residuals @ start.T / model.floor - residuals, 0) / model.floor
    slope = pulls.T @ residuals
    expected = np.maximum(start - 0.05 * slope, 1e-6)
    np.fill_diagonal(expected, 0)
    np.testing.assert_allclose(dense(release), expected, atol=1e-5)


@pytest.mark.parametrize("start", ["pairs", "constant"])
def test_descent_lowers_the_training_error(start):
    errors = [
        error(dc.NoisyPNBM(start=start, steps=steps, step=0.003, clip=100).fit(dc.NoPrivacy(RATINGS)))
        for steps in (1, 3, 9)
    ]
    assert errors == sorted(errors, reverse=True)


def test_noise_alone_moves_no_similarity_by_more_than_the_spread():
    """Nobody rates anything, so all is noise: its deviation is the spread, to 5 deviations of its estimate."""
    nobody = RATINGS.select(np.zeros(len(RATINGS), dtype=bool))
    model = dc.NoisyPNBM(start="constant", steps=4, spread=0.02, step=100.0, even=1.0)
    server = dc.TrustedServer(nobody, dc.Ledger(5.0, 1e-6, dc.User()), randomness=dc.Randomness(seed=1))
    moved = model.fit(server).arrays["similarities"] - 1.0
    assert moved.std() == pytest.approx(0.02, rel=5 / math.sqrt(2 * moved.size))


def test_langevin_has_the_variance_of_its_posterior():
    """On nobody's ratings the posterior is the prior: deviation spread · √temperature, at every noise of the gradients.

    A step goes back by ``step``, so the chain's variance is that of an autoregression: 1/(1 − step/2) of it.
    """
    nobody = RATINGS.select(np.zeros(len(RATINGS), dtype=bool))
    for temperature, unit in ((1.0, None), (0.25, None), (1.0, dc.User()), (4.0, dc.User())):
        model = dc.LangevinPNBM(
            start="constant", steps=40, spread=0.02, temperature=temperature, step=0.2, averaged=False, even=1.0
        )
        population = dc.NoPrivacy(nobody)
        if unit is not None:
            population = dc.TrustedServer(nobody, dc.Ledger(0.5, 1e-6, unit), randomness=dc.Randomness(seed=1))
        moved = model.fit(population).arrays["similarities"] - 1.0
        expected = 0.02 * math.sqrt(temperature / (1 - 0.2 / 2))
        assert moved.std() == pytest.approx(expected, rel=5 / math.sqrt(2 * moved.size)), (temperature, unit)


# ── What they cost ──


@pytest.mark.parametrize("unit", [dc.User(), dc.Rating(), dc.User(neighbours="replace")])
def test_langevin_costs_what_the_theorem_says(unit):
    """μ² = (s C)² Σ η / (4 temperature), times 4 for a rating or a user who is replaced."""
    model = dc.LangevinPNBM(steps=7, spread=1.0, step=0.5, temperature=0.7, clip=0.3)
    ledger = dc.Ledger(2.0, 1e-6, unit)
    server = dc.TrustedServer(RATINGS, ledger)
    model.fit(server)
    (spend,) = (spend for spend in ledger.spends if spend.times == 7)
    eta, tempering, rest = model.chain(spend.scale)
    assert tempering < 1 and rest == pytest.approx(0, abs=1e-6)
    moved = 0.3 if unit == dc.User() else 0.6
    mu = tempering * moved * math.sqrt(7 * eta / (4 * 0.7))
    assert mu == pytest.approx(math.sqrt(7) * moved / spend.scale, rel=1e-9)
    assert ledger.spent <= 2.0 * (1 + 1e-9)


@pytest.mark.parametrize("kind", LEARNED)
def test_sampled_steps_are_planned_with_the_rest(kind):
    model = kind(steps=6, sampling_rate=0.3)
    server = dc.TrustedServer(RATINGS, dc.Ledger(2.0, 1e-6, dc.User()))
    follow(rehearse(model, server), server)
    release = model.fit(server)
    assert server.ledger.spends[-1].times == 6
    assert release.guarantee.proven.epsilon <= 2.0


@pytest.mark.parametrize("kind", LISTS)
@pytest.mark.parametrize("unit", [dc.User(), dc.Rating()])
@pytest.mark.parametrize("pair_share", [None, 0.5])
def test_a_fit_keeps_to_its_ledger(kind, unit, pair_share):
    ledger = dc.Ledger(3.0, 1e-6, unit)
    release = kind(pair_share=pair_share, audience=100).fit(dc.TrustedServer(RATINGS, ledger))
    assert release.guarantee.proven is not None and ledger.spent <= 3.0 * (1 + 1e-9)
    assert ledger.spent > 2.9  # and leaves nothing unused
    assert np.isfinite(release.scores(RATINGS)).all()


@pytest.mark.parametrize("unit", [dc.User(), dc.Rating()])
def test_pairs_are_asked_for_where_they_show(unit):
    def asked(audience, epsilon, delta=1e-6):
        server = dc.TrustedServer(RATINGS, dc.Ledger(epsilon, delta, unit))
        return [spend.what for spend in dc.NeighbourList(audience=audience).fit(server).spends[1:]]

    assert asked(100, 0.1) == []
    assert asked(1_000_000, 10.0) == ["products of pairs of items, and their weights"]
    assert bool(asked(1_000_000, 10.0, delta=0.0)) == (unit == dc.Rating())


# ── Shorter lists ──

HOLD_SIMILARITIES = [
    dc.Cosine(neighbours=30),
    dc.Pearson(neighbours=30),
    dc.CovarianceKNN(form="neighbours"),
    dc.PNBM(),
    dc.NoisyPNBM(),
    dc.LangevinPNBM(),
    dc.NeighbourList(),
]
every_neighbour_model = pytest.mark.parametrize("model", HOLD_SIMILARITIES, ids=lambda model: type(model).__name__)


@every_neighbour_model
def test_a_shorter_list_holds_the_most_similar(model):
    release = model.fit(dc.NoPrivacy(RATINGS))
    short = dc.truncated(release, 4)
    assert short.arrays["neighbours"].shape == short.arrays["similarities"].shape == (40, 4)
    kept, whole = (-np.sort(-each.arrays["similarities"], axis=1)[:, :4] for each in (short, release))
    np.testing.assert_array_equal(kept, np.maximum(whole, 0))
    assert (np.diff(np.where(kept > 0, np.sort(short.arrays["neighbours"], axis=1), 0), axis=1) >= 0).all()


@every_neighbour_model
def test_a_shorter_list_explains_as_the_whole_does(model, tmp_path):
    """Explanations add up to the score, name own ratings, and on disk it is smaller."""
    release = model.fit(dc.NoPrivacy(RATINGS))
    short = dc.truncated(release, 4)
    short_model, short_prepared, prepared = short.model, short.model.prepare(short), release.model.prepare(release)
    for user in (0, 5, 17):
        history = RATINGS.history_at(user)
        scores = short.score(history)
        for item in range(0, 40, 3):
            terms = short_model.explain(short_prepared, history, item)
            assert terms.sum() == pytest.approx(scores[item], rel=1e-4, abs=1e-5)
            near = short.arrays["neighbours"][item][short.arrays["similarities"][item] > 0]
            assert not terms[~np.isin(history.items, near)].any()
            # What is left counts in proportion as it did before.
            whole = release.model.explain(prepared, history, item)[terms != 0]
            if whole.size > 1:
                np.testing.assert_allclose(
                    terms[terms != 0] / terms[terms != 0].sum(), whole / whole.sum(), rtol=1e-3, atol=1e-5
                )
        suggestion = short.recommend(history, k=1, explain=True)[0]
        own = {RATINGS.catalogue.items[int(item)] for item in history.items}
        assert {reason.item for reason in suggestion.because} <= own
    sizes = []
    for name, each in (("short", short), ("whole", release)):
        each.save(tmp_path / name)
        sizes.append((tmp_path / name / "arrays.safetensors").stat().st_size)
        again = dc.Release.load(tmp_path / name)
        np.testing.assert_array_equal(again.scores(RATINGS), each.scores(RATINGS))
    assert sizes[0] < sizes[1]


def test_a_shorter_list_promises_the_same():
    server = dc.TrustedServer(RATINGS, dc.Ledger(3.0, 1e-6, dc.User()))
    release = dc.NeighbourList().fit(server)
    assert dc.truncated(release, 5).guarantee == release.guarantee
    assert dc.truncated(release, 39) is release


# ── What is refused ──


@pytest.mark.parametrize("kind", [*LISTS, dc.PNBM])
def test_more_neighbours_than_there_are_items_are_refused(kind):
    with pytest.raises(InputError, match="neighbours must be less than the 40 items of the catalogue, got 40"):
        kind(neighbours=40).fit(dc.NoPrivacy(RATINGS))


def test_bad_truncation_is_refused():
    release = dc.Cosine().fit(dc.NoPrivacy(RATINGS))
    with pytest.raises(InputError, match="neighbours must be at least 1, got 0"):
        dc.truncated(release, 0)
    with pytest.raises(InputError, match="less than the 40 items"):
        dc.truncated(release, 50)
    with pytest.raises(InputError, match="Bias released no similarities"):
        dc.truncated(dc.Bias().fit(dc.NoPrivacy(RATINGS)), 5)


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        *((kind, {"floor": 0}, "floor must be positive, got 0") for kind in LISTS),
        *((kind, {"neighbours": 0}, "neighbours must be at least 1, got 0") for kind in LISTS),
        *((kind, {"features": 1}, "features must be true or false, got 1") for kind in LISTS),
        *((kind, {"pair_share": 1.0}, "pair_share must") for kind in LISTS),
        *((kind, {"start": "cosine"}, "start must be 'pairs' or 'constant', got 'cosine'") for kind in LEARNED),
        *((kind, {"steps": 0}, "steps must be at least 1, got 0") for kind in LEARNED),
        *((kind, {"clip": 0}, "clip must be positive, got 0") for kind in LEARNED),
        *((kind, {"sampling_rate": 0}, "sampling_rate must") for kind in LEARNED),
        *((kind, {"steps_share": 1.0}, "steps_share must") for kind in LEARNED),
        (dc.LangevinPNBM, {"temperature": 0}, "temperature must be positive, got 0"),
        (dc.LangevinPNBM, {"step": 1.5}, "step must"),
        (dc.LangevinPNBM, {"averaged": None}, "averaged must be true or false, got None"),
    ],
)
def test_bad_settings_are_refused(kind, values, message):
    with pytest.raises(InputError, match=message):
        kind(**values)


@pytest.mark.parametrize("kind", LEARNED)
def test_what_steps_need_is_known_before_anything_is_spent(kind):
    for model, ledger, message in (
        (kind(), dc.Ledger(1.0), "needs a delta above 0, for example 1e-6"),
        (kind(sampling_rate=0.5), dc.Ledger(1.0, 1e-6), "ask with sampling_rate=1"),
    ):
        with pytest.raises(InputError, match=message):
            model.fit(dc.TrustedServer(RATINGS, ledger))
        assert ledger.spends == ()
