"""What a fit will cost, found out before any rating is looked at.

What a model asks for depends on its settings, on the public catalogue and on the answers, never on the ratings
themselves. Most models ask for the same sums whatever is answered: then a fit on made-up answers does as well, and its
ledger is the plan. One that chooses by the answers what to ask next (its ``chooses_on_the_way`` says so) may ask for
something else in the end: of it a rehearsal shows only what it would do on zeros, and what it promises is the limit.
There the first look is enough where it says what noise all have.
"""

from contextlib import suppress
from typing import Any, Protocol, TypeGuard

import numpy as np

from discreet.errors import InputError
from discreet.populations.around import Around
from discreet.populations.calibration import CalibratedNoise
from discreet.populations.contribution import Contribution
from discreet.populations.mechanism import Drawn, Mechanism
from discreet.populations.population import Population
from discreet.populations.steps import Question, Steps, StepSums
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.ledger import Ledger
from discreet.privacy.spend import Spend
from discreet.types import Doubles


class PayingPopulation(Population, Protocol):
    """A population that charges a ledger for every sum, and can say beforehand how much."""

    @property
    def ledger(self) -> Ledger:
        """What may be spent, and what was."""
        ...

    def calibrate(self, question: Question, share: float = 1.0) -> CalibratedNoise:
        """The noise that a sum or steps would get, and what it would cost. Public: no rating is looked at."""
        ...

    def price(self, mechanism: Mechanism, share: float = 1.0) -> Spend:
        """What running a mechanism would cost. Public."""
        ...


def _pays(population: Any) -> TypeGuard[PayingPopulation]:
    # Protocols that are checked at runtime read every property, and some of these ask a database.
    return all(hasattr(population, name) for name in ("ledger", "calibrate", "price"))


class _SeenEnoughError(Exception):
    """Ends a rehearsal that wanted to know the first look."""


class Rehearsal(Around):
    """Stands in for a population: charges a ledger of its own with what the population would, and answers zeros."""

    def __init__(self, population: PayingPopulation, first_look: bool = False) -> None:
        super().__init__(population)
        self._first_look = first_look
        self._before = population.ledger
        self._asked: tuple[Spend, ...] = ()
        self.ledger = self._before.copy()
        self._calibrate, self._price = population.calibrate, population.price

    @property
    def spends(self) -> tuple[Spend, ...]:
        """What was asked so far."""
        return self.ledger.spends

    @property
    def guarantee(self) -> Guarantee:
        """None: nothing is learned, and nothing is to be released."""
        return Guarantee.none("this was a rehearsal on made-up answers")

    def sum(self, contribution: Contribution, share: float = 1.0) -> Doubles:
        """Zeros, charged as the sum itself. No answer came before, so all that was asked is one plan."""
        self._charge(self._calibrate(contribution, share).spend)
        return np.zeros(contribution.shape)

    def steps(self, steps: Steps, share: float = 1.0) -> StepSums:
        """Zeros in every step, all of them charged as the steps themselves; the noise is told as it will be."""
        noise = self._calibrate(steps, share)
        self._charge(noise.spend)
        return StepSums(steps, noise.deviation, lambda contribution: np.zeros(contribution.shape))

    def run(self, mechanism: Mechanism, share: float = 1.0) -> Drawn:
        """Zeros, charged as the mechanism itself."""
        self._charge(self._price(mechanism, share))
        return {name: np.zeros(shape) for name, shape in mechanism.shapes.items()}

    def _charge(self, spend: Spend) -> None:
        asked = (*self._asked, spend)
        ledger = self._before.copy()
        if ledger.planned is None and not ledger.spends:
            ledger.plan(*asked)
        ledger.charge(*asked)
        self._asked, self.ledger = asked, ledger
        if self._first_look:
            raise _SeenEnoughError

    def deviation(self, question: Question, share: float = 1.0) -> float:
        """As the population says, so that the model goes the same way."""
        return self._population.deviation(question, share)


def rehearse(model: Any, population: Population, *, first_look: bool = False) -> Ledger:
    """The ledger that fitting ``model`` on ``population`` will leave behind; the ratings are not looked at.

    For a model that chooses on the way it is the ledger of answers that are all 0; ``first_look`` stops it after the
    first of them. It holds the spends as a plan, unless something was spent before. A plan that exceeds the
    population's own limit raises :class:`OverspentError`.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> server = dc.TrustedServer(ratings, dc.Ledger(epsilon=1.0))
    >>> plan = rehearse(dc.Popularity(), server)
    >>> [spend.what for spend in plan.spends], round(plan.spent, 6)
    (['how often each item was rated'], 1.0)
    >>> server.spends
    ()
    """
    if not _pays(population):
        raise InputError(f"{type(population).__name__} hides nothing, so it has no cost that could be planned")
    rehearsal = Rehearsal(population, first_look)
    with suppress(_SeenEnoughError), np.errstate(all="ignore"):  # what becomes of zeros is nobody's concern
        model.fit(rehearsal)
    return rehearsal.ledger


def plan_whole_fit(model: Any, population: Population) -> None:
    """Plan all looks of a fit together, where nobody did so yet: sampled steps beside other looks need it."""
    around: Any = population
    while isinstance(around, Around):
        if isinstance(around, Rehearsal):
            return
        around = around._population
    if _pays(around) and around.ledger.planned is None and not around.ledger.spends:
        follow(rehearse(model, around), around)


def follow(plan: Ledger, population: Population) -> None:
    """Fix the plan of a rehearsal in the population's own ledger: it answers what was planned, in that order.

    What is proven then is what the plan costs, and not the whole limit.

    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> server = dc.TrustedServer(ratings, dc.Ledger(epsilon=1.0))
    >>> follow(rehearse(dc.Popularity(), server), server)
    >>> round(dc.Popularity().fit(server).guarantee.proven.epsilon, 6)
    1.0
    """
    if not _pays(population):
        raise InputError(f"{type(population).__name__} hides nothing, so it has no ledger that could follow a plan")
    population.ledger.plan(*plan.spends)
