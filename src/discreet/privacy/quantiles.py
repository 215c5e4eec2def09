"""Private counts, means and quantiles of numbers: for choosing a bound, or for a figure in a report.

Each takes an array with the numbers of all units, charges the ledger first and then answers. ``per_unit`` says
how many of the numbers one unit of the ledger may have given: 1 for one number a user at user level (how many
ratings each has, say) or for one a rating at rating level (2 where repeats were merged: one event more may replace a
merged rating). It must hold by construction, for instance by :func:`~discreet.privacy.bounding.keep_at_most`. Where
the ledger's neighbours replace a unit, all bounds count twice.
"""

import math

import numpy as np

from discreet.doors import checked
from discreet.errors import require
from discreet.privacy.ledger import Ledger
from discreet.privacy.noise import add_laplace, draw_discrete_laplace, grid_of
from discreet.privacy.randomness import Randomness
from discreet.privacy.selection import FLOAT_MARGIN, permute_and_flip, pure_share_of_all
from discreet.privacy.spend import MechanismName, Spend
from discreet.types import AnyArray, Doubles


@checked
def private_count(
    count: int,
    ledger: Ledger,
    share: float = 1.0,
    randomness: Randomness | None = None,
    *,
    per_unit: int = 1,
    what: str = "how many there are",
) -> int:
    """A count plus discrete Laplace noise; it may come out negative.

    **Guarantee.** A unit moves the count by at most ``per_unit``, and P(noise = x) ∝ exp(−|x|·ε/per_unit): pure ε.
    It is booked as such and not as Laplace noise: on a lattice as coarse as the count itself the loss takes its
    extreme values more often than that of continuous noise does.

    >>> ledger = Ledger(epsilon=1.0)
    >>> abs(private_count(1000, ledger) - 1000) < 100
    True
    >>> ledger.spent
    1.0
    """
    moves = _moves(per_unit, ledger)
    scale = moves / pure_share_of_all(ledger, share)
    source = _source(randomness)
    ledger.charge(_spend("pure", what, moves, scale, source))
    return int(count) + int(draw_discrete_laplace(scale, 1, source)[0])


@checked
def private_mean(
    values: AnyArray,
    low: float,
    high: float,
    ledger: Ledger,
    share: float = 1.0,
    randomness: Randomness | None = None,
    *,
    per_unit: int = 1,
    what: str = "mean",
) -> float:
    """The mean of numbers that are clipped to a public range.

    **Guarantee.** Released are two noisy numbers, the count and the sum of x = (value − middle)/half width, which lies
    within ±1: a unit moves them together by at most 2·``per_unit`` in L1. Their ratio is post-processing; it is
    shrunk towards the middle of the range where the count is within its noise.

    >>> ledger = Ledger(epsilon=1.0)
    >>> mean = private_mean(np.full(10_000, 4.0), 1, 5, ledger)
    >>> abs(mean - 4) < 0.1, ledger.spent
    (True, 1.0)
    """
    from discreet.privacy.bounding import centre

    moves = 2 * _moves(per_unit, ledger) * (1 + FLOAT_MARGIN)
    epsilon = pure_share_of_all(ledger, share)
    source = _source(randomness)
    grid = grid_of(moves / epsilon)
    moves += 2 * _moves(per_unit, ledger) * grid  # what rounding to the lattice adds
    ledger.charge(_spend("laplace", f"{what}: count and sum", moves, moves / epsilon, source))
    exact = np.array([np.size(values), np.nan_to_num(centre(values, low, high)).sum()])
    count, total = add_laplace(exact, moves / epsilon, grid, source)
    return (low + high) / 2 + (high - low) / 2 * float(np.clip(total / max(count, moves / epsilon, 1.0), -1, 1))


@checked
def private_quantile(
    values: AnyArray,
    quantile: float,
    grid: AnyArray,
    ledger: Ledger,
    share: float = 1.0,
    randomness: Randomness | None = None,
    *,
    per_unit: int = 1,
    what: str = "quantile",
) -> float:
    """A point of a public grid near a quantile of the numbers.

    Of n numbers qn should lie below the point c: its score is minus the larger of 0, #{x < c} − qn and
    qn − #{x ≤ c}, that is 0 at the q-quantile and one less for each number that lies between.

    **Guarantee.** Adding a number moves either count by 0 or 1 and qn by q, so either difference by q or 1 − q, and the
    larger of several by no more than the one that moves most: each score by at most max(q, 1 − q), one way at some
    points and the other way at others. The point is chosen by permute and flip: pure ε (see
    :mod:`discreet.privacy.selection`).

    >>> ledger = Ledger(epsilon=1.0)
    >>> private_quantile(np.arange(10_000) % 100, 0.9, np.arange(0, 200, 10), ledger)
    90.0
    """
    points = np.asarray(grid, dtype=np.float64)
    require(0 < quantile < 1, f"a quantile lies between 0 and 1, got {quantile}")
    require(
        points.ndim == 1 and len(points) > 0 and bool(np.isfinite(points).all()),
        "the grid of a quantile must be a list of finite points",
    )
    apart = 2 * _moves(per_unit, ledger) * max(quantile, 1 - quantile) * (1 + FLOAT_MARGIN)
    epsilon = pure_share_of_all(ledger, share)
    source = _source(randomness)
    ledger.charge(_spend("pure", what, apart, apart / epsilon, source))
    return float(points[permute_and_flip(_balance(values, quantile, points), epsilon / apart, source)])


def _balance(values: AnyArray, quantile: float, points: Doubles) -> Doubles:
    ordered = np.sort(np.ravel(values))
    below = np.searchsorted(ordered, points, side="left")
    at_most = np.searchsorted(ordered, points, side="right")
    rank = quantile * len(ordered)
    return np.asarray(-np.maximum(np.maximum(below - rank, rank - at_most), 0.0), dtype=np.float64)


def _moves(per_unit: int, ledger: Ledger) -> int:
    require(per_unit >= 1, f"per_unit must be at least 1, got {per_unit}")
    return per_unit * (2 if ledger.unit.neighbours == "replace" else 1)


def _spend(mechanism: MechanismName, what: str, moves: float, scale: float, source: Randomness) -> Spend:
    require(math.isfinite(scale), "the share of the ledger is too small for any noise")
    return Spend(
        what=what,
        mechanism=mechanism,
        norm="l1",
        sensitivity=moves,
        scale=scale,
        seeded=source.is_seeded,
    )


def _source(randomness: Randomness | None) -> Randomness:
    return Randomness() if randomness is None else randomness
