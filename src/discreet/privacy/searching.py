"""The least noise that is enough: a root of scipy's, and then a step to the safe side."""

import math
from collections.abc import Callable
from functools import cache

from discreet.errors import InputError, library_for

TOLERANCE = 1e-4
_MOST = 40 * math.log(2)  # of the logarithm of noise
_STEP = 0.03  # of the first step to either side, which doubles: a good guess is paid for with few evaluations


def least_noise(cost: Callable[[float], float], guess: float = 1.0, tolerance: float = TOLERANCE) -> float:
    """The least noise at which a falling cost is at most 1, to one part in ``1 / tolerance``; never less.

    Where even very little noise is enough, that; where no amount is, :class:`~discreet.InputError` is raised.

    >>> noise = least_noise(lambda noise: 3 / noise)
    >>> 3 <= noise <= 3 * (1 + TOLERANCE)
    True
    """

    with library_for("finding how much noise is needed"):
        from scipy.optimize import brentq

    @cache
    def excess(place: float) -> float:
        found = cost(math.exp(place))
        return min(max(math.log(found), -50.0), 50.0) if found > 0 else -50.0

    low = high = math.log(guess)
    step = _STEP
    while excess(high) > 0:
        low, high, step = high, high + step, 2 * step
        if high > _MOST:
            raise InputError("no amount of noise is enough")
    while excess(low) <= 0:
        low, high, step = low - step, low, 2 * step
        if low < -_MOST:
            return math.exp(high)
    place = float(brentq(excess, low, high, xtol=tolerance / 4, rtol=1e-15)) + tolerance / 4
    while place < high and excess(place) > 0:  # a cost that is computed in steps may still be above
        place += tolerance / 4
    return math.exp(min(place, high))
