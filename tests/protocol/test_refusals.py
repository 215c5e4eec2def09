"""Whatever is malformed, replayed, mislabelled or out of order is refused, and changes nothing."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.privacy.spend import Spend
from discreet.privacy.unit import Rating, User
from discreet.protocol.message import Label
from discreet.protocol.messages import (
    Answer,
    Arrived,
    MaskedValue,
    MaskSeed,
    NoisyMasks,
    Receipt,
    read_message,
    size_of_value,
)
from discreet.protocol.questions import Offer, Question
from discreet.protocol.recommender import RecommenderMachine
from discreet.protocol.third_party import ThirdPartyMachine
from discreet.protocol.user import Policy, UserMachine
from discreet.protocol.wire import RefusedError

from .conftest import ITEMS, KEY, Servers, make_offer, make_question, make_users

VALUES = np.ones(5)
KINDS = (Offer, Question, MaskSeed, Receipt, MaskedValue, Arrived, NoisyMasks, Answer)


def all_messages():
    """One of each kind, from a round."""
    offer = make_offer()
    question, servers, users = make_question(offer), Servers(offer), make_users(offer, 3)
    servers.round(question, users, np.ones((3, 5)))
    seed, receipt = servers.at_third_party[:2]
    arrived, masks, answer = servers.at_third_party[-3:]
    return [offer.to_bytes(), question.to_bytes(), seed, receipt, servers.at_recommender[0], arrived, masks, answer]


MESSAGES = all_messages()


@pytest.mark.parametrize("place", range(len(KINDS)), ids=lambda place: KINDS[place].__name__)
@given(data=st.data())
def test_bytes_that_are_no_message_are_refused_in_one_sentence(place, data):
    kind, whole = KINDS[place], MESSAGES[place]
    change = data.draw(st.sampled_from(["cut", "grow", "flip", "noise"]))
    if change == "cut":
        bad = whole[: data.draw(st.integers(0, len(whole) - 1))]
    elif change == "grow":
        bad = whole + data.draw(st.binary(min_size=1, max_size=40))
    elif change == "noise":
        bad = data.draw(st.binary(max_size=200))
    else:
        at = data.draw(st.integers(0, len(whole) - 1))
        bad = whole[:at] + bytes([whole[at] ^ data.draw(st.integers(1, 255))]) + whole[at + 1 :]
    try:
        found = read_message(bad, kind)
    except RefusedError as error:
        assert "\n" not in str(error) and len(str(error)) < 400
    else:  # then it is another well-formed message, and says so when it is written again
        assert found.to_bytes() == bad


@pytest.mark.parametrize("place", range(len(KINDS)), ids=lambda place: KINDS[place].__name__)
def test_a_message_of_another_kind_or_version_or_size_is_refused(place):
    whole = MESSAGES[place]
    other = KINDS[(place + 1) % len(KINDS)]
    with pytest.raises(RefusedError, match="another kind"):
        read_message(whole, other)
    with pytest.raises(RefusedError, match="version"):
        read_message(whole[:2] + b"\x09" + whole[3:], KINDS[place])
    with pytest.raises(RefusedError, match="at most"):
        read_message(whole, KINDS[place], most_bytes=len(whole) - 1)


def test_the_size_of_a_value_is_known_beforehand():
    assert len(MESSAGES[4]) == size_of_value(5, 64)


def halfway():
    """Servers with three users of whom two have sent everything, and one only the seed."""
    offer = make_offer()
    question, users = make_question(offer), make_users(offer, 3)
    recommender = RecommenderMachine(offer, key=KEY)
    third_party = ThirdPartyMachine(offer, key=KEY)
    recommender.ask(question)
    third_party.ask(question)
    seeds = [user.answer(question, question, VALUES) for user in users]
    receipts = [third_party.receive(seed) for seed in seeds]
    values = [user.confirmed(receipt) for user, receipt in zip(users, receipts, strict=True)]
    for value in values[:2]:
        recommender.receive(value)
    return offer, question, users, recommender, third_party, seeds, values


@given(round_number=st.integers(0, 5), group=st.integers(0, 3), run=st.sampled_from([bytes(range(16)), bytes(16)]))
def test_mislabelled_messages_change_nothing(round_number, group, run):
    _, question, _, recommender, third_party, seeds, values = halfway()
    label = Label(run=run, round=round_number, group=group)
    if label == question.label:
        return
    before = recommender.to_bytes(), third_party.to_bytes()
    arrived = Arrived(label=label, question=question.digest, senders=tuple(sorted(seed.sender for seed in seeds[:2])))
    for act in (
        lambda: recommender.receive(replace(values[2], label=label)),
        lambda: third_party.receive(replace(seeds[2], label=label)),
        lambda: third_party.close(arrived),
    ):
        with pytest.raises(RefusedError):
            act()
    assert (recommender.to_bytes(), third_party.to_bytes()) == before


def test_replayed_and_forged_messages_change_nothing():
    _, _, _, recommender, third_party, seeds, values = halfway()
    before = recommender.to_bytes(), third_party.to_bytes()
    recommender.receive(values[0])  # again
    recommender.receive(replace(values[0], words=values[0].words + np.uint64(1)))  # another under the same name
    third_party.receive(seeds[0])
    for act, words in (
        (lambda: third_party.receive(replace(seeds[0], seed=bytes(32))), "another seed"),
        (lambda: third_party.receive(replace(seeds[0], question=bytes(32))), "another question"),
        (lambda: recommender.receive(replace(values[2], code=bytes(32))), "receipt"),
        (lambda: recommender.receive(replace(values[2], sender=bytes(16))), "receipt"),
        (lambda: recommender.receive(replace(values[2], question=bytes(32))), "another question"),
        (lambda: recommender.receive(replace(values[2], words=values[2].words[:-1])), "must have 5 words"),
        (lambda: recommender.receive(replace(values[2], words=values[2].words.astype(np.uint32))), "64 bits"),
    ):
        with pytest.raises(RefusedError, match=words):
            act()
    assert (recommender.to_bytes(), third_party.to_bytes()) == before


def test_a_round_is_closed_once_and_over_enough_users():
    _, question, _, recommender, third_party, seeds, values = halfway()
    one = Arrived(label=question.label, question=question.digest, senders=(seeds[0].sender,))
    with pytest.raises(RefusedError, match="at least 2"):  # the group of one
        third_party.close(one)
    stranger = Arrived(
        label=question.label, question=question.digest, senders=tuple(sorted([bytes(16), seeds[0].sender]))
    )
    with pytest.raises(RefusedError, match="never came"):
        third_party.close(stranger)
    masks = third_party.close(recommender.close())
    everyone = replace(one, senders=tuple(sorted(seed.sender for seed in seeds)))
    with pytest.raises(RefusedError, match="closed with other users"):  # the difference attack
        third_party.close(everyone)
    with pytest.raises(RefusedError, match="closed"):
        recommender.receive(values[2])
    with pytest.raises(RefusedError, match="other users"):
        recommender.finish(replace(masks, arrived=bytes(32)))
    with pytest.raises(RefusedError, match="must have 5 words"):
        recommender.finish(replace(masks, words=masks.words[:3]))
    assert recommender.finish(masks).to_bytes() == recommender.finish(masks).to_bytes()


def test_servers_refuse_what_comes_out_of_order():
    offer = make_offer(epsilon=1.0)
    recommender, third_party = RecommenderMachine(offer, key=KEY), ThirdPartyMachine(offer, key=KEY)
    question = make_question(offer, 3)
    with pytest.raises(RefusedError, match="nothing was asked"):
        recommender.close()
    with pytest.raises(RefusedError, match="nothing was asked"):
        third_party.receive(read_message(MESSAGES[2], MaskSeed))
    for server in (recommender, third_party):
        server.ask(question)
        with pytest.raises(RefusedError, match="asked before"):
            server.ask(make_question(offer, 2))
        with pytest.raises(RefusedError, match="asked before"):  # two recommenders cannot run one round
            server.ask(make_question(offer, 3, shape=(6,)))
        with pytest.raises(RefusedError, match="another offer"):
            server.ask(make_question(make_offer(), 4))
        with pytest.raises(RefusedError, match="more rounds"):
            server.ask(make_question(offer, 2000))
    with pytest.raises(RefusedError, match="other answers"):
        recommender.ask(make_question(offer, 4, before=bytes([7]) * 32))
    loud = Spend(what="counts", mechanism="gaussian", norm="l2", sensitivity=1.0, scale=0.5)
    with pytest.raises(RefusedError, match="more than was offered"):
        third_party.ask(make_question(offer, 4, spend=loud))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"epsilon": 101.0}, "more than this user agreed"),
        ({"delta": 1e-3}, "more than this user agreed"),
        ({"unit": Rating()}, "wants all ratings of one user"),
        ({"minimum_group": 2}, "too few"),
        ({"catalogue": bytes([1]) * 32}, "another list of items"),
    ],
)
def test_users_refuse_a_bad_offer(changes, words):
    policy = Policy(epsilon=100.0, delta=1e-6, minimum_group=10)
    UserMachine(policy, make_offer(minimum_group=10), catalogue=ITEMS)
    with pytest.raises(RefusedError, match=words):
        UserMachine(policy, make_offer(**({"minimum_group": 10} | changes)), catalogue=ITEMS)


@pytest.mark.parametrize("changes", [{"minimum_group": 1}, {"bits": 16}, {"epsilon": float("nan")}, {"rounds": 0}])
def test_an_offer_that_cannot_be_is_refused(changes):
    with pytest.raises(RefusedError):
        make_offer(**changes)


def test_users_answer_so_often_and_no_more():
    offer = make_offer()
    user = UserMachine(Policy(epsilon=100.0, minimum_group=2, rounds=2), offer, catalogue=ITEMS)
    for number in range(2):
        question = make_question(offer, number)
        assert user.answer(question, question, VALUES) == user.answer(question, question, VALUES)
    again = make_question(offer, 1, shape=(6,))
    with pytest.raises(RefusedError, match="answered before"):
        user.answer(again, again, np.ones(6))
    question = make_question(offer, 2)
    before = user.to_bytes()
    with pytest.raises(RefusedError, match="2 questions at most"):
        user.answer(question, question, VALUES)
    assert user.to_bytes() == before and user.answered == 2


def test_a_users_own_budget_refuses():
    """The recommender may ask as often as it likes: the ledger of the user keeps count."""
    offer = make_offer(epsilon=1.0)
    user = UserMachine(Policy(epsilon=1.0, minimum_group=2, rounds=100), offer, catalogue=ITEMS)
    spend = Spend(what="counts", mechanism="gaussian", norm="l2", sensitivity=1.0, scale=6.0)
    for number in range(2):
        question = make_question(offer, number, spend=spend)
        user.answer(question, question, VALUES)
    question, before = make_question(offer, 2, spend=spend), user.to_bytes()
    with pytest.raises(RefusedError, match="own budget"):
        user.answer(question, question, VALUES)
    assert user.to_bytes() == before


@given(data=st.data())
def test_no_field_that_a_server_sends_lowers_the_noise(data):
    """Whatever is changed in a question, a user answers the expected one or none."""
    offer = make_offer()
    expected = make_question(offer)
    spend = expected.spend
    changed = replace(
        expected,
        spend=replace(
            spend,
            scale=data.draw(st.sampled_from([spend.scale, spend.scale / 2, spend.scale * (1 - 1e-6), 1e-3])),
            sensitivity=data.draw(st.sampled_from([spend.sensitivity, 0.5, 2.0])),
            sampling_rate=data.draw(st.sampled_from([1.0, 0.1])),
            seeded=data.draw(st.booleans()),
        ),
        step=data.draw(st.sampled_from([expected.step, expected.step * 2])),
        shape=data.draw(st.sampled_from([(5,), (1, 5), (4,)])),
    )
    user = make_users(offer, 1)[0]
    before = user.to_bytes()
    if changed == expected:
        user.answer(changed, expected, VALUES)
        return
    with pytest.raises(RefusedError):
        user.answer(changed, expected, VALUES)
    assert user.to_bytes() == before


def test_receipts_for_others_are_refused():
    offer = make_offer()
    question, (one, two) = make_question(offer), make_users(offer, 2)
    third_party = ThirdPartyMachine(offer, key=KEY)
    third_party.ask(question)
    receipt = third_party.receive(one.answer(question, question, VALUES))
    with pytest.raises(RefusedError, match="nothing that this user sent"):
        two.confirmed(receipt)
    two.answer(question, question, VALUES)
    with pytest.raises(RefusedError, match="nothing that this user sent"):
        two.confirmed(receipt)


@given(data=st.binary(max_size=300))
def test_damaged_state_is_refused(data):
    user = make_users(make_offer(), 1)[0]
    for kind, settings in (
        (RecommenderMachine, {"key": KEY}),
        (ThirdPartyMachine, {"key": KEY}),
    ):
        with pytest.raises(RefusedError):
            kind.from_bytes(data, **settings)
        with pytest.raises(RefusedError):
            kind.from_bytes(user.to_bytes(), **settings)
    with pytest.raises(RefusedError):
        UserMachine.from_bytes(data, user.policy, catalogue=ITEMS)


def test_steps_that_were_planned_together_are_charged_once():
    offer = make_offer(epsilon=1.0, unit=User())
    spend = Spend(what="counts", mechanism="gaussian", norm="l2", sensitivity=1.0, scale=30.0, times=4)
    user = UserMachine(Policy(epsilon=1.0, minimum_group=2), offer, catalogue=ITEMS)
    for number in range(4):
        question = make_question(offer, number, spend=spend, number=number)
        user.answer(question, question, VALUES)
    assert len(user.ledger.spends) == 1
    question = make_question(offer, 4, spend=replace(spend, scale=31.0), number=1)
    with pytest.raises(RefusedError, match="not planned"):
        user.answer(question, question, VALUES)
