"""What another release says of the items of a catalogue: public, like genres, once that release is out."""

from dataclasses import dataclass

import numpy as np

from discreet.types import Booleans, Doubles, Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class ItemPrior:
    """Columns about the items of one catalogue, taken from another release; zeros where an item is not in it.

    Parameters
    ----------
    matched
        Which items the other release knows.
    counts
        How often each was rated there, in any unit.
    base
        Its expected rating there, on the scale of this catalogue; None where that release predicts none.
    factors, tastes
        Its factors of ratings and of who rates what; no columns where there are none.
    sums, sums_noise, sums_kind
        Its noisy counts and sums of ratings, their standard deviations, and how users are weighted in them: for a
        release of the same people these are averaged with what is asked anew. None where it holds none.
    prior_scales
        How wide priors at home are there; None where it does not say.
    sentence
        What a guarantee has to say about it.
    """

    matched: Booleans
    counts: Floats
    base: Floats | None
    factors: Floats
    tastes: Floats
    sums: Doubles | None
    sums_noise: Doubles | None
    sums_kind: Floats | None
    prior_scales: Floats | None = None
    sentence: str

    def __post_init__(self) -> None:
        for column in (self.matched, self.counts, self.base, self.factors, self.tastes, self.sums, self.sums_noise):
            if column is not None:
                np.asarray(column).setflags(write=False)
