"""Attacks: from what was seen of a fit to one number that speaks for the canary's presence.

Several of them see each run of an audit; which one is judged is chosen on runs that are not judged.

1. *Likelihood* (here). The adversary knows all data but the canary's, and the law of the noise according to the
   ledger. So for every look it knows the total a without the canary and how far d the canary moves it; the
   log-likelihood ratios of the looks add up. Gaussian noise: ⟨y − a − d/2, d⟩ / σ². Laplace noise:
   Σ (|y − a| − |y − a − d|) / b. No test is stronger if the noise is what the ledger says. Of a look at a sample, in
   which the canary is with probability q, it is ln(1 − q + q·e^r), with r as before; who else was sampled is not known:
   a is then q times everybody's total.
2. *Learned from the looks* (:mod:`discreet.audit.learning`). Fisher's linear discriminant on the answers where the
   canary can move them or does, with what goes along with these: it finds noise that is not what the ledger says, for
   example the same noise in two looks, and sums that were not made of the data that were asked about.
3. *Learned from the release*. The same on the released arrays alone, on the cells that differ most: it needs to know
   nothing of how they were made but which numbers belong to the canary's items, and finds what never went through a
   population.
4. *Learned from the card* (:mod:`discreet.audit.card`). All that is released beside arrays of numbers.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from discreet.audit.canaries import Pair
from discreet.audit.exact import Exact
from discreet.audit.recording import Look
from discreet.data.ratings import Ratings
from discreet.populations.population import exact_total
from discreet.types import AnyArray, Doubles

FEW = 20
ALWAYS, SOMETIMES = 32, 8
"""Additivity is checked for the first so many questions in each place, and then for one in so many."""
DIGITS = 9
"""Scores that are equal but for rounding should be equal."""


class Read(NamedTuple):
    """A look as the adversary sees it: the total without the canary, and how far the canary moves it."""

    look: Look
    base: Doubles
    moved: Doubles

    @property
    def centred(self) -> Doubles:
        """The answer about the total without the canary."""
        return self.look.answer - self.base


@dataclass(eq=False)
class Adversary:
    """Knows both data sets of a pair, and asks which of them was used."""

    pair: Pair
    exact: Exact = field(default_factory=Exact)
    _known: dict[int, tuple[Doubles, Doubles, Doubles]] = field(default_factory=dict)
    _asked: dict[int, int] = field(default_factory=dict)

    def read(self, looks: Sequence[Look]) -> list[Read]:
        """What the adversary knows of each look. The same whichever data were used."""
        return [Read(look, *self.totals(place, look)) for place, look in enumerate(looks)]

    def totals(self, place: int, look: Look) -> tuple[Doubles, Doubles]:
        """The total without the canary, and how far the canary moves it: its own rows, and no others.

        That these are all that moves is checked wherever a new question is asked.
        """
        asked = look.contribution
        moved = exact_total(asked, self.pair.own_present) - exact_total(asked, self.pair.own_absent)
        few = exact_total(asked, self._few)
        base, known, of_few = self._known.get(place, (moved, moved, few))
        if place not in self._known or not (np.array_equal(known, moved) and np.array_equal(of_few, few)):
            base = exact_total(asked, self.pair.absent)
            self._known[place] = base, moved, few
            self.exact.see_move(look.spends, moved, len(self.pair.own_present))
            number = self._asked[place] = self._asked.get(place, 0) + 1
            if number <= ALWAYS or number % SOMETIMES == 0:
                self.exact.see_totals(look, base, exact_total(asked, self.pair.present), moved)
        return look.sampling_rate * base, moved  # known where it is the same question as before, in all likelihood

    @cached_property
    def _few(self) -> Ratings:
        """Some of the others: a question about which they say the same is taken for the same."""
        return self.pair.absent.select_users(np.arange(min(FEW, self.pair.absent.n_users)))

    def strength(self, looks: Sequence[Look]) -> float:
        """How far the canary moves the looks, in scales of their noise: what it can reveal in a few thousand runs.

        Laplace noise on many cells reveals the whole only if it falls the same way on all of them, which is too rare to
        be seen; the sum of many small ratios is hardly ever further from its mean than three deviations.
        """
        laplace, gaussian = 0.0, 0.0
        for look, _, moved in self.read(looks):
            if look.law == "laplace":
                laplace += float(min(np.abs(moved).sum(), 3 * np.sqrt((moved**2).sum()))) / look.scale
            else:
                gaussian += look.sampling_rate**2 * float((moved**2).sum()) / look.scale**2
        return laplace + math.sqrt(gaussian)


def likelihoods(reads: Sequence[Read]) -> tuple[float, float]:
    """The log-likelihood ratio of the canary's presence, and the part of it that is told by Gaussian noise."""
    ratios = np.array([log_likelihood_ratio(*read) for read in reads])
    gaussian = np.array([read.look.law == "gaussian" for read in reads], dtype=np.bool_)
    whole, part = np.round([ratios.sum(), ratios[gaussian].sum()], DIGITS) if len(ratios) else (0.0, 0.0)
    return float(whole), float(part)


def log_likelihood_ratio(look: Look, base: AnyArray, moved: AnyArray) -> float:
    """ln(density of the answer with the canary / density without it)."""
    where = np.flatnonzero(moved)
    centred, moved = np.ravel(look.answer - base)[where], np.ravel(moved)[where]
    if look.law == "gaussian":
        ratio = float((centred - moved / 2) @ moved) / look.scale**2
    else:
        ratio = float((np.abs(centred) - np.abs(centred - moved)).sum()) / look.scale
    return float(if_sampled(ratio, look.sampling_rate))


def if_sampled(ratio: AnyArray | float, rate: float) -> Doubles:
    """The log-likelihood ratio of being there, from that of being in the sample: ln(1 − q + q·e^r).

    >>> float(if_sampled(0.0, 0.5)), float(if_sampled(3.0, 1.0))
    (0.0, 3.0)
    """
    if rate == 1:
        return np.asarray(ratio, dtype=np.float64)
    return np.logaddexp(math.log1p(-rate), math.log(rate) + np.asarray(ratio, dtype=np.float64))
