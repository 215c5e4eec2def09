"""What an audit sees of published weights: an answer that no sum with noise explains."""

import numpy as np

from discreet.audit.recording import Look
from discreet.data.ratings import Ratings
from discreet.papers.dp_vae.privacy import multiplier
from discreet.populations.contribution import Contribution
from discreet.privacy.spend import Spend
from discreet.types import AnyArray


def looks_at(weights: AnyArray, epsilon: float | None, delta: float, clip: float) -> tuple[Look, ...]:
    """The constants of the last layer; the line is what Theorem 4 claims: deviation √(2 ln(1.25/δ)) S/ε."""
    if epsilon is None:
        return ()

    def nothing(ratings: Ratings) -> AnyArray:
        return np.zeros(weights.shape)

    what = "weights trained with noise"
    scale = multiplier(delta) * clip / epsilon
    spend = Spend(what=what, mechanism="gaussian", norm="l2", sensitivity=clip, scale=scale)
    asked = Contribution(what, weights.shape, nothing)
    return (Look(asked, np.array(weights, dtype=np.float64), "other", 1.0, (spend,)),)
