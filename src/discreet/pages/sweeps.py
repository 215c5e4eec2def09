"""Reports with several epsilons in words and tables: models down, epsilons across."""

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.evaluation.results import Results, Row
from discreet.pages.curves import Rows
from discreet.pages.page import Pictures, Section
from discreet.pages.privacy_charts import privacy_chart
from discreet.pages.words import display_name, estimated, is_error, leading_metrics

WORTH = {"proven": "proven", "claimed": "only claimed", None: "none"}


@dataclass(frozen=True)
class Grid:
    """One metric of every model at every epsilon, as text."""

    metric: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def grid_of(results: Results, metric: str) -> Grid:
    """Models by epsilons; the last columns are without privacy, and what the guarantee is worth.

    >>> from discreet.evaluation.results import Estimate
    >>> rows = [Row("a", {"rmse": Estimate(0.9, 0.8, 1.0)}, epsilon=1.0, promise="proven", unit="user")]
    >>> grid_of(Results("films", "", tuple(rows)), "rmse").rows
    (('a', '0.9000 ±.1000', '-', 'proven'),)
    """
    epsilons = [epsilon for epsilon in results.epsilons if epsilon > 0]
    body = []
    for model in results.models:
        rows = [row for row in results.rows if row.model == model and metric in row.metrics]
        if not rows:
            continue
        found = {row.epsilon: row.metrics[metric] for row in rows}
        cells = [estimated(found.get(epsilon, found.get(0.0))) for epsilon in (*epsilons, None)]
        body.append((model, *cells, guarantee_of(rows)))
    head = ("model", *(f"epsilon {epsilon:g}" for epsilon in epsilons), "no privacy", "guarantee")
    return Grid(metric, head, tuple(body))


def guarantee_of(rows: Sequence[Row]) -> str:
    """What the guarantee of a model is worth, in a few words.

    >>> guarantee_of([Row("a", {}, epsilon=1.0, promise="claimed", unit="rating"), Row("a", {})])
    'only claimed, for one rating'
    """
    private = [row for row in rows if row.epsilon is not None]
    if not private:
        return "none"
    if all(row.epsilon == 0 for row in private):
        return "asks for nothing"
    row = private[0]
    return WORTH[row.promise] + (f", for one {row.unit}" if row.promise == "claimed" and row.unit else "")


def sweep_sections(results: Results) -> list[Section]:
    """The picture of what privacy costs, and a table for each of its panels."""
    sections: list[Section] = [
        Pictures(
            title="What privacy costs",
            text="Every model that has a private form, at every epsilon. The line above is the best of all without "
            "privacy; the line below is what a user's own ratings and public facts give for nothing.",
            pictures=[privacy_chart(results)],
            lead=True,
        )
    ]
    for metric in leading_metrics(results):
        grid = grid_of(results, metric)
        better = "lower is better" if is_error(metric) else "higher is better"
        sections.append(Rows(title=f"{display_name(metric)}, {better}", columns=grid.columns, rows=grid.rows))
    return sections
