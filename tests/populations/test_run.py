"""Mechanisms that are no sums: booked before they run, run by whoever holds the ratings, and checked."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

import discreet as dc
from discreet.fitting.replay import fit_and_replay
from discreet.populations.mechanism import Allowance, check_ratios
from discreet.populations.rehearsal import follow, rehearse
from discreet.privacy.noise import add_laplace, grid_of
from discreet.privacy.randomness import Randomness
from discreet.privacy.selection import flip_law, permute_and_flip
from discreet.types import no_progress

RATINGS = dc.synthetic(users=400, items=12, ratings=2400, seed=1)
CATALOGUE = RATINGS.catalogue
USER = dc.User()
ONE = (dc.Bound("user", "l1", 1.0), dc.Bound("user", "l2", 1.0))
USERS = dc.Contribution("users", (), lambda ratings: float(ratings.n_users), ONE)


def lengths(ratings):
    return np.diff(ratings.indptr)


def median(grid=range(0, 13), quantile=0.5):
    return dc.populations.quantile_of_users("ratings of a user", lengths, quantile, np.array(grid, dtype=float))


@dataclass(frozen=True, kw_only=True)
class LogisticMean:
    """Objective perturbation in one dimension: the θ that minimises Σ ℓ_u(θ) + λθ²/2 + bθ, with b from Laplace.

    ℓ_u(θ) = ln cosh(θ − y_u), with y_u in [−1, 1] the mean of a user's centred ratings; |ℓ'| ≤ 1 and 0 ≤ ℓ'' ≤ 1.

    **Guarantee.** For any b there is one minimiser, and b = −(Σ ℓ'_u(θ) + λθ) falls with θ: so θ has the density
    p(b(θ))·(Σ ℓ''_u(θ) + λ). One user more moves b(θ) by at most 1, so the first factor by at most e^(1/s), and the
    second by at most 1 + 1/λ. Together pure ε = 1/s + ln(1 + 1/λ), for a user who is present or absent. ∎
    The noise is drawn on a lattice and the minimum found by bisection: a toy, whose rounding is not accounted for.
    """

    ridge: float = 10.0
    wrong_by: float = 1.0
    name: str = "mean taste by a perturbed objective"
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=lambda: {"theta": ()})

    def spend(self, allowed):
        assert allowed.unit == USER
        left = allowed.epsilon - math.log1p(1 / self.ridge)
        if left <= 0:
            raise dc.InputError("the ridge is too small for so small an epsilon")
        return dc.privacy.Spend(what=self.name, mechanism="pure", norm="l1", sensitivity=allowed.epsilon, scale=1.0)

    def noise_scale(self, spend):
        return self.wrong_by / (spend.pure_epsilon - math.log1p(1 / self.ridge))

    def tastes(self, ratings):
        sums = np.bincount(ratings.user_index, weights=(ratings.values - 3) / 2, minlength=ratings.n_users)
        return sums / np.maximum(np.diff(ratings.indptr), 1)

    def slope(self, theta, tastes):
        return np.tanh(theta - tastes).sum() + self.ridge * theta

    def solved(self, tastes, noise):
        low, high = -1e6, 1e6
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (middle, high) if self.slope(middle, tastes) + noise < 0 else (low, middle)
        return {"theta": np.array(low)}

    def draw(self, ratings, spend, randomness):
        scale = self.noise_scale(spend)
        noise = add_laplace(np.zeros(1), scale, grid_of(scale), randomness)[0]
        return self.solved(np.concatenate([self.tastes(part) for part in ratings.parts()]), noise)

    def exact(self, ratings):
        return self.solved(np.concatenate([self.tastes(part) for part in ratings.parts()]), 0.0)

    def log_law(self, ratings, spend):
        """The density at many θ; the proof is about all of them."""
        tastes, scale = self.tastes(ratings), self.noise_scale(spend)
        thetas = np.linspace(-30, 30, 401)
        slopes = np.array([self.slope(theta, tastes) for theta in thetas])
        curve = np.array([(1 / np.cosh(theta - tastes) ** 2).sum() + self.ridge for theta in thetas])
        return -np.abs(slopes) / scale - math.log(2 * scale) + np.log(curve)

    def check(self, catalogue):
        check_ratios(self, self.log_law, catalogue, Allowance(unit=USER, epsilon=1.0))


@dataclass(frozen=True, kw_only=True)
class Chooser:
    """A model that runs a mechanism, and then asks for a sum."""

    mechanism: object
    share: float = 0.5

    def fit(self, population, progress=no_progress):
        found = population.run(self.mechanism, self.share)
        many = population.sum(USERS, 1 - self.share)
        return dc.Release.of(self, population, {**found, "users": np.asarray(many)})

    def score(self, release, histories):
        return np.zeros((histories.n_users, len(release.catalogue)))


def server(epsilon=1.0, delta=0.0, unit=USER, **settings):
    return dc.TrustedServer(RATINGS, dc.Ledger(epsilon, delta, unit), **settings)


EVERY = [
    median(),
    median(quantile=0.9),
    median(grid=[3.0]),
    dc.populations.Choice(
        name="item with the most high ratings",
        candidates=12,
        totals=dc.Contribution("high", (12,), lambda r: np.bincount(r.item_index[r.values >= 4], minlength=12)),
        apart={("user", "add-or-remove"): 1.0, ("rating", "add-or-remove"): 1.0, ("rating", "replace"): 1.0},
    ),
    LogisticMean(),
]


# ── Every mechanism is as private as it says ──


@pytest.mark.parametrize("mechanism", EVERY, ids=lambda mechanism: mechanism.name)
def test_every_mechanism_passes_its_own_check(mechanism):
    assert isinstance(mechanism, dc.populations.Mechanism)
    mechanism.check(CATALOGUE)


def test_a_planted_wrong_scale_is_found():
    with pytest.raises(dc.InputError, match="times as likely"):
        LogisticMean(wrong_by=0.5).check(CATALOGUE)


def test_scores_that_move_further_apart_than_they_say_are_found():
    wrong = replace(median(), apart={("user", "add-or-remove"): 0.5})
    with pytest.raises(dc.InputError, match="times as likely"):
        wrong.check(CATALOGUE)


def test_the_check_of_a_choice_is_tight():
    asked = median()
    found = check_ratios(asked, asked._log_law, CATALOGUE, Allowance(unit=USER, epsilon=1.0))
    assert 0.4 < found <= 1.0


def test_the_law_of_permute_and_flip():
    """Against 20,000 draws: chi-squared of three cells beyond 40 has odds below 1e-8."""
    scores, rate, noise = np.array([0.0, -0.5, -3.0, 0.0]), 1.3, Randomness(seed=1)
    law = flip_law(scores, rate)
    assert law.sum() == pytest.approx(1, abs=1e-12)
    drawn = np.bincount([permute_and_flip(scores, rate, noise) for _ in range(20_000)], minlength=4)
    assert ((drawn - 20_000 * law) ** 2 / (20_000 * law)).sum() < 40


# ── Booked, run, guarded ──


def test_it_is_booked_and_answers():
    population = server(epsilon=4.0)
    position = population.run(median(), share=0.5)["position"]
    assert abs(position - np.median(lengths(RATINGS))) <= 2
    (spend,) = population.spends
    assert spend.pure_epsilon == pytest.approx(2.0) and spend.chooses
    with pytest.raises(dc.OverspentError):
        population.run(median(), share=0.6)
    assert len(population.spends) == 1


def test_it_is_exact_without_privacy():
    theta = dc.NoPrivacy(RATINGS).run(LogisticMean())["theta"]
    again = dc.NoPrivacy(RATINGS).run(LogisticMean())["theta"]
    assert theta == again
    assert dc.NoPrivacy(RATINGS).run(median())["position"] == np.median(lengths(RATINGS))


def test_it_fits_beside_gaussian_noise_in_a_plan():
    population = server(epsilon=1.0, delta=1e-6)
    model = Chooser(mechanism=median())
    follow(rehearse(model, population), population)
    release = model.fit(population)
    assert release.guarantee.proven.epsilon <= 1 + 1e-9
    assert [spend.mechanism for spend in release.spends] == ["pure", "gaussian"]


def test_a_replay_finds_it_again():
    release = fit_and_replay(Chooser(mechanism=LogisticMean()), server(epsilon=2.0))
    assert release.guarantee.notes[-1].startswith("A replay of the noisy answers gave the same release")


def test_devices_refuse_it():
    devices = dc.LocalDevices(RATINGS, dc.Ledger(1.0, unit=dc.User(neighbours="replace")))
    with pytest.raises(dc.InputError, match="ask a TrustedServer"):
        devices.run(median())


def test_a_unit_without_a_proof_is_refused():
    asked = replace(median(), apart={("user", "add-or-remove"): 1.0})
    with pytest.raises(dc.InputError, match="no proven bound"):
        server(unit=dc.Rating()).run(asked)


@dataclass(frozen=True, kw_only=True)
class Fails(LogisticMean):
    """Says who is there."""

    how: str = "raises"

    def draw(self, ratings, spend, randomness):
        if ratings.n_users > 1:
            if self.how == "raises":
                raise ValueError("user 42")
            if self.how == "exits":
                raise SystemExit("user 42")
            return {"theta": np.array(np.nan)} if self.how == "nan" else {"theta": np.zeros(2)}
        return {"theta": np.array(0.0)}


@pytest.mark.parametrize("how", ["raises", "exits", "nan", "shape"])
def test_nothing_that_goes_wrong_tells_of_the_ratings(how):
    population = server()
    with pytest.raises(dc.InputError, match="could not be drawn, and what was booked for it stays spent") as found:
        population.run(Fails(how=how))
    assert found.value.__context__ is None and len(population.spends) == 1


def test_what_fails_on_any_ratings_costs_nothing():
    population = server()
    wrong = replace(median(), score=lambda totals: np.zeros(2))
    with pytest.raises(dc.InputError, match="one score for each candidate"):
        population.run(wrong)
    assert population.spends == ()


def test_a_mechanism_takes_no_more_than_its_share():
    @dataclass(frozen=True, kw_only=True)
    class Greedy(LogisticMean):
        def spend(self, allowed):
            return replace(super().spend(allowed), scale=0.5)

    population = server()
    with pytest.raises(dc.InputError, match="more than its share"):
        population.run(Greedy(), share=0.5)
    assert population.spends == ()


# ── Audits ──


def test_an_audit_leaves_it_in_peace_and_finds_a_wrong_scale():
    ratings = dc.synthetic(users=5, items=3, ratings=10, seed=1)
    terms = dc.Terms(epsilon=2.0, unit="user", delta=0.0)
    options = {"runs": 400, "randomness": dc.Randomness(seed=5)}
    honest = dc.audit.audit_by_runs(Chooser(mechanism=LogisticMean()), ratings, terms, **options)
    assert not honest.accuses and honest.faults == (), str(honest)
    options["randomness"] = dc.Randomness(seed=5)
    wrong = dc.audit.audit_by_runs(Chooser(mechanism=LogisticMean(wrong_by=0.5)), ratings, terms, **options)
    assert wrong.accuses and any("times as likely" in fault for fault in wrong.faults), str(wrong)
