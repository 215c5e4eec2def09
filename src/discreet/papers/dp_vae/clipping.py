"""Clipping bounds: constant, or the paper's Optimal_Clip (Algorithm 2) on the norms of a batch.

    (20)  H(S) = mean over users k of  l √(2/π) √(2 ln(1.25/δ_k)) S/ε_k
                 + mean over samples j of  E|g̃_k − ḡ_kj| + |g_kj|₁/‖g_kj‖₂ · max(0, ‖g_kj‖₂ − S)

With one sample a user (the whole row) g̃_k = ḡ_k1, and the middle term is 0. Candidates are the norms of the batch, from
the largest to the smallest; the search halves the list and looks at three neighbours.
"""

from collections.abc import Callable

import numpy as np

from discreet.papers.dp_vae.privacy import multiplier
from discreet.types import AnyArray, Doubles


def expected_error(
    norms: AnyArray, sums: AnyArray, epsilons: AnyArray, delta: float, count: int
) -> Callable[[float], float]:
    """H, for users with gradients of these lengths and sums of absolute values, one sample each.

    >>> error = expected_error(np.array([2.0]), np.array([3.0]), np.array([1.0]), 1.25e-5, count=4)
    >>> round(error(0.0), 6), error(2.0) > error(1.0)
    (3.0, True)
    """
    norms, sums = np.asarray(norms, dtype=np.float64), np.asarray(sums, dtype=np.float64)
    noise = count * np.sqrt(2 / np.pi) * multiplier(delta) / np.asarray(epsilons, dtype=np.float64)
    shape = np.divide(sums, norms, out=np.zeros_like(sums), where=norms > 0)

    def error(bound: float) -> float:
        return float(np.mean(noise * bound + shape * np.maximum(0, norms - bound)))

    return error


def optimal_clip(norms: AnyArray, error: Callable[[float], float]) -> float:
    """Algorithm 2: the norm on the list at which the bisection ends.

    Its list may run out of three neighbours, of which the algorithm says nothing: then the best of what is left.

    >>> optimal_clip(np.array([4.0, 1.0, 3.0, 2.0, 5.0]), lambda bound: bound)
    1.0
    >>> optimal_clip(np.array([4.0, 1.0, 3.0, 2.0, 5.0]), lambda bound: (bound - 4) ** 2)
    4.0
    """
    left: Doubles = np.sort(np.asarray(norms, dtype=np.float64))[::-1]
    while len(left) > 2:
        middle = len(left) // 2
        before, here, after = (error(float(bound)) for bound in left[middle - 1 : middle + 2])
        if here <= before and here <= after:
            return float(left[middle])
        left = left[middle + 1 :] if after <= here <= before else left[:middle]
    return float(min(left, key=lambda bound: error(float(bound))))
