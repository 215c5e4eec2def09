"""What the paper's authors ran: 80 % of the ratings to learn from, 20 % to test on, B = 1, k = 20, RMSE.

A seed draws the split, the perturbation and the noise; within a repetition the same words of noise serve every case, so
that cases differ by what they are and not by luck. Predictions are made from perturbed ratings, as by a recommender who
has no others, and clipped to the scale, which the paper does not say; one publication is read in all forms.

``letter`` and ``letter plain`` are the forms *ratio* and *plain* with the centring of the text; all others have the
corrected one. ``… unclipped`` are not clipped. ``GAvg`` is the global average without noise, and ``Cov`` and
``letter Cov`` are how much of the covariances of raw ratings is left in those of perturbed ones (eq. 1 and 2).

Ours (:mod:`.sound`) are readings beside them: ``sent`` from what our users sent, as the paper's are, ``home`` from true
ratings; ``bias`` is averages alone; ``guess`` is from reports that are as hard to guess from as RP's, where there are
such.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property, lru_cache

import numpy as np

from discreet.collect.channel import LocalRandomiser
from discreet.collect.simulation import perturb_ratings
from discreet.data.catalogue import Scale
from discreet.data.ratings import Ratings
from discreet.data.synthetic import synthetic
from discreet.models.bias import Bias
from discreet.papers.frame.cases import Case, Grid
from discreet.papers.frame.outcome import Data
from discreet.papers.frame.sets import Sets
from discreet.papers.hybrid_knn import sound
from discreet.papers.hybrid_knn.algorithm import FORMS, Form, HybridKNN, PerturbedStatistics, weighted_sums
from discreet.papers.hybrid_knn.sound import Reports
from discreet.populations.trusted import TrustedServer
from discreet.privacy.ledger import Ledger
from discreet.privacy.randomness import Randomness
from discreet.releases.release import Release
from discreet.types import AnyArray, Doubles, Indices

FULL = Grid(
    gamma=(0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5),
    epsilon=(0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0),
    share=(0.25, 0.5, 0.75, 1),
    users=(380_000,),
)
QUICK = Grid(gamma=(0.5, 3.5), epsilon=(0.1, 1.0, 10.0), share=(0.5, 1.0), users=())
FIXED = 1.0
"""Epsilon where only gamma varies."""
TIMED = Case("hybrid", gamma=0.5, epsilon=FIXED), 10.0
"""What Fig. 8 times, and our epsilon there: ours asks for covariances where noise lets them through, if anywhere."""
NETFLIX_ITEMS, NETFLIX_RATINGS = 500, 40_000_000
"""Of made-up ratings of the size of Fig. 8(b). The paper does not say how many there are: 105 a user is our guess."""
NONE = Case("no privacy")
LETTER: dict[str, Form] = {"letter": "ratio", "letter plain": "plain"}
"""Readings with the centring of the text, and the form in which each predicts."""
CLIPPED_AND_NOT = ("plain", "letter")
"""Readings that are printed without clipping too, where the perturbation is none."""
ALONE = ("DP on RP",)
"""Nothing of ours stands beside these."""
KEPT = 3
"""How many perturbed copies of the ratings are kept: cases of one gamma follow each other."""


def model_of(case: Case) -> HybridKNN:
    """The paper's algorithm for a case."""
    return HybridKNN(
        epsilon=case.get("epsilon"),
        gamma=case.get("gamma") or 0.0,
        ignores_perturbation=case.method == "DP on RP",
    )


class Repetition:
    """One split, and what users sent instead of its ratings, each drawn once.

    ``whole`` says how often each rating is given, and how many users are announced: both are published with the data.
    """

    def __init__(self, sets: Sets, seed: int, whole: Data | None = None) -> None:
        self.ratings, self.seed = sets.ratings, seed
        self.whole = Data.of("", sets) if whole is None else whole
        self.train, self.test = sets.split(test=0.2, seed=seed)
        self._sent: dict[str, Ratings] = {}

    def measure(self, case: Case) -> Mapping[str, float]:
        """RMSE in every reading that the case has; seconds where time is measured."""
        if case.method == "seconds":
            return self._seconds(case["share"])
        if case.method == "made up":
            return self._made_up(int(case["users"]))
        found = self._as_published(case)
        return found if case.method in ALONE else found | self._ours(case)

    def _as_published(self, case: Case) -> dict[str, float]:
        model, sent = model_of(case), self.perturbed(case)
        measured = model.measure(sent, self._noise())
        letter = replace(model, centring="literal")
        pairs = sent, self.test.user_index, self.test.item_index
        raw: dict[str, AnyArray] = {}
        release = model.released(measured, sent.catalogue, True)
        for form in FORMS:
            raw[form] = _predicted(replace(model, prediction=form), release, *pairs)
        in_the_text = with_centring_of(letter, model, measured, sent)
        release = letter.released(in_the_text, sent.catalogue, True)
        for reading, form in LETTER.items():
            raw[reading] = _predicted(replace(letter, prediction=form), release, *pairs)
        scale = self.whole.scale
        found = {reading: self._rmse(np.clip(guess, scale.low, scale.high)) for reading, guess in raw.items()}
        if case.method in (NONE.method, "DP"):
            found |= {f"{reading} unclipped": self._rmse(raw[reading]) for reading in CLIPPED_AND_NOT}
        if case.method in (NONE.method, "RP"):
            found["GAvg"] = measured.mean
        if case.method == "RP":
            true = self._without_privacy
            found["Cov"] = slope(true, measured)
            found["letter Cov"] = slope(with_centring_of(letter, model, true, self.train), in_the_text)
        return found

    @cached_property
    def _without_privacy(self) -> PerturbedStatistics:
        return model_of(NONE).measure(self.train, self._noise())

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

    def reported(self, mechanism: LocalRandomiser, reports: Reports) -> tuple[Ratings, float]:
        """What our users send, and how far it varies about the ratings, squared."""
        sent = self._once(repr(mechanism), lambda: perturb_ratings(mechanism, self.train, Randomness(2 * self.seed)))
        return sent, reports.variance_of(mechanism)

    def _once(self, name: str, draw: Callable[[], Ratings]) -> Ratings:
        if name not in self._sent:
            while len(self._sent) >= KEPT:
                del self._sent[next(iter(self._sent))]
            self._sent[name] = draw()
        return self._sent[name]

    def _noise(self) -> Randomness:
        return Randomness(2 * self.seed + 1)

    def _rmse(self, predicted: AnyArray) -> float:
        return float(np.sqrt(np.mean((predicted.astype(np.float64) - self.test.values) ** 2)))

    def _seconds(self, share: float) -> dict[str, float]:
        """Both hybrids from ratings to predictions, for the first users; the better of two runs counts.

        ``collect`` is what users do at home, ``publish`` what the recommender does.
        """
        some = self.ratings.select_users(np.arange(max(1, round(share * self.ratings.n_users))))
        part = Sets(some)
        published = min((Repetition(part, 1, self.whole).timed() for _ in range(2)), key=lambda found: found["plain"])
        return published | {"sent": min(Repetition(part, 1, self.whole).ours_timed() for _ in range(2))}

    def _made_up(self, users: int) -> dict[str, float]:
        """Seconds for made-up ratings of the size of Netflix's: once, in the first repetition."""
        if self.seed > 1:
            return {}
        return Repetition(Sets(synthetic(users=users, items=NETFLIX_ITEMS, ratings=NETFLIX_RATINGS)), 1).timed()

    def timed(self) -> dict[str, float]:
        """Seconds of the paper's stages, and of all of them."""
        model, seconds = model_of(TIMED[0]), [time.perf_counter()]
        sent = model.collect(self.train, Randomness())
        seconds.append(time.perf_counter())
        release = model.publish(sent, Randomness())
        seconds.append(time.perf_counter())
        release.predict(sent, self.test.user_index, self.test.item_index)
        seconds.append(time.perf_counter())
        return {
            "plain": seconds[3] - seconds[0],
            "collect": seconds[1] - seconds[0],
            "publish": seconds[2] - seconds[1],
        }

    def ours_timed(self) -> float:
        """Seconds of ours."""
        started, (case, epsilon) = time.perf_counter(), TIMED
        reports, scale = reports_of(case["gamma"], self.whole), self.whole.scale
        sent, variance = self.reported(reports.as_noisy, reports)
        release = sound.publish(sent, variance, scale, self.whole.users, epsilon, Randomness())
        sound.predicted(release, sent, variance, scale, self.test)
        return time.perf_counter() - started


def _predicted(model: HybridKNN, release: Release, sent: Ratings, users: Indices, items: Indices) -> AnyArray:
    """Predictions as they come, not clipped to the scale."""
    return model.predict(model.prepare(release), sent, users, items)


def with_centring_of(
    letter: HybridKNN, model: HybridKNN, measured: PerturbedStatistics, sent: Ratings
) -> PerturbedStatistics:
    """What another centring publishes with the same noise: of all sums, centring moves the products alone."""
    how = measured.mean, measured.item_averages, measured.dampings[1]
    before, after = (weighted_sums(sent, one.clamped(sent, *how))[0] for one in (model, letter))
    return replace(measured, products=measured.products + (after - before))


def slope(true: PerturbedStatistics, perturbed: PerturbedStatistics) -> float:
    """Of the covariances of perturbed ratings on those of raw ones, pairs of different items, weighted as they are.

    1 where perturbation leaves them as they were on average, 0 where nothing is left.
    """
    different = ~np.eye(len(true.weights), dtype=np.bool_) & (true.weights > 0)
    weights = true.weights[different]
    x: Doubles = true.products[different] / weights
    y: Doubles = perturbed.products[different] / perturbed.weights[different]
    return float((weights * x) @ y / ((weights * x) @ x))


def reports_of(gamma: float, data: Data) -> Reports:
    """What is sent for a gamma."""
    return _reports(gamma, data.scale, tuple(data.counts.items()))


@lru_cache
def _reports(gamma: float, scale: Scale, counts: tuple[tuple[float, int], ...]) -> Reports:
    return Reports(gamma, scale, dict(counts))
