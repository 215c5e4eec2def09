"""The private autoencoder: exact lengths, clipped sums, sensitivity, accounting, sampling, checkpoints, an audit."""

from dataclasses import replace

import numpy as np
import pytest

import discreet as dc
from discreet.errors import InputError
from discreet.kernels.autoencoder import Sizes
from discreet.models.sums.network_gradient import NetworkGradient, normal, uniform
from discreet.populations.guarded import nobody

torch = pytest.importorskip("torch")

from discreet.kernels.clipped_gradients import (  # noqa: E402
    BLOCK,
    Rows,
    clipped_sum,
    rounding_of,
    rows_stand_alone,
)

PrivateVAE = dc.models.PrivateVAE
RATINGS = dc.synthetic(users=200, items=40, ratings=3000, seed=1)
NETWORKS = [
    Sizes(items=40, hidden=hidden, latent=3, variational=variational)
    for hidden in (0, 5)
    for variational in (True, False)
]
every_network = pytest.mark.parametrize("sizes", NETWORKS, ids=lambda sizes: f"{sizes.hidden}-{sizes.variational}")


def gradient_of(sizes: Sizes, **settings) -> NetworkGradient:
    return NetworkGradient(sizes, steps=4, beta=0.1, dropout=0.3, **settings)


def asked(sizes: Sizes, clip: float = 0.05, **settings):
    return gradient_of(sizes, **settings).contribution(sizes.start(2), clip, 3)


def tensors(sizes: Sizes, seed: int = 2):
    return {name: torch.tensor(array, dtype=torch.float64) for name, array in sizes.start(seed).items()}


# ── The clipped sum ──


@every_network
@pytest.mark.parametrize("fixed", [(), ("output_bias",)], ids=["all", "bias-fixed"])
def test_the_sum_is_that_of_gradients_clipped_one_by_one(sizes, fixed):
    """More users than a block has, clipped at a length that about half of them exceed, in double precision."""
    rows = gradient_of(sizes)._rows(RATINGS, 3)
    weights = tensors(sizes)
    single = []
    for user in range(RATINGS.n_users):
        part = slice(rows.indptr[user], rows.indptr[user + 1])
        own = Rows(
            np.array([0, part.stop - part.start]),
            rows.items[part],
            rows.inputs[part],
            rows.targets[part],
            None if rows.noise is None else rows.noise[user : user + 1],
        )
        found, _ = clipped_sum(sizes, weights, own, 1e9, beta=0.1, fixed=fixed)  # nothing is clipped: the gradient
        single.append(torch.cat([found[name].ravel() for name in sizes.shapes if name not in fixed]) * 1e9)
    gradients = torch.stack(single)
    lengths = gradients.norm(dim=1)
    clip = float(lengths.median())
    expected = (gradients / lengths.clamp(min=clip)[:, None]).sum(dim=0)
    found, within = clipped_sum(sizes, weights, rows, clip, beta=0.1, fixed=fixed)
    flat = torch.cat([found[name].ravel() for name in sizes.shapes if name not in fixed])
    torch.testing.assert_close(flat, expected, rtol=0, atol=1e-9)
    assert within == int((lengths <= clip).sum())


@every_network
def test_no_user_adds_more_than_the_bound(sizes):
    for clip in (1e-3, 1.0):
        total = asked(sizes, clip, counted=0.1).total
        longest = max(np.linalg.norm(total(RATINGS.select_users(np.array([user])))) for user in range(40))
        assert longest <= 1 + 1e-6
        if clip == 1e-3:
            assert longest > 0.99


@every_network
def test_the_total_is_additive_and_empty_for_nobody(sizes):
    total = asked(sizes, counted=0.1).total
    one, other = RATINGS.select_users(np.arange(150)), RATINGS.select_users(np.arange(150, 200))
    np.testing.assert_allclose(total(RATINGS), total(one) + total(other), atol=1e-9)
    assert not total(nobody(RATINGS.catalogue)).any()


@every_network
@pytest.mark.parametrize("neighbours", ["add-or-remove", "replace"])
def test_the_sensitivity_holds_by_brute_force(sizes, neighbours):
    small = dc.synthetic(users=4, items=3, ratings=8, seed=1)
    question = asked(replace(sizes, items=3), clip=1e-4, counted=0.1)
    for found in dc.audit.check_sensitivity(question, small.catalogue, [1, 5], neighbours=neighbours, most=30):
        assert found.furthest <= (found.bound.value if neighbours == "add-or-remove" else 2) * (1 + 1e-6)


def test_single_precision_is_declared_and_close():
    """It is used where rows come out the same wherever they stand; libraries differ in that."""
    sizes = Sizes(items=40, hidden=5, latent=3)
    weights = {name: torch.tensor(array) for name, array in sizes.start(2).items()}
    rows = gradient_of(sizes)._rows(RATINGS, 3)
    one, _ = clipped_sum(sizes, weights, rows, 0.05, beta=0.1, precision="single")
    two, _ = clipped_sum(sizes, weights, rows, 0.05, beta=0.1, precision="double")
    apart = sum(float((one[name] - two[name]).square().sum()) for name in one) ** 0.5
    assert apart < rounding_of(RATINGS.n_users)
    own = {name: torch.tensor(array) for name, array in sizes.start(0).items()}
    planned = gradient_of(sizes, users=300)
    single = rows_stand_alone(sizes, own)
    on_cpu = not torch.cuda.is_available()
    assert planned.precision == (("single" if on_cpu else "mixed") if single else "double")
    assert planned.asked.bounds[0].value == 1 + (rounding_of(300) if planned.precision == "single" else 0)
    assert gradient_of(sizes, users=100_000).precision == ("mixed" if single else "double")
    three, _ = clipped_sum(sizes, weights, rows, 0.05, beta=0.1, precision="mixed")
    assert sum(float((three[name] - two[name]).square().sum()) for name in three) ** 0.5 < 1e-3


def test_more_users_than_planned_are_summed_in_double_precision():
    sizes = Sizes(items=40, hidden=0, latent=3, variational=False)
    few, many = (asked(sizes, users=users).total(RATINGS) for users in (150, 100_000))
    np.testing.assert_array_equal(few, many)


def test_memory_is_that_of_a_block():
    """What a pass holds has BLOCK rows, whatever the number of users."""
    rows = gradient_of(NETWORKS[0])._rows(RATINGS, 0)
    batch, noise = rows.block(BLOCK, "cpu", "float32")
    assert batch.n_users == BLOCK and noise.shape[0] == BLOCK
    assert int((batch.mass > 0).sum()) == RATINGS.n_users - BLOCK


def test_what_is_drawn_for_a_user_is_that_users_own():
    """Whoever else is there, a user's dropout and noise stay."""
    gradient = gradient_of(NETWORKS[0])
    everybody, some = gradient._rows(RATINGS, 5), gradient._rows(RATINGS.select_users(np.array([7, 9])), 5)
    np.testing.assert_array_equal(some.noise[0], everybody.noise[7])
    part = slice(everybody.indptr[9], everybody.indptr[10])
    np.testing.assert_array_equal(some.inputs[some.indptr[1] :], everybody.inputs[part])
    assert (gradient._rows(RATINGS, 6).noise != everybody.noise).all()


def test_numbers_from_tags_are_uniform_and_normal():
    """Kolmogorov-Smirnov with a false alarm in 1e-6 of all seeds; the tags are fixed, so it never changes."""
    from scipy import stats

    tags = np.arange(4000, dtype=np.uint64)
    assert stats.kstest(uniform(tags, 3, 0), "uniform").pvalue > 1e-6
    assert stats.kstest(normal(tags, 3, 2).ravel(), "norm").pvalue > 1e-6
    assert abs(np.corrcoef(normal(tags, 3, 2).T)[0, 1]) < 0.1


# ── Through a population ──


def server(epsilon: float = 10.0, ratings: dc.Ratings = RATINGS, seed: int | None = 1, **options) -> dc.TrustedServer:
    noise = None if seed is None else dc.Randomness(seed=seed)
    return dc.TrustedServer(ratings, dc.Ledger(epsilon, 1e-6, dc.User()), randomness=noise, **options)


SMALL = PrivateVAE(audience=200, latent=2, steps=12)


def test_both_questions_are_booked_and_no_more():
    population = server(seed=None)
    release = SMALL.fit(population)
    popularity, steps = population.ledger.spends
    assert (popularity.times, steps.times, steps.sampling_rate) == (1, 12, 1.0)
    assert release.guarantee.proven.epsilon == pytest.approx(10, rel=1e-3)
    assert sorted(release.arrays) == ["input_bias", "input_weights", "output_bias", "output_weights"]


def test_sampled_steps_are_accounted_as_opacus_and_dp_accounting_do():
    model = replace(SMALL, sampling_rate=0.2)
    population = server(3.0)
    model.fit(population)
    steps = population.ledger.spends[1]
    assert (steps.times, steps.sampling_rate) == (12, 0.2)
    import dp_accounting
    from dp_accounting.pld import PLDAccountant

    accountant = PLDAccountant()
    for spend in population.ledger.spends:
        noise = dp_accounting.GaussianDpEvent(spend.noise_multiplier)
        accountant.compose(dp_accounting.PoissonSampledDpEvent(spend.sampling_rate, noise), spend.times)
    assert population.ledger.spent == pytest.approx(float(accountant.get_epsilon(1e-6)), rel=0.02)


def test_an_empty_sample_works():
    model = replace(SMALL, sampling_rate=0.05, steps=3)
    release = model.fit(server(ratings=RATINGS.select_users(np.arange(1))))
    assert np.isfinite(release.scores(RATINGS)).all()


def test_the_divisor_is_public_and_noise_does_not_depend_on_who_is_there():
    """The answer minus the exact sum has the announced deviation with many users and with none: within 5 sigma."""
    sizes = Sizes(items=40, hidden=5, latent=3)
    gradient = NetworkGradient(sizes, steps=2)
    spreads = []
    for users in (1, 200):
        population = server(ratings=RATINGS.select_users(np.arange(users)))
        drawn = population.steps(gradient.asked)
        question = gradient.contribution(sizes.start(1), 0.05, 0)
        exact = question.total(RATINGS.select_users(np.arange(users)))
        noise = (drawn.sum(question) - exact) / drawn.deviation
        spreads.append(noise.std())
        assert abs(noise.std() - 1) < 5 / np.sqrt(2 * noise.size)
    assert len(spreads) == 2


def test_a_small_budget_is_popularity_and_nothing_else():
    population, other = server(0.1), server(0.1)
    release = PrivateVAE(audience=200).fit(population)
    assert len(population.ledger.spends) == 1
    popular = dc.Popularity().fit(other)
    best = np.argsort(-popular.arrays["counts"])[:5]
    assert (np.argsort(-release.scores(RATINGS)[0])[:5] == best).all()


def test_more_budget_makes_more_steps():
    made = [PrivateVAE(audience=200, latent=2).plan(server(epsilon)).gradient for epsilon in (0.1, 5.0, 20.0)]
    assert made[0] is None and 0 < made[1].steps <= made[2].steps


def test_it_is_no_worse_than_popularity_and_learns_where_noise_allows():
    ratings = dc.synthetic(users=2000, items=100, ratings=60_000, seed=1)
    split = next(dc.evaluation.EachUser(seed=1).splits(ratings))
    found = []
    for model in (PrivateVAE(audience=2000, latent=4), dc.Popularity()):
        release = model.fit(server(20.0, split.train))
        found.append(dc.evaluate(release, split.train, split.test, mask=split.mask, metrics=["ndcg@10"])["ndcg@10"])
    assert found[0] > found[1]


def test_steps_are_taken_only_where_they_gain_on_popularity():
    """Tastes are as weak here as in MovieLens. Over fresh noise, fewer than 1 in 10,000 means of three gain nothing
    at epsilon 2; there steps that were decided on by the length of the noise alone lost to popularity.
    """
    ratings = dc.synthetic(users=1500, items=1000, ratings=90_000, seed=1, like="movielens")
    split = next(dc.evaluation.EachUser(seed=1).splits(ratings))

    def gain(epsilon, seed):
        found = []
        for model in (PrivateVAE(audience=1500), dc.Popularity()):
            release = model.fit(server(epsilon, split.train, seed))
            found.append(dc.evaluate(release, split.train, split.test, mask=split.mask, metrics=["ndcg@20"])["ndcg@20"])
        return found[0] - found[1]

    assert gain(0.5, 1) == pytest.approx(0, abs=1e-3)  # all of the budget buys counts
    assert np.mean([gain(2.0, seed) for seed in range(3)]) > 0


def test_more_noise_makes_shorter_steps():
    plans = [PrivateVAE(audience=200).plan(server(epsilon)) for epsilon in (0.3, 1.0, 6.0)]
    assert 0 < plans[0].learning_rate < plans[1].learning_rate < plans[2].learning_rate < 0.03


def test_a_clip_that_follows_a_quantile():
    """Started far too large and far too small, it comes nearer to where half of the users are clipped."""
    ratings = dc.synthetic(users=2000, items=30, ratings=40_000, seed=1)
    sizes = Sizes(items=30, hidden=0, latent=2, variational=False)
    from discreet.models.denoise.noisy_training import NoisyTraining, _State

    gradient = NetworkGradient(sizes, steps=40, counted=0.1, fixed=("output_bias",))
    for clip in (10.0, 1e-4):
        state = _State.of(NoisyTraining(gradient, 2000.0, clip, 1e-6, quantile=0.5), sizes.start(1))
        drawn = server(20.0, ratings).steps(gradient.asked)
        for step in range(40):
            state.step(drawn.sum(gradient.contribution(state.arrays(), state.clip, step)))
        moved = np.log(state.clip / clip)
        assert moved < -1 if clip == 10.0 else moved > 1


def test_privacy_levels_weigh_users():
    chosen = np.where(np.arange(200) % 2 == 0, "strict", "normal")
    ratings = replace(RATINGS, user_facts={"privacy level": chosen})
    ledger = dc.Ledger(10.0, 1e-6, dc.User(), levels={"strict": 2.0, "normal": 10.0})
    release = SMALL.fit(dc.TrustedServer(ratings, ledger))
    assert {level.name for level in release.guarantee.levels} == {"strict", "normal"}


# ── Interrupted and resumed ──


def test_it_goes_on_where_it_was_interrupted_and_pays_once(tmp_path):
    place, shown = tmp_path / "half.npz", []

    def stop(done: int, total: int, what: str) -> None:
        shown.append(what)
        if done == 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        SMALL.fit(server(seed=None), stop, checkpoint=place)
    assert "epsilon" in shown[-1]
    population, steps = server(seed=None), []
    release = SMALL.fit(population, lambda done, total, what: steps.append(done), checkpoint=place)
    assert steps == [8, 9, 10, 11, 12]
    assert [spend.times for spend in population.ledger.spends] == [1, 12]
    assert release.guarantee.proven.epsilon <= 10


def test_a_resumed_fit_is_the_fit(tmp_path):
    """With exact sums, stopping changes nothing, to the last bit."""
    model, place = replace(SMALL, quantile=0.5), tmp_path / "half.npz"
    whole = model.fit(dc.NoPrivacy(RATINGS))

    def stop(done: int, total: int, what: str) -> None:
        if done == 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.fit(dc.NoPrivacy(RATINGS), stop, checkpoint=place)
    again = model.fit(dc.NoPrivacy(RATINGS), checkpoint=place)
    for name, array in whole.arrays.items():
        np.testing.assert_array_equal(array, again.arrays[name])


def test_a_checkpoint_of_another_fit_is_refused(tmp_path):
    place = tmp_path / "half.npz"
    SMALL.fit(server(), checkpoint=place)
    for model, population in ((replace(SMALL, clip=0.1), server()), (SMALL, server(5.0))):
        with pytest.raises(InputError, match="another fit"):
            model.fit(population, checkpoint=place)
    place.write_bytes(b"nothing of the kind")
    with pytest.raises(InputError, match="no checkpoint"):
        SMALL.fit(server(), checkpoint=place)


def test_a_checkpoint_is_for_its_owner_and_names_no_user(tmp_path):
    place = tmp_path / "half.npz"
    SMALL.fit(server(), checkpoint=place)
    assert place.stat().st_mode & 0o777 == 0o600
    with np.load(place) as file:
        assert all(file[name].shape[0] != RATINGS.n_users for name in file.files if file[name].ndim)
