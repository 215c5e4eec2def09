"""What metrics are called: ``rmse``, ``mae``, ``within 0.5``, ``ndcg@10``, ``recall@20``, ``hit@10`` and so on."""

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.errors import UnknownNameError, require, require_type
from discreet.evaluation.protocols import SplitProtocol
from discreet.releases.contract import RatingModel

RATING_METRICS = ("rmse", "mae", "within 0.5", "within 1")
RANKING_METRICS = ("ndcg@10", "ndcg@100", "recall@20", "recall@50")
RANKING_KINDS = ("ndcg", "recall", "hit", "mrr", "coverage", "novelty")
"""Metrics of rankings, each with a k: ``hit@10``."""


def check_metrics(names: Sequence[str]) -> tuple[str, ...]:
    """The same names, each once; raise if one of them is no metric.

    >>> check_metrics(["rmse", "ndcg@10", "within 0.25", "rmse"])
    ('rmse', 'ndcg@10', 'within 0.25')
    """
    several = isinstance(names, Sequence) and not isinstance(names, str) and len(names) > 0
    require(several, "metrics must be a list of names, for example ['rmse']")
    for name in names:
        require_type(name, str, "metrics must be a list of names, for example ['rmse']")
        kind, _, number = name.partition("@" if "@" in name else " ")
        known = name in ("rmse", "mae") if not number else kind in (*RANKING_KINDS, "within")
        if not known or (kind != "within" and number and "@" not in name):
            others = [f"{kind}@10" for kind in RANKING_KINDS[2:]]
            raise UnknownNameError.among("metric", name, [*RATING_METRICS, *RANKING_METRICS, *others])
        if kind == "within":
            require(_is_positive(number), f"'within' needs a positive number after it, got {name!r}")
        elif number:
            require(number.lstrip("-").isdecimal(), f"a metric's k must be a whole number, as in ndcg@10, got {name!r}")
            require(len(number) <= 9, "a metric's k must be below 1,000,000,000")
            require(int(number) > 0, f"a metric's k must be at least 1, got {name!r}")
    return tuple(dict.fromkeys(names))


def _is_positive(text: str) -> bool:
    try:
        return 0 < float(text) < float("inf")
    except ValueError:
        return False


def is_ranking(name: str) -> bool:
    """Whether the metric is of rankings, not of predicted ratings.

    >>> is_ranking("ndcg@10"), is_ranking("mae")
    (True, False)
    """
    return "@" in name


def cut_of(name: str) -> int:
    """The k of a metric of rankings.

    >>> cut_of("ndcg@10")
    10
    """
    return int(name.partition("@")[2])


def default_metrics(models: Mapping[str, Any], protocol: SplitProtocol, implicit: bool = False) -> tuple[str, ...]:
    """What is measured when nobody says what: it follows the protocol, the data, and what the models can answer."""
    if implicit or protocol.task == "ranking":
        return RANKING_METRICS
    if all(isinstance(model, RatingModel) for model in models.values()):
        return RATING_METRICS
    return RATING_METRICS + RANKING_METRICS
