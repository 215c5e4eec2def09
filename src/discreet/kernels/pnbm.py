"""The gradient of a learned similarity, and what such a similarity says about a user.

As in :mod:`discreet.kernels.gram`, every row of the gradient is owned by one thread.

There are two forms. ``similarity_gradient`` holds a similarity for every pair of items. ``clipped_gradient`` and
``list_means`` hold a list of neighbours for each item, so their memory is items × neighbours; a list may be as long as
the catalogue. Both visit every triple (user, item, other item that the user rated).
"""

import numpy as np

from discreet.kernels.compiling import njit, prange
from discreet.kernels.gram import HANDS
from discreet.kernels.pairs import RatedPairs
from discreet.types import AnyArray, Doubles, Floats, Indices, Offsets

CANCELLED = 1e-3
"""A square that is this share of the terms it is the difference of has lost digits."""


def similarity_gradient(
    similarities: Floats,
    by_item: tuple[Offsets, Indices, Floats],
    by_user: tuple[Offsets, Indices, Floats],
    floor: float,
) -> Doubles:
    """Gradient, in the similarities, of half the sum of squared errors over all ratings.

    Parameters
    ----------
    similarities
        Items by items, 0 on the diagonal.
    by_item
        ``(indptr, users, deviations)``: who rated each item, and how far from its mean.
    by_user
        ``(indptr, items, deviations)``: the same user by user.
    floor
        The sum of similarities that errors are divided by is at least this; where it is less, it is constant.

    Returns
    -------
    numpy.ndarray
        Items by items, 0 on the diagonal.
    """
    gradient = np.zeros(similarities.shape)
    indptr, items, deviations = by_user
    # Unsigned positions spare the kernel a test for negative ones in its innermost lines.
    _similarity_gradient(gradient, similarities, *by_item, indptr, items.view(np.uint32), deviations, floor)
    return gradient


@njit(cache=True, parallel=True, fastmath={"contract", "reassoc"})
def _similarity_gradient(
    gradient: Doubles,
    similarities: Floats,
    item_indptr: Offsets,
    item_users: Indices,
    item_deviations: Floats,
    indptr: Offsets,
    items: AnyArray,
    deviations: Floats,
    floor: float,
) -> None:
    size = len(similarities)
    for hand in prange(HANDS):
        for item in range(hand, size, HANDS):
            row, slope = similarities[item], gradient[item]
            for place in range(item_indptr[item], item_indptr[item + 1]):
                first, last = indptr[item_users[place]], indptr[item_users[place] + 1]
                above, below = np.float32(0), np.float32(0)
                for other in range(first, last):
                    similarity = row[items[other]]
                    above += similarity * deviations[other]
                    below += abs(similarity)
                divisor = max(np.float64(below), floor)
                if divisor == 0:
                    continue
                mean = above / divisor
                step = (mean - item_deviations[place]) / divisor
                # Below the floor the divisor does not move with the similarities.
                moved = mean if below >= floor else 0.0
                for other in range(first, last):
                    slope[items[other]] += step * (deviations[other] - np.sign(row[items[other]]) * moved)
            slope[item] = 0


@njit(cache=True, parallel=True, fastmath={"contract", "reassoc"})
def learned_means(asked: RatedPairs, similarities: Floats, floor: float, otherwise: Floats) -> Floats:
    """For each pair, ``Σ_j s_ij a_uj / max(Σ_j |s_ij|, floor)`` over what the user rated.

    ``otherwise[u]`` where no similarity speaks for the item.
    """
    users, items, indptr, rated, deviations = asked
    means = np.empty(len(users), dtype=np.float32)
    for pair in prange(len(users)):
        row, user = similarities[items[pair]], users[pair]
        above, below = np.float32(0), np.float32(0)
        for place in range(indptr[user], indptr[user + 1]):
            similarity = row[rated[place]]
            above += similarity * deviations[place]
            below += abs(similarity)
        means[pair] = above / max(np.float64(below), floor) if below > 0 else otherwise[user]
    return means


# ── Lists of neighbours ──


def clipped_gradient(
    neighbours: Indices,
    similarities: Floats,
    by_item: tuple[Offsets, Indices, Indices],
    by_user: tuple[Offsets, Indices, Floats],
    floor: float,
    clip: float,
) -> Doubles:
    """Sum over users of each one's gradient in the listed similarities, cut to the length ``clip`` in L2.

    Parameters
    ----------
    neighbours, similarities
        Items by width: which items each item lists, and how similar they are. A place with similarity 0 holds no
        neighbour, and its gradient is 0.
    by_item
        ``(indptr, users, places)``: who rated each item, and where in the arrays of ``by_user`` that rating stands.
    by_user
        ``(indptr, items, residuals)``: what each user rated, and how far from what was expected.
    floor
        The sum of similarities that errors are divided by is at least this; where it is less, it is constant.
    clip
        The greatest length of a user's gradient; infinite for no clipping.

    Returns
    -------
    numpy.ndarray
        Items by width.
    """
    indptr, items, residuals = by_user
    positions, signed = items.view(np.uint32), bool((similarities < 0).any())
    means, steps, squares = _list_errors(
        neighbours, similarities, signed, *by_item, indptr, positions, residuals, floor
    )
    if np.isfinite(clip):
        users = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        lengths = np.sqrt(np.bincount(users, weights=squares, minlength=len(indptr) - 1))
        steps *= (clip / np.maximum(lengths, clip))[users]
    gradient = np.zeros(neighbours.shape)
    _add_gradient(gradient, neighbours, similarities, signed, *by_item, indptr, positions, residuals, means, steps)
    return gradient


@njit(cache=True, parallel=True, fastmath={"contract", "reassoc"})
def _list_errors(
    neighbours: Indices,
    similarities: Floats,
    signed: bool,
    item_indptr: Offsets,
    item_users: Indices,
    item_places: Indices,
    indptr: Offsets,
    items: AnyArray,
    residuals: Floats,
    floor: float,
) -> tuple[Doubles, Doubles, Doubles]:
    """For each rating: the mean that moves with the similarities (0 below the floor), the error over the divisor, and
    the squared length of its gradient.

    That is ``step² Σ_j (x_j − sign_j mean)²``, multiplied out, so that one walk over the user's ratings is enough; or
    term by term, where that leaves few digits. It is summed in doubles, as the bound rests on it; the mean and the
    divisor may be any numbers.
    """
    size, width = neighbours.shape
    means, steps, squares = np.zeros(len(items)), np.zeros(len(items)), np.zeros(len(items))
    for hand in prange(HANDS):
        row = np.zeros(size, dtype=np.float32)  # one item's similarities, spread over all items
        for item in range(hand, size, HANDS):
            for column in range(width):
                if similarities[item, column] != 0:
                    row[neighbours[item, column]] = similarities[item, column]
            row[item] = 0
            for rating in range(item_indptr[item], item_indptr[item + 1]):
                first, last = indptr[item_users[rating]], indptr[item_users[rating] + 1]
                above, below = np.float32(0), np.float32(0)
                square, total, count = 0.0, 0.0, 0.0
                if signed:
                    for place in range(first, last):
                        similarity, residual = row[items[place]], np.float64(residuals[place])
                        above += similarity * residuals[place]
                        below += abs(similarity)
                        square += residual * residual if similarity != 0 else 0.0
                        total += residual * np.float64(np.sign(similarity))
                        count += 1.0 if similarity != 0 else 0.0
                else:
                    for place in range(first, last):
                        similarity = row[items[place]]
                        residual = np.float64(residuals[place]) if similarity > 0 else np.float64(0)
                        above += similarity * residuals[place]
                        below += similarity
                        square += residual * residual
                        total += residual
                        count += 1.0 if similarity > 0 else 0.0
                own = item_places[rating]
                divisor = max(np.float64(below), floor)
                if divisor > 0:
                    mean = above / divisor
                    step = (mean - residuals[own]) / divisor
                    moved = mean if below >= floor else 0.0
                    means[own], steps[own] = moved, step
                    length = square - 2 * moved * total + moved * moved * count
                    if length < CANCELLED * (square + moved * moved * count):
                        length = 0.0
                        for place in range(first, last):
                            sign = np.float64(np.sign(row[items[place]]))
                            if sign != 0:
                                length += (np.float64(residuals[place]) - sign * moved) ** 2
                    squares[own] = step * step * length
            for column in range(width):
                row[neighbours[item, column]] = 0
    return means, steps, squares


@njit(cache=True, parallel=True, fastmath={"contract", "reassoc"})
def _add_gradient(
    gradient: Doubles,
    neighbours: Indices,
    similarities: Floats,
    signed: bool,
    item_indptr: Offsets,
    item_users: Indices,
    item_places: Indices,
    indptr: Offsets,
    items: AnyArray,
    residuals: Floats,
    means: Doubles,
    steps: Doubles,
) -> None:
    size, width = neighbours.shape
    for hand in prange(HANDS):
        signs, slope = np.zeros(size), np.zeros(size)
        for item in range(hand, size, HANDS):
            if signed:
                for column in range(width):
                    if similarities[item, column] != 0:
                        signs[neighbours[item, column]] = np.sign(similarities[item, column])
            for rating in range(item_indptr[item], item_indptr[item + 1]):
                step, mean = steps[item_places[rating]], means[item_places[rating]]
                first, last = indptr[item_users[rating]], indptr[item_users[rating] + 1]
                if signed:
                    for place in range(first, last):
                        slope[items[place]] += step * (residuals[place] - signs[items[place]] * mean)
                else:
                    for place in range(first, last):
                        slope[items[place]] += step * (residuals[place] - mean)
            for column in range(width):
                other = neighbours[item, column]
                if similarities[item, column] != 0 and other != item:
                    gradient[item, column] = slope[other]
            slope[:] = 0


@njit(cache=True, parallel=True, fastmath={"contract", "reassoc"})
def list_means(asked: RatedPairs, neighbours: Indices, similarities: Floats, floor: float, otherwise: Floats) -> Floats:
    """For each pair, ``Σ_j s_ij x_uj / max(Σ_j |s_ij|, floor)`` over the listed neighbours that the user rated.

    ``otherwise[u]`` where there is none. Pairs must come sorted by user: each hand takes a run of them and spreads one
    user's residuals over the items at a time.
    """
    users, items, indptr, rated, residuals = asked
    means = np.zeros(len(users), dtype=np.float32)
    size, width = neighbours.shape
    for hand in prange(HANDS):
        begin, end = len(users) * hand // HANDS, len(users) * (hand + 1) // HANDS
        spread, seen = np.zeros(size, dtype=np.float32), np.zeros(size, dtype=np.float32)
        current = -1
        for pair in range(begin, end):
            user, item = users[pair], items[pair]
            if user != current:
                if current >= 0:
                    for place in range(indptr[current], indptr[current + 1]):
                        spread[rated[place]] = 0
                        seen[rated[place]] = 0
                for place in range(indptr[user], indptr[user + 1]):
                    spread[rated[place]] = residuals[place]
                    seen[rated[place]] = 1
                current = user
            above, below = np.float32(0), np.float32(0)
            for column in range(width):
                other = neighbours[item, column]
                if other != item:
                    above += similarities[item, column] * spread[other]
                    below += abs(similarities[item, column]) * seen[other]
            means[pair] = above / max(np.float64(below), floor) if below > 0 else otherwise[user]
    return means
