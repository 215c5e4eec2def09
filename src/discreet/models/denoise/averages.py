"""What is known of every item by itself: how it is rated on average, how surely, and how often."""

from dataclasses import dataclass

import numpy as np

from discreet.models.home.user_regression import UserRegression
from discreet.types import AnyArray, Doubles, Floats, Indices

TINY = 1e-9
"""Keeps divisions possible where nothing was counted."""


@dataclass(frozen=True, eq=False)
class Averages:
    """Of every item: expected rating, its posterior variance (that of factors included), and count."""

    base: Floats
    unknown: Doubles
    counts: Doubles
    listed: Indices

    @property
    def share(self) -> Doubles:
        """Of all ratings."""
        return np.asarray(self.counts / max(float(self.counts.sum()), TINY))

    def followed(self, spread: float) -> Doubles:
        """h / (1 − h), h how far the expectation of each item follows one of its ratings: (1 − v/t²)/n.

        v is what is not known of it, and t² the variance of items, at least ``spread``.
        """
        known = 1 - self.unknown / max(spread, float(self.unknown.max(initial=0.0)))
        h = np.clip(known / np.maximum(self.counts, 1), 0, 0.5)
        return np.asarray(h / (1 - h))

    def at_home(
        self, features: AnyArray, factors: AnyArray, width: float, scales: Floats | None = None
    ) -> UserRegression:
        """Users' own regressions, with priors of these scales."""
        return covariates(self.base, self.unknown, self.counts, features, factors, width, scales)

    @property
    def arrays(self) -> dict[str, AnyArray]:
        """What a release has of them."""
        mean = float(self.base @ self.counts / max(self.counts.sum(), TINY))
        return {
            "mean": np.array([mean], dtype=np.float32),
            "item_bias": (self.base - mean).astype(np.float32),
            "unknown": self.unknown.astype(np.float32),
            "counts": self.counts.astype(np.float32),
        }


def covariates(
    base: AnyArray,
    unknown: AnyArray,
    counts: AnyArray,
    features: AnyArray,
    factors: AnyArray,
    width: float,
    scales: Floats | None = None,
) -> UserRegression:
    """What users' own regressions need, the item factors last."""
    return UserRegression.of(
        np.asarray(base, dtype=np.float32),
        np.asarray(unknown, dtype=np.float32),
        np.asarray(counts, dtype=np.float32),
        np.asarray(features, dtype=np.float32),
        np.asarray(factors, dtype=np.float32),
        width,
        scales,
    )
