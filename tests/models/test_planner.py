"""What an almanac asks for: how much users rate, the objective against naive formulas, and that no share is lost."""

import math
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest

import discreet as dc
from discreet.data.features import item_features
from discreet.data.loading import without_ratings
from discreet.models.almanac.items import SeenItems
from discreet.models.almanac.planner import (
    CONSTANTS,
    FACTORS,
    MOST_WEIGHT,
    PURPOSES,
    RELATIVE_WEIGHTS,
    WEIGHTS,
    Plan,
    Planner,
)
from discreet.models.denoise.item_biases import NoisyCounts
from discreet.models.denoise.private_als import CONSTANTS as SWEEPS
from discreet.models.sums.activity import (
    BINS,
    MIDDLES,
    TYPICAL,
    Activity,
    Known,
    activity_of_ratings,
    activity_of_users,
)
from discreet.models.sums.item_statistics import ItemStatistics
from discreet.releases.choices import TERMS

SCALE = dc.Scale(1, 5)
CATALOGUE = dc.Catalogue.of(["a", "b", "c"], SCALE, declared=True)
RATINGS = dc.synthetic(users=400, items=120, ratings=12_000, seed=3)
FEW_ITEMS = dc.synthetic(users=50, items=24, ratings=400, seed=3)
UNITS = [dc.User(), dc.Rating()]
BOTH_UNITS = pytest.mark.parametrize("unit", UNITS, ids=["user", "rating"])


def server(unit, epsilon=2.0, ratings=RATINGS, seed=1, delta=1e-6, **more):
    return dc.TrustedServer(ratings, dc.Ledger(epsilon, delta, unit), randomness=dc.Randomness(seed), **more)


def seen(users, ratings=30.0, items=120, precision=1e-4, steep=30.0):
    """What is known where so many users have so many ratings each."""
    counts = np.geomspace(steep, 1, items)
    activity = Activity(np.array([float(users)]), np.array([float(ratings)]))
    return Known(counts * users * ratings / counts.sum(), activity, precision, precision)


# ── How much users rate ──


@pytest.mark.parametrize("neighbours", ["add-or-remove", "replace"])
@pytest.mark.parametrize("asked", [activity_of_users(), *activity_of_ratings(CATALOGUE)], ids=lambda asked: asked.name)
def test_no_unit_moves_the_activity_beyond_its_bounds(asked, neighbours):
    found = dc.audit.check_sensitivity(asked, CATALOGUE, [1, 5], users=2, neighbours=neighbours)
    assert found and all(measured.exhaustive for measured in found)


def test_one_more_rating_moves_the_roots_by_one_at_most():
    """However many ratings a user has; and nobody adds more than is declared."""
    catalogue = dc.Catalogue.of([str(item) for item in range(1500)], SCALE, declared=True)
    asked, sums = activity_of_ratings(catalogue), [np.zeros(2)]
    for count in range(1, 1501):
        history = dc.History(catalogue, np.arange(count, dtype=np.int32), np.full(count, 3, dtype=np.float32))
        sums.append(np.concatenate([each.total(dc.Ratings.of_history(history)) for each in asked]))
    moved = np.diff(sums, axis=0)
    assert (moved[:, 0] == 1).all()
    assert moved[:, 1].min() >= 0 and moved[1, 1] == 1 == moved[:, 1].max()
    assert moved[2:, 1].max() < 0.5
    for most, each in zip(np.max(sums, axis=0), asked, strict=True):
        assert each.largest - 2**-10 <= most <= each.largest


def test_users_are_counted_by_how_much_they_rate():
    lengths, found = np.diff(RATINGS.indptr), activity_of_users().total(RATINGS)
    assert found.sum() == (lengths > 0).sum()
    for place, (low, high) in enumerate(zip(BINS, (*BINS[1:], 10**9), strict=True)):
        assert found[place] == ((lengths >= low) & (lengths < high)).sum()


def test_activity_that_noise_hides_says_nobody_and_roots_then_tell_of_typical_users():
    hidden = Activity.by_histogram(np.full(len(BINS), 5.0), deviation=10.0)
    assert hidden.total == hidden.mean_ratings == 0 and hidden.size == (0, 0)
    typical = hidden.with_roots(900.0)
    assert typical.mean_ratings == TYPICAL and typical.total * math.sqrt(TYPICAL) == pytest.approx(900)
    clear = Activity.by_histogram(np.eye(len(BINS))[4] * 1000, deviation=10.0)
    assert (clear.total, clear.mean_ratings) == (1000, pytest.approx(MIDDLES[4]))
    scaled = clear.with_roots(500.0)
    assert scaled.users @ np.sqrt(scaled.ratings) == pytest.approx(500) and scaled.mean_ratings == clear.mean_ratings
    assert np.isfinite(clear.with_roots(-3.0).total) and hidden.with_roots(-3.0).total > 0


def test_two_sums_tell_how_many_users_there_are_if_all_rate_alike():
    users, ratings = 1000, 401
    found = Activity.by_sums(np.array([users * ratings, users * math.sqrt(ratings - 1)]), 0.0)
    assert found.size == (pytest.approx(users, rel=0.01), pytest.approx(users * ratings))
    for answer in ([-5.0, -5.0], [5.0, -50.0], [5.0, 1e6]):
        noisy = Activity.by_sums(np.array(answer), 20.0)
        assert np.isfinite(noisy.size).all() and noisy.total > 0 and noisy.mean_ratings >= 2


def test_what_users_learn_is_an_average_over_users():
    activity = Activity(np.array([3.0, 5.0]), np.array([10.0, 40.0]))
    strengths = np.array([0.2, 0.05, 0.001])
    learned = [
        (3 * 10 * 0.6 * v / (0.04 + 10 * 0.6 * v) + 5 * 40 * 0.6 * v / (0.04 + 40 * 0.6 * v)) / 8 for v in strengths
    ]
    np.testing.assert_allclose(activity.learned(strengths, 0.04, 0.6), learned)
    assert activity.weight("user, l2") == pytest.approx((3 * math.sqrt(10) + 5 * math.sqrt(40)) / (30 + 200))
    assert activity.weight("user, l1") == pytest.approx(8 / 230) and activity.weight("rating") == 1


# ── The objective ──


@dataclass(frozen=True)
class Naive:
    """The docstring of the planner, written out item by item and user by user; for few items, each in its own group."""

    population: dc.TrustedServer
    known: Known

    def objective(self, purpose, plan):
        planner, by_user = Planner(self.population), self.population.unit.name == "user"
        of_ratings, of_rankings = WEIGHTS[purpose]
        n, users = self.known.counts, self.users
        p, variance = n / n.sum(), CONSTANTS.residual**2
        asked = planner.sums.with_weight(plan.relative_weight)
        count_precision, sum_precision = self.known.count_precision, self.known.sum_precision
        if plan.items > 0:
            noise = self.population.deviation(replace(asked.contribution, noise=plan.noise))
            noise *= asked.typical_length(plan.relative_weight)
            noise /= plan.items if plan.noise is None else math.sqrt(plan.items)
            count_precision += noise**-2
            sum_precision += (noise * asked.points / self.width) ** -2
        of_a_rating = 1.0
        if by_user:
            of_a_rating = sum(u * math.sqrt(m) for u, m in users) / sum(u * m for u, m in users)
        by_sweeps, explained = self.sweeps(plan, p, n) if plan.sweeps > 0 else (0 * n, 0.0)
        biases = 0.0
        for share, count, more in zip(p, n, by_sweeps, strict=True):
            error = variance / count + 1 / (sum_precision * (count * of_a_rating) ** 2 + more)
            biases += share * CONSTANTS.bias_spread**2 * error / (CONSTANTS.bias_spread**2 + error)
        of_popularity, tastes = self.counts(plan, p) if plan.counts > 0 else (0 * n, 0.0)
        popularity = 0.0
        for share, count, more in zip(p, n, of_popularity, strict=True):
            popularity += 0.25 * share / (1 + (count * of_a_rating) ** 2 * count_precision + more)
        if plan.products > 0:
            explained = self.products(plan, p)
        return of_ratings * 0.5 * (biases - explained) / variance + of_rankings * (popularity - tastes)

    @property
    def width(self):
        return self.population.catalogue.scale.width

    @property
    def users(self):
        return list(zip(self.known.activity.users, self.known.activity.ratings, strict=True))

    def learned(self, strength, noise, q):
        told = [u * m * q * strength / (noise + m * q * strength) for u, m in self.users]
        return sum(told) / sum(u for u, _ in self.users)

    def cells(self, k, p, lighter):
        """λ, and the variance of a cell by chance."""
        q, total, squares = p[:k].sum(), 0.0, 0.0
        for u, m in self.users:
            there = m * q
            weight = 1 / (lighter * (there if self.population.unit.name == "user" else math.sqrt(there)))
            total += u * weight * there * (there - 1)
            squares += u * weight**2 * there * (there - 1)
        return total * (p[:k] ** 2).sum() / q**2, squares / k**2

    def noise(self, k, rated):
        rows, base = np.arange(k, dtype=np.int32), np.zeros(len(self.known.counts))
        pairs = Planner(self.population).pairs(rows, base, rated=rated)
        deviation = self.population.deviation(replace(pairs.contribution, noise="gaussian"))
        return pairs.deviations(deviation)[0 if rated else 1] ** 2

    def counts(self, plan, p):
        k, q = plan.counted, p[: plan.counted].sum()
        eigenvalue, chance = self.cells(k, p, 1.0)
        cell, gained = self.noise(k, False) / plan.counts + chance, 0.0
        for pattern in range(1, CONSTANTS.patterns + 1):
            strength = CONSTANTS.taste_patterns / pattern
            clear = max(0, 1 - cell * k / (strength * eigenvalue) ** 2)
            gained += 0.5 * q * strength * self.learned(strength, 1.0, q) * clear
        place = eigenvalue * p / np.linalg.norm(p[:k])
        clear = max(1 - cell * k / eigenvalue**2, 1e-30)
        precision = 1 / (CONSTANTS.popularity_spread**2 + cell / clear / place**2)
        return np.where(np.arange(len(p)) < k, precision, 0), gained

    def products(self, plan, p):
        k, q, beside = plan.rated, p[: plan.rated].sum(), CONSTANTS.counts_beside_products
        square = (CONSTANTS.residual / CONSTANTS.clip) ** 2  # of a residual, in units of the clip
        by_user = self.population.unit.name == "user"
        lighter = math.sqrt(square**2 + beside**2) if by_user else math.sqrt(square + beside)
        eigenvalue, chance = self.cells(k, p, lighter)
        cell, gained = self.noise(k, True) / plan.products + chance * square**2, 0.0
        for pattern in range(1, CONSTANTS.patterns + 1):
            variance = CONSTANTS.rating_patterns / pattern
            clear = max(0, 1 - cell * k / (variance * eigenvalue / CONSTANTS.clip**2) ** 2)
            gained += q * variance * self.learned(variance, CONSTANTS.residual**2, q) * clear
        return gained

    def sweeps(self, plan, p, n):
        last = CONSTANTS.biases_at_last if plan.factors else 0.0
        error, noise = self.of_a_sweep(plan.sweeps * (1 - last), plan.factors, n), CONSTANTS.residual**2
        precision, gained = (SWEEPS.bias_constant / error) ** 2, 0.0
        if last:
            precision = precision + (SWEEPS.bias_constant / self.of_a_sweep(plan.sweeps * last, 0, n)) ** 2
        for factor in range(1, plan.factors + 1):
            variance = CONSTANTS.rating_patterns / factor
            each = zip(p, error, n, strict=True)
            clear = sum(share * variance / (variance + e**2 + noise / m) for share, e, m in each)
            gained += variance * self.learned(variance, noise, 1.0) * clear
        return precision, gained

    def of_a_sweep(self, share, factors, n):
        """A user with m ratings says at most 1 in all, and 1/√m of each item: of (B, p) with factors of variance 1."""
        squared = SWEEPS.bias_constant**2 + factors
        right = CONSTANTS.residual * self.width * math.sqrt(squared)
        said = math.hypot(SWEEPS.relative_weight * squared, right)
        mean = sum(u * m for u, m in self.users) / sum(u for u, _ in self.users)
        asked = ItemStatistics.of(self.population.catalogue, "user, l2").contribution  # of length 1 too
        worth = CONSTANTS.memory if factors else 1.0
        deviation = self.population.deviation(replace(asked, noise="gaussian")) / math.sqrt(share * worth)
        return deviation * math.sqrt(mean) * said / n / self.width


def weights_for(by_user):
    return [weight for weight in RELATIVE_WEIGHTS if by_user or weight <= MOST_WEIGHT]


def some_plans(planner, left, rng):
    """Other plans of the grid, with all that is left."""
    pool = planner.gaussian(left)
    for _ in range(150):
        parts = np.diff([0, *np.sort(rng.integers(0, 9, 3)), 8]) / 8 * pool
        weight, factors = float(rng.choice(weights_for(planner.by_user))), int(rng.choice(FACTORS))
        items, sweeps, counts, products = parts.tolist()
        if not planner.by_user:
            items, sweeps = items + sweeps, 0.0
        if sweeps == 0:
            factors = 0
        if factors:
            counts, products = counts + products, 0.0
        counted, rated = (int(rng.integers(20, 25)) if share else 0 for share in (counts, products))
        yield Plan("gaussian", weight, items, sweeps, factors, counts, counted, products, rated)
    if not planner.by_user:
        yield from (Plan(None, weight, left) for weight in weights_for(by_user=False))


@pytest.mark.parametrize("purpose", PURPOSES)
@BOTH_UNITS
def test_a_plan_costs_what_the_formulas_say_and_none_costs_less(unit, purpose):
    rng, kinds = np.random.default_rng(1), set()
    for epsilon, users in ((0.3, 100), (1.0, 1_000), (1.0, 30_000), (8.0, 300_000)):
        population = server(unit, epsilon, FEW_ITEMS)
        known = seen(users, ratings=8, items=24, steep=8)
        activity = Activity(np.array([0.6, 0.4]) * users, np.array([5.0, 12.5]))
        known = replace(known, activity=activity)
        planner, naive = Planner(population), Naive(population, known)
        plan = planner.plan(purpose, known, 0.7)
        grid = list(planner.plans(purpose, known, 0.7))
        assert plan.expected == min(other.expected for other in grid)
        for other in (plan, *(grid[place] for place in rng.integers(0, len(grid), 40))):
            assert other.expected == pytest.approx(naive.objective(purpose, other), rel=1e-4, abs=1e-6)
        assert all(naive.objective(purpose, other) > plan.expected - 1e-6 for other in some_plans(planner, 0.7, rng))
        kinds.add((plan.sweeps > 0, plan.counts > 0, plan.products > 0))
    assert len(kinds) > 1


@pytest.mark.parametrize("purpose", PURPOSES)
@pytest.mark.parametrize("epsilon", [0.01, 0.3, 3.0, 30.0])
@BOTH_UNITS
def test_the_shares_of_a_plan_are_all_that_is_left(unit, epsilon, purpose):
    planner = Planner(server(unit, epsilon))
    for users in (30, 1_000, 100_000, 3_000_000):
        for left in (0.3, 0.9):
            plan = planner.plan(purpose, seen(users), left)
            if plan.noise is None:
                assert not planner.by_user and plan == Plan(
                    None, plan.relative_weight, left, start=plan.start, terms=plan.terms, before=plan.before
                )
            else:
                spent = plan.items + plan.sweeps + plan.counts + plan.products
                assert spent == pytest.approx(planner.gaussian(left), rel=1e-9)
            assert min(plan.items, plan.sweeps, plan.counts, plan.products) >= 0
            assert (plan.counted > 1, plan.rated > 1) == (plan.counts > 0, plan.products > 0)
            assert plan.sweeps > 0 or plan.factors == 0
            assert plan.factors == 0 or plan.products == 0
            assert planner.by_user or plan.sweeps == 0


@BOTH_UNITS
def test_gaussian_noise_and_laplace_noise_share_one_budget(unit):
    population = server(unit)
    planner = Planner(population)
    assert planner.gaussian(1.0) == pytest.approx(1)
    parts = [planner.gaussian(left) for left in (0.0001, 0.2, 0.5, 0.9)]
    assert parts == sorted(parts)
    if unit.name == "user":
        assert parts == [0.0001, 0.2, 0.5, 0.9]


@pytest.mark.parametrize("purpose", PURPOSES)
@BOTH_UNITS
def test_more_of_the_budget_never_costs_anything(unit, purpose):
    for users in (100, 10_000):
        by_share = [Planner(server(unit, 1.0)).plan(purpose, seen(users), left).expected for left in (0.1, 0.4, 0.8)]
        by_epsilon = [
            Planner(server(unit, epsilon)).plan(purpose, seen(users), 0.7).expected
            for epsilon in (0.01, 0.1, 0.3, 1.0, 3.0, 10.0)
        ]
        for costs in (by_share, by_epsilon):
            assert all(more <= less + 1e-9 for less, more in pairwise(costs))


@pytest.mark.parametrize("purpose", PURPOSES)
@pytest.mark.parametrize("epsilon", [0.001, 0.01])
@BOTH_UNITS
def test_where_noise_hides_everything_all_is_about_single_items(unit, epsilon, purpose):
    """Sums, or with a user protected and for ratings what own fits leave of them: no factors, and no pairs."""
    plan = Planner(server(unit, epsilon)).plan(purpose, seen(200, precision=1e-9), 0.7)
    assert plan.factors == plan.counts == plan.products == 0
    assert plan.items > 0 or (purpose == "ratings" and plan.sweeps > 0)


@BOTH_UNITS
def test_where_there_is_hardly_noise_pairs_are_asked_for(unit):
    planner = Planner(server(unit, 30.0))
    assert planner.plan("ratings", seen(100_000), 0.7).products > 0
    assert planner.plan("ranking", seen(100_000), 0.7).counts > 0
    both = planner.plan("both", seen(100_000), 0.7)
    assert both.counts > 0 and both.products > 0 and both.counted == both.rated == 120


@pytest.mark.parametrize("purpose", PURPOSES)
@BOTH_UNITS
def test_data_without_ratings_are_asked_for_counts_alone(unit, purpose):
    planner = Planner(server(unit, 5.0, without_ratings(RATINGS)))
    assert planner.sums.counts_alone
    for users in (10, 1_000, 100_000, 8_000_000):
        plan = planner.plan(purpose, seen(users), 0.7)
        assert plan.relative_weight == plan.sweeps == plan.products == plan.factors == 0
        assert plan.terms[:2] == (0, 0)


@pytest.mark.parametrize("users", [1e3, 1e6, 8e6])
@BOTH_UNITS
def test_what_gets_no_share_explains_nothing(unit, users):
    for epsilon in (1.0, 100.0):
        for plan in Planner(server(unit, epsilon)).plans("both", seen(users, precision=1e-30), 0.7):
            terms = dict(zip(TERMS, plan.terms, strict=True))
            assert plan.counts > 0 or terms["who rates what"] >= 0
            assert plan.products > 0 or plan.factors > 0 or terms["patterns of ratings"] == 0


@BOTH_UNITS
def test_a_plan_does_not_look_at_features(unit):
    bare = dc.Catalogue.of(list(RATINGS.catalogue.items), SCALE, declared=True)
    assert item_features(RATINGS.catalogue).shape[1] > item_features(bare).shape[1] == 0
    plans = [
        Planner(server(unit, 2.0, replace(RATINGS, catalogue=catalogue))).plan("both", seen(2_000), 0.7)
        for catalogue in (RATINGS.catalogue, bare)
    ]
    assert plans[0] == plans[1]


@BOTH_UNITS
def test_whoever_is_summed_exactly_in_the_first_look_is_so_in_all(unit):
    """More users are then refused before anything is spent."""
    sums = Planner(server(unit)).sums
    most = {sums.with_weight(weight).contribution.most_users for weight in (None, *weights_for(unit.name == "user"))}
    assert most == {2**23 if unit.name == "user" else 2**22}


@BOTH_UNITS
def test_what_can_be_asked_is_known_before_anything_is_spent(unit):
    assert not dc.Almanac().chooses_on_the_way(dc.NoPrivacy(RATINGS))
    for delta in (0.0, 1e-6):
        population = server(unit, delta=delta)
        assert Planner(population).noise == ("gaussian" if delta else None)
        assert dc.Almanac().chooses_on_the_way(population) and not population.spends


# ── Looks that are averaged ──


def test_two_looks_have_the_noise_of_one_with_both_shares():
    """Deviations over 240 cells and 60 draws: a normal estimate errs by less than 5% but once in 10^15."""
    sums = Planner(server(dc.User())).sums
    exact, errors, expected = SeenItems.ask(sums, dc.NoPrivacy(RATINGS), 1.0).answer, [], 0.0
    for seed in range(60):
        population = server(dc.User(), seed=seed)
        looked = SeenItems.ask(sums, population, 0.2).again(population, 0.4)
        errors.append(looked.answer - exact)
        expected = looked.deviation
    assert np.std(errors) == pytest.approx(expected, rel=0.05)
    once = server(dc.User())
    assert expected == pytest.approx(SeenItems.ask(sums, once, 0.6).deviation, rel=1e-3)


def test_counts_are_averaged_by_their_noise():
    said = NoisyCounts(np.array([10.0, 10.0]), np.array([1.0, 2.0]))
    together, deviations = said.averaged_with(np.array([20.0, 20.0]), 1.0)
    np.testing.assert_allclose(together, [15.0, 18.0])
    np.testing.assert_allclose(deviations, [0.5**0.5, (1 / 4 + 1) ** -0.5])


def test_looks_that_weigh_sums_differently_are_averaged_row_by_row(monkeypatch):
    population = server(dc.Rating())
    about = ItemStatistics.of(population.catalogue, "rating")
    counts, sums = np.array([5.0, 9.0]), np.array([-2.0, 3.0])  # in half widths

    def look(weight, deviation):
        asked = replace(about, relative_weight=weight)
        return SeenItems(asked, np.stack([counts, weight * sums]), np.full((2, 2), deviation), None)

    monkeypatch.setattr(SeenItems, "ask", lambda *_: look(2.0, 4.0))
    together = look(0.5, 3.0).again(population, 0.5, 2.0)
    assert together.sums.relative_weight == 0.5
    assert np.allclose(together.answer, [counts, 0.5 * sums])
    assert together.deviation == pytest.approx((1 / 9 + 1 / 16) ** -0.5)
    assert np.allclose(together.deviations[1] / 0.5, (0.25 / 9 + 4 / 16) ** -0.5)
