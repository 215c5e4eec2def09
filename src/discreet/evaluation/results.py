"""What came out: numbers with their intervals, a row for each model."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.special import stdtrit

from discreet import markup
from discreet.errors import InputError, UnknownNameError
from discreet.types import AnyArray

if TYPE_CHECKING:
    import polars as pl

NORMAL_95 = 1.959964
MEASURED = ("fit_seconds", "predict_seconds", "peak_memory_mb")
"""What a row knows of the fit besides its metrics."""
PROMISED, CHOSEN = ("epsilon", "promise", "unit", "guarantee"), ("chosen", "reason")


@dataclass(frozen=True)
class Estimate:
    """A mean and its 95 % confidence interval.

    With several folds or seeds the interval is Student's over their values (:meth:`over_runs`). With a
    single split it is the normal one over users (:meth:`over_users`), because the users are what was
    drawn: two ratings by one user are no independent witnesses. One run, or one user, has no interval:
    its ends are None.

    Examples
    --------
    >>> estimate = Estimate.over_runs([0.9, 1.0, 1.1])
    >>> f"{estimate.mean:.2f} ({estimate.low:.2f} to {estimate.high:.2f})"
    '1.00 (0.75 to 1.25)'
    """

    mean: float
    low: float | None
    high: float | None
    values: tuple[float, ...] = ()

    @classmethod
    def over_runs(cls, values: Sequence[float]) -> "Estimate":
        """Student's t interval over folds or seeds; a single value has none."""
        count, mean = len(values), math.fsum(values) / len(values)
        if count == 1:
            return cls(mean, None, None, tuple(values))
        spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (count - 1) / count)
        half = float(stdtrit(count - 1, 0.975)) * spread
        return cls(mean, max(0.0, mean - half), mean + half, tuple(values))  # no metric is negative

    @classmethod
    def over_users(cls, sums: AnyArray, weights: AnyArray, *, root: bool = False) -> "Estimate":
        """A ratio of sums over users, m = Σ sums / Σ weights, with the normal interval that users give it.

        The variance of such a ratio is Σ (sum − m · weight)² / (Σ weights)², times n / (n − 1). With
        ``root`` the square root is taken of the mean and of both ends. One user gives no interval.
        """
        count, total = len(sums), float(np.sum(weights))
        mean = float(np.sum(sums)) / total
        if count == 1:
            mean = math.sqrt(mean) if root else mean
            return cls(mean, None, None, (mean,))
        half = NORMAL_95 * math.sqrt(float(np.sum((sums - mean * weights) ** 2)) * count / (count - 1)) / total
        low, high = max(0.0, mean - half), mean + half
        if root:
            mean, low, high = math.sqrt(mean), math.sqrt(low), math.sqrt(high)
        return cls(mean, low, high, (mean,))

    @property
    def half(self) -> float | None:
        """Half the width of the interval; None where there is none."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2

    @property
    def ends(self) -> tuple[float, float]:
        """What to draw: both ends of the interval, or the mean itself where there is none."""
        return (self.mean, self.mean) if self.low is None or self.high is None else (self.low, self.high)

    def __str__(self) -> str:
        return f"{self.mean:.4f}" + ("" if self.half is None else f" ±{self.half:.4f}")


@dataclass(frozen=True)
class Row:
    """How one model did.

    Parameters
    ----------
    model
        What it is called.
    metrics
        Name to estimate.
    fit_seconds, predict_seconds
        Mean over the splits; None where it was not measured.
    peak_memory_mb
        The most memory that the process held while it fitted and predicted, the data included; None
        where the system does not say.
    guarantee
        What the release promises to the users, in words, or None for nothing.
    settings
        The model's settings.
    cdf
        Pairs (x, share of predicted ratings that are off by at most x); empty for a model that only ranks.
    epsilon
        How much privacy it was fitted with; 0 where nothing was asked of the users, None for no privacy.
    promise
        Whether the guarantee is ``proven``, or only ``claimed`` by a paper; None where there is none.
    unit
        Whose secret it is about: ``rating`` or ``user``.
    chosen, reason
        Where a rule chose the model (``auto``), which one, and why in a sentence; None where it was named.
    """

    model: str
    metrics: Mapping[str, Estimate]
    fit_seconds: float | None = None
    predict_seconds: float | None = None
    peak_memory_mb: float | None = None
    guarantee: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    cdf: tuple[tuple[float, float], ...] = ()
    epsilon: float | None = None
    promise: Literal["proven", "claimed"] | None = None
    unit: str | None = None
    chosen: str | None = None
    reason: str | None = None

    def __getitem__(self, metric: str) -> float:
        if metric not in self.metrics:
            raise UnknownNameError.among(f"metric of {self.model}", str(metric), self.metrics)
        return self.metrics[metric].mean

    @property
    def has_intervals(self) -> bool:
        """Whether some metric has one: one user under test gives none, and coverage none from one split."""
        return any(estimate.half is not None for estimate in self.metrics.values())

    def keys(self) -> tuple[str, ...]:
        """The metrics; so ``dict(row)`` is their means."""
        return tuple(self.metrics)

    def __iter__(self) -> Iterator[str]:
        return iter(self.metrics)

    def __len__(self) -> int:
        return len(self.metrics)

    def __contains__(self, metric: object) -> bool:
        return metric in self.metrics


@dataclass(frozen=True, repr=False)
class Results:
    """A table of models and metrics. Print it, index it, or take it :meth:`to_frame` or :meth:`to_json`.

    It reads like a dictionary: of the metrics where there is one row, of the rows by model otherwise. Where models were
    fitted with several epsilons, :meth:`at` picks one of them first.

    Parameters
    ----------
    data
        Name of the data set.
    split
        How it was divided, in words.
    rows
        One for each model.
    interval
        What the intervals are over, in words.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> models = {"bias": dc.Bias(), "plain": dc.Bias(item_damping=0)}
    >>> results = dc.compare(models, ratings, dc.evaluation.Folds(count=2))
    >>> results["bias"]["rmse"] < results["plain"]["rmse"]
    True
    >>> sorted(results.to_json())
    ['data', 'rows', 'split']
    >>> list(results), results.to_frame()["model"].to_list()
    (['bias', 'plain'], ['bias', 'plain'])
    """

    data: str
    split: str
    rows: tuple[Row, ...]
    interval: str = ""

    def __getitem__(self, name: str) -> Any:
        """The mean of a metric where there is one row; the row of a model otherwise."""
        found = [row for row in self.rows if row.model == name]
        if len(found) == 1:
            return found[0]
        if found:
            raise InputError(f"{name} was fitted with several epsilons: write results.at({found[0].epsilon})[{name!r}]")
        if len(self.rows) == 1:
            return self.rows[0][name]
        if name in self.metric_names:
            example = next(row.model for row in self.rows if name in row.metrics)
            raise InputError(
                f"the results have {len(self.rows)} models: write results[{example!r}][{name!r}] for one of them"
            )
        raise UnknownNameError.among("model in the results", str(name), [row.model for row in self.rows])

    def keys(self) -> tuple[str, ...]:
        """What ``results[...]`` takes: metrics where there is one row, models otherwise; so ``dict(results)`` works."""
        return self.metric_names if len(self.rows) == 1 else self.models

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.keys())

    def __contains__(self, name: object) -> bool:
        return name in self.keys() or any(row.model == name for row in self.rows)

    @property
    def models(self) -> tuple[str, ...]:
        """The models, each once, in order."""
        return tuple(dict.fromkeys(row.model for row in self.rows))

    @property
    def choices(self) -> tuple[str, ...]:
        """What ``auto`` chose and why, a sentence each; empty where all models were named."""
        return tuple(dict.fromkeys(f"{row.model}: {row.reason}." for row in self.rows if row.reason))

    @property
    def epsilons(self) -> tuple[float, ...]:
        """The epsilons that models were fitted with, smallest first; rows without privacy have none."""
        return tuple(sorted({row.epsilon for row in self.rows if row.epsilon is not None}))

    def at(self, epsilon: float | None) -> "Results":
        """The rows that were fitted with this epsilon; None for those without privacy.

        >>> import discreet as dc
        >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
        >>> terms = [dc.Terms(epsilon=epsilon, unit="user") for epsilon in (1.0, 10.0)]
        >>> models, terms = {"popularity": dc.Popularity()}, [*terms, dc.Terms()]
        >>> results = dc.compare(models, ratings, dc.evaluation.HoldOut(), terms=terms)
        >>> results.epsilons, results.at(10.0)["ndcg@10"] > 0
        ((1.0, 10.0), True)
        """
        rows = tuple(row for row in self.rows if row.epsilon == epsilon)
        if not rows:
            known = ", ".join(f"{value:g}" for value in self.epsilons) or "none"
            raise InputError(f"no model of the results was fitted with epsilon {epsilon}; there are {known}")
        return replace(self, rows=rows)

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The metrics that some row has, in order."""
        fullest_first = sorted(self.rows, key=lambda row: -len(row.metrics))
        return tuple(dict.fromkeys(name for row in fullest_first for name in row.metrics))

    def to_json(self) -> dict[str, Any]:
        """The results as plain dictionaries, lists, strings and numbers, ready for ``json.dumps``."""
        return {
            "data": self.data,
            "split": self.split,
            "rows": [
                {
                    "model": row.model,
                    "metrics": {
                        name: {"mean": estimate.mean, "low": estimate.low, "high": estimate.high}
                        for name, estimate in row.metrics.items()
                    },
                    **{name: getattr(row, name) for name in (*MEASURED, *PROMISED, *CHOSEN)},
                }
                for row in self.rows
            ],
        }

    def to_frame(self) -> "pl.DataFrame":
        """A polars frame with one row for each model, and for each epsilon that it was fitted with.

        Columns: the model; the epsilon; for each metric its mean and the ends of its interval (``rmse``, ``rmse low``,
        ``rmse high``); seconds, memory and guarantee. What was not measured is null.
        """
        import polars as pl

        columns = [
            pl.Series("model", [row.model for row in self.rows], dtype=pl.String),
            pl.Series("epsilon", [row.epsilon for row in self.rows], dtype=pl.Float64),
        ]
        for name in self.metric_names:
            found = [row.metrics.get(name) for row in self.rows]
            for end, label in (("mean", name), ("low", f"{name} low"), ("high", f"{name} high")):
                values = [None if estimate is None else getattr(estimate, end) for estimate in found]
                columns.append(pl.Series(label, values, dtype=pl.Float64))
        columns.extend(
            pl.Series(name, [getattr(row, name) for row in self.rows], dtype=pl.Float64) for name in MEASURED
        )
        columns.append(pl.Series("guarantee", [row.guarantee for row in self.rows], dtype=pl.String))
        return pl.DataFrame(columns)

    def __repr__(self) -> str:
        return str(self)

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        """The head and the rows of the table."""
        names = self.metric_names
        head = ["model", *names, "fit s", "predict s", "memory MB", "guarantee"]
        several = len(self.models) < len(self.rows)
        body = [
            [
                f"{row.model}, epsilon {row.epsilon:g}" if several and row.epsilon is not None else row.model,
                *(str(row.metrics[name]) if name in row.metrics else "-" for name in names),
                _number(row.fit_seconds, 3),
                _number(row.predict_seconds, 3),
                _number(row.peak_memory_mb, 0),
                row.guarantee or "none",
            ]
            for row in self.rows
        ]
        return head, body

    def _repr_html_(self) -> str:
        """The table for a notebook."""
        head, body = self._cells()
        said = f"{self.data}: {self.split}"
        notes = [markup.paragraph(text, small=True) for text in (self.interval, *self.choices) if text]
        return markup.box(markup.table(head, body, right=head[1:-1], caption=said), *notes)

    def __str__(self) -> str:
        head, body = self._cells()
        widths = [max(len(line[column]) for line in [head, *body]) for column in range(len(head))]
        lines = [
            "  ".join(
                cell.ljust(width) if column in (0, len(head) - 1) else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in [head, ["─" * width for width in widths], *body]
        ]
        return "\n".join([f"{self.data}: {self.split}", *lines, *filter(None, [self.interval]), *self.choices])


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"
