"""One small run of the protocol, message by message."""

from dataclasses import dataclass, field

import numpy as np

from discreet.privacy.spend import Spend
from discreet.privacy.unit import User
from discreet.protocol.masks import expand
from discreet.protocol.message import Label
from discreet.protocol.messages import Answer, Arrived, MaskedValue, MaskSeed, NoisyMasks, Receipt, read_message
from discreet.protocol.questions import Offer, Question
from discreet.protocol.recommender import START, RecommenderMachine
from discreet.protocol.third_party import ThirdPartyMachine
from discreet.protocol.user import Policy, UserMachine, seeded_bytes

RUN, KEY, ITEMS = bytes(range(16)), bytes(range(32)), bytes(32)


def make_offer(**changes) -> Offer:
    settings = {
        "label": Label(run=RUN, round=0),
        "catalogue": ITEMS,
        "model": "Popularity()",
        "epsilon": 100.0,
        "delta": 1e-6,
        "unit": User(),
        "rounds": 2000,
        "minimum_group": 2,
        "most_users": 100,
        "bits": 64,
    }
    return Offer(**(settings | changes))


def make_question(offer: Offer, round_number: int = 0, before: bytes = START, **changes) -> Question:
    spend = Spend(what="counts", mechanism="gaussian", norm="l2", sensitivity=1.0, scale=2000.0)
    settings = {
        "label": Label(run=offer.label.run, round=round_number),
        "offer": offer.digest,
        "before": before,
        "name": "counts",
        "shape": (5,),
        "spend": spend,
        "step": 2.0**-10,
        "largest": 2.0**20,
    }
    return Question(**(settings | changes))


def no_noise(question: Question):
    return np.zeros(question.cells, dtype=np.int64)


@dataclass
class Servers:
    """Both servers, and everything that either of them saw or said."""

    offer: Offer
    noise: object = no_noise
    mask: object = expand
    recommender: RecommenderMachine = field(init=False)
    third_party: ThirdPartyMachine = field(init=False)
    at_recommender: list[bytes] = field(default_factory=list)
    at_third_party: list[bytes] = field(default_factory=list)

    def __post_init__(self):
        self.recommender = RecommenderMachine(self.offer, key=KEY, noise=self.noise)
        self.third_party = ThirdPartyMachine(self.offer, key=KEY, noise=self.noise, mask=self.mask)

    def round(self, question: Question, users, values, *, lost_after_seed=(), lost_before=()) -> np.ndarray:
        """One round over bytes; some users vanish after the seed, or before it. Returns whole steps."""
        asked = question.to_bytes()
        self.recommender.ask(read_message(asked, Question))
        self.third_party.ask(read_message(asked, Question))
        for place, (user, own) in enumerate(zip(users, values, strict=True)):
            if place in lost_before:
                continue
            seed = user.answer(read_message(asked, Question), question, own).to_bytes()
            receipt = self.third_party.receive(read_message(seed, MaskSeed)).to_bytes()
            self.at_third_party += [seed, receipt]
            if place in lost_after_seed:
                continue
            value = user.confirmed(read_message(receipt, Receipt)).to_bytes()
            self.recommender.receive(read_message(value, MaskedValue))
            self.at_recommender.append(value)
        arrived = self.recommender.close().to_bytes()
        masks = self.third_party.close(read_message(arrived, Arrived)).to_bytes()
        answer = self.recommender.finish(read_message(masks, NoisyMasks)).to_bytes()
        self.at_third_party += [arrived, masks, answer]
        self.at_recommender += [arrived, masks]
        return self.recommender.whole(read_message(answer, Answer))


def make_users(offer: Offer, count: int, **settings) -> list[UserMachine]:
    policy = Policy(epsilon=offer.epsilon, delta=offer.delta, unit=offer.unit, minimum_group=2, rounds=5000)
    return [
        UserMachine(policy, offer, catalogue=ITEMS, draw=seeded_bytes(1000 + place), **settings)
        for place in range(count)
    ]
