"""One pass of WARP over all users: weighted approximate-rank pairwise loss, by sampled negatives.

One thread: every step moves factors that the next one reads, and the outcome must not depend on timing.
"""

import numpy as np

from discreet.kernels.compiling import njit
from discreet.types import Floats, Indices, Offsets


@njit(cache=True)
def _holds(items: Indices, first: int, last: int, item: int) -> bool:
    """Whether the increasing run ``items[first:last]`` holds ``item``."""
    end = last
    while first < last:
        middle = (first + last) // 2
        if items[middle] < item:
            first = middle + 1
        else:
            last = middle
    return first < end and items[first] == item


@njit(cache=True, fastmath=True)
def warp_epoch(
    indptr: Offsets,
    items: Indices,
    order: Indices,
    inputs: Floats,
    outputs: Floats,
    bias: Floats,
    rate: float,
    penalty: float,
    trials: int,
    seed: int,
) -> None:
    """Visit the users in ``order``; inputs, outputs and biases change in place.

    A user is ``x = Σ_j inputs_j / √n`` over the rated items, without the item that is being ranked. For each
    rated item, items the user did not rate are drawn until one scores above it less a margin of 1. The fewer
    draws it took, the worse the rank, and the larger the step: ``log(items / draws)``.
    """
    size, d = outputs.shape
    shrink = np.float32(1.0 - rate * penalty)
    whole, own, pull = np.empty(d, dtype=np.float32), np.empty(d, dtype=np.float32), np.empty(d, dtype=np.float32)
    state = np.uint64(seed)
    for u in order:
        first, last = indptr[u], indptr[u + 1]
        count = last - first
        if count < 2 or count == size:
            continue
        scale = np.float32(1.0 / np.sqrt(count - 1.0))
        for k in range(d):
            whole[k] = 0.0
            pull[k] = 0.0
        for row in range(first, last):
            for k in range(d):
                whole[k] += inputs[items[row], k]
        for row in range(first, last):
            i = items[row]
            score = bias[i]
            for k in range(d):
                own[k] = (whole[k] - inputs[i, k]) * scale
                score += own[k] * outputs[i, k]
            for trial in range(1, trials + 1):
                # A linear congruential generator; its high bits are random enough to draw items.
                state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
                j = int((state >> np.uint64(33)) % np.uint64(size))
                if _holds(items, first, last, j):
                    continue
                rival = bias[j]
                for k in range(d):
                    rival += own[k] * outputs[j, k]
                if rival > score - np.float32(1.0):
                    step = np.float32(rate * np.log(max(1.0, (size - 1.0) / trial)))
                    for k in range(d):
                        q, z = outputs[i, k], outputs[j, k]
                        pull[k] += step * (q - z)
                        outputs[i, k] = shrink * q + step * own[k]
                        outputs[j, k] = shrink * z - step * own[k]
                    bias[i] = shrink * bias[i] + step
                    bias[j] = shrink * bias[j] - step
                    break
        for row in range(first, last):
            for k in range(d):
                inputs[items[row], k] = shrink * inputs[items[row], k] + pull[k] / np.float32(count)
