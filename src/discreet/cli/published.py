"""``discreet reproduce tables``: our rows of the published tables, on the very split that was published."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.evaluation import split_names
from discreet.cli.options import AudienceOption, DataOptions, Json, NoiseSeed, Settings, grouped
from discreet.cli.progress import bar
from discreet.cli.settings import parse_models
from discreet.cli.tables import document, say, table_of_numbers
from discreet.errors import InputError, require

if TYPE_CHECKING:
    from discreet.evaluation.published_tables import PublishedTable
    from discreet.evaluation.results import Results

OURS = {"ratings": ("bias", "almanac", "als"), "ranking": ("popularity", "almanac")}
"""Which of ours stand in a table unless others are named: a baseline first."""


@grouped
def tables(
    source: DataOptions,
    table: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which table: ml-10m or ml-20m (default: that of DATA).")
    ] = None,
    models: Annotated[str | None, typer.Option(metavar="NAMES", help="Which of our models, between commas.")] = None,
    epsilon: Annotated[str, typer.Option(metavar="LIST", help="At which budgets; none for no privacy.")] = (
        "1,5,10,20,none"
    ),
    settings: Settings = [],  # noqa: B006 (typer copies it)
    held_out: Annotated[
        int | None, typer.Option(metavar="N", help="For ml-20m: how many users to hold out (as published: 10000).")
    ] = None,
    audience: AudienceOption = None,
    noise_seed: NoiseSeed = None,
    json: Json = False,
) -> None:
    """Our rows beside those of the best published private recommenders.

    `discreet reproduce tables ml-10m` measures RMSE, `discreet reproduce tables ml-20m` Recall@20: the split, the seeds
    and the delta are the published ones, the unit is the user.
    """
    from discreet.evaluation.published_tables import our_rows, published_table
    from discreet.fitting.audience import audience_of
    from discreet.fitting.private_forms import names_of_private_models

    asked = published_table(source.name if table is None else table)
    if held_out is not None:
        require(asked.protocol.task == "ranking", "--held-out goes with the table ml-20m, whose test is of users")
        asked = replace(asked, protocol=replace(asked.protocol, held_out=held_out))  # type: ignore[type-var]
    budgets, told = read_epsilons(epsilon), audience_of(source.data, audience)
    chosen = parse_models(
        [name for name in OURS[asked.protocol.task] if name in names_of_private_models("user")]
        if models is None
        else split_names(models, "--models", "bias,almanac"),
        settings,
        audience=asked.users if told.known == "assumed" else told.users,
    )
    _check(chosen, asked, budgets)
    with bar() as progress:
        ratings = source.load(progress)
        users, items = _counts(ratings, asked)
        results = our_rows(chosen, ratings, asked, epsilons=budgets, noise_seed=noise_seed, progress=progress)
    same = source.data == asked.data and held_out is None
    if same and (users, items) != (asked.users, asked.items):
        raise InputError(
            f"after the preprocessing {source.data} should have {asked.users:,} users and {asked.items:,} items, and "
            "it has not: these are not the files of the table"
        )
    if json:
        document({"published": asked.to_json(), "ours": results.to_json()})
        return
    if not same:
        say(
            f"{source.data} is only divided as {asked.data} is in the table: do not compare our rows with the others. "
            f"With the files of the table write `discreet reproduce tables {asked.data} --path DIR`."
        )
    _print(asked, results)


def read_epsilons(text: str) -> list[float | None]:
    """Budgets that were written with commas between them; ``none`` stands for no privacy.

    >>> read_epsilons("1,.5,none")
    [1.0, 0.5, None]
    """
    budgets: list[float | None] = []
    for word in split_names(text, "--epsilon", "1,5,none"):
        try:
            budgets.append(None if word.lower() == "none" else float(word))
        except ValueError:
            raise InputError(f"--epsilon takes numbers between commas, or none, got {word!r}") from None
    return list(dict.fromkeys(budgets))


def _check(models: Mapping[str, Any], table: "PublishedTable", budgets: Sequence[float | None]) -> None:
    """What can be wrong with the command is found before the data are read."""
    from discreet.fitting.private_forms import check_private
    from discreet.populations.terms import Terms
    from discreet.releases.contract import RatingModel

    for name, model in models.items():
        if table.protocol.task == "ratings":
            require(isinstance(model, RatingModel), f"{name} ranks items and does not predict ratings: leave it out")
        for budget in budgets:
            if budget is not None:
                check_private(model, Terms(epsilon=budget, delta=table.delta, unit="user"))


def _counts(ratings: Any, table: "PublishedTable") -> tuple[int, int]:
    """How many users and items the preprocessing leaves, as the papers count them."""
    import numpy as np

    if table.protocol.task == "ratings":
        return ratings.n_users, int(np.count_nonzero(np.bincount(ratings.item_index)))
    protocol: Any = table.protocol
    train = next(protocol.splits(ratings)).train
    return train.n_users + 2 * protocol.held_out, int(np.count_nonzero(np.bincount(train.item_index)))


def _print(table: "PublishedTable", results: "Results") -> None:
    epsilons = {epsilon for row in table.rows for epsilon in row.reached if epsilon is not None}
    columns = [*sorted(epsilons | set(results.epsilons)), None]
    rows = []
    for row in table.rows:
        shown = [f"{row.reached[column]:.4f}*" if column in row.reached else "-" for column in columns]
        rows.append([row.method + (" (features)" if row.features else ""), *shown, row.source])
    for name in results.models:
        found = {row.epsilon: row.metrics[table.metric] for row in results.rows if row.model == name}
        shown = [f"{found[column].mean:.4f} " if column in found else "-" for column in columns]
        half = max((estimate.half or 0.0) for estimate in found.values())
        rows.append([f"ours: {name}", *shown, f"this run, ±{half:.4f}"])
    heads = ["no privacy" if column is None else f"epsilon {column:g}" for column in columns]
    table_of_numbers(f"{table.title}; unit user, delta {table.delta:g}", ("method", *heads, "source"), rows)
    say("* read off a figure. Features: uses public facts about the items, as ours do where they are known.")
    corrected = next((row.corrected for row in table.rows if row.corrected), None)
    if corrected:
        pairs = ", ".join(f"{real:g} for {claimed:g}" for claimed, real in corrected.items())
        say(f"What the epsilon of the DPALS rows comes to once all their releases are booked in full: {pairs}.")
    say(f"Split: {table.protocol.describe()}. {results.interval}.")
    for ours in results.rows:
        where = "no privacy" if ours.epsilon is None else f"epsilon {ours.epsilon:g}"
        others = ", ".join(f"{name} {ours[name]:.4f}" for name in table.metrics[1:])
        say(f"{ours.model}, {where}: {others}; fitted in {ours.fit_seconds or 0:.1f} s")
