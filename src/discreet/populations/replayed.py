"""The answers of a fit, written down and given again by a population that holds no ratings."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from discreet.data.catalogue import Catalogue
from discreet.errors import DiscreetError, InputError
from discreet.populations.answer_file import AnswerFile
from discreet.populations.around import Around
from discreet.populations.contribution import Contribution
from discreet.populations.guarded import nobody
from discreet.populations.mechanism import Drawn, Mechanism
from discreet.populations.population import Population
from discreet.populations.steps import Question, Steps, StepSums
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.spend import Spend
from discreet.privacy.unit import Unit
from discreet.types import Doubles

T = TypeVar("T")

MOST_BYTES = 256 << 20
"""Answers that take more memory are not kept."""


@dataclass(frozen=True, eq=False)
class Answer:
    """A question, what was answered (a refusal is an answer too), and all looks that were booked by then."""

    question: tuple[Any, ...]
    value: Doubles | DiscreetError
    spends: tuple[Spend, ...]


def _itself(answer: Any) -> Any:
    return answer


class Recorded(Around):
    """Passes every question on to a population, and keeps the answers while they fit in memory.

    With a ``file`` they are also written down, and those that it has are given again and not drawn a second time.

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

    def __init__(self, population: Population, most_bytes: int = MOST_BYTES, file: AnswerFile | None = None) -> None:
        super().__init__(population)
        self._file = file
        self.answers: list[Answer] | None = [] if most_bytes else None
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
        return self._drawn(
            _question("sum", contribution, share),
            lambda: self._population.sum(contribution, share),
            lambda numbers: numbers.reshape(contribution.shape),
        )

    def deviation(self, question: Question, share: float = 1.0) -> float:
        """As the population says, kept."""
        return self._kept(_question("deviation", question, share), lambda: self._population.deviation(question, share))

    def steps(self, steps: Steps, share: float = 1.0) -> StepSums:
        """The population's steps, each of them kept."""
        question = _question("steps", steps, share)
        drawn = self._kept(question, lambda: self._population.steps(steps, share), lambda drawn: drawn.deviation)

        def answer(contribution: Contribution) -> Doubles:
            return self._drawn(
                _question("step", contribution),
                lambda: drawn.sum(contribution),
                lambda numbers: numbers.reshape(contribution.shape),
                paid=True,
            )

        return StepSums(steps, drawn.deviation, answer)

    def run(self, mechanism: Mechanism, share: float = 1.0) -> Drawn:
        """What the mechanism drew, kept."""
        return self._drawn(
            _question_of(mechanism, share),
            lambda: self._population.run(mechanism, share),
            lambda numbers: _drawn_of(mechanism, numbers),
            lambda drawn: np.concatenate([np.zeros(0), *(drawn[name].ravel() for name in mechanism.shapes)]),
        )

    def _drawn(
        self,
        question: tuple[Any, ...],
        ask: Callable[[], T],
        back: Callable[[Doubles], T],
        told: Callable[[T], Any] = _itself,
        *,
        paid: bool = False,
    ) -> T:
        """An answer with noise: the one on disk, where there is one. What is not ``paid`` yet is asked all the same."""
        file = self._file
        if file is None:
            return self._kept(question, ask, told)
        known = file.next(question) if paid else None
        if known is not None:
            return self._kept(question, lambda: back(known), told)

        def ask_or_remember() -> T:
            answer = ask()
            before = None if paid else file.next(question)
            if before is not None:
                return back(before)  # what was drawn just now is seen by nobody
            file.add(question, np.array(told(answer), dtype=np.float64).ravel())
            return answer

        return self._kept(question, ask_or_remember, told)

    def _kept(self, question: tuple[Any, ...], ask: Callable[[], T], told: Callable[[T], Any] = _itself) -> T:
        try:
            answer = ask()
        except DiscreetError as error:  # a model may ask whether it can have something, and do without
            self._keep(question, error)
            raise
        if self.answers is not None:
            self._keep(question, np.array(told(answer), dtype=np.float64))
        return answer

    def _keep(self, question: tuple[Any, ...], value: Doubles | DiscreetError) -> None:
        self._room -= value.nbytes if isinstance(value, np.ndarray) else 0
        if self._room < 0:
            self.answers = None
        if self.answers is not None:
            self.answers.append(Answer(question, value, self._population.spends))


class Replayed:
    """Gives recorded answers again, to the same questions in the same order. It holds no ratings."""

    def __init__(self, recorded: Recorded) -> None:
        if recorded.answers is None:
            raise InputError("the answers took too much memory to be kept")
        self.catalogue: Catalogue = recorded.catalogue
        self.unit: Unit | None = recorded.unit
        self.spends: tuple[Spend, ...] = recorded.before
        self.answered = recorded.answered
        self.unpaid_looks, self.log = tuple(recorded.unpaid_looks), recorded.log
        self.reading = recorded.reading
        self._promised = recorded.promised
        self._answers = list(reversed(recorded.answers))

    @property
    def guarantee(self) -> Guarantee:
        """As it was promised at the end."""
        return Guarantee.none("this was a replay") if self._promised is None else self._promised

    @property
    def asked_all(self) -> bool:
        """Whether every question was asked again."""
        return not self._answers

    def sum(self, contribution: Contribution, share: float = 1.0) -> Doubles:
        """The next answer. The total is taken of nobody, so that nothing of a former one is left where it wrote."""
        return self._summed("sum", contribution, share)

    def deviation(self, question: Question, share: float = 1.0) -> float:
        """The next answer."""
        return float(self._next(_question("deviation", question, share)))

    def steps(self, steps: Steps, share: float = 1.0) -> StepSums:
        """The next answers, one for each step."""
        deviation = float(self._next(_question("steps", steps, share)))
        return StepSums(steps, deviation, lambda contribution: self._summed("step", contribution))

    def run(self, mechanism: Mechanism, share: float = 1.0) -> Drawn:
        """The next answer."""
        return _drawn_of(mechanism, np.array(self._next(_question_of(mechanism, share)), dtype=np.float64))

    def _summed(self, kind: str, contribution: Contribution, share: float = 1.0) -> Doubles:
        contribution.total(nobody(self.catalogue))
        return np.array(self._next(_question(kind, contribution, share)), dtype=np.float64)

    def _next(self, question: tuple[Any, ...]) -> Any:
        answer = self._answers.pop() if self._answers else None
        if answer is None or answer.question != question:
            raise InputError("another question was asked than before")
        self.spends = answer.spends
        if isinstance(answer.value, DiscreetError):
            raise answer.value.with_traceback(None)
        return answer.value


def _drawn_of(mechanism: Mechanism, numbers: Doubles) -> Drawn:
    """What a mechanism drew, from all of its numbers one after the other."""
    drawn = {}
    for name, shape in mechanism.shapes.items():
        size = math.prod(shape)
        drawn[name], numbers = numbers[:size].reshape(shape), numbers[size:]
    return drawn


def _question_of(mechanism: Mechanism, share: float) -> tuple[Any, ...]:
    return "run", share, type(mechanism).__name__, mechanism.name, tuple(mechanism.shapes.items())


def _question(kind: str, contribution: Question, share: float = 1.0) -> tuple[Any, ...]:
    if isinstance(contribution, Steps):
        return kind, share, contribution
    asked = contribution.name, contribution.shape, contribution.bounds, contribution.noise, contribution.chooses
    return kind, share, *asked
