"""Minimisers of ridge problems with Huber's loss, one for each item, to a gradient that is checked.

    F_j(v)  =  Σ_i h(y_i − u_iᵀv) + (Λ/2)‖v‖² + η_jᵀv          over the rows i of item j

    h(x) = x²/2 for |x| ≤ τ, and τ|x| − τ²/2 beyond

F is strongly convex and piecewise quadratic, so Newton's steps end at the minimiser once the right pieces are found. A
step that brings neither F down nor, where F stays the same up to rounding, the length of its gradient, is halved. What
counts is the gradient at the end, which the caller compares with what it allows.
"""

import numpy as np

from discreet.types import AnyArray, Doubles, Offsets

STEPS, HALVINGS = 200, 40
DIGITS = 1e-12
"""By which share values of F differ where they are the same up to rounding."""
ROUNDING = 1e-15
"""By which share of its terms a gradient in doubles errs."""


def minimise(
    indptr: Offsets, features: AnyArray, targets: AnyArray, noise: Doubles, threshold: float, ridge: float
) -> tuple[Doubles, Doubles]:
    """The minimisers, items by dimensions, and the length of the gradient at each.

    Rows are sorted by item: item j owns ``indptr[j]`` to ``indptr[j + 1]``.

    >>> indptr = np.array([0, 2])
    >>> found, gradient = minimise(indptr, np.ones((2, 1)), np.array([1.0, 3.0]), np.zeros((1, 1)), 10.0, 2.0)
    >>> float(found[0, 0].round(12)), bool(gradient[0] < 1e-9)
    (1.0, True)
    """
    found = np.zeros(noise.shape)
    lengths = np.zeros(len(noise))
    for item in range(len(noise)):
        rows = slice(indptr[item], indptr[item + 1])
        found[item], lengths[item] = _one(features[rows], targets[rows], noise[item], threshold, ridge)
    return found, lengths


def gradient_of(
    features: AnyArray, targets: AnyArray, noise: AnyArray, threshold: float, ridge: float, at: AnyArray
) -> Doubles:
    """∇F at a point."""
    residuals = np.clip(targets - features @ at, -threshold, threshold)
    return np.asarray(ridge * at + noise - features.T @ residuals)


def _one(
    features: AnyArray, targets: AnyArray, noise: AnyArray, threshold: float, ridge: float
) -> tuple[Doubles, float]:
    at = -noise / ridge
    value, identity = _value(features, targets, noise, threshold, ridge, at), np.eye(len(noise))
    gradient = gradient_of(features, targets, noise, threshold, ridge, at)
    best = at
    length = shortest = float(np.linalg.norm(gradient))
    largest = float(np.linalg.norm(noise)) + threshold * len(targets)
    for _ in range(STEPS):
        if shortest <= ROUNDING * largest:
            break  # as far as doubles go
        inside = np.abs(targets - features @ at) <= threshold
        active = features[inside]
        step = np.linalg.solve(active.T @ active + ridge * identity, gradient)
        for halving in range(HALVINGS):
            after = at - step * 0.5**halving
            lower = _value(features, targets, noise, threshold, ridge, after)
            slope = gradient_of(features, targets, noise, threshold, ridge, after)
            # Near the minimum F differs in digits that doubles do not have; its gradient still tells.
            alike = lower - value <= DIGITS * abs(value)
            if lower < value or (alike and float(np.linalg.norm(slope)) < length):
                break
        else:
            break
        done = value - lower <= DIGITS * abs(value)
        at, value, gradient, length = after, lower, slope, float(np.linalg.norm(slope))
        if length < shortest:
            best, shortest = at, length
        elif done:
            break
    return best, shortest


def _value(
    features: AnyArray, targets: AnyArray, noise: AnyArray, threshold: float, ridge: float, at: AnyArray
) -> float:
    residuals = np.abs(targets - features @ at)
    cut = np.minimum(residuals, threshold)
    return float((cut * (residuals - cut / 2)).sum() + ridge / 2 * (at @ at) + noise @ at)
