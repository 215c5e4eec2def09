"""What the claims of S2 and S3 are worth: golden numbers, and attacks on the published and the sound protocol."""

from dataclasses import replace

import numpy as np
import pytest

import discreet as dc
from discreet.errors import InputError
from discreet.papers.untrusted.algorithm import UntrustedMF
from discreet.papers.untrusted.attacks import GROUP, HONEST, attack
from discreet.papers.untrusted.curious import Attacker, ManyUsers, NoExponentials, NoFreshNoise
from discreet.papers.untrusted.parties import Recommender
from discreet.papers.untrusted.privacy import (
    composed,
    delta_given_exponentials,
    honest_mu,
    honest_total,
    participations,
)
from discreet.papers.untrusted.sound import ROUNDS, SoundRun, statistic
from discreet.protocol.wire import RefusedError

RATINGS = dc.synthetic(users=140, items=40, ratings=2800, seed=5)
DYNAMIC = UntrustedMF(scenario="dynamic", factors=8)


@pytest.mark.parametrize(
    ("epsilon", "rounds", "total"),
    [
        (0.1, 100, 4.307),
        (0.15, 100, 6.882),
        (0.05, 100, 1.968),
        (0.8, 52, 35.15),
        (0.1, 1060, 18.49),
        (0.05, 1060, 7.764),
    ],
)
def test_what_the_rounds_cost_together(epsilon, rounds, total):
    assert composed(epsilon, rounds) == pytest.approx(total, rel=5e-4)
    assert composed(epsilon, rounds, 0.0) == pytest.approx(epsilon * rounds)


def test_golden_numbers_of_what_a_recommender_that_knows_h_sees():
    found = [[delta_given_exponentials(epsilon, total) for total in (1, 5, 10)] for epsilon in (0.1, 1.0)]
    np.testing.assert_allclose(found, [[2.5e-3, 5.0e-4, 2.5e-4], [0.187, 0.048, 0.025]], rtol=0.02)
    assert honest_mu(0.1, 50) == pytest.approx(0.0225, rel=0.02)
    assert honest_total(10 * 0.0225) == pytest.approx(0.83, abs=0.01)
    assert honest_total(10 * 0.0225, sensitivity=2, items=65) == pytest.approx(21.4, abs=0.05)
    assert honest_mu(0.1, 50, 100) > 10 * honest_mu(0.1, 50)  # 1/H has a heavy tail
    assert participations(10_000, 1000, 191_668) * 0.8 == pytest.approx(41.7, abs=0.05)
    assert participations(10_000, 100, 943) * 0.1 == pytest.approx(106, abs=0.1)


# ── T21: the published protocol ──


@pytest.mark.parametrize(
    ("kind", "how"),
    [(NoExponentials, "group_of_one"), (ManyUsers, "group_of_one"), (NoFreshNoise, "difference_of_rounds")],
)
def test_all_ratings_of_a_user_are_read_off(kind, how):
    attacker = Attacker(DYNAMIC, RATINGS, kind, seed=1)
    for user in (3, 77, 139):
        guess = getattr(attacker, how)(user)
        assert len(guess.true) == len(RATINGS.history_at(user).items)
        assert guess.errors.max() < 1e-3


def test_a_group_with_and_without_a_user_gives_her_ratings():
    attacker = Attacker(DYNAMIC, RATINGS, ManyUsers, seed=1)
    for user in (3, 77):
        others = np.array([other for other in range(100) if other != user], dtype=np.int32)
        assert attacker.two_groups(user, others).errors.max() < 1e-3


def test_with_h_0_an_item_that_one_user_rated_gives_her_rating():
    lonely = RATINGS.select(np.arange(len(RATINGS)) % 28 == 0)
    alone = np.bincount(lonely.item_index, minlength=lonely.n_items) == 1
    guess = Attacker(replace(DYNAMIC, scenario="static"), lonely, NoExponentials, seed=1).items_with_one_rater()
    assert len(guess.true) == alone.sum() > 0 and guess.errors.max() < 1e-3


def test_h_0_leaves_no_noise_at_all():
    """The sum that the recommender sees is that of a run without noise, to the last bit."""
    looks = [
        Attacker(replace(DYNAMIC, epsilon=epsilon), RATINGS, NoExponentials, seed=1).look([5])
        for epsilon in (0.1, None)
    ]
    assert looks[0].tobytes() == looks[1].tobytes()


def test_an_honest_recommender_reads_nothing_off():
    attacker = Attacker(DYNAMIC, RATINGS, Recommender, seed=1)
    errors = np.concatenate([attacker.group_of_one(user).errors for user in range(20)])
    assert np.mean(errors < 0.5) < 0.2 and errors.mean() > 1


# ── T13: the sound protocol ──


def sound() -> SoundRun:
    return SoundRun(RATINGS, np.arange(GROUP, dtype=np.int32), seed=1)


def test_a_client_refuses_after_the_rounds_that_were_agreed_to():
    run = sound()
    assert "more rounds" in run.too_many_rounds()
    assert all(user.answered == ROUNDS for user in run.users.values())


@pytest.mark.parametrize(
    "change",
    [
        {"name": "other"},
        {"shape": (1,)},
        {"shape": (40, 1)},
        {"step": 2.0**-8},
        {"before": bytes([1]) * 32},
        {"offer": bytes([1]) * 32},
        {"scale": 1e-6},
        {"sensitivity": 1e-6},
        {"sampling_rate": 0.5},
        {"mechanism": "laplace"},
        {"times": 2},
        {"seeded": True},
        {"slack": 0.5},
    ],
    ids=str,
)
def test_no_field_of_a_question_can_be_changed(change):
    """A server cannot lower the noise by anything that it sends: the user compares with her own question."""
    run = sound()
    asked, user = run.question(0), run.users[0]
    own = {name: value for name, value in change.items() if hasattr(asked, name)}
    of_spend = {name: value for name, value in change.items() if name not in own}
    if "mechanism" in of_spend:
        of_spend["norm"] = "l1"
    if "name" in own:
        of_spend["what"] = own["name"]
    spend = replace(asked.spend, **of_spend)
    with pytest.raises(RefusedError):
        user.answer(replace(asked, spend=spend, **own), asked, statistic(RATINGS.history_at(0)))
    assert user.answered == 0 and user.ledger.spends == ()
    user.answer(asked, asked, statistic(RATINGS.history_at(0)))


def test_what_is_left_to_see_is_noise():
    run = sound()
    errors = run.best_guess(0).errors
    assert errors.mean() > 1
    # Two rounds differ by two noises, and by nothing of the users: √2 to 5 deviations of its estimate.
    assert abs(sound().difference_of_rounds() / np.sqrt(2) - 1) < 5 / np.sqrt(2 * RATINGS.n_items)
    assert np.linalg.norm(statistic(RATINGS.history_at(0))) <= 1 + 1e-12


def test_the_table_says_that_one_falls_and_the_other_stands():
    found = attack(RATINGS, victims=3, seed=1, data="made up")
    by = {(row.protocol, row.attack): row for row in found.rows}
    assert found.holds
    for name in ("difference of rounds", "group of one", "G and G without the user"):
        assert by["published", name].succeeds and by["published", name].largest < 0.01
    assert not by["published", HONEST].succeeds
    refused = [row for row in found.rows if row.protocol == "sound" and row.refused]
    assert len(refused) == 7 and not any(row.succeeds for row in found.rows if row.protocol == "sound")
    assert "published protocol claims epsilon 0.1" in found.sentences()[0]
    assert len(found.to_json()["attacks"]) == len(found.rows) == 13


def test_attacks_need_enough_users():
    with pytest.raises(InputError, match="at least 120 users"):
        attack(dc.synthetic(users=50, items=20, ratings=500, seed=1))
    with pytest.raises(InputError, match="victims must be at least 1"):
        attack(RATINGS, victims=0)
