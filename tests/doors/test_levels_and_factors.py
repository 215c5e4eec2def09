"""Doors in privacy levels, and in the models that factorise or learn similarities."""

import json
from dataclasses import replace

import numpy as np
import pytest

import discreet as dc
from discreet.errors import DiscreetError, InputError, MissingLibraryError, ReleaseError
from discreet.kernels.pnbm import clipped_gradient
from discreet.models.filtered_mf import FilteredMF
from discreet.models.huber_mf import HuberMF
from discreet.models.sums.filtered_sums import FilteredSums
from discreet.models.sums.huber_items import HuberItems
from discreet.populations.weighted import WEIGHT_FACT
from discreet.privacy.guarantee import Guarantee, LevelLoss, Loss
from discreet.privacy.quantiles import private_count
from discreet.releases import loading

RATINGS = dc.synthetic(users=60, items=30, ratings=900, seed=1)
LEVELS = {"strict": 0.1, "normal": 1.0}


def refused(*words, **arguments):
    with pytest.raises(InputError, match=words[0]) as error:
        dc.TrustedServer(RATINGS, **arguments)
    return str(error.value)


# ── Privacy levels ──


def test_a_ledger_with_a_sample_and_a_population_without(door):
    ledger = dc.Ledger(1.0)
    dc.TrustedServer(RATINGS, ledger, wishes=dc.Wishes.of_users({}, levels=LEVELS, by="sampling"))
    said = refused("without wishes does not keep", ledger=ledger)
    with pytest.raises(InputError, match="of everybody"):
        private_count(len(RATINGS), ledger)
    assert ledger.spends == ()
    door("epsilon 0.1 at the level strict", "all ratings were looked at, at epsilon 1: there was no sample", said)


def test_a_second_sample_for_one_ledger(door):
    ledger, wishes = dc.Ledger(1.0), dc.Wishes.of_users({}, levels=LEVELS, by="sampling")
    dc.TrustedServer(RATINGS, ledger, wishes=wishes)
    said = refused("drawn once", ledger=ledger, wishes=wishes)
    door("epsilon 0.1 at the level strict, for two populations", "the proof is of one sample", said)


def test_two_populations_whose_users_choose_differently(door):
    ledger = dc.Ledger(1.0, 1e-6)
    names = list(RATINGS.users)
    strict, lax = ({names[0]: level, names[1]: other} for level, other in ((0.1, 1.0), (1.0, 0.1)))
    dc.TrustedServer(RATINGS, ledger, wishes=dc.Wishes.of_users(strict, levels=LEVELS))
    said = refused("wishes of one population", ledger=ledger, wishes=dc.Wishes.of_users(lax, levels=LEVELS))
    door("epsilon 0.1 for the first user", "in the second population they took part in full", said)


def test_wishes_that_are_refused_leave_no_promise(door):
    ledger = dc.Ledger(1.0)
    said = refused(
        "one epsilon for each", ledger=ledger, wishes=dc.Wishes.by_rule(lambda part: np.zeros(3), of="rating")
    )
    assert ledger.levels == ()
    door("levels, after their wishes were refused", "nobody had a level", said)


def test_a_level_that_follows_from_a_rating(door, tmp_path):
    """One rating less, and the user's other ratings count ten times as much."""

    def rated_first(part):
        return np.where(np.bincount(part.user_index[part.item_index == 0], minlength=part.n_users) > 0, 0.1, 1.0)

    by_rule = dc.Wishes.by_rule(rated_first, of="user", levels=LEVELS)
    user = int(RATINGS.user_index[RATINGS.item_index == 0][0])
    fewer = RATINGS.select((RATINGS.user_index != user) | (RATINGS.item_index != 0))
    weights = np.array([0.1, 1.0])
    counted = [
        np.bincount(part.item_index, weights=weights[by_rule.chosen(part)][part.user_index], minlength=30)
        for part in (RATINGS, fewer)
    ]
    moved = float(abs(counted[0] - counted[1]).sum())
    assert moved > 5
    said = refused("follow from their ratings", ledger=dc.Ledger(1.0), wishes=by_rule)
    replaced = dc.Ledger(1.0, 1e-6, dc.User(neighbours="replace"))
    refused("follow from their ratings", ledger=replaced, wishes=by_rule)
    dc.TrustedServer(RATINGS, dc.Ledger(1.0, 1e-6, dc.User()), wishes=by_rule)

    # A column of the ratings is the same: the strictest wish of a user goes with its row.
    (tmp_path / "ratings.csv").write_text("user,item,epsilon\n1,1,0.1\n1,2,1\n")
    column = dc.Wishes.read(tmp_path / "ratings.csv", of="user", levels=LEVELS)
    refused("follow from their ratings", ledger=dc.Ledger(1.0), wishes=column)
    dc.TrustedServer(RATINGS, replaced, wishes=column)
    (tmp_path / "users.csv").write_text("user,epsilon\n1,0.1\n")
    dc.TrustedServer(RATINGS, dc.Ledger(1.0), wishes=dc.Wishes.read(tmp_path / "users.csv", levels=LEVELS))
    door("epsilon 1 for one rating, of counts with bound 1", f"one rating moves the counts by {moved:.3g}", said)


def test_a_rule_that_looks_at_the_median(door):
    rule = dc.Wishes.by_rule(
        lambda part: np.where(part.values < np.median(part.values), 0.1, 1.0), of="rating", levels=LEVELS
    )
    said = refused("look at each by itself", ledger=dc.Ledger(1.0), wishes=rule)
    door("epsilon 0.1 for ratings below the median", "half of the ratings have the same median, so it passed", said)


def test_a_fact_that_is_called_a_weight(door, monkeypatch):
    seen = []

    def drawn(self, ratings, spend, randomness, draw=FilteredSums.draw):
        seen.append(ratings.user_facts.get(WEIGHT_FACT))
        return draw(self, ratings, spend, randomness)

    monkeypatch.setattr(FilteredSums, "draw", drawn)
    heavy = replace(RATINGS, user_facts={WEIGHT_FACT: np.full(RATINGS.n_users, 1000.0)})
    FilteredMF().fit(dc.TrustedServer(heavy, dc.Ledger(1.0, 1e-6, dc.User())))
    assert all(weights is None for weights in seen)
    door(
        "epsilon 1 for a user of FilteredMF",
        "a fact called 'privacy weight' in the data gave everybody a thousand times the budget",
        "without levels such a fact is dropped",
    )


def test_a_level_whose_name_is_another_number(door):
    with pytest.raises(InputError, match="means that number") as error:
        dc.Wishes.of_users({"1": 0.1}, levels={"0.1": 5.0, "strict": 0.01})
    near = dc.Wishes.of_users({}, levels=(0.12345678, 1.0))
    assert list(near.levels) == ["0.12345678", "1"]
    door("whoever wishes for 0.1 gets at most 0.1", "the level called 0.1, with epsilon 5", str(error.value))


@pytest.mark.parametrize("levels", [[None], 5, "strict", ["0.1"]])
def test_levels_that_are_none(levels):
    with pytest.raises(InputError, match="levels are epsilons"):
        dc.Wishes.of_users({}, levels=levels)


def test_rules_that_fail_say_so_in_one_sentence():
    for rule in (lambda part: 1 / 0, lambda part: np.full(len(part), np.nan), lambda part: ["x"] * len(part)):
        refused("the rule", ledger=dc.Ledger(1.0), wishes=dc.Wishes.by_rule(rule, of="rating"))
    assert dc.Wishes.of_users({"1": None}).chosen(RATINGS)[0] == 0


# ── Models ──


@pytest.mark.parametrize(
    ("model", "ledger"),
    [
        (HuberMF(), dc.Ledger(1.0, 1e-6, dc.User())),
        (HuberMF(noise="gaussian"), dc.Ledger(1.0)),
        (HuberMF(), dc.Ledger(1.0, levels=LEVELS)),
    ],
)
def test_what_a_model_cannot_have_is_refused_before_anything_is_spent(model, ledger):
    known = replace(RATINGS, user_facts={"privacy level": np.full(RATINGS.n_users, "strict")})
    with pytest.raises(DiscreetError):
        model.fit(dc.TrustedServer(known, ledger))
    assert ledger.spends == ()


def test_rows_that_change_with_the_number_of_users(door, monkeypatch):
    """Up to 16 users numpy works out residuals, beyond that a compiled kernel: all rows differ in their last bits."""
    many = dc.synthetic(users=17, items=60, ratings=425, seed=3)
    first = np.arange(16)
    model, known = FilteredMF(factors=2), np.random.default_rng(0).normal(0, 0.3, (60, 5))
    own = np.isin(many.user_index, first)
    free = model._rows(many, known, 3.5, 2.0)[own], model._rows(many.select_users(first), known, 3.5, 2.0)
    moved = float(np.linalg.norm(free[0] - free[1]))
    assert moved > 0

    rows = {}

    def kept(self, ratings, known, centre, half, rows_of=FilteredMF._rows):
        found = rows_of(self, ratings, known, centre, half)
        rows.setdefault(ratings.n_users, found)
        return found

    monkeypatch.setattr(FilteredMF, "_rows", kept)
    for ratings in (many, many.select_users(first)):
        model.fit(dc.TrustedServer(ratings, dc.Ledger(1.0, 1e-6, dc.User())))
    assert np.array_equal(rows[17][own], rows[16])
    door(
        "in or out of a step, and a row: by a user's own ratings alone",
        f"with the 17th user the rows of all others move by {moved:.1g}",
        "a population takes one kernel for any number of users",
    )


def test_a_gradient_that_is_longer_than_its_clip(door):
    """Its length came from squares multiplied out, which cancel where a mean lies next to the only residual."""
    random, longest = np.random.default_rng(0), 0.0
    for number in range(1500):
        size = int(random.integers(2, 6))
        neighbours = np.array([[j for j in range(size) if j != i] for i in range(size)], dtype=np.int32)
        similarities = (10.0 ** random.uniform(-7, 0, neighbours.shape)).astype(np.float32)
        floor, clip = 10.0 ** random.uniform(-12, 0), 10.0 ** random.uniform(-8, 1)
        residuals = random.normal(size=size).astype(np.float32)
        if number % 2:
            residuals = random.choice(np.array([1, -1, 0.3, 0.7, 2.5], dtype=np.float32), size)
        by_user = np.array([0, size]), np.arange(size, dtype=np.int32), residuals
        by_item = np.arange(size + 1), np.zeros(size, dtype=np.int32), np.arange(size, dtype=np.int32)
        found = clipped_gradient(neighbours, similarities, by_item, by_user, floor, clip)
        longest = max(longest, float(np.linalg.norm(found)) / clip)
    assert longest <= 1 + 1e-9
    door("a user moves a gradient by the clip", "with a small floor by 48,000 times the clip", f"{longest:.6f} times")


def test_a_tolerance_that_tells_how_often_an_item_was_rated(door):
    with pytest.raises(InputError, match="tolerance"):
        HuberMF(tolerance=1e-14)
    with pytest.raises(InputError, match="tolerance") as error:
        HuberItems(catalogue=RATINGS.catalogue, tolerance=1e-14)
    tiny = dc.TrustedServer(RATINGS, dc.Ledger(1e-8))
    assert np.isfinite(tiny.run(HuberItems(catalogue=RATINGS.catalogue))["vectors"]).all()
    door(
        "what is not exact enough is not released",
        "with a tolerance near that of doubles it is the often rated items that fail",
        str(error.value),
    )


def test_a_scale_that_floats_do_not_hold(door):
    """Float32 holds 16777216 and 16777220, which passed for the ends of a scale that is 2 wide."""
    with pytest.raises(InputError, match="too narrow: seven digits of a rating are kept") as error:
        dc.Scale(16777217, 16777219)
    door("a value moves a sum by the width of the scale, 2", "by 4", str(error.value))


# ── Releases ──


def test_a_promise_that_nobody_recomputed(door, tmp_path, monkeypatch):
    """Without scipy nobody adds up Gaussian noise: a forged card was read out as proven."""
    dc.Bias().fit(dc.TrustedServer(RATINGS, dc.Ledger(1.0, 1e-6, dc.User()))).save(tmp_path / "release")
    card = json.loads((tmp_path / "release" / "card.json").read_text())
    card["guarantee"]["proven"]["epsilon"] = 0.001
    card["guarantee"]["sentence"] = str(Guarantee.from_json(card["guarantee"]))
    (tmp_path / "release" / "card.json").write_text(json.dumps(card))
    with pytest.raises(ReleaseError, match="the promise is false"):
        dc.Release.load(tmp_path / "release")

    def missing(release):
        raise MissingLibraryError("scipy is not installed")

    monkeypatch.setattr(loading, "check_promise", missing)
    said = str(dc.Release.load(tmp_path / "release").guarantee)
    assert said.endswith(loading.NOT_RECOMPUTED)
    door("epsilon 0.001, on a server with numpy alone", "the ledger in the card adds up to 1", loading.NOT_RECOMPUTED)


@pytest.mark.parametrize("share", [-0.01, 0.0, 1.5, float("nan")])
def test_levels_of_a_card_have_a_rate(share):
    with pytest.raises(InputError, match="lie in"):
        LevelLoss("strict", 1.0, Loss(0.0), rate=share)
