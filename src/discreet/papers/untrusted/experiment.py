"""What the paper's authors ran for S2 and S3: d 50, γ 2⁻⁵, λ and μ .001; 100 rounds in S2, 10,000 in S3.

Their errors are those of the *training* ratings, predicted from the users' vectors and V as training left them. ``MF``
(the baseline without noise, 100 rounds with everyone), ``S1``, ``S2`` and ``S3`` are such mean errors, and ``increase
of S2`` and ``increase of S3`` what they are above the baseline. With ``error`` they are the share of training errors up
to a size.

Ours: ``held out`` is RMSE on 20 % of the ratings, clipped to the scale; ``constant`` predicts the mean rating, and
``noise alone`` has users fit their own vectors to a V that is nothing but noise. A seed draws the start, who is there,
the noise and the split.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from discreet.data.ratings import Ratings
from discreet.errors import InputError
from discreet.models.bias import Bias
from discreet.papers.frame.cases import Case, Grid
from discreet.papers.frame.sets import Sets
from discreet.papers.objective_perturbation.algorithm import ObjectivePerturbedMF, own_vectors
from discreet.papers.objective_perturbation.experiment import predicted
from discreet.papers.untrusted.algorithm import UntrustedMF
from discreet.papers.untrusted.costs import measured
from discreet.papers.untrusted.simulation import Simulated, Simulation
from discreet.populations.trusted import TrustedServer
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.ledger import Ledger
from discreet.privacy.randomness import Randomness
from discreet.releases.release import Release
from discreet.types import Doubles

FULL = Grid(
    epsilon=(0.05, 0.1, 0.15),
    iterations=(40, 70, 100),
    online_epsilon=(0.05, 0.1, 0.8),
    rounds=(1000, 4000, 10_000),
    churn_rounds=(1000,),
    joins=(0.005, 0.01, 0.02),
    leaves=(0.005, 0.01, 0.02),
    error=(0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0),
)
QUICK = Grid(
    epsilon=(0.05, 0.15),
    iterations=(40, 100),
    online_epsilon=(0.1, 0.8),
    rounds=(50, 200),
    churn_rounds=(200,),
    joins=(0.005, 0.02),
    leaves=(0.005, 0.02),
    error=(0.5, 1.0, 2.0, 4.0),
)
FIXED, ALL = 0.1, 100
"""Epsilon where rounds vary, and the rounds of S2 and of the baseline."""
JOINS, LEAVES, OTHER = 0.005, 0.01, 0.01
"""Of S3: how users come and go, and how likely they join where leaving varies."""
OVERFLOW = 1e6
"""Stands for the errors of a run whose numbers no longer fit."""
MF, CONSTANT, NOISE_ALONE, HELD_OUT = Case("MF"), Case("constant"), Case("noise alone"), Case("held out")
READINGS: dict[str, dict[str, Any]] = {
    "whole": {"divisor": "ratings"},
    "mean": {},
    "ball": {"user_norm": "projected"},
    "shrunk": {"shrunk_noise": True},
}
"""How the text is read, and the settings that say so."""


class Repetition:
    """One start, one split and one draw of noise; the errors of what was run are kept."""

    def __init__(self, sets: Sets, seed: int) -> None:
        self.seed, self.ratings = seed, sets.ratings
        self.train, self.test = sets.split(test=0.2, seed=seed)
        self._errors: dict[Case, dict[str, Doubles]] = {}
        self.rounds: tuple[int, ...] = tuple(int(count) for count in FULL["rounds"])

    def measure(self, case: Case) -> Mapping[str, float]:
        """A mean error, an increase, a share of errors, RMSE, bytes or milliseconds, in every reading."""
        if case.method == "held out":
            return self._held_out(case.get("epsilon"))
        if case.method in ("download", "upload", "third party sends", "third party", "client"):
            return dict.fromkeys(READINGS, measured(case))
        if case.method.startswith("increase of "):
            own, base = self._of_training(Case(case.method[-2:], **dict(case.settings))), self._of_training(MF)
            return {reading: float(own[reading].mean() - base[reading].mean()) for reading in READINGS}
        size = case.get("error")
        whole = Case(case.method, **{name: value for name, value in case.settings if name != "error"})
        found = self._of_training(whole)
        if size is None:
            return {reading: float(errors.mean()) for reading, errors in found.items()}
        return {reading: float(np.mean(errors <= size)) for reading, errors in found.items()}

    def model(self, reading: str, epsilon: float | None, **others: Any) -> UntrustedMF:
        """The paper's algorithm in a reading."""
        return UntrustedMF(epsilon=epsilon, seed=self.seed, **{**READINGS[reading], **others})

    def _of_training(self, case: Case) -> dict[str, Doubles]:
        """Absolute errors of all ratings, in every reading."""
        if case in self._errors:
            return self._errors[case]
        found: dict[str, Doubles]
        if case == CONSTANT:
            found = dict.fromkeys(READINGS, np.abs(self.ratings.values.astype(np.float64) - self.ratings.values.mean()))
        elif case == NOISE_ALONE:
            noise = np.random.default_rng((self.seed, 3)).laplace(size=(self.ratings.n_items, UntrustedMF().factors))
            found = {"home": self._at_home(noise)}
        elif case.method == "S3":
            self._run_online(case)
            return self._errors[case]
        else:
            found = {reading: self._of_one(case, reading) for reading in READINGS}
            if case.method == "S2":
                found["home"] = self._at_home(self._run(self.model("ball", case["epsilon"]), self.ratings).items)
        self._errors[case] = found
        return found

    def _of_one(self, case: Case, reading: str) -> Doubles:
        epsilon, count = case.get("epsilon"), int(case.get("iterations") or ALL)
        if case.method == "S1":
            other = ObjectivePerturbedMF(
                epsilon=epsilon,
                iterations=count,
                seed=self.seed,
                **{name: value for name, value in READINGS[reading].items() if name != "order"},
            )
            trained = other.train(self.ratings)
            items = other.publish(self.ratings, trained, other.draw_noise(self.ratings, self._noise()))
            return np.asarray(np.abs(predicted(trained, items, self.ratings) - self.ratings.values))
        try:
            return self._error(self._run(self.model(reading, epsilon, iterations=count), self.ratings))
        except InputError:
            return np.full(len(self.ratings), OVERFLOW)

    def _run_online(self, case: Case) -> None:
        """A run of S3 up to the last of the rounds that are looked at; the errors of each are kept."""
        last = max(int(case["rounds"]), *self.rounds) if int(case["rounds"]) in self.rounds else int(case["rounds"])
        looks = {count: replace_rounds(case, count) for count in {*self.rounds, int(case["rounds"])} if count <= last}
        found: dict[Case, dict[str, Doubles]] = {look: {} for look in looks.values()}
        for reading in READINGS:
            if reading == "shrunk" and case.get("epsilon") is None:  # without noise they are the same
                for kept_errors in found.values():
                    kept_errors[reading] = kept_errors["mean"]
                continue
            model = self.model(
                reading,
                case.get("epsilon"),
                scenario="dynamic",
                iterations=last,
                joins=case["joins"],
                leaves=case["leaves"],
                at_most=self._at_most(),
            )
            run, kept = Simulation(model, self.ratings, self._noise()), np.full(len(self.ratings), OVERFLOW)
            try:
                for number in run.rounds():
                    if number in looks:
                        found[looks[number]][reading] = self._error(Simulated(run.users, run.items))
            except InputError:
                for look in looks.values():
                    found[look].setdefault(reading, kept)
        self._errors.update(found)

    def _at_most(self) -> int:
        """How many users are asked at once: a thousand of many, a hundred of few."""
        return 1000 if self.ratings.n_users > 100_000 else 100

    def _held_out(self, epsilon: float | None) -> dict[str, float]:
        scale = self.ratings.catalogue.scale

        def rmse(guess: Doubles) -> float:
            return float(np.sqrt(np.mean((np.clip(guess, scale.low, scale.high) - self.test.values) ** 2)))

        found = {}
        for reading in READINGS:
            try:
                run = self._run(self.model(reading, epsilon), self.train)
                found[reading] = rmse((run.users[self.test.user_index] * run.items[self.test.item_index]).sum(axis=1))
            except InputError:  # as far from the truth as the scale allows
                found[reading] = rmse(np.full(len(self.test), scale.high))
        if epsilon is None:
            found["constant"] = rmse(np.full(len(self.test), float(self.train.values.mean())))
        else:
            averages = Bias().fit(TrustedServer(self.train, Ledger(epsilon), randomness=self._noise()))
            found["bias"] = rmse(
                averages.predict(self.train, self.test.user_index, self.test.item_index).astype(np.float64)
            )
        return found

    def _run(self, model: UntrustedMF, ratings: Ratings) -> Simulated:
        run = Simulation(model, ratings, self._noise())
        for _ in run.rounds():
            pass
        return Simulated(run.users, run.items)

    def _error(self, run: Simulated) -> Doubles:
        guess = (run.users[self.ratings.user_index] * run.items[self.ratings.item_index]).sum(axis=1)
        return np.asarray(np.minimum(np.abs(guess - self.ratings.values), OVERFLOW))

    def _at_home(self, items: Doubles) -> Doubles:
        """Errors of training ratings where users fit their own vectors to a given V."""
        model = self.model("ball", None)
        arrays = {"item_factors": items.astype(np.float32)}
        release = Release(model, arrays, self.ratings.catalogue, Guarantee.none("it is part of an experiment"))
        own, factors = own_vectors(release, self.ratings, model.user_penalty, model.divisor)
        guess = (own[self.ratings.user_index] * factors[self.ratings.item_index]).sum(axis=1)
        return np.asarray(np.abs(guess - self.ratings.values))

    def _noise(self) -> Randomness:
        return Randomness(2 * self.seed + 1)


def replace_rounds(case: Case, rounds: int) -> Case:
    """The same case after another number of rounds."""
    return Case(case.method, **{**dict(case.settings), "rounds": rounds})


def s3(rounds: float, epsilon: float | None = None, joins: float = JOINS, leaves: float = LEAVES) -> Case:
    """The mean training error of S3; without epsilon there is no noise."""
    return Case("S3", epsilon=epsilon, rounds=rounds, joins=joins, leaves=leaves)
