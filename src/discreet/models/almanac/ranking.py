"""The next item a user rates: a conditional logit over the items, fitted at home on the user's own history.

**Expected interactions.** A user who rated n items, with x_i = 1 for each of them, popularity p and the released
factors T of who rates what (:mod:`~discreet.models.almanac.pairs`), expects

    μ  =  n p + T (TᵀD²T + (c/n) I)⁻¹ TᵀD² (x − n p)        c = ½, D_i = (n_i / mean count + ½)^−0.2
    b  =  max(μ, 0) + φ n p                                 of a rated item without what its own x_i adds to μ

μ is a Gaussian posterior mean: with few ratings it is near popularity, with many near the user's own taste. φ is
1/10. Where a release also has item-item weights B, a part ω = .3 of b comes from these:

    e  =  max(Bᵀx, 0) + φ n p                               (1 + φ) n p for an item without factors
    b  ←  (1 − ω) b + ω e Σb / Σe

**Conditional logit.** Public or released features f of items (genres, years, popularity, how well they are liked) enter
through a log-linear model with the offset log b,

    P(i)  ∝  b_i exp(ηᵀf_i)        η the maximum a posteriori estimate, with prior N(0, 1/precision)

found by a few Newton steps (:mod:`~discreet.kernels.conditional_logit`). The score of an item is log P. The more
factors T has, the less is left for features to explain, so the tighter the prior. A user without
ratings gets the most popular items.

With no features and no factors above the noise, this is popularity. The same form serves all cases.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.data.history import History
from discreet.data.ratings import Ratings
from discreet.kernels import few_users
from discreet.kernels.compiling import chosen
from discreet.kernels.conditional_logit import fit_logit_rows, mixed, tiles
from discreet.kernels.gpu_logit import LogitArrays, LogitOnDevice
from discreet.kernels.gpu_pairs import best_device
from discreet.models.home.fold_in import fixed, row_sums
from discreet.models.home.neighbour_weights import NeighbourWeights
from discreet.models.home.user_regression import UserRegression
from discreet.releases.release import Release
from discreet.types import AnyArray, Doubles, Floats, Indices


@dataclass(frozen=True)
class _Constants:
    """Chosen on MovieLens 1M and on splits of MovieLens 100K with other seeds than those reported."""

    damping: float = 0.5
    """The ½ of D: keeps the scales of rarely rated items bounded."""
    power: float = 0.2
    """The 0.2 of D: weaker than the ½ that would make all items equal, which noise forbids."""
    interaction_variance: float = 0.5
    """The c of μ: how much each x_i varies on its own."""
    popularity_floor: float = 0.1
    """The φ of b: the share of popularity that everyone keeps, so that no item has probability 0."""
    part_of_weights: float = 0.3
    """The ω above: real data gain as much with .25 to .5, synthetic ratings lose .003 with .5."""
    least_popularity: float = 1e-3
    """What is added to every count, in mean counts: items that nobody rated can still be scored."""
    precision: float = 2.0
    """Of the prior of η without factors; with q factors it is √(1 + q) times as much."""
    popularity_scale: float = 0.5
    """The standard deviation of log popularity as a feature."""
    newton_steps: int = 3
    """With two steps nothing changes any more on MovieLens."""


CONSTANTS = _Constants()


# ── Scales of items ──


def item_scales(counts: AnyArray, noise: float = 0.0) -> Doubles:
    """D for counts of any unit; ``noise`` is ν, the variance of noise in units of that of sampling.

    >>> item_scales(np.array([0.5, 0.5])).tolist() == [1.5**-0.2] * 2
    True
    """
    relative = counts / max(float(counts.mean()), 1e-12)
    return np.asarray((relative + CONSTANTS.damping + noise) ** -CONSTANTS.power, dtype=np.float64)


# ── The next item ──

FLOOR = CONSTANTS.popularity_floor
PART = np.float32(CONSTANTS.part_of_weights)


@dataclass(frozen=True, eq=False)
class InteractionModel:
    """Who rates what: popularity and factors, all public or released.

    Parameters
    ----------
    share
        p above, summing to 1.
    rows, place
        Positions of the items that have factors; and for every item its position among these, −1 for none.
    inward, outward
        From x to a user's factors, and back; one row for each of these items.
    strength
        The eigenvalues of TᵀD²T.
    neighbour_weights
        B above; None where there is none.
    """

    share: Floats
    rows: AnyArray
    place: Indices
    inward: Floats
    outward: Floats
    strength: Floats
    neighbour_weights: NeighbourWeights | None = None

    @classmethod
    def of(
        cls, counts: Floats, factors: Floats, neighbour_weights: NeighbourWeights | None = None
    ) -> "InteractionModel":
        """From the released counts, taste factors and weights of items."""
        share = np.maximum(counts, 0).astype(np.float64)
        share += CONSTANTS.least_popularity * share.mean() if share.any() else 1.0
        share /= share.sum()
        rows = np.flatnonzero(factors.any(axis=1))
        found = factors[rows][:, factors.any(axis=0)].astype(np.float64)
        scales = item_scales(counts[rows].astype(np.float64))[:, None] if len(rows) else np.ones((0, 1))
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
            neighbour_weights,
        )

    @cached_property
    def from_all(self) -> Floats:
        """``inward`` with a row for every item, 0 for those without patterns."""
        rows = np.zeros((len(self.place), self.inward.shape[1]), dtype=np.float32)
        rows[self.rows] = self.inward
        return rows

    def log_expectations(self, histories: Ratings) -> Floats:
        """log b, users by items; log p for a user without ratings."""
        return self.log_expectations_and_ratio(histories)[0]

    def log_expectations_and_ratio(self, histories: Ratings) -> tuple[Floats, Floats]:
        """The same, and Σb / Σe of each user, 0 where there is no B."""
        lengths = np.diff(histories.indptr).astype(np.float32)
        own = np.outer(np.maximum(lengths, 1), self.share)
        logs = np.log((1 + FLOOR) * own, out=own)
        ratio = np.zeros_like(lengths)
        if len(self.strength) == 0:
            return np.asarray(logs), ratio
        start = self.share[self.rows]
        expected = self._above_0(self._expected(histories, lengths), lengths)
        if self.neighbour_weights is not None:
            by_weights = self.neighbour_weights.sums(histories, np.ones(len(histories), dtype=np.float32))[:, self.rows]
            by_weights = self._above_0(by_weights, lengths)
            others = (1 + FLOOR) * np.maximum(lengths, 1) * np.maximum(1 - start.sum(), 0)
            ratio = (expected.sum(axis=1) + others) / (by_weights.sum(axis=1) + others)
            expected = mixed(expected, ratio[:, None] * by_weights, PART)
            logs += np.log(mixed(1, ratio, PART))[:, None]
        logs[:, self.rows] = np.log(expected)
        return np.asarray(logs), ratio

    def _expected(self, histories: Ratings, lengths: Floats) -> Floats:
        """μ of the items with factors, without what an own x_i adds."""
        places = self.place[histories.item_index]
        marked = places >= 0
        users, places = histories.user_index[marked], places[marked]
        pull = lengths[:, None] * self.strength
        pull = pull / (pull + CONSTANTS.interaction_variance)  # (users, patterns)
        start = self.share[self.rows]
        moved = pull * (row_sums(histories, self.from_all) - np.outer(lengths, start @ self.inward))
        with np.errstate(invalid="ignore"):  # seen once with finite factors and a finite product, cause unknown
            expected = moved.astype(np.float32) @ self.outward.T
        expected += np.outer(lengths, start)
        expected[users, places] -= np.einsum("ek,ek->e", pull[users], (self.inward * self.outward)[places])
        return np.asarray(expected)

    def _above_0(self, expected: Floats, lengths: Floats) -> Floats:
        """max(·, 0) + φ n p of the items with factors, and (1 + φ) p for a user without ratings."""
        start = self.share[self.rows]
        found = np.maximum(expected, 0) + np.outer(FLOOR * lengths, start)
        found[lengths == 0] = (1 + FLOOR) * start
        return found


@dataclass(frozen=True, eq=False)
class ConditionalLogit:
    """Everything that does not depend on a user.

    Parameters
    ----------
    interactions
        The model of who rates what.
    covariates
        The f above, in tiles for the kernel.
    precision
        Prior precision of each coefficient.
    """

    interactions: InteractionModel
    covariates: Floats
    precision: Floats

    @classmethod
    def of(cls, interactions: InteractionModel, liked: Floats, features: Floats) -> "ConditionalLogit":
        """``liked`` is the item bias, in quarters of the scale's width. There may be no features."""
        logs = np.log(interactions.share)
        logs -= interactions.share @ logs
        logs *= CONSTANTS.popularity_scale / max(float(np.sqrt(interactions.share @ logs**2)), 1e-6)
        covariates = np.concatenate([features, logs[:, None], liked[:, None]], axis=1).astype(np.float32)
        firm = CONSTANTS.precision * np.sqrt(1 + len(interactions.strength))
        return cls(interactions, fixed(tiles(covariates)), np.full(covariates.shape[1], firm, dtype=np.float32))

    def scores(self, histories: Ratings) -> Floats:
        """log P of every item for every user."""
        scores = self.interactions.log_expectations(histories)
        fit = chosen(histories.n_users, few_users.fit_logit_rows, fit_logit_rows)
        fit(scores, histories.indptr, histories.item_index, self.covariates, self.precision, CONSTANTS.newton_steps)
        return scores

    def _covariates_of(self, items: Indices) -> Doubles:
        tile = self.covariates.shape[2]
        return self.covariates[items // tile, :, items % tile].astype(np.float64)

    def on_device(self, device: str) -> LogitOnDevice:
        """The same by torch, for very many users."""
        share, model = self.interactions.share, self.interactions
        columns = self.covariates.transpose(0, 2, 1).reshape(-1, len(self.precision))[: len(share)]
        arrays = LogitArrays(
            share=share,
            rows=model.rows,
            inward=model.from_all,
            outward=model.outward,
            strength=model.strength,
            features=columns,
            precision=self.precision,
            interaction_variance=CONSTANTS.interaction_variance,
            popularity_floor=FLOOR,
            part_of_weights=CONSTANTS.part_of_weights,
            neighbour_weights=None if model.neighbour_weights is None else model.neighbour_weights.turned,
            steps=CONSTANTS.newton_steps,
        )
        return LogitOnDevice(arrays, device)

    def shares(self, history: History, items: Indices) -> Floats:
        """What each rating of a history adds to the score of each of ``items``, to first order: items by ratings.

        A rating moves b through the factors, and η through the features in which its item differs from what was
        expected: ∂ log b_i, and a Newton step from η = 0, are both sums over the rated items.
        """
        alone = Ratings.of_history(history)
        logs, ratio = (found[0] for found in self.interactions.log_expectations_and_ratio(alone))
        share = np.zeros(self.covariates[:, 0].shape, dtype=np.float32)
        share.ravel()[: len(logs)] = np.exp(logs - logs.max())
        share /= share.sum()
        mean, second = few_users.moments(self.covariates, share, np.empty_like(self.covariates))
        own, asked = self._covariates_of(history.items) - mean, self._covariates_of(items) - mean
        hessian = len(own) * (second - np.outer(mean, mean)) + np.diag(self.precision)
        added = np.linalg.solve(hessian, asked.T).T @ own.T
        place, places = self.interactions.place[items], self.interactions.place[history.items]
        if len(self.interactions.rows) > 0:
            pull = len(own) * self.interactions.strength
            pull = pull / (pull + CONSTANTS.interaction_variance)
            moved = (self.interactions.outward[place] * pull) @ self.interactions.inward[places].T
            both = (place >= 0)[:, None] & (places >= 0)
            moved = np.where(both, moved, 0)
            if self.interactions.neighbour_weights is not None:
                by_weights = np.stack(
                    [self.interactions.neighbour_weights.to_all(item)[history.items] for item in items]
                )
                moved = mixed(moved, ratio * by_weights, PART)
            added += moved / np.exp(logs[items])[:, None]
        return np.asarray(added, dtype=np.float32)


# ── What does not depend on a user ──


@dataclass(frozen=True, eq=False)
class Prepared:
    """What does not depend on a user.

    Parameters
    ----------
    release
        The release.
    features
        The public ones of its items, for rankings.
    make_regression
        Makes that for ratings.
    """

    release: Release
    features: Floats
    make_regression: Callable[[], UserRegression]

    @cached_property
    def ranking(self) -> ConditionalLogit:
        """For rankings."""
        arrays, catalogue = self.release.arrays, self.release.catalogue
        liked = (arrays["item_bias"] * (4 / catalogue.scale.width)).astype(np.float32)
        known = arrays["counts"], arrays["taste_factors"], NeighbourWeights.of(arrays)
        # A coefficient that is held m times as tightly is one of a feature that is √m times as small.
        smaller = np.sqrt(arrays["feature_precision"][0]) if "feature_precision" in arrays else np.float32(1)
        return ConditionalLogit.of(InteractionModel.of(*known), liked, self.features / smaller)

    @cached_property
    def ranking_by_torch(self) -> LogitOnDevice:
        """For rankings of very many users."""
        return self.ranking.on_device(best_device())

    @cached_property
    def regression(self) -> UserRegression:
        """For ratings."""
        return self.make_regression()
