"""From runs to the rows of results."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.evaluation.measuring import MetricEstimates
from discreet.evaluation.results import Estimate, Row
from discreet.evaluation.trials import Trial
from discreet.names import is_listed, name_of
from discreet.privacy.guarantee import Guarantee
from discreet.releases.release import Release


@dataclass(frozen=True)
class Run:
    """One model on one split."""

    measured: MetricEstimates
    fit_seconds: float
    predict_seconds: float
    peak_memory_mb: float | None
    guarantee: Guarantee


def row_of(trial: Trial, runs: Sequence[Run]) -> Row:
    """How a model did over all splits: with several, intervals are over them; with one, over its users."""
    first = runs[0].measured
    estimates: dict[str, Estimate] = first.estimates
    if len(runs) > 1:
        estimates = {
            metric: Estimate.over_runs([run.measured.estimates[metric].mean for run in runs]) for metric in estimates
        }
    shares = np.mean([[share for _, share in run.measured.cdf] for run in runs], axis=0)
    peaks = [run.peak_memory_mb for run in runs if run.peak_memory_mb is not None]
    return Row(
        model=trial.name,
        metrics=estimates,
        fit_seconds=float(np.mean([run.fit_seconds for run in runs])),
        predict_seconds=float(np.mean([run.predict_seconds for run in runs])),
        peak_memory_mb=max(peaks) if peaks else None,
        settings=settings_of(trial.model),
        cdf=tuple((x, float(share)) for (x, _), share in zip(first.cdf, shares, strict=True)),
        epsilon=trial.epsilon,
        chosen=name_of(type(trial.model)) if trial.reason else None,
        reason=trial.reason or None,
        **promise_of(runs[0].guarantee),
    )


def row_of_release(release: Release, measured: MetricEstimates, seconds: float, peak_memory_mb: float | None) -> Row:
    """How one release did."""
    promised, kind = release.guarantee.proven or release.guarantee.claimed, type(release.model)
    return Row(
        model=name_of(kind) if is_listed(kind) else kind.__name__,
        metrics=measured.estimates,
        predict_seconds=seconds,
        peak_memory_mb=peak_memory_mb,
        settings=settings_of(release.model),
        cdf=measured.cdf,
        epsilon=None if promised is None else promised.epsilon,
        **promise_of(release.guarantee),
    )


def settings_of(model: Any) -> dict[str, Any]:
    """A model's settings as plain data."""
    return dataclasses.asdict(model) if dataclasses.is_dataclass(model) and not isinstance(model, type) else {}


def promise_of(guarantee: Guarantee) -> dict[str, Any]:
    """What a release promises to the users: in words, of which kind, and for which unit; None for nothing."""
    if guarantee.proven is None and guarantee.claimed is None:
        return {"guarantee": None, "promise": None, "unit": None}
    return {
        "guarantee": str(guarantee),
        "promise": "claimed" if guarantee.proven is None else "proven",
        "unit": None if guarantee.unit is None else guarantee.unit.name,
    }
