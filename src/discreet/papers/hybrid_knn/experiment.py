"""What the paper's authors ran: 80 % of the ratings to learn from, 20 % to test on, B = 1, k = 20, RMSE.

A seed draws the split, the perturbation and the noise; within a repetition the same words of noise serve every case, so
that cases differ by what they are and not by luck. Predictions are made from perturbed ratings, as by a recommender who
has no others, and clipped to the scale; one publication is read in all forms. Ours (:mod:`.sound`) are readings beside
them: ``sent`` from what our users sent, as the paper's are, ``home`` from true ratings; ``bias`` is averages alone;
``guess`` is from reports that are as hard to guess from as RP's, where there are such.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache

import numpy as np

from discreet.collect.channel import Mechanism
from discreet.collect.simulation import perturb_ratings
from discreet.data.catalogue import Scale
from discreet.data.ratings import Ratings
from discreet.models.bias import Bias
from discreet.papers.frame.cases import Case, Grid
from discreet.papers.frame.outcome import Data
from discreet.papers.hybrid_knn import sound
from discreet.papers.hybrid_knn.algorithm import FORMS, HybridKNN
from discreet.papers.hybrid_knn.sound import Reports
from discreet.populations.trusted import TrustedServer
from discreet.privacy.ledger import Ledger
from discreet.privacy.randomness import Randomness
from discreet.types import AnyArray

FULL = Grid(
    gamma=(0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5), epsilon=(0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0), share=(0.25, 0.5, 0.75, 1)
)
QUICK = Grid(gamma=(0.5, 3.5), epsilon=(0.1, 1.0, 10.0), share=(0.5, 1.0))
FIXED = 1.0
"""Epsilon where only gamma varies."""
TIMED = Case("hybrid", gamma=0.5, epsilon=FIXED), 10.0
"""What Fig. 8 times, and our epsilon there: ours asks for covariances where noise lets them through, if anywhere."""
NONE, LITERAL = Case("no privacy"), [Case("literal"), Case("literal", epsilon=FIXED)]
ALONE = ("DP on RP", "literal")
"""Nothing of ours stands beside these."""


def model_of(case: Case) -> HybridKNN:
    """The paper's algorithm for a case."""
    return HybridKNN(
        epsilon=case.get("epsilon"),
        gamma=case.get("gamma") or 0.0,
        ignores_perturbation=case.method == "DP on RP",
        centring="literal" if case.method == "literal" else "corrected",
    )


class Repetition:
    """One split, and what users sent instead of its ratings, each drawn once.

    ``whole`` says how often each rating is given, and how many users are announced: both are published with the data.
    """

    def __init__(self, ratings: Ratings, seed: int, whole: Data | None = None) -> None:
        self.ratings, self.seed = ratings, seed
        self.whole = Data.of("", ratings) if whole is None else whole
        self.train, self.test = ratings.split(test=0.2, seed=seed)
        self._sent: dict[str, Ratings] = {}

    def measure(self, case: Case) -> Mapping[str, float]:
        """RMSE in every reading that the case has; seconds where time is measured."""
        if case.method == "seconds":
            return self._seconds(case["share"])
        found = self._as_published(case)
        return found if case.method in ALONE else found | self._ours(case)

    def _as_published(self, case: Case) -> dict[str, float]:
        model, sent = model_of(case), self.perturbed(case)
        release = model.publish(sent, Randomness(2 * self.seed + 1))
        pairs = sent, self.test.user_index, self.test.item_index
        return {
            form: self._rmse(replace(release, model=replace(model, prediction=form)).predict(*pairs)) for form in FORMS
        }

    def _ours(self, case: Case) -> dict[str, float]:
        gamma, epsilon = case.get("gamma"), case.get("epsilon")
        if gamma is None:
            found = {"sent": self._soundly(self.train, 0.0, epsilon)["sent"]}
            if epsilon is not None:
                averages = Bias().fit(TrustedServer(self.train, Ledger(epsilon), randomness=self._noise()))
                found["bias"] = self._rmse(sound.predicted(averages, self.train, 0.0, self.whole.scale, self.test))
            return found
        reports = reports_of(gamma, self.whole)
        found = self._soundly(*self.reported(reports.as_noisy, reports), epsilon)
        if epsilon is None and reports.as_hard_to_guess is not None:
            guessed = self._soundly(*self.reported(reports.as_hard_to_guess, reports), None)
            found |= {"guess": guessed["sent"], "guess home": guessed["home"]}
        return found

    def _soundly(self, sent: Ratings, variance: float, epsilon: float | None) -> dict[str, float]:
        """Covariances of what was sent, which varies by so much about ratings; read as sent, and at home."""
        scale = self.whole.scale
        release = sound.publish(sent, variance, scale, self.train.n_users, epsilon, self._noise())
        as_sent = sound.predicted(release, sent, variance, scale, self.test)
        at_home = sound.predicted(release, self.train, 0.0, scale, self.test)
        return {"sent": self._rmse(as_sent), "home": self._rmse(at_home)}

    def perturbed(self, case: Case) -> Ratings:
        """What the paper's users send."""
        gamma = case.get("gamma")
        if gamma is None:
            return self.train
        return self._once(f"RP {gamma}", lambda: model_of(case).collect(self.train, Randomness(2 * self.seed)))

    def reported(self, mechanism: Mechanism, reports: Reports) -> tuple[Ratings, float]:
        """What our users send, and how far it varies about the ratings, squared."""
        sent = self._once(repr(mechanism), lambda: perturb_ratings(mechanism, self.train, Randomness(2 * self.seed)))
        return sent, reports.variance_of(mechanism)

    def _once(self, name: str, draw: Callable[[], Ratings]) -> Ratings:
        if name not in self._sent:
            self._sent[name] = draw()
        return self._sent[name]

    def _noise(self) -> Randomness:
        return Randomness(2 * self.seed + 1)

    def _rmse(self, predicted: AnyArray) -> float:
        return float(np.sqrt(np.mean((predicted.astype(np.float64) - self.test.values) ** 2)))

    def _seconds(self, share: float) -> dict[str, float]:
        """Both hybrids from ratings to predictions, for the first users; the better of two runs counts."""
        some = self.ratings.select_users(np.arange(max(1, round(share * self.ratings.n_users))))
        paper, ours = ([self._timed(some, how) for _ in range(2)] for how in ("plain", "sent"))
        return {"plain": min(paper), "sent": min(ours)}

    def _timed(self, some: Ratings, how: str) -> float:
        part, (case, epsilon) = Repetition(some, 1, self.whole), TIMED
        started = time.perf_counter()
        if how == "plain":
            sent = part.perturbed(case)
            release = model_of(case).publish(sent, Randomness())
            release.predict(sent, part.test.user_index, part.test.item_index)
        else:
            reports, scale = reports_of(case["gamma"], self.whole), self.whole.scale
            sent, variance = part.reported(reports.as_noisy, reports)
            release = sound.publish(sent, variance, scale, self.whole.users, epsilon, Randomness())
            sound.predicted(release, sent, variance, scale, part.test)
        return time.perf_counter() - started


def reports_of(gamma: float, data: Data) -> Reports:
    """What is sent for a gamma."""
    return _reports(gamma, data.scale, tuple(data.counts.items()))


@lru_cache
def _reports(gamma: float, scale: Scale, counts: tuple[tuple[float, int], ...]) -> Reports:
    return Reports(gamma, scale, dict(counts))
