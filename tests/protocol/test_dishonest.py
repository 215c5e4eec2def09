"""Which noisy sums both servers take for possible: never less than honest devices send, and not much more."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from discreet.errors import DishonestDeviceError
from discreet.privacy.spend import Spend
from discreet.protocol.messages import Answer
from discreet.protocol.noise import FALSE_ALARM, check_sum
from discreet.protocol.recommender import RecommenderMachine
from discreet.protocol.third_party import ThirdPartyMachine
from discreet.protocol.wire import RefusedError

from .conftest import KEY, make_offer, make_question, make_users, no_noise

STEP, CELLS = 2.0**-10, 1000


def spend_of(mechanism):
    norm_of = "l1" if mechanism == "laplace" else "l2"
    return Spend(what="counts", mechanism=mechanism, norm=norm_of, sensitivity=1.0, scale=4.0)


def allowed(mechanism, users, signed=True, sign=-1):
    """The largest value of one cell that is let through, by bisection."""
    low, high = 0, 2**40
    while high - low > 1:
        middle, whole = (low + high) // 2, np.zeros(CELLS, np.int64)
        whole[3] = sign * middle
        try:
            check_sum("a", whole, spend_of(mechanism), STEP, users=users, largest=1.0, signed=signed)
            low = middle
        except DishonestDeviceError:
            high = middle
    return low * STEP


@pytest.mark.parametrize("users", [2, 61, 10_000])
@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_honest_devices_are_taken_for_dishonest_ones_once_in_a_billion_sums(mechanism, users):
    """The exact law of both noises together: at most 1e-9 for all cells, and no more than a sixth of slack in t."""
    scale, beyond = 4.0, allowed(mechanism, users) - users  # all of them at their bound
    if mechanism == "gaussian":
        odds = 2 * norm.sf(beyond / (math.sqrt(2) * scale))
        needed = -math.sqrt(2) * scale * norm.ppf(FALSE_ALARM / (2 * CELLS))
    else:
        odds = math.exp(-beyond / scale) * (1 + beyond / (2 * scale))
        needed = scale * math.log(CELLS / FALSE_ALARM)  # of one noise alone
    assert CELLS * odds <= FALSE_ALARM
    assert beyond <= (2.3 if mechanism == "laplace" else 1.17) * needed + users * STEP + 1


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_counts_are_not_below_nothing(mechanism):
    """By more than noise and rounding: where cells have signs, by as much as all users can send."""
    users = 10_000
    assert allowed(mechanism, users, signed=False, sign=1) == allowed(mechanism, users)
    assert allowed(mechanism, users, signed=False) == pytest.approx(allowed(mechanism, users) - users, abs=2 * STEP)


def closed_round(values):
    """A round of three devices without noise, up to the sum of masks."""
    offer = make_offer()
    question = make_question(offer, largest=1.0)
    recommender = RecommenderMachine(offer, key=KEY, noise=no_noise)
    third_party = ThirdPartyMachine(offer, key=KEY, noise=no_noise)
    recommender.ask(question)
    third_party.ask(question)
    for user, own in zip(make_users(offer, len(values)), values, strict=True):
        recommender.receive(user.confirmed(third_party.receive(user.answer(question, question, np.full(5, own)))))
    return question, recommender, third_party


def test_what_a_dishonest_device_can_do_within_the_check_is_let_through():
    """It hides among the noise and the bounds of others: that is what remains, and the docs say so."""
    _, recommender, third_party = closed_round([1.0, 1.0, 19_000.0])
    answer = recommender.finish(third_party.close(recommender.close()))
    third_party.check(answer)
    assert recommender.whole(answer).tolist() == [19_002 * 2**10] * 5


def test_each_server_refuses_a_sum_that_honest_devices_cannot_have_sent():
    question, recommender, third_party = closed_round([1.0, 1.0, -200_000.0])
    masks = third_party.close(recommender.close())
    for machine in (recommender, RecommenderMachine.from_bytes(recommender.to_bytes(), key=KEY)):
        machine._noise = no_noise
        with pytest.raises(DishonestDeviceError):
            machine.finish(masks)
        assert machine.answered is None
    words = recommender._total - masks.words  # from a recommender that does not check
    answer = Answer(label=question.label, question=question.digest, words=words)
    for machine in (third_party, ThirdPartyMachine.from_bytes(third_party.to_bytes(), key=KEY)):
        with pytest.raises(DishonestDeviceError):
            machine.check(answer)
        with pytest.raises(RefusedError):
            machine.check(Answer(label=question.label, question=question.digest, words=words[1:]))
        with pytest.raises(RefusedError):
            machine.check(Answer(label=question.label, question=bytes(32), words=words))


def test_a_sum_is_checked_after_its_round_is_closed():
    question, _, third_party = closed_round([1.0, 1.0])
    with pytest.raises(RefusedError, match="not closed"):
        third_party.check(Answer(label=question.label, question=question.digest, words=np.zeros(5, np.uint64)))


def test_devices_refuse_a_question_with_another_bound():
    """Both servers are told the bound by the recommender; every device knows it from its own copy of the model."""
    offer = make_offer()
    user, question = make_users(offer, 1)[0], make_question(offer, largest=1.0)
    with pytest.raises(RefusedError, match="own copy of the model"):
        user.answer(make_question(offer, largest=1e6), question, np.ones(5))
    with pytest.raises(RefusedError, match="at most"):
        make_question(offer, largest=math.inf)
