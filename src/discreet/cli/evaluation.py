"""``discreet evaluate`` and ``discreet compare``: how good models are on held-out ratings, and what privacy costs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import options
from discreet.cli.progress import bar
from discreet.cli.purposes import check_purpose, note_purpose
from discreet.cli.settings import AUTO, check_auto, names_a_model, parse_models, partial_settings
from discreet.cli.tables import document, note, say, table_of_numbers
from discreet.errors import InputError, UnknownNameError, require
from discreet.fitting.outputs import check_file

if TYPE_CHECKING:
    from discreet.evaluation.results import Results
    from discreet.models.almanac.planner import Purpose
    from discreet.populations.terms import Terms

Metrics = Annotated[
    str | None,
    typer.Option(metavar="NAMES", help="What to measure, for example rmse,mae,ndcg@10,recall@50,hit@10,coverage@10."),
]


@options.grouped
def evaluate(
    *,
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL...", help="Models by name; cosine:neighbours=100 has a setting, auto is what fit chooses."
        ),
    ] = [],  # noqa: B006 (typer copies it; never empty, see check_words)
    source: options.DataOptions,
    splitting: options.SplitOptions,
    privacy: options.PrivacyOptions,
    settings: options.Settings = [],  # noqa: B006 (typer copies it)
    audience: options.AudienceOption = None,
    purpose: options.PurposeOption = None,
    metrics: Metrics = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write a page with pictures.")] = None,
    account: options.AccountOption = None,
    budget: options.BudgetUrl = None,
    json: options.Json = False,
) -> None:
    """Measure models on ratings that they were not fitted on.

    The budget of these ratings records that they were looked at: settings chosen by it are not paid for.
    """
    check_words(models, source.data)
    if html:
        check_file(html)
    noted = Noted(account, budget)
    terms = [privacy.terms()]
    results = measure(models, source, splitting, terms, settings, metrics, noted, audience=audience, purpose=purpose)
    if html:
        from discreet.pages.comparisons import write_comparison

        write_comparison(results, html, options.this_command())
    if json:
        document(results.to_json() | {"account": noted.name, "audience": planned_for(results, source.data, audience)})
        return
    print_results(results)
    if html:
        say(f"The page is {html}")


@options.grouped
def compare(
    source: options.DataOptions,
    splitting: options.SplitOptions,
    privacy: options.SeveralPrivacyOptions,
    models: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Which models, separated by commas (default: all that are installed; with --epsilon, all "
            "of them with a private form, and the best ones without).",
        ),
    ] = None,
    settings: options.Settings = [],  # noqa: B006 (typer copies it)
    audience: options.AudienceOption = None,
    purpose: options.PurposeOption = None,
    metrics: Metrics = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for the page and its pictures.")
    ] = Path("discreet-comparison"),
    account: options.AccountOption = None,
    budget: options.BudgetUrl = None,
    json: options.Json = False,
) -> None:
    """Compare models in a table and on a page with pictures.

    With --epsilon every model that has a private form is fitted with each epsilon and without privacy, other models
    only without: so one picture shows what privacy costs. The budget of these ratings records that they were looked
    at: a model or settings chosen by it are not paid for.
    """
    page = output / "page.html"
    check_file(page)
    terms = privacy.terms()
    if models is not None:
        names = split_names(models, "--models", "bias,popularity")
    else:
        from discreet.extras import install
        from discreet.fitting.private_forms import names_to_compare, names_without_libraries

        names = names_to_compare(terms, source.implicit)
        if missing := names_without_libraries():
            extras = dict.fromkeys(extra for needed in missing.values() for extra in needed)
            note(f"Left out, for want of libraries: {', '.join(missing)}; they need {install(extras)}")
    noted = Noted(account, budget)
    results = measure(
        names, source, splitting, terms, settings, metrics, noted, several=True, audience=audience, purpose=purpose
    )
    from discreet.pages.comparisons import write_comparison

    pictures = write_comparison(results, page, options.this_command(), pictures_too=True)
    if json:
        written = {"page": str(page), "pictures": [str(picture) for picture in pictures]}
        told = {"account": noted.name, "audience": planned_for(results, source.data, audience)}
        document(results.to_json() | written | told)
        return
    print_results(results)
    say(f"The page is {page}")
    if pictures:
        say(f"The pictures are {', '.join(map(str, pictures))}")


@dataclass
class Noted:
    """Where it is written down that ratings were looked at: what was named, and the account that was found."""

    name: str | None
    url: str | None


def measure(
    models: list[str],
    source: options.DataOptions,
    splitting: options.SplitOptions,
    terms: "list[Terms]",
    settings: list[str],
    metrics: str | None,
    noted: Noted,
    *,
    several: bool = False,
    audience: int | None = None,
    purpose: "Purpose | None" = None,
) -> "Results":
    """Fit and measure; everything that can be wrong with the command is found before the data are read.

    With ``several`` there may be many terms: models are then fitted on those they have a form for, and without privacy.
    What ``auto`` stands for is chosen as ``fit`` chooses it, for each of the terms, once the items are known.
    """
    from discreet.fitting.audience import audience_of, takes_audience

    told = audience_of(source.data, audience)
    check_auto(models, settings)
    named = [name for name in models if name != AUTO]
    chosen = parse_models(named, settings, audience=told.users, purpose=purpose) if named else {}
    if AUTO in models:  # until the rule has chosen, what it mostly chooses stands for it
        stand_in = parse_models(["almanac"], audience=told.users, purpose=purpose)["almanac"]
        chosen = {name: chosen.get(name, stand_in) for name in models}
    check_purpose(purpose, chosen.values(), implicit=source.implicit)
    protocol = splitting.protocol(ranking=source.implicit)
    names = None if metrics is None else read_metrics(metrics)
    from discreet.evaluation.comparison import compare
    from discreet.evaluation.metric_names import RANKING_METRICS, RATING_METRICS
    from discreet.fitting.accounts import looking_account
    from discreet.fitting.private_forms import check_private, without_private_form
    from discreet.populations.terms import Terms
    from discreet.privacy.budget import Budget

    sweep = several and len(terms) > 0
    if sweep:
        names = names or [*(() if source.implicit else RATING_METRICS), *RANKING_METRICS]
        without = without_private_form(chosen, terms)
        if without:
            have = "has" if len(without) == 1 else "have"
            note(f"{', '.join(without)} {have} no private form for this, and will appear without privacy only.")
    else:
        for model in chosen.values():
            check_private(model, terms[0] if terms else Terms())
    private = any(one.epsilon is not None for one in terms)
    if private and told.known == "assumed" and (AUTO in models or any(map(takes_audience, chosen.values()))):
        note(f"About {told.users:,} users are assumed; --audience N announces how many there are, roughly.")
    for sentence in partial_settings(named, settings):
        note(sentence)
    asked = [*terms, Terms()] if sweep else terms[0] if terms else Terms()
    budget = Budget(noted.url)
    budget.account(noted.name or "")  # a database that is down is found before the data are read
    with bar() as progress:
        ratings = source.load(progress)
        noted.name = looking_account(budget, source.data, noted.name, ratings)
        planned = [None if name == AUTO else model for name, model in chosen.items()]
        note_purpose(planned, ratings.catalogue, terms or [Terms()], users=told.users, purpose=purpose)
        return compare(
            chosen | ({AUTO: AUTO} if AUTO in models else {}),
            ratings,
            protocol,
            terms=asked,
            data=source.name,
            progress=progress,
            metrics=names,
            audience=told.users,
            purpose=purpose or "both",
            account=noted.name,
            budget=budget,
        )


def planned_for(results: "Results", data: str, announced: int | None) -> "dict[str, Any] | None":
    """The number of users that models, or the rule that chose them, were told, and how it is known; None for none."""
    from discreet.fitting.audience import audience_of

    told = audience_of(data, announced)
    planned = any(row.reason or row.settings.get("audience") == told.users for row in results.rows)
    return {"users": told.users, "known": told.known} if planned else None


def check_words(models: Sequence[str], data: str) -> None:
    """Raise if there is only one word: then it is DATA to the parser, whichever it was meant to be."""
    if models:
        return
    missing, usage = ("DATA", f"{data} DATA") if names_a_model(data) else ("MODEL", f"MODEL... {data}")
    raise InputError(f"{missing} is missing: write `discreet evaluate {usage}`")


def read_metrics(text: str) -> list[str]:
    """The metrics that ``--metrics`` names; a name that is none is refused here, before any work."""
    from discreet.evaluation.metric_names import check_metrics

    names = split_names(text, "--metrics", "rmse,ndcg@10")
    try:
        return list(check_metrics(names))
    except UnknownNameError as error:
        raise error.with_hint(
            "there are rmse, mae, within X, and ndcg, recall, hit, mrr, coverage and novelty @K, for example ndcg@10"
        ) from None


def split_names(text: str, option: str, example: str) -> list[str]:
    """Names that were written with commas between them."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    require(bool(names), f"{option} needs names, for example {example}")
    return names


def print_results(results: "Results") -> None:
    """The results as a table, with how it was made above and what it promises below."""
    from discreet.pages.comparisons import promise
    from discreet.pages.privacy_charts import is_sweep
    from discreet.pages.words import estimated

    if is_sweep(results):
        print_sweep(results)
        return
    names = results.metric_names
    table_of_numbers(
        f"{results.data}: {results.split}",
        ("model", *names, "fit s", "predict s", "memory MB"),
        [
            (
                row.model,
                *(estimated(row.metrics.get(name)) for name in names),
                _number(row.fit_seconds, 2),
                _number(row.predict_seconds, 2),
                _number(row.peak_memory_mb, 0),
            )
            for row in results.rows
        ],
    )
    _say_more(results)
    for line in promise(results).splitlines():
        say(line)


def print_sweep(results: "Results") -> None:
    """Models by epsilons, a table for each leading metric, and what the guarantees in it are worth."""
    from discreet.pages.sweeps import grid_of
    from discreet.pages.words import MEASURED, display_name, is_error, leading_metrics

    say(f"{results.data}: {results.split}")
    for metric in leading_metrics(results):
        grid = grid_of(results, metric)
        better = "lower is better" if is_error(metric) else "higher is better"
        table_of_numbers(f"{display_name(metric)}, {better}", grid.columns, grid.rows)
    _say_more(results)
    units = {row.unit for row in results.rows if row.promise == "proven" and row.epsilon}
    if units:
        whose = "all ratings of one user" if units == {"user"} else "one rating"
        say(f"Proven: epsilon bounds what a release tells about {whose}, and a ledger of every look adds up to it.")
    if any(row.promise == "claimed" for row in results.rows):
        say("Only claimed: a paper says so, and the proof does not hold; the page says why.")
    if any(row.epsilon and row.promise is None for row in results.rows):
        say("None, in spite of an epsilon: the noise was seeded, or the list of items is not public.")
    say(MEASURED)


def _say_more(results: "Results") -> None:
    """What the intervals are over, and what ``auto`` chose and why."""
    if results.interval:
        say(results.interval + ".")
    for sentence in results.choices:
        say(sentence)


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"
