"""Two servers that see only sums: the simulation equals the messages, and the promise holds against each server."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.audit import audit_by_runs
from discreet.populations import untrusted
from discreet.populations.remote import Device, ModelCopy, RemoteDevices, offer_of
from discreet.populations.secure_sums import MINIMUM_GROUP
from discreet.populations.untrusted import UntrustedServer
from discreet.protocol.recommender import RecommenderMachine
from discreet.protocol.third_party import ThirdPartyMachine
from discreet.protocol.user import Policy, UserMachine
from discreet.protocol.wire import RefusedError

RATINGS = dc.synthetic(users=40, items=25, ratings=500, seed=3)
KEY, RUN = bytes(range(32)), bytes(range(16))
USER = dc.User()


def ledger(epsilon=20.0, delta=1e-5, unit=USER):
    return dc.Ledger(epsilon, delta, unit)


def zeros(question):
    return np.zeros(question.cells, dtype=np.int64)


def over_messages(model, ratings, own_ledger, noise=zeros, seen=None, **settings):
    """A fit in which every user and both servers speak in messages, and every user runs the model for themselves."""
    offer = offer_of(model, ratings.catalogue, own_ledger, RUN, **settings)
    recommender = RecommenderMachine(offer, key=KEY, noise=noise)
    third_party = ThirdPartyMachine(offer, key=KEY, noise=noise)
    policy = Policy(epsilon=offer.epsilon, delta=offer.delta, unit=offer.unit, minimum_group=2, rounds=100)
    items = bytes.fromhex(ratings.catalogue.fingerprint)
    machines = [UserMachine(policy, offer, catalogue=items) for _ in range(ratings.n_users)]
    devices = [
        Device(ModelCopy(model, ratings.catalogue, offer), ratings.select_users(np.array([place])), key=KEY)
        for place in range(ratings.n_users)
    ]
    told = []

    def ask(question):
        recommender.ask(question)
        third_party.ask(question)
        for device, machine in zip(devices, machines, strict=True):
            expected = device.next(told)
            seed = machine.answer(question, expected.question, expected.values)
            recommender.receive(machine.confirmed(third_party.receive(seed)))
        answer = recommender.finish(third_party.close(recommender.close()))
        told.append((question, answer))
        if seen is not None:
            seen.append(recommender.whole(answer))
        return question, answer

    population = RemoteDevices(ratings.catalogue, own_ledger, offer, ask)
    return model.fit(population), population


MODELS = {
    "popularity": dc.Popularity(),
    "bias": dc.Bias(),
    "almanac": dc.Almanac(),
    "als": dc.ALS(factors=2, sweeps=2),
    "covariance-knn": dc.CovarianceKNN(audience=100_000),
}


def draws(seed):
    """Given noise: the same numbers for the machines and for the simulation, in the order in which they are drawn."""
    rng = np.random.default_rng(seed)
    return lambda cells: rng.integers(-(2**20), 2**20, cells)


@pytest.mark.parametrize("noisy", [False, True], ids=["no noise", "given noise"])
@pytest.mark.parametrize("name", MODELS)
def test_the_simulation_is_the_run_of_messages_bit_by_bit(name, noisy, monkeypatch):
    model = MODELS[name]
    mine, theirs = draws(1), draws(1)

    def one(question):
        return mine(question.cells) if noisy else zeros(question)

    def other(spend, step, count, randomness):
        return theirs(count) if noisy else np.zeros(count, dtype=np.int64)

    monkeypatch.setattr(untrusted, "draw_noise", other)
    real, _ = over_messages(model, RATINGS, ledger(), one)
    simulated = model.fit(UntrustedServer(RATINGS, ledger()))
    assert real.arrays.keys() == simulated.arrays.keys()
    for array in real.arrays:
        assert real.arrays[array].tobytes() == simulated.arrays[array].tobytes(), array


@pytest.mark.parametrize("name", ["popularity", "bias", "als"])
def test_without_noise_the_sums_are_those_of_everybody_in_one_place(name, monkeypatch):
    """Values that lie on the lattice are not rounded: the secure sum is the exact one."""
    monkeypatch.setattr(untrusted, "draw_noise", lambda spend, step, count, randomness: np.zeros(count, np.int64))
    sums = []

    class Compared(UntrustedServer):
        def sum(self, contribution, share=1.0):
            found = super().sum(contribution, share)
            sums.append((found, contribution.total(RATINGS)))
            return found

    MODELS[name].fit(Compared(RATINGS, ledger(), randomness=dc.Randomness(1)))
    assert sums and all((found == exact).all() for found, exact in sums)


@pytest.mark.parametrize("most_users", [MINIMUM_GROUP, 40, 1000, 10_001, 1 << 20, 1 << 27])
@pytest.mark.parametrize("bits", [32, 64])
@given(seed=st.integers(0, 1000), largest=st.booleans(), users=st.integers(MINIMUM_GROUP, 40))
@settings(max_examples=8, deadline=None)
def test_words_hold_the_sum_of_everybody(bits, most_users, seed, largest, users):
    """Half a step for each user at most, neighbours as near as is booked, and noise that fits."""
    rng = np.random.default_rng(seed)
    values = rng.uniform(-1, 1, (users, 3)) ** 9
    values /= np.linalg.norm(values, axis=1, keepdims=True) if largest else 2
    held = replace(RATINGS.select_users(np.arange(users)), user_facts={"row": np.arange(users)})

    def total(part):
        return values[part.user_facts["row"]].sum(axis=0) if part.user_facts else np.zeros(3)

    asked = dc.Contribution("values", (3,), total, (dc.Bound("user", "l2", 1.0),))

    def server_of(part):
        return UntrustedServer(
            part, ledger(), bits=bits, most_users=most_users, minimum_group=2, randomness=dc.Randomness(seed)
        )

    server = server_of(held)
    if users > most_users:
        with pytest.raises(dc.InputError, match="most_users"):
            server.sum(asked)
        return
    noise, points = server.calibrate(asked), server._points(server.calibrate(asked))
    points.check_noise(noise.deviation)
    whole = server._whole(asked, held, points)
    assert np.abs(whole * noise.grid - values.sum(axis=0)).max() <= users * noise.grid / 2 + 1e-12
    assert (points.signed(points.words(whole)) == whole).all()  # nothing wrapped around
    seen = server.sum(asked)
    for place in range(0, users, 7):
        others = server_of(held.select_users(np.delete(np.arange(users), place)))
        assert np.linalg.norm(seen - others.sum(asked)) <= noise.spend.sensitivity


def test_the_promise_is_said_for_every_party():
    server = UntrustedServer(RATINGS, ledger(1.0, 1e-6))
    guarantee = dc.Bias().fit(server).guarantee
    assert guarantee.protects_from == ("the public", "other users", "the recommender", "the third party")
    assert "both servers if they put together what they saw" in guarantee.exposed_to
    assert {"which devices take part, to the servers", "how many devices take part"} <= set(guarantee.public)
    each = server.guarantees()
    assert each["both servers"].proven is None
    assert each["the recommender"].proven == each["the third party with any number of users"].proven
    assert each["the recommender"].proven.epsilon == 1.0
    assert each["the public"].proven.epsilon < 0.7  # the noise of both: mu is smaller by √2
    assert each["the public"].proven == each["other users"].proven


def test_the_promise_against_the_public_follows_a_plan():
    from discreet.populations.rehearsal import follow, rehearse

    server = UntrustedServer(RATINGS, ledger(1.0, 1e-6))
    follow(rehearse(dc.Bias(), server), server)
    dc.Bias().fit(server)
    public = server.guarantees()["the public"].proven
    assert 0.6 < public.epsilon < 0.7 and server.guarantee.proven.epsilon <= 1.0


def test_laplace_noise_is_no_better_against_the_public_than_against_a_server():
    server = UntrustedServer(RATINGS, dc.Ledger(1.0))
    dc.Bias().fit(server)
    assert server.spends[0].mechanism == "laplace"
    assert server.guarantees()["the public"].proven == server.guarantee.proven


def test_seeded_noise_promises_nothing():
    server = UntrustedServer(RATINGS, ledger(), randomness=dc.Randomness(1))
    assert dc.Bias().fit(server).guarantee.proven is None
    assert server.guarantees()["the public"].proven is None


@pytest.mark.parametrize("unit", [dc.User(), dc.Rating(), dc.User(neighbours="replace"), dc.User(max_ratings=5)])
@pytest.mark.parametrize("bits", [32, 64])
def test_each_server_draws_what_a_trusted_one_would(unit, bits):
    """The second noise is the price: twice the variance, and what rounding adds."""
    own = dc.Ledger(1.0, 1e-6, unit)
    asked = _counts(unit)
    trusted = dc.TrustedServer(RATINGS, own).calibrate(asked)
    server = UntrustedServer(RATINGS, own, bits=bits, most_users=1000)
    noise = server.calibrate(asked)
    assert noise.spend.scale == pytest.approx(trusted.spend.scale, rel=1e-3)
    assert noise.spend.noise_multiplier >= trusted.spend.noise_multiplier * (1 - 1e-12)
    assert server.deviation(asked) == pytest.approx(math.sqrt(2) * trusted.deviation, rel=1e-3)


def _counts(unit):
    from discreet.models.sums.item_statistics import item_counts

    return item_counts(25, unit)


def test_neighbours_differ_by_no_more_than_is_booked(monkeypatch):
    """Brute force over the users of a small data set, as whole steps: rounding and clipping are in the bound."""
    monkeypatch.setattr(untrusted, "draw_noise", lambda spend, step, count, randomness: np.zeros(count, np.int64))
    asked = _counts(USER)
    for bits in (32, 64):

        def total(ratings, bits=bits):
            server = UntrustedServer(ratings, ledger(), bits=bits, most_users=1000, minimum_group=2)
            noise = server.calibrate(asked)
            return server.sum(asked), noise

        whole, noise = total(RATINGS)
        for place in range(RATINGS.n_users):
            others = np.delete(np.arange(RATINGS.n_users), place)
            moved = np.linalg.norm(whole - total(RATINGS.select_users(others))[0])
            assert moved <= noise.spend.sensitivity


def test_a_device_scales_down_what_exceeds_its_bound(monkeypatch):
    monkeypatch.setattr(untrusted, "draw_noise", lambda spend, step, count, randomness: np.zeros(count, np.int64))
    lying = dc.Contribution("ratings", (1,), lambda part: np.array([float(len(part))]), (dc.Bound("user", "l2", 1.0),))
    found = UntrustedServer(RATINGS, ledger()).sum(lying)
    assert found[0] == pytest.approx(RATINGS.n_users, abs=1e-6)


def test_steps_hide_who_is_in_the_sample():
    server = UntrustedServer(RATINGS, ledger(1.0, 1e-6))
    asked = dc.populations.Steps(
        name="steps", shape=(), bounds=(dc.Bound("user", "l2", 1.0),), count=5, sampling_rate=0.5
    )
    drawn = server.steps(asked)
    drawn.sum(asked.contribution(lambda part: np.array(float(part.n_users))))
    assert drawn.left == 4 and server.spends[0].sampling_rate == 0.5
    assert drawn.deviation == pytest.approx(math.sqrt(2) * server.spends[0].scale)


def test_mechanisms_and_small_groups_are_refused():
    few = RATINGS.select_users(np.arange(MINIMUM_GROUP - 1))
    with pytest.raises(dc.InputError, match="minimum_group"):
        dc.Popularity().fit(UntrustedServer(few, ledger()))
    quantile = dc.populations.quantile_of_users("ratings", lambda part: np.diff(part.indptr), 0.5, np.arange(3.0))
    with pytest.raises(dc.InputError, match="nobody is trusted"):
        UntrustedServer(RATINGS, ledger()).run(quantile)
    with pytest.raises(dc.InputError, match="does not fit into words of 32 bits"):
        UntrustedServer(RATINGS, ledger(), bits=32, most_users=1 << 30).calibrate(_counts(USER))


def test_users_refuse_a_server_that_asks_anything_else():
    model, own = dc.Almanac(), ledger()
    offer = offer_of(model, RATINGS.catalogue, own, RUN)
    device = Device(ModelCopy(model, RATINGS.catalogue, offer), RATINGS.select_users(np.array([0])), key=KEY)
    policy = Policy(epsilon=20.0, delta=1e-5, minimum_group=2)
    user = UserMachine(policy, offer, catalogue=bytes.fromhex(RATINGS.catalogue.fingerprint))
    asked = device.next([])
    before = user.to_bytes()
    for bad in (
        replace(asked.question, spend=replace(asked.question.spend, scale=asked.question.spend.scale / 2)),
        replace(asked.question, spend=replace(asked.question.spend, sensitivity=0.1)),
        replace(asked.question, shape=(1,)),  # one item alone
        replace(asked.question, step=asked.question.step / 2),
        replace(asked.question, before=bytes([1]) * 32),
        replace(asked.question, offer=bytes([1]) * 32),
    ):
        with pytest.raises(RefusedError):
            user.answer(bad, asked.question, asked.values)
        assert user.to_bytes() == before
    other = replace(asked.question, name="x", spend=replace(asked.question.spend, what="x"))
    with pytest.raises(RefusedError, match="own copy of the model"):
        user.answer(other, asked.question, asked.values)
    with pytest.raises(RefusedError, match="another model"):
        ModelCopy(dc.Bias(), RATINGS.catalogue, offer)


def test_a_restarted_recommender_goes_on_after_what_was_answered():
    model = MODELS["covariance-knn"]
    release, population = over_messages(model, RATINGS, ledger())
    assert len(population.told) == 2

    def nobody_answers(question):
        asked.append(question)
        return population.told[1]

    asked = []
    for kept in (2, 1):
        again = RemoteDevices(
            RATINGS.catalogue, ledger(), population.offer, nobody_answers, told=population.told[:kept]
        )
        made = model.fit(again)
        assert all(made.arrays[name].tobytes() == release.arrays[name].tobytes() for name in release.arrays)
        assert len(asked) == 2 - kept
    assert asked[0].matches(population.told[1][0])


def test_a_device_refuses_answers_that_do_not_fit():
    model = MODELS["covariance-knn"]
    _, population = over_messages(model, RATINGS, ledger())
    copy = ModelCopy(model, RATINGS.catalogue, population.offer)
    device = Device(copy, RATINGS.select_users(np.array([0])), key=KEY)
    assert device.next(population.told) is None
    (question, answer), (second, last) = population.told
    for told in (
        [(question, replace(answer, words=answer.words[:-1]))],
        [(question, replace(answer, question=bytes(32)))],
        [(replace(question, step=question.step * 2), answer)],
        [(second, last)],
        [(question, replace(answer, words=answer.words.astype(np.uint32)))],
    ):
        with pytest.raises(RefusedError):
            device.next(told)
    # Other answers lead to another question, which is not what anyone else is asked.
    changed = replace(answer, words=answer.words + np.uint64(1))
    assert not device.next([(question, changed)]).question.matches(second)


class SeenByOneServer(UntrustedServer):
    """What the recommender sees before it adds its own noise: that of the third party alone."""

    _parties = 1


def test_an_audit_of_what_one_server_sees_is_tight_and_accuses_nobody():
    """False alarms: below 5 % by the confidence of the audit, and the noise is seeded."""
    ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)

    def make(ratings, own, randomness):
        return SeenByOneServer(ratings, own, randomness=randomness)

    terms = dc.Terms(epsilon=1.0, delta=1e-5, unit="user")
    audit = audit_by_runs(dc.Popularity(), ratings, terms, runs=400, randomness=dc.Randomness(1), make_population=make)
    assert not audit.accuses
    assert audit.mu.low <= audit.mu_proven <= audit.mu.high


def test_an_audit_finds_a_server_that_leaves_out_its_noise():
    """If the third party adds no noise, the recommender sees exact sums, and an audit says so."""
    ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)

    class WithoutNoise(UntrustedServer):
        _parties = 1

        def _published(self, contribution, held, noise):
            quiet = replace(noise.spend, scale=noise.spend.scale / 3)
            return super()._published(contribution, held, type(noise)(quiet, noise.grid, 1))

    def make(ratings, own, randomness):
        return WithoutNoise(ratings, own, randomness=randomness)

    terms = dc.Terms(epsilon=1.0, delta=1e-5, unit="user")
    audit = audit_by_runs(dc.Popularity(), ratings, terms, runs=400, randomness=dc.Randomness(1), make_population=make)
    assert audit.accuses
