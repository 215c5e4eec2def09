"""Conditional logits of many users at once: each is a small concave problem with an offset for every item.

Row ``u`` has rated the items H, n of them, and has an offset log b_u for all items. It finds::

    η  =  argmax  Σ_{i ∈ H} ηᵀf_i  −  n log Σ_i exp(log b_ui + ηᵀf_i)  −  ½ ηᵀ diag(precision) η

by Newton steps. With p_i ∝ b_ui exp(ηᵀf_i) the gradient is Σ_H f_i − n E_p f − precision η, and the Hessian is minus
n Cov_p f + diag(precision). A step whose squared length in the norm of the Hessian exceeds n is shortened to n: beyond
that the quadratic approximation of the log-sum-exp is poor.

Items are processed in tiles whose features fit into the processor's cache. No more than a row of items is held for a
user.
"""

from typing import Any

import numpy as np

from discreet.kernels.compiling import njit, prange
from discreet.kernels.ridge import REORDER, cholesky, substitute
from discreet.types import Floats, Indices, Offsets

TILE = 512  # items at once: a row of 2 KB for each feature
FOUR = 4  # sums that are made at once, so that none waits for another


def mixed(by_factors: Any, by_weights: Any, part: Any) -> Any:
    """What factors expect, with a part of what item-item weights expect: arrays of numpy and tensors alike.

    >>> mixed(1.0, 3.0, 0.25)
    1.5
    """
    return by_factors + part * (by_weights - by_factors)


def tiles(features: Floats) -> Floats:
    """Features (items by features) as the kernel walks them: tiles by features by items, the last filled with 0.

    >>> tiles(np.ones((3, 2), dtype=np.float32)).shape
    (1, 2, 512)
    """
    items, width = features.shape
    count = max(1, -(-items // TILE))
    filled = np.zeros((count * TILE, width), dtype=np.float32)
    filled[:items] = features
    return np.ascontiguousarray(filled.reshape(count, TILE, width).transpose(0, 2, 1))


@njit(cache=True, parallel=True, fastmath=REORDER)
def fit_logit_rows(
    scores: Floats, indptr: Offsets, items: Indices, features: Floats, precision: Floats, steps: int
) -> Floats:
    """Add ηᵀf to every row of ``scores``, which holds log b; returns η, users by features.

    Parameters
    ----------
    scores
        log b, users by items; overwritten.
    indptr, items
        What each user rated.
    features
        As :func:`tiles` made them.
    precision
        Prior precision of each coefficient.
    steps
        How many Newton steps.
    """
    found = np.zeros((len(scores), features.shape[1]), dtype=np.float32)
    for u in prange(len(scores)):
        first, last = indptr[u], indptr[u + 1]
        if first < last:
            _fit_row(scores[u], items[first:last], features, precision, steps, found[u])
    return found


@njit(cache=True, fastmath=REORDER)
def _fit_row(row: Floats, rated: Indices, features: Floats, precision: Floats, steps: int, eta: Floats) -> None:
    """The problem of one user: ``eta`` is 0 at first."""
    count, width, _ = features.shape
    n = np.float32(len(rated))
    target = np.zeros(width, dtype=np.float32)
    for item in rated:
        tile = features[item // TILE]
        for k in range(width):
            target[k] += tile[k, item % TILE]
    own, weighted = np.zeros(TILE, dtype=np.float32), np.zeros(TILE, dtype=np.float32)
    mean, step = np.zeros(width, dtype=np.float32), np.zeros(width, dtype=np.float32)
    gram = np.zeros((width, width), dtype=np.float32)
    for _ in range(steps):
        highest = np.float32(-np.inf)
        for t in range(count):
            _logits(row, t, features[t], eta, own)
            for i in range(TILE):
                highest = max(highest, own[i])
        mean[:] = 0
        gram[:] = 0
        total = np.float32(0)
        for t in range(count):
            _logits(row, t, features[t], eta, own)
            for i in range(TILE):
                own[i] = np.exp(own[i] - highest)
            part = np.float32(0)
            for i in range(TILE):
                part += own[i]
            total += part
            _add_moments(features[t], own, weighted, mean, gram)
        for a in range(width):
            mean[a] /= total
        for a in range(width):
            for b in range(a + 1):
                gram[a, b] = n * (gram[a, b] / total - mean[a] * mean[b])
            gram[a, a] += precision[a]
            step[a] = target[a] - n * mean[a] - precision[a] * eta[a]
        length = _newton(gram, step)
        shorter = np.float32(1) / max(np.float32(1), np.sqrt(length / n))
        for k in range(width):
            eta[k] += shorter * step[k]
    for t in range(count):
        _logits(row, t, features[t], eta, own)
        for i in range(min(TILE, len(row) - t * TILE)):
            row[t * TILE + i] = own[i]


@njit(cache=True, fastmath=REORDER)
def _logits(row: Floats, t: int, tile: Floats, eta: Floats, own: Floats) -> None:
    """``own`` becomes log b + ηᵀf over one tile, and −∞ past the last item."""
    start = t * TILE
    here = min(TILE, len(row) - start)
    for i in range(here):
        own[i] = row[start + i]
    for k in range(len(eta)):
        coefficient, column = eta[k], tile[k]
        for i in range(TILE):
            own[i] += coefficient * column[i]
    for i in range(here, TILE):
        own[i] = -np.inf


@njit(cache=True, fastmath=REORDER)
def _add_moments(tile: Floats, own: Floats, weighted: Floats, mean: Floats, gram: Floats) -> None:
    """Add Σ p f to ``mean`` and Σ p f fᵀ (lower triangle) to ``gram``."""
    width = len(mean)
    for a in range(width):
        column = tile[a]
        part = np.float32(0)
        for i in range(TILE):
            weighted[i] = own[i] * column[i]
            part += weighted[i]
        mean[a] += part
        b = 0
        while b + FOUR <= a + 1:
            c0, c1, c2, c3 = tile[b], tile[b + 1], tile[b + 2], tile[b + 3]
            s0, s1, s2, s3 = np.float32(0), np.float32(0), np.float32(0), np.float32(0)
            for i in range(TILE):
                w = weighted[i]
                s0 += w * c0[i]
                s1 += w * c1[i]
                s2 += w * c2[i]
                s3 += w * c3[i]
            gram[a, b] += s0
            gram[a, b + 1] += s1
            gram[a, b + 2] += s2
            gram[a, b + 3] += s3
            b += FOUR
        while b <= a:
            other = tile[b]
            s0 = np.float32(0)
            for i in range(TILE):
                s0 += weighted[i] * other[i]
            gram[a, b] += s0
            b += 1


@njit(cache=True, fastmath=REORDER)
def _newton(gram: Floats, step: Floats) -> float:
    """``step`` becomes gram⁻¹ step; returns its squared length by the measure of ``gram``, which is overwritten."""
    gradient = step.copy()
    cholesky(gram)
    substitute(gram, step)
    length = np.float32(0)
    for k in range(len(step)):
        length += gradient[k] * step[k]
    return float(max(length, np.float32(0)))
