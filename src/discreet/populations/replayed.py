"""The answers of a fit, written down and given again by a population that holds no ratings."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.data.catalogue import Catalogue
from discreet.errors import InputError
from discreet.populations.around import Around
from discreet.populations.contribution import Contribution
from discreet.populations.guarded import nobody
from discreet.populations.population import Population
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.spend import Spend
from discreet.privacy.unit import Unit
from discreet.types import Doubles

MOST_BYTES = 256 << 20
"""Answers that take more memory are not kept."""


@dataclass(frozen=True, eq=False)
class Answer:
    """A question, what was answered, and all looks that were booked by then."""

    question: tuple[Any, ...]
    value: Doubles | float
    spends: tuple[Spend, ...]


class Recorded(Around):
    """Passes every question on to a population, and keeps the answers while they fit in memory.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> recorded = Recorded(dc.TrustedServer(ratings, dc.Ledger(epsilon=1.0)))
    >>> first = dc.Popularity().fit(recorded)
    >>> again = dc.Popularity().fit(Replayed(recorded))
    >>> bool((first.arrays["counts"] == again.arrays["counts"]).all())
    True
    """

    def __init__(self, population: Population, most_bytes: int = MOST_BYTES) -> None:
        super().__init__(population)
        self.answers: list[Answer] | None = []
        self.before = population.spends
        self.promised: Guarantee | None = None
        self._room = most_bytes

    @property
    def guarantee(self) -> Guarantee:
        """As the population promises."""
        self.promised = self._population.guarantee
        return self.promised

    def sum(self, contribution: Contribution, share: float = 1.0) -> Doubles:
        """The population's answer, kept."""
        answer = self._population.sum(contribution, share)
        self._room -= answer.nbytes
        if self._room < 0:
            self.answers = None
        if self.answers is not None:
            kept = Answer(_question("sum", contribution, share), answer.copy(), self._population.spends)
            self.answers.append(kept)
        return answer

    def deviation(self, contribution: Contribution, share: float = 1.0) -> float:
        """As the population says, kept."""
        answer = self._population.deviation(contribution, share)
        if self.answers is not None:
            question = _question("deviation", contribution, share)
            self.answers.append(Answer(question, answer, self._population.spends))
        return answer


class Replayed:
    """Gives recorded answers again, to the same questions in the same order. It holds no ratings."""

    def __init__(self, recorded: Recorded) -> None:
        if recorded.answers is None:
            raise InputError("the answers took too much memory to be kept")
        self.catalogue: Catalogue = recorded.catalogue
        self.unit: Unit | None = recorded.unit
        self.spends: tuple[Spend, ...] = recorded.before
        self.answered = recorded.answered
        self._promised = recorded.promised
        self._answers = iter(tuple(recorded.answers))

    @property
    def guarantee(self) -> Guarantee:
        """As it was promised at the end."""
        return Guarantee.none("this was a replay") if self._promised is None else self._promised

    def sum(self, contribution: Contribution, share: float = 1.0) -> Doubles:
        """The next answer. The total is taken of nobody, so that nothing of a former one is left where it wrote."""
        contribution.total(nobody(self.catalogue))
        answer = self._next("sum", contribution, share)
        return np.array(answer, dtype=np.float64)

    def deviation(self, contribution: Contribution, share: float = 1.0) -> float:
        """The next answer."""
        return float(self._next("deviation", contribution, share))

    def _next(self, kind: str, contribution: Contribution, share: float) -> Any:
        answer = next(self._answers, None)
        if answer is None or answer.question != _question(kind, contribution, share):
            raise InputError("another question was asked than before")
        self.spends = answer.spends
        return answer.value


def _question(kind: str, contribution: Contribution, share: float) -> tuple[Any, ...]:
    asked = contribution.name, contribution.shape, contribution.bounds, contribution.noise, contribution.chooses
    return kind, share, *asked
