"""``discreet evaluate`` and ``discreet compare``: how good models are on held-out ratings."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import DataOptions, Json, PrivacyOptions, Settings, SplitOptions, grouped, with_hint
from discreet.cli.outputs import check_file
from discreet.cli.pages import promise, write_report, write_report_and_pictures
from discreet.cli.private_forms import check_private, names_of_private_models
from discreet.cli.progress import bar
from discreet.cli.settings import parse_models, partial_settings, split_name
from discreet.cli.tables import document, note, say, table_of_numbers
from discreet.errors import InputError, UnknownNameError, require

if TYPE_CHECKING:
    from discreet.evaluation.results import Estimate, Report

Metrics = Annotated[
    str | None, typer.Option(metavar="NAMES", help="What to measure, for example rmse,mae,ndcg@10,recall@50.")
]


@grouped
def evaluate(
    *,
    models: Annotated[
        list[str], typer.Argument(metavar="MODEL...", help="Models by name; cosine:neighbours=100 has a setting.")
    ] = [],  # noqa: B006 (typer copies it; never empty, see check_words)
    source: DataOptions,
    splitting: SplitOptions,
    privacy: PrivacyOptions,
    settings: Settings = [],  # noqa: B006 (typer copies it)
    metrics: Metrics = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write a page with pictures.")] = None,
    json: Json = False,
) -> None:
    """Measure models on ratings that they were not fitted on."""
    check_words(models, source.data)
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
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Which models, separated by commas (default: all; with --epsilon, all that have a private form).",
        ),
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
    if models is not None:
        names = split_names(models, "--models", "bias,popularity")
    elif privacy.epsilon is not None:
        names = names_of_private_models(privacy.unit or "rating")
    else:
        from discreet.models.names import MODELS

        names = list(MODELS)
    report = measure(names, source, splitting, privacy, settings, metrics)
    pictures = write_report_and_pictures(report, page)
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
    names = None if metrics is None else read_metrics(metrics)
    for model in chosen.values():
        check_private(model, terms)
    for sentence in partial_settings(list(chosen), settings):
        note(sentence)
    from discreet.evaluation.comparison import compare

    with bar() as progress:
        ratings = source.load(progress)
        return compare(chosen, ratings, protocol, terms=terms, data=source.name, progress=progress, metrics=names)


def check_words(models: Sequence[str], data: str) -> None:
    """Raise if there is only one word: then it is DATA to the parser, whichever it was meant to be."""
    if models:
        return
    from discreet.models.names import every_kind

    is_model = split_name(data)[0] in every_kind()
    missing, usage = ("DATA", f"{data} DATA") if is_model else ("MODEL", f"MODEL... {data}")
    raise InputError(f"{missing} is missing: write `discreet evaluate {usage}`")


def read_metrics(text: str) -> list[str]:
    """The metrics that ``--metrics`` names; a name that is none is refused here, before any work."""
    from discreet.evaluation.metric_names import check_metrics

    names = split_names(text, "--metrics", "rmse,ndcg@10")
    try:
        return list(check_metrics(names))
    except UnknownNameError as error:
        raise with_hint(error, "there are rmse, mae, within X, ndcg@K and recall@K, for example ndcg@10") from None


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
