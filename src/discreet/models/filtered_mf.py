"""Matrix factorisation by noisy steps in which every user takes part as long as their own budget lasts.

    expected rating  =  base_j + b_i + u_iᵀv_j      u_i and b_i are solved at home, anew in each step, by ridge

    In each step a user adds, for each rated item j with the residual e_ij,   (c, e_ij, e_ij·u_i),
    all of it together no longer than C; and out of the noisy sums (c·n_j, s_j, g_j), of deviation σ,

        gain_j = P_j n_j / (P_j n_j² + r² n_j + σ²)         what is known of base_j has variance P_j (Kalman's filter)
        base_j ← base_j + gain_j s_j       v_j ← v_j + gain_j g_j       P_j ← (1 − gain_j n_j) P_j

    where n_j is the mean of the noisy counts of all steps so far, and r is how far ratings lie from what is expected.

Users whose rows are shorter than C pay less in each step, and so last for more of them
(:mod:`~discreet.models.sums.filtered_sums`, with the proof). With privacy levels everybody lasts as long as the budget
of their own level allows.

**Guarantee.** For a user, present or absent: the release is made of the noisy sums of one mechanism, which is booked
with the μ that the filter keeps for everybody. Users' vectors are solved at home from the released items.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from discreet.data.ratings import Ratings
from discreet.errors import require_kinds, require_settings
from discreet.models.home.fold_in import fold_in, predict_pairs, with_ones
from discreet.models.home.item_arrays import ITEM_BIAS, MEAN
from discreet.models.sums.item_statistics import expected_rating
from discreet.populations.asking import check_population
from discreet.populations.population import Population
from discreet.releases.declared import Array
from discreet.releases.release import Release
from discreet.types import AnyArray, Doubles, Floats, Indices, Progress, no_progress


@dataclass(frozen=True, kw_only=True)
class FilteredMF:
    """Item biases and factors by noisy steps, with an individual budget for every user.

    Parameters
    ----------
    factors
        Length of the item vectors beside the bias; each makes rows longer, and noise weigh more.
    steps
        How many.
    lasting
        How many steps a user lasts whose rows have the full length.
    clip
        The C above, in half widths of the scale.
    count
        The c above, in half widths of the scale: what tells how often an item was rated, beside how well.
    home_penalty
        At home: ratings at the mean that every user is imagined to have given.
    residual, spread
        How far ratings lie from what is expected, the r above, and an item's base from 0 before anything is known, in
        half widths of the scale.
    largest
        Of a user's own factors and of residuals, in half widths of the scale.
    seed
        Of the initial factors. Public.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=200, items=100, ratings=5000, seed=1)
    >>> ledger = dc.Ledger(2.0, 1e-6, dc.User())
    >>> release = dc.FilteredMF().fit(dc.TrustedServer(ratings, ledger))
    >>> release.arrays["item_factors"].shape, round(ledger.spent, 3)
    ((100, 1), 2.0)
    """

    factors: int = 0
    steps: int = 8
    lasting: float = 4.0
    clip: float = 5.0
    count: float = 0.5
    home_penalty: float = 10.0
    residual: float = 0.47
    spread: float = 0.3
    largest: float = 2.0
    seed: int = 0

    def __post_init__(self) -> None:
        require_settings(self, "factors", least=0)
        require_settings(self, "steps", "lasting", least=1)
        require_settings(self, "clip", "count", "home_penalty", "residual", "spread", "largest", above=0)
        require_kinds(self)

    def fit(self, population: Population, progress: Progress = no_progress) -> Release:
        """Run the steps where the ratings are."""
        from discreet.models.sums.filtered_sums import FilteredSums

        check_population(self, population)
        catalogue = population.catalogue
        half, centre = catalogue.scale.width / 2, expected_rating(catalogue.scale)
        size, start = len(catalogue), np.zeros((len(catalogue), self.factors + 3))
        start[:, 2] = self.spread**2
        start[:, 3:] = np.random.default_rng(self.seed).normal(0, 0.1, (size, self.factors))
        asked = FilteredSums(
            name="residuals of ratings, while users last",
            start=start,
            channels=self.factors + 2,
            rows=lambda ratings, known: self._rows(ratings, known, centre, half),
            update=self._update,
            steps=self.steps,
            clip=self.clip,
            lasting=min(self.lasting, self.steps),
        )
        known = population.run(asked)["known"]
        arrays: dict[str, AnyArray] = {
            "mean": np.array([centre], dtype=np.float32),
            "item_bias": (known[:, 1] * half).astype(np.float32),
            "item_factors": with_ones((known[:, 3:] * half).astype(np.float32)),
        }
        progress(1, 1, "steps")
        return Release.of(self, population, arrays)

    def _rows(self, ratings: Ratings, known: Doubles, centre: float, half: float) -> Doubles:
        base = (centre + known[:, 1] * half).astype(np.float32)
        factors = with_ones((known[:, 3:] * half).astype(np.float32))
        own = self._home(ratings, factors, base)
        expected = predict_pairs(own, factors, base, ratings.user_index, ratings.item_index)
        left = np.clip((ratings.values - expected) / half, -self.largest, self.largest)
        taste = np.clip(own[:, : self.factors], -self.largest, self.largest)[ratings.user_index]
        return np.concatenate([np.full((len(left), 1), self.count), left[:, None], left[:, None] * taste], axis=1)

    def _update(self, known: Doubles, noisy: Doubles, step: int, deviation: float) -> Doubles:
        counts = (known[:, 0] * step + noisy[:, 0] / self.count) / (step + 1)
        n, unknown = np.maximum(counts, 0.0), known[:, 2]
        gain = unknown * n / (unknown * n**2 + self.residual**2 * n + deviation**2 + 1e-12)
        moved = np.clip(gain[:, None] * noisy[:, 1:], -1, 1)
        columns = [counts[:, None], known[:, 1:2] + moved[:, :1], ((1 - gain * n) * unknown)[:, None]]
        return np.concatenate([*columns, np.clip(known[:, 3:] + moved[:, 1:], -self.largest, self.largest)], axis=1)

    def _home(self, histories: Ratings, factors: Floats, base: Floats) -> Floats:
        none = np.zeros(factors.shape[1], dtype=np.float32)
        return fold_in(histories, factors, base, none, np.full(factors.shape[1], self.home_penalty, dtype=np.float32))

    def declared(self, names: Collection[str]) -> tuple[Array, ...]:
        """The arrays of a release."""
        return (MEAN, ITEM_BIAS, Array("item_factors", "float32", ("items", self.factors + 1)))

    def predict(self, release: Release, histories: Ratings, users: Indices, items: Indices) -> Floats:
        """Expected ratings, each user's own vector solved from their history."""
        base, factors = release.arrays["mean"][0] + release.arrays["item_bias"], release.arrays["item_factors"]
        return predict_pairs(self._home(histories, factors, base), factors, base, users, items)

    def score(self, release: Release, histories: Ratings) -> Floats:
        """Expected ratings of all items."""
        base, factors = release.arrays["mean"][0] + release.arrays["item_bias"], release.arrays["item_factors"]
        return np.asarray(base + self._home(histories, factors, base) @ factors.T, dtype=np.float32)
