"""Which account ratings belong to, for whoever pays from one or writes down that they looked."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from discreet.data.datasets import DATA_SETS, find_data_set, locate
from discreet.data.parts import RatingsInParts
from discreet.data.ratings import Ratings
from discreet.data.remote import Remote, is_remote, local_path
from discreet.errors import DataError, InputError, UnknownNameError, require
from discreet.looks import Look
from discreet.populations.accounts import find_account
from discreet.populations.terms import DELTA_FOR_USERS
from discreet.privacy.account import Account
from discreet.privacy.budget import Budget
from discreet.privacy.guarantee import NOTHING
from discreet.privacy.unit import Rating, Unit, User
from discreet.releases.tuning import unpaid_reason


def paying_account(
    budget: Budget, data: str, named: str | None, ratings: Ratings | RatingsInParts, warn: Callable[[str], None]
) -> str:
    """The account that pays for a release of these ratings; refuses to open a second one for the same users."""
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
        warn(
            f"A new account is opened for {data}: its items are those of {found.same_items}; if these are the same "
            f"people, pay from there (--account {_quoted(found.same_items)})."
        )
    return found.name


def looking_account(budget: Budget, data: str, named: str | None, ratings: Ratings) -> str:
    """The account on which an unpaid look at these ratings is written down: that of the same users, if there is one."""
    if named is not None:
        return named
    found = find_account(budget, account_name(data), ratings)
    return found.same_users or found.name


def place_of(data: str) -> str:
    """Where DATA is, as far as that is a file or folder."""
    place = Path(data).expanduser()
    return str(place.resolve()) if place.exists() else ""


def check_tuning(model: Any, looks: tuple[Look, ...], data: str, account: str, tuned_on: str | None) -> None:
    """Raise where settings may have been chosen on these ratings without paying, before anything is computed."""
    if tuned_on is not None:
        own = tuned_on != NOTHING and account_name(tuned_on) in (account, account_name(data))
        require(
            not own,
            f"--tuned-on {tuned_on} names these ratings themselves: `discreet search` pays for a choice on them",
        )
        return
    reason = unpaid_reason(model, looks)
    require(not reason, f"{reason}; nothing was computed or spent")


def account_name(data: str) -> str:
    """What the budget calls DATA: the name of a data set, its address, or else the full path of its file or folder.

    >>> account_name("ml-100k"), account_name("s3://lake/ratings")
    ('ml-100k', 's3://lake/ratings')
    """
    if is_remote(data):
        return str.__str__(Remote.of(data))
    if data in DATA_SETS or _is_name(data) or ("://" in data and not data.startswith("file:")):
        return data
    place = Path(local_path(data)).expanduser().resolve()
    if place.name in ("u.data", "ratings.dat") or (
        place.name == "ratings.csv" and place.with_name("movies.csv").exists()
    ):
        place = place.parent  # as when it is loaded
    if place.exists():
        for name, entry in DATA_SETS.items():
            found = locate(entry)
            if found is not None and found.resolve() == place:
                return name
    return str(place)


def check_known(data: str) -> None:
    """Raise for a name or a path that stands for nothing: it is a slip of the keyboard."""
    if is_remote(data):
        Remote.of(data)
    elif _is_name(data):
        try:
            find_data_set(data)
        except UnknownNameError as error:
            raise error.with_hint("`discreet data list` lists them") from None
    elif not Path(data).expanduser().exists():
        raise DataError(f"there is no file or folder {data}")


def declare(budget: Budget, account: Account, epsilon: float, delta: float | None, unit: str | None) -> None:
    """Set the limit; a first one for the unit user has the delta that fits have, since theirs cannot be 0."""
    units: dict[str | None, Unit | None] = {None: account.unit, "rating": Rating(), "user": User()}
    chosen = units[unit]
    if delta is None and account.delta is None and chosen is not None and chosen.name == "user":
        delta = DELTA_FOR_USERS
    budget.declare(account.data, epsilon, delta, chosen)


def _is_name(data: str) -> bool:
    place = Path(data)
    return not place.exists() and not place.suffix and len(place.parts) <= 1


def _quoted(name: str) -> str:
    return f"'{name}'" if " " in name else name
