"""Measure one release, or fit and measure many models on the same splits."""

import logging
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from discreet.data.ratings import Ratings
from discreet.data.synthetic import synthetic
from discreet.doors import checked
from discreet.errors import DiscreetError, InputError, require, require_type, require_whole
from discreet.evaluation.measuring import measure
from discreet.evaluation.memory import peak_memory_mb, restart_peak_memory
from discreet.evaluation.metric_names import RANKING_METRICS, RATING_METRICS, default_metrics, is_ranking
from discreet.evaluation.metric_names import check_metrics as check_metrics
from discreet.evaluation.protocols import SplitProtocol
from discreet.evaluation.results import Estimate, Results
from discreet.evaluation.rows import Run, row_of, row_of_release
from discreet.evaluation.trials import AUTO, is_auto, trials_of
from discreet.fitting.audience import audience_of
from discreet.fitting.choosing import choose_for
from discreet.fitting.fit_on import NO_PRIVACY, fit_on
from discreet.models.almanac.planner import Purpose
from discreet.populations.asking import check_takes
from discreet.populations.terms import Terms
from discreet.releases.contract import Model
from discreet.releases.release import Release
from discreet.releases.tuning import look_of, looked
from discreet.types import Progress, no_progress

if TYPE_CHECKING:
    from discreet.privacy.budget import Budget

logger = logging.getLogger("discreet")

OVER_USERS = "95 % intervals over the users of one split (normal)"


@checked
def evaluate(
    release: Release,
    histories: Ratings,
    test: Ratings,
    *,
    mask: Ratings | None = None,
    metrics: Sequence[str] | None = None,
    account: str | None = None,
    budget: "Budget | None" = None,
) -> Results:
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
        ``"ndcg@10"``, ``"recall@20"``, ``"hit@10"``, ``"mrr@10"``, ``"coverage@10"``, ``"novelty@10"``. By default
        errors, NDCG and recall, as far as the release can answer.
    account, budget
        On which account of a budget it is written down that these ratings were looked at. The ratings themselves
        remember it in any case: settings that are chosen afterwards need a word, see :mod:`discreet.releases.tuning`.

    Returns
    -------
    Results
        One row; ``results["rmse"]`` is the mean. Intervals are over users.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> train, test = ratings.split(test=0.2, seed=1)
    >>> results = dc.evaluate(dc.Bias().fit(dc.NoPrivacy(train)), train, test)
    >>> 0 < results["mae"] < results["rmse"] < 2
    True
    """
    require_type(release, Release, "evaluate takes what a fit returned: write model.fit(...) for the release")
    for name, part in {"histories": histories, "test": test, "mask": mask}.items():
        if part is not None or name != "mask":
            require_type(part, Ratings, f"{name} must be Ratings")
    names = check_metrics(metrics if metrics is not None else [*RATING_METRICS, *RANKING_METRICS])
    for part in {id(part.looks): part for part in (test, histories)}.values():
        looked(part, "evaluate", [release.model], fitted=release.reading, account=account, budget=budget)
    if all(release.log is not part.looks for part in (test, histories)):  # one that was read from disk
        release.log.add(look_of("evaluate", [release.model], release.reading))
    restart_peak_memory()
    clock = time.perf_counter()
    measured = measure(release, histories, test, mask, names)
    seconds = time.perf_counter() - clock
    row = row_of_release(release, measured, seconds, peak_memory_mb())
    _require_some(row.model, measured.estimates, names)
    return Results("ratings", "as given", (row,), OVER_USERS if row.has_intervals else "")


@checked
def compare(
    models: Mapping[str, Any],
    ratings: Ratings,
    protocol: SplitProtocol,
    *,
    terms: Terms | Sequence[Terms] = NO_PRIVACY,
    data: str = "ratings",
    progress: Progress = no_progress,
    metrics: Sequence[str] | None = None,
    audience: int | None = None,
    purpose: Purpose = "both",
    account: str | None = None,
    budget: "Budget | None" = None,
) -> Results:
    """Fit every model on every split of the ratings, and measure it.

    Times are means over the splits and leave out the compilation of kernels: every model is first run
    on a handful of made-up ratings.

    Parameters
    ----------
    models
        Name to model; ``"auto"`` in place of a model is what ``discreet fit`` would choose, for each of the terms.
    ratings
        All ratings.
    protocol
        :class:`Folds`, :class:`HoldOut`, :class:`EachUser` or :class:`HeldOutUsers`.
    terms
        How much privacy each fit must give; by default none. A list compares several: every model is then fitted on
        those that it has a form for, for example ``[Terms(epsilon=1.0), Terms(epsilon=10.0), Terms()]``. What is
        measured here is computed from the held-out ratings themselves and is not private: it is for choosing a model,
        not for publishing.
    data
        What the results calls the data.
    progress
        Called as ``progress(done, total, what)``.
    metrics
        As for :func:`evaluate`. By default errors of ratings for ``Folds`` and ``HoldOut`` (with rankings
        beside them when some model only ranks), and rankings for the two others.
    audience, purpose
        For ``"auto"``: about how many users take part, as far as this is publicly known (by default 1000, or what is
        published of the data set that ``data`` names), and what a release would be for.
    account, budget
        As for :func:`evaluate`.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> results = dc.compare({"popularity": dc.Popularity()}, ratings, dc.evaluation.EachUser(seed=1))
    >>> 0 < results["ndcg@10"] < 1
    True
    """
    _check_what_is_compared(models, ratings, protocol, terms)
    if audience is not None:
        require_whole("audience", audience, least=1)
    implicit, catalogue = ratings.catalogue.scale.implicit, ratings.catalogue
    asked = () if metrics is None else check_metrics(metrics)
    wrong = [name for name in asked if implicit and not is_ranking(name)]
    require(not wrong, f"these data have no ratings, so there is no {' or '.join(wrong)}: measure ndcg@10, for example")
    named = [model for model in models.values() if not is_auto(model)]
    for model in named:
        check_takes(model, catalogue)
    if ratings.has_repeats:
        raise InputError("some pairs are rated more than once: call ratings.merge('last') first")
    users = audience_of(data, None).users if audience is None else audience
    trials = trials_of(models, terms, lambda one: choose_for(catalogue, users, one, purpose))
    names = asked or default_metrics({trial.label: trial.model for trial in trials}, protocol, implicit)
    chosen = dict.fromkeys(trial.model for trial in trials if trial.reason)
    ratings = looked(ratings, "compare", [*named, *chosen], account=account, budget=budget)
    outcomes: list[list[Run]] = [[] for _ in trials]
    step, steps = 0, protocol.runs * len(trials)
    for number, split in enumerate(protocol.splits(ratings), start=1):
        for trial, runs in zip(trials, outcomes, strict=True):
            where = f", {protocol.each} {number} of {protocol.runs}" if protocol.runs > 1 else ""
            if number == 1:
                progress(100 * step, 100 * steps, f"{trial.label}: getting ready")
                _warm_up(trial.model, trial.terms)
            report_fit = _part_of(progress, 100 * step, 100 * steps, f"{trial.label}{where}")
            report_fit(0, 1, "")
            restart_peak_memory()
            started = time.perf_counter()
            release = fit_on(trial.model, split.train, trial.terms, report_fit)
            fitted = time.perf_counter()
            progress(100 * step + 80, 100 * steps, f"{trial.label}{where}: predicting")
            measured = measure(release, split.histories, split.test, split.mask, names, split.train)
            ended = time.perf_counter()
            _require_some(trial.name, measured.estimates, names)
            runs.append(Run(measured, fitted - started, ended - fitted, peak_memory_mb(), release.guarantee))
            step += 1
            del release, measured
    progress(100 * steps, 100 * steps, "done")
    rows = tuple(row_of(trial, runs) for trial, runs in zip(trials, outcomes, strict=True))
    interval = OVER_USERS if protocol.runs == 1 else f"95 % intervals over {protocol.runs} {protocol.each}s (Student t)"
    return Results(data, protocol.describe(), rows, interval if any(row.has_intervals for row in rows) else "")


def _require_some(model: str, estimates: Mapping[str, Estimate], names: Sequence[str]) -> None:
    require(
        len(estimates) > 0,
        f"{model} ranks items and does not predict ratings, so {', '.join(names)} cannot be measured; "
        "ask for a ranking metric, for example ndcg@10",
    )


def _part_of(progress: Progress, start: int, total: int, what: str) -> Progress:
    """The first 80 of the 100 steps of a run, as the progress of its fit."""

    def advance(done: int, out_of: int, detail: str) -> None:
        progress(start + round(80 * done / max(1, out_of)), total, f"{what}: {detail}" if detail else what)

    return advance


def _check_what_is_compared(models: Any, ratings: Any, protocol: Any, terms: Any) -> None:
    require_type(models, Mapping, "models must be a dictionary of names and models, for example {'bias': Bias()}")
    require(len(models) > 0, "compare needs at least one model")
    require_type(ratings, Ratings, "compare takes Ratings, for example load('ml-100k')")
    divides = hasattr(protocol, "splits") and not isinstance(protocol, type)
    require(divides, "protocol must be Folds(), HoldOut(), EachUser() or HeldOutUsers(), with their settings")
    several = isinstance(terms, list | tuple) and len(terms) > 0
    for asked in terms if several else [terms]:
        require_type(asked, Terms, "terms must be Terms, for example Terms(epsilon=1.0), or a list of them")
    for name, model in models.items():
        require(
            is_auto(model) or (not isinstance(model, type) and hasattr(model, "fit") and isinstance(model, Model)),
            f"{name!r} is no model: give one with its settings, for example Bias(), or '{AUTO}' for what fit chooses",
        )


def _warm_up(model: Any, terms: Terms) -> bool:
    """Let numba compile or load what the model needs, on a few made-up ratings; tell whether that worked.

    A model may refuse so few ratings, or know another catalogue only; then its times hold the compilation. What else
    is wrong with it is said here already.
    """
    train, test = synthetic(users=12, items=10, ratings=60, seed=0).split(test=0.2, seed=0)
    try:
        measure(fit_on(model, train, terms), train, test, None, RATING_METRICS + RANKING_METRICS)
    except (DiscreetError, ValueError, LookupError, ArithmeticError) as error:
        logger.debug("%s was not warmed up: %s", type(model).__name__, type(error).__name__)
        return False
    return True
