"""``discreet search``: fit several models or settings, publish the best, and pay for having looked."""

from typing import Annotated

import typer

from discreet.cli import options
from discreet.cli.fitting import named, print_paid, to_json
from discreet.cli.progress import bar
from discreet.cli.settings import parse_models
from discreet.cli.tables import document, note, say
from discreet.errors import require


@options.grouped
def search(
    *,
    models: Annotated[
        list[str], typer.Argument(metavar="MODEL...", help="The candidates; almanac:factors=5 has a setting.")
    ] = [],  # noqa: B006 (typer copies it; two at least, see below)
    source: options.DataOptions,
    privacy: options.PrivacyOptions,
    output: options.ReleaseFolder,
    metric: Annotated[str, typer.Option(metavar="NAME", help="What decides: rmse, or ndcg@100, recall@20, …")] = "rmse",
    share: Annotated[
        float, typer.Option(metavar="SHARE", help="How much of the budget the comparison itself takes.")
    ] = 0.05,
    settings: options.Settings = [],  # noqa: B006 (typer copies it)
    audience: options.AudienceOption = None,
    account: options.AccountOption = None,
    run_id: options.RunId = None,
    budget: options.BudgetUrl = None,
    replace: options.Replace = False,
    json: options.Json = False,
) -> None:
    """Find the best of several models or settings, and pay for it.

    All of them are fitted within one budget, on nine tenths of the ratings, and compared on the rest, with noise. The
    release of the best is written. Settings that matter only after the noise cost nothing; models that ask different
    questions, or decide on the way what to ask (almanac, unless purpose=none), share the budget. The defaults were
    chosen on other data, and cost nothing at all: `discreet fit`.
    """
    require(len(models) >= 2, "a search needs at least two candidates: write `discreet search MODEL MODEL DATA -o DIR`")
    terms = privacy.terms()
    require(terms.epsilon is not None, "a search is paid from --epsilon; `discreet evaluate` compares without privacy")
    require(terms.trusted == "server", "a search needs a trusted server: devices would pay for every candidate")
    from discreet.evaluation.search import Search
    from discreet.fitting.audience import audience_of
    from discreet.fitting.fit_and_save import fit_and_save
    from discreet.fitting.private_forms import check_private
    from discreet.privacy.budget import Budget

    candidates, kept = parse_models(models, settings, audience=audience_of(source.data, audience).users), Budget(budget)
    for candidate in candidates.values():
        check_private(candidate, terms)
    with bar() as progress:
        done = fit_and_save(
            Search(candidates=list(candidates.values()), metric=metric, share=share),
            lambda: source.load(progress),
            output,
            data=source.data,
            terms=terms,
            account=account,
            budget=kept,
            run_id=run_id,
            replace=replace,
            note=f"The best by {metric} of {', '.join(candidates)} on these ratings, which was paid for",
            progress=progress,
            warn=note,
        )
    won = next(name for name, candidate in candidates.items() if candidate == done.release.model)
    if json:
        found = {"candidates": list(candidates), "chosen": won, "seconds": done.seconds}
        document(to_json(done, run_id, kept.place) | found)
        return
    say(f"Of {len(candidates)} candidates {won} was chosen, in {done.seconds:.1f} s.")
    say(str(done.release.guarantee))
    print_paid(done, run_id)
    say(f"The release is in {named(output)}; see `discreet show {output}` and `discreet certificate {output}`.")
