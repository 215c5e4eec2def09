"""Recommenders that do what the published protocol lets them do, and read ratings off what they are sent.

A user's gradient of an item is −2u(r − uᵀv), and the recommender chooses v. With κ = 1 − 2γλ, and u as it was before:

    v = 0            a_j = −g_j/2      = u r_j               and u becomes κu
    v = c e_k        b_j = −g_j/2κ     = u r_j − cκ u_k u    so  a_j − b_j = w = cκ u_k u,  the same for all items
                     r_j²              = cκ a_j[k] · ⟨a_j, w⟩/⟨w, w⟩

Two rounds give all ratings of a user, if the noise is gone. It goes by the recommender's word: H = 0, or a k so large
that pieces of variance 1/k are nothing. A fixed η goes by itself: n rounds with v = 0 differ by −2(1 − κⁿ) u r_j.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet.data.ratings import Ratings
from discreet.papers.untrusted.algorithm import UntrustedMF
from discreet.papers.untrusted.exchange import Exchange
from discreet.papers.untrusted.messages import Pads
from discreet.papers.untrusted.parties import Recommender
from discreet.privacy.randomness import Randomness
from discreet.types import AnyArray, Doubles, Indices

MANY = np.int64(1) << np.int64(60)
"""A k that switches the noise off."""
LENGTH = 1.0
"""c, the length of the vector that is sent."""
STILL = 40
"""Rounds with v = 0 after which their difference is taken."""
CLOSE = 0.02
"""How far a rating may be from a whole number for a scale to fit."""


class NoExponentials(Recommender):
    """Sends H = 0: for ρ̃, and for η too."""

    def exponentials(self, number: int) -> Doubles:
        """None of the noise of a round."""
        return np.zeros_like(self.items)

    def first_exponentials(self) -> Doubles:
        """None of the fixed noise."""
        return np.zeros_like(self.items)


class NoFreshNoise(NoExponentials):
    """Sends an honest H for η, and H = 0 for ρ̃."""

    def first_exponentials(self) -> Doubles:
        """As it should be."""
        return Recommender.first_exponentials(self)


class ManyUsers(Recommender):
    """Sends an honest H, which users may test as they like, and a huge k, which they cannot."""

    def pads(self, users: Sequence[int]) -> list[Pads]:
        """With a huge k."""
        return [replace(pads, count=int(MANY)) for pads in super().pads(users)]

    def told_counts(self, counts: Indices) -> AnyArray:
        """The same for every item."""
        return np.full(len(counts), MANY)


@dataclass(frozen=True, eq=False)
class Guess:
    """What an attacker believes of some ratings, and what they are."""

    believed: Doubles
    true: Doubles

    @property
    def errors(self) -> Doubles:
        """In stars."""
        return np.asarray(np.abs(self.believed - self.true))


class Attacker:
    """One run of the published protocol, S3 unless another is named, with a recommender of this kind."""

    def __init__(
        self, model: UntrustedMF, ratings: Ratings, kind: type[Recommender], *, seed: int | None = None
    ) -> None:
        self.model, self.ratings = model, ratings
        self.exchange = Exchange(model, ratings, randomness=Randomness(seed), recommender=kind)
        self._number = 0
        self.kappa = 1 - 2 * model.learning_rate * model.user_penalty
        if model.scenario == "dynamic":
            self.exchange.initialise(np.arange(min(model.at_most, ratings.n_users), dtype=np.int32))

    def look(self, group: Sequence[int] | AnyArray, along: int | None = None) -> Doubles:
        """The sums that a round gives where all v are 0, or c e_k."""
        recommender = self.exchange.recommender
        recommender.items[:] = 0
        if along is not None:
            recommender.items[:, along] = LENGTH
        self._number += 1
        return self.exchange.round(self._number, np.array(group, dtype=np.int32))

    def guess(self, user: int, believed: Doubles) -> Guess:
        """Of all ratings of a user; ``believed`` has a row for each."""
        return Guess(np.asarray(believed), self.ratings.history_at(user).values.astype(np.float64))

    def group_of_one(self, user: int) -> Guess:
        """Two rounds with this user alone."""
        items = self.ratings.history_at(user).items
        moments = -self.look([user])[items] / 2
        along = int(np.abs(moments).sum(axis=0).argmax())
        shifted = -self.look([user], along)[items] / (2 * self.kappa)
        return self.guess(user, _solved(moments, moments - shifted, along, LENGTH * self.kappa))

    def difference_of_rounds(self, user: int) -> Guess:
        """η is there, and the same in every round: rounds with v = 0 differ by the gradient alone."""
        items, kappa = self.ratings.history_at(user).items, self.kappa
        first = self.look([user])[items]
        for _ in range(STILL - 1):
            last = self.look([user])[items]
        moments = -(first - last) / (2 * (1 - kappa ** (STILL - 1)))
        along = int(np.abs(moments).sum(axis=0).argmax())
        now = kappa**STILL  # u is this much shorter in the next round
        shifted = (self.look([user], along)[items] - first) / 2 - (1 - now) * moments
        return self.guess(user, _solved(moments, shifted / now, along, LENGTH * now))

    def items_with_one_rater(self) -> Guess:
        """Two rounds of S2 with everyone: what only one user rated is hers, and the requests say so."""
        counts = np.bincount(self.ratings.item_index, minlength=self.ratings.n_items)
        items, everyone = np.flatnonzero(counts == 1), np.arange(self.ratings.n_users)
        moments: Doubles = -self.look(everyone)[items] / 2
        shifts = np.add(moments, self.look(everyone, 0)[items] / (2 * self.kappa))
        believed = [
            _solved(own[None], shift[None], 0, LENGTH * self.kappa)[0]
            for own, shift in zip(moments, shifts, strict=True)
        ]
        by_item = self.ratings.by_item
        return Guess(np.array(believed), by_item.values[by_item.indptr[items]].astype(np.float64))

    def two_groups(self, user: int, others: Indices) -> Guess:
        """A group with this user and without: the difference is u r, and ratings are whole numbers."""
        items = self.ratings.history_at(user).items
        together, without = self.look([*others, user])[items], self.look(others)[items]
        return self.guess(user, _whole_ratings(-(together - without / self.kappa) / 2, self.ratings))


def _solved(moments: Doubles, shift: Doubles, along: int, factor: float) -> Doubles:
    """r of every row: √(factor · a[k] ⟨a, w⟩/⟨w, w⟩), w the mean over the rows."""
    w = shift.mean(axis=0)
    squares = factor * moments[:, along] * (moments @ w) / max(float(w @ w), 1e-300)
    return np.asarray(np.sqrt(np.maximum(squares, 0)))


def _whole_ratings(moments: Doubles, ratings: Ratings) -> Doubles:
    """r of every row of u r: lengths, scaled so that all are whole numbers; the largest rating is tried downwards."""
    scale = ratings.catalogue.scale
    lengths = np.sqrt((moments**2).sum(axis=1))
    shares = lengths / max(float(lengths.max(initial=0)), 1e-300)
    tried = [top * shares for top in np.arange(scale.high, 0, -1)]
    fitting = [one for one in tried if np.abs(one - np.rint(one)).max(initial=0) < CLOSE]
    return np.asarray((fitting or tried)[0])
