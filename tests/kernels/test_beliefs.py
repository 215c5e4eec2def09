import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet.kernels.beliefs import add_messages, message_width, messages_of, update_beliefs
from discreet.kernels.statistics import pack


def random_beliefs(count, size, rng):
    roots = rng.normal(size=(count, size, size))
    covariances = roots @ roots.transpose(0, 2, 1) / size
    means = rng.normal(size=(count, size)).astype(np.float32)
    packed = np.array([pack(c) for c in covariances], dtype=np.float32).reshape(count, -1)
    means.flags.writeable = packed.flags.writeable = False
    return means, packed, covariances


@given(count=st.integers(1, 7), factors=st.integers(1, 5), seed=st.integers(0, 50))
def test_a_belief_is_the_gaussian_posterior(count, factors, seed):
    rng = np.random.default_rng(seed)
    size = factors + 1
    means, packed, covariances = random_beliefs(count, size, rng)
    messages = messages_of(means, packed)
    assert messages.shape == (count, message_width(factors))
    values = rng.normal(size=count).astype(np.float32)
    senders = np.arange(count, dtype=np.int32)
    values.flags.writeable = senders.flags.writeable = False
    statistics = add_messages(np.array([0, count, count]), senders, values, messages, factors)

    # By hand: E[z zᵀ], E[(t − b) z] and E[(t − b)²] with z = (p, 1), where p and b are correlated.
    gram, moment, squares = np.zeros((size, size)), np.zeros(size), 0.0
    for mean, covariance, t in zip(means.astype(np.float64), covariances, values, strict=True):
        z = np.append(mean[:-1], 1.0)
        gram += np.outer(z, z)
        gram[:-1, :-1] += covariance[:-1, :-1]
        moment += (t - mean[-1]) * z - np.append(covariance[:-1, -1], 0.0)
        squares += (t - mean[-1]) ** 2 + covariance[-1, -1]
    width = size * (size + 1) // 2
    np.testing.assert_allclose(statistics[0, :width], pack(gram), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(statistics[0, width:-1], moment, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(statistics[0, -1], squares, rtol=1e-4)
    assert statistics[0, width - 1] == count
    assert not statistics[1].any()

    precision, noise = np.eye(size) + 0.2, 0.6
    found_means, found = update_beliefs(statistics, noise * precision, noise)
    inverse = np.linalg.inv(gram + noise * precision)
    np.testing.assert_allclose(found_means[0], inverse @ moment, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(found[0], pack(noise * inverse), rtol=1e-3, atol=1e-5)
    # Who heard nothing believes the prior.
    assert not found_means[1].any()
    np.testing.assert_allclose(found[1], pack(np.linalg.inv(precision)), rtol=1e-4, atol=1e-6)
