"""A private fit that is paid for from a lasting budget, in the only order that is safe.

    rehearse    what the fit will look at, and what that costs; no rating is touched
    reserve     book it, or refuse
    fit         look at the ratings, as planned
    save        write the release
    released    note that it was written

Whoever stops after the second step has paid. A run with a name (``run_id``) may be tried again: it goes on with the
line that is booked. Then the last two steps are one: the release is written beside its folder, the line is marked by
whoever holds the claim on it, with the checksum of the arrays, and only then the folder appears. So of all who try the
same run, one publishes: two draws of the noise would be two releases. Whoever dies between mark and folder has left the
release beside it, where the next try finds it.
"""

import logging
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.doors import checked_before
from discreet.errors import BudgetError, DiscreetError, InputError, OverspentError, require
from discreet.fitting.replay import fit_and_replay
from discreet.populations.paying import Paying
from discreet.populations.population import Population
from discreet.populations.rehearsal import follow, rehearse
from discreet.privacy.budget import Budget, Reservation
from discreet.privacy.ledger import Ledger
from discreet.releases.release import Release
from discreet.releases.storage import SCRATCH, load, read_card, save
from discreet.releases.tuning import settings_hash, tuned
from discreet.types import Progress, no_progress

if TYPE_CHECKING:
    from discreet.privacy.signing import SigningKey

_log = logging.getLogger("discreet")


@checked_before
def spend_and_release(
    model: Any,
    population: Population,
    folder: str | Path,
    *,
    budget: Budget | None = None,
    data: str | None = None,
    note: str = "",
    sign: "SigningKey | None" = None,
    run_id: str | None = None,
    progress: Progress = no_progress,
) -> Release:
    """Fit a model and save its release, paid for from the budget of a data set.

    What the budget does not allow is refused before any rating is looked at.

    Parameters
    ----------
    model
        One that asks a population for sums.
    population
        A private one with a fresh ledger: :class:`TrustedServer` or :class:`LocalDevices`.
    folder
        Where the release is written.
    budget, data
        Who pays, and from which account; left out where the population has an ``account`` of its own.
    note
        A sentence for the card of the release.
    sign
        Key to sign it with.
    run_id
        Names this run. Tried again under the same name, it pays no second time: it goes on where nothing was released,
        and finds the release where it was. Whatever the model or the plan differs in is refused.
    progress
        Called while fitting.

    Examples
    --------
    >>> import tempfile
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> folder = tempfile.TemporaryDirectory()
    >>> budget = dc.Budget(f"{folder.name}/budget.sqlite")
    >>> budget.declare("made up", epsilon=1.5)
    >>> server = dc.TrustedServer(ratings, dc.Ledger(epsilon=1.0), account="made up", budget=budget)
    >>> release = spend_and_release(dc.Popularity(), server, f"{folder.name}/release")
    >>> round(budget.account("made up").remaining, 6)
    0.5
    >>> folder.cleanup()
    """
    require(hasattr(population, "guarantee"), f"population must be a population, got {type(population).__name__}")
    promised = population.guarantee
    if promised.proven is None:
        raise InputError(f"a budget pays for what is private, and this is not: {promised.reason}")
    if not isinstance(population, Paying):
        raise InputError(f"{type(population).__name__} keeps no ledger that a budget could pay for")
    require(not population.spends, "the ledger of this population was used before: start with a fresh one")
    require(run_id is None or 0 < len(run_id) <= 200, "a run id is a name of 1 to 200 letters")
    booking = population.book_on(data, budget)
    plan = rehearse(model, population)
    if not any(spend.chooses for spend in plan.spends):  # a choice that is planned is paid for
        promised = tuned(model, population)
        if promised.proven is None:
            raise InputError(f"{promised.reason}; nothing was computed or spent")
    reservation = booking.reserve(plan, repr(model), settings=settings_hash(model), run_id=run_id)
    if reservation.published is not None:
        return _published(Path(folder), str(run_id), reservation.published, model)
    follow(plan, population)
    try:
        release = fit_and_replay(model, population, progress)
        if population.spends != plan.spends:
            raise OverspentError(
                f"{model!r} looked at the ratings in another way than was booked; nothing was released"
            )
        progress(1, 1, "writing the release")  # the last moment to be stopped
        release = replace(release, note=note)
        save(release, Path(folder), sign, None if run_id is None else reservation.released)
    except BaseException:
        _log.warning("no release was written, and what was booked for it stays spent: there are no refunds")
        raise
    if run_id is None:
        mark(reservation, _log.warning)
    return release


def mark(reservation: Reservation, say: Callable[[str], None]) -> None:
    """Note that a release was written; where that fails it is out, and paid for, all the same."""
    try:
        reservation.released()
    except BudgetError as error:
        say(f"the release was written, but not marked as such: {error}")


def book(
    budget: Budget, account: str, purpose: str, release: Release, *, settings: str = "", digest: str | None = None
) -> Reservation | None:
    """Book a release that no ledger limits: one without privacy, or one from reports that users had perturbed.

    What is made of reports costs their users what the reports did, once, however often it is done; None says that it
    was booked before. Reports are known by their digest: others, of the same users, are another spend.
    """
    if release.guarantee.proven is None or release.guarantee.unit is None:
        return budget.expose(account, purpose, settings=settings)
    lines = budget.account(account).spendings
    if digest is not None:
        paid = any(line.digest == digest and set(release.spends) <= set(line.spends) for line in lines)
    else:  # these say nothing of themselves but how they were made
        paid = set(release.spends) <= {spend for line in lines for spend in line.spends}
    if paid:
        return None
    reports = Ledger(release.guarantee.proven.epsilon, unit=release.guarantee.unit)
    reports.charge(*release.spends)
    return budget.reserve(account, reports, purpose, settings=settings, digest=digest)


def is_published(folder: Path, arrays: str) -> bool:
    """Whether a folder holds the release whose arrays have this checksum."""
    try:
        return bool(read_card(folder).get("arrays_sha256") == arrays)
    except DiscreetError:
        return False


def _published(folder: Path, run_id: str, arrays: str, model: Any) -> Release:
    """The release of a run that is done. If it is lost it stays so: another draw of the noise is another spend."""
    own = [type(candidate) for candidate in getattr(model, "candidates", [model])]
    if not is_published(folder, arrays):
        left = [place for place in folder.parent.glob(f".{folder.name}.*/{SCRATCH}") if is_published(place, arrays)]
        if not left or folder.exists():
            raise InputError(
                f"the run {run_id} was released before, and {folder} does not hold that release: find it where it was "
                "written, or pay for a new run under another name; nothing was computed or spent"
            )
        load(left[0], own=own)  # raises if it is damaged
        left[0].replace(folder)
        shutil.rmtree(left[0].parent, ignore_errors=True)  # of whoever was killed before it got here
    return load(folder, own=own)
