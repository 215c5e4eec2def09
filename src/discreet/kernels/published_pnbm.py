"""The gradient of a learned similarity as published: with a clamp on errors, a bound on features, targets that count.

As in :mod:`discreet.kernels.pnbm`, every row of the gradient is owned by one thread, and nothing of users by items is
held. What differs from the gradient there is what the paper does to it, and what its released code does instead.
"""

import numpy as np

from discreet.kernels.compiling import njit, prange
from discreet.kernels.gram import HANDS
from discreet.types import AnyArray, Doubles, Floats, Indices, Offsets


def published_gradient(
    similarities: Floats,
    by_item: tuple[Offsets, Indices, Floats],
    by_user: tuple[Offsets, Indices, Floats],
    weights: Floats,
    *,
    most_error: float,
    most_feature: float,
    floor: float = 0.0,
    one_term: bool = False,
) -> Doubles:
    """``Σ_ui w_ui e_ui ∂r̂_ui/∂s_ij`` over the ratings (u, i) with a weight.

    Parameters
    ----------
    similarities
        Items by items. A diagonal of 0 leaves the rating that is predicted out of its own prediction.
    by_item
        ``(indptr, users, targets)``: who rated each item, and what should be predicted.
    by_user
        ``(indptr, items, deviations)``: what predictions are made of, user by user.
    weights
        How often each rating, in the order of ``by_item``, is in the batch; 0 leaves it out.
    most_error, most_feature
        Errors e_ui, and ``a_uj − sign(s_ij) p_ui``, are clamped to ± this; infinity for no clamp.
    floor
        The sum of similarities that is divided by is at least this; where it is less, it is constant.
    one_term
        Take the sum that is divided by for a constant everywhere, as the released code does.

    Returns
    -------
    numpy.ndarray
        Items by items; the diagonal is 0 where that of the similarities is.
    """
    gradient = np.zeros(similarities.shape)
    indptr, items, deviations = by_user
    # Unsigned positions spare the kernel a test for negative ones in its innermost lines.
    _published_gradient(
        gradient,
        similarities,
        *by_item,
        weights,
        indptr,
        items.view(np.uint32),
        deviations,
        (float(most_error), float(most_feature), float(floor)),
        one_term,
    )
    return gradient


@njit(cache=True, parallel=True, fastmath={"contract", "reassoc"})
def _published_gradient(
    gradient: Doubles,
    similarities: Floats,
    item_indptr: Offsets,
    item_users: Indices,
    targets: Floats,
    weights: Floats,
    indptr: Offsets,
    items: AnyArray,
    deviations: Floats,
    limits: tuple[float, float, float],
    one_term: bool,
) -> None:
    most_error, most_feature, floor = limits
    for hand in prange(HANDS):
        for item in range(hand, len(similarities), HANDS):
            row, slope = similarities[item], gradient[item]
            left_out = row[item] == 0
            for place in range(item_indptr[item], item_indptr[item + 1]):
                if weights[place] == 0:
                    continue
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
                error = min(max(mean - targets[place], -most_error), most_error)
                step = weights[place] * error / divisor
                moved = 0.0 if one_term or below < floor else mean
                for other in range(first, last):
                    feature = deviations[other] - np.sign(row[items[other]]) * moved
                    slope[items[other]] += step * min(max(feature, -most_feature), most_feature)
            if left_out:
                slope[item] = 0


@njit(cache=True, parallel=True)
def sums_of_similarities(
    similarities: Floats, item_indptr: Offsets, item_users: Indices, indptr: Offsets, items: Indices
) -> Floats:
    """``Σ_j |s_ij|`` over what u rated, for every rating (u, i), in the order of the items' ratings."""
    sums = np.zeros(len(item_users), dtype=np.float32)
    for hand in prange(HANDS):
        for item in range(hand, len(similarities), HANDS):
            row = similarities[item]
            for place in range(item_indptr[item], item_indptr[item + 1]):
                total = np.float32(0)
                for other in range(indptr[item_users[place]], indptr[item_users[place] + 1]):
                    total += abs(row[items[other]])
                sums[place] = total
    return sums


@njit(cache=True)
def noisy_factor_epoch(
    order: AnyArray,
    users: Indices,
    items: Indices,
    values: Floats,
    noise: Doubles,
    user_factors: Doubles,
    item_factors: Doubles,
    rate: float,
    regularisation: float,
    most_error: float,
) -> None:
    """One pass of gradient descent on two factor matrices, in this order, with noise on every error.

    On one thread: each step begins where the one before it ended, as published.
    """
    width = user_factors.shape[1]
    for step in range(len(order)):
        place = order[step]
        own, item = user_factors[users[place]], item_factors[items[place]]
        error = np.float64(values[place]) + noise[step]
        for factor in range(width):
            error -= own[factor] * item[factor]
        error = min(max(error, -most_error), most_error)
        for factor in range(width):
            before = own[factor]
            own[factor] += rate * (error * item[factor] - regularisation * before)
            item[factor] += rate * (error * before - regularisation * item[factor])
