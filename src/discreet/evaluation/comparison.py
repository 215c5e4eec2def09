"""Measure one release, or fit and measure many models on the same splits."""

import dataclasses
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.data.catalogue import Catalogue, Scale
from discreet.data.labels import Labels
from discreet.data.ratings import Ratings
from discreet.errors import DiscreetError, InputError, UnknownNameError, require
from discreet.evaluation.measuring import peak_memory_mb, restart_peak_memory
from discreet.evaluation.metrics import TOLERANCE, best_items, find_hits, ndcg_at, recall_at
from discreet.evaluation.protocols import SplitProtocol
from discreet.evaluation.results import Estimate, Report, Row
from discreet.models.fitting import NO_PRIVACY, check_terms, fit_on
from discreet.models.release import RatingModel, Release
from discreet.populations.terms import Terms
from discreet.types import AnyArray, Doubles, Progress, no_progress

RATING_METRICS = ("rmse", "mae", "within 0.5", "within 1")
RANKING_METRICS = ("ndcg@10", "ndcg@100", "recall@20", "recall@50")
CDF_STEPS = 80  # the CDF of absolute errors is kept at this many steps over the width of the scale


def evaluate(
    release: Release,
    histories: Ratings,
    test: Ratings,
    *,
    mask: Ratings | None = None,
    metrics: Sequence[str] | None = None,
) -> Report:
    """Measure a release on held-out ratings.

    Parameters
    ----------
    release
        What a fit returned.
    histories
        What is known of the users; these items are left out of rankings.
    test
        Held-out ratings of the same users, in the same order.
    mask
        More ratings whose items are left out of rankings, for example a validation part.
    metrics
        Names such as ``"rmse"``, ``"mae"``, ``"within 0.5"`` (share of predictions off by at most 0.5),
        ``"ndcg@10"``, ``"recall@20"``. By default those four kinds that the release can answer.

    Returns
    -------
    Report
        One row; ``report["rmse"]`` is the mean. Intervals are over users.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> train, test = ratings.split(test=0.2, seed=1)
    >>> report = dc.evaluate(dc.Bias().fit(dc.NoPrivacy(train)), train, test)
    >>> 0 < report["mae"] < report["rmse"] < 2
    True
    """
    names = check_metrics(metrics if metrics is not None else [*RATING_METRICS, *RANKING_METRICS])
    restart_peak_memory()
    clock = time.perf_counter()
    measured = _measure(release, histories, test, mask, names)
    seconds = time.perf_counter() - clock
    label = _label(release.model)
    _require_some(label, measured.estimates, names)
    row = Row(
        model=label,
        metrics=measured.estimates,
        predict_seconds=seconds,
        peak_memory_mb=peak_memory_mb(),
        guarantee=_promise(release),
        settings=_settings(release.model),
        cdf=measured.cdf,
    )
    return Report("ratings", "as given", (row,), OVER_USERS)


def compare(
    models: Mapping[str, Any],
    ratings: Ratings,
    protocol: SplitProtocol,
    *,
    terms: Terms = NO_PRIVACY,
    data: str = "ratings",
    progress: Progress = no_progress,
    metrics: Sequence[str] | None = None,
) -> Report:
    """Fit every model on every split of the ratings, and measure it.

    Times are means over the splits and leave out the compilation of kernels: every model is first run
    on a handful of made-up ratings.

    Parameters
    ----------
    models
        Name to model.
    ratings
        All ratings.
    protocol
        :class:`Folds`, :class:`HoldOut`, :class:`EachUser` or :class:`HeldOutUsers`.
    terms
        How much privacy each fit must give; by default none. What is measured here is computed from the held-out
        ratings themselves and is not private: it is for choosing a model, not for publishing.
    data
        What the report calls the data.
    progress
        Called as ``progress(done, total, what)``.
    metrics
        As for :func:`evaluate`. By default errors of ratings for ``Folds`` and ``HoldOut`` (with rankings
        beside them when some model only ranks), and rankings for the two others.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> report = dc.compare({"popularity": dc.Popularity()}, ratings, dc.EachUser(seed=1))
    >>> 0 < report["ndcg@10"] < 1
    True
    """
    require(len(models) > 0, "compare needs at least one model")
    for model in models.values():
        check_terms(model, terms)
    names = check_metrics(metrics) if metrics is not None else _default_metrics(models, protocol)
    if ratings.has_repeats:
        raise InputError("some pairs are rated more than once: call ratings.merge('last') first")
    outcomes: dict[str, list[_Run]] = {name: [] for name in models}
    step, steps = 0, protocol.runs * len(models)
    for number, split in enumerate(protocol.splits(ratings), start=1):
        for name, model in models.items():
            where = f", {protocol.each} {number} of {protocol.runs}" if protocol.runs > 1 else ""
            if number == 1:
                progress(100 * step, 100 * steps, f"{name}: getting ready")
                _warm_up(model)
            report_fit = _part_of(progress, 100 * step, 100 * steps, f"{name}{where}")
            report_fit(0, 1, "")
            restart_peak_memory()
            started = time.perf_counter()
            release = fit_on(model, split.train, terms, report_fit)
            fitted = time.perf_counter()
            progress(100 * step + 80, 100 * steps, f"{name}{where}: predicting")
            measured = _measure(release, split.histories, split.test, split.mask, names)
            ended = time.perf_counter()
            _require_some(name, measured.estimates, names)
            outcomes[name].append(_Run(measured, fitted - started, ended - fitted, peak_memory_mb(), _promise(release)))
            step += 1
            del release, measured
    progress(100 * steps, 100 * steps, "done")
    rows = tuple(_row(name, model, outcomes[name]) for name, model in models.items())
    interval = OVER_USERS if protocol.runs == 1 else f"95 % intervals over {protocol.runs} {protocol.each}s (Student t)"
    return Report(data, protocol.describe(), rows, interval)


OVER_USERS = "95 % intervals over the users of one split (normal)"


# ── Measuring one release ──


@dataclass(frozen=True)
class _Measured:
    estimates: dict[str, Estimate]
    cdf: tuple[tuple[float, float], ...]


def _measure(
    release: Release, histories: Ratings, test: Ratings, mask: Ratings | None, names: Sequence[str]
) -> _Measured:
    for part in (test,) if mask is None else (test, mask):
        if part.users is not histories.users and not np.array_equal(part.users.names, histories.users.names):
            raise InputError("histories and test must list the same users in the same order")
    require(len(test) > 0, "there is nothing to test on: no rating was held out")
    on_ratings = [name for name in names if not _is_ranking(name)]
    on_ranks = [name for name in names if _is_ranking(name)]
    estimates: dict[str, Estimate] = {}
    cdf: tuple[tuple[float, float], ...] = ()
    if on_ratings and release.predicts_ratings:
        found, cdf = _measure_ratings(release, histories, test, on_ratings)
        estimates |= found
    if on_ranks:
        estimates |= _measure_ranks(release, histories, test, mask, on_ranks)
    return _Measured({name: estimates[name] for name in names if name in estimates}, cdf)


def _measure_ratings(
    release: Release, histories: Ratings, test: Ratings, names: Sequence[str]
) -> tuple[dict[str, Estimate], tuple[tuple[float, float], ...]]:
    predicted = release.predict(histories, test.user_index, test.item_index)
    sizes = np.abs(predicted.astype(np.float64) - test.values)
    if np.isnan(sizes).any():
        raise DiscreetError(f"{type(release.model).__name__} predicted a rating that is not a number")
    counts = np.diff(test.indptr)
    tested = counts > 0

    def over_users(per_rating: AnyArray, root: bool = False) -> Estimate:
        sums = np.bincount(test.user_index, weights=per_rating, minlength=test.n_users)
        return Estimate.over_users(sums[tested], counts[tested], root=root)

    estimates = {}
    for name in names:
        if name == "rmse":
            estimates[name] = over_users(sizes**2, root=True)
        elif name == "mae":
            estimates[name] = over_users(sizes)
        else:
            estimates[name] = over_users(sizes <= float(name.removeprefix("within ")) + TOLERANCE)
    grid = np.linspace(0, release.catalogue.scale.width, CDF_STEPS + 1)
    shares = np.searchsorted(np.sort(sizes), grid + TOLERANCE, side="right") / len(sizes)
    return estimates, tuple(zip(grid.tolist(), shares.tolist(), strict=True))


def _measure_ranks(
    release: Release, histories: Ratings, test: Ratings, mask: Ratings | None, names: Sequence[str]
) -> dict[str, Estimate]:
    require(not test.has_repeats, "some pairs are rated more than once: call ratings.merge('last') first")
    if _overlap(histories, test) or (mask is not None and _overlap(mask, test)):
        raise InputError(
            "some held-out ratings are also in the histories, whose items no ranking may hold; "
            "ask for metrics=('rmse', 'mae') to measure the error on ratings that were seen"
        )
    tested = np.flatnonzero(np.diff(test.indptr) > 0)
    if len(tested) < test.n_users:
        histories, test = histories.select_users(tested), test.select_users(tested)
        mask = None if mask is None else mask.select_users(tested)
    asked = {name: _cut(name) for name in names}
    deepest = max(asked.values())
    per_user: dict[str, list[Doubles]] = {name: [] for name in names}
    for first, scores in release.batches(histories):
        block = np.arange(first, first + len(scores))
        seen = [part.select_users(block) for part in (histories, mask) if part is not None]
        best = best_items(scores, seen, deepest)
        wanted = test.select_users(block)
        hits, held_out = find_hits(best, wanted), np.diff(wanted.indptr)
        for name, k in asked.items():
            formula = ndcg_at if name.startswith("ndcg") else recall_at
            per_user[name].append(formula(k, hits, held_out))
    ones = np.ones(test.n_users)
    return {name: Estimate.over_users(np.concatenate(blocks), ones) for name, blocks in per_user.items()}


def _overlap(known: Ratings, test: Ratings) -> bool:
    """Whether some pair is in both. Both are sorted by user and item, so their keys are too."""
    if len(known) == 0:
        return False
    known_keys = known.user_index.astype(np.int64) * known.n_items + known.item_index
    test_keys = test.user_index.astype(np.int64) * test.n_items + test.item_index
    places = np.minimum(np.searchsorted(known_keys, test_keys), len(known_keys) - 1)
    return bool(np.any(known_keys[places] == test_keys))


# ── Names of metrics ──


def check_metrics(names: Sequence[str]) -> tuple[str, ...]:
    """The same names, each once; raise if one of them is no metric.

    >>> check_metrics(["rmse", "ndcg@10", "within 0.25", "rmse"])
    ('rmse', 'ndcg@10', 'within 0.25')
    """
    require(not isinstance(names, str) and len(names) > 0, "metrics must be a list of names, for example ['rmse']")
    for name in names:
        kind, _, number = name.partition("@" if "@" in name else " ")
        known = name in ("rmse", "mae") if not number else kind in ("ndcg", "recall", "within")
        if not known or (kind != "within" and number and "@" not in name):
            raise UnknownNameError.among("metric", name, [*RATING_METRICS, *RANKING_METRICS])
        if kind == "within":
            require(_is_positive(number), f"'within' needs a positive number after it, got {name!r}")
        elif number:
            require(number.isdecimal() and int(number) > 0, f"a metric's k must be at least 1, got {name!r}")
    return tuple(dict.fromkeys(names))


def _is_positive(text: str) -> bool:
    try:
        return 0 < float(text) < float("inf")
    except ValueError:
        return False


def _is_ranking(name: str) -> bool:
    return "@" in name


def _cut(name: str) -> int:
    return int(name.partition("@")[2])


def _default_metrics(models: Mapping[str, Any], protocol: SplitProtocol) -> tuple[str, ...]:
    if protocol.task == "ranking":
        return RANKING_METRICS
    if all(isinstance(model, RatingModel) for model in models.values()):
        return RATING_METRICS
    return RATING_METRICS + RANKING_METRICS


def _require_some(model: str, estimates: Mapping[str, Estimate], names: Sequence[str]) -> None:
    require(
        len(estimates) > 0,
        f"{model} ranks items and does not predict ratings, so {', '.join(names)} cannot be measured; "
        "ask for a ranking metric, for example ndcg@10",
    )


# ── Rows ──


@dataclass(frozen=True)
class _Run:
    measured: _Measured
    fit_seconds: float
    predict_seconds: float
    peak_memory_mb: float | None
    guarantee: str | None


def _row(name: str, model: Any, runs: Sequence[_Run]) -> Row:
    first = runs[0].measured
    estimates: dict[str, Estimate] = first.estimates
    if len(runs) > 1:
        estimates = {
            metric: Estimate.over_runs([run.measured.estimates[metric].mean for run in runs]) for metric in estimates
        }
    shares = np.mean([[share for _, share in run.measured.cdf] for run in runs], axis=0)
    peaks = [run.peak_memory_mb for run in runs if run.peak_memory_mb is not None]
    return Row(
        model=name,
        metrics=estimates,
        fit_seconds=float(np.mean([run.fit_seconds for run in runs])),
        predict_seconds=float(np.mean([run.predict_seconds for run in runs])),
        peak_memory_mb=max(peaks) if peaks else None,
        guarantee=runs[0].guarantee,
        settings=_settings(model),
        cdf=tuple((x, float(share)) for (x, _), share in zip(first.cdf, shares, strict=True)),
    )


def _label(model: Any) -> str:
    from discreet.models.names import every_kind  # every model there is: loaded only here

    return next((name for name, kind in every_kind().items() if type(model) is kind), type(model).__name__)


def _settings(model: Any) -> dict[str, Any]:
    return dataclasses.asdict(model) if dataclasses.is_dataclass(model) and not isinstance(model, type) else {}


def _promise(release: Release) -> str | None:
    guarantee = release.guarantee
    return None if guarantee.proven is None and guarantee.claimed is None else str(guarantee)


def _part_of(progress: Progress, start: int, total: int, what: str) -> Progress:
    """The first 80 of the 100 steps of a run, as the progress of its fit."""

    def report(done: int, out_of: int, detail: str) -> None:
        progress(start + round(80 * done / max(1, out_of)), total, f"{what}: {detail}" if detail else what)

    return report


def _warm_up(model: Any) -> None:
    """Let numba compile or load what the model needs, on a few made-up ratings."""
    users, items = 12, 10
    rng = np.random.default_rng(0)
    pairs = np.sort(rng.choice(users * items, size=60, replace=False))
    tiny = Ratings.of_columns(
        Catalogue.of([str(item) for item in range(items)], Scale(1, 5)),
        Labels.of([str(user) for user in range(users)], what="user"),
        pairs // items,
        pairs % items,
        rng.integers(1, 6, len(pairs)),
    )
    train, test = tiny.split(test=0.2, seed=0)
    try:
        _measure(fit_on(model, train), train, test, None, RATING_METRICS + RANKING_METRICS)
    except Exception:  # whatever is wrong will be said about the real ratings, or is only too few of them
        return
