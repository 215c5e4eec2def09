"""Measure one release on one split."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.data.ratings import Ratings
from discreet.errors import DiscreetError, InputError, require
from discreet.evaluation import metrics
from discreet.evaluation.metric_names import cut_of, is_ranking
from discreet.evaluation.results import Estimate
from discreet.releases.recommendations import best_items
from discreet.releases.release import Release
from discreet.types import AnyArray, Booleans, Doubles, Indices

CDF_STEPS = 80  # the CDF of absolute errors is kept at this many steps over the width of the scale


@dataclass(frozen=True)
class MetricEstimates:
    """What was found on one split: an estimate for each metric that the release can answer, and the CDF of errors."""

    estimates: dict[str, Estimate]
    cdf: tuple[tuple[float, float], ...]


def measure(
    release: Release,
    histories: Ratings,
    test: Ratings,
    mask: Ratings | None,
    names: Sequence[str],
    train: Ratings | None = None,
) -> MetricEstimates:
    """Predict and rank for the users of ``test`` from their histories, and compare.

    How rare an item is, novelty counts in ``train``, what the release was fitted on; by default in all histories.
    """
    for part in (test,) if mask is None else (test, mask):
        if part.users is not histories.users and not part.users.names.equals(histories.users.names):
            raise InputError("histories and test must list the same users in the same order")
    require(len(test) > 0, "there is nothing to test on: no rating was held out")
    on_ratings = [name for name in names if not is_ranking(name)]
    on_ranks = [name for name in names if is_ranking(name)]
    estimates: dict[str, Estimate] = {}
    cdf: tuple[tuple[float, float], ...] = ()
    if on_ratings and release.predicts_ratings:
        found, cdf = _measure_ratings(release, histories, test, on_ratings)
        estimates |= found
    if on_ranks:
        novelty = metrics.novelty_of(histories if train is None else train)
        estimates |= _measure_ranks(release, histories, test, mask, on_ranks, novelty)
    return MetricEstimates({name: estimates[name] for name in names if name in estimates}, cdf)


def _measure_ratings(
    release: Release, histories: Ratings, test: Ratings, names: Sequence[str]
) -> tuple[dict[str, Estimate], tuple[tuple[float, float], ...]]:
    predicted = release.predict(histories, test.user_index, test.item_index)
    sizes = metrics.error_sizes(predicted, test.values)
    if np.isnan(sizes).any():
        raise DiscreetError(f"{type(release.model).__name__} predicted a rating that is not a number")
    counts = np.diff(test.indptr)
    tested = counts > 0

    def over_users(per_rating: AnyArray, root: bool = False) -> Estimate:
        sums = np.bincount(test.user_index, weights=per_rating, minlength=test.n_users)
        return Estimate.over_users(sums[tested], counts[tested], root=root)

    estimates = {name: over_users(metrics.error_terms(name, sizes), root=name == "rmse") for name in names}
    grid = np.linspace(0, release.catalogue.scale.width, CDF_STEPS + 1)
    shares = metrics.error_cdf(sizes, grid)
    return estimates, tuple(zip(grid.tolist(), shares.tolist(), strict=True))


def _measure_ranks(
    release: Release,
    histories: Ratings,
    test: Ratings,
    mask: Ratings | None,
    names: Sequence[str],
    novelty: Doubles,
) -> dict[str, Estimate]:
    require(not test.has_repeats, "some pairs are rated more than once: call ratings.merge('last') first")
    if _overlap(histories, test) or (mask is not None and _overlap(mask, test)):
        seen = (
            "measure rankings, ndcg@10 for example, of data that were divided: train, test = data.split(0.2, seed=1)"
            if test.catalogue.scale.implicit
            else "ask for metrics=('rmse', 'mae') to measure the error on ratings that were seen"
        )
        raise InputError(f"some held-out ratings are also in the histories, whose items no ranking may hold; {seen}")
    tested = np.flatnonzero(np.diff(test.indptr) > 0)
    if len(tested) < test.n_users:
        histories, test = histories.select_users(tested), test.select_users(tested)
        mask = None if mask is None else mask.select_users(tested)
    ones = np.ones(test.n_users)
    shown = {cut_of(name): np.zeros(test.n_items, dtype=np.bool_) for name in names if name.startswith("coverage")}
    found = ranks_of_users(release, histories, test, mask, names, shown=shown, novelty=novelty)
    estimates = {name: Estimate.over_users(values, ones) for name, values in found.items()}
    for name in names:
        if name.startswith("coverage"):  # of all users together, so that they give it no interval
            estimates[name] = Estimate.over_runs([float(shown[cut_of(name)].mean())])
    return estimates


def ranks_of_users(
    release: Release,
    histories: Ratings,
    test: Ratings,
    mask: Ratings | None,
    names: Sequence[str],
    *,
    finite: bool = True,
    shown: Mapping[int, Booleans] | None = None,
    novelty: Doubles | None = None,
) -> dict[str, Doubles]:
    """Each metric of rankings for each user of ``test``, all of whom must have something held out.

    Without ``finite`` an item whose score is not a finite number is ranked nowhere, and nothing fails for it. ``shown``
    is marked where an item is among somebody's k best, for each k in it: coverage is of all users together. ``novelty``
    is that of each item, by default among these histories.
    """
    shown = {} if shown is None else shown
    novelty = metrics.novelty_of(histories) if novelty is None else novelty
    asked = {name: cut_of(name) for name in names if not name.startswith("coverage")}
    deepest = max([*asked.values(), *shown])
    per_user: dict[str, list[Doubles]] = {name: [] for name in asked}
    for first, scores in release.scorer().batches(histories, finite=finite):
        if not finite:
            scores = np.where(np.isfinite(scores), scores, np.float32(-np.inf))
        block = np.arange(first, first + len(scores))
        seen = [part.select_users(block) for part in (histories, mask) if part is not None]
        best = best_items(scores, seen, deepest)
        wanted = test.select_users(block)
        hits, held_out = metrics.find_hits(best, wanted), np.diff(wanted.indptr)
        for k, items in shown.items():
            items[best[:, :k][best[:, :k] >= 0]] = True
        for name, k in asked.items():
            per_user[name].append(_of_ranking(name.partition("@")[0], k, hits, held_out, best, novelty))
    return {name: np.concatenate(blocks) for name, blocks in per_user.items()}


def _of_ranking(kind: str, k: int, hits: Booleans, held_out: AnyArray, best: Indices, novelty: Doubles) -> Doubles:
    if kind == "novelty":
        return metrics.novelty_at(k, best, novelty)
    if kind in ("hit", "mrr"):
        return (metrics.hit_at if kind == "hit" else metrics.mrr_at)(k, hits)
    return (metrics.ndcg_at if kind == "ndcg" else metrics.recall_at)(k, hits, held_out)


def _overlap(known: Ratings, test: Ratings) -> bool:
    """Whether some pair is in both. Both are sorted by user and item, so their keys are too."""
    if len(known) == 0:
        return False
    known_keys = known.user_index.astype(np.int64) * known.n_items + known.item_index
    test_keys = test.user_index.astype(np.int64) * test.n_items + test.item_index
    places = np.minimum(np.searchsorted(known_keys, test_keys), len(known_keys) - 1)
    return bool(np.any(known_keys[places] == test_keys))
