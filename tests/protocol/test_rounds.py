"""Whole rounds: sums are exact whoever vanishes, and each server sees nothing but what it should."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.privacy.randomness import Randomness
from discreet.privacy.unit import User
from discreet.protocol.messages import read_message
from discreet.protocol.noise import draw_noise
from discreet.protocol.questions import Question
from discreet.protocol.recommender import RecommenderMachine
from discreet.protocol.third_party import ThirdPartyMachine
from discreet.protocol.user import Policy, UserMachine
from discreet.protocol.wire import RefusedError

from .conftest import ITEMS, KEY, Servers, make_offer, make_question, make_users, no_noise


def whole_values(seed: int, users: int, cells: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).integers(-1000, 1000, (users, cells)) * 2.0**-10


@pytest.mark.parametrize("bits", [32, 64])
@given(users=st.integers(2, 12), seed=st.integers(0, 2**32), data=st.data())
def test_masks_cancel_exactly_whoever_vanishes(bits, users, seed, data):
    values = whole_values(seed, users)
    vanish = st.sets(st.integers(0, users - 1), max_size=users - 2)
    before = data.draw(vanish)
    after = data.draw(vanish)
    gone = before | after
    offer = make_offer(bits=bits)
    if users - len(gone) < 2:
        with pytest.raises(RefusedError, match="at least 2"):
            Servers(offer).round(
                make_question(offer), make_users(offer, users), values, lost_before=before, lost_after_seed=after
            )
        return
    found = Servers(offer).round(
        make_question(offer), make_users(offer, users), values, lost_before=before, lost_after_seed=after
    )
    kept = [place for place in range(users) if place not in gone]
    assert found.tolist() == (values[kept].sum(axis=0) * 2**10).astype(np.int64).tolist()


def test_given_noise_is_added_by_both_servers():
    offer = make_offer()
    question, values = make_question(offer), whole_values(1, 4)
    noise = np.array([3, -4, 5, 0, 2**28])
    found = Servers(offer, noise=lambda asked: noise).round(question, make_users(offer, 4), values)
    exact = Servers(offer).round(question, make_users(offer, 4), values)
    # The third party's noise is in what is subtracted, so it comes with the other sign, which has the same law.
    assert (found - exact).tolist() == (noise - noise).tolist()
    both = iter([noise, 10 * noise])
    found = Servers(offer, noise=lambda asked: next(both)).round(question, make_users(offer, 4), values)
    assert (found - exact).tolist() == (10 * noise - noise).tolist()


def test_the_third_party_sees_the_same_bytes_whatever_the_ratings_are_except_the_published_sum():
    offer = make_offer()
    question = make_question(offer)
    one, other = (Servers(offer) for _ in range(2))
    one.round(question, make_users(offer, 5), whole_values(1, 5))
    other.round(question, make_users(offer, 5), whole_values(2, 5))
    assert one.at_third_party[:-1] == other.at_third_party[:-1]
    assert one.at_third_party[-1] != other.at_third_party[-1]


@given(seed=st.integers(0, 2**32), move=st.integers(-(2**20), 2**20))
def test_the_recommender_sees_the_same_bytes_where_the_sum_is_the_same_and_masks_absorb_the_rest(seed, move):
    """A one-time pad: for any other values with this sum there are masks, as likely, that give the same transcript."""
    offer = make_offer()
    question, values = make_question(offer), whole_values(seed, 3)
    changed = values.copy()
    changed[0] += move * 2.0**-10
    changed[1] -= move * 2.0**-10
    rng = np.random.default_rng(seed)
    pads = {bytes([place]) * 32: rng.integers(0, 2**64, 5, dtype=np.uint64) for place in range(3)}
    absorbing = dict(pads)
    shift = np.uint64(move % 2**64)
    absorbing[bytes([0]) * 32] = pads[bytes([0]) * 32] - shift
    absorbing[bytes([1]) * 32] = pads[bytes([1]) * 32] + shift
    seen = []
    for own, masks in ((values, pads), (changed, absorbing)):

        def mask(seed, label, count, bits, masks=masks):
            return masks[seed]

        policy = Policy(epsilon=offer.epsilon, minimum_group=2)
        users = [
            UserMachine(policy, offer, catalogue=ITEMS, draw=lambda n, p=place: bytes([p]) * n, mask=mask)
            for place in range(3)
        ]
        servers = Servers(offer, mask=mask)
        servers.round(question, users, own)
        seen.append(servers.at_recommender)
    assert seen[0] == seen[1]


def test_masked_values_look_uniform():
    """χ² of the bytes, at a false alarm rate below 1e-9: 256 cells, 6 standard deviations."""
    offer = make_offer()
    question = make_question(offer, shape=(20_000,))
    servers = Servers(offer)
    servers.round(question, make_users(offer, 2), np.zeros((2, 20_000)))
    body = np.frombuffer(servers.at_recommender[0][-160_000:], dtype=np.uint8)
    expected = len(body) / 256
    chi = float(((np.bincount(body, minlength=256) - expected) ** 2 / expected).sum())
    assert abs(chi - 255) < 6 * np.sqrt(2 * 255) * 1.2


def test_real_noise_has_the_variance_of_both():
    """Within 8 standard errors of the variance: false alarms below 1e-14."""
    offer = make_offer()
    question = make_question(offer, shape=(20_000,))
    servers = Servers(offer, noise=None)
    found = servers.round(question, make_users(offer, 2), np.zeros((2, 20_000))) * question.step
    ratio = float(found.var()) / (2 * question.spend.scale**2)
    assert abs(ratio - 1) < 8 * np.sqrt(2 / 20_000)


@pytest.mark.parametrize("step", [2.0**-30, 2.0**-3, 1.0])
def test_noise_on_a_coarse_lattice_has_its_variance(step):
    spend = make_question(make_offer()).spend
    drawn = draw_noise(spend, step, 20_000, Randomness(seed=5)) * step
    assert abs(float(drawn.std()) / spend.scale - 1) < 8 * np.sqrt(0.5 / 20_000)
    assert abs(float(drawn.mean())) < 8 * spend.scale / np.sqrt(20_000)


def test_servers_and_users_go_on_from_their_bytes_at_any_moment():
    offer = make_offer()
    users, values = make_users(offer, 4), whole_values(3, 4)
    recommender = RecommenderMachine(offer, key=KEY, noise=no_noise)
    third_party = ThirdPartyMachine(offer, key=KEY, noise=no_noise)

    def again():
        """Both servers and all users are killed, and start from what they saved."""
        saved = recommender.to_bytes(), third_party.to_bytes()
        one = RecommenderMachine.from_bytes(saved[0], key=KEY)
        two = ThirdPartyMachine.from_bytes(saved[1], key=KEY)
        one._noise = two._noise = no_noise
        assert (one.to_bytes(), two.to_bytes()) == saved
        back = [UserMachine.from_bytes(user.to_bytes(), user.policy, catalogue=ITEMS) for user in users]
        assert [each.to_bytes() for each in back] == [each.to_bytes() for each in users]
        return one, two, back

    for number in range(3):
        question = make_question(offer, number, recommender.before)
        for _ in range(2):
            recommender.ask(question)
            third_party.ask(question)
            recommender, third_party, users = again()
        for user, own in zip(list(users), values, strict=True):
            for _ in range(2):  # whatever is sent twice counts once
                value = user.confirmed(third_party.receive(user.answer(question, question, own)))
                recommender.receive(value)
                recommender, third_party, users = again()
        arrived = recommender.close()
        masks = third_party.close(arrived)
        recommender, third_party, users = again()
        assert third_party.close(recommender.close()).to_bytes() == masks.to_bytes()
        answer = recommender.finish(masks)
        recommender, third_party, users = again()
        assert recommender.finish(masks).to_bytes() == answer.to_bytes()
        assert recommender.whole(answer).tolist() == (values.sum(axis=0) * 2**10).tolist()
    assert users[0].answered == 3


def test_memory_is_flat_over_many_rounds():
    """The state of every machine has the same size after 1,000 rounds; a user's own ledger has a line for each."""
    offer = make_offer(epsilon=1000.0, rounds=2000)
    servers, users = Servers(offer), make_users(offer, 2)
    sizes = []
    for number in range(1000):
        question = make_question(offer, number, servers.recommender.before)
        if number >= 3:  # ledgers grow by a line for each question, which is what they are for
            for party in (*users, servers.third_party):
                party.ledger = type(party.ledger)(1000.0, 1e-6, User())
        servers.round(question, users, np.ones((2, 5)))
        servers.at_recommender.clear()
        servers.at_third_party.clear()
        if number in (10, 999):
            sizes.append((len(servers.recommender.to_bytes()), len(servers.third_party.to_bytes())))
    assert sizes[0] == sizes[1]


def test_messages_are_the_same_after_a_journey():
    offer = make_offer(unit=User(max_ratings=7))
    question = make_question(offer, shape=(2, 3))
    assert read_message(question.to_bytes(), Question) == question
    assert read_message(offer.to_bytes(), type(offer)) == offer
