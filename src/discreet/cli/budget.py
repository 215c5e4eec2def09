"""``discreet budget``: what was spent on a data set, on what and when, and what is left."""

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.options import Json
from discreet.cli.tables import document, facts, say, table
from discreet.errors import require

if TYPE_CHECKING:
    from discreet.looks import Look
    from discreet.privacy.account import Account

DUST = 1e-9
"""The share of a limit below which nothing is left: sums of epsilons are rounded, and what that leaves buys nothing."""

Url = Annotated[
    str | None,
    typer.Option("--url", metavar="URL", help="postgresql://… or a SQLite file (default: DISCREET_BUDGET, or yours)."),
]


def budget(
    data: Annotated[
        str | None, typer.Argument(metavar="[DATA]", help="A data set by name, or its file or folder.")
    ] = None,
    account: Annotated[
        str | None, typer.Option("--account", metavar="NAME", help="The account, where it has a name of its own.")
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(metavar="E", help="Declare the limit, before the first fit; later it can only be lowered."),
    ] = None,
    delta: Annotated[
        float | None, typer.Option(metavar="D", help="Delta of the limit (default: 0 for rating, 1e-6 for user).")
    ] = None,
    unit: Annotated[
        str | None, typer.Option(metavar="UNIT", help="What is hidden: one rating (default), or all of a user (user).")
    ] = None,
    nights: Annotated[
        int | None,
        typer.Option("--nights", metavar="N", help="Also say how much each of N more fits may cost, one a night."),
    ] = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Show what was spent on a data set, or declare its limit.

    The ratings are not read, so the account is found by the name of DATA alone, or named with --account. What is left
    is composed by the ledger, not divided: many small fits cost less together than their epsilons add up to.
    """
    require(nights is None or 1 <= nights <= 10**6, f"--nights must be from 1 to 1,000,000, got {nights}")
    require((data is None) != (account is None), "name either DATA or --account NAME")
    require(unit in (None, "rating", "user"), f"--unit must be rating or user, got {unit!r}")
    require(epsilon is not None or (delta is None and unit is None), "--delta and --unit go with --epsilon, the limit")
    from discreet.fitting.accounts import account_name, check_known, declare
    from discreet.fitting.recovering import recover
    from discreet.privacy.budget import Budget

    kept = Budget(url)
    recover(kept)  # what a killed run left behind
    name = account or account_name(str(data))
    shown, looks = kept.account(name), kept.looks(name)
    if data is not None and shown.epsilon is None and not shown.spendings and not looks:
        check_known(data)
    if epsilon is not None:
        declare(kept, shown, epsilon, delta, unit)
        shown = kept.account(name)
    each = None if nights is None else _settled(shown.each_of(nights), shown.epsilon)
    if json:
        planned = {} if nights is None else {"nights": {"count": nights, "epsilon": each}}
        document(
            settled(shown.to_json()) | {"looks": [look.to_json() for look in looks], "kept_in": kept.place} | planned
        )
        return
    print_account(shown, looks, kept.place)
    if nights is not None:
        say(nights_left(shown, nights, each))


def print_account(account: "Account", looks: "tuple[Look, ...]", place: str) -> None:
    """The limit, what was spent and what is left, and every line of the account."""
    limit = "none declared: spending is recorded, and nothing is refused (set one with --epsilon)"
    if account.epsilon is not None:
        limit = f"epsilon {account.epsilon:g}{_delta(account)} for {account.unit}"
    elif account.exact:
        limit = "none, and none can be kept: a release without privacy is out"
    spent = [("spent", _spent(part)) for part in account.parts]
    if account.exact:
        spent = [("spent", "everything: a release without privacy was written, and no epsilon bounds what it tells")]
    facts(
        [
            ("data", account.data),
            ("limit", limit),
            *([] if account.exact else [("promised", account.promise)]),
            *spent,
            *([("left", _left(account))] if account.epsilon is not None else []),
            *([("looked at", _looks(looks))] if looks else []),
            ("kept in", place),
        ]
    )
    if not account.spendings:
        return
    table(
        None,
        ("when (UTC)", "on what", "unit", "epsilon", "in all", "state"),
        [
            (
                spending.reserved_at.removesuffix("+00:00").replace("T", " "),
                spending.purpose if len(spending.purpose) < 60 else spending.purpose.partition("(")[0],
                "none" if spending.unit is None else spending.unit.name,
                "no privacy" if spending.unit is None else f"{spending.epsilon:.4g}",
                "-" if math.isinf(spending.total) else f"{spending.total:.4g}",
                "released" if spending.state == "released" else "reserved, no release written: counts as spent",
            )
            for spending in account.spendings
        ],
        right=("epsilon", "in all"),
    )


def nights_left(account: "Account", nights: int, each: float | None) -> str:
    """How much each of so many nights may cost."""
    if each is None:
        return "Without a limit there is no telling how many nights are left: declare one with --epsilon."
    if each == 0:
        return f"Nothing is left for {nights:,} more nights."
    like = "like the last" if account.spends else "of one look each"
    least = math.floor(each * 10**6) / 10**6  # rounded down, so that it is allowed
    return f"{nights:,} more {'fits' if nights > 1 else 'fit'} {like} may cost epsilon {least:.6g} each, one a night."


def print_left(account: "Account") -> None:
    """One sentence after a fit."""
    left = "no limit was declared"
    if account.epsilon is not None:
        left = f"of epsilon {account.epsilon:g} there is left {_left(account)}"
        left += "" if account.promised else " (a tally, and no promise)"
    elif account.exact:
        left = "a release without privacy is out, so no limit can be kept any more"
    say(f"It is booked on the budget of {account.data}: {left}; see `discreet budget`.")


def print_retry(run_id: str) -> None:
    """One sentence after a fit that was done before."""
    say(f"The run {run_id} was released before, and this is what it released: nothing was computed, and nothing spent.")


def settled(account: dict[str, Any]) -> dict[str, Any]:
    """An account as plain data, without what rounding leaves of its limit.

    >>> found = {"limit": {"epsilon": 1.0}, "one_more": {"epsilon": 4e-16}, "spent": [{"remaining": 0.25}]}
    >>> settled(found)["one_more"], settled(found)["spent"]
    ({'epsilon': 0.0}, [{'remaining': 0.25}])
    """
    if account["limit"] is None:
        return account
    limit, more = account["limit"]["epsilon"], account["one_more"]
    spent = [part | {"remaining": _settled(part["remaining"], limit)} for part in account["spent"]]
    return account | {"one_more": more | {"epsilon": _settled(more["epsilon"], limit)}, "spent": spent}


def _settled(left: float | None, limit: float | None) -> float | None:
    return left if left is None or limit is None or left >= DUST * limit else 0.0


def _left(account: "Account") -> str:
    """What can still be asked for; empty where there is no limit."""
    left = account.one_more()
    if left is None:
        return ""
    if not _settled(left.epsilon, account.epsilon):
        return "nothing"
    if not account.spends:
        return f"epsilon {left.epsilon:.4g}"
    often = "more than 1,000" if left.fits > 1000 else str(left.fits)
    size = f"{often} {'fit' if left.fits == 1 else 'fits'} of that size" if left.fits else "less than the last one took"
    return f"epsilon {left.epsilon:.4g} for one more fit like the last; {size}"


def _looks(looks: "tuple[Look, ...]") -> str:
    """How often the ratings were looked at without paying, and when last."""
    kinds = ", ".join(dict.fromkeys(look.what for look in looks))
    often = "once" if len(looks) == 1 else f"{len(looks)} times"
    return f"{often} without paying ({kinds}), last {looks[-1].at.removesuffix('+00:00').replace('T', ' ')}"


def _spent(part: "Account") -> str:
    if not part.spendings:
        return "nothing"
    if not part.bounds_its_unit:
        return f"not bounded for {part.unit}: a release that protects single ratings bounds nothing for a user"
    return f"epsilon {part.spent:.4g}{_delta(part)} for {part.unit}"


def _delta(account: "Account") -> str:
    return f", delta {account.accounting_delta:g}" if account.accounting_delta else ""
