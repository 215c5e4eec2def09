"""How a population pays from an account: before anything is computed.

a plan was reserved     one line holds it whole, and each sum must be the next one of the plan
a limit was reserved    one line holds all of it: sums are chosen by the answers before them, within that limit
stages were reserved    a line for the first sum, and one for each that is chosen by the answers before it; where the
                        run has a name, each is found again when it is tried again
otherwise               a line for each sum: it may have been chosen after all answers before it, of whoever pays here
"""

import logging
import math
import threading
from collections.abc import Callable, Iterable
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING, TypedDict, Unpack

from discreet.errors import OverspentError, require, require_type
from discreet.looks import Look
from discreet.privacy.account import SUM_BY_SUM, Spending
from discreet.privacy.budget import Budget, Reservation
from discreet.privacy.ledger import Ledger
from discreet.privacy.spend import Spend

if TYPE_CHECKING:
    from discreet.privacy.fingerprint import Sketch

_log = logging.getLogger("discreet")

PLANNED = "sums that a program planned"


class Run(TypedDict, total=False):
    """What a line says of the fit that it pays for: see :meth:`~discreet.privacy.budget.Budget.reserve`."""

    settings: str
    run_id: str | None
    claim: str | None
    answers: str | None
    folder: str | None


class Booking:
    """What one population pays from one account.

    Parameters
    ----------
    budget, account
        Who pays.
    sketch
        Makes a sketch of the ratings from the key of the budget; it is kept with the account, so that they are known
        again. Called once, when something is booked or looks are asked for.
    """

    def __init__(self, budget: Budget, account: str, sketch: "Callable[[bytes], Sketch] | None" = None) -> None:
        require_type(budget, Budget, "budget must be a Budget, for example Budget('budget.sqlite')")
        named = isinstance(account, str) and bool(account.strip()) and account.isprintable() and len(account) <= 1000
        require(named, "account must be the name of an account, for example 'films'")
        self.budget, self.account = budget, budget.resolve(account)
        self.place = ""
        self._sketch = sketch
        self._made: Sketch | None = None
        self._plan: tuple[Spend, ...] | None = None
        self._paid: tuple[Spend, ...] = ()
        self._limit: Spend | None = None
        self._stages: list[Reservation] | None = None
        self._run = Run()
        self._lock = threading.Lock()

    @cached_property
    def key(self) -> bytes:
        """The secret key of the budget's sketches."""
        return self.budget.key()

    @property
    def looks(self) -> tuple[Look, ...]:
        """The unpaid looks that are written down on the account, and on others whose users look like these."""
        names = dict.fromkeys([self.account, *self._alike()])
        return tuple(look for name in names for look in self.budget.looks(name))

    def reserve(self, plan: Ledger, purpose: str, **run: Unpack[Run]) -> Reservation:
        """Book a whole plan; raises where that would overspend."""
        with self._lock:
            require(
                self._plan is None and not self._paid, "this population has booked before: make another for another fit"
            )
            self._look_at_users()
            line = self.budget.reserve(self.account, plan, purpose, **run)
            self._plan = plan.spends
        self._remember()
        return line

    def reserve_limit(self, ledger: Ledger, purpose: str, *, exact: bool = True, **run: Unpack[Run]) -> Reservation:
        """Book all that a ledger allows, as one look with Gaussian noise, for looks that are still to be chosen.

        Where their samplers are not ``exact``, all that the ledger sets aside for samplers is booked as well.

        Each may be chosen by the answers before it, all have Gaussian noise. If their μ² never sum to more than that of
        the look that is booked, they are together no less private than it is (Smith & Thakurta 2022).
        """
        plan = whole_limit(ledger, exact=exact)
        line = self.reserve(plan, purpose, **run)
        self._limit = plan.spends[0]
        return line

    def prefers_gaussian(self, paid: Spending | None) -> bool:
        """Whether Laplace noise costs several times more: the account has a limit, and paid for Gaussian noise before.

        Before the line that pays for the run, if it is tried again: it goes the same way.
        """
        account = self.budget.account(self.account)
        before = takewhile(lambda line: paid is None or line.id != paid.id, account.spendings)
        return account.epsilon is not None and any(follows_gaussian(line.spends) for line in before)

    def reserve_stages(self, ledger: Ledger, first: Spend, purpose: str, **run: Unpack[Run]) -> Reservation:
        """Book the first look of a fit; each later one is chosen by the answers before it, and gets a line of its own.

        For looks that may have Laplace or Gaussian noise: no single look is as telling as every such choice, so the
        account's own filter counts them one by one. Refused at once where all that the ledger allows would be too much,
        so that a fit does not stop halfway.
        """
        account, name = self.budget.account(self.account), run.get("run_id")
        booked = None if name is None else account.run(name)
        if booked is None or not booked.is_of(run.get("answers")):
            for whole in wholes(ledger):
                account.total_with(whole, purpose)
        line = self.reserve(_ledger_of(ledger, first), purpose, **run)
        self._stages, self._run = [], Run(settings=run.get("settings", ""), run_id=name, claim=line.claim)
        return line

    def _reserve_stage(self, ledger: Ledger, spend: Spend, number: int) -> None:
        assert self._stages is not None
        name = self._run["run_id"]
        run = Run() if name is None else self._run | Run(run_id=f"{name}, look {number}")
        self._stages.append(self.budget.reserve(self.account, _ledger_of(ledger, spend), SUM_BY_SUM, **run))

    @property
    def stages(self) -> tuple[Reservation, ...]:
        """The lines after the first, of looks that were chosen on the way."""
        return tuple(self._stages or ())

    def pay(self, ledger: Ledger, spend: Spend) -> None:
        """Book one more sum, which ``ledger`` is about to be charged for; raises where that would overspend."""
        with self._lock:
            first = self._plan is None and not self._paid
            if first:
                self._look_at_users()
            if first and ledger.planned is not None:
                self.budget.reserve(self.account, _ledger_of(ledger, *ledger.planned), PLANNED)
                self._plan = ledger.planned
            after = (*self._paid, spend)
            if self._limit is not None:
                if not _within(self._limit, after):
                    raise OverspentError("the model looked at more than was booked; nothing was released")
            elif self._stages is not None and self._plan is not None and len(after) > len(self._plan):
                ledger.copy().charge(spend)  # what the ledger itself refuses is not booked
                self._reserve_stage(ledger, spend, len(after))
            elif self._plan is None:
                ledger.copy().charge(spend)
                self.budget.reserve(self.account, _ledger_of(ledger, spend), SUM_BY_SUM)
            elif self._plan[: len(after)] != after:
                raise OverspentError(
                    "the model looked at the ratings in another way than was booked; nothing was released"
                )
            self._paid = after
        if first:
            self._remember()

    def _look_at_users(self) -> None:
        """Make the sketch before anything is paid, and warn where a second account begins to pay for the same users."""
        self._sketched()
        if self.budget.account(self.account).spendings:
            return
        if others := [name for name in self._alike() if self.budget.account(name).spendings]:
            _log.warning(
                "the account %s is new, and these users look like those of %s: if they are the same people, pay there; "
                "what is promised of one account does not count what others pay",
                self.account,
                others[0],
            )

    def _alike(self) -> list[str]:
        known = self.budget.sketches()
        if self._sketch is None or not known:
            return []
        from discreet.privacy.fingerprint import alike

        sketch = self._sketched()
        assert sketch is not None
        return alike(sketch, known)

    def _sketched(self) -> "Sketch | None":
        if self._made is None and self._sketch is not None:
            self._made = self._sketch(self.key)
        return self._made

    def _remember(self) -> None:
        if (sketch := self._sketched()) is not None:
            self.budget.remember(self.account, sketch, self.place)


def follows_gaussian(spends: Iterable[Spend]) -> bool:
    """Whether what comes after these counts as after Gaussian noise."""
    return any(spend.mechanism == "gaussian" for spend in spends)


def wholes(ledger: Ledger) -> tuple[Ledger, ...]:
    """Plans of which one costs an account as much as any looks that are chosen on the way, within what a ledger allows.

    Laplace noise comes first and Gaussian noise last. An account that has paid for no Gaussian noise yet counts the
    former as it is, so that looks of one kind cost it as much as any mixture; without a delta all are pure.

    >>> [plan.spends[0].mechanism for plan in wholes(Ledger(1.0, 1e-6))]
    ['pure', 'gaussian']
    """
    plain = Ledger(ledger.epsilon, ledger.delta, ledger.unit)  # of several levels an account pays for the most telling
    what = "looks that are chosen by the answers before them"
    pure = Spend(what=what, mechanism="pure", norm="l1", sensitivity=ledger.epsilon, scale=1.0)
    return (_ledger_of(plain, pure), *([] if ledger.delta == 0 else [whole_limit(plain)]))


def whole_limit(ledger: Ledger, *, exact: bool = True) -> Ledger:
    """A plan of one look with Gaussian noise that costs all that a ledger allows.

    >>> whole_limit(Ledger(1.0, 1e-6)).spends[0].what
    'looks that are chosen by the answers before them'
    """
    from discreet.privacy.composition import SET_ASIDE, samplers_delta
    from discreet.privacy.gaussian import mu_of

    usable = ledger.delta * (1 - SET_ASIDE)
    odds = samplers_delta(ledger.epsilon, ledger.delta) / 2 * math.exp(-ledger.epsilon)
    spend = Spend(
        what="looks that are chosen by the answers before them",
        mechanism="gaussian",
        norm="l2",
        sensitivity=1.0,
        scale=1 / mu_of(ledger.epsilon, usable),
        slack=0.0 if exact else odds,
        weighted=ledger.weighted,
    )
    return _ledger_of(ledger, spend)


def _within(limit: Spend, spends: tuple[Spend, ...]) -> bool:
    """Whether Gaussian looks together are no more than one that was booked for all of them."""
    squared = math.fsum(spend.times / spend.noise_multiplier**2 for spend in spends)
    return (
        all(spend.mechanism == "gaussian" and spend.sampling_rate == 1 for spend in spends)
        and squared <= limit.noise_multiplier**-2 * (1 + 1e-9)
        and math.fsum(spend.slack for spend in spends) <= limit.slack
    )


def _ledger_of(ledger: Ledger, *spends: Spend) -> Ledger:
    """One with the same limit that holds these spends, as one batch."""
    planned = ledger.fresh()
    planned.plan(*spends)
    planned.charge(*spends)
    return planned
