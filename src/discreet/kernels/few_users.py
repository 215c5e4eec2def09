"""What users work out at home, by numpy: for one or a few users, where compiling a kernel would take longest.

Each function takes the arguments of the compiled kernel of its name and gives the same numbers, up to rounding; the
tests compare the two. :func:`~discreet.kernels.compiling.by_numpy` says which serves how many users.
"""

from collections.abc import Iterator

import numpy as np

from discreet.types import Doubles, Floats, Indices, Offsets


def _rows(indptr: Offsets) -> Iterator[tuple[int, slice]]:
    """Every user who has ratings, and where they stand."""
    for user in range(len(indptr) - 1):
        if indptr[user] < indptr[user + 1]:
            yield user, slice(int(indptr[user]), int(indptr[user + 1]))


# ── Scores ──


def top_items(scores: Floats, k: int) -> Indices:
    """As :func:`discreet.kernels.ranking.top_items`.

    >>> top_items(np.array([[1, 3, -np.inf, 3]], dtype=np.float32), 4).tolist()
    [[1, 3, 0, -1]]
    """
    best = np.full((len(scores), k), -1, dtype=np.int32)
    for user, row in enumerate(scores):
        found = np.flatnonzero(row > -np.inf)
        if len(found) > k:  # all that reach the k-th highest score: equal ones among them
            found = found[row[found] >= np.partition(row[found], len(found) - k)[len(found) - k]]
        found = found[np.argsort(-row[found], kind="stable")][:k]
        best[user, : len(found)] = found
    return best


def row_sums(indptr: Offsets, items: Indices, matrix: Floats) -> Floats:
    """For each user the sum of the rows of ``matrix`` that belong to what they rated.

    >>> row_sums(np.array([0, 2]), np.array([0, 2]), np.eye(3, dtype=np.float32)).tolist()
    [[1.0, 0.0, 1.0]]
    """
    sums = np.zeros((len(indptr) - 1, matrix.shape[1]), dtype=np.float32)
    for user, own in _rows(indptr):
        sums[user] = matrix[items[own]].sum(axis=0)
    return sums


def similar_sums(
    indptr: Offsets, rated: Indices, weights: Floats, starts: Offsets, similar: Indices, similarities: Floats
) -> Floats:
    """As :func:`discreet.kernels.neighbours.similar_sums`."""
    size = len(starts) - 1
    sums = np.zeros((len(indptr) - 1, size), dtype=np.float32)
    for user, own in _rows(indptr):
        first, lengths = starts[rated[own]], starts[rated[own] + 1] - starts[rated[own]]
        # All places of the lists of the rated items, list after list.
        places = np.arange(lengths.sum()) + np.repeat(first - np.cumsum(lengths) + lengths, lengths)
        added = np.repeat(weights[own], lengths) * similarities[places]
        sums[user] = np.bincount(similar[places], weights=added, minlength=size)
    return sums


def moments(features: Floats, share: Floats, weighted: Floats) -> tuple[Doubles, Doubles]:
    """Σ p f and Σ p f fᵀ of features in tiles, with the probabilities p in tiles too; ``weighted`` is overwritten.

    >>> from discreet.kernels.conditional_logit import tiles
    >>> features = tiles(np.array([[1], [3]], dtype=np.float32))
    >>> share = np.zeros((1, 512), dtype=np.float32)
    >>> share[0, :2] = 0.5
    >>> mean, second = moments(features, share, np.empty_like(features))
    >>> mean.tolist(), second.tolist()
    ([2.0], [[5.0]])
    """
    mean = np.matmul(features, share[:, :, None]).sum(axis=(0, 2), dtype=np.float64)
    np.multiply(features, share[:, None, :], out=weighted)
    second = np.matmul(weighted, features.transpose(0, 2, 1)).sum(axis=0, dtype=np.float64)
    return mean, second


def fit_logit_rows(
    scores: Floats, indptr: Offsets, items: Indices, features: Floats, precision: Floats, steps: int
) -> Floats:
    """As :func:`discreet.kernels.conditional_logit.fit_logit_rows`, tile by tile: their products stay in the cache."""
    count, width, tile = features.shape
    found = np.zeros((len(scores), width), dtype=np.float32)
    start, weighted = np.full((count, tile), -np.inf, dtype=np.float32), np.empty_like(features)
    for user, own in _rows(indptr):
        n, eta, rated = own.stop - own.start, np.zeros(width), items[own]
        start.ravel()[: scores.shape[1]] = scores[user]
        target = features[rated // tile, :, rated % tile].sum(axis=0, dtype=np.float64)
        logits = start
        for _ in range(steps):
            share = np.exp(logits - logits.max())
            share /= share.sum()
            mean, second = moments(features, share, weighted)
            gradient = target - n * mean - precision * eta
            step = np.linalg.solve(n * (second - np.outer(mean, mean)) + np.diag(precision), gradient)
            eta += step / max(1.0, np.sqrt(max(gradient @ step, 0.0) / n))
            logits = start + np.matmul(eta.astype(np.float32), features)
        scores[user] = logits.ravel()[: scores.shape[1]]
        found[user] = eta
    return found


# ── The own side of factor models ──


def solve_rows(
    indptr: Offsets,
    items: Indices,
    targets: Floats,
    factors: Floats,
    base: Floats,
    weight: float,
    penalty_of_a_rating: Floats,
) -> Floats:
    """As :func:`discreet.kernels.ridge.solve_rows`.

    >>> one = np.ones((1, 1), dtype=np.float32)
    >>> solve_rows(np.array([0, 1]), np.array([0]), 8 * one[0], one, 3 * one, 1.0, 0 * one[0]).tolist()
    [[2.0]]
    """
    solved = np.zeros((len(indptr) - 1, factors.shape[1]), dtype=np.float32)
    for user, own in _rows(indptr):
        rated = factors[items[own]].astype(np.float64)
        gram = base + weight * (rated.T @ rated) + np.diag(penalty_of_a_rating * len(rated))
        solved[user] = np.linalg.solve(gram, targets[own] @ rated)
    return solved


def minimise_rows(
    indptr: Offsets, columns: Indices, values: Floats, factors: Doubles, ridge: Doubles, noise: Doubles
) -> Doubles:
    """As :func:`discreet.kernels.objective_perturbation.minimise_rows`.

    >>> one = np.ones((1, 1))
    >>> minimise_rows(np.array([0, 1]), np.array([0]), 8 * one[0], one, 3 * one[0], 4 * one).tolist()
    [[1.0]]
    """
    solved = -noise / ridge[:, None]
    for row, own in _rows(indptr):
        rated = factors[columns[own]]
        gram = rated.T @ rated + ridge[row] * np.eye(factors.shape[1])
        solved[row] = np.linalg.solve(gram, values[own] @ rated - noise[row])
    return np.asarray(solved)


def improve_rows(
    indptr: Offsets,
    items: Indices,
    factors: Floats,
    spectrum: Floats,
    penalty: Floats,
    weight: float,
    target: float,
    steps: int,
) -> Floats:
    """As :func:`discreet.kernels.als.improve_rows`, from zero."""
    solved = np.zeros((len(indptr) - 1, factors.shape[1]), dtype=np.float32)
    for user, own in _rows(indptr):
        rated = factors[items[own]].astype(np.float64)
        diagonal = (spectrum + penalty[user]).astype(np.float64)
        x, residual = np.zeros(len(diagonal)), target * rated.sum(axis=0)
        direction = residual / diagonal
        old = residual @ direction
        for _ in range(steps):
            if old < 1e-20:
                break
            image = diagonal * direction + weight * (rated.T @ (rated @ direction))
            length = old / (direction @ image)
            x, residual = x + length * direction, residual - length * image
            new = residual @ (residual / diagonal)
            direction = residual / diagonal + new / old * direction
            old = new
        solved[user] = x
    return solved


def messages_of(means: Floats, covariances: Floats) -> Floats:
    """As :func:`discreet.kernels.beliefs.tell`."""
    d = means.shape[1] - 1
    rows, columns = np.tril_indices(d)
    packed = len(rows)
    ones = np.ones((len(means), 1), dtype=np.float32)
    second = covariances[:, :packed] + means[:, rows] * means[:, columns]
    return np.concatenate(
        [second, means[:, :-1], ones, covariances[:, packed:-1], means[:, -1:], covariances[:, -1:]], 1
    )


def add_messages(indptr: Offsets, senders: Indices, values: Floats, messages: Floats, d: int) -> Doubles:
    """As :func:`discreet.kernels.beliefs.add_messages`."""
    packed = (d + 1) * (d + 2) // 2
    design = packed - d - 1
    statistics = np.zeros((len(indptr) - 1, packed + d + 2))
    for user, own in _rows(indptr):
        said = messages[senders[own]].astype(np.float64)
        t = values[own] - said[:, packed + d]
        statistics[user, :packed] = said[:, :packed].sum(axis=0)
        statistics[user, packed:-2] = t @ said[:, design : design + d] - said[:, packed : packed + d].sum(axis=0)
        statistics[user, -2:] = t.sum(), t @ t + said[:, packed + d + 1].sum()
    return statistics


def update_beliefs(statistics: Doubles, precision: Doubles, noise: float) -> tuple[Floats, Floats]:
    """As :func:`discreet.kernels.beliefs.update_beliefs`."""
    size = len(precision)
    rows, columns = np.tril_indices(size)
    matrices = np.zeros((len(statistics), size, size))
    matrices[:, rows, columns] = matrices[:, columns, rows] = statistics[:, : len(rows)]
    inverses = np.linalg.inv(precision + matrices)
    means = np.einsum("uab,ub->ua", inverses, statistics[:, len(rows) : len(rows) + size])
    return means.astype(np.float32), (noise * inverses[:, rows, columns]).astype(np.float32)
