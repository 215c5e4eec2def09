"""What can still be spent of a limit: how large one more fit can be, and how many more there can be."""

import math
from bisect import bisect
from collections.abc import Sequence
from dataclasses import replace

from discreet.errors import InputError, require
from discreet.privacy.composition import Filter, composed_epsilon
from discreet.privacy.ledger import ROUNDING
from discreet.privacy.searching import least_noise
from discreet.privacy.spend import Spend

MOST_FITS = 10**9


def greatest_epsilon(used: Filter, spends: Sequence[Spend], price: int, delta: float, fits: int = 1) -> float:
    """The greatest epsilon, at ``delta``, of each of so many fits with these spends that are still allowed, one after
    another, all noise scaled alike.

    ``price`` is how many units of the fit's own kind change where one of the account does.
    """
    limit, sampled = _limit(used), any(spend.sampling_rate < 1 for spend in spends)
    require(fits >= 1, f"the number of fits must be at least 1, got {fits}")
    require(
        fits == 1 or not sampled,
        "the last fit drew samples of the users: how many more such fits there can be is said fit by fit",
    )
    if fits == 1 and not used.switched and all(spend.mechanism != "gaussian" for spend in spends) and not sampled:
        return max(0.0, limit - used.pure) / price

    def scaled(noise: float) -> list[Spend]:
        return [replace(spend, scale=spend.scale * noise) for spend in spends]

    def share(noise: float) -> float:
        once = scaled(noise)
        if fits == 1:
            return _share(used, once, price)
        after_one = used.after([spend.for_group(price) for spend in once])
        return _share(after_one, [replace(spend, times=spend.times * (fits - 1)) for spend in once], price)

    try:
        # Distributions of the loss are slow to compose, and known to two digits only.
        noise = least_noise(share, tolerance=1e-2 if sampled else 1e-9)
    except InputError:
        return 0.0
    return composed_epsilon(scaled(noise), delta)


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

    most = 1
    while most < MOST_FITS and allowed(most):
        most *= 2
    return 1 + bisect(range(1, most), False, key=lambda fits: not allowed(fits))


def _accepts(used: Filter, spends: Sequence[Spend], price: int) -> bool:
    return _share(used, spends, price) <= 1


def _share(used: Filter, spends: Sequence[Spend], price: int) -> float:
    """What would be spent with these, as a share of the limit."""
    limit = _limit(used) * (1 + ROUNDING)
    spent = used.after([spend.for_group(price) for spend in spends]).spent
    return spent / limit if limit > 0 else math.inf if spent > 0 else 0.0


def _limit(used: Filter) -> float:
    require(used.epsilon is not None, "without a limit there is no telling what is left of it")
    assert used.epsilon is not None
    return used.epsilon
