"""What can still be spent of a limit: how large one more fit can be, and how many more there can be."""

import math
from collections.abc import Sequence
from dataclasses import replace

from discreet.errors import require
from discreet.privacy.composition import Filter, composed_epsilon
from discreet.privacy.ledger import ROUNDING
from discreet.privacy.spend import Spend

MOST_FITS = 10**9
_MOST_NOISE = 2.0**40


def greatest_epsilon(used: Filter, spends: Sequence[Spend], price: int, delta: float) -> float:
    """The greatest epsilon, at ``delta``, of a fit with these spends that is still allowed, all noise scaled alike.

    ``price`` is how many units of the fit's own kind change where one of the account does.
    """
    limit = _limit(used)
    if not used.switched and all(spend.mechanism != "gaussian" and spend.sampling_rate == 1 for spend in spends):
        return max(0.0, limit - used.pure) / price

    def scaled(noise: float) -> list[Spend]:
        return [replace(spend, scale=spend.scale * noise) for spend in spends]

    def allowed(noise: float) -> bool:
        return _accepts(used, scaled(noise), price)

    low, high = 1.0, 1.0
    while not allowed(high):
        low, high = high, high * 2
        if high > _MOST_NOISE:
            return 0.0
    while allowed(low):
        low, high = low / 2, low
        if low < 1 / _MOST_NOISE:
            break
    # Distributions of the loss are slow to compose, and known to two digits only.
    tolerance = 1e-2 if any(spend.sampling_rate < 1 for spend in spends) else 1e-9
    while high / low - 1 > tolerance:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if allowed(middle) else (middle, high)
    return composed_epsilon(scaled(high), delta)


def how_often(used: Filter, spends: Sequence[Spend], price: int) -> int:
    """How many more fits with exactly these spends are allowed, one after another."""
    once = [spend.for_group(price) for spend in spends]
    if not _accepts(used, spends, price):
        return 0
    used = used.after(once)
    if any(spend.mechanism == "gaussian" and spend.sampling_rate < 1 for spend in once):
        fits = 1
        while _accepts(used, spends, price):  # each takes half of the delta that is left, so this ends soon
            used, fits = used.after(once), fits + 1
        return fits
    # After the first of them each counts the same, so many are one with so many times its looks.

    def allowed(fits: int) -> bool:
        return _accepts(used, [replace(spend, times=spend.times * fits) for spend in spends], price)

    low, high = 0, 1
    while high < MOST_FITS and allowed(high):
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if allowed(middle) else (low, middle)
    return 1 + low


def _accepts(used: Filter, spends: Sequence[Spend], price: int) -> bool:
    return used.after([spend.for_group(price) for spend in spends]).spent <= _limit(used) * (1 + ROUNDING)


def _limit(used: Filter) -> float:
    require(used.epsilon is not None, "without a limit there is no telling what is left of it")
    assert used.epsilon is not None
    return used.epsilon
