"""The same recommenders against the sound protocol (:mod:`discreet.protocol`): what users and the third party refuse,
and what is left to see where nothing is refused.

Users are asked for one statistic, their ratings less the middle of the scale, clipped to length 1. Its noise is fitted
to epsilon and delta against each server alone. The attacker is as strong as the guarantee allows: the recommender with
*all other users* on its side, so it knows every value but the victim's and its own noise. What remains is the victim's
value plus the third party's noise.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from discreet.data.history import History
from discreet.data.ratings import Ratings
from discreet.errors import InputError
from discreet.models.popularity import Popularity
from discreet.papers.untrusted.curious import Guess
from discreet.populations.untrusted import UntrustedServer
from discreet.privacy.gaussian import mu_of
from discreet.privacy.ledger import Ledger
from discreet.privacy.randomness import Randomness
from discreet.privacy.spend import Spend
from discreet.privacy.unit import User
from discreet.protocol.encoding import Integers
from discreet.protocol.message import Label
from discreet.protocol.messages import Arrived, MaskedValue
from discreet.protocol.questions import Offer, Question
from discreet.protocol.recommender import START, RecommenderMachine, chained
from discreet.protocol.third_party import ThirdPartyMachine
from discreet.protocol.user import Policy, UserMachine
from discreet.types import Doubles, Indices

STEP, ROUNDS = 2.0**-20, 2
NAME = "clipped ratings"


def statistic(history: History) -> Doubles:
    """A user's ratings less the middle of the scale, a number for each item, clipped to length 1."""
    scale, row = history.catalogue.scale, np.zeros(len(history.catalogue.items.names))
    row[history.items] = history.values - (scale.low + scale.high) / 2
    return row / max(float(np.sqrt((row**2).sum())), 1.0)


def refusal(act: Callable[[], object]) -> str:
    """The sentence with which something is refused; empty if it is not."""
    try:
        act()
    except InputError as error:
        return str(error)
    return ""


class SoundRun:
    """A run of the sound protocol with some users, and a recommender that tries what the published one may do."""

    def __init__(
        self,
        ratings: Ratings,
        group: Indices,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        seed: int | None = None,
    ) -> None:
        self.ratings, self.group = ratings, [int(user) for user in group]
        key, items = os.urandom(32), bytes(32)
        self.offer = Offer(
            label=Label(run=os.urandom(16), round=0),
            catalogue=items,
            model=NAME,
            epsilon=epsilon,
            delta=delta,
            unit=User(),
            rounds=ROUNDS,
            minimum_group=len(self.group),
            most_users=ratings.n_users,
        )
        scale = np.sqrt(ROUNDS) / mu_of(epsilon * 0.999, delta)
        self.spend = Spend(what=NAME, mechanism="gaussian", norm="l2", sensitivity=1.0, scale=float(scale))
        self.policy = Policy(epsilon=epsilon, delta=delta, minimum_group=len(self.group), rounds=ROUNDS)
        self.users = {user: UserMachine(self.policy, self.offer, catalogue=items) for user in self.group}
        self.third_party = ThirdPartyMachine(self.offer, key=key, randomness=Randomness(seed))
        self.recommender = RecommenderMachine(self.offer, key=key, noise=_no_noise)  # its own noise it knows
        self._before, self._items = START, items

    def question(self, number: int) -> Question:
        """What everyone's own copy of the model asks in this round."""
        return Question(
            label=Label(run=self.offer.label.run, round=number),
            offer=self.offer.digest,
            before=self._before,
            name=NAME,
            shape=(self.ratings.n_items,),
            spend=self.spend,
            step=STEP,
            largest=1.0,
        )

    # ── What is refused ──

    def smaller_noise(self) -> str:
        """The nearest thing to H = 0: a question with less noise than was agreed to."""
        asked = self.question(0)
        less = replace(asked, spend=replace(asked.spend, scale=asked.spend.scale / 1e6))
        user = self._someone()
        values = statistic(self.ratings.history_at(self.group[0]))
        return refusal(lambda: user.answer(less, asked, values))

    def some_items(self) -> str:
        """A question about one item only."""
        asked, user = self.question(0), self._someone()
        return refusal(lambda: user.answer(replace(asked, shape=(1,)), asked, np.zeros(1)))

    def small_groups_offered(self) -> str:
        """An offer with sums over two users."""
        small = replace(self.offer, minimum_group=2)
        return refusal(lambda: UserMachine(self.policy, small, catalogue=self._items))

    def group_of_one(self) -> str:
        """One user's masked value is in, and the third party is asked for this mask alone."""
        asked = self.question(0)
        value = self._answered(asked, self.group[:1])[0]
        alone = Arrived(label=asked.label, question=asked.digest, senders=(value.sender,))
        return refusal(lambda: self.third_party.close(alone))

    def population_of_one(self) -> str:
        """A model is fitted on one user."""
        alone = self.ratings.select_users(np.array(self.group[:1]))
        server = UntrustedServer(alone, Ledger(self.offer.epsilon, self.offer.delta, User()))
        return refusal(lambda: Popularity().fit(server))

    def two_groups(self) -> str:
        """A round that is closed with everyone, and again without one of them."""
        asked = self.question(0)
        values = self._answered(asked, self.group)
        senders = tuple(sorted(value.sender for value in values))
        everyone = Arrived(label=asked.label, question=asked.digest, senders=senders)
        self.third_party.close(everyone)
        return refusal(lambda: self.third_party.close(replace(everyone, senders=senders[1:])))

    def too_many_rounds(self) -> str:
        """One round more than was agreed to."""
        for number in range(ROUNDS):
            self.round(number)
        return refusal(lambda: self._someone().answer(self.question(ROUNDS), self.question(ROUNDS), self._values(0)))

    # ── What is left to see ──

    def round(self, number: int) -> Doubles:
        """An honest round, as the recommender sees it: the sum, with the third party's noise alone."""
        asked = self.question(number)
        self.recommender.ask(asked)
        for value in self._answered(asked, self.group):
            self.recommender.receive(value)
        masks = self.third_party.close(self.recommender.close())
        answer = self.recommender.finish(masks)
        self._before = chained(self._before, answer)
        return np.asarray(self.recommender.whole(answer) * STEP, dtype=np.float64)

    def best_guess(self, victim: int) -> Guess:
        """The victim's ratings from the mean of all rounds, less what all others sent, which they told."""
        seen = np.mean([self.round(number) for number in range(ROUNDS)], axis=0)
        others = sum(self._values(place) for place, user in enumerate(self.group) if user != victim)
        history = self.ratings.history_at(victim)
        scale = history.catalogue.scale
        middle, true = (scale.low + scale.high) / 2, history.values.astype(np.float64)
        length = max(float(np.sqrt(((true - middle) ** 2).sum())), 1.0)  # even this is told to the attacker
        believed = middle + length * (seen - others)[history.items]
        return Guess(np.clip(believed, scale.low, scale.high), true)

    def difference_of_rounds(self) -> float:
        """How far two rounds with the same users differ, in deviations of one: nothing of a user is in it."""
        first, second = (self.round(number) for number in range(ROUNDS))
        return float(np.std(first - second) / self.spend.scale)

    def _values(self, place: int) -> Doubles:
        return statistic(self.ratings.history_at(self.group[place]))

    def _someone(self) -> UserMachine:
        return self.users[self.group[0]]

    def _answered(self, asked: Question, users: Sequence[int]) -> list[MaskedValue]:
        self.third_party.ask(asked)
        values = []
        for user in users:
            machine = self.users[user]
            seed = machine.answer(asked, asked, statistic(self.ratings.history_at(user)))
            values.append(machine.confirmed(self.third_party.receive(seed)))
        return values


def _no_noise(question: Question) -> Integers:
    return np.zeros(question.cells, dtype=np.int64)
