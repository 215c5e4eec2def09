"""Mechanisms that are broken on purpose, each in a way that was seen in the wild. An audit must find every one."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import discreet as dc
from discreet.models.sums.item_statistics import item_counts
from discreet.populations.around import innermost
from discreet.populations.held import held_by
from discreet.populations.population import exact_total

RATINGS = dc.synthetic(users=40, items=20, ratings=400, seed=1)
SERVER, DEVICES = dc.TrustedServer, dc.LocalDevices
RATING, USER = dc.Terms(epsilon=1.0), dc.Terms(epsilon=1.0, unit="user", delta=1e-5)
ON_DEVICES = dc.Terms(epsilon=1.0, trust="devices")


def ratings_of(population):
    """What no attribute of a population leads to: for mechanisms that are broken on purpose."""
    return held_by(innermost(population))


def audited(model, terms, kind=None, *, runs=800, **options):
    make = None if kind is None else lambda ratings, ledger, noise: kind(ratings, ledger, randomness=noise)
    options = {"confidence": 0.95, "randomness": dc.Randomness(seed=5)} | options
    return dc.audit.audit_by_runs(model, RATINGS, terms, runs=runs, make_population=make, **options)


def shows_it(audit) -> bool:
    """Whether the statistics alone refute the promise."""
    return audit.accuses and (
        audit.epsilon_low > audit.proven.epsilon or (audit.mu is not None and audit.mu.low > audit.mu_proven)
    )


# ── Correct mechanisms are left in peace ──


@pytest.mark.parametrize("model", [dc.Bias(), dc.Popularity()], ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("trust", ["server", "devices"])
@pytest.mark.parametrize("unit", ["rating", "user"])
def test_correct_models_are_not_accused(model, trust, unit):
    audit = audited(model, dc.Terms(epsilon=1.0, unit=unit, trust=trust))
    assert not audit.accuses, str(audit)
    assert audit.faults == ()
    assert audit.proven.epsilon == pytest.approx(1, rel=1e-3)
    assert 0.7 < audit.exercised <= 1
    if unit == "rating":
        assert audit.epsilon_low > 0.3
    else:
        assert audit.mu.low <= audit.mu_proven <= audit.mu.high or trust == "devices"


@pytest.mark.parametrize("terms", [RATING, USER], ids=["rating", "user"])
def test_an_audit_can_be_repeated(terms):
    one, two = (audited(dc.Popularity(), terms, runs=200).to_json() for _ in range(2))
    for document in (one, two):
        del document["seconds"], document["more"]["seconds"]
    assert one == two


def test_full_norm_canaries_make_mu_tight():
    audit = audited(dc.Popularity(), dc.Terms(epsilon=5.0, delta=1e-6, unit="user"), runs=3000)
    assert audit.mu_proven == pytest.approx(1.0204, rel=1e-3)
    assert audit.exercised == pytest.approx(1, rel=1e-3)
    assert 0.8 < audit.mu.low < audit.mu_proven < audit.mu.high < 1.25
    assert 3.7 < audit.epsilon_of_mu < 5


# ── Noise halved ──


class HalfTheNoise(SERVER):
    def sum(self, contribution, share=1.0):
        calibrated = self.calibrate(contribution, share)
        self.ledger.charge(calibrated.spend)
        weak = replace(calibrated, spend=replace(calibrated.spend, scale=calibrated.spend.scale / 2))
        return weak.add_noise(exact_total(contribution, ratings_of(self)), self._randomness)


class DevicesWithHalfTheNoise(DEVICES):
    def sum(self, contribution, share=1.0):
        calibrated = self.calibrate(contribution, share)
        self.ledger.charge(calibrated.spend)
        weak = replace(calibrated, spend=replace(calibrated.spend, scale=calibrated.spend.scale / 2))
        devices = [ratings_of(self).select_users(np.array([position])) for position in range(ratings_of(self).n_users)]
        return sum(weak.add_noise(exact_total(contribution, device), self._randomness) for device in devices)


@pytest.mark.parametrize("model", [dc.Bias(), dc.Popularity()], ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("terms", [RATING, USER], ids=["rating", "user"])
def test_noise_halved(model, terms):
    audit = audited(model, terms, HalfTheNoise, runs=1600)
    assert shows_it(audit), str(audit)
    if audit.mu is not None:
        assert audit.mu.low < 2 * audit.mu_proven < audit.mu.high  # not only found, but measured


def test_noise_halved_on_devices():
    assert shows_it(audited(dc.Popularity(), ON_DEVICES, DevicesWithHalfTheNoise))


def test_noise_halved_in_one_run():
    ratings = dc.synthetic(users=40, items=1000, ratings=400, seed=1)
    options = {"canaries": 1000, "randomness": dc.Randomness(seed=5), "seed": 5}
    honest = dc.audit.audit_in_one_run(dc.Bias(), ratings, RATING, **options)
    assert not honest.accuses and honest.epsilon_low > 0.5
    make = lambda ratings, ledger, noise: HalfTheNoise(ratings, ledger, randomness=noise)  # noqa: E731
    assert shows_it(dc.audit.audit_in_one_run(dc.Bias(), ratings, RATING, make_population=make, **options))


# ── A clip forgotten ──


def unclipped(size, unit):
    """Declares what :func:`item_counts` proves of weighted counts, and counts with weight 1."""
    return dc.Contribution("counts", (size,), item_counts(size).total, item_counts(size, unit).bounds)


@dataclass(frozen=True)
class Unclipped:
    def fit(self, population, progress=None):
        counts = population.sum(unclipped(len(population.catalogue), population.unit))
        return dc.Release.of(self, population, {"counts": counts})


def test_a_clip_forgotten():
    audit = audited(Unclipped(), USER)
    assert shows_it(audit), str(audit)
    assert "every item" in audit.canary  # the one that a clip would have held back
    assert "a canary moves 'counts' by 4.472 in l2, and the noise is made for 1" in audit.faults
    assert all("moves" in fault and "'counts'" in fault for fault in audit.faults)
    assert audit.exercised == pytest.approx(20**0.5, rel=1e-3)


def test_a_clip_forgotten_in_one_run():
    ratings = dc.synthetic(users=40, items=20_000, ratings=400, seed=1)
    terms = dc.Terms(epsilon=0.5, unit="user")
    options = {"canaries": 200, "randomness": dc.Randomness(seed=5), "seed": 5}
    assert not dc.audit.audit_in_one_run(dc.Popularity(), ratings, terms, **options).accuses
    audit = dc.audit.audit_in_one_run(Unclipped(), ratings, terms, **options)
    assert shows_it(audit), str(audit)
    assert audit.faults == ("a canary moves 'counts' by 10 in l2, and the noise is made for 1",)


# ── Item means left exact: they never went through the population ──


@dataclass(frozen=True)
class ExactMeans:
    def fit(self, population, progress=None):
        ratings = ratings_of(population)
        counts = np.maximum(np.bincount(ratings.item_index, minlength=ratings.n_items), 1)
        means = np.bincount(ratings.item_index, weights=ratings.values, minlength=ratings.n_items) / counts
        noisy = population.sum(item_counts(ratings.n_items, population.unit))
        return dc.Release.of(self, population, {"counts": noisy, "means": means.astype(np.float32)})


@pytest.mark.parametrize("attacks", ["all", "release"])
@pytest.mark.parametrize("terms", [RATING, USER], ids=["rating", "user"])
def test_item_means_left_exact(terms, attacks):
    audit = audited(ExactMeans(), terms, runs=400, attacks=attacks)
    assert shows_it(audit), str(audit)
    assert audit.attack == "learned from the release"
    assert audit.epsilon_low > 3


@dataclass(frozen=True)
class ShapeTells:
    """Releases one number for each item that somebody rated."""

    def fit(self, population, progress=None):
        counts = population.sum(item_counts(len(population.catalogue), population.unit))
        return dc.Release.of(self, population, {"counts": counts[np.unique(ratings_of(population).item_index)]})


def test_a_shape_that_depends_on_the_data():
    sparse = dc.synthetic(users=10, items=60, ratings=60, seed=1)  # the canary's item is nobody else's
    audit = dc.audit.audit_by_runs(ShapeTells(), sparse, RATING, runs=400, randomness=dc.Randomness(seed=5))
    assert shows_it(audit), str(audit)


# ── The same noise drawn twice ──


@dataclass(frozen=True)
class TwoLooks:
    """Counts, and counts of high ratings; each costs half."""

    def fit(self, population, progress=None):
        size = len(population.catalogue)

        def high(ratings):
            return np.bincount(ratings.item_index[ratings.values >= 4], minlength=size)

        bounds = (dc.Bound("rating", "l1", 1.0, cells=1), dc.Bound("rating", "l2", 1.0, cells=1))
        counts = population.sum(item_counts(size), share=0.5)
        highs = population.sum(dc.Contribution("high ratings", (size,), high, bounds), share=0.5)
        return dc.Release.of(self, population, {"counts": counts, "highs": highs})


class SameNoiseForEveryLook(SERVER):
    """Fresh in every fit, but kept between looks, so that it falls out of a difference."""

    def sum(self, contribution, share=1.0):
        calibrated = self.calibrate(contribution, share)
        self.ledger.charge(calibrated.spend)
        if not hasattr(self, "_kept"):
            self._kept = calibrated.add_noise(np.zeros(contribution.shape), self._randomness)
        return exact_total(contribution, ratings_of(self)) + self._kept


class SameNoiseForEveryFit(SERVER):
    """A seed that was left in."""

    def sum(self, contribution, share=1.0):
        self._randomness = dc.Randomness(seed=0)
        return super().sum(contribution, share)


@pytest.mark.parametrize("kind", [SameNoiseForEveryLook, SameNoiseForEveryFit])
def test_the_same_noise_drawn_twice(kind):
    assert not audited(TwoLooks(), RATING, runs=400).accuses
    audit = audited(TwoLooks(), RATING, kind, runs=400)
    assert shows_it(audit), str(audit)
    assert audit.faults == ()  # nothing but the statistics could tell


def test_the_same_noise_drawn_twice_shows_in_the_release_alone():
    audit = audited(TwoLooks(), RATING, SameNoiseForEveryLook, runs=400, attacks="release")
    assert shows_it(audit) and audit.attack == "learned from the release"


# ── An extra look that is not in the ledger ──


class ForgetsToBook(SERVER):
    """Every look but the first is free."""

    def sum(self, contribution, share=1.0):
        if not self.ledger.spends:
            return super().sum(contribution, share)
        return self.calibrate(contribution, share).add_noise(
            exact_total(contribution, ratings_of(self)), self._randomness
        )


@dataclass(frozen=True)
class LooksAgain:
    def fit(self, population, progress=None):
        asked = item_counts(len(population.catalogue), population.unit)
        looks = [population.sum(asked) for _ in range(4)]
        return dc.Release.of(self, population, {"counts": np.mean(looks, axis=0)})


@pytest.mark.parametrize("terms", [RATING, USER], ids=["rating", "user"])
def test_an_extra_look_that_is_not_in_the_ledger(terms):
    audit = audited(LooksAgain(), terms, ForgetsToBook, runs=2000)
    assert shows_it(audit), str(audit)
    assert audit.faults == ("3 of 4 looks at the ratings are not in the ledger",)


@dataclass(frozen=True)
class LooksBehindTheBack:
    """The second look is noisy enough, but it is made where no ledger is."""

    def fit(self, population, progress=None):
        asked = item_counts(len(population.catalogue), population.unit)
        counts = population.sum(asked)
        again = dc.TrustedServer(
            ratings_of(population), dc.Ledger(2.0), randomness=innermost(population)._randomness
        ).sum(asked)
        return dc.Release.of(self, population, {"counts": counts, "again": again})


def test_a_look_behind_the_populations_back():
    audit = audited(LooksBehindTheBack(), RATING, runs=2000)
    assert shows_it(audit), str(audit)
    assert audit.attack == "learned from the release"


# ── Others that were seen ──


class NoiseOnTheSupportOnly(SERVER):
    def sum(self, contribution, share=1.0):
        exact = exact_total(contribution, ratings_of(self))
        return np.where(exact == 0, 0.0, super().sum(contribution, share))


def test_noise_on_the_support_only():
    sparse = dc.synthetic(users=10, items=60, ratings=60, seed=1)
    make = lambda ratings, ledger, noise: NoiseOnTheSupportOnly(ratings, ledger, randomness=noise)  # noqa: E731
    audit = dc.audit.audit_by_runs(
        dc.Popularity(), sparse, RATING, runs=400, make_population=make, randomness=dc.Randomness(seed=5)
    )
    assert shows_it(audit), str(audit)


def test_no_noise_at_all():
    exact = lambda ratings, ledger, noise: dc.NoPrivacy(ratings)  # noqa: E731
    audit = dc.audit.audit_by_runs(
        dc.Popularity(), RATINGS, RATING, runs=200, make_population=exact, randomness=dc.Randomness(seed=5)
    )
    assert audit.accuses and audit.epsilon_low > 2.5
    assert audit.proven is None


# ── Two kinds of noise in one ledger ──


class HalfGaussian(SERVER):
    """Half of the Gaussian noise that was booked; the Laplace noise is as it should be."""

    def _noisy(self, contribution, ratings, calibrated):
        if calibrated.spend.mechanism == "gaussian":
            calibrated = replace(calibrated, spend=replace(calibrated.spend, scale=calibrated.spend.scale / 2))
        return super()._noisy(contribution, ratings, calibrated)


def test_gaussian_noise_that_is_halved_beside_laplace_noise(monkeypatch):
    monkeypatch.setattr("discreet.audit.runs.EXPLORING", 8)  # the canary that moves the looks most is the right one
    model, terms = dc.CovarianceKNN(covariance_share=0.8), dc.Terms(epsilon=5.0, delta=1e-6)
    correct = audited(model, terms, runs=200)
    assert not correct.accuses, str(correct)
    assert correct.exercised > 0.95 and correct.mu.low > 0.3 * correct.mu_proven
    broken = audited(model, terms, HalfGaussian, runs=200)
    assert broken.accuses and broken.mu.low > broken.mu_proven, str(broken)
