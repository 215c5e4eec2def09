"""``discreet evaluate`` and ``discreet compare``: how good models are on held-out ratings."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import DataOptions, Json, PrivacyOptions, Settings, SplitOptions, grouped
from discreet.cli.outputs import check_file
from discreet.cli.pages import promise, write_pictures, write_report
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
    privacy: PrivacyOptions,
    settings: Settings = [],  # noqa: B006 (typer copies it)
    metrics: Metrics = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write a page with pictures.")] = None,
    json: Json = False,
) -> None:
    """Measure models on ratings that they were not fitted on."""
    if html:
        check_file(html)
    report = measure(models, source, splitting, privacy, settings, metrics)
    if html:
        write_report(report, html)
    if json:
        document(report.to_json())
        return
    print_report(report)
    if html:
        say(f"The page is {html}")


@grouped
def compare(
    source: DataOptions,
    splitting: SplitOptions,
    privacy: PrivacyOptions,
    models: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Which models, separated by commas (default: all).")
    ] = None,
    settings: Settings = [],  # noqa: B006 (typer copies it)
    metrics: Metrics = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for the page and its pictures.")
    ] = Path("discreet-comparison"),
    json: Json = False,
) -> None:
    """Compare models in a table and on a page with pictures."""
    page = output / "report.html"
    check_file(page)
    if models is None:
        from discreet.models.names import MODELS

        names = list(MODELS)
    else:
        names = split_names(models, "--models", "bias,popularity")
    report = measure(names, source, splitting, privacy, settings, metrics)
    write_report(report, page)
    pictures = write_pictures(report, output)
    if json:
        document(report.to_json() | {"page": str(page), "pictures": [str(picture) for picture in pictures]})
        return
    print_report(report)
    say(f"The page is {page}")
    say(f"The pictures are {', '.join(map(str, pictures))}")


def measure(
    models: list[str],
    source: DataOptions,
    splitting: SplitOptions,
    privacy: PrivacyOptions,
    settings: list[str],
    metrics: str | None,
) -> "Report":
    """Fit and measure; everything that can be wrong with the command is found before the data are read."""
    chosen = parse_models(models, settings)
    protocol, terms = splitting.protocol(), privacy.terms()
    names = None if metrics is None else split_names(metrics, "--metrics", "rmse,ndcg@10")
    from discreet.evaluation.comparison import compare

    with bar() as progress:
        ratings = source.load(progress)
        return compare(chosen, ratings, protocol, terms=terms, data=source.name, progress=progress, metrics=names)


def split_names(text: str, option: str, example: str) -> list[str]:
    """Names that were written with commas between them."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    require(bool(names), f"{option} needs names, for example {example}")
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
    say(promise(report))


def _estimate(estimate: "Estimate | None") -> str:
    if estimate is None:
        return "-"
    return f"{estimate.mean:.4f} ±" + f"{(estimate.high - estimate.low) / 2:.4f}".removeprefix("0")


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"
