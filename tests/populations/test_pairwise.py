"""Sums without a third party: the simulation equals the messages, and the promise counts on honest users."""

import math

import numpy as np
import pytest

import discreet as dc
from discreet.models.sums.item_statistics import item_counts
from discreet.populations import pairwise
from discreet.populations.pairwise import PairwiseMasks
from discreet.populations.remote import offer_of
from discreet.protocol.message import Label
from discreet.protocol.pairwise import PairwiseUser
from discreet.protocol.pairwise_server import PairwiseServer
from discreet.protocol.questions import Question
from discreet.protocol.recommender import START
from discreet.protocol.register import identity_of
from discreet.protocol.user import Policy

RATINGS = dc.synthetic(users=24, items=15, ratings=150, seed=3)
USER = dc.User()


def ledger(epsilon=5.0, delta=1e-6):
    return dc.Ledger(epsilon, delta, USER)


def test_the_simulation_is_the_run_of_messages_bit_by_bit(monkeypatch):
    monkeypatch.setattr(pairwise, "draw_noise", lambda spend, step, count, randomness: np.zeros(count, np.int64))
    asked = item_counts(15, USER)
    population = PairwiseMasks(RATINGS, ledger(), honest=0.8)
    noise = population.calibrate(asked)
    simulated = population.sum(asked)
    offer = offer_of(dc.Popularity(), RATINGS.catalogue, ledger(), bytes(16), most_users=population.most_users)
    question = Question(
        label=Label(run=bytes(16), round=0),
        offer=offer.digest,
        before=START,
        name=asked.name,
        shape=asked.shape,
        spend=noise.spend,
        step=noise.grid,
    )
    secrets = [bytes([place]) * 32 for place in range(RATINGS.n_users)]
    register = [identity_of(secret) for secret in secrets]
    server = PairwiseServer(offer, question, honest=0.8, register=register)
    policy, items = Policy(epsilon=5.0, minimum_group=2), bytes.fromhex(RATINGS.catalogue.fingerprint)

    def quiet(question, honest):
        return np.zeros(question.cells, dtype=np.int64)

    users, values = {}, {}
    for place in range(RATINGS.n_users):
        own = {"identity": secrets[place], "register": register}
        user = PairwiseUser(policy, offer, catalogue=items, honest=0.8, noise=quiet, **own)
        keys = user.join(question, question)
        server.join(keys)
        users[keys.sender] = user
        values[keys.sender] = asked.total(RATINGS.select_users(np.array([place])))
    for user in users.values():
        server.receive_shares(user.share(server.roster()))
    for name, delivered in server.deliver().items():
        server.receive(users[name].value(delivered, values[name], question))
    for user in users.values():
        server.receive_confirmation(user.confirm(server.close()))
    for name, confirmed in server.confirmed().items():
        server.receive_unmasking(users[name].unmask(confirmed))
    assert (server.whole(server.finish()) * noise.grid).tolist() == simulated.tolist()


@pytest.mark.parametrize(("honest", "price"), [(1.0, 24 / 13), (0.5, 24 / 7)])
def test_fewer_honest_users_need_more_noise(honest, price):
    asked = item_counts(15, USER)
    trusted = dc.TrustedServer(RATINGS, ledger()).calibrate(asked)
    population = PairwiseMasks(RATINGS, ledger(), honest=honest)
    noise = population.calibrate(asked)
    assert noise.spend.noise_multiplier >= trusted.spend.noise_multiplier * (1 - 1e-12)
    assert noise.deviation == pytest.approx(trusted.deviation * math.sqrt(price), rel=1e-3)
    assert 0 < noise.spend.slack < 1e-12


def test_models_train_over_it_and_the_promise_says_who_must_be_honest():
    release = dc.Almanac(audience=24).fit(PairwiseMasks(RATINGS, ledger(), honest=0.75))
    assert release.guarantee.proven.epsilon == 5.0
    assert "the recommender with up to 25% of the users" in release.guarantee.protects_from
    assert "which devices take part, to each other" in release.guarantee.public
    assert "At least 75% of the users are taken to be honest, and to add noise." in release.guarantee.notes


def test_what_it_cannot_do_is_refused():
    with pytest.raises(dc.InputError, match="needs a delta"):
        PairwiseMasks(RATINGS, dc.Ledger(1.0))
    with pytest.raises(dc.InputError, match="leave out noise"):
        PairwiseMasks(RATINGS, ledger(), noise="laplace")
    with pytest.raises(dc.InputError, match="honest must lie"):
        PairwiseMasks(RATINGS, ledger(), honest=0.0)
    with pytest.raises(dc.InputError, match="minimum_group"):
        PairwiseMasks(RATINGS.select_users(np.arange(5)), ledger())
