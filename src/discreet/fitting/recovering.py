"""After a kill: what was paid for is put in its place and noted as released, what was never finished is removed."""

from contextlib import suppress
from pathlib import Path

from discreet.errors import BudgetError, DiscreetError
from discreet.privacy.account import Account
from discreet.privacy.budget import Budget
from discreet.releases.places import Booked, settle
from discreet.releases.storage import read_card


def recover(budget: Budget, folder: str | Path | None = None) -> None:
    """Put in order what killed processes left, at every place that the budget knows of and at ``folder``.

    A line of the budget names the folder of its release from the beginning, and the checksum of the arrays just before
    they appear. So a release in that folder with that checksum is the one that was paid for, and its line is released.
    """
    with suppress(BudgetError):  # one that can only be read
        budget.tidy()
    lines = budget.unfinished()
    booked = Booked(budget.place, {line.arrays for line in lines if line.arrays is not None})
    for place in dict.fromkeys([*(line.folder for line in lines), *([] if folder is None else [str(folder)])]):
        settle(place, booked)
    for line in lines:
        if line.arrays is not None and is_published(Path(line.folder), line.arrays):
            with suppress(BudgetError):
                line.line.released()


def unreleased(account: Account, run_id: str | None, claim: str | None) -> str:
    """What to say of a fit that was booked and has released nothing, before the next one; empty where there is none.

    ``claim`` names the answers that are at hand.
    """
    line = account.run(run_id) if run_id is not None else None
    if line is not None:
        if line.arrays is not None:
            return ""
        if not line.is_of(claim):
            return (
                f"the run {run_id} was booked before and released nothing, and the answers that it drew are not beside "
                "this folder, or not whole: it begins anew, and pays again"
            )
        return f"the run {run_id} was booked before and released nothing: it goes on, and pays no second time"
    last = account.spendings[-1] if account.spendings else None
    if last is None or last.released_at is not None or last.arrays is not None or last.folder is None:
        return ""
    return (
        f"the last fit that was booked on {account.data} has released nothing: it still runs, or was stopped; what it "
        "booked stays spent"
    )


def is_published(folder: Path, arrays: str) -> bool:
    """Whether a folder holds the release whose arrays have this checksum."""
    try:
        return bool(read_card(folder).get("arrays_sha256") == arrays)
    except DiscreetError:
        return False
