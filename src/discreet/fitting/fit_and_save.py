"""A fit from beginning to end: choose, check, pay or book, save. What ``discreet fit`` and ``discreet search`` do.

What can be wrong is found in this order: the model, its terms and its folder, before the ratings are read; the account
and the promise, before a rating is looked at; what the budget allows, before anything is computed.
"""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from dataclasses import replace as changed
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.data.parts import RatingsInParts
from discreet.data.ratings import Ratings
from discreet.errors import require
from discreet.fitting.accounts import account_name, check_tuning, paying_account, place_of
from discreet.fitting.audience import audience_of
from discreet.fitting.choosing import choose_for
from discreet.fitting.fit_on import NO_PRIVACY, fit_on
from discreet.fitting.private_forms import check_private
from discreet.fitting.spending import book, mark, pay_and_publish, place_for, telling
from discreet.models.almanac.planner import Purpose
from discreet.populations.accounts import sketch_of
from discreet.populations.terms import Terms
from discreet.populations.wishes import Wishes
from discreet.privacy.account import Account
from discreet.privacy.budget import Budget
from discreet.privacy.guarantee import Guarantee
from discreet.releases.contract import check_settings
from discreet.releases.priors import check_takes_prior, unproven_priors, with_prior
from discreet.releases.release import HERE, Release
from discreet.releases.storage import save
from discreet.releases.tuning import CHOSEN_BY_RULE, DEFAULT_KIND, settings_hash
from discreet.types import Progress, no_progress

if TYPE_CHECKING:
    from discreet.privacy.signing import SigningKey

_log = logging.getLogger("discreet")


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """What came of it.

    Parameters
    ----------
    release, folder
        What was released, and where it is.
    reason
        Why this model was chosen; empty where it was named.
    account
        The account of these ratings afterwards.
    seconds
        What it took, without reading the ratings.
    run_was_done
        Whether a run of this name was released before: then nothing was computed and nothing spent.
    paid_before
        Whether it cost nothing for this or another reason: what is made of reports was paid with them.
    """

    release: Release
    folder: Path
    reason: str
    account: Account
    seconds: float
    run_was_done: bool
    paid_before: bool


def fit_and_save(
    model: Any,
    ratings: Ratings | RatingsInParts | Callable[[], Ratings | RatingsInParts],
    folder: str | Path,
    *,
    data: str,
    terms: Terms = NO_PRIVACY,
    audience: int | None = None,
    purpose: Purpose = "both",
    account: str | None = None,
    budget: Budget | None = None,
    tuned_on: str | None = None,
    wishes: Callable[[], Wishes | None] | None = None,
    run_id: str | None = None,
    replace: bool = False,
    sign: "SigningKey | None" = None,
    note: str = "",
    prior: Release | None = None,
    check_replay: bool = False,
    progress: Progress = no_progress,
    warn: Callable[[str], None] = _log.warning,
) -> Fitted:
    """Fit a model, pay for it or book it, and save its release.

    Parameters
    ----------
    model
        The model, or a :class:`Search` over several; None lets a rule choose by public facts.
    ratings
        The ratings, or a function that reads them, which is called when all else is in order.
    folder
        Where the release is written.
    data
        What the ratings are: the name of a data set, or their file. It finds their account.
    terms
        How much privacy; by default none.
    audience
        About how many users take part, as far as this is public, for the rule that chooses.
    purpose
        What the release is for, for the rule that chooses.
    account, budget
        Which account pays, and where it is kept; by default that of the data, in the user's own budget.
    tuned_on
        On what the settings were chosen.
    wishes
        A function that reads what privacy users wish for, called when all else is in order.
    run_id
        Names this run: tried again it is paid once.
    replace
        Whether a release in the folder may be replaced.
    sign
        Key to sign it with.
    note
        A sentence for the card of the release.
    prior
        Another release, whose items and these are matched: what it says is believed as far as noisy sums bear it out
        (:func:`discreet.releases.with_prior`).
    check_replay
        Whether a private fit of one of Discreet's own models is checked by replay too, as of any other model.
    progress, warn
        Called while it goes on, and with a sentence where something should be known.

    Examples
    --------
    >>> import tempfile
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> with tempfile.TemporaryDirectory() as place:
    ...     budget = dc.Budget(f"{place}/budget.sqlite")
    ...     asked = {"data": "made-up", "terms": dc.Terms(epsilon=1.0), "budget": budget}
    ...     done = fit_and_save(dc.Popularity(), ratings, f"{place}/release", **asked)
    ...     dc.Release.load(f"{place}/release").model, round(done.account.spent, 6)
    (Popularity(), 1.0)
    """
    folder, budget = Path(folder), Budget() if budget is None else budget
    users = audience_of(data, audience).users
    candidates: Sequence[Any] = getattr(model, "candidates", [] if model is None else [model])
    has_privacy = terms.epsilon is not None and terms.noise_seed is None
    for candidate in candidates:
        if prior is not None:
            check_takes_prior(candidate)
        check_settings(candidate)
        check_private(candidate, terms)
    require(has_privacy or not check_replay, "--check-replay is for private fits: give --epsilon, and no --noise-seed")
    require(run_id is None or has_privacy, "--run-id is for what is paid for: give --epsilon, and no --noise-seed")
    require(tuned_on is None or terms.epsilon is not None, "--tuned-on says nothing without --epsilon: leave it out")
    expected = account or account_name(data)
    before = budget.account(expected)  # a database that is down is found before the data are read
    with place_for(budget, expected, folder, run_id=run_id, replace=replace) as place:
        if not has_privacy:
            before.check_unlimited("a release" if model is None else repr(model))
        elif list(candidates) == [model]:  # a search pays for its choice
            check_tuning(model, budget.looks(expected), data, expected, tuned_on)

        ratings = ratings if isinstance(ratings, Ratings | RatingsInParts) else ratings()
        started = time.perf_counter()
        account = paying_account(budget, data, account, ratings, warn)
        if prior is not None:
            of_these = prior.catalogue.fingerprint == ratings.catalogue.fingerprint and budget.account(account).exact
            require(
                not (has_privacy and of_these and unproven_priors(prior)),
                f"the prior promises nothing, is about these very items, and {account} has paid for a release without "
                "privacy: what was learned from it could not be promised; take another prior; nothing was spent",
            )
            ratings = with_prior(ratings, prior)
        reason = ""
        if model is None:
            model, reason = choose_for(ratings.catalogue, users, terms, purpose)
            if tuned_on is None and type(model).__name__ != DEFAULT_KIND:
                tuned_on = CHOSEN_BY_RULE
        note, origin, booked = note or reason, place_of(data), None
        if has_privacy:
            wished = None if wishes is None else wishes()
            paying: dict[str, Any] = {"account": account, "budget": budget, "place": origin}
            population = terms.population(ratings, tuning=tuned_on, wishes=wished, **paying)
            _check_promise(population.guarantee)
            asked: dict[str, Any] = {"note": note, "sign": sign, "run_id": run_id, "check_replay": check_replay}
            release = pay_and_publish(model, population, folder, place, **asked, progress=progress)
        else:
            assert place is not None  # only a private run has a name
            release = changed(fit_on(model, ratings, terms, progress), note=note, made=HERE)
            progress(1, 1, "writing the release")
            name = repr(model) + ("" if terms.noise_seed is None else ", with noise from a seed")
            # Nothing is out before it is written: it is booked only now.
            booked = book(
                budget,
                account,
                name,
                release,
                settings=settings_hash(model),
                digest=ratings.report_digest if isinstance(ratings, Ratings) else None,
                folder=str(place.folder),
            )
            budget.remember(account, sketch_of(ratings, budget.key()), origin)
            save(release, place, sign, None if booked is None else telling(booked, place))
            if booked is not None:
                mark(booked, lambda sentence: warn(f"{sentence[:1].upper()}{sentence[1:]}."))
    run_was_done = place is None
    return Fitted(
        release=release,
        folder=folder,
        reason=reason,
        account=budget.account(account),
        seconds=time.perf_counter() - started,
        run_was_done=run_was_done,
        paid_before=run_was_done or (release.guarantee.proven is not None and not has_privacy and booked is None),
    )


def _check_promise(guarantee: Guarantee) -> None:
    """Raise where privacy was asked for and cannot be promised for these data, whatever the model."""
    hint = ", in a table that --items FILE names, with --items-public, which is enough where the data have a list"
    hint = hint if "items public" in guarantee.reason else ""
    require(
        guarantee.proven is not None,
        f"with these data --epsilon would promise nothing: {guarantee.reason}{hint}; nothing was computed or spent",
    )
