"""A loss for every privacy level: weights, what they prove, and what a certificate says of it."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest

import discreet as dc
from discreet.data.labels import Labels
from discreet.models.sums.item_statistics import item_counts
from discreet.populations.rehearsal import follow, rehearse
from discreet.populations.weighted import weighted_total
from discreet.privacy.composition import composed_epsilon
from discreet.privacy.levels import levels_on_offer
from discreet.privacy.noise import add_gaussian
from discreet.releases.release import HERE

OFFERS = {"strict": 0.25, "medium": 0.5, "normal": 1.0}
DELTA = 1e-6


def with_levels(ratings, seed=3):
    chosen = np.random.default_rng(seed).choice(list(OFFERS), ratings.n_users)
    return replace(ratings, user_facts={"privacy level": chosen})


RATINGS = with_levels(dc.synthetic(users=300, items=20, ratings=3000, seed=1))


def ledger(delta=DELTA, unit=None, offers=OFFERS):
    return dc.Ledger(1.0, delta, unit or dc.User(), levels=offers)


# ── What a ledger keeps for each level ──


@pytest.mark.parametrize("delta", [0.0, DELTA])
def test_weights_keep_every_level_within_its_epsilon(delta):
    book = ledger(delta)
    assert [level.weight for level in book.levels] == sorted(level.weight for level in book.levels)
    assert book.levels[-1].weight == 1
    kind, norm, scale = ("laplace", "l1", 1.0) if delta == 0 else ("gaussian", "l2", 1 / 0.2366)
    book.plan(dc.privacy.Spend(what="sum", mechanism=kind, norm=norm, sensitivity=1, scale=scale, weighted=True))
    for level in book.levels:
        assert 0.8 * level.epsilon < book.cost_of(level) <= level.epsilon


def test_levels_cannot_be_set_afterwards():
    with pytest.raises(AttributeError):
        ledger().levels = ()


def test_a_look_without_weights_counts_in_full_for_every_level():
    book = ledger(0.0)
    with pytest.raises(dc.OverspentError, match="users of the level 'strict'"):
        book.charge(dc.privacy.Spend(what="sum", mechanism="laplace", norm="l1", sensitivity=1, scale=2.0))
    assert book.spends == ()
    book.charge(dc.privacy.Spend(what="sum", mechanism="laplace", norm="l1", sensitivity=1, scale=2.0, weighted=True))


def test_a_choice_pays_in_full_at_every_level():
    server = dc.TrustedServer(RATINGS, ledger(0.0))
    asked = dc.populations.quantile_of_users("ratings of a user", lambda part: np.diff(part.indptr), 0.5, [5.0, 10.0])
    with pytest.raises(dc.OverspentError, match="level 'strict'"):
        server.run(asked)
    server.run(asked, share=0.2)


def test_the_limit_of_a_level_is_kept_by_a_filter():
    book = dc.Ledger(20.0, DELTA, dc.User(), levels={"strict": 1.0})
    looks = {"one": ("gaussian", "l2", 1.0, True), "two": ("pure", "l1", 16.0, False)}
    one, two = (
        dc.privacy.Spend(what=name, mechanism=kind, norm=norm, sensitivity=1, scale=scale, weighted=weighted)
        for name, (kind, norm, scale, weighted) in looks.items()
    )
    book.charge(one)
    with pytest.raises(dc.OverspentError, match="users of the level 'strict'"):
        for _ in range(100):
            book.charge(two)
    spent = composed_epsilon([spend.for_level(book.levels[0].weight) for spend in book.spends], DELTA)
    assert 0.2 < spent <= 1.0 and len(book.spends) > 2 and book.spent < 10


def test_levels_are_checked():
    for wrong in ({"strict": 2.0}, {"strict": 0.0}, {"": 0.5}):
        with pytest.raises(dc.InputError, match="level"):
            ledger(offers=wrong)


def test_a_ledger_with_levels_survives_json():
    book = ledger()
    book.charge(dc.privacy.Spend(what="s", mechanism="gaussian", norm="l2", sensitivity=1, scale=9.0, weighted=True))
    again = dc.Ledger.from_json(json.loads(json.dumps(book.to_json())))
    assert again.levels == book.levels and again.spends == book.spends
    assert book.copy().levels == book.levels


# ── What a user of a level moves ──


@pytest.mark.parametrize("unit", ["user", "rating"])
def test_no_unit_moves_a_weighted_sum_by_more_than_its_weight(unit):
    """Brute force: three users, two items, values 1 and 5, every choice of levels."""
    catalogue = dc.Catalogue.of(["a", "b"], dc.Scale(1, 5))
    asked = item_counts(2, dc.User() if unit == "user" else dc.Rating())
    (bound,) = (
        bound for bound in asked.bounds if bound.unit == unit and bound.norm == ("l2" if unit == "user" else "l1")
    )
    levels = levels_on_offer(OFFERS, 1.0, DELTA)
    furthest = dict.fromkeys(OFFERS, 0.0)

    def total(table, chosen):
        user, item = np.nonzero(table)
        names = Labels(np.arange(len(table)).astype(np.str_), what="user")
        ratings = dc.Ratings.of_columns(
            catalogue, names, user, item, table[user, item], user_facts={"privacy level": np.array(chosen, dtype="U9")}
        )
        return weighted_total(asked, ratings if len(table) else None, levels, "privacy level")

    for cells in itertools.product([0, 1, 5], repeat=4):
        table = np.array(cells).reshape(2, 2)
        for chosen in itertools.product(OFFERS, repeat=2):
            whole = total(table, chosen)
            others = [(table[:1], chosen[:1])] if unit == "user" else []
            for item in range(2) if unit == "rating" else ():
                other = table.copy()
                other[1, item] = 0
                others.append((other, chosen))
            for other, left in others:
                moved = whole - total(other, left)
                size = np.abs(moved).sum() if bound.norm == "l1" else np.linalg.norm(moved)
                furthest[chosen[1]] = max(furthest[chosen[1]], size)
    for level in levels:
        assert furthest[level.name] <= level.weight * bound.value * (1 + 1e-12)
        assert furthest[level.name] == pytest.approx(level.weight * bound.value)


def test_models_need_not_know():
    """The weighted count of one server, with its noise taken away, is the sum of weights."""
    server = dc.TrustedServer(RATINGS, ledger(), randomness=dc.Randomness(seed=1))
    asked = dc.Contribution("users", (), lambda part: float(part.n_users), (dc.Bound("user", "l2", 1.0),))
    plan = server.calibrate(asked)
    assert plan.spend.weighted
    noisy = dc.TrustedServer(RATINGS, ledger(), randomness=dc.Randomness(seed=1)).sum(asked)
    noise = add_gaussian(np.zeros(()), plan.spend.scale, plan.grid, dc.Randomness(seed=1))
    levels = {level.name: level.weight for level in server.ledger.levels}
    expected = sum(levels[name] for name in RATINGS.user_facts["privacy level"])
    assert noisy - noise == pytest.approx(expected, abs=1e-3)


def test_steps_and_devices_are_weighted_too():
    asked = dc.populations.Steps(
        name="users", shape=(), bounds=(dc.Bound("user", "l2", 1.0),), count=4, sampling_rate=0.5
    )
    server = dc.TrustedServer(RATINGS, ledger())
    server.steps(asked).sum(asked.contribution(lambda part: float(part.n_users)))
    assert server.spends[0].weighted
    devices = dc.LocalDevices(RATINGS, ledger(unit=dc.User(neighbours="replace")))
    release = dc.Popularity().fit(devices)
    assert [level.name for level in release.guarantee.levels] == list(OFFERS)
    assert "which privacy level a user chose" in release.guarantee.public


@pytest.mark.parametrize(
    ("ratings", "sentence"),
    [
        (dc.synthetic(users=5, items=5, ratings=9, seed=1), "no fact 'privacy level'"),
        (
            replace(RATINGS, user_facts={"privacy level": np.full(300, "lax")}),
            "no privacy level that the ledger offers",
        ),
    ],
)
def test_who_chose_what_must_be_known(ratings, sentence):
    with pytest.raises(dc.InputError, match=sentence):
        dc.TrustedServer(ratings, ledger())


# ── What a release says ──


def test_without_a_plan_the_limit_of_each_level_is_promised():
    guarantee = dc.Bias().fit(dc.TrustedServer(RATINGS, ledger())).guarantee
    assert {level.name: level.loss.epsilon for level in guarantee.levels} == OFFERS
    assert "strict: epsilon 0.25, delta 1e-06; medium: epsilon 0.5, delta 1e-06; normal: epsilon 1" in str(guarantee)
    assert dc.Guarantee.from_json(json.loads(json.dumps(guarantee.to_json()))) == guarantee


def test_with_a_plan_what_each_level_pays():
    server = dc.TrustedServer(RATINGS, ledger())
    follow(rehearse(dc.Bias(), server), server)
    guarantee = dc.Bias().fit(server).guarantee
    paid = {level.name: level.loss.epsilon for level in guarantee.levels}
    assert all(0.8 * OFFERS[name] < epsilon <= OFFERS[name] for name, epsilon in paid.items())


def test_seeded_noise_promises_no_level_anything():
    guarantee = dc.Bias().fit(dc.TrustedServer(RATINGS, ledger(), randomness=dc.Randomness(seed=1))).guarantee
    assert guarantee.levels == ()


def test_from_a_fit_to_the_certificate(tmp_path):
    from typer.testing import CliRunner

    from discreet.cli.app import app

    budget = dc.Budget(tmp_path / "budget.sqlite")
    server = dc.TrustedServer(RATINGS, ledger(), account="films", budget=budget)
    dc.spend_and_release(dc.Bias(), server, tmp_path / "release")
    loaded = dc.Release.load(tmp_path / "release")
    assert [level.name for level in loaded.guarantee.levels] == list(OFFERS)
    shown = CliRunner().invoke(app, ["certificate", str(tmp_path / "release")])
    assert shown.exit_code == 0
    for name in OFFERS:
        assert f"level {name}" in shown.output
    document = json.loads(CliRunner().invoke(app, ["certificate", str(tmp_path / "release"), "--json"]).output)
    assert [level["name"] for level in document["guarantee"]["levels"]] == list(OFFERS)


def test_a_forged_level_is_refused(tmp_path):
    server = dc.TrustedServer(RATINGS, ledger())
    release = dc.Bias().fit(server)
    forged = tuple(
        replace(level, loss=dc.privacy.Loss(level.loss.epsilon / 2, DELTA)) for level in release.guarantee.levels
    )
    with pytest.raises(dc.InputError, match="the promise is false"):
        replace(release, guarantee=replace(release.guarantee, levels=forged), made=HERE).save(tmp_path / "release")
