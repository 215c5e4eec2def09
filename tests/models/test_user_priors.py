"""The sound prior: one paid sum of what users say of themselves, with its sensitivity by brute force."""

from itertools import product

import numpy as np
import pytest

import discreet as dc
from discreet.data.user_file import UserFacts
from discreet.data.word_vectors import FIELDS, WordVectors, embed_facts
from discreet.errors import InputError
from discreet.models.home.user_prior import LEAST_VARIANCE, UserPriors
from discreet.models.sums.fact_sums import fact_sums, population_means

TABLE = WordVectors().table(4)


def people(facts, ratings=40):
    """Users with these (age, gender, occupation), and some ratings."""
    made = dc.synthetic(users=len(facts), items=10, ratings=max(ratings, len(facts)), seed=1)
    names = tuple(made.users.names.tolist())
    columns = {name: np.array(column) for name, column in zip(FIELDS, zip(*facts, strict=True), strict=True)}
    return UserFacts(names, columns).of(made)


EVERYBODY = list(product((0, 24, 60), ("M", "F", ""), ("writer", "doctor", "")))


def test_one_user_moves_the_sum_by_at_most_its_bound():
    """Every pair of users of a small universe, and tables at the corners of the cube, where a user is longest."""
    corners = [np.zeros_like(TABLE), np.ones_like(TABLE), (np.random.default_rng(1).random(TABLE.shape) < 0.5) * 1.0]
    for table in (TABLE, *corners):
        asked = fact_sums(table)
        (bound,) = asked.bounds
        ratings = people(EVERYBODY)
        alone = [asked.total(ratings.select_users(np.array([user]))) for user in range(ratings.n_users)]
        assert max(np.linalg.norm(own) for own in alone) <= bound.value
        apart = max(np.linalg.norm(one - other) for one in alone for other in alone)
        assert apart <= bound.moved("replace") < 2
        assert np.sum(alone, axis=0) == pytest.approx(asked.total(ratings), abs=1e-12)


def test_means_are_exact_without_privacy():
    ratings = people(EVERYBODY)
    embedded = embed_facts(ratings.user_facts, ratings.n_users, TABLE)
    found = population_means(dc.NoPrivacy(ratings), TABLE)
    assert found == pytest.approx(embedded.mean(axis=0), abs=1e-6)


def test_means_are_paid_for_once_and_are_near():
    ratings = people(EVERYBODY * 400)
    ledger = dc.Ledger(1.0, 1e-6, dc.User())
    found = population_means(dc.TrustedServer(ratings, ledger, randomness=dc.Randomness(seed=1)), TABLE)
    embedded = embed_facts(ratings.user_facts, ratings.n_users, TABLE)
    assert len(ledger.spends) == 1 and np.abs(found - embedded.mean(axis=0)).max() < 0.05
    assert found.min() >= 0 and found.max() <= 1


def test_for_single_ratings_nothing_is_promised():
    with pytest.raises(InputError, match="no proven bound for the unit rating"):
        population_means(dc.TrustedServer(people(EVERYBODY), dc.Ledger(1.0)), TABLE)


def test_a_prior_is_the_formula_at_home():
    rng = np.random.default_rng(1)
    embedded, means = rng.random((5, 3, 4)), rng.random((3, 4))
    found = UserPriors.of(embedded, means)
    for user, place in product(range(5), range(4)):
        own = sum(embedded[user, field, place] * means[field, place] for field in range(3))
        spread = np.mean([(embedded[user, field, place] - own) ** 2 for field in range(3)])
        assert found.means[user, place] == pytest.approx(own, rel=1e-5)
        assert found.variances[user, place] == pytest.approx(max(spread, LEAST_VARIANCE), rel=1e-5)


def test_a_prior_depends_on_nobody_else_s_facts_once_means_are_released():
    means = np.full((3, 4), 0.4, dtype=np.float32)
    all_of_them = UserPriors.of_users(people(EVERYBODY), means, TABLE)
    alone = UserPriors.of_users(people(EVERYBODY).select_users(np.array([7])), means, TABLE)
    assert np.array_equal(all_of_them.means[7], alone.means[0])
