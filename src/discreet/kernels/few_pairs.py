"""Predictions for pairs of a user and an item, by numpy: for one or a few users.

Each function takes the arguments of the compiled kernel of its name and gives the same numbers, up to rounding. Pairs
may come in any order.
"""

from collections.abc import Iterator

import numpy as np

from discreet.kernels.pairs import RatedPairs
from discreet.types import AnyArray, Doubles, Floats, Indices, Offsets


def pair_products(left: Floats, right: Floats, rows: Indices, columns: Indices) -> Floats:
    """As :func:`discreet.kernels.pairs.pair_products`.

    >>> pair_products(np.eye(2), np.eye(2), np.array([0, 0]), np.array([0, 1])).tolist()
    [1.0, 0.0]
    """
    products = np.empty(len(rows), dtype=np.float32)
    for user in np.unique(rows):
        own = rows == user
        products[own] = right[columns[own]] @ left[user]
    return products


def _each_user(users: Indices, items: Indices, indptr: Offsets) -> Iterator[tuple[AnyArray, Indices, slice]]:
    """For every user who is asked about: which pairs these are, their items, and where the user's ratings stand."""
    for user in np.unique(users):
        own = np.flatnonzero(users == user)
        yield own, items[own], slice(int(indptr[user]), int(indptr[user + 1]))


def neighbour_means(asked: RatedPairs, neighbours: Indices, similarities: Floats, damping: float) -> Floats:
    """As :func:`discreet.kernels.neighbours.neighbour_means`, for pairs in any order."""
    users, items, indptr, rated, residuals = asked
    means = np.zeros(len(users), dtype=np.float32)
    for pairs, wanted, own in _each_user(users, items, indptr):
        spread, seen = np.zeros(len(neighbours), dtype=np.float32), np.zeros(len(neighbours), dtype=np.float32)
        spread[rated[own]], seen[rated[own]] = residuals[own], 1
        near, similar = neighbours[wanted], similarities[wanted]
        above, below = (similar * spread[near]).sum(axis=1), (similar * seen[near]).sum(axis=1) + damping
        means[pairs] = np.divide(above, below, out=np.zeros_like(above), where=below > 0)
    return means


def list_means(asked: RatedPairs, neighbours: Indices, similarities: Floats, floor: float, otherwise: Floats) -> Floats:
    """As :func:`discreet.kernels.pnbm.list_means`, for pairs in any order."""
    users, items, indptr, rated, residuals = asked
    means = np.zeros(len(users), dtype=np.float32)
    for pairs, wanted, own in _each_user(users, items, indptr):
        spread, seen = np.zeros(len(neighbours), dtype=np.float32), np.zeros(len(neighbours), dtype=np.float32)
        spread[rated[own]], seen[rated[own]] = residuals[own], 1
        near = neighbours[wanted]
        similar = np.where(near == wanted[:, None], np.float32(0), similarities[wanted])
        above, below = (similar * spread[near]).sum(axis=1), (np.abs(similar) * seen[near]).sum(axis=1)
        means[pairs] = np.where(below > 0, above / np.maximum(below, max(floor, 1e-30)), otherwise[users[pairs]])
    return means


def listed_means(asked: RatedPairs, neighbours: Indices, similarities: Floats, k: int, damping: float) -> Floats:
    """As :func:`discreet.kernels.ridge_knn.listed_means`."""
    users, items, indptr, rated, residuals = asked
    means = np.zeros(len(users), dtype=np.float32)
    for pairs, wanted, own in _each_user(users, items, indptr):
        count = own.stop - own.start
        place = np.full(len(neighbours), count)  # the last column is for what the user did not rate
        place[rated[own]] = np.arange(count)
        listed = np.where(similarities[wanted] > 0, neighbours[wanted], wanted[:, None])
        near = np.zeros((len(wanted), count + 1))
        np.put_along_axis(near, place[listed], np.where(listed == wanted[:, None], 0, similarities[wanted]), axis=1)
        means[pairs] = _nearest_means(near[:, :-1], residuals[own], k, damping)
    return means


def rated_neighbour_means(asked: RatedPairs, similarities: Floats, k: int, damping: float) -> Floats:
    """As :func:`discreet.kernels.rated_neighbours.rated_neighbour_means`."""
    users, items, indptr, rated, residuals = asked
    means = np.zeros(len(users), dtype=np.float32)
    for pairs, wanted, own in _each_user(users, items, indptr):
        near = _to_rated(similarities, wanted, rated[own])
        means[pairs] = _nearest_means(near, residuals[own], k, damping)
    return means


def _to_rated(matrix: AnyArray, wanted: Indices, rated: Indices) -> Doubles:
    """Similarities of the wanted items to what a user rated; 0 to an item itself."""
    near = matrix[np.ix_(wanted, rated)].astype(np.float64)
    near[wanted[:, None] == rated] = 0
    return np.asarray(near)


def _nearest_means(near: Doubles, residuals: Floats, k: int, damping: float) -> Doubles:
    order = np.argsort(-np.abs(near), axis=1, kind="stable")[:, :k]
    near = np.take_along_axis(near, order, axis=1)
    above, below = (near * residuals[order]).sum(axis=1), np.abs(near).sum(axis=1)
    means: Doubles = np.divide(above, below + damping, out=np.zeros_like(above), where=below > 0)
    return means


def learned_means(asked: RatedPairs, similarities: Floats, floor: float, otherwise: Floats) -> Floats:
    """As :func:`discreet.kernels.pnbm.learned_means`."""
    users, items, indptr, rated, deviations = asked
    means = np.asarray(otherwise[users], dtype=np.float32)
    for pairs, wanted, own in _each_user(users, items, indptr):
        near = similarities[np.ix_(wanted, rated[own])]
        above, below = (near * deviations[own]).sum(axis=1), np.abs(near).sum(axis=1)
        said = below > 0
        means[pairs[said]] = above[said] / np.maximum(below[said], floor)
    return means


def interpolated(asked: RatedPairs, positions: Indices, covariance: Floats, k: int, stray: float) -> Floats:
    """As :func:`discreet.kernels.ridge_knn.interpolated`."""
    users, items, indptr, rated, residuals = asked
    means = np.zeros(len(users), dtype=np.float32)
    for pairs, wanted, own in _each_user(users, items, indptr):
        listed, others = positions[wanted] >= 0, np.flatnonzero(positions[rated[own]] >= 0)
        rows, columns = positions[wanted[listed]], positions[rated[own]][others]
        nearness = _to_rated(covariance, rows, columns) / np.sqrt(np.diag(covariance)[columns] + stray)
        order = np.argsort(-nearness, axis=1, kind="stable")[:, :k]
        kept = np.take_along_axis(nearness, order, axis=1) > 0
        near = columns[order]
        # Places that are not kept get weight 0 by a row of the identity.
        grams = np.where(kept[:, :, None] & kept[:, None, :], covariance[near[:, :, None], near[:, None, :]], 0.0)
        grams += np.eye(order.shape[1]) * np.where(kept, stray, 1.0)[:, None, :]
        weights = np.linalg.solve(grams, np.where(kept, covariance[near, rows[:, None]], 0.0)[:, :, None])[:, :, 0]
        means[pairs[listed]] = (weights * residuals[own][others][order]).sum(axis=1)
    return means


def jointly_weighted(asked: RatedPairs, similarities: Floats, moments: Floats, k: int, sweeps: int) -> Floats:
    """As :func:`discreet.kernels.rated_neighbours.jointly_weighted`."""
    users, items, indptr, rated, residuals = asked
    means = np.zeros(len(users), dtype=np.float32)
    for pairs, wanted, own in _each_user(users, items, indptr):
        nearness = _to_rated(similarities, wanted, rated[own])
        order = np.argsort(-nearness, axis=1, kind="stable")[:, :k]
        kept = np.take_along_axis(nearness, order, axis=1) > 0
        near = rated[own][order]
        grams = moments[near[:, :, None], near[:, None, :]].astype(np.float64)
        weights, left = np.zeros(order.shape), moments[near, wanted[:, None]].astype(np.float64)
        moving = np.ones(len(wanted), dtype=np.bool_)
        for _ in range(sweeps):
            furthest = np.zeros(len(wanted))
            for place in range(order.shape[1]):
                own_moment = grams[:, place, place]
                free = moving & kept[:, place] & (own_moment > 0)
                step = np.divide(left[:, place], own_moment, out=np.zeros(len(wanted)), where=free)
                moved = np.where(free, np.clip(weights[:, place] + step, 0, 1) - weights[:, place], 0)
                weights[:, place] += moved
                left -= grams[:, place, :] * moved[:, None]
                np.maximum(furthest, np.abs(moved), out=furthest)
            moving &= furthest >= 1e-4
            if not moving.any():
                break
        means[pairs] = (weights * residuals[own][order]).sum(axis=1)
    return means
