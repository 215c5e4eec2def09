"""Everyone's own tilt: against the formulas written out in double precision."""

import numpy as np
import pytest

from discreet.kernels.conditional_logit import TILE, fit_logit_rows, tiles
from discreet.types import AnyArray, Doubles

SIZES = [(40, 1), (TILE, 5), (2 * TILE + 17, 6)]


def problem(items: int, width: int, seed: int = 0, lengths: tuple[int, ...] = (0, 1, 12, 30)) -> tuple[AnyArray, ...]:
    rng = np.random.default_rng(seed)
    rated = [np.sort(rng.choice(items, n, replace=False)) for n in lengths]
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    logs = np.log(rng.random((len(lengths), items)) ** 3 + 1e-4).astype(np.float32)
    features = rng.normal(size=(items, width)).astype(np.float32)
    return logs, indptr, np.concatenate(rated).astype(np.int32), features, np.full(width, 2.0, dtype=np.float32)


def solved(problem: tuple[AnyArray, ...], steps: int) -> tuple[AnyArray, AnyArray]:
    logs, indptr, rated, features, precision = problem
    scores = logs.copy()
    return scores, fit_logit_rows(scores, indptr, rated, tiles(features), precision, steps)


def objective(eta: Doubles, logs: AnyArray, own: AnyArray, features: AnyArray, precision: AnyArray) -> float:
    logits = logs.astype(np.float64) + features @ eta
    top = logits.max()
    total = top + np.log(np.exp(logits - top).sum())
    return float((features[own] @ eta).sum() - len(own) * total - 0.5 * (precision * eta**2).sum())


def newton_step(
    eta: Doubles, logs: AnyArray, own: AnyArray, features: AnyArray, precision: AnyArray
) -> tuple[Doubles, Doubles]:
    logits = logs.astype(np.float64) + features @ eta
    share = np.exp(logits - logits.max())
    share /= share.sum()
    mean = share @ features
    gradient = features[own].sum(axis=0) - len(own) * mean - precision * eta
    spread = (features.T * share) @ features - np.outer(mean, mean)
    step = np.linalg.solve(len(own) * spread + np.diag(precision), gradient)
    return gradient, eta + step / max(1, np.sqrt(gradient @ step / len(own)))


@pytest.mark.parametrize("size", SIZES)
def test_steps_are_those_of_newton(size: tuple[int, int]) -> None:
    asked = problem(*size)
    logs, indptr, rated, features, precision = asked
    for steps in (1, 2):
        _, found = solved(asked, steps)
        for u in range(len(logs)):
            own = rated[indptr[u] : indptr[u + 1]]
            eta = np.zeros(size[1])
            for _ in range(steps if len(own) else 0):
                _, eta = newton_step(eta, logs[u], own, features.astype(np.float64), precision)
            np.testing.assert_allclose(found[u], eta, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("size", SIZES)
def test_the_gradient_is_that_of_the_objective_and_vanishes_in_the_end(size: tuple[int, int]) -> None:
    asked = problem(*size, seed=1)
    logs, indptr, rated, features, precision = asked
    _, found = solved(asked, 12)
    for u in range(1, len(logs)):
        own, eta = rated[indptr[u] : indptr[u + 1]], found[u].astype(np.float64)
        arguments = logs[u], own, features.astype(np.float64), precision
        small = 1e-5
        by_differences = [
            (objective(eta + small * unit, *arguments) - objective(eta - small * unit, *arguments)) / (2 * small)
            for unit in np.eye(size[1])
        ]
        np.testing.assert_allclose(by_differences, newton_step(eta, *arguments)[0], atol=1e-5)
        assert np.abs(by_differences).max() < 1e-3


def test_scores_are_the_tilted_logarithms() -> None:
    asked = problem(700, 4)
    scores, found = solved(asked, 3)
    np.testing.assert_allclose(scores, asked[0] + found @ asked[3].T, rtol=1e-4, atol=1e-4)


def test_without_ratings_nothing_is_tilted() -> None:
    asked = problem(100, 3)
    scores, found = solved(asked, 3)
    np.testing.assert_array_equal(scores[0], asked[0][0])
    assert not found[0].any()


def test_levels_do_not_matter() -> None:
    logs, indptr, rated, features, precision = problem(600, 4)
    _, found = solved((logs, indptr, rated, features, precision), 3)
    _, shifted = solved((logs + np.float32(5), indptr, rated, features + np.float32(1.5), precision), 3)
    np.testing.assert_allclose(shifted, found, rtol=2e-3, atol=2e-4)


def test_the_order_of_items_does_not_matter() -> None:
    logs, indptr, rated, features, precision = problem(600, 4)
    order = np.random.default_rng(2).permutation(600)
    place = np.argsort(order).astype(np.int32)
    _, found = solved((logs, indptr, rated, features, precision), 3)
    _, again = solved((logs[:, order], indptr, place[rated], features[order], precision), 3)
    np.testing.assert_allclose(again, found, rtol=1e-3, atol=1e-4)


def test_hopeless_odds_stay_numbers() -> None:
    logs, indptr, rated, features, precision = problem(600, 4)
    logs[:, ::2] -= 80
    scores, found = solved((logs, indptr, rated, 30 * features, precision), 6)
    assert np.isfinite(scores).all()
    assert np.isfinite(found).all()
