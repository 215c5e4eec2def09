"""How items are scaled before a factorisation: D_i = (n_i / mean count + ½ + ν)^−0.2."""

from dataclasses import dataclass

import numpy as np

from discreet.types import AnyArray, Doubles


@dataclass(frozen=True)
class _Constants:
    """Chosen on MovieLens 1M and on splits of MovieLens 100K with other seeds than those reported."""

    damping: float = 0.5
    """The ½ of D: keeps the scales of rarely rated items bounded."""
    power: float = 0.2
    """The 0.2 of D: weaker than the ½ that would make all items equal, which noise forbids."""


CONSTANTS = _Constants()


def item_scales(counts: AnyArray, noise: float = 0.0) -> Doubles:
    """D for counts of any unit; ``noise`` is ν, the variance of noise in units of that of sampling.

    >>> item_scales(np.array([0.5, 0.5])).tolist() == [1.5**-0.2] * 2
    True
    """
    relative = counts / max(float(counts.mean()), 1e-12)
    return np.asarray((relative + CONSTANTS.damping + noise) ** -CONSTANTS.power, dtype=np.float64)
