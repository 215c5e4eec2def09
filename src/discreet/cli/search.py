"""``discreet search``: fit several models or settings, publish the best, and pay for having looked."""

import dataclasses
import time
from typing import Annotated

import typer

from discreet.cli.accounts import AccountOption, RunId, paying_account, place_of
from discreet.cli.audience import AudienceOption, audience_of
from discreet.cli.budget import account_name, print_left, print_retry
from discreet.cli.choosing import name_of
from discreet.cli.fitting import check_folder, check_promise
from discreet.cli.options import (
    BudgetUrl,
    DataOptions,
    Json,
    PrivacyOptions,
    ReleaseFolder,
    Replace,
    Settings,
    grouped,
)
from discreet.cli.private_forms import check_private
from discreet.cli.progress import bar
from discreet.cli.settings import parse_models
from discreet.cli.tables import document, say
from discreet.errors import require


@grouped
def search(
    *,
    models: Annotated[
        list[str], typer.Argument(metavar="MODEL...", help="The candidates; almanac:factors=5 has a setting.")
    ] = [],  # noqa: B006 (typer copies it; two at least, see below)
    source: DataOptions,
    privacy: PrivacyOptions,
    output: ReleaseFolder,
    metric: Annotated[str, typer.Option(metavar="NAME", help="What decides: rmse, or ndcg@100, recall@20, …")] = "rmse",
    share: Annotated[
        float, typer.Option(metavar="SHARE", help="How much of the budget the comparison itself takes.")
    ] = 0.05,
    settings: Settings = [],  # noqa: B006 (typer copies it)
    audience: AudienceOption = None,
    account: AccountOption = None,
    run_id: RunId = None,
    budget: BudgetUrl = None,
    replace: Replace = False,
    json: Json = False,
) -> None:
    """Find the best of several models or settings on these ratings, and pay for it.

    All of them are fitted within one budget, on nine tenths of the ratings, and compared on the rest, with noise. The
    release of the best is written. Settings that matter only after the noise cost nothing; models that ask different
    questions share the budget. The defaults were chosen on other data, and cost nothing at all: `discreet fit`.
    """
    require(len(models) >= 2, "a search needs at least two candidates: write `discreet search MODEL MODEL DATA -o DIR`")
    terms, told = privacy.terms(), audience_of(source.data, audience)
    require(terms.epsilon is not None, "a search is paid from --epsilon; `discreet evaluate` compares without privacy")
    require(terms.trusted == "server", "a search needs a trusted server: devices would pay for every candidate")
    from discreet.evaluation.search import Search
    from discreet.fitting.spending import spend_and_release
    from discreet.privacy.budget import Budget

    candidates = parse_models(models, settings, audience=told.users)
    for candidate in candidates.values():
        check_private(candidate, terms)
    chosen = Search(candidates=list(candidates.values()), metric=metric, share=share)
    kept = Budget(budget)
    # A database that is down is found before the data are read.
    before = kept.report(account or account_name(source.data))
    again = check_folder(output, before, run_id, replace=replace)
    with bar() as progress:
        ratings = source.load(progress)
        started = time.perf_counter()
        data = paying_account(kept, source.data, account, ratings)
        population = terms.population(ratings, account=data, budget=kept, place=place_of(source.data))
        check_promise(population.guarantee)
        release = spend_and_release(
            chosen,
            population,
            output,
            run_id=run_id,
            note=f"The best by {metric} of {', '.join(candidates)} on these ratings, which was paid for",
            progress=progress,
        )
        seconds = time.perf_counter() - started
    summary = kept.report(data)
    won = next(name for name, candidate in candidates.items() if candidate == release.model)
    if json:
        document(
            {
                "release": str(output),
                "candidates": list(candidates),
                "chosen": won,
                "model": name_of(release.model),
                "settings": dataclasses.asdict(release.model),  # type: ignore[call-overload]
                "guarantee": str(release.guarantee),
                "seconds": seconds,
                "account": data,
                "run_id": run_id,
                "booked": "before" if again else "now",
                "budget": summary.summary() | {"kept_in": kept.place},
            }
        )
        return
    say(f"Of {len(candidates)} candidates {won} was chosen, in {seconds:.1f} s.")
    say(str(release.guarantee))
    print_retry(str(run_id)) if again else print_left(summary)
    say(f"The release is in {output}; see `discreet show {output}` and `discreet certificate {output}`.")
