"""Draw the ratings of a block of synthetic users, straight into their columns.

Every user has a random stream of their own, keyed by the seed and the user's position: the outcome does
not depend on how users are cut into blocks or on how many threads work. The loops release the lock of the
interpreter, so blocks run side by side in ordinary threads.
"""

import math

import numpy as np

from discreet.kernels.compiling import njit
from discreet.types import Doubles, Floats, Indices, Offsets

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


@njit(cache=True, inline="always")
def _mix(state: np.uint64) -> np.uint64:
    """SplitMix64: a counter in, 64 well mixed bits out."""
    state = (state ^ (state >> np.uint64(30))) * _MIX_1
    state = (state ^ (state >> np.uint64(27))) * _MIX_2
    return state ^ (state >> np.uint64(31))


@njit(cache=True, inline="always")
def _uniform(state: np.uint64) -> float:
    """A number strictly between 0 and 1."""
    return (float(_mix(state) >> np.uint64(12)) + 0.5) * 2.0**-52


@njit(cache=True, nogil=True)
def draw_users(
    first: int,
    last: int,
    key: np.uint64,
    indptr: Offsets,
    popularity: Doubles,
    cumulative: Doubles,
    interests: Floats,
    user_factors: Floats,
    item_factors: Floats,
    user_bias: Floats,
    item_bias: Floats,
    reserve: float,
    noise: float,
    start: Offsets,
    pace: float,
    user_index: Indices,
    item_index: Indices,
    values: Floats,
    times: Indices,
) -> None:
    """Fill rows ``indptr[first]`` to ``indptr[last]``: distinct items in order, opinions and times.

    A user picks items one after another without repetition, with odds popularity · σ(interest − reserve),
    where interest is the product of the user's interests and the item's factors. The opinion is the sum of
    both biases, taste (the product of the factors of user and item) and noise.
    """
    n_items, n_factors = item_factors.shape
    # Where the search in the cumulative odds may begin, for each of as many equal parts of 0 to 1 as items.
    guide = np.searchsorted(cumulative, np.arange(n_items) / n_items)
    chosen = np.zeros(n_items, dtype=np.bool_)
    for user in range(first, last):
        begin, end = indptr[user], indptr[user + 1]
        count = end - begin
        state = _mix(key + np.uint64(user + 1) * _GOLDEN)
        chosen[:] = False
        if count * 8 > n_items:
            # So many that drawing and rejecting would take long: weighted sampling by exponential keys.
            keys = np.empty(n_items, dtype=np.float64)
            for item in range(n_items):
                interest = 0.0
                for factor in range(n_factors):
                    interest += interests[user, factor] * item_factors[item, factor]
                state += _GOLDEN
                odds = popularity[item] / (1.0 + math.exp(reserve - interest))
                keys[item] = -math.log(_uniform(state)) / odds
            order = np.argsort(keys)
            for place in range(count):
                chosen[order[place]] = True
        else:
            found = 0
            while found < count:
                state += _GOLDEN
                where = _uniform(state)
                item = guide[int(where * n_items)]
                while item < n_items - 1 and cumulative[item] < where:
                    item += 1
                if chosen[item]:
                    continue
                interest = 0.0
                for factor in range(n_factors):
                    interest += interests[user, factor] * item_factors[item, factor]
                state += _GOLDEN
                if _uniform(state) * (1.0 + math.exp(reserve - interest)) < 1.0:
                    chosen[item] = True
                    found += 1
        row = begin
        for item in range(n_items):
            if not chosen[item]:
                continue
            taste = 0.0
            for factor in range(n_factors):
                taste += user_factors[user, factor] * item_factors[item, factor]
            state += _GOLDEN
            radius = math.sqrt(-2.0 * math.log(_uniform(state)))
            state += _GOLDEN
            normal = radius * math.cos(2.0 * math.pi * _uniform(state))
            state += _GOLDEN
            user_index[row] = user
            item_index[row] = item
            values[row] = user_bias[user] + item_bias[item] + taste + noise * normal
            times[row] = start[user] + int(pace * count * _uniform(state))
            row += 1
