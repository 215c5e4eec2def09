"""The published S2 and S3: parties and messages beside the simulation, both beside gradient descent (T4 to T9)."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import discreet as dc
from discreet.errors import InputError
from discreet.papers.objective_perturbation.algorithm import ObjectivePerturbedMF
from discreet.papers.untrusted.algorithm import UntrustedMF
from discreet.papers.untrusted.attendance import attendance, next_online
from discreet.papers.untrusted.exchange import Exchange
from discreet.papers.untrusted.messages import Masked, Totals
from discreet.papers.untrusted.noise import Streams, laplace_scale, pieces
from discreet.papers.untrusted.parties import Recommender, ThirdParty, points_of
from discreet.papers.untrusted.simulation import Simulation, simulate, start
from discreet.privacy.randomness import Randomness
from discreet.releases.published import Published

RATINGS = dc.synthetic(users=30, items=20, ratings=250, seed=2)
SMALL = {"factors": 3, "iterations": 6}
CHURN = {"scenario": "dynamic", "at_most": 8, "joins": 0.3, "leaves": 0.3, "online_at_start": 0.5}
FALSE_ALARM = 1e-6
"""Of every statistical test here; all are seeded besides."""


def model(scenario="static", **settings) -> UntrustedMF:
    churn = CHURN if scenario == "dynamic" else {}
    return UntrustedMF(**(SMALL | churn | {"epsilon": 5.0, "user_norm": "projected"} | settings))


# ── T4: whole numbers mod P ──


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60), st.integers(0, 1000))
@settings(max_examples=50, deadline=None)
def test_masked_sums_are_exact_to_half_a_step_for_each_user(values, seed):
    own = UntrustedMF()
    points, rng = points_of(own), np.random.default_rng(seed)
    masks = rng.integers(0, 2**64, size=len(values), dtype=np.uint64)
    sent = points.encode(np.array(values)) + masks
    total = sent.sum(dtype=np.uint64, keepdims=True) - masks.sum(dtype=np.uint64, keepdims=True)
    assert abs(points.decode(total)[0] - sum(values)) <= len(values) * 2.0 ** -(own.fraction_bits + 1) + 1e-6


def test_numbers_that_no_longer_fit_are_an_error():
    with pytest.raises(InputError, match=r"training overflowed in round \d+: with divisor='none'"):
        many = dc.synthetic(users=200, items=60, ratings=6000, seed=1)
        simulate(UntrustedMF(epsilon=None, divisor="none", factors=10), many, Randomness(1))
    with pytest.raises(InputError, match="user_norm='projected', divisor='row', or less noise"):
        simulate(UntrustedMF(epsilon=0.1, factors=10), RATINGS, Randomness(1))


@pytest.mark.parametrize("scenario", ["static", "dynamic"])
@pytest.mark.parametrize("epsilon", [None, 5.0, 0.05])
def test_words_that_are_too_short_are_an_error_that_says_which_are_not(scenario, epsilon):
    """With 32 bits the sums are those of 64 bits, or none: they used to wrap around in silence."""
    many, refused = dc.synthetic(users=300, items=4, ratings=900, seed=1), []
    for fraction_bits in range(2, 24, 3):
        own = model(scenario, epsilon=epsilon, fraction_bits=fraction_bits, at_most=300)
        exact, short = simulate(own, many, Randomness(1)), replace(own, bits=32)
        try:
            assert simulate(short, many, Randomness(1)).items.tobytes() == exact.items.tobytes()
        except InputError as error:
            said = re.search(
                r"32 bits with fraction_bits=(\d+): take fraction_bits=(\d+) or less or bits=64", str(error)
            )
            assert int(said[1]) == fraction_bits > int(said[2])
            refused.append(int(said[2]))
            fits = replace(short, fraction_bits=refused[-1], iterations=1)
            simulate(fits, many, Randomness(1))
    assert refused
    with pytest.raises(InputError, match="64 bits with fraction_bits=55: take fraction_bits="):
        simulate(replace(own, fraction_bits=55), many, Randomness(1))


# ── T5: messages, simulation and central computation ──


@pytest.mark.parametrize("epsilon", [None, 5.0])
@pytest.mark.parametrize("scenario", ["static", "dynamic"])
@pytest.mark.parametrize("order", ["together", "user first"])
@pytest.mark.parametrize("divisor", ["row", "ratings"])
def test_message_by_message_it_is_the_simulation_bit_for_bit(scenario, epsilon, order, divisor):
    own = model(scenario, epsilon=epsilon, order=order, divisor=divisor)
    run = Simulation(own, RATINGS, Randomness(1), by_pieces=True)
    parties = Exchange(own, RATINGS, streams=run.streams)
    for _ in zip(run.rounds(), parties.rounds(), strict=True):
        assert run.items.tobytes() == parties.recommender.items.tobytes()
    assert run.users.tobytes() == np.concatenate([user.own for user in parties.users]).tobytes()


def test_short_words_do_as_well():
    """P = 2³² with 12 bits after the point: the same integers in both runs."""
    own = model("dynamic", bits=32, fraction_bits=12)
    run = Simulation(own, RATINGS, Randomness(1), by_pieces=True)
    parties = Exchange(own, RATINGS, streams=run.streams)
    for _ in run.rounds():
        pass
    assert run.items.tobytes() == parties.run().tobytes()


@pytest.mark.parametrize("divisor", ["row", "ratings", "none"])
@pytest.mark.parametrize("user_norm", ["free", "projected"])
def test_without_noise_it_is_central_gradient_descent(divisor, user_norm):
    """To T γ max k 2^−f, for items that somebody rated; nobody asks about the others."""
    rate = 0.004 if divisor == "none" else 2.0**-5
    how = {"divisor": divisor, "user_norm": user_norm, "learning_rate": rate}
    central = ObjectivePerturbedMF(**SMALL, **how).train(RATINGS)
    own = model(epsilon=None, **how)
    found, counts = simulate(own, RATINGS, Randomness(1)), np.bincount(RATINGS.item_index, minlength=RATINGS.n_items)
    bound = own.iterations * rate * counts.max() * 2.0**-own.fraction_bits
    assert np.abs(found.items - central.items)[counts > 0].max() <= bound
    assert np.abs(found.users - central.users).max() <= bound


def test_without_noise_the_dynamic_one_is_descent_on_those_who_are_there():
    own = model("dynamic", epsilon=None, iterations=12)
    users, items = start(own, RATINGS.n_users, RATINGS.n_items)
    groups = attendance(own, RATINGS.n_users)
    for _ in range(own.iterations):
        there = np.isin(RATINGS.user_index, next(groups))
        pairs = RATINGS.user_index[there], RATINGS.item_index[there], RATINGS.values[there].astype(float)
        errors = pairs[2] - (users[pairs[0]] * items[pairs[1]]).sum(axis=1)
        of_user, of_item = np.zeros_like(users), np.zeros_like(items)
        np.add.at(of_user, pairs[0], -2 * errors[:, None] * items[pairs[1]])
        np.add.at(of_item, pairs[1], -2 * errors[:, None] * users[pairs[0]])
        mine, theirs = (np.bincount(pair, minlength=size) for pair, size in zip(pairs[:2], (30, 20), strict=True))
        for rows, gradient, counts, penalty in ((users, of_user, mine, 0.001), (items, of_item, theirs, 0.001)):
            asked = counts > 0
            step = gradient[asked] / counts[asked][:, None] + 2 * penalty * rows[asked]
            rows[asked] -= own.learning_rate * step
        users /= np.maximum(np.linalg.norm(users, axis=1, keepdims=True), 1)
    found = simulate(own, RATINGS, Randomness(1))
    assert np.abs(found.items - items).max() < own.iterations * own.learning_rate * 30 * 2.0**-own.fraction_bits


# ── T6: the initialisation of S3 ──


def test_what_the_recommender_keeps_is_alpha_plus_the_noise_and_pieces_add_up_to_it():
    own = model("dynamic")
    parties = Exchange(own, RATINGS)
    group = next(attendance(own, RATINGS.n_users))
    parties.initialise(group)
    sent = list(parties.transcript.by["third party"])
    recommender, alpha = parties.recommender, parties.third_party._alpha
    of_users = sum(message.words - recommender._beta(message.user) for message in sent)
    assert (recommender._tau == alpha + of_users).all()
    assert (
        np.abs(points_of(own).decode((recommender._tau - alpha).ravel())).max() < 1e4
    )  # η, and no longer uniform words
    tasks = recommender.tasks(1, [parties.users[int(user)].request(1) for user in group])
    total = np.zeros_like(recommender._tau)
    for task in tasks:
        total[task.items] += task.pieces
    asked = np.unique(np.concatenate([task.items for task in tasks]))
    assert (total[asked] == recommender._tau[asked]).all()


def test_pieces_are_redundant():
    """A recommender that keeps τ̂ and adds it to the sums ends at the same V, bit for bit."""

    class Keeps(Recommender):
        deals = False

    own = model("dynamic")
    streams = Streams(bytes(32))
    one, two = (Exchange(own, RATINGS, streams=streams, recommender=kind) for kind in (Recommender, Keeps))
    assert one.run().tobytes() == two.run().tobytes()
    assert all(task.pieces is None for task in two.recommender._dealt.values())


@pytest.mark.parametrize("raters", [1, 2, 31])
def test_the_same_noise_is_in_every_round_whoever_is_there(raters):
    """k' of 1, 2 and 31: pieces of τ̂ and α leave Σ g + η."""
    ratings = dc.synthetic(users=40, items=2, ratings=80, seed=1)
    own = replace(model("dynamic", factors=2), at_most=40)
    parties = Exchange(own, ratings)
    parties.initialise(np.arange(5, dtype=np.int32))
    eta = points_of(own).decode((parties.recommender._tau - parties.third_party._alpha).ravel()).reshape(2, 2)

    class Quiet(type(parties.recommender)):
        def exponentials(self, number):
            return np.zeros_like(self.items)

    parties.recommender.__class__ = Quiet
    parties.recommender.items[:] = 0
    seen = parties.round(1, np.arange(raters, dtype=np.int32))
    start_users, _ = start(own, 40, 2)
    rows = RowsOf(ratings, raters)
    gradients = np.zeros((2, 2))
    np.add.at(gradients, rows.items, -2 * start_users[rows.users] * rows.values[:, None])
    asked = np.unique(rows.items)
    np.testing.assert_allclose((seen - eta)[asked], gradients[asked], atol=40 * 2.0**-24)


class RowsOf:
    def __init__(self, ratings, users):
        there = ratings.user_index < users
        self.users, self.items = ratings.user_index[there], ratings.item_index[there]
        self.values = ratings.values[there].astype(float)


# ── T7, T8, T9: what each server sees ──


def transcripts(ratings, scenario="static"):
    """A run whose every random number is the same each time."""
    own = model(scenario)
    parties = Exchange(own, ratings, randomness=Randomness(7), streams=Streams(bytes(32)))
    parties.run()
    return parties


@pytest.mark.parametrize("scenario", ["static", "dynamic"])
def test_the_third_party_sees_the_same_bytes_if_the_mask_absorbs_a_rating(scenario):
    """T7: change a rating, replace the mask by mask + z − z'."""
    own = model(scenario)
    other = RATINGS.values.copy()
    other[0] = 6 - other[0]
    runs = [
        Exchange(own, part, randomness=Randomness(7), streams=Streams(bytes(32)))
        for part in (RATINGS, replace(RATINGS, values=other))
    ]
    group = np.arange(10, dtype=np.int32)
    tasks, sent = [], []
    for run in runs:
        run._place(group, np.diff(RATINGS.indptr)[group])
        asked = [run.users[user].request(1) for user in range(10)]
        tasks.append({task.user: task for task in run.recommender.tasks(1, asked)})
        sent.append({user: run.users[user].act(task) for user, task in tasks[-1].items()})
    user = int(RATINGS.user_index[0])
    moved = sent[0][user].words - tasks[0][user].masks - (sent[1][user].words - tasks[1][user].masks)
    assert moved.any()
    again = Exchange(own, replace(RATINGS, values=other), streams=Streams(bytes(32)))
    again._place(group, np.diff(RATINGS.indptr)[group])
    absorbed = again.users[user].act(replace(tasks[1][user], masks=tasks[1][user].masks + moved))
    assert absorbed.to_bytes() == sent[0][user].to_bytes()
    others = [name for name in sent[0] if name != user]
    assert all(sent[0][name].to_bytes() == sent[1][name].to_bytes() for name in others)


def test_the_recommender_sees_the_same_bytes_if_the_sum_is_the_same():
    """T8: what users send is moved between them, masks and sums stay; nothing else that it gets depends on ratings."""
    first, second = ThirdParty(model(), 20, Randomness(1)), ThirdParty(model(), 20, Randomness(1))
    rng, items = np.random.default_rng(1), np.arange(5, dtype=np.int32)
    words = rng.integers(0, 2**64, size=(4, 5, 3), dtype=np.uint64)
    shift = rng.integers(0, 2**64, size=(5, 3), dtype=np.uint64)
    other = words.copy()
    other[0] += shift
    other[3] -= shift

    def totals(party, rows) -> Totals:
        sent = [Masked(user=user, round=1, items=items, words=row) for user, row in enumerate(rows)]
        return party.collect(1, sent)

    assert totals(first, words).to_bytes() == totals(second, other).to_bytes()


def test_no_other_message_depends_on_the_values():
    """T8: two runs under recorded randomness; before the first totals come, the recommender's bytes are the same."""
    changed = replace(RATINGS, values=(6 - RATINGS.values).astype(np.float32))
    for scenario in ("static", "dynamic"):
        one, two = transcripts(RATINGS, scenario), transcripts(changed, scenario)
        kinds = [type(message).__name__ for message in one.transcript.by["recommender"]]
        assert kinds == [type(message).__name__ for message in two.transcript.by["recommender"]]
        for own, other in zip(*(run.transcript.by["recommender"] for run in (one, two)), strict=True):
            if not isinstance(own, Totals):  # which is what is declared to
                assert own.to_bytes() == other.to_bytes()


def test_what_the_third_party_sees_looks_like_chance():
    """T9: bytes are uniform (χ²), neighbours uncorrelated, and the same for other ratings (KS)."""
    seen = []
    for values in (RATINGS.values, np.full_like(RATINGS.values, 5)):
        parties = Exchange(model("dynamic", iterations=40), replace(RATINGS, values=values), randomness=Randomness(3))
        parties.run()
        words = [message.words.ravel() for message in parties.transcript.by["third party"]]
        seen.append(np.concatenate(words))
    data = np.frombuffer(seen[0].tobytes(), dtype=np.uint8)
    assert stats.chisquare(np.bincount(data, minlength=256)).pvalue > FALSE_ALARM
    numbers = seen[0].astype(np.float64)
    assert abs(np.corrcoef(numbers[:-1], numbers[1:])[0, 1]) < 5 / np.sqrt(len(numbers))
    assert stats.ks_2samp(numbers, seen[1].astype(np.float64)).pvalue > FALSE_ALARM


@given(st.integers(0, 10_000), st.sampled_from(["static", "dynamic"]), st.floats(0, 0.6))
@settings(max_examples=15, deadline=None)
def test_masks_cancel_whoever_vanishes(seed, scenario, share):
    """T9: users leave before any message; the sum over those who are left is right, to half a step for each."""
    own = model(scenario, epsilon=None, iterations=3)
    drawn = np.random.default_rng(seed)
    fate = {
        (user, number): str(drawn.choice(["request", "masked"])) if drawn.random() < share else ""
        for user in range(30)
        for number in range(1, 4)
    }
    parties = Exchange(own, RATINGS, vanishes=lambda user, number: fate[user, number])
    if scenario == "dynamic":
        parties.initialise(np.arange(4, dtype=np.int32))
    group = np.arange(30, dtype=np.int32)
    for number in range(1, 4):
        before = np.concatenate([user.own for user in parties.users]), parties.recommender.items.copy()
        seen = parties.round(number, group)
        there = np.array([fate[user, number] == "" for user in range(30)])[RATINGS.user_index]
        users, items = RATINGS.user_index[there], RATINGS.item_index[there]
        errors = RATINGS.values[there] - (before[0][users] * before[1][items]).sum(axis=1)
        expected = np.zeros_like(before[1])
        np.add.at(expected, items, -2 * errors[:, None] * before[0][users])
        np.testing.assert_allclose(seen, expected, atol=30 * 2.0**-24)


# ── H4: pieces ──


def test_pieces_with_one_h_add_up_to_laplace_noise_and_others_do_not():
    """KS against Laplace(b), k = 37; with an H of each user's own the sum is not Laplace, and the test must see it."""
    streams, k, count, scale = Streams(bytes(32)), 37, 20_000, 3.0
    normals = streams.normals("rho", 1, k * count, 1)
    shared = np.tile(streams.exponentials("rho", 1, count, 1), (k, 1))
    own = streams.exponentials("other", 1, k * count, 1)
    counts = np.full(k * count, float(k))
    laplace = stats.laplace(scale=scale).cdf
    good = pieces(scale, shared, normals, counts).reshape(k, count).sum(axis=0)
    bad = pieces(scale, own, normals, counts).reshape(k, count).sum(axis=0)
    assert stats.kstest(good, laplace).pvalue > FALSE_ALARM
    assert stats.kstest(bad, laplace).pvalue < FALSE_ALARM
    assert abs(stats.kstest(bad, laplace).statistic - 0.060) < 0.015


def test_the_noise_of_a_run_is_laplace_in_both_ways_to_draw_it():
    """Σ g = 0 where users' vectors are 0: what is left of a round is η + ρ̃."""
    ratings = dc.synthetic(users=25, items=300, ratings=2500, seed=3)
    rated = np.bincount(ratings.item_index, minlength=300) > 0
    for by_pieces in (True, False):
        own = UntrustedMF(epsilon=2.0, factors=20, iterations=1)
        run = Simulation(own, ratings, Randomness(4), by_pieces=by_pieces)
        run.users[:] = 0
        counts = run.counts(np.arange(25))
        drawn = run._total(1, np.arange(25, dtype=np.int32), counts)[0][rated] / own.unit
        scale = laplace_scale(2.0, 4.0, 20)
        rng = np.random.default_rng(1)
        reference = rng.laplace(0, scale, (200_000, 2)).sum(axis=1)
        assert stats.ks_2samp(drawn.ravel(), reference).pvalue > FALSE_ALARM


# ── Who is there ──


def test_everyone_is_there_or_few_who_come_and_go():
    assert all(len(group) == 7 for group, _ in zip(attendance(UntrustedMF(), 7), range(3), strict=False))
    own = UntrustedMF(scenario="dynamic", at_most=50)
    rng, online = np.random.default_rng(1), np.zeros(20_000, dtype=bool)
    for _ in range(600):
        online = next_online(own, online, rng)
    assert abs(online.mean() - 1 / 3) < 5 * np.sqrt(2 / 9 / 20_000)  # false alarms: less than 1e-6
    groups = [group for group, _ in zip(attendance(own, 1000), range(400), strict=False)]
    assert all(len(group) <= 50 and (np.diff(group) > 0).all() for group in groups) and len(groups[-1]) == 50
    again = [group for group, _ in zip(attendance(own, 1000), range(400), strict=False)]
    assert all((one == two).all() for one, two in zip(groups, again, strict=True))


# ── As a published system ──


def test_it_is_a_published_system_that_says_what_is_wrong():
    own = model()
    assert isinstance(own, Published)
    promise = own.fit(RATINGS).guarantee
    assert promise.proven is None and promise.claimed.epsilon == 5.0
    for words in ("rounds add up", "recommender chooses", "takes for constants"):
        assert words in promise.reason
    assert own.fit(RATINGS, randomness=Randomness(1)).guarantee.seeded
    assert replace(own, epsilon=None).fit(RATINGS).guarantee.claimed is None
    release, looks = own.observe(RATINGS, Randomness(1))
    assert [look.law for look in looks] == ["other"] and release.arrays["item_factors"].shape == (20, 3)
    assert replace(own, epsilon=None).observe(RATINGS, Randomness(1))[1] == ()
    one, two = (own.fit(RATINGS, randomness=Randomness(3)).arrays["item_factors"] for _ in range(2))
    assert (one == two).all()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"epsilon": 0.0}, "epsilon must be positive and finite, or None for no noise, got 0.0"),
        ({"scenario": "online"}, "scenario must be one of static, dynamic, got 'online'"),
        ({"joins": 1.5}, "joins is a probability between 0 and 1, got 1.5"),
        ({"at_most": 0}, "at_most must be at least 1"),
        ({"bits": 16}, "bits must be 32 or 64, got 16"),
        ({"bits": 32}, "fraction_bits must leave at least 8 of 32 bits"),
        ({"order": "items first"}, "order must be one of together, user first"),
    ],
)
def test_bad_settings_are_refused_in_a_sentence(wrong, words):
    with pytest.raises(InputError, match=words):
        UntrustedMF(**wrong)


def test_noise_over_w_is_no_message():
    with pytest.raises(InputError, match="no message carries"):
        Exchange(model(shrunk_noise=True), RATINGS)
