"""A population with a cap uses no more of anyone's ratings, and says what that proves."""

import numpy as np
import pytest

import discreet as dc
from discreet.errors import InputError
from discreet.populations.bounded import bound_for
from discreet.privacy.randomness import secret_key

RATINGS = dc.synthetic(users=40, items=30, ratings=500, seed=1)
every_population = pytest.mark.parametrize("population", [dc.TrustedServer, dc.LocalDevices])
COUNTS = dc.Contribution(
    "counts",
    (30,),
    lambda ratings: np.bincount(ratings.item_index, minlength=30),
    (dc.Bound("rating", "l1", 1.5, cells=1), dc.Bound("rating", "l2", 1.0, cells=1)),
)


def used(population):
    """What a population looks at: the ratings that reach a contribution's total."""
    seen = []
    spy = dc.Contribution(
        "spy", (1,), lambda ratings: seen.append(ratings) or np.zeros(1), (dc.Bound("user", "l2", 1.0, cells=1),)
    )
    population.sum(spy)
    return {
        (part.users[int(u)], int(i)) for part in seen for u, i in zip(part.user_index, part.item_index, strict=True)
    }


def ledger(most):
    return dc.Ledger(epsilon=1.0, delta=1e-6, unit=dc.User(max_ratings=most, neighbours="replace"))


@every_population
def test_no_user_contributes_more_than_the_cap(population):
    sizes = np.diff(RATINGS.indptr)
    seen = used(population(RATINGS, ledger(7)))
    for position, name in enumerate(RATINGS.users.names):
        assert sum(user == name for user, _ in seen) == min(7, sizes[position])
    assert len(used(population(RATINGS, ledger(None)))) == len(RATINGS)


def test_the_same_key_chooses_alike_whoever_asks_and_whoever_else_is_there():
    key = secret_key()
    whole = used(dc.TrustedServer(RATINGS, ledger(7), key=key))
    assert used(dc.LocalDevices(RATINGS, ledger(7), key=key)) == whole
    some = RATINGS.select_users(np.array([1, 5, 6, 33]))
    names = set(some.users.names.tolist())
    assert used(dc.TrustedServer(some, ledger(7), key=key)) == {pair for pair in whole if pair[0] in names}
    assert used(dc.TrustedServer(RATINGS, ledger(7))) != whole


def test_a_capped_user_moves_a_statistic_as_often_as_they_may_rate():
    assert bound_for(COUNTS, dc.User(max_ratings=7), "l1") == dc.Bound("user", "l1", 10.5, cells=7)
    assert bound_for(COUNTS, dc.Rating(), "l1") == dc.Bound("rating", "l1", 1.5, cells=1)
    with pytest.raises(InputError, match="no proven bound for the unit user"):
        bound_for(COUNTS, dc.User(), "l1")
    own = dc.Contribution("own", (1,), lambda ratings: np.ones(1), (dc.Bound("user", "l2", 1.0),))
    assert bound_for(own, dc.User(max_ratings=7), "l2").value == 1.0


@pytest.mark.parametrize("most", [1, 4])
def test_the_bound_of_a_capped_user_by_brute_force(most):
    """Removing any one user moves the counts of capped ratings by no more than the bound says."""
    key = secret_key()
    unit = dc.User(max_ratings=most)
    totals = []

    def counted(part):
        if len(part):  # not the check that a user without ratings counts nothing
            totals.append(COUNTS.total(part))
        return COUNTS.total(part)

    spy = dc.Contribution("counts", (30,), counted, COUNTS.bounds)
    for gone in (None, *range(RATINGS.n_users)):
        left = RATINGS if gone is None else RATINGS.select_users(np.delete(np.arange(RATINGS.n_users), gone))
        dc.TrustedServer(left, dc.Ledger(epsilon=1.0, unit=unit), noise="laplace", key=key).sum(spy)
    moved = np.abs(totals[0] - np.array(totals[1:])).sum(axis=1)
    assert moved.max() <= bound_for(COUNTS, unit, "l1").value
    assert moved.max() == most


def test_a_statistic_that_counts_users_has_no_bound_from_its_ratings():
    """Removing all ratings of a user leaves a user without ratings, of whom bounds for ratings say nothing."""
    users = dc.Contribution("users", (1,), lambda part: np.array([part.n_users]), (dc.Bound("rating", "l1", 0.001),))
    server = dc.TrustedServer(RATINGS, dc.Ledger(1.0, unit=dc.User(max_ratings=5)))
    with pytest.raises(InputError, match="counts users without ratings"):
        server.sum(users)
    assert server.spends == ()
