import numpy as np

import discreet as dc
from discreet.kernels.warp import _holds, warp_epoch


def test_membership_is_found_by_bisection():
    items = np.array([9, 2, 5, 8, 0, 1], dtype=np.int32)
    assert [item for item in range(10) if _holds(items, 1, 4, item)] == [2, 5, 8]
    assert not _holds(items, 2, 2, 5)


def plain_epoch(indptr, items, order, inputs, outputs, bias, rate, penalty, trials, seed):
    """The definition, with the same draws."""
    size, state, shrink = len(outputs), seed, 1 - rate * penalty
    for u in order:
        own = items[indptr[u] : indptr[u + 1]]
        if len(own) < 2 or len(own) == size:
            continue
        whole, pull = inputs[own].sum(axis=0), np.zeros(inputs.shape[1])
        for i in own:
            x = (whole - inputs[i]) / np.sqrt(len(own) - 1)
            score = bias[i] + x @ outputs[i]
            for trial in range(1, trials + 1):
                state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
                j = (state >> 33) % size
                if j in own or bias[j] + x @ outputs[j] <= score - 1:
                    continue
                step = rate * np.log(max(1.0, (size - 1) / trial))
                pull += step * (outputs[i] - outputs[j])
                outputs[i], outputs[j] = shrink * outputs[i] + step * x, shrink * outputs[j] - step * x
                bias[i], bias[j] = shrink * bias[i] + step, shrink * bias[j] - step
                break
        inputs[own] = shrink * inputs[own] + pull / len(own)


def test_an_epoch_is_the_plain_loop():
    ratings = dc.synthetic(users=20, items=15, ratings=120, seed=4)
    rng = np.random.default_rng(0)
    slow = [rng.normal(0, 0.5, (15, 4)), rng.normal(0, 0.5, (15, 4)), rng.normal(0, 0.1, 15)]
    fast = [table.astype(np.float32) for table in slow]
    order = rng.permutation(20).astype(np.int32)
    warp_epoch(ratings.indptr, ratings.item_index, order, *fast, 0.05, 0.1, 10, 12345)
    plain_epoch(ratings.indptr, ratings.item_index, order, *slow, 0.05, 0.1, 10, 12345)
    for left, right in zip(fast, slow, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-3, atol=1e-4)
