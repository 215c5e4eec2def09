"""Fitting by replay: what agrees, what is refused, and what cannot be checked."""

from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import pytest

import discreet as dc
from discreet.errors import InputError
from discreet.fitting.private_forms import has_private_form
from discreet.fitting.replay import fault_by_replay, fit_and_replay, found_by_replay
from discreet.models.sums.item_statistics import item_counts
from discreet.names import every_model
from discreet.populations.replayed import Recorded, Replayed
from discreet.releases.releasable import CHECKED, NOT_REPEATABLE, TOO_LARGE, UNCHECKED

RATINGS = dc.synthetic(users=80, items=70, ratings=2000, seed=1)
TERMS = {
    "rating": dc.Terms(epsilon=3.0),
    "rating, delta": dc.Terms(epsilon=3.0, delta=1e-6),
    "user": dc.Terms(epsilon=3.0, unit="user"),
    "devices": dc.Terms(epsilon=3.0, unit="user", trust="devices"),
}


@pytest.mark.parametrize("terms", TERMS)
@pytest.mark.parametrize("name", every_model())
def test_every_private_model_is_made_of_its_answers(name, terms):
    model = every_model()[name]()
    if not has_private_form(model, TERMS[terms]):
        pytest.skip("has no private form")
    release = fit_and_replay(model, TERMS[terms].population(RATINGS))
    assert release.guarantee.notes.count(CHECKED) == 1
    assert UNCHECKED not in release.guarantee.notes


def test_a_search_is_made_of_its_answers():
    search = dc.evaluation.Search(candidates=[dc.Bias(), dc.Bias(item_damping=50), dc.CovarianceKNN()])
    assert CHECKED in fit_and_replay(search, TERMS["user"].population(RATINGS)).guarantee.notes


def server():
    return dc.TrustedServer(RATINGS, dc.Ledger(3.0))


SEEN: list[np.ndarray] = []


@dataclass(frozen=True)
class Leaks:
    """Noisy counts, and something of the ratings by a way of its own."""

    way: str

    def fit(self, population, progress=None):
        size, kept = len(population.catalogue), []

        def total(ratings):
            kept.append(ratings.values)
            SEEN[:] = [ratings.values]
            return item_counts(size).total(ratings)

        counts = population.sum(dc.Contribution("counts", (size,), total, item_counts(size).bounds))
        arrays = {"counts": counts, "mean": np.zeros(1)}
        note = ""
        if self.way == "closure":
            arrays["mean"] = np.array([values.mean() for values in kept if len(values)][-1:])
        if self.way == "module":
            arrays["mean"] = SEEN[0].sum(keepdims=True)
        if self.way == "model":
            object.__setattr__(self, "mean", getattr(self, "mean", 0.0) + sum(len(values) for values in kept))
            arrays["mean"] = np.array([self.mean])
        if self.way == "another question" and len(kept[-1]) > 0:
            population.deviation(item_counts(size))
        release = dc.Release.of(self, population, arrays)
        if self.way == "note":
            note = f"{sum(len(values) for values in kept)} ratings"
        return dc.Release(
            release.model, release.arrays, release.catalogue, release.guarantee, release.spends, release.sources, note
        )

    def score(self, release, histories):
        return np.zeros((histories.n_users, histories.n_items), dtype=np.float32)


@pytest.mark.parametrize("way", ["closure", "module", "model", "note", "another question"])
def test_what_took_another_way_is_refused(way):
    with pytest.raises(InputError, match="Leaks does not come to the same release") as error:
        fit_and_replay(Leaks(way), server())
    assert error.value.__context__ is None
    recorded = Recorded(server())
    model = Leaks(way)
    assert "never went through the population" in fault_by_replay(model, recorded, model.fit(recorded))


def test_what_took_no_other_way_is_not():
    recorded = Recorded(server())
    model = Leaks("none")
    assert fault_by_replay(model, recorded, model.fit(recorded)) == ""


@dataclass(frozen=True)
class Dice:
    """Makes something else of the same answers each time."""

    def fit(self, population, progress=None):
        counts = population.sum(item_counts(len(population.catalogue)))
        return dc.Release.of(self, population, {"counts": counts + np.random.default_rng().random(len(counts))})

    def score(self, release, histories):
        return np.zeros((histories.n_users, histories.n_items), dtype=np.float32)


def test_what_cannot_be_checked_says_so():
    assert fit_and_replay(Dice(), server()).guarantee.notes[-1] == NOT_REPEATABLE
    recorded = Recorded(server(), most_bytes=100)
    release = dc.Popularity().fit(recorded)
    assert recorded.answers is None
    assert found_by_replay(dc.Popularity(), recorded, release) == TOO_LARGE
    with pytest.raises(InputError, match="too much memory"):
        Replayed(recorded)
    assert dc.Popularity().fit(server()).guarantee.notes[-1] == UNCHECKED


def test_what_a_model_does_to_an_answer_is_not_recorded():
    @dataclass(frozen=True)
    class InPlace(Dice):
        def fit(self, population, progress=None):
            counts = population.sum(item_counts(len(population.catalogue)))
            counts *= 2
            return dc.Release.of(self, population, {"counts": counts})

    assert fit_and_replay(InPlace(), server()).guarantee.notes[-1] == CHECKED


def test_arrays_of_a_proven_release_are_numbers():
    @dataclass(frozen=True)
    class Infinite(Dice):
        rows: int = 70

        def fit(self, population, progress=None):
            population.sum(item_counts(len(population.catalogue)))
            return dc.Release.of(self, population, {"counts": np.full((self.rows, 2), np.inf)})

    with pytest.raises(InputError, match="'counts' holds what is no finite number"):
        Infinite().fit(server())
    assert np.isinf(Infinite().fit(dc.NoPrivacy(RATINGS)).arrays["counts"]).all()  # which promises nothing


@pytest.mark.parametrize("length", [70, 64, 3, 100])
def test_axes_that_are_explained_are_released(length):
    @dataclass(frozen=True)
    class Sized(Dice):
        factors: int = 100

        def fit(self, population, progress=None):
            population.sum(item_counts(len(population.catalogue)))
            return dc.Release.of(self, population, {"counts": np.zeros(length)})

    Sized().fit(server())
    with (
        pytest.raises(InputError, match="an axis of the array 'counts' is 100 long") if length == 100 else nullcontext()
    ):
        Sized(factors=3).fit(server())
