"""From runs to the rows of a report."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.evaluation.measuring import Measured
from discreet.evaluation.results import Estimate, Row
from discreet.models.release import Release


@dataclass(frozen=True)
class Run:
    """One model on one split."""

    measured: Measured
    fit_seconds: float
    predict_seconds: float
    peak_memory_mb: float | None
    guarantee: str | None


def row_of(name: str, model: Any, runs: Sequence[Run]) -> Row:
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
        model=name,
        metrics=estimates,
        fit_seconds=float(np.mean([run.fit_seconds for run in runs])),
        predict_seconds=float(np.mean([run.predict_seconds for run in runs])),
        peak_memory_mb=max(peaks) if peaks else None,
        guarantee=runs[0].guarantee,
        settings=settings_of(model),
        cdf=tuple((x, float(share)) for (x, _), share in zip(first.cdf, shares, strict=True)),
    )


def label_of(model: Any) -> str:
    """What the table of names calls a model."""
    from discreet.models.names import every_kind  # every model there is: loaded only here

    return next((name for name, kind in every_kind().items() if type(model) is kind), type(model).__name__)


def settings_of(model: Any) -> dict[str, Any]:
    """A model's settings as plain data."""
    return dataclasses.asdict(model) if dataclasses.is_dataclass(model) and not isinstance(model, type) else {}


def promise_of(release: Release) -> str | None:
    """What a release promises to the users, in words, or None for nothing."""
    guarantee = release.guarantee
    return None if guarantee.proven is None and guarantee.claimed is None else str(guarantee)
