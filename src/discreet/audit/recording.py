"""A population that writes down what it answers, so that an audit sees what leaves the ratings, look by look."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from discreet.data.ratings import Ratings
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

NO_NOISE = 1e-9
"""Stands for the deviation of an exact answer, so that nothing is divided by 0."""


@dataclass(frozen=True, eq=False)
class Look:
    """One answer, and the law of its noise according to whoever gave it.

    ``spends`` are the lines that it added to the ledger; of ``steps`` that were booked together, its own part of the
    line. ``sampling_rate`` is how often a unit took part in it. What a ``mechanism`` drew is an answer that no sum
    explains: its law is ``other``, its contribution says 0 of everybody, and its mechanism is checked.
    """

    contribution: Contribution
    answer: Doubles
    law: Literal["laplace", "gaussian", "other"]
    scale: float
    spends: tuple[Spend, ...]
    sampling_rate: float = 1.0
    mechanism: Mechanism | None = None
    steps: Steps | None = None
    share: float = 1.0


class RecordingPopulation(Around):
    """Passes every question on to a population and keeps its answers.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> recorded = RecordingPopulation(dc.TrustedServer(ratings, dc.Ledger(epsilon=1.0)))
    >>> release = dc.Popularity().fit(recorded)
    >>> [(look.law, round(look.scale, 3), look.answer.shape) for look in recorded.looks]
    [('laplace', 1.0, (30,))]
    """

    def __init__(self, population: Population) -> None:
        super().__init__(population)
        self.looks: list[Look] = []

    @property
    def guarantee(self) -> Guarantee:
        """As the population promises."""
        return self._population.guarantee

    def sum(self, contribution: Contribution, share: float = 1.0) -> Doubles:
        """The population's answer, kept."""
        deviation = self._population.deviation(contribution, share)
        booked = len(self._population.spends)
        answer = self._population.sum(contribution, share)
        spends = self._population.spends[booked:]
        law, scale = _law(spends, deviation)
        self.looks.append(Look(contribution, np.array(answer, dtype=np.float64), law, scale, spends, share=share))
        return answer

    def deviation(self, question: Question, share: float = 1.0) -> float:
        """As the population says."""
        return self._population.deviation(question, share)

    def steps(self, steps: Steps, share: float = 1.0) -> StepSums:
        """The population's steps, each of which is a look."""
        booked = len(self._population.spends)
        drawn = self._population.steps(steps, share)
        lines, before = self._population.spends[booked:], len(self.looks)
        spends = tuple(replace(spend, times=1) for spend in lines)
        law, scale = _law(spends, drawn.deviation)

        def answer(contribution: Contribution) -> Doubles:
            found = drawn.sum(contribution)
            kept = np.array(found, dtype=np.float64)
            rate = spends[0].sampling_rate if spends else steps.sampling_rate
            number = sum(look.steps is steps for look in self.looks[before:])
            paid = tuple(spend for spend, line in zip(spends, lines, strict=True) if number < line.times)
            self.looks.append(Look(contribution, kept, law, scale, paid, rate, steps=steps, share=share))
            return found

        return StepSums(steps, drawn.deviation, answer)

    def run(self, mechanism: Mechanism, share: float = 1.0) -> Drawn:
        """What the mechanism drew, kept."""
        booked = len(self._population.spends)
        drawn = self._population.run(mechanism, share)
        spends = self._population.spends[booked:]
        for number, (name, answer) in enumerate(drawn.items()):
            asked = Contribution(f"{mechanism.name}: {name}", answer.shape, partial(_nothing, answer.shape))
            checked = mechanism if number == 0 else None
            self.looks.append(Look(asked, np.array(answer), "other", 1.0, spends, mechanism=checked))
        return drawn

    @property
    def ledger(self) -> Ledger:
        """What may be spent, and what was, where the population keeps one."""
        return self._population.ledger  # type: ignore[attr-defined, no-any-return]

    def price(self, mechanism: Mechanism, share: float = 1.0) -> Spend:
        """What a mechanism would cost, where the population can say so."""
        return self._population.price(mechanism, share)  # type: ignore[attr-defined, no-any-return]

    def calibrate(self, question: Question, share: float = 1.0) -> CalibratedNoise:
        """What a sum or steps would cost, where the population can say so."""
        return self._population.calibrate(question, share)  # type: ignore[attr-defined, no-any-return]


def _nothing(shape: tuple[int, ...], ratings: Ratings) -> Doubles:
    return np.zeros(shape)


def _law(spends: tuple[Spend, ...], deviation: float) -> tuple[Literal["laplace", "gaussian"], float]:
    """Laplace where one Laplace number was added; else Gaussian, as sums of much noise nearly are."""
    if len(spends) == 1 and spends[0].mechanism == "laplace":
        scale = spends[0].scale
        if abs(deviation / (2**0.5 * scale) - 1) < 0.01:
            return "laplace", scale
    return "gaussian", max(deviation, NO_NOISE)
