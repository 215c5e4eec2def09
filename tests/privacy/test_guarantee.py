"""What a guarantee says: for a group, in words, and as JSON and back."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InputError
from discreet.privacy.guarantee import Guarantee, Loss
from discreet.privacy.ledger import Ledger
from discreet.privacy.spend import Spend
from discreet.privacy.unit import Rating, User

losses = st.builds(Loss, st.one_of(st.just(0.0), st.floats(1e-6, 5)), st.sampled_from([0.0, 1e-12, 1e-6, 1e-3]))
sizes = st.integers(1, 8)


@given(loss=losses, size=sizes)
def test_a_group_pays_for_each_of_its_members(loss, size):
    together = loss.for_group(size)
    assert together.epsilon == pytest.approx(size * loss.epsilon)
    growth = sum(math.exp(step * loss.epsilon) for step in range(size))
    assert together.delta == pytest.approx(min(loss.delta * growth, 1), rel=1e-9)
    assert loss.for_group(1) == loss


@given(loss=losses, size=sizes, other=sizes)
def test_groups_of_groups(loss, size, other):
    """A group of k groups of m is a group of k·m; a larger group never pays less."""
    nested, flat = loss.for_group(size).for_group(other), loss.for_group(size * other)
    assert nested.epsilon == pytest.approx(flat.epsilon)
    assert nested.delta == pytest.approx(flat.delta, rel=1e-6)
    assert loss.for_group(size + 1).epsilon >= loss.for_group(size).epsilon
    assert loss.for_group(size + 1).delta >= loss.for_group(size).delta


@given(scale=st.floats(1.5, 20), size=st.integers(2, 5))
def test_group_privacy_is_never_less_than_what_a_group_costs(scale, size):
    """A group of k moves a sum by k times as much: what that costs exactly is within what the rule says."""
    one = Spend(what="sum", mechanism="laplace", norm="l1", sensitivity=1, scale=scale)
    group = Spend(what="sum", mechanism="laplace", norm="l1", sensitivity=size, scale=scale)
    assert group.pure_epsilon == pytest.approx(Loss(one.pure_epsilon).for_group(size).epsilon)


def test_a_group_under_gaussian_noise():
    from discreet.privacy.accounting import delta_of

    one = Spend(what="sum", mechanism="gaussian", norm="l2", sensitivity=1, scale=8.0)
    three = Spend(what="sum", mechanism="gaussian", norm="l2", sensitivity=3, scale=8.0)
    loss = Loss(0.5, delta_of([one], 0.5)).for_group(3)
    assert delta_of([three], loss.epsilon) <= loss.delta


words = st.text(st.characters(codec="utf-8"), max_size=20)
units = st.one_of(
    st.builds(Rating, st.sampled_from(["add-or-remove", "replace"])),
    st.builds(User, st.one_of(st.none(), st.integers(1, 999)), st.sampled_from(["add-or-remove", "replace"])),
)
guarantees = st.one_of(
    st.builds(Guarantee.none, words),
    st.builds(
        Guarantee,
        reason=words,
        proven=st.one_of(st.none(), losses),
        claimed=st.one_of(st.none(), losses),
        unit=units,
        protects_from=st.lists(words, max_size=3).map(tuple),
        exposed_to=st.lists(words, max_size=3).map(tuple),
        tuning=st.sampled_from([None, "defaults", "stated", "paid", "unrecorded"]),
        tuned_on=st.sampled_from(["ml-1m", "nothing"]),
    ),
    st.builds(
        Guarantee,
        reason=words,
        claimed=st.one_of(st.none(), losses),
        unit=units,
        tuning=st.sampled_from([None, "defaults", "stated", "paid", "unpaid", "unrecorded"]),
        seeded=st.booleans(),
    ),
)


@given(guarantee=guarantees)
def test_survives_json(guarantee):
    again = Guarantee.from_json(json.loads(json.dumps(guarantee.to_json())))
    assert again == guarantee
    assert str(again) == str(guarantee) == guarantee.to_json()["sentence"]


@given(guarantee=guarantees.filter(lambda one: one.proven is not None))
def test_a_proven_guarantee_says_so_and_by_how_much(guarantee):
    assert str(guarantee).startswith("Proven")
    assert str(guarantee.proven) in str(guarantee)
    stated = "before anyone looked" if guarantee.tuned_on == "nothing" else "on ml-1m, says whoever"
    sentences = {"defaults": "defaults", "stated": stated, "paid": "paid for", "unrecorded": "on record", None: ""}
    assert sentences[guarantee.tuning] in str(guarantee)


def test_what_earlier_versions_wrote_about_tuning_is_not_believed():
    data = Guarantee(reason="x", proven=Loss(1.0), unit=Rating(), tuning="defaults").to_json()
    assert Guarantee.from_json(data | {"tuning": "public"}).tuning == "unrecorded"
    with pytest.raises(InputError, match="there is no tuning"):
        Guarantee.from_json(data | {"tuning": "sorcery"})


@pytest.mark.parametrize("damage", [{"proven": {"epsilon": -1.0}}, {"proven": {"colour": 1}}, {"seeded": True}])
def test_damaged_or_contradictory_json_is_refused(damage):
    data = Guarantee(reason="x", proven=Loss(1.0), unit=Rating()).to_json()
    with pytest.raises(InputError):
        Guarantee.from_json(data | damage)
    data.pop("unit")
    with pytest.raises(InputError):
        Guarantee.from_json(data)


def test_of_a_ledger():
    ledger = Ledger(epsilon=2.0, unit=Rating())
    ledger.charge(Spend(what="x", mechanism="laplace", norm="l1", sensitivity=1, scale=2.0))
    proven = Guarantee.of_ledger(ledger, protects_from=("the public",)).proven
    assert proven.epsilon == 2.0 and proven.delta < 1e-20  # whether to look again was decided after an answer
    for bad in ({"seeded": True}, {"tuning": "unpaid"}):
        assert Guarantee.of_ledger(ledger, protects_from=("the public",), **bad).proven is None


def test_of_a_ledger_with_a_plan():
    spends = [Spend(what=what, mechanism="laplace", norm="l1", sensitivity=1, scale=4.0) for what in "xy"]
    ledger = Ledger(epsilon=2.0)
    ledger.plan(*spends)
    assert Guarantee.of_ledger(ledger, protects_from=("the public",)).proven == Loss(0.0)
    ledger.charge(spends[0])
    assert Guarantee.of_ledger(ledger, protects_from=("the public",)).proven == Loss(0.5)  # all of the plan
    assert Guarantee.of_ledger(Ledger(epsilon=2.0), protects_from=("the public",)).proven == Loss(0.0)
