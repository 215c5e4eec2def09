"""``discreet plan``: what a fit would ask for, buy and cost, before anything is spent and any rating is read."""

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import options
from discreet.cli.progress import bar
from discreet.cli.purposes import check_purpose, note_purpose
from discreet.cli.settings import model_name, planned_model
from discreet.cli.tables import document, facts, say, table
from discreet.errors import require

if TYPE_CHECKING:
    from discreet.evaluation.made_up import Trial
    from discreet.fitting.planning import Plan
    from discreet.models.almanac.planner import Purpose
    from discreet.populations.terms import Terms
    from discreet.privacy.budget import Budget
    from discreet.releases.release import Release

PUBLIC = (
    "Nothing was spent. This rests on public facts alone: the list of items, the announced audience and the settings; "
    "no rating was read."
)
DEARER = 1.01
"""From how many times its epsilon on it is said that a fit takes more of the limit."""
MADE_UP = (
    "Tried on made-up ratings, 60 of each user: yours may differ, and how many there are is private. Compare rows, "
    "not digits."
)


@options.grouped
def plan(
    *,
    words: Annotated[
        list[str],
        typer.Argument(metavar="MODEL", help="A model by name; without one, what suits is chosen (auto)."),
    ] = [],  # noqa: B006 (typer copies it)
    source: options.DataOptions,
    privacy: options.PrivacyOptions,
    model: Annotated[str | None, typer.Option(metavar="NAME", help="The same as MODEL.")] = None,
    settings: options.Settings = [],  # noqa: B006 (typer copies it)
    audience: options.AudienceOption = None,
    purpose: options.PurposeOption = None,
    prior: options.PriorOption = None,
    limit: Annotated[
        float | None,
        typer.Option(metavar="E", help="A limit for many fits (default: what is declared in the budget of DATA)."),
    ] = None,
    fast: Annotated[bool, typer.Option("--fast", help="Leave out what is tried on synthetic ratings.")] = False,
    account: options.AccountOption = None,
    budget: options.BudgetUrl = None,
    json: options.Json = False,
) -> None:
    """Show what a fit would ask for and cost, without running it.

    Also how many such fits a limit allows, and what smaller and larger epsilons gain on synthetic ratings of the same
    size. It spends nothing and reads no rating: only the list of items, the first row of a table, and what was
    announced.
    """
    name, terms = model_name(words, model, source.data), privacy.terms()
    require(
        prior != options.PREVIOUS,
        f"a plan does not know what a fit replaces: name the release, or `fit --dry-run --prior {options.PREVIOUS}`",
    )
    from discreet.privacy.budget import Budget
    from discreet.releases.release import Release

    show_plan(
        name,
        source,
        terms,
        settings,
        audience,
        purpose=purpose,
        prior=None if prior is None else Release.load(Path(prior)),
        limit=limit,
        fast=fast,
        account=account,
        budget=Budget(budget),
        json=json,
    )


def show_plan(
    name: str,
    source: options.DataOptions,
    terms: "Terms",
    settings: list[str],
    audience: int | None,
    *,
    purpose: "Purpose | None" = None,
    prior: "Release | None" = None,
    limit: float | None = None,
    fast: bool = False,
    account: str | None,
    budget: "Budget",
    json: bool,
) -> None:
    """Print the plan of a fit."""
    require(terms.epsilon is not None, "a plan is about what privacy costs: give --epsilon")
    require(limit is None or limit > 0, f"--limit must be positive, got {limit}")
    from discreet.evaluation.made_up import begins_in, trials_on_made_up_data
    from discreet.fitting.accounts import account_name
    from discreet.fitting.audience import audience_of
    from discreet.fitting.planning import plan_for

    told = audience_of(source.data, audience)
    chosen = planned_model(name, settings, users=told.users, purpose=purpose)
    check_purpose(purpose, [chosen], implicit=source.implicit)
    catalogue = source.public_catalogue()
    kept = budget.account(account or account_name(source.data))
    ledger, within, spent = terms.ledger(), None, []
    if limit is not None:
        within = (limit, ledger.delta)
    elif kept.epsilon is not None:
        within = (kept.epsilon, kept.accounting_delta)
        spent = [batch for line in kept.spendings for batch in line.batches]
    model, found = plan_for(
        chosen, catalogue, terms, told.users, purpose=purpose or "both", prior=prior, limit=within, spent=spent
    )
    note_purpose([model], catalogue, [terms], users=told.users, purpose=purpose)
    trials: list[Trial] = []
    if not fast and (found.looks or found.on_the_way):
        with bar() as progress:
            trials = trials_on_made_up_data(model, catalogue, terms, told.users, progress)
        if found.on_the_way:
            found = replace(found, begins=begins_in(trials, terms, told.users))
    if json:
        document(
            found.to_json()
            | {"audience_known": told.known, "made_up": [trial.to_json() for trial in trials], "public": PUBLIC}
        )
        return
    print_plan(found, trials, f"{told}", spent=len(spent) > 0)


def print_plan(found: "Plan", trials: "list[Trial]", audience: str, *, spent: bool = False) -> None:
    """What is asked, what begins where, what other epsilons buy, and how often."""
    rows: list[tuple[str, str]] = [
        ("model", found.model),
        *([("chosen", f"{found.reason}.")] if found.reason else []),
        ("promises", f"epsilon {found.epsilon:g}, delta {found.delta:g}, for {found.unit}"),
        ("rests on", f"{audience}, {found.items:,} items, {found.features} columns of public features"),
        *([("prior", found.prior)] if found.prior else []),
    ]
    if not found.looks:
        rows.append(("asks for", "nothing: it spends nothing"))
    for place, look in enumerate(found.looks):
        rows.append(("asks for" if place == 0 else "", f"{look.what}: {look.share:.0%} of the budget, {look.noise}"))
    if found.on_the_way:
        rows.append(("", "then item sums, pairs of items, sweeps or own fits, as its noisy answers decide"))
    rows += [("patterns" if place == 0 else "", sentence) for place, sentence in enumerate(found.begins)]
    rows += [("nights" if place == 0 else "", sentence) for place, sentence in enumerate(_nights(found, spent=spent))]
    facts(rows)
    if trials:
        table(
            "What another epsilon would buy",
            ("epsilon", *(("RMSE",) if trials[0].rmse is not None else ()), "NDCG@100", "patterns"),
            [_row(trial) for trial in trials],
            right=("epsilon", "RMSE", "NDCG@100", "patterns"),
        )
        if planned := [trial for trial in trials if trial.gains]:
            terms = list(planned[0].gains)
            table(
                "What its plan is expected to gain, in nats for each held-out rating",
                ("epsilon", *terms),
                [(f"{trial.epsilon:g}", *(f"{trial.gains[term]:.3f}" for term in terms)) for trial in planned],
                right=("epsilon", *terms),
            )
        say(MADE_UP)
    say(PUBLIC)


def _row(trial: "Trial") -> tuple[str, ...]:
    epsilon = "none" if trial.epsilon is None else f"{trial.epsilon:g}"
    errors: tuple[Any, ...] = () if trial.rmse is None else (f"{trial.rmse:.3f}",)
    return (epsilon, *errors, "-" if trial.ndcg is None else f"{trial.ndcg:.3f}", str(trial.patterns))


def _nights(found: "Plan", *, spent: bool = False) -> list[str]:
    """How often such a fit is allowed, and what many cost; of a limit of which something was ``spent``, of the rest."""
    from discreet.fitting.planning import MOST_FITS

    sentences = []
    if found.fits is not None and found.limit is not None:
        often = f"more than {MOST_FITS:,}" if found.fits >= MOST_FITS else f"{found.fits:,}"
        least = "at least " if found.on_the_way and found.fits < MOST_FITS else ""  # which noise, answers decide
        many = f"{least}{often}" if found.fits else "no"
        more, fits = "more " if spent else "", "fits" if found.fits > 1 else "fit"
        limit = f"{'What is left of a' if spent else 'A'} limit of epsilon {found.limit:g}"
        sentences.append(f"{limit} allows {many} {more}such {fits}.")
    if found.next_fit is not None and found.next_fit > found.epsilon * DEARER:
        sentences.append(
            f"The next one takes epsilon {found.next_fit:.3g} of it, not {found.epsilon:g}: after the Gaussian noise "
            "of an earlier fit, Laplace noise counts for more."
            if math.isfinite(found.next_fit)
            else "It does not allow the next one, whatever its epsilon."
        )
    most = "at most " if found.on_the_way else ""
    sentences += [f"{many} such fits cost {most}epsilon {cost:.3g} together." for many, cost in found.nights.items()]
    return sentences
