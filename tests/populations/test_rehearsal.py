"""A rehearsal knows what a fit will cost, and looks at no rating to find out."""

import math

import numpy as np
import pytest

import discreet as dc
from discreet.errors import InputError, OverspentError
from discreet.populations.rehearsal import follow, rehearse

RATINGS = dc.synthetic(users=40, items=30, ratings=500, seed=1)


class Looks:
    """A model that asks for a few sums, and fails the test if one of them is ever computed."""

    def __init__(self, *shares):
        self.shares = shares

    def fit(self, population):
        def total(ratings):
            assert len(ratings) == 0, "a rating was looked at"  # shapes are checked on a user who rated nothing
            return np.zeros((3, 4))

        for share in self.shares:
            bounds = (dc.Bound("rating", "l1", 2.0), dc.Bound("user", "l2", 1.0))
            answer = population.sum(dc.Contribution(f"look {share}", (3, 4), total, bounds), share)
            assert answer.shape == (3, 4) and not answer.any()


@pytest.mark.parametrize("population", [dc.TrustedServer, dc.LocalDevices])
@pytest.mark.parametrize(
    "unit", [dc.Rating(), dc.Rating("replace"), dc.User(), dc.User(max_ratings=20, neighbours="replace")]
)
@pytest.mark.parametrize("model", [dc.Bias(), dc.Popularity()])
def test_the_plan_is_what_the_fit_then_spends(model, unit, population):
    if population is dc.LocalDevices and unit == dc.User():
        pytest.skip("devices cannot hide that they take part")
    asked = population(RATINGS, dc.Ledger(1.0, 1e-6, unit))
    plan = rehearse(model, asked)
    assert asked.spends == ()
    follow(plan, asked)
    release = model.fit(asked)
    assert plan.to_json() == asked.ledger.to_json()
    assert release.guarantee.proven.epsilon == plan.spent
    assert len(plan.spends) == 1


def test_noise_that_was_chosen_is_planned():
    server = dc.TrustedServer(RATINGS, dc.Ledger(1.0, 1e-6), noise="gaussian")
    assert [spend.mechanism for spend in rehearse(dc.Bias(), server).spends] == ["gaussian"]


def test_no_rating_is_looked_at():
    plan = rehearse(Looks(0.25, 0.75), dc.TrustedServer(RATINGS, dc.Ledger(2.0)))
    assert [spend.what for spend in plan.spends] == ["look 0.25", "look 0.75"]
    assert plan.spent == pytest.approx(2.0)


def test_a_plan_over_the_limit_is_refused():
    server = dc.TrustedServer(RATINGS, dc.Ledger(2.0))
    with pytest.raises(OverspentError, match=r"'look 0\.75' would bring the spending to epsilon 2\.5"):
        rehearse(Looks(0.5, 0.75), server)
    assert server.spends == ()


def test_what_was_spent_before_is_in_the_plan():
    ledger = dc.Ledger(1.0)
    server = dc.TrustedServer(RATINGS, ledger)
    before = dc.privacy.Spend(what="before", mechanism="laplace", norm="l1", sensitivity=1, scale=2.0)
    ledger.charge(before)
    with pytest.raises(OverspentError):
        rehearse(Looks(0.75), server)
    assert [spend.what for spend in rehearse(Looks(0.5), server).spends] == ["before", "look 0.5"]
    assert ledger.spends == (before,)


def test_who_follows_a_plan_answers_nothing_else():
    server = dc.TrustedServer(RATINGS, dc.Ledger(2.0))
    follow(rehearse(Looks(0.25, 0.75), server), server)
    with pytest.raises(OverspentError, match=r"'look 0\.75' is not what was planned next; nothing was computed"):
        Looks(0.75, 0.25).fit(server)
    assert server.spends == ()
    with pytest.raises(InputError, match="NoPrivacy hides nothing"):
        follow(rehearse(Looks(1.0), dc.TrustedServer(RATINGS, dc.Ledger(2.0))), dc.NoPrivacy(RATINGS))


def test_a_plan_is_not_made_for_a_ledger_that_was_used():
    server = dc.TrustedServer(RATINGS, dc.Ledger(2.0))
    plan = rehearse(dc.Popularity(), server)
    dc.Popularity().fit(server)
    with pytest.raises(InputError, match="start with a fresh ledger"):
        follow(plan, server)


def test_gaussian_first_and_laplace_later_is_one_plan():
    """Chosen on the way, Laplace noise after Gaussian costs more; planned together the order does not matter."""
    late = dc.privacy.Spend(what="late", mechanism="laplace", norm="l1", sensitivity=1, scale=2.0)
    early = dc.privacy.Spend(what="early", mechanism="gaussian", norm="l2", sensitivity=1, scale=8.0)
    planned, on_the_way = dc.Ledger(1.2, 1e-6), dc.Ledger(1.2, 1e-6)
    planned.plan(early, late)
    for spend in (early, late):
        planned.charge(spend)
    on_the_way.charge(early)
    with pytest.raises(OverspentError, match="'late' would bring the spending to epsilon"):
        on_the_way.charge(late)
    assert planned.spent == pytest.approx(0.5 + on_the_way.spent)


def test_zeros_do_not_disturb():
    """Whatever a model makes of zeros is not warned about."""

    class Divides(Looks):
        def fit(self, population):
            super().fit(population)
            assert math.isnan((np.zeros(1) / np.zeros(1))[0])

    rehearse(Divides(1.0), dc.TrustedServer(RATINGS, dc.Ledger(1.0)))


def test_what_has_no_price_cannot_be_rehearsed():
    with pytest.raises(InputError, match="NoPrivacy hides nothing, so it has no cost that could be planned"):
        rehearse(dc.Bias(), dc.NoPrivacy(RATINGS))
    with pytest.raises(InputError, match="MF needs the raw ratings"):
        rehearse(dc.MF(), dc.TrustedServer(RATINGS, dc.Ledger(1.0)))
