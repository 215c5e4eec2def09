"""What an audit sees of a publication that no sum with noise explains: the answer, and what the paper claims of it."""

import numpy as np

from discreet.audit.recording import Look
from discreet.data.ratings import Ratings
from discreet.populations.contribution import Contribution
from discreet.privacy.spend import MechanismName, Spend
from discreet.types import AnyArray


def look_at(
    answer: AnyArray, what: str, *, sensitivity: float, scale: float, mechanism: MechanismName = "pure"
) -> tuple[Look, ...]:
    """One look, with the line that the paper has for it."""

    def nothing(ratings: Ratings) -> AnyArray:
        return np.zeros(answer.shape)

    spend = Spend(what=what, mechanism=mechanism, norm="l2", sensitivity=sensitivity, scale=scale)
    asked = Contribution(what, answer.shape, nothing)
    return (Look(asked, np.array(answer, dtype=np.float64), "other", 1.0, (spend,)),)
