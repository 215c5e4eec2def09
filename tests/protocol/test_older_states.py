"""A server that is put back to an older state, or whose memory is read later, tells nothing new."""

import numpy as np
import pytest

from discreet.protocol.messages import Arrived
from discreet.protocol.recommender import RecommenderMachine
from discreet.protocol.third_party import ThirdPartyMachine
from discreet.protocol.wire import RefusedError

from .conftest import KEY, make_offer, make_question, make_users


def up_to_values(users=3):
    offer = make_offer()
    question, members = make_question(offer), make_users(offer, users)
    recommender, third_party = RecommenderMachine(offer, key=KEY), ThirdPartyMachine(offer, key=KEY)
    for server in (recommender, third_party):
        server.ask(question)
    seeds = [user.answer(question, question, np.ones(5)) for user in members]
    for user, seed in zip(members, seeds, strict=True):
        recommender.receive(user.confirmed(third_party.receive(seed)))
    return question, recommender, third_party, seeds


def test_a_recommender_put_back_to_an_older_state_draws_no_second_noise():
    """Two draws for one sum would show the third party √2 times as much as was paid for."""
    _, recommender, third_party, _ = up_to_values()
    masks = third_party.close(recommender.close())
    snapshot = recommender.to_bytes()
    first = recommender.finish(masks)
    again = RecommenderMachine.from_bytes(snapshot, key=KEY).finish(masks)
    assert again.to_bytes() == first.to_bytes()


def test_a_third_party_put_back_to_an_older_state_draws_no_second_noise_for_the_same_users():
    _, recommender, third_party, _ = up_to_values()
    snapshot, arrived = third_party.to_bytes(), recommender.close()
    first = third_party.close(arrived)
    again = ThirdPartyMachine.from_bytes(snapshot, key=KEY)
    assert again.close(arrived).to_bytes() == first.to_bytes()


def test_no_noise_hides_two_different_sums():
    """The same noise for two lists of users would cancel in the difference, and leave the mask of one user bare."""
    question, recommender, third_party, seeds = up_to_values()
    snapshot, arrived = third_party.to_bytes(), recommender.close()
    fewer = Arrived(label=arrived.label, question=arrived.question, senders=arrived.senders[1:])
    one = third_party.close(arrived).words
    other = ThirdPartyMachine.from_bytes(snapshot, key=KEY).close(fewer).words
    from discreet.protocol.masks import expand

    seed = next(each for each in seeds if each.sender == arrived.senders[0])
    mask = expand(seed.seed, seed.mask_label, question.cells)
    left = (one - other - mask).view(np.int64)
    assert np.abs(left).min() > 0  # of deviation 2^21 steps: 0 in one of 5 cells with odds below 1e-5


def test_other_machines_have_other_noise():
    answers = []
    for _ in range(2):
        _, recommender, third_party, _ = up_to_values()
        answers.append(recommender.finish(third_party.close(recommender.close())).words)
    assert (answers[0] != answers[1]).any()


def test_seeds_are_forgotten_when_a_round_is_closed():
    """Whoever seizes the third party afterwards, with masked values at hand, unmasks nobody."""
    _, recommender, third_party, seeds = up_to_values()
    assert all(seed.seed in third_party.to_bytes() for seed in seeds)
    third_party.close(recommender.close())
    kept = third_party.to_bytes()
    assert not any(seed.seed in kept for seed in seeds) and third_party.seeds == 0
    with pytest.raises(RefusedError, match="this round is closed"):
        third_party.receive(seeds[0])
    assert third_party.close(recommender.close()).to_bytes()  # the same sum again
