"""Beliefs about factors: means with covariances, for users and items alike, and the messages between them.

A belief is about ``x = (p, b)``, d factors and a bias: a mean μ and a covariance C. With D = d + 1 and
``z = (p, 1)``, what the other side needs to know of it is its *message*, one row of numbers::

    E[z zᵀ]           lower triangle packed row by row, D (D + 1) / 2 numbers; its last D are E[z]
    cov(p, b)         d numbers
    E[b], var[b]      2 numbers

The other side's *statistic* is a sum over the messages it receives, t being each centred rating::

    Σ E[z zᵀ]         packed; the last number counts the messages
    Σ E[(t − b) z]    D numbers
    Σ E[(t − b)²]     1 number
"""

import numpy as np

from discreet.kernels.compiling import njit, prange
from discreet.kernels.ridge import REORDER, cholesky
from discreet.types import Doubles, Floats, Indices, Offsets


def message_width(d: int) -> int:
    """Length of a message about ``d`` factors and a bias, and of a statistic.

    >>> message_width(1)
    6
    """
    return (d + 1) * (d + 2) // 2 + d + 2


@njit(cache=True, fastmath=REORDER)
def _add_messages(
    first: int, last: int, senders: Indices, values: Floats, messages: Floats, d: int, statistic: Doubles
) -> None:
    """Add up what the senders say."""
    packed = (d + 1) * (d + 2) // 2
    design = packed - d - 1
    for row in range(first, last):
        message = messages[senders[row]]
        t = values[row] - message[packed + d]
        for k in range(packed):
            statistic[k] += message[k]
        for k in range(d):
            statistic[packed + k] += t * message[design + k] - message[packed + k]
        statistic[packed + d] += t
        statistic[packed + d + 1] += t * t + message[packed + d + 1]


@njit(cache=True, fastmath=REORDER)
def _update_belief(
    statistic: Doubles, precision: Doubles, noise: float, matrix: Doubles, mean: Floats, covariance: Floats
) -> None:
    """From a statistic to a belief; ``precision`` is the prior's, times the noise. ``matrix`` is scratch space."""
    size = len(precision)
    packed = size * (size + 1) // 2
    place = 0
    for a in range(size):
        for b in range(a + 1):
            matrix[a, b] = precision[a, b] + statistic[place]
            place += 1
    cholesky(matrix)
    # The inverse of the triangle goes above the diagonal: column a of it into row a.
    for a in range(size):
        for b in range(a, size):
            total = 1.0 if a == b else 0.0
            for k in range(a, b):
                inverse = matrix[a, k] if k > a else 1.0 / matrix[a, a]
                total -= matrix[b, k] * inverse
            if b > a:
                matrix[a, b] = total / matrix[b, b]
    for a in range(size):
        matrix[a, a] = 1.0 / matrix[a, a]
    place = 0
    for a in range(size):
        mean[a] = 0
    for a in range(size):
        for b in range(a + 1):
            total = 0.0
            for k in range(a, size):
                total += matrix[a, k] * matrix[b, k]
            covariance[place] = noise * total
            mean[a] += total * statistic[packed + b]
            if b < a:
                mean[b] += total * statistic[packed + a]
            place += 1


@njit(cache=True, fastmath=REORDER)
def _message_of(mean: Floats, covariance: Floats, message: Floats) -> None:
    """From a belief to the message about it."""
    d = len(mean) - 1
    place = 0
    for a in range(d):
        for b in range(a + 1):
            message[place] = covariance[place] + mean[a] * mean[b]
            place += 1
    last = place
    for a in range(d):
        message[place] = mean[a]
        place += 1
    message[place] = 1
    place += 1
    for a in range(d):
        message[place] = covariance[last + a]
        place += 1
    message[place] = mean[d]
    message[place + 1] = covariance[last + d]


@njit(cache=True, parallel=True, fastmath=REORDER)
def messages_of(means: Floats, covariances: Floats) -> Floats:
    """The messages about many beliefs (covariances packed)."""
    rows, size = means.shape
    messages = np.empty((rows, size * (size + 1) // 2 + size + 1), dtype=np.float32)
    for row in prange(rows):
        _message_of(means[row], covariances[row], messages[row])
    return messages


@njit(cache=True, parallel=True, fastmath=REORDER)
def add_messages(indptr: Offsets, senders: Indices, values: Floats, messages: Floats, d: int) -> Doubles:
    """The statistic of every row from the messages of its senders."""
    rows = len(indptr) - 1
    statistics = np.zeros((rows, (d + 1) * (d + 2) // 2 + d + 2))
    for row in prange(rows):
        _add_messages(indptr[row], indptr[row + 1], senders, values, messages, d, statistics[row])
    return statistics


@njit(cache=True, parallel=True, fastmath=REORDER)
def update_beliefs(statistics: Doubles, precision: Doubles, noise: float) -> tuple[Floats, Floats]:
    """Means and packed covariances of every row, from its statistic; without messages it is the prior."""
    rows, size = len(statistics), len(precision)
    means = np.empty((rows, size), dtype=np.float32)
    covariances = np.empty((rows, size * (size + 1) // 2), dtype=np.float32)
    for row in prange(rows):
        _update_belief(statistics[row], precision, noise, np.empty((size, size)), means[row], covariances[row])
    return means, covariances
