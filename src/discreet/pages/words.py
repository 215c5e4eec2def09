"""What reports call things: metrics as people write them, what they mean, and which rows come first."""

from collections.abc import Sequence

from discreet.evaluation.results import Estimate, Results, Row

MEASURED = (
    "What is measured here comes from held-out ratings and is not private: it is for choosing, not for publishing."
)
"""Beside every promise of the releases that were measured."""
SHOWN = "Nor is what is shown of the ratings themselves."
MEANINGS = {
    "ndcg": "NDCG@{k}: how many held-out items are among the {k} best, early places counting more.",
    "recall": "Recall@{k}: the share of held-out items found among the {k} best.",
    "hit": "Hit@{k}: the share of users with a held-out item among their {k} best.",
    "mrr": "MRR@{k}: one over the place of the first held-out item, 0 where none is among the {k} best.",
    "coverage": "coverage@{k}: the share of the catalogue that is among somebody's {k} best.",
    "novelty": "novelty@{k}: how rare the {k} best items are among all users' known ratings, in bits.",
    "rmse": "RMSE: how far predictions lie from held-out ratings, large errors counting more.",
    "mae": "MAE: how far predictions lie from held-out ratings, on average.",
}


def estimated(estimate: Estimate | None) -> str:
    """A mean and half the width of its interval, if it has one; a dash where nothing was measured."""
    return "-" if estimate is None else f"{estimate.mean:.4f} {half_width(estimate)}".rstrip()


def half_width(estimate: Estimate) -> str:
    """Half the width of an interval; empty where there is none.

    >>> half_width(Estimate(0.9, 0.8, 1.0)), half_width(Estimate(0.9, None, None))
    ('±.1000', '')
    """
    return "" if estimate.half is None else "±" + f"{estimate.half:.4f}".removeprefix("0")


def between(estimate: Estimate) -> str:
    """A mean and both ends of its interval, if it has one.

    >>> between(Estimate(0.9, 0.8, 1.0)), between(Estimate(0.9, None, None))
    ('0.9000 (0.8000 to 1.0000)', '0.9000')
    """
    ends = "" if estimate.half is None else " ({:.4f} to {:.4f})".format(*estimate.ends)
    return f"{estimate.mean:.4f}{ends}"


def bars(results: Results, metrics: Sequence[str]) -> str:
    """What the bars of a picture of these metrics are, as a clause; empty where none of them has an interval."""
    drawn = any(row.metrics[name].half is not None for row in results.rows for name in metrics if name in row.metrics)
    return f"{results.interval or '95 % intervals'}, drawn as bars" if drawn else ""


def leading_metrics(results: Results) -> list[str]:
    """The one metric of ratings and the one of rankings that tell most."""
    names = results.metric_names
    ratings = [name for name in ("rmse", "mae", *names) if name in names and "@" not in name]
    rankings = [name for name in ("ndcg@100", "ndcg@10", *names) if name in names and "@" in name]
    return [*ratings[:1], *rankings[:1]]


def is_error(metric: str) -> bool:
    """Whether a lower value is better."""
    return metric in ("rmse", "mae")


def display_name(metric: str) -> str:
    """How people write a metric: ``RMSE``, ``NDCG@10``, ``Recall@20``, ``within 0.5``."""
    kind, at, k = metric.partition("@")
    names = {"rmse": "RMSE", "mae": "MAE", "ndcg": "NDCG", "recall": "Recall", "hit": "Hit", "mrr": "MRR"}
    return f"{names.get(kind, kind)}{at}{k}"


def ordered_rows(results: Results, metric: str) -> list[Row]:
    """The rows that have the metric, best first."""
    rows = [row for row in results.rows if metric in row.metrics]
    return sorted(rows, key=lambda row: row[metric] if is_error(metric) else -row[metric])


def meaning(metric: str) -> str:
    """What a metric measures, in a sentence."""
    kind, _, k = metric.partition("@")
    return MEANINGS.get(kind, "Share of held-out ratings predicted {metric}.").format(k=k, metric=metric)


def file_name(metric: str) -> str:
    """A metric as part of the name of a file."""
    return metric.replace("@", "-").replace(" ", "-")


def count_of(number: int, what: str) -> str:
    """A number and what it counts.

    >>> count_of(1, "model"), count_of(2, "model")
    ('1 model', '2 models')
    """
    return f"{number} {what}{'' if number == 1 else 's'}"
