"""A private fit that is paid for from a lasting budget, in the only order that is safe.

    rehearse    what the fit will look at, and what that costs; no rating is touched
    reserve     book it, or refuse
    fit         look at the ratings, as planned
    save        write the release
    released    note that it was written

Whoever stops after the second step has paid.
"""

import logging
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import BudgetError, InputError, OverspentError, require
from discreet.models.release import Release
from discreet.models.replay import fit_and_replay
from discreet.populations.population import Population
from discreet.populations.rehearsal import follow, rehearse
from discreet.privacy.budget import Budget
from discreet.types import Progress, no_progress

if TYPE_CHECKING:
    from discreet.privacy.signing import SigningKey

_log = logging.getLogger("discreet")


def spend_and_release(
    model: Any,
    population: Population,
    folder: str | Path,
    *,
    budget: Budget,
    data: str,
    note: str = "",
    sign: "SigningKey | None" = None,
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
        Who pays, and for which data set.
    note
        A sentence for the card of the release.
    sign
        Key to sign it with.
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
    >>> server = dc.TrustedServer(ratings, dc.Ledger(epsilon=1.0))
    >>> release = spend_and_release(dc.Popularity(), server, f"{folder.name}/release", budget=budget, data="made up")
    >>> round(budget.report("made up").remaining, 6)
    0.5
    >>> folder.cleanup()
    """
    promised = population.guarantee
    if promised.proven is None:
        raise InputError(f"a budget pays for what is private, and this is not: {promised.reason}")
    require(not population.spends, "the ledger of this population was used before: start with a fresh one")
    plan = rehearse(model, population)
    reservation = budget.reserve(data, plan, repr(model))
    follow(plan, population)
    try:
        release = fit_and_replay(model, population, progress)
        if population.spends != plan.spends:
            raise OverspentError(
                f"{model!r} looked at the ratings in another way than was booked; nothing was released"
            )
        progress(1, 1, "writing the release")  # the last moment to be stopped
        release = replace(release, note=note)
        release.save(folder, sign=sign)
    except BaseException:
        _log.warning("no release was written, and what was booked for it stays spent: there are no refunds")
        raise
    try:
        reservation.released()
    except BudgetError as error:
        _log.warning("the release was written, but not marked as such: %s", error)
    return release
