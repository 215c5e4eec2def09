"""What an audit sees of a published V̄: an answer that no sum with noise explains."""

import numpy as np

from discreet.audit.recording import Look
from discreet.data.ratings import Ratings
from discreet.populations.contribution import Contribution
from discreet.privacy.spend import Spend
from discreet.types import AnyArray


def looks_at(factors: AnyArray, epsilon: float | None, largest: float) -> tuple[Look, ...]:
    """The item factors; the line is what Theorem 4 claims of them: a rating moves the noise by Δ, of scale Δ/ε."""
    if epsilon is None:
        return ()

    def nothing(ratings: Ratings) -> AnyArray:
        return np.zeros(factors.shape)

    what = "item factors of a noisy objective"
    spend = Spend(what=what, mechanism="pure", norm="l2", sensitivity=largest, scale=largest / epsilon)
    asked = Contribution(what, factors.shape, nothing)
    return (Look(asked, np.array(factors, dtype=np.float64), "other", 1.0, (spend,)),)
