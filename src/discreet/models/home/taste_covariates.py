"""What who rates what says of ratings: patterns of co-occurrence as covariates of a user's own regression.

People tend to like what is rated by those who rate what they like, so the patterns of who rates what
(:mod:`~discreet.models.denoise.co_occurrence`) serve where genres would, and beside them. With T the released taste
factors, whose first column is popularity,

    t_ik  =  T_ik / |T_i1|,    k = 2, 3, …                    0 for items without factors
    t_ik  ←  (t_ik − mean of column k) / deviation of column 2,    clipped to ±3

mean and deviation over ratings of items with factors. So a weaker pattern, which noise hides more of, also counts for
less. They are made of what is released already, so they cost no privacy.
"""

from dataclasses import dataclass

import numpy as np

from discreet.types import AnyArray, Booleans, Floats


@dataclass(frozen=True)
class _Constants:
    """Chosen on one split, with the seed 875, of small data of ``benchmarks/robust.py``."""

    most: int = 12
    """How many patterns at most: more cost users time, and changed next to nothing."""
    furthest: float = 3.0
    """Where covariates are clipped: the ratios of rare items are mostly noise."""


CONSTANTS = _Constants()


def taste_covariates(taste_factors: AnyArray, counts: AnyArray) -> Floats:
    """t above, items by patterns; no columns where nothing but popularity stands out."""
    factors = taste_factors[:, taste_factors.any(axis=0)][:, : 1 + CONSTANTS.most].astype(np.float64)
    listed: Booleans = np.asarray(factors.any(axis=1))
    share = np.where(listed, counts, 0).astype(np.float64)
    if factors.shape[1] < 2 or not share.any():
        return np.zeros((len(counts), 0), dtype=np.float32)
    share /= share.sum()
    popularity = np.abs(factors[:, :1])
    ratios = np.divide(factors[:, 1:], popularity, out=np.zeros_like(factors[:, 1:]), where=popularity > 0)
    centred = np.where(listed[:, None], ratios - share @ ratios, 0.0)
    deviation = max(float(np.sqrt(share @ centred[:, 0] ** 2)), 1e-9)
    return np.clip(centred / deviation, -CONSTANTS.furthest, CONSTANTS.furthest).astype(np.float32)
