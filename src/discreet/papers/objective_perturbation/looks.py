"""What an audit sees of a published V: an answer that no sum with noise explains."""

import numpy as np

from discreet.audit.recording import Look
from discreet.data.ratings import Ratings
from discreet.populations.contribution import Contribution
from discreet.privacy.spend import Spend
from discreet.types import AnyArray


def look_at(factors: AnyArray, epsilon: float, width: float) -> Look:
    """The item factors; the line is what Theorem 1 claims of them: a value moves the noise by 2Δ, of scale 2Δ/ε."""

    def nothing(ratings: Ratings) -> AnyArray:
        return np.zeros(factors.shape)

    what = "item factors of a noisy objective"
    spend = Spend(what=what, mechanism="pure", norm="l2", sensitivity=2 * width, scale=2 * width / epsilon)
    asked = Contribution(what, factors.shape, nothing)
    return Look(asked, np.array(factors, dtype=np.float64), "other", 1.0, (spend,))
