"""What the paper's authors ran: 5-fold cross validation, RMSE, their grids of settings, each model at its best.

A repetition is a fold: the five folds are drawn once, by seed 1 (folds 6 to 10 by seed 2, and so on). Predictions are
clipped to the scale. The paper chooses settings "empirically … using a heuristic grid search", on what it does not say.
Here a tenth of a fold's training ratings is held out, settings are chosen on it from the paper's values, and the model
is fitted again on all of them: nothing is chosen on the ratings that are tested on.

Readings of DPSGD-PNBM and DPPS-PNBM: ``constant`` and ``cosine`` start, both to the letter; ``all`` is constant with
every item kept as a neighbour; ``code`` does what the released code does. ``MF`` is the rival of the figure, ``MF
centred`` its other start. Controls stand beside them in every case: see :data:`CONTROLS`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from discreet.data.ratings import Ratings
from discreet.kernels.published_pnbm import sums_of_similarities
from discreet.models.bias import Bias
from discreet.models.cosine import Cosine
from discreet.models.pearson import Pearson
from discreet.papers.frame.cases import Case, Grid
from discreet.papers.frame.sets import Sets
from discreet.papers.neighbourhood import audits, change
from discreet.papers.neighbourhood import similarities as shared
from discreet.papers.neighbourhood.descent import DPSGDPNBM
from discreet.papers.neighbourhood.factors import DPPSMF, DPSGDMF, predicted
from discreet.papers.neighbourhood.sampling import DPPSPNBM
from discreet.populations.population import NoPrivacy
from discreet.populations.terms import Terms
from discreet.populations.trusted import TrustedServer
from discreet.privacy.randomness import Randomness
from discreet.types import AnyArray, Floats

FULL = Grid(
    epsilon=(0.1, 0.5, 1.0, 5.0, 20.0, 100.0),
    average=(0.1, 1.0, 64.0),
    neighbours=(50, 100, 200, 500, 900, 1300),
    limit=(1, 2, 5, 10, 20, 50, 100, 200, 500),
    ratings=(20, 50, 100, 200),
)
QUICK = Grid(epsilon=(0.1, 1.0, 20.0), average=(0.1, 1.0), neighbours=(10, 20), limit=(1, 10, 100), ratings=(20,))
FOLDS, HELD_OUT = 5, 0.1
CAP = 200
STEPS = 20
"""Of DPPS-PNBM. The paper says only "larger than burn-in"; its code has 300."""
MOST_FOR_MEANS = 20.0
"""Epsilon of private means for a user is at most this: a larger one would promise nothing."""
AT = 1.0
"""Epsilon where the neighbour size varies."""
OF_THE_PAPER = {1682: 900}
"""Neighbours of COS and PCC on MovieLens 100K, by how many items there are; 1300 elsewhere."""
CONTROLS = ("global mean", "item mean", "S 1", "S random", "bias", "COS", "PCC", "MAP", "MAP cosine", "MF exact")
"""The same in every case: means, similarities that nobody learned, and what there is without noise."""
Learned = tuple[Floats, Floats]


def tried(epsilon: float | None) -> tuple[tuple[int, float], ...]:
    """Which K and η are tried, of K from 1 to 20 and η .1 or .4: "the smaller epsilon, the fewer" steps.

    Without noise a longer step is tried too: the paper's values are for DPSGD-PNBM.

    >>> tried(1.0), tried(20.0)[-1], tried(None)
    (((1, 0.1), (1, 0.4), (5, 0.4)), (20, 0.4), ((20, 0.4), (20, 2.0)))
    """
    if epsilon is None:
        return (20, 0.4), (20, 2.0)
    few = (1, 0.1), (1, 0.4), (5, 0.4)
    return few if epsilon < 20 else (*few, (20, 0.4))


def candidates(reading: str, epsilon: float | None) -> list[DPSGDPNBM]:
    """DPSGD-PNBM in a reading, with every setting that is tried; β 10, λ .005 and C 15 throughout."""
    first = DPSGDPNBM(epsilon=epsilon, start="cosine" if reading == "cosine" else "constant")
    if reading == "code":
        first = replace(first, start="random", as_released_code=True)
    return [
        replace(first, iterations=count, learning_rate=rate)
        for count, rate in tried(epsilon)
        if reading != "code" or rate == 0.4  # which is what the code has
    ]


class Repetition:
    """One fold."""

    def __init__(self, sets: Sets, seed: int) -> None:
        self.seed = seed
        if sets.given is not None:
            self.train, self.test = sets.ratings, sets.given
        else:
            folds = sets.ratings.folds(FOLDS, 1 + (seed - 1) // FOLDS)
            self.train, self.test = next(pair for place, pair in enumerate(folds) if place == (seed - 1) % FOLDS)
        self._kept: dict[Any, Any] = {}

    def measure(self, case: Case) -> Mapping[str, float]:
        """RMSE in every reading that the case has; shares, changes and epsilons where the method is called so."""
        ways: dict[str, Callable[[Case], Mapping[str, float]]] = {
            "DPSGD": self._descent,
            "DPPS": self._sampling,
            "neighbours": self._neighbours,
            "sums": self._sums,
            "changed rating": self._change,
            "audit": self._audit,
        }
        return ways[case.method](case)

    # ── Figures 3, 4 and 6 ──

    def _descent(self, case: Case) -> Mapping[str, float]:
        epsilon = case["epsilon"]
        readings = ("constant", "cosine", "all", "code")
        found = {reading: self._error(*self.descended(reading, epsilon)) for reading in readings}
        model, learned = self.descended("constant", epsilon)
        found["noise only"] = self._error(model, (learned[0], self._noise_alone(model)))
        for reading, centred in (("MF", False), ("MF centred", True)):
            rivals = [DPSGDMF(epsilon=epsilon, centred=centred, learning_rate=8e-4, iterations=k) for k in (10, 50)]
            found[reading] = self._factors(self._chosen((reading, "descent", epsilon), rivals, self._held_out_factors))
        return found | {"private means": self._private_means(Terms(epsilon=epsilon))} | self.controls

    def _sampling(self, case: Case) -> Mapping[str, float]:
        epsilon = case["epsilon"] * CAP
        found = {}
        for reading in ("constant", "cosine", "code"):
            found[reading] = self._error(*self.sampled(reading, case["epsilon"]))
        model, learned = self.sampled("constant", case["epsilon"])
        found["all"] = self._error(replace(model, neighbours=self.train.n_items - 1), learned)
        start = shared.start_of(model, self.train)
        found["no step"] = self._error(model, (learned[0], start))
        for reading, centred in (("MF", False), ("MF centred", True)):
            found[reading] = self._factors(DPPSMF(epsilon=epsilon, centred=centred))
        return (
            found
            | {"private means": self._private_means(Terms(epsilon=min(epsilon, MOST_FOR_MEANS), unit="user"))}
            | self.controls
        )

    @cached_property
    def controls(self) -> dict[str, float]:
        """What every figure has beside it."""
        train, size = self.train, len(self.test)
        still = DPSGDPNBM(epsilon=None, iterations=0)
        means = shared.item_means(train)
        exact = [DPSGDMF(epsilon=None, learning_rate=8e-4, iterations=k) for k in (10, 50)]
        neighbours = min(OF_THE_PAPER.get(train.n_items, 1300), train.n_items - 1)
        return {
            "global mean": self.rmse(np.full(size, train.values.mean(dtype=np.float64))),
            "item mean": self.rmse(means[self.test.item_index]),
            "S 1": self._error(still, still.learn(train, self._noise())),
            "S random": self._error(*self._of(replace(still, start="random"))),
            "bias": self._of_release(Bias().fit(NoPrivacy(train))),
            "COS": self._of_release(Cosine.plain(neighbours).fit(NoPrivacy(train))),
            "PCC": self._of_release(Pearson.plain(neighbours).fit(NoPrivacy(train))),
            "MAP": self._error(*self.descended("constant", None)),
            "MAP cosine": self._error(*self.descended("cosine", None)),
            "MF exact": self._factors(self._chosen(("MF", "descent", None), exact, self._held_out_factors)),
        }

    # ── Figure 5 ──

    def _neighbours(self, case: Case) -> Mapping[str, float]:
        size = min(int(case["neighbours"]), self.train.n_items - 1)
        found = {}
        for reading in ("constant", "cosine", "code"):
            model, learned = self.descended(reading, AT)
            found[reading] = self._error(replace(model, neighbours=size), learned)
            sampler, sample = self.sampled(reading, AT)
            found[f"DPPS {reading}"] = self._error(replace(sampler, neighbours=size), sample)
        for name, kind in (("COS", Cosine), ("PCC", Pearson)):
            found[name] = self._of_release(kind.plain(size).fit(NoPrivacy(self.train)))
        return {**self.controls, **found}

    # ── Figure 2, and what is no figure ──

    def _sums(self, case: Case) -> Mapping[str, float]:
        """The share of ``|S_i| I_u`` below a limit, β 10."""
        return {name: float((sums < case["limit"]).mean()) for name, sums in self.sums_at_start.items()}

    @cached_property
    def sums_at_start(self) -> dict[str, Floats]:
        """``|S_i| I_u`` of every training rating, at the start."""
        columns, found = self.train.by_item, {}
        for reading in ("constant", "cosine", "code"):
            model = candidates(reading, AT)[0]
            near = change.first_similarities(model, self.train)
            np.fill_diagonal(near, 0)
            found[reading] = sums_of_similarities(
                near, columns.indptr, columns.users, self.train.indptr, self.train.item_index
            )
        return found

    def _change(self, case: Case) -> Mapping[str, float]:
        """What one rating moves, in what the noise is made for; and one user in deviations of a Langevin step; once."""
        if self.seed > 1:
            return {}
        count, found = int(case["ratings"]), {}
        for reading in ("constant", "cosine", "code"):
            model = candidates(reading, AT)[0]
            found[reading] = change.of_a_user(model, self.train, count, public_means=False)
            found[f"{reading}, public means"] = change.of_a_user(model, self.train, count, public_means=True)
        found["worst pair"] = change.of_the_worst_pair(candidates("constant", AT)[0], count)
        for name, reading in (("step", "constant"), ("step of the code", "code")):
            found[name] = change.of_a_removed_user(sampler_of(reading, AT), self.train, count)
        return found

    def _audit(self, case: Case) -> Mapping[str, float]:
        """What attacks show where epsilon 1 is claimed; on made-up ratings, once."""
        if self.seed > 1:
            return {}
        names = (*audits.ATTACKED, audits.STEP)
        return {f"audit: {name}": audits.shown_epsilon(name, Randomness(place)) for place, name in enumerate(names)}

    # ── Their parts ──

    def descended(self, reading: str, epsilon: float | None) -> tuple[DPSGDPNBM, Learned]:
        """DPSGD-PNBM with settings chosen on what is held out of the training ratings, and what it learned."""
        key = "DPSGD", reading, epsilon
        if key not in self._kept:
            models = candidates(reading, epsilon)
            if reading == "all":
                models = [replace(model, neighbours=self.train.n_items - 1) for model in models]
            self._kept[key] = self._of(self._chosen(key, models, self._held_out_error))
        return self._kept[key]  # type: ignore[no-any-return]

    def sampled(self, reading: str, epsilon: float) -> tuple[DPPSPNBM, Learned]:
        """DPPS-PNBM at an epsilon for an average rating."""
        key = "DPPS", reading, epsilon
        if key not in self._kept:
            self._kept[key] = self._of(sampler_of(reading, epsilon))
        return self._kept[key]  # type: ignore[no-any-return]

    def _of(self, model: Any) -> tuple[Any, Learned]:
        return model, model.learn(self.train, self._noise())

    def _noise_alone(self, model: DPSGDPNBM) -> Floats:
        """What the same steps make of no ratings at all."""
        nobody = self.train.select(np.zeros(len(self.train), dtype=np.bool_))
        return model.learn(nobody, self._noise())[1]

    @cached_property
    def inner(self) -> tuple[Ratings, Ratings]:
        """The training ratings, divided once more."""
        return self.train.split(test=HELD_OUT, seed=self.seed)

    def _chosen(self, key: Any, models: Sequence[Any], error: Callable[[Any], float]) -> Any:
        """The one with the least error on what is held out."""
        if ("chosen", key) not in self._kept:
            self._kept["chosen", key] = min(models, key=error)
        return self._kept["chosen", key]

    def _held_out_error(self, model: DPSGDPNBM) -> float:
        train, test = self.inner
        release = model.released(train, model.learn(train, self._noise()), seeded=True)
        return rmse(release.predict(train, test.user_index, test.item_index), test)

    def _held_out_factors(self, model: DPSGDMF) -> float:
        train, test = self.inner
        return rmse(predicted(model, model.learn(train, self._noise()), test), test)

    def _factors(self, model: DPSGDMF | DPPSMF) -> float:
        return self.rmse(predicted(model, model.learn(self.train, self._noise()), self.test))

    def _private_means(self, terms: Terms) -> float:
        return self._of_release(Bias().fit(TrustedServer(self.train, terms.ledger(), randomness=self._noise())))

    def _error(self, model: DPSGDPNBM | DPPSPNBM, learned: Learned) -> float:
        return self._of_release(model.released(self.train, learned, seeded=True))

    def _of_release(self, release: Any) -> float:
        return self.rmse(release.predict(self.train, self.test.user_index, self.test.item_index))

    def rmse(self, guess: AnyArray) -> float:
        """On the test ratings."""
        return rmse(guess, self.test)

    def _noise(self) -> Randomness:
        return Randomness(self.seed)


def sampler_of(reading: str, epsilon: float) -> DPPSPNBM:
    """DPPS-PNBM in a reading: the middle of the paper's values, as none of them moves anything."""
    model = DPPSPNBM(epsilon=epsilon * CAP, iterations=STEPS, start="cosine" if reading == "cosine" else "constant")
    if reading == "code":
        return replace(model, start="random", as_released_code=True, temperature=0.004)
    return model


def rmse(guess: AnyArray, test: Ratings) -> float:
    """Clipped to the scale."""
    scale = test.catalogue.scale
    clipped = np.clip(guess.astype(np.float64), scale.low, scale.high)
    return float(np.sqrt(np.mean((clipped - test.values) ** 2)))
