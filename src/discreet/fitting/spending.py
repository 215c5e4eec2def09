"""A private fit that is paid for from a lasting budget, in the only order that is safe.

    claim       the place where the release goes: what cannot be written is found now
    rehearse    what the fit will look at, and what that costs; no rating is touched
    reserve     book it, or refuse
    fit         look at the ratings, as planned
    save        write the release beside its folder, note its checksum in the budget, and let it appear
    released    note that it was written

Whoever stops after the third step has paid. A run with a name (``run_id``) may be tried again: it goes on with the
line that is booked, and with the answers that were drawn already (:mod:`discreet.populations.answer_file`). Where these
are lost or damaged it pays again, since it draws again. Of all who try the same run, one may note a checksum, and only
that one publishes: two draws of the noise would be two releases.
Whoever dies between note and folder has left the release beside it, where the next command finds it
(:mod:`discreet.fitting.recovering`).
"""

import hashlib
import logging
import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace as replaced
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.data.catalogue import Catalogue
from discreet.doors import checked_before
from discreet.errors import BudgetError, DishonestDeviceError, InputError, OverspentError, require
from discreet.fitting.recovering import is_published, recover, unreleased
from discreet.fitting.replay import fit_and_replay, is_ours
from discreet.populations.answer_file import AnswerFile, at_hand
from discreet.populations.paying import Paying
from discreet.populations.population import Population
from discreet.populations.rehearsal import follow, rehearse
from discreet.privacy.booking import Run
from discreet.privacy.budget import Budget, Reservation
from discreet.privacy.ledger import Ledger
from discreet.releases.contract import ChoosingModel
from discreet.releases.places import Place, claimed, scratch_of
from discreet.releases.release import HERE, Release
from discreet.releases.storage import Telling, load, save
from discreet.releases.tuning import settings_hash, tuned
from discreet.types import Progress, no_progress

if TYPE_CHECKING:
    from discreet.privacy.signing import SigningKey

_log = logging.getLogger("discreet")

PATIENCE = 100
"""Tenths of a second to wait for whoever is about to move a release to its place."""


class TakenOverError(BudgetError):
    """Another process publishes this run."""


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
    replace: bool = False,
    check_replay: bool = False,
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
        from the answers beside its folder, and finds the release where it was. Where these answers are lost or damaged
        it draws and pays again. Whatever the model or the plan differs in is refused.
    replace
        Whether a release in the folder may be replaced.
    check_replay
        Whether to fit again on the recorded answers, without the ratings, and to refuse what does not come out the
        same (:mod:`discreet.fitting.replay`). A model that is not Discreet's own is always checked.
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
    booking = _check(population, run_id).book_on(data, budget)
    with place_for(booking.budget, booking.account, folder, run_id=run_id, replace=replace) as place:
        asked: dict[str, Any] = {"note": note, "sign": sign, "run_id": run_id, "check_replay": check_replay}
        return pay_and_publish(model, population, folder, place, **asked, progress=progress)


@contextmanager
def place_for(
    budget: Budget, account: str, folder: str | Path, *, run_id: str | None = None, replace: bool = False
) -> Iterator[Place | None]:
    """Claim the folder of a release before it is paid for; None for a run that is done, whose release is only found."""
    recover(budget, folder)
    line = None if run_id is None else budget.account(account).run(run_id)
    if line is not None and line.arrays is not None:
        yield None
        return
    with claimed(folder, replace=replace) as place:
        yield place


def pay_and_publish(
    model: Any,
    population: Population,
    folder: str | Path,
    place: Place | None,
    *,
    note: str = "",
    sign: "SigningKey | None" = None,
    run_id: str | None = None,
    check_replay: bool = False,
    progress: Progress = no_progress,
) -> Release:
    """The same at a place that was claimed before: the steps from rehearsing on."""
    paying = _check(population, run_id)
    booking = paying.book_on(None)
    account = booking.budget.account(booking.account)
    line, answers, begun = None if run_id is None else account.run(run_id), None, None
    if run_id is not None and place is not None and hasattr(os, "pread"):  # not on every system: there it begins anew
        answers = partial(_answers_of, place.folder, run_id, population.catalogue)
        begun = at_hand(answers(line.claim)) if line is not None and line.claim else None
    drawn = None if line is None or begun is None else line.claim
    paid = line if line is not None and line.is_of(drawn) else None
    on_the_way = isinstance(model, ChoosingModel) and model.chooses_on_the_way(population)
    first_look = on_the_way and is_ours(model)  # of ours it says what noise all have
    rehearsed = rehearse(model, population, first_look=first_look)
    if on_the_way and _has_laplace(rehearsed) and booking.prefers_gaussian(paid) and paying.hide_by_gaussian_noise():
        _log.warning(
            "%s has paid for Gaussian noise before: this fit has no other, as that costs least", booking.account
        )
        rehearsed = rehearse(model, population, first_look=first_look)
    plan = None if on_the_way else rehearsed
    promised = tuned(model, population, paid=any(spend.chooses for spend in rehearsed.spends))
    if promised.proven is None:
        raise InputError(f"{promised.reason}; nothing was computed or spent")
    sentence = unreleased(account, run_id, drawn)
    if sentence:
        _log.warning(sentence)
    where = None if place is None else str(place.folder)
    run, file = Run(settings=settings_hash(model), run_id=run_id, folder=where), None
    if answers is not None:
        # Under a new name, so that of copies the first goes on; made before it is booked, and the old one stays till
        # then: whoever is killed in between has paid for nothing that is lost.
        claim = secrets.token_hex(16)
        file = AnswerFile(answers(claim), begun=begun)
        run |= Run(claim=claim, answers=drawn)
    try:
        if plan is not None:
            reservation = booking.reserve(plan, repr(model), **run)
        elif _has_laplace(rehearsed):
            reservation = booking.reserve_stages(paying.ledger, rehearsed.spends[0], repr(model), **run)
        else:
            exact = not any(spend.slack for spend in rehearsed.spends)
            reservation = booking.reserve_limit(paying.ledger, repr(model), exact=exact, **run)
    except BaseException as error:
        if file is not None:  # it may be booked even so, unless it was refused
            file.close(keep=not isinstance(error, InputError | OverspentError))
        raise
    if reservation.published is not None:
        if file is not None:
            file.close(keep=False)
        return _published(booking.budget, Path(folder), str(run_id), reservation.published, model)
    assert place is not None
    if file is not None and answers is not None:
        _forget_answers(place.folder, str(run_id), but=file)
        file.renamed = partial(_stopped, reservation, answers)
    if plan is not None:
        follow(plan, population)
    try:
        release = fit_and_replay(model, population, progress, file, check_replay=check_replay)
        if plan is not None and population.spends != plan.spends:
            raise OverspentError(
                f"{model!r} looked at the ratings in another way than was booked; nothing was released"
            )
        progress(1, 1, "writing the release")  # the last moment to be stopped
        release = replaced(release, note=note, made=HERE)
        save(release, place, sign, telling(reservation, place))
    except TakenOverError:
        if file is not None:
            file.close(keep=False)  # what was drawn here is never released
        raise
    except BaseException as error:
        if file is not None:  # a sum that was refused was seen, and is not among the answers
            file.close(keep=not isinstance(error, DishonestDeviceError))
        if place.waiting() is None and file is not None and file.kept:
            _log.warning("no release was written yet: the same command goes on from what was drawn, and is paid once")
        elif place.waiting() is None:
            _log.warning("no release was written, and what was booked for it stays spent: there are no refunds")
        raise
    for booked in (reservation, *booking.stages):
        mark(booked, _log.warning)
    if file is not None:
        file.close(keep=False)
    return release


def _has_laplace(rehearsed: Ledger) -> bool:
    return any(spend.mechanism != "gaussian" for spend in rehearsed.spends)


def _answers_of(folder: Path, run_id: str, catalogue: Catalogue, claim: str) -> Path:
    """Where the answers are that were drawn for one line of a budget, beside the folder of its release."""
    return folder.with_name(f"{_answers_beside(folder, run_id)}-{_short(claim, catalogue.fingerprint)}")


def _stopped(reservation: Reservation, answers: Callable[[str], Path]) -> Path:
    """The new name of the answers of a run that stops with an error."""
    claim = secrets.token_hex(16)
    reservation.stopped(claim)
    return answers(claim)


def _forget_answers(folder: Path, run_id: str, but: AnswerFile | None = None) -> None:
    """Remove the answers of a run that is released, or their other names."""
    for path in folder.parent.glob(f"{_answers_beside(folder, run_id)}*"):
        if but is None or path != but.path:
            with suppress(OSError):
                path.unlink(missing_ok=True)


def _answers_beside(folder: Path, run_id: str) -> str:
    return f".discreet-run-{_short(folder.name, run_id)}"


def _short(*words: str) -> str:
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:20]


def _check(population: Population, run_id: str | None) -> Paying:
    """Raise unless a budget can pay for what this population answers."""
    require(hasattr(population, "guarantee"), f"population must be a population, got {type(population).__name__}")
    promised = population.guarantee
    if promised.proven is None:
        raise InputError(f"a budget pays for what is private, and this is not: {promised.reason}")
    if not isinstance(population, Paying):
        raise InputError(f"{type(population).__name__} keeps no ledger that a budget could pay for")
    require(not population.spends, "the ledger of this population was used before: start with a fresh one")
    require(run_id is None or 0 < len(run_id) <= 200, "a run id is a name of 1 to 200 letters")
    return population


def telling(reservation: Reservation, place: Place) -> Telling:
    """Lets the budget know which release is about to appear at a place."""

    def tell(arrays: str) -> None:
        place.booked = True  # if the answer is lost on the way, only the budget knows
        if not reservation.publishing(arrays):
            place.booked = False
            raise TakenOverError("another process has taken this run over, and publishes it; nothing was written here")

    return Telling(reservation.budget.place, tell)


def mark(reservation: Reservation, say: Callable[[str], None]) -> None:
    """Note that a release was written; where that fails it is out, and paid for, all the same."""
    try:
        reservation.released()
    except BudgetError as error:
        say(f"the release was written, but not marked as such: {error}")


def book(
    budget: Budget,
    account: str,
    purpose: str,
    release: Release,
    *,
    settings: str = "",
    digest: str | None = None,
    folder: str | None = None,
) -> Reservation | None:
    """Book a release that no ledger limits: one without privacy, or one from reports that users had perturbed.

    What is made of reports costs their users what the reports did, once, however often it is done; None says that it
    was booked before. Reports are known by their digest: others, of the same users, are another spend.
    """
    if release.guarantee.proven is None or release.guarantee.unit is None:
        return budget.expose(account, purpose, settings=settings, folder=folder)
    lines = budget.account(account).spendings
    if digest is not None:
        paid = any(line.digest == digest and set(release.spends) <= set(line.spends) for line in lines)
    else:  # these say nothing of themselves but how they were made
        paid = set(release.spends) <= {spend for line in lines for spend in line.spends}
    if paid:
        return None
    reports = Ledger(release.guarantee.proven.epsilon, unit=release.guarantee.unit)
    reports.charge(*release.spends)
    return budget.reserve(account, reports, purpose, settings=settings, digest=digest, folder=folder)


def _published(budget: Budget, folder: Path, run_id: str, arrays: str, model: Any) -> Release:
    """The release of a run that is done. If it is lost it stays so: another draw of the noise is another spend."""
    own = [type(candidate) for candidate in getattr(model, "candidates", [model])]
    for _ in range(PATIENCE):  # whoever publishes it may be about to move it there
        recover(budget, folder)
        if is_published(folder, arrays):
            _forget_answers(folder.resolve(), run_id)  # of whoever was killed just after it
            return load(folder, own=own)
        if not scratch_of(folder.resolve()).exists():
            break
        time.sleep(0.1)
    raise InputError(
        f"the run {run_id} was released before, and {folder} does not hold that release: find it where it was "
        "written, or pay for a new run under another name; nothing was computed or spent"
    )
