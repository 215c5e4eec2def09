"""Which account DATA belongs to, for the commands that pay from one or write down that they looked."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.budget import account_name
from discreet.cli.tables import note
from discreet.errors import InputError, require

if TYPE_CHECKING:
    from discreet.data.ratings import Ratings
    from discreet.looks import Look
    from discreet.privacy.budget import Budget

AccountOption = Annotated[
    str | None,
    typer.Option(
        "--account", metavar="NAME", help="Which account of the budget pays (default: found by DATA and its users)."
    ),
]
TunedOn = Annotated[
    str | None,
    typer.Option(
        "--tuned-on",
        metavar="DATA",
        help="On what the settings were chosen, for example ml-1m; nothing: before anyone looked.",
    ),
]
RunId = Annotated[
    str | None, typer.Option("--run-id", metavar="ID", help="Names this run: tried again, it is paid once.")
]


def paying_account(budget: "Budget", data: str, named: str | None, ratings: "Ratings") -> str:
    """The account that pays for a release of these ratings; refuses to open a second one for the same users."""
    from discreet.populations.accounts import find_account

    if named is not None:
        return named
    found = find_account(budget, account_name(data), ratings)
    if found.same_users is not None:
        account = "has no account yet, and its users" if found.is_new else "has an account, but its users now"
        raise InputError(
            f"{data} {account} look like those of {found.same_users}: pay from there with "
            f"--account {_quoted(found.same_users)}, or open another for other people with --account NAME; "
            "nothing was computed or spent"
        )
    if found.same_items is not None:
        note(
            f"A new account is opened for {data}: its items are those of {found.same_items}; if these are the same "
            f"people, pay from there (--account {_quoted(found.same_items)})."
        )
    return found.name


def looking_account(budget: "Budget", data: str, named: str | None, ratings: "Ratings") -> str:
    """The account on which an unpaid look at these ratings is written down: that of the same users, if there is one."""
    from discreet.populations.accounts import find_account

    if named is not None:
        return named
    found = find_account(budget, account_name(data), ratings)
    return found.same_users or found.name


def place_of(data: str) -> str:
    """Where DATA is, as far as that is a file or folder."""
    place = Path(data).expanduser()
    return str(place.resolve()) if place.exists() else ""


def check_tuning(model: Any, looks: "tuple[Look, ...]", data: str, account: str, tuned_on: str | None) -> None:
    """Raise where settings may have been chosen on these ratings without paying, before anything is computed."""
    from discreet.privacy.guarantee import NOTHING
    from discreet.releases.tuning import unpaid_reason

    if tuned_on is not None:
        own = tuned_on != NOTHING and account_name(tuned_on) in (account, account_name(data))
        require(
            not own,
            f"--tuned-on {tuned_on} names these ratings themselves: `discreet search` pays for a choice on them",
        )
        return
    reason = unpaid_reason(model, looks)
    require(not reason, f"{reason}; nothing was computed or spent")


def _quoted(name: str) -> str:
    return f"'{name}'" if " " in name else name
