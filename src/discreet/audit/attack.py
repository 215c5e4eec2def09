"""Attacks: from what was seen of a fit to one number that speaks for the canary's presence.

Three of them see each run of an audit; which one is judged is chosen on runs that are not judged.

1. *Likelihood*. The adversary knows all data but the canary's, and the law of the noise according to the ledger. So
   for every look it knows the total a without the canary and how far d the canary moves it; the log-likelihood ratios
   of the looks add up. Gaussian noise: ⟨y − a − d/2, d⟩ / σ². Laplace noise: Σ (|y − a| − |y − a − d|) / b. No test is
   stronger if the noise is what the ledger says. Of a look at a sample, in which the canary is with probability q,
   it is ln(1 − q + q·e^r), with r as before; who else was sampled is not known: a is then q times everybody's total.
2. *Learned from the looks*. Fisher's linear discriminant on the answers where the canary can move them, with their
   covariance: it finds noise that is not what the ledger says, for example the same noise in two looks.
3. *Learned from the release*. The same on the released arrays alone, on the cells that differ most: it needs to know
   nothing of how they were made but which numbers belong to the canary's items, and finds what never went through a
   population.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from discreet.audit.canaries import Pair
from discreet.audit.recording import Look
from discreet.data.ratings import Ratings
from discreet.populations.population import exact_total
from discreet.types import AnyArray, Doubles

MOST_FEATURES, FEW = 32, 20
PARTNERED, PARTNERS = 4, 4
"""To how many of the cells that differ others are added that go along with them, and how many to each."""
RIDGE = 1e-9
"""Of the variance: keeps a covariance invertible where noise cancels out exactly."""
DIGITS = 9
"""Scores that are equal but for rounding should be equal."""


@dataclass(eq=False)
class Adversary:
    """Knows both data sets of a pair, and asks which of them was used."""

    pair: Pair
    _known: dict[int, tuple[Doubles, Doubles, Doubles]] = field(default_factory=dict)

    def totals(self, place: int, look: Look) -> tuple[Doubles, Doubles]:
        """The total without the canary, and how far the canary moves it. The same whichever data were used."""
        asked = look.contribution
        moved = exact_total(asked, self.pair.own_present) - exact_total(asked, self.pair.own_absent)
        few = exact_total(asked, self._few)
        base, known, of_few = self._known.get(place, (moved, moved, few))
        if place not in self._known or not (np.array_equal(known, moved) and np.array_equal(of_few, few)):
            base = exact_total(asked, self.pair.absent)
            self._known[place] = base, moved, few
        return look.sampling_rate * base, moved  # known where it is the same question as before, in all likelihood

    @cached_property
    def _few(self) -> Ratings:
        """Some of the others: a question about which they say the same is taken for the same."""
        return self.pair.absent.select_users(np.arange(min(FEW, self.pair.absent.n_users)))

    def likelihoods(self, looks: Sequence[Look]) -> tuple[float, float]:
        """The log-likelihood ratio of the canary's presence, and the part of it that is told by Gaussian noise."""
        ratios = np.array([log_likelihood_ratio(look, *self.totals(place, look)) for place, look in enumerate(looks)])
        gaussian = np.array([look.law == "gaussian" for look in looks], dtype=np.bool_)
        whole, part = np.round([ratios.sum(), ratios[gaussian].sum()], DIGITS) if len(ratios) else (0.0, 0.0)
        return float(whole), float(part)

    def strength(self, looks: Sequence[Look]) -> float:
        """How far the canary moves the looks, in scales of their noise: what it can reveal in a few thousand runs.

        Laplace noise on many cells reveals the whole only if it falls the same way on all of them, which is too rare to
        be seen; the sum of many small ratios is hardly ever further from its mean than three deviations.
        """
        laplace, gaussian = 0.0, 0.0
        for place, look in enumerate(looks):
            _, moved = self.totals(place, look)
            if look.law == "laplace":
                laplace += float(min(np.abs(moved).sum(), 3 * np.sqrt((moved**2).sum()))) / look.scale
            else:
                gaussian += look.sampling_rate**2 * float((moved**2).sum()) / look.scale**2
        return laplace + math.sqrt(gaussian)

    def features(self, looks: Sequence[Look]) -> Doubles:
        """Every answer where the canary could move one of its shape; if that is much, its projections on the moves."""
        centred, moves = [], []
        for place, look in enumerate(looks):
            base, moved = self.totals(place, look)
            centred.append((look.answer - base).ravel())
            moves.append(moved.ravel())
        touched = {len(moved): np.zeros(len(moved), dtype=np.bool_) for moved in moves}
        for look, moved in zip(looks, moves, strict=True):
            touched[len(moved)] |= (moved != 0) | (look.law == "other")
        if sum(int(touched[len(answer)].sum()) for answer in centred) <= MOST_FEATURES:
            return np.concatenate([np.zeros(0), *(answer[touched[len(answer)]] for answer in centred)])
        return np.array(
            [
                answer @ moved / np.linalg.norm(moved)
                for answer in centred
                for moved in moves
                if len(moved) == len(answer) and moved.any()
            ]
            + [float(number) for look in looks if look.law == "other" for number in look.answer.ravel()[:FEW]]
        )[: 2 * MOST_FEATURES]


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


def differing_cells(absent: Doubles, present: Doubles) -> AnyArray:
    """Where rows of released numbers differ most between the sides, in deviations; and what goes along with these.

    A cell that tells nothing by itself may still hold the same noise as one that does. None where no cell differs.

    >>> rng = np.random.default_rng(1)
    >>> absent, present = rng.normal(size=(2, 30, 100))
    >>> present[:, 7] += 5
    >>> 7 in differing_cells(absent, present)
    True
    """
    middles = absent.mean(axis=0), present.mean(axis=0)
    gap = np.abs(middles[1] - middles[0])
    residuals = np.concatenate([absent - middles[0], present - middles[1]])
    spread = residuals.std(axis=0)
    rounding = 1e-6 * np.maximum(np.abs(middles[0]), np.abs(middles[1]))  # of arrays in single precision
    apart = np.where(gap > rounding, gap / (spread + rounding + 1e-300), 0.0)
    most = np.argsort(-apart, kind="stable")[: MOST_FEATURES // 2]
    most = most[apart[most] > 0]
    residuals /= np.where(spread > 0, spread, 1.0)
    along = np.abs(residuals[:, most[:PARTNERED]].T @ residuals) / len(residuals)
    partners = np.argsort(-along, axis=1, kind="stable")[:, :PARTNERS]
    partners = partners[np.take_along_axis(along, partners, axis=1) > 0.5]
    return np.unique(np.concatenate([most, partners])) if len(most) else most


def canary_cells(arrays: Sequence[AnyArray], pair: Pair) -> AnyArray:
    """Where :func:`flat` puts the numbers of the items by which a canary differs, unless these are many."""
    size = pair.absent.n_items
    items = np.setxor1d(pair.own_absent.item_index, pair.own_present.item_index)
    if len(items) == 0:
        items = np.unique(pair.own_present.item_index)  # the same items with other values
    cells, start = [np.zeros(0, dtype=np.int64)], 1
    for array in arrays:
        if array.ndim > 0 and array.shape[-1] == size:
            rows = np.arange(array.size // size) * size
            cells.append(start + (rows[:, None] + items).ravel())
        start += array.size
    found = np.concatenate(cells)
    return found if len(found) <= MOST_FEATURES // 2 else found[:0]


def fisher_direction(absent: Doubles, present: Doubles) -> Doubles:
    """Where two clouds of points lie furthest apart: inverse covariance times difference of means.

    >>> rng = np.random.default_rng(1)
    >>> noise = rng.normal(size=(100, 1)) * [1, 1]  # the same in both columns: their difference has none
    >>> direction = fisher_direction(noise, noise + [1, 0])
    >>> bool(direction[0] > 0 and abs(direction[0] + direction[1]) < 1e-6 * direction[0])
    True
    """
    gap = present.mean(axis=0) - absent.mean(axis=0)
    residuals = np.concatenate([absent - absent.mean(axis=0), present - present.mean(axis=0)])
    spread = residuals.std(axis=0)
    unit = np.where(spread > 0, spread, np.where(gap != 0, np.abs(gap), 1.0))
    covariance = (residuals / unit).T @ (residuals / unit) / max(1, len(residuals) - 2)
    covariance[np.diag_indices_from(covariance)] += RIDGE
    return np.asarray(np.linalg.solve(covariance, gap / unit) / unit, dtype=np.float64)


def numeric(arrays: Mapping[str, AnyArray]) -> list[AnyArray]:
    """The arrays of numbers in a release, in order of their names."""
    return [arrays[name] for name in sorted(arrays) if arrays[name].dtype.kind in "biuf"]


def flat(arrays: Sequence[AnyArray], size: int | None = None) -> Doubles:
    """How many numbers were released, which should tell nothing, and then all of them; 0 for what is not finite.

    With ``size`` the row is cut or filled up to it, where shapes depend on the data: the number in front will tell.
    """
    rows = [np.asarray(array, dtype=np.float64).ravel() for array in arrays]
    numbers = np.concatenate([np.array([sum(map(len, rows))]), *rows])
    if size is not None and size != len(numbers):
        numbers = np.concatenate([numbers, np.zeros(size)])[:size]
    return np.asarray(np.nan_to_num(numbers, nan=0.0, posinf=0.0, neginf=0.0), dtype=np.float64)
