"""What the paper's authors ran: tenfold cross-validation, d 20, learning rate 50, penalties .01, 50 steps.

Repetition s is fold s of ten; with more than ten repetitions another division begins. Within a repetition the same
words of noise, of sampling and of levels serve every case, so that cases differ by what they are and not by luck: noise
of scale Δ/ε is noise of scale 1, multiplied. Predictions are made from the trained U, as the paper's recommender does,
and clipped to the scale, which the paper does not say; ``… unclipped`` are not.

``letter`` is Algorithm 2 as printed but for the length of a step, which would overflow; ``listing`` trains as the
program of the cited work does and keeps ‖u‖ ≤ 1, which the theorems suppose; ``theorem`` is what Theorem 4 is about.
``home`` is ``listing`` with every user's vector solved at home from V̄. ``bias`` is ours: averages with a proven
epsilon.
"""

from collections.abc import Mapping
from itertools import islice
from typing import Any

import numpy as np

from discreet.data.ratings import Ratings
from discreet.models.bias import Bias
from discreet.papers.frame.cases import Case, Grid
from discreet.papers.frame.sets import Sets
from discreet.papers.personalised.algorithm import DPPMF, PDPPMF, Trained
from discreet.populations.trusted import TrustedServer
from discreet.privacy.ledger import Ledger
from discreet.privacy.noise_ball import draw_balls
from discreet.privacy.randomness import Randomness
from discreet.releases.release import Release
from discreet.types import AnyArray, Doubles

ERRORS = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0)
"""Where the distribution of errors is looked at; the paper draws it from 0 to the largest rating."""
FULL = Grid(
    conservative=(0.1, 0.2, 0.3, 0.4, 0.5, 0.6),
    middle=(0.2, 0.4, 0.6, 0.8, 1.0),
    threshold=(0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    error=ERRORS,
)
QUICK = Grid(conservative=(0.1, 0.6), middle=(0.2, 1.0), threshold=(0.3, 0.7, 1.0), error=(0.5, 1.0, 1.5, 2.0))
FOLDS = 10
MODERATE, LEAST = 0.37, 0.1
"""f_m, and ε_c, which is also the epsilon of DP-PMF."""
GROUPS = (0.54, 0.37, 0.20)
"""f_c of PDP-PMF1, 2 and 3."""
SWEPT = {"conservative": 0.60, "moderate": 0.35, "middle": 0.4}
"""Of Fig. 5."""
DRAWN = (0.6, 0.7, 0.8, 1.0)
"""Thresholds whose errors Fig. 5(a) draws."""
PMF, DP = Case("PMF"), Case("DP-PMF", epsilon=LEAST)
READINGS: dict[str, dict[str, Any]] = {
    "letter": {"momentum": 0.0, "start": "unit", "user_norm": "free"},
    "listing": {},
    "theorem": {"mode": "theorem"},
    "free": {"user_norm": "free"},
    "projected": {"user_norm": "projected"},
    "fixed": {"mode": "fixed"},
}
"""How the text is read, and the settings that say so."""


def personal(conservative: float, middle: float = 0.2, **others: float | None) -> Case:
    """PDP-PMF with a share of conservative ratings, ε_m, and perhaps a threshold and an error."""
    return Case("PDP-PMF", **{"conservative": conservative, "middle": middle, **others})


def within(case: Case, error: float) -> Case:
    """The share of errors of a case up to some size."""
    return Case(case.method, **{**dict(case.settings), "error": error})


class Repetition:
    """One fold, and its noise, which is drawn once."""

    def __init__(self, sets: Sets, seed: int) -> None:
        if sets.given is None:
            division, fold = divmod(seed - 1, FOLDS)
            self.train, self.test = next(islice(sets.ratings.folds(FOLDS, 1 + division), fold, None))
        else:
            self.train, self.test = sets.split(test=1 / FOLDS, seed=seed)
        self.seed, self.scale = seed, sets.ratings.catalogue.scale
        model = DPPMF()
        count, shape = model.private_iterations, (self.train.n_items, model.factors)
        drawn = draw_balls(1.0, count * shape[0], shape[1], Randomness(2 * seed + 1))
        self._unit_noise = drawn.reshape(count, *shape)
        self._guesses: dict[Case, dict[str, Doubles]] = {}

    def measure(self, case: Case) -> Mapping[str, float]:
        """RMSE in every reading; or the share of errors up to a size."""
        whole = Case(case.method, **{name: value for name, value in case.settings if name != "error"})
        if whole not in self._guesses:
            self._guesses[whole] = self._predicted(whole)
        size, low, high = case.get("error"), self.scale.low, self.scale.high
        found = {}
        for reading, guess in self._guesses[whole].items():
            clipped = np.clip(guess, low, high) - self.test.values
            if size is not None:
                found[reading] = float(np.mean(np.abs(clipped) <= size))
                continue
            found[reading] = root_mean_square(clipped)
            if reading in ("letter", "listing", "theorem"):
                found[f"{reading} unclipped"] = root_mean_square(guess - self.test.values)
        return found

    def _predicted(self, case: Case) -> dict[str, Doubles]:
        epsilon = case.get("epsilon")
        if case == PMF:
            found = {
                reading: self._products(trained, trained.items)
                for reading, how in READINGS.items()
                for trained in [DPPMF(epsilon=None, seed=self.seed, **how).train(self.train)]
            }
            return found | {"mean": np.full(len(self.test), float(self.train.values.mean()))}
        if case.method == "DP-PMF":
            assert epsilon is not None
            found = self._published(DPPMF, {"epsilon": epsilon}, self.train, epsilon)
            population = TrustedServer(self.train, Ledger(epsilon), randomness=Randomness(2 * self.seed + 1))
            averages = Bias().fit(population)
            pairs = self.train, self.test.user_index, self.test.item_index
            return found | {"bias": averages.predict(*pairs).astype(np.float64)}
        settings = levels_of(case)
        kept, budget = PDPPMF(level_seed=self.seed, **settings).sample(self.train, Randomness(2 * self.seed))
        assert budget is not None
        return self._published(PDPPMF, settings, kept, budget)

    def _published(
        self, kind: type[DPPMF], settings: Mapping[str, Any], kept: Ratings, budget: float
    ) -> dict[str, Doubles]:
        """Test ratings as predicted from U and V̄, in every reading."""
        noise, trained, found = self.scale.high / budget * self._unit_noise, {}, {}
        for reading, how in READINGS.items():
            model = kind(seed=self.seed, **settings, **how)
            one = (model.momentum, model.start, model.user_norm)
            if one not in trained:
                trained[one] = model.train(kept, of=len(self.train))
            items = model.publish(kept, trained[one], noise)
            found[reading] = self._products(trained[one], items)
            if reading == "listing":
                release = _released(model, items, self.train)
                pairs = self.train, self.test.user_index, self.test.item_index
                found["home"] = model.predict(release, *pairs).astype(np.float64)
        return found

    def _products(self, trained: Trained, items: Doubles) -> Doubles:
        return np.asarray((trained.users[self.test.user_index] * items[self.test.item_index]).sum(axis=1))


def levels_of(case: Case) -> dict[str, Any]:
    """The settings of PDP-PMF for a case."""
    threshold, moderate = case.get("threshold"), case.get("moderate")
    return {
        "conservative": case["conservative"],
        "moderate": MODERATE if moderate is None else moderate,
        "conservative_epsilon": LEAST,
        "moderate_epsilon": case["middle"],
        "threshold": "mean" if threshold is None else threshold,
    }


def root_mean_square(errors: AnyArray) -> float:
    """Of these numbers."""
    return float(np.sqrt(np.mean(errors**2)))


def _released(model: DPPMF, items: Doubles, ratings: Ratings) -> Release:
    from discreet.privacy.guarantee import Guarantee

    arrays = {"item_factors": items.astype(np.float32)}
    return Release(model, arrays, ratings.catalogue, Guarantee.none("it is part of an experiment"))
