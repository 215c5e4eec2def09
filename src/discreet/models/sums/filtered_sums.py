"""Many noisy sums, from which each user drops out when their own budget is spent: an individual filter.

In step t a user's row is x_{i,t}, made of their own ratings and of what was released before; its length is at most C.
The step releases Σ_i x_{i,t} over the users who are still in, plus normal noise of deviation σ. A user is in as long as

    Σ_{s ≤ t} ‖x_{i,s}‖²  ≤  w_i² · B²

with the *actual* lengths, the present step included, and w_i the weight of the user's privacy level. So those whose
rows are short last longer than those whose rows have the full length, who last B²/C² steps.

**Guarantee.** Fix what was released before step t. Then whether user i is in, and x_{i,t}, depend on the ratings of i
alone, and so do those of everybody else on theirs: with and without i the step has normal laws with means that differ
by ‖x_{i,t}‖ or, once i is out, by nothing. This is adaptive composition of Gaussian mechanisms with individual
sensitivities, stopped before the sum of the squares of ‖x_{i,t}‖/σ exceeds μ² = (w_i B/σ)². For every Rényi order α the
whole run is (α, αμ²/2)-private for i (Feldman & Zrnic 2021), and it is μ-Gaussian private (Koskela, Tobaben & Honkela
2022). ∎ Lengths are taken with what rounding to the lattice may add. Who is out, how many are, and anyone's sum of
squares is never released; it is about users who are present or absent.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from discreet.data.catalogue import Catalogue
from discreet.data.ratings import Ratings
from discreet.errors import InputError, require, require_number, require_whole
from discreet.populations.guarded import nobody
from discreet.populations.mechanism import Allowance, neighbouring
from discreet.populations.population import InParts
from discreet.populations.weighted import WEIGHT_FACT
from discreet.privacy.noise import add_gaussian, grid_of
from discreet.privacy.randomness import Randomness
from discreet.privacy.spend import Spend
from discreet.privacy.unit import User
from discreet.types import AnyArray, Doubles

Rows = Callable[[Ratings, Doubles], AnyArray]
"""From ratings and what was released so far to one row for each rating; a user's rows depend on that user's alone."""
Update = Callable[[Doubles, Doubles, int, float], Doubles]
"""From what was known, a noisy sum, the number of the step and the deviation of the noise to what is known then."""

MARGIN = 2.0**-20
"""Lengths in doubles err by less than this share."""


@dataclass(frozen=True, kw_only=True)
class FilteredSums:
    """The mechanism, for :meth:`~discreet.TrustedServer.run`.

    Parameters
    ----------
    name
        What is learned, in words.
    start
        What is known before the first step: items by columns. Public.
    channels
        How many numbers a rating adds to the sums of its item.
    rows, update
        What a user adds in a step, and what becomes of the sum.
    steps
        How many there are.
    clip
        The C above: longer rows of a user are shortened to it.
    lasting
        How many steps a user lasts whose rows have the full length: B² = C²·lasting.
    """

    name: str
    start: Doubles
    channels: int
    rows: Rows
    update: Update
    steps: int
    clip: float
    lasting: float

    def __post_init__(self) -> None:
        require_whole("steps", self.steps, least=1)
        require_number("clip", self.clip, above=0)
        require(1 <= self.lasting <= self.steps, f"lasting must lie in 1 … steps, got {self.lasting}")

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """What is known after the last step."""
        return {"known": self.start.shape}

    @property
    def budget(self) -> float:
        """The B above, with room for what rounding adds to a row of the full length."""
        return self.clip * math.sqrt(self.lasting) * (1 + 2.0**-10)

    def spend(self, allowed: Allowance) -> Spend:
        """Gaussian noise with the μ that is allowed: B over the deviation of one step."""
        if allowed.unit.name != "user" or allowed.unit.neighbours != "add-or-remove":
            raise InputError(f"{self.name!r} is for users who are present or absent, and not for {allowed.unit}")
        require(allowed.mu > 0, f"{self.name!r} has Gaussian noise, which needs a delta above 0, for example 1e-6")
        return Spend(
            what=self.name,
            mechanism="gaussian",
            norm="l2",
            sensitivity=self.budget,
            scale=self.budget / allowed.mu,
            weighted=allowed.weighted,
        )

    def draw(self, ratings: InParts, spend: Spend, randomness: Randomness) -> Mapping[str, AnyArray]:
        """Step by step, each over those who have something left."""
        whole, known = _whole(ratings), self.start
        grid = grid_of(spend.scale)
        reach = grid * math.sqrt(len(self.start) * self.channels)
        left = (self.budget * whole.user_facts.get(WEIGHT_FACT, np.ones(whole.n_users))) ** 2
        for step in range(self.steps):
            rows, lengths = self.bounded(whole, known)
            cost = ((lengths + reach) * (1 + MARGIN)) ** 2
            taken = cost <= left
            left = np.where(taken, left - cost, 0.0)  # once out, out: a later row may be shorter, but need not wait
            total = self._total(whole, rows * taken[whole.user_index, None])
            known = self.update(known, add_gaussian(total, spend.scale, grid, randomness), step, spend.scale)
        return {"known": known}

    def exact(self, ratings: InParts) -> Mapping[str, AnyArray]:
        """The same without noise, everybody in every step."""
        whole, known = _whole(ratings), self.start
        for step in range(self.steps):
            known = self.update(known, self._total(whole, self.bounded(whole, known)[0]), step, 0.0)
        return {"known": known}

    def bounded(self, ratings: Ratings, known: Doubles) -> tuple[Doubles, Doubles]:
        """The rows of every rating, those of a user together no longer than C, and how long they are for each user."""
        rows = np.asarray(self.rows(ratings, known), dtype=np.float64).reshape(len(ratings), self.channels)
        rows = np.where(np.isfinite(rows), rows, 0.0)
        squares = np.bincount(ratings.user_index, weights=(rows**2).sum(axis=1), minlength=ratings.n_users)
        lengths = np.sqrt(squares)
        shrink = np.minimum(1.0, self.clip / np.maximum(lengths, 1e-300))
        return rows * shrink[ratings.user_index, None], lengths * shrink

    def _total(self, ratings: Ratings, rows: Doubles) -> Doubles:
        size = len(self.start)
        columns = [
            np.bincount(ratings.item_index, weights=rows[:, place], minlength=size) for place in range(self.channels)
        ]
        return np.stack(columns, axis=1)

    def check(self, catalogue: Catalogue) -> None:
        """Follow every user of a small universe through a run: nobody's squares may exceed the budget, nor any sum."""
        spend = self.spend(Allowance(unit=User(), epsilon=1.0, mu=1.0))
        self.draw(nobody(catalogue), spend, Randomness(seed=0))
        for one, other in neighbouring(catalogue, User()):
            known, spent = self.start, 0.0
            for step in range(self.steps):
                rows, lengths = self.bounded(one, known)
                fewer, _ = self.bounded(other, known)
                moved = float(np.linalg.norm(self._total(one, rows) - self._total(other, fewer)))
                require(
                    moved <= lengths[-1] * (1 + 1e-9) + 1e-9,
                    f"{self.name!r}: a user moves a sum by {moved:.4g}, and counts {lengths[-1]:.4g}",
                )
                spent += moved**2
                if spent > self.budget**2:
                    break
                known = self.update(known, self._total(one, rows), step, 1.0)


def _whole(ratings: InParts) -> Ratings:
    if not isinstance(ratings, Ratings):
        raise InputError("a filter follows every user through all steps: load the ratings at once")
    return ratings
