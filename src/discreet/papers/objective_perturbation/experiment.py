"""What the paper's authors ran for S1: d 50, γ 2⁻⁵, λ and μ .001, 40 to 100 iterations, ε of .05, .1 and .15.

Their errors are those of the *training* ratings, predicted from the trained U and the published V; there is no split.
``S1`` and ``MF`` (the baseline without noise, 100 iterations) are such mean errors, ``increase`` their difference. With
``error`` they are the share of training errors up to a size. ``held out`` is ours: RMSE on 20 % of the ratings, clipped
to the scale, from the trained U, or at home (``home``), where users solve for their own vectors from V. ``one rating
changed`` is ours too: how far the log-likelihood of a published V moves where one rating gets the other end of the
scale and U is trained again from the same start.

A seed draws the start, the noise and the split; within a repetition the same words of noise serve every case.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from discreet.data.ratings import Ratings
from discreet.models.bias import Bias
from discreet.papers.frame.cases import Case, Grid
from discreet.papers.frame.sets import Sets
from discreet.papers.objective_perturbation.algorithm import ObjectivePerturbedMF, Trained
from discreet.papers.objective_perturbation.leak import log_likelihood_ratio
from discreet.populations.trusted import TrustedServer
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.ledger import Ledger
from discreet.privacy.randomness import Randomness
from discreet.releases.release import Release
from discreet.types import Doubles

FULL = Grid(
    epsilon=(0.05, 0.1, 0.15),
    iterations=(40, 70, 100),
    more=(1.0, 10.0),
    error=(0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0),
)
QUICK = Grid(epsilon=(0.05, 0.15), iterations=(40, 100), more=(), error=(0.5, 1.0, 2.0, 4.0))
FIXED, ALL = 0.1, 100
"""Epsilon where iterations vary, and iterations where epsilon does; the baseline has as many."""
MF, HELD_OUT, CHANGED = Case("MF"), Case("held out"), Case("one rating changed", epsilon=FIXED)
READINGS: dict[str, dict[str, Any]] = {
    "literal": {"divisor": "ratings", "training": "alternating", "minimiser": "exact"},
    "mean": {},
    "ball": {"user_norm": "projected"},
    "exact": {"minimiser": "exact"},
    "exact ball": {"minimiser": "exact", "user_norm": "projected"},
    "laplace": {"noise": "laplace"},
    "rating": {"training": "rating"},
    "shrunk": {"training": "rating", "shrunk_noise": True},
}
"""How the text is read, and the settings that say so."""
Which = Literal["all", "part", "changed"]
"""All ratings, those to learn from where some are held out, or all with one changed."""
WORKED_OUT = ("literal", "mean", "ball", "exact", "exact ball")
"""Readings whose likelihood is worked out."""


class Repetition:
    """One start, one split and one draw of noise; what was trained is kept."""

    def __init__(self, sets: Sets, seed: int) -> None:
        self.seed, self.ratings = seed, sets.ratings
        self.train, self.test = sets.split(test=0.2, seed=seed)
        self._trained: dict[tuple[str, str], Trained] = {}
        self._errors: dict[Case, dict[str, Doubles]] = {}

    def measure(self, case: Case) -> Mapping[str, float]:
        """A mean error, an increase, a share of errors, RMSE, or a log-likelihood ratio, in every reading."""
        if case.method == "held out":
            return self._held_out(case.get("epsilon"))
        if case == CHANGED:
            return self._changed(case["epsilon"])
        if case.method == "increase":
            own, base = (self._of_training(Case(name, **settings)) for name, settings in _pair(case))
            return {reading: float(own[reading].mean() - base[reading].mean()) for reading in own}
        size = case.get("error")
        whole = Case(case.method, **{name: value for name, value in case.settings if name != "error"})
        found = self._of_training(whole)
        if size is None:
            return {reading: float(errors.mean()) for reading, errors in found.items()}
        return {reading: float(np.mean(errors <= size)) for reading, errors in found.items()}

    def model(self, reading: str, epsilon: float | None, iterations: int = ALL) -> ObjectivePerturbedMF:
        """The paper's algorithm in a reading."""
        return ObjectivePerturbedMF(epsilon=epsilon, iterations=iterations, seed=self.seed, **READINGS[reading])

    def _of_training(self, case: Case) -> dict[str, Doubles]:
        """Absolute errors of all ratings, in every reading."""
        if case not in self._errors:
            epsilon, iterations, found = case.get("epsilon"), int(case.get("iterations") or ALL), {}
            for reading in READINGS:
                model = self.model(reading, epsilon, iterations)
                trained = self._train(model, "all")
                items = trained.items if epsilon is None else self._publish(model, self.ratings, trained)
                found[reading] = np.abs(predicted(trained, items, self.ratings) - self.ratings.values)
            self._errors[case] = found
        return self._errors[case]

    def _held_out(self, epsilon: float | None) -> dict[str, float]:
        found, scale = {}, self.ratings.catalogue.scale

        def rmse(guess: Doubles) -> float:
            return float(np.sqrt(np.mean((np.clip(guess, scale.low, scale.high) - self.test.values) ** 2)))

        for reading in READINGS:
            model = self.model(reading, epsilon)
            trained = self._train(model, "part")
            items = trained.items if epsilon is None else self._publish(model, self.train, trained)
            found[reading] = rmse(predicted(trained, items, self.test))
            if reading == "mean":
                arrays = {"item_factors": items.astype(np.float32)}
                release = Release(model, arrays, self.train.catalogue, Guarantee.none("it is part of an experiment"))
                pairs = self.train, self.test.user_index, self.test.item_index
                found["home"] = rmse(model.predict(release, *pairs).astype(np.float64))
        if epsilon is None:
            found["constant"] = rmse(np.full(len(self.test), float(self.train.values.mean())))
        else:
            averages = Bias().fit(TrustedServer(self.train, Ledger(epsilon), randomness=self._noise()))
            pairs = self.train, self.test.user_index, self.test.item_index
            found["bias"] = rmse(averages.predict(*pairs).astype(np.float64))
        return found

    def _changed(self, epsilon: float) -> dict[str, float]:
        other, found = one_changed(self.ratings, self.seed), {}
        for reading in WORKED_OUT:
            model = self.model(reading, epsilon)
            first, second = self._train(model, "all"), self._train(model, "changed")
            items = self._publish(model, self.ratings, first)
            found[reading] = log_likelihood_ratio(model, items, (self.ratings, first), (other, second))
        return found

    def _train(self, model: ObjectivePerturbedMF, which: Which) -> Trained:
        """As trained before, if it was: noise and minimiser do not matter to it."""
        key = which, repr(replace(model, epsilon=None, minimiser="steps", noise="radial", shrunk_noise=False))
        if key not in self._trained:
            ratings = {"all": self.ratings, "part": self.train}.get(which)
            self._trained[key] = model.train(one_changed(self.ratings, self.seed) if ratings is None else ratings)
        return self._trained[key]

    def _publish(self, model: ObjectivePerturbedMF, ratings: Ratings, trained: Trained) -> Doubles:
        return model.publish(ratings, trained, model.draw_noise(ratings, self._noise()))

    def _noise(self) -> Randomness:
        return Randomness(2 * self.seed + 1)


def predicted(trained: Trained, items: Doubles, pairs: Ratings) -> Doubles:
    """u_iᵀv_j of these pairs, from the trained U."""
    return np.asarray((trained.users[pairs.user_index] * items[pairs.item_index]).sum(axis=1))


def one_changed(ratings: Ratings, seed: int) -> Ratings:
    """The same ratings, but for one at random, which gets the end of the scale that is further away."""
    scale, values = ratings.catalogue.scale, ratings.values.copy()
    place = int(np.random.default_rng(seed).integers(len(values)))
    values[place] = scale.low if values[place] > (scale.low + scale.high) / 2 else scale.high
    return replace(ratings, values=values)


def _pair(case: Case) -> list[tuple[str, dict[str, float]]]:
    """The case whose mean error is compared, and the baseline."""
    return [("S1", dict(case.settings)), (MF.method, {})]
