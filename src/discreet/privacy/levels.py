"""Privacy levels on offer: each has its own epsilon, and whoever chose it takes part with its weight.

Which levels there are is public. Who chose which is as private as the ratings.

**Guarantee.** A user of a level with weight w moves every weighted sum by w times its bound, and rounding
(:meth:`~discreet.privacy.spend.Spend.for_weight`). For neighbours that differ in a user of this level the looks are
therefore mechanisms with that smaller sensitivity, and everything that is proven of looks holds with it: what a plan
costs, or that a filter keeps a limit that was fixed before (:mod:`discreet.privacy.composition`). So each level has a
limit of its own, and a ledger refuses a look that would exceed any of them. A look to which no weights were applied
counts in full for everybody. ∎ Where neighbours replace a user, both have the same level: the choice of a level is then
not hidden.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from discreet.errors import require

MARGIN = 1e-3
"""By which weights below 1 are lowered: rounding to the lattice does not shrink with the weight."""


@dataclass(frozen=True, kw_only=True)
class Level:
    """What a user may choose.

    Parameters
    ----------
    name
        What it is called.
    epsilon
        What it may cost whoever chose it, at the delta of the ledger.
    weight
        By which everything is multiplied that they contribute.
    """

    name: str
    epsilon: float
    weight: float


def levels_on_offer(offers: Mapping[str, float], epsilon: float, delta: float) -> tuple[Level, ...]:
    """Levels by their epsilons, where the full weight costs ``epsilon`` at ``delta``.

    The weight is the one that suits Laplace noise or Gaussian noise, whichever is less.

    >>> [(level.name, round(level.weight, 3)) for level in levels_on_offer({"strict": 0.25, "normal": 1.0}, 1.0, 1e-6)]
    [('strict', 0.25), ('normal', 1.0)]
    """
    for name, own in offers.items():
        named = isinstance(name, str) and 0 < len(name.strip()) <= 100 and name.isprintable()
        require(named, f"a privacy level needs a name, got {name!r}")
        require(0 < own <= epsilon, f"the level {name!r} must have an epsilon in (0, {epsilon:g}], got {own}")
    if not offers:
        return ()
    import numpy as np

    from discreet.privacy.personal import weights_for

    epsilons = np.array(list(offers.values()), dtype=np.float64)
    weights = np.minimum(weights_for(epsilons, epsilon), weights_for(epsilons, epsilon, delta))
    weights = np.where(epsilons == epsilon, 1.0, weights * (1 - MARGIN))
    return tuple(
        Level(name=name, epsilon=float(own), weight=float(weight))
        for name, own, weight in zip(offers, epsilons, weights, strict=True)
    )
