"""Who rates what: patterns of it in noisy co-counts, and how each user finds their own taste in them at home.

**Published: which items are rated together.** With p_i the popularity of an item, and for a user who will rate n items
the expectation n (p + T z_u), z_u ~ N(0, I), the co-counts W_ij = Σ_u w_u over the users who rated both are, but for
noise and chance, a multiple of p pᵀ + T Tᵀ off the diagonal. So with D_i = (n_i / mean count + ½ + ν)^−0.2, which keeps
the most rated items from drowning the others, the less so the more noise there is beside chance (ν is their ratio),

    D W D  ≈  Σ_k θ_k v_k v_kᵀ        those above the edge of noise and chance together, shrunk (spectral)
    T_ik   =  v_ik √(c_k θ_k / θ_1) / D_i        c_k = 1 − (edge / 2θ_k)², how much of v_k is not noise

The diagonal, where everyone who rated an item counts whatever their taste, is filled in from the rest, a few times.
The first pattern is popularity itself, and with noise it is told far more clearly by it than by the noisy counts, so
counts of the listed items become a mean of both, weighted by what is known of their errors.

**At home: from popularity to the own expectation.** A user with marks x (1 for each of n rated items) has

    μ  =  n p + T (TᵀD²T + (c/n) I)⁻¹ TᵀD² (x − n p)        c = ½, and ν = 0 in D
    b  =  max(μ, 0) + n p / 10                              for a rated item without what its own mark adds to μ

the mean of a Gaussian posterior in which every mark deviations on its own; few ratings move little, many ratings more.

**At home: the tilt.** What is public or released about items besides — genres, years, popularity, how well they are
liked — enters as a distribution over items that is tilted on the own history:

    P(i)  ∝  b_i exp(ηᵀf_i)        η the likeliest, with prior N(0, 1/precision)

by a few Newton steps (:mod:`~discreet.kernels.conditional_logit`). Its logarithm is the score. The more patterns T has, the less is
left for features to say, so the prior is tighter. Whoever has rated nothing is recommended what is popular.

Without features and with noise that hides all patterns this is popularity; with many users it is their patterns. One
form serves everywhere, so no rule has to choose.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.data.history import History
from discreet.data.ratings import Ratings
from discreet.kernels import few_users
from discreet.kernels.compiling import chosen
from discreet.kernels.conditional_logit import fit_logit_rows, tiles
from discreet.models.denoise.spectral import MARGIN, above_threshold, simulated_threshold
from discreet.models.home.fold_in import fixed, row_sums
from discreet.types import AnyArray, Doubles, Floats, Indices

# Public constants, chosen on MovieLens 1M and on splits of MovieLens 100K with other seeds than those reported.
DAMPED, POWER = 0.5, 0.2
"""The ½ and the 0.2 of D."""
FILLS = 3
"""How often the diagonal is filled in."""
LIKENESS = 0.15
"""How far the first pattern may lie from popularity, as a share of it."""
OWN_CHANCE, KEPT = 0.5, 0.1
"""The c of μ, and the share of popularity that everyone keeps in b."""
UNSEEN = 1e-3
"""The popularity that every item has at least, in means."""
FIRM = 2.0
"""The precision without patterns; with q of them it is √(1 + q) times as much."""
POPULARITY = 0.5
"""The scale of log popularity as a feature, in deviations."""
STEPS = 3
"""Newton steps: with two nothing changes any more on MovieLens."""


# ── Publication ──


def taste_factors(
    weights: Floats, counts: AnyArray, noise: float, count_noise: float, chance: float, most: int
) -> tuple[Floats, Doubles]:
    """T above, a row for each listed item and as many columns as stand out; and what is now known of the counts.

    Parameters
    ----------
    weights
        W with its noise, over the listed items.
    counts
        How often these were rated, as far as known; of any unit.
    noise, count_noise
        Deviations of the noise on W off its diagonal, and on the counts.
    chance
        What one more user who rated both items adds to W: its variance is so many times itself.
    most
        How many patterns at most, popularity among them.
    """
    size = len(counts)
    known = np.maximum(np.asarray(counts, dtype=np.float64), 0)
    if not known.any():
        return np.zeros((size, 0), dtype=np.float32), known
    expected = np.outer(known, known)
    np.fill_diagonal(expected, 0)
    expected *= max(float((weights * expected).sum()) / float((expected**2).sum() or 1.0), 0.0)
    by_chance = max(chance, 0.0) * float(expected.mean())
    scales = _scales(known, noise**2 / max(by_chance, 1e-12))
    matrix = (weights * np.outer(scales, scales)).astype(np.float32)
    deviations = np.outer(scales, scales) * np.sqrt(noise**2 + max(chance, 0.0) * expected)
    edge = MARGIN * simulated_threshold(deviations.astype(np.float32))
    np.fill_diagonal(matrix, 0)
    values, vectors = above_threshold(matrix, most, edge)
    for _ in range(FILLS):
        np.fill_diagonal(matrix, (vectors**2 @ values).astype(np.float32))
        values, vectors = above_threshold(matrix, most, edge)
    if len(values) == 0:
        return np.zeros((size, 0), dtype=np.float32), known
    clear = 1 - (edge / (2 * values)) ** 2
    factors = vectors * np.sqrt(clear * values / values[0]) / scales[:, None]
    first = np.abs(vectors[:, 0]) / scales
    told = first * float(known @ first) / float(first @ first)
    if noise > 0 and count_noise > 0:
        error = (told @ first / (first @ first)) * noise * float(np.sqrt((scales**2).mean())) / values[0]
        doubt = error**2 + (LIKENESS * told) ** 2
        known = (known * doubt + told * count_noise**2) / (doubt + count_noise**2)
    return factors.astype(np.float32), known


def _scales(counts: AnyArray, noise: float = 0.0) -> Doubles:
    """D above, for noise of this variance in units of that by chance."""
    return np.asarray((counts / max(float(counts.mean()), 1e-12) + DAMPED + noise) ** -POWER, dtype=np.float64)


# ── At home ──


@dataclass(frozen=True, eq=False)
class InteractionModel:
    """What everyone's own expectation starts from: all public or released.

    Parameters
    ----------
    share
        p above, summing to 1.
    rows, place
        Positions of the items that have patterns; and for every item where it stands among these, −1 for none.
    inward, outward
        From marks to how far a user goes along each pattern, and back; a row for each of these items.
    strength
        The eigenvalues of TᵀD²T.
    """

    share: Floats
    rows: AnyArray
    place: Indices
    inward: Floats
    outward: Floats
    strength: Floats

    @classmethod
    def of(cls, counts: Floats, factors: Floats) -> "InteractionModel":
        """From the released counts and taste factors."""
        share = np.maximum(counts, 0).astype(np.float64)
        share += UNSEEN * share.mean() if share.any() else 1.0
        share /= share.sum()
        rows = np.flatnonzero(factors.any(axis=1))
        found = factors[rows][:, factors.any(axis=0)].astype(np.float64)
        scales = _scales(counts[rows].astype(np.float64))[:, None] if len(rows) else np.ones((0, 1))
        gram = (found * scales).T @ (found * scales)
        strength, turn = np.linalg.eigh(gram) if len(gram) else (np.zeros(0), gram)
        kept = strength > 1e-9
        place = np.full(len(counts), -1, dtype=np.int32)
        place[rows] = np.arange(len(rows), dtype=np.int32)
        along = (found @ turn[:, kept]) / np.sqrt(strength[kept])
        return cls(
            share.astype(np.float32),
            rows,
            place,
            (along * scales**2).astype(np.float32),
            along.astype(np.float32),
            strength[kept].astype(np.float32),
        )

    @cached_property
    def from_all(self) -> Floats:
        """``inward`` with a row for every item, 0 for those without patterns."""
        rows = np.zeros((len(self.place), self.inward.shape[1]), dtype=np.float32)
        rows[self.rows] = self.inward
        return rows

    def expectations(self, histories: Ratings) -> Floats:
        """log b of every user, users by items; log p for a user without ratings."""
        lengths = np.diff(histories.indptr).astype(np.float32)
        own = np.outer(np.maximum(lengths, 1), self.share)
        logs = np.log((1 + KEPT) * own, out=own)
        if len(self.strength) == 0:
            return np.asarray(logs)
        places = self.place[histories.item_index]
        marked = places >= 0
        users, places = histories.user_index[marked], places[marked]
        pull = lengths[:, None] * self.strength
        pull = pull / (pull + OWN_CHANCE)  # (users, patterns)
        start = self.share[self.rows]
        moved = pull * (row_sums(histories, self.from_all) - np.outer(lengths, start @ self.inward))
        with np.errstate(invalid="ignore"):  # seen once with finite factors and a finite product, cause unknown
            expected = moved.astype(np.float32) @ self.outward.T
        expected += np.outer(lengths, start)
        expected[users, places] -= np.einsum("ek,ek->e", pull[users], (self.inward * self.outward)[places])
        np.maximum(expected, 0, out=expected)
        expected += np.outer(KEPT * lengths, start)
        expected[lengths == 0] = (1 + KEPT) * start
        logs[:, self.rows] = np.log(expected)
        return np.asarray(logs)


@dataclass(frozen=True, eq=False)
class ConditionalLogit:
    """All that does not depend on a user, made once for a release.

    Parameters
    ----------
    popular
        What everyone starts from.
    covariates
        The f above, in tiles for the kernel.
    precision
        How tightly each coefficient is held to 0.
    """

    popular: InteractionModel
    covariates: Floats
    precision: Floats

    @classmethod
    def of(cls, popular: InteractionModel, liked: Floats, features: Floats) -> "ConditionalLogit":
        """From what everyone starts from, how much better than others each item is liked, and public features.

        ``liked`` counts in quarters of the scale's width. There may be no features.
        """
        logs = np.log(popular.share)
        logs -= popular.share @ logs
        logs *= POPULARITY / max(float(np.sqrt(popular.share @ logs**2)), 1e-6)
        covariates = np.concatenate([features, logs[:, None], liked[:, None]], axis=1).astype(np.float32)
        firm = FIRM * np.sqrt(1 + len(popular.strength))
        return cls(popular, fixed(tiles(covariates)), np.full(covariates.shape[1], firm, dtype=np.float32))

    def scores(self, histories: Ratings) -> Floats:
        """log P of every item for every user."""
        scores = self.popular.expectations(histories)
        tilt = chosen(histories.n_users, few_users.fit_logit_rows, fit_logit_rows)
        tilt(scores, histories.indptr, histories.item_index, self.covariates, self.precision, STEPS)
        return scores

    def shares(self, history: History, item: int) -> Floats:
        """What each rating of a history adds to the score of ``item``, to first order.

        A mark moves b along the patterns, and η along the features in which it differs from what was expected:
        ∂ log b_i, and a Newton step from η = 0, are both sums over the marks.
        """
        alone = Ratings.of_history(history)
        logs = self.popular.expectations(alone)[0].astype(np.float64)
        share = np.exp(logs - logs.max())
        share /= share.sum()
        columns = self.covariates.transpose(0, 2, 1).reshape(-1, len(self.precision))[: len(share)].astype(np.float64)
        columns -= share @ columns
        own = columns[history.items]
        hessian = len(own) * ((columns.T * share) @ columns) + np.diag(self.precision)
        added = own @ np.linalg.solve(hessian, columns[item])
        place, places = self.popular.place[item], self.popular.place[history.items]
        if place >= 0:
            pull = len(own) * self.popular.strength
            along = self.popular.outward[place] * pull / (pull + OWN_CHANCE)
            added += np.where(places >= 0, self.popular.inward[places] @ along, 0) / np.exp(logs[item])
        return np.asarray(added, dtype=np.float32)


def logit_scores(popular: InteractionModel, liked: Floats, features: Floats, histories: Ratings) -> Floats:
    """The score of every item for every user; the arguments are those of :class:`ConditionalLogit`."""
    return ConditionalLogit.of(popular, liked, features).scores(histories)
