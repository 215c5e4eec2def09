"""Fits of an almanac that plans by what it saw: what is booked, in which order, what is promised, what is released."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import discreet as dc
from discreet.data.loading import without_ratings
from discreet.models.almanac.planner import PURPOSES
from discreet.models.sums.item_statistics import item_counts

RATINGS = dc.synthetic(users=400, items=120, ratings=12_000, seed=3)
UNITS = [dc.User(), dc.Rating()]
BOTH_UNITS = pytest.mark.parametrize("unit", UNITS, ids=["user", "rating"])
PRODUCTS, COUNTS = "products of pairs of items, and their weights", "how often pairs of items were rated together"
ITEM_SUMS, SWEEP = "how often each item was rated, and its ratings' sum", "what users' own factors say about each item"


def server(unit, epsilon=2.0, ratings=RATINGS, seed=1):
    return dc.TrustedServer(ratings, dc.Ledger(epsilon, 1e-6, unit), randomness=dc.Randomness(seed))


def paying(unit, budget):
    return dc.TrustedServer(RATINGS, dc.Ledger(2.0, 1e-6, unit), account="made up", budget=budget)


def looks(release):
    return [spend.what for spend in release.spends]


@pytest.mark.parametrize("purpose", PURPOSES)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
@BOTH_UNITS
def test_every_question_is_booked_and_the_limit_is_what_is_promised(unit, epsilon, purpose):
    population = dc.TrustedServer(RATINGS, dc.Ledger(epsilon, 1e-6, unit))  # seeded noise would promise nothing
    release = dc.Almanac(purpose=purpose).fit(population)
    assert 0.98 * epsilon < population.ledger.spent <= epsilon * (1 + 1e-9)
    assert release.spends == population.spends and len(release.spends) >= 3
    assert release.guarantee.proven.epsilon == pytest.approx(epsilon)
    mechanisms = [spend.mechanism for spend in release.spends]
    assert mechanisms == sorted(mechanisms, key=["laplace", "gaussian"].index)  # pure questions come first
    assert ("laplace" in mechanisms) == (unit.name == "rating")
    for name, array in release.arrays.items():
        assert np.isfinite(array).all(), name
    assert np.isfinite(release.scores(RATINGS)).all()


@BOTH_UNITS
def test_patterns_are_released_where_there_are_enough_users(unit):
    ratings = dc.synthetic(users=4000, items=60, ratings=100_000, seed=4)
    population = server(unit, 8.0, ratings)
    release = dc.Almanac().fit(population)
    assert 0.98 * 8.0 < population.ledger.spent <= 8.0 * (1 + 1e-9)
    assert release.arrays["item_factors"].any() and release.arrays["taste_factors"].any()


def test_few_items_that_most_rate_are_predicted_better_than_by_biases_without_noise():
    ratings = dc.synthetic(users=3000, items=40, ratings=60_000, seed=5)
    release = dc.Almanac().fit(server(dc.User(), 10.0, ratings))
    assert release.arrays["item_factors"].any() and release.arrays["taste_factors"].any()
    without = dc.Bias().fit(dc.NoPrivacy(ratings))
    ours, theirs = (
        np.mean((found.predict(ratings, ratings.user_index, ratings.item_index) - ratings.values) ** 2)
        for found in (release, without)
    )
    assert ours < theirs


@BOTH_UNITS
def test_without_ratings_it_plans_by_what_it_saw_too(unit):
    """However many users were announced: patterns are found where there are enough of them, and nothing but counts."""
    used = without_ratings(dc.synthetic(users=4000, items=60, ratings=100_000, seed=4))
    population = server(unit, 8.0, used)
    release = dc.Almanac().fit(population)
    assert looks(release)[-1] == COUNTS and not any("sum" in look for look in looks(release))
    assert 0.98 * 8.0 < population.ledger.spent <= 8.0 * (1 + 1e-9)
    assert release.arrays["taste_factors"].any() and not release.arrays["item_bias"].any()
    drowned = dc.Almanac().fit(server(unit, 0.01, used))
    assert not drowned.arrays["taste_factors"].any() and drowned.arrays["counts"].any()


@pytest.mark.parametrize("features", [True, False])
def test_sweeps_start_from_products_where_items_have_no_features(features, force_plan):
    force_plan(items=0.2, sweeps=0.8, factors=2)
    population = server(dc.User(), 20.0)
    release = dc.Almanac(purpose="ratings", features=features).fit(population)
    asked = looks(release)
    assert asked.count(PRODUCTS) == (not features)
    assert features or asked.index(PRODUCTS) < asked.index(SWEEP)
    assert asked.count(SWEEP) == 8 + 1  # and biases at last
    assert 0.98 * 20.0 < population.ledger.spent <= 20.0 * (1 + 1e-9)
    assert release.arrays["item_factors"].any(axis=0).sum() >= 2


@pytest.mark.parametrize("purpose", PURPOSES)
@pytest.mark.parametrize(
    ("unit", "noise", "shares"),
    [
        (dc.User(), "gaussian", {"items": 0.25, "sweeps": 0.25, "counts": 0.25, "products": 0.25}),
        (dc.User(), "gaussian", {"sweeps": 0.5, "counts": 0.5, "factors": 1}),
        (dc.User(), "gaussian", {"products": 1.0}),
        (dc.User(neighbours="replace"), "gaussian", {"items": 0.5, "sweeps": 0.25, "counts": 0.25}),
        (dc.Rating(), "gaussian", {"items": 0.3, "counts": 0.3, "products": 0.4}),
        (dc.Rating(), "gaussian", {"counts": 1.0}),
        (dc.Rating(), None, {"items": 1.0}),
    ],
    ids=str,
)
def test_all_parts_of_a_plan_are_asked_for_and_released(unit, noise, shares, purpose, force_plan, tmp_path):
    force_plan(noise, **shares)
    population = server(unit, 8.0)
    release = dc.Almanac(purpose=purpose).fit(population)
    asked = looks(release)
    assert 0.98 * 8.0 < population.ledger.spent <= 8.0 * (1 + 1e-9)
    assert asked.count(ITEM_SUMS) == 1 + ("items" in shares)
    assert (SWEEP in asked) == ("sweeps" in shares)
    assert (COUNTS in asked, PRODUCTS in asked) == ("counts" in shares, "products" in shares)
    declared = {array.name: array for array in release.model.declared(release.arrays)}
    assert declared.keys() == release.arrays.keys()
    for name, array in release.arrays.items():
        assert array.dtype == declared[name].dtype and np.isfinite(array).all(), name
    release.save(tmp_path / "release")
    again = dc.Release.load(tmp_path / "release")
    assert again.spends == release.spends and again.guarantee == release.guarantee
    np.testing.assert_array_equal(again.scores(RATINGS), release.scores(RATINGS))


def test_what_is_promised_does_not_depend_on_what_was_seen():
    for unit in UNITS:
        one, other = (
            dc.Almanac(purpose="both").fit(dc.TrustedServer(ratings, dc.Ledger(3.0, 1e-6, unit)))
            for ratings in (RATINGS, dc.synthetic(users=30, items=120, ratings=300, seed=4))
        )
        assert one.guarantee.proven == other.guarantee.proven is not None
        assert {name: array.shape for name, array in one.arrays.items()} == {
            name: array.shape for name, array in other.arrays.items()
        }


def test_a_purpose_that_is_none_is_refused():
    with pytest.raises(dc.InputError, match="purpose"):
        dc.Almanac(purpose="fun")


# ── Budgets ──


def test_a_budget_books_the_whole_limit_for_looks_that_are_still_to_be_chosen(tmp_path):
    budget = dc.Budget(tmp_path / "budget.sqlite")
    budget.declare("made up", epsilon=2.5, delta=1e-5, unit=dc.User())
    population = paying(dc.User(), budget)
    release = dc.spend_and_release(dc.Almanac(purpose="both"), population, tmp_path / "release")
    assert release.guarantee.proven.epsilon == pytest.approx(2.0)
    assert len(release.spends) >= 3
    (line,) = budget.account("made up").spendings
    assert [spend.what for spend in line.spends] == ["looks that are chosen by the answers before them"]
    assert dc.Release.load(tmp_path / "release").spends == release.spends
    again = paying(dc.User(), budget)
    with pytest.raises(dc.OverspentError):
        dc.spend_and_release(dc.Almanac(purpose="both"), again, tmp_path / "more")
    assert not again.spends


def test_with_the_unit_rating_a_budget_books_one_look_after_another(tmp_path):
    budget = dc.Budget(tmp_path / "budget.sqlite")
    budget.declare("made up", epsilon=2.5, delta=1e-5)
    population = paying(dc.Rating(), budget)
    release = dc.spend_and_release(dc.Almanac(purpose="both"), population, tmp_path / "release")
    assert release.guarantee.proven.epsilon == pytest.approx(2.0)
    account = budget.account("made up")
    assert [spend for line in account.spendings for spend in line.spends] == list(release.spends)
    assert account.spent <= 2.0 * (1 + 1e-9)
    again = paying(dc.Rating(), budget)
    with pytest.raises(dc.OverspentError):
        dc.spend_and_release(dc.Almanac(purpose="both"), again, tmp_path / "more")
    assert not again.spends
    assert len(budget.account("made up").spendings) == len(account.spendings)  # refused before the first look


@dataclass(frozen=True)
class Greedy:
    """Says that it chooses on the way, and asks for more than was booked."""

    shares: tuple[float, ...]

    def chooses_on_the_way(self, population):
        return True

    def fit(self, population, progress=None):
        for share in self.shares:
            population.sum(replace(item_counts(120, dc.User()), noise="gaussian"), share)
        return dc.Popularity().fit(population)


@pytest.mark.parametrize("model", [Greedy((0.7, 0.7)), Greedy((1.01,))], ids=str)
def test_no_more_than_was_booked_is_answered(model, tmp_path):
    budget = dc.Budget(tmp_path / "budget.sqlite")
    population = paying(dc.User(), budget)
    with pytest.raises((dc.OverspentError, dc.InputError)):
        dc.spend_and_release(model, population, tmp_path / "release")
    assert not (tmp_path / "release").exists()
    assert len(population.spends) <= 1
