"""``discreet evaluate`` and ``discreet compare``: how good models are on held-out ratings."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import Json, Settings, DataOptions, SplitOptions, grouped
from discreet.cli.outputs import check_file
from discreet.cli.progress import bar
from discreet.cli.settings import parse_models
from discreet.cli.tables import document, say, table_of_numbers
from discreet.errors import require

if TYPE_CHECKING:
    from discreet.evaluation.results import Estimate, Report

Metrics = Annotated[
    str | None, typer.Option(metavar="NAMES", help="What to measure, for example rmse,mae,ndcg@10,recall@50.")
]


@grouped
def evaluate(
    models: Annotated[
        list[str], typer.Argument(metavar="MODEL...", help="Models by name; cosine:neighbours=100 has a setting.")
    ],
    source: DataOptions,
    splitting: SplitOptions,
    settings: Settings = [],  # noqa: B006 (typer copies it)
    metrics: Metrics = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write a page with pictures.")] = None,
    json: Json = False,
) -> None:
    """Measure models on ratings that they were not fitted on."""
    if html:
        check_file(html)
    report = measure(models, source, splitting, settings, metrics)
    if json:
        document(report.to_json())
        return
    print_report(report)
    if html:
        say(f"The page is in {html}.")


@grouped
def compare(
    source: DataOptions,
    splitting: SplitOptions,
    models: Annotated[str | None, typer.Option(metavar="NAMES", help="Only these, separated by commas.")] = None,
    settings: Settings = [],  # noqa: B006 (typer copies it)
    metrics: Metrics = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for the page and its pictures.")
    ] = Path("discreet-comparison"),
    json: Json = False,
) -> None:
    """Compare all models on one page with pictures."""


def measure(
    models: list[str], source: DataOptions, splitting: SplitOptions, settings: list[str], metrics: str | None
) -> "Report":
    """Fit and measure; everything that can be wrong with the command is found before the data are read."""
    chosen = parse_models(models, settings)
    protocol = splitting.protocol()
    names = parse_metrics(metrics)
    from discreet.evaluation.comparison import compare

    with bar() as progress:
        ratings = source.load(progress)
        return compare(chosen, ratings, protocol, data=source.name, progress=progress, metrics=names)


def parse_metrics(text: str | None) -> list[str] | None:
    """Names of metrics, separated by commas."""
    if text is None:
        return None
    names = [name.strip() for name in text.split(",") if name.strip()]
    require(bool(names), "--metrics needs names, for example rmse,mae")
    return names


def print_report(report: "Report") -> None:
    """The report as a table, with how it was made above and what it promises below."""
    names = report.metric_names
    table_of_numbers(
        f"{report.data}: {report.split}",
        ("model", *names, "fit s", "predict s", "memory MB"),
        [
            (
                row.model,
                *(_estimate(row.metrics.get(name)) for name in names),
                _number(row.fit_seconds, 2),
                _number(row.predict_seconds, 2),
                _number(row.peak_memory_mb, 0),
            )
            for row in report.rows
        ],
    )
    if report.interval:
        say(report.interval + ".")
    for sentence in dict.fromkeys(row.guarantee for row in report.rows):
        say(sentence or "No privacy: the models were fitted on exact ratings or exact sums of them.")


def _estimate(estimate: "Estimate | None") -> str:
    if estimate is None:
        return "-"
    return f"{estimate.mean:.4f} ±" + f"{(estimate.high - estimate.low) / 2:.4f}".removeprefix("0")


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"
