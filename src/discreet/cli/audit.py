"""``discreet audit``: try to break what is promised, and say how far one got."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.options import AccountOption, BudgetUrl, DataOptions, Delta, Json, Settings, grouped, this_command
from discreet.cli.progress import bar
from discreet.cli.settings import parse_models
from discreet.cli.tables import document, facts, say
from discreet.errors import require
from discreet.fitting.outputs import check_file

if TYPE_CHECKING:
    from discreet.audit.results import Audit
    from discreet.populations.terms import Terms

CANARIES = 1000
EPSILON = 1.0
"""Tested if nobody says another: what is fitted is thrown away, so it promises nothing to anyone."""


@grouped
def audit(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model by name (`discreet models`).")],
    source: DataOptions,
    epsilon: Annotated[
        float | None,
        typer.Option(metavar="E", help="The privacy budget whose promise is tested (default: 1, or a paper's claim)."),
    ] = None,
    delta: Delta = None,
    unit: Annotated[
        str, typer.Option(metavar="UNIT", help="What is hidden: one rating, or all ratings of a user (user).")
    ] = "rating",
    trust: Annotated[
        str, typer.Option(metavar="WHO", help="Who may see ratings: one server, or only the users' own devices.")
    ] = "server",
    settings: Settings = [],  # noqa: B006 (typer copies it)
    runs: Annotated[
        int | None,
        typer.Option(metavar="N", help="Fits on each of two neighbouring data sets (default: as two minutes allow)."),
    ] = None,
    one_run: Annotated[
        bool, typer.Option("--one-run", help="Fit only once, with many canaries: for data that take long.")
    ] = False,
    canaries: Annotated[
        int | None, typer.Option(metavar="M", help=f"How many, with --one-run (default: {CANARIES}).")
    ] = None,
    release_only: Annotated[
        bool, typer.Option("--release-only", help="Attack the released arrays alone, not the sums behind them.")
    ] = False,
    confidence: Annotated[float, typer.Option(metavar="C", help="With which the lower bound holds.")] = 0.99,
    seed: Annotated[
        int | None, typer.Option(metavar="SEED", help="Repeatable noise; what an audit fits is thrown away anyway.")
    ] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write a page with pictures.")] = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the two distributions as .png or .svg.")
    ] = None,
    account: AccountOption = None,
    budget: BudgetUrl = None,
    json: Json = False,
) -> None:
    """Attack a private model, and bound epsilon from below.

    A model is fitted with and without a canary, a made-up rating or user of the worst kind. The better an attack can
    tell the two apart, the larger epsilon must be. Ends with 1 if what is proven or claimed is false, with 0 if no leak
    was found, which proves nothing. What is fitted is thrown away, and no budget is charged; the budget records that
    these ratings were looked at, since settings may be chosen by it.
    """
    require(runs is None or not one_run, "--runs and --one-run are different ways to audit: choose one")
    require(canaries is None or one_run, "--canaries goes with --one-run")
    require(not (release_only and one_run), "--release-only goes with --runs, not with --one-run")
    for path in (html, picture):
        if path is not None:
            check_file(path)
    if picture is not None:
        from discreet.pages.drawing import check_picture

        require(picture.suffix in (".png", ".svg"), f"--picture must end in .png or .svg, got {picture}")
        check_picture()
    from discreet.cli.options import PrivacyOptions

    chosen = parse_models([model], settings)[model]
    from discreet.releases.published import Published

    if isinstance(chosen, Published):
        chosen = with_claim(chosen, epsilon, model)
        epsilon = chosen.epsilon
        require(not one_run, f"{model} is audited by --runs: it claims an epsilon, and asks no population")
    epsilon = EPSILON if epsilon is None else epsilon
    terms = PrivacyOptions(epsilon=epsilon, delta=delta, unit=unit, trust=trust).terms()
    from discreet.audit.one_run import audit_in_one_run, check_enough_canaries
    from discreet.audit.runs import audit_by_runs
    from discreet.audit.setting import check_claim, check_confidence
    from discreet.fitting.accounts import looking_account
    from discreet.fitting.private_forms import check_private
    from discreet.privacy.randomness import Randomness

    if isinstance(chosen, Published):
        check_claim(chosen, terms)
    else:
        check_private(chosen, terms)
    check_confidence(confidence)
    many = CANARIES if canaries is None else canaries
    if one_run:
        check_enough_canaries(many, confidence, terms.ledger().delta, epsilon)
    from discreet.privacy.budget import Budget
    from discreet.releases.tuning import looked

    kept = Budget(budget)
    kept.account(account or "")  # a database that is down is found before the data are read
    with bar() as progress:
        ratings = source.load(progress)
        noted = looking_account(kept, source.data, account, ratings)
        ratings = looked(ratings, "audit", [chosen], account=noted, budget=kept)
        shared: dict[str, Any] = {"confidence": confidence, "randomness": Randomness(seed), "progress": progress}
        shared |= {"name": model, "data": source.name}
        if one_run:
            found = audit_in_one_run(chosen, ratings, terms, canaries=many, seed=seed, **shared)
        else:
            shared["attacks"] = "release" if release_only else "all"
            found = audit_by_runs(chosen, ratings, terms, runs=runs, **shared)
    if html is not None:
        from discreet.pages.audit_pages import write_audit

        write_audit(found, html, this_command())
    if picture is not None:
        from discreet.pages.audits import distributions_chart

        distributions_chart(found).save(picture)
    if json:
        document(found.to_json())
    else:
        print_audit(found, terms)
        for what, path in (("page", html), ("picture", picture)):
            if path is not None:
                say(f"The {what} is {path}")
    if found.accuses:
        raise typer.Exit(1)


def with_claim(model: Any, epsilon: float | None, name: str) -> Any:
    """A paper with the epsilon to claim: the option and the setting are the same thing, and should not disagree."""
    from discreet.releases.published import claiming

    default = type(model)().epsilon
    if epsilon is None or epsilon == model.epsilon:
        require(model.epsilon is not None, f"{name} claims nothing with epsilon none: give --epsilon")
        return model
    require(
        model.epsilon == default,
        f"--epsilon {epsilon:g} and the setting epsilon={model.epsilon} are the same claim: give one of them",
    )
    return claiming(model, epsilon)


def print_audit(found: "Audit", terms: "Terms") -> None:
    """The verdict, and what it rests on."""
    for sentence in found.sentences():
        say(sentence)
    how = f"{found.trials:,} runs on each side" if found.method == "runs" else f"one run with {found.trials:,} canaries"
    trusted = found.trust.replace("-", " ")
    rows = [
        ("audited", f"{found.model} on {found.data}, for {terms.ledger().unit}, trusting the {trusted}"),
        ("measured", f"epsilon at least {found.epsilon_low:.3g} ({found.confidence:.4g} confidence, {how})"),
        ("proven", "nothing" if found.proven is None else str(found.proven)),
        ("claimed", "nothing" if found.claimed is None else str(found.claimed)),
        ("limit", str(found.limit)),
        ("canary", found.canary),
        ("attack", found.attack),
    ]
    if found.exercised is not None:
        allows = "what the ledger allows" if found.claimed is None else "what its noise was made for"
        rows.insert(-1, ("it can show", f"{found.exercised:.0%} of {allows}"))
    if found.guesses is not None:
        rows.append(("guesses", f"{found.guesses[0]:,} of {found.guesses[1]:,} were right"))
    if found.more is not None and not found.accuses:
        rows += [("took", f"{found.seconds:.0f} seconds"), ("more runs", str(found.more))]
    facts(rows)
