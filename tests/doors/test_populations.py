"""Doors in what populations count on: rounding at home, and whose data a privacy level goes by."""

import copy
import itertools
import pickle
from dataclasses import replace

import numpy as np
import pytest

import discreet as dc
from discreet.data.construction import bound_users
from discreet.data.labels import Labels
from discreet.models.sums.huber_items import HuberItems
from discreet.populations.untrusted import UntrustedServer

CROWD = dc.synthetic(users=10_001, items=20, ratings=20_002, seed=1)


# ── Rounding at home ──


@pytest.mark.parametrize("bits", [32, 64])
def test_a_crowd_whose_sum_was_rounded_at_once(bits, door):
    """Every device sends a little less than half a step, which rounds to nothing: 10,001 of them are many steps.

    Seeded noise is the same for neighbours, so what is left between them is what one user moves.
    """
    cells, sums, part_of_a_step = 256, {}, 0.0

    def total(part):
        return np.full(cells, part.n_users * part_of_a_step)

    asked = dc.Contribution("parts of a step", (cells,), total, (dc.Bound("user", "l2", 1.0),))
    for users in (9_999, 10_000, 10_001):
        ledger, there = dc.Ledger(1.0, 1e-6, dc.User()), CROWD.select_users(np.arange(users))
        server = UntrustedServer(there, ledger, bits=bits, randomness=dc.Randomness(1))
        part_of_a_step = 0.49 * server.calibrate(asked).grid
        sums[users] = server.sum(asked)
    far = max(np.linalg.norm(sums[users] - sums[users + 1]) for users in (9_999, 10_000))
    declared = ledger.spends[0].sensitivity
    assert far <= declared < 1.02
    if bits == 64:
        return
    claimed = f"a user moves a sum of words of {bits} bits by {declared:.3f}"
    door(claimed, "by 76.6: 10,001 devices were rounded together, 10,000 one by one", f"by {far:.3f}")


# ── Levels by a rule ──

LEVELS = {"strict": 0.1, "normal": 1.0}
BY_VALUE = dc.Wishes.by_rule(lambda part: np.where(part.values < 3, 0.1, 1.0), of="rating", levels=LEVELS)
BY_ITEM = dc.Wishes.by_rule(lambda part: np.where(part.item_index < 5, 0.1, 1.0), of="rating", levels=LEVELS)
SHOP = dc.Catalogue.of([f"item {number}" for number in range(10)], dc.Scale(1, 5), declared=True)


def events(*values, item=0):
    """Of one user, about one item, one after the other."""
    times = np.arange(len(values)) + 100
    there = np.zeros(len(values), np.int64)
    return dc.Ratings.of_columns(SHOP, Labels.of(["ann"]), there, there + item, values, times)


def level_sum():
    return dc.Contribution(
        "how far ratings are from the middle",
        (),
        lambda part: np.asarray((part.values.astype(np.float64) - 3).sum() / 2),
        (dc.Bound("rating", "l1", 1.0, replace=2.0),),
    )


def loss_of(wishes, rule, before, after):
    """How far the odds of a noisy sum differ: over both outcomes of the sample, and all places of the sum."""
    laws, place = [], np.linspace(-60, 60, 4001)
    scale = dc.TrustedServer(events(1).merge(rule), dc.Ledger(1.0)).calibrate(level_sum()).spend.scale
    for given in (before, after):
        held = events(*given).merge(rule)
        rate, here = 0.0, 0.0
        if len(held):
            rate = wishes.offer().levels(1.0, 0.0, dc.Rating())[wishes.chosen(held)[0]].rate
            here = float(level_sum().total(held))
        densities = [np.exp(-np.abs(place - centre) / scale) for centre in (here, 0.0)]
        laws.append(rate * densities[0] + (1 - rate) * densities[1])
    return float(np.abs(np.log(laws[0] / laws[1])).max())


@pytest.mark.parametrize("rule", ["last", "mean", "recency"])
def test_levels_by_the_values_of_merged_ratings(rule, door):
    """Whoever rates with 1 what they rated with 5: the level of the one rating that is left hangs on both."""
    worst = {}
    for name, wishes in (("value", BY_VALUE), ("item", BY_ITEM)):
        lost = [
            loss_of(wishes, rule, given, given[:at] + given[at + 1 :])
            for given in itertools.chain.from_iterable(itertools.product((1, 5), repeat=size) for size in (1, 2, 3))
            for at in range(len(given))
            if name == "item" or given[at] == 1  # what was promised the strict level
        ]
        worst[name] = max(lost)
    assert worst["item"] <= 0.1 + 1e-9 < 0.4 < worst["value"]

    merged, ledger = events(5, 1).merge(rule), dc.Ledger(1.0)
    for by, of in ((ledger, merged), (dc.Ledger(1.0, 1e-6, dc.User()), merged), (ledger, events(1).merge(rule))):
        with pytest.raises(dc.InputError, match="by item or by user") as error:
            dc.TrustedServer(of, by, wishes=BY_VALUE)
        assert by.levels == ()
    by_middle = dc.Wishes.by_rule(lambda part: np.where(part.values == 3, 0.1, 1.0), of="rating", levels=LEVELS)
    with pytest.raises(dc.InputError, match="by item or by user"):  # no merged rating is a 3, and both ends are lax
        dc.TrustedServer(events(3, 5).merge(rule), dc.Ledger(1.0), wishes=by_middle)
    by_time = dc.Wishes.by_rule(lambda part: np.where(part.times < 150, 0.1, 1.0), of="rating", levels=LEVELS)
    with pytest.raises(dc.InputError, match="by item or by user"):
        dc.TrustedServer(merged, ledger, wishes=by_time)
    dc.TrustedServer(merged, dc.Ledger(1.0), wishes=BY_ITEM)
    dc.TrustedServer(merged, dc.Ledger(1.0), wishes=dc.Wishes.of_users({"ann": 0.1}, levels=LEVELS))
    dc.TrustedServer(events(1), dc.Ledger(1.0), wishes=BY_VALUE)
    door("epsilon 0.1 for a rating of 1, merged with others", f"{worst['value']:.2f}", str(error.value))


def swallowed(part, of=lambda part: part):
    try:
        return np.where(of(part).values < 3, 0.1, 1.0)
    except Exception:
        return np.ones(len(part))


@pytest.mark.parametrize(
    "rule",
    [
        lambda part: np.where((part.times > 150) & (part.times < 250), 0.1, 1.0),
        lambda part: np.where((part.values > 3.2) & (part.values < 3.4), 0.1, 1.0),
        lambda part: np.where(part.csr.data > 4.9, 0.1, 1.0),
        lambda part: np.where(part.by_item.values[:: len(part) or 1] == 3.3, 0.1, 1.0),
        lambda part: np.where(part.to_frame()["rating"].to_numpy() == 3.3, 0.1, 1.0),
        lambda part: np.where(part.history_at(0).values == 3.3, 0.1, 1.0),
        lambda part: np.where(replace(part).select(part.item_index >= 0).values == 3.3, 0.1, 1.0),
        swallowed,
        lambda part: swallowed(part, copy.copy),
        lambda part: swallowed(part, copy.deepcopy),
        lambda part: swallowed(part, lambda own: pickle.loads(pickle.dumps(own))),
        lambda part: np.full(len(part), 0.1 if part.times is None else 1.0),
    ],
)
@pytest.mark.parametrize("given", [(5,), (5, 4)])
def test_levels_by_values_that_no_rating_has_now(rule, given, door):
    """A window of times or values that a merged rating falls into or out of when another one comes."""
    wishes, ledger = dc.Wishes.by_rule(rule, of="rating", levels=LEVELS), dc.Ledger(1.0)
    with pytest.raises(dc.InputError, match="by item or by user") as error:
        dc.TrustedServer(events(*given).merge("mean"), ledger, wishes=wishes)
    assert ledger.levels == ()
    door("epsilon 0.1 for a rating in a window of times", "0.5: a grid of values was tried", str(error.value))


@pytest.mark.parametrize(
    "rule",
    [
        lambda part: np.where(part.item_index < 5, 0.1, 1.0),
        lambda part: np.where(part.catalogue.items.names[part.item_index] == "item 0", 0.1, 1.0),
        lambda part: np.where(part.users.names[part.user_index] == "ann", 0.1, 1.0),
        lambda part: np.where(part.user_facts["age"][part.user_index] < 20, 0.1, 1.0),
        lambda part: np.full(len(part), 0.1),
    ],
)
def test_levels_by_item_or_user_go_with_merged_ratings(rule):
    given = replace(events(5, 1), user_facts={"age": np.array([17])}).merge("last")
    wishes = dc.Wishes.by_rule(rule, of="rating", levels=LEVELS)
    dc.TrustedServer(given, dc.Ledger(1.0), wishes=wishes)
    assert wishes.chosen(given).tolist() == [0]


def test_levels_of_ratings_that_push_each_other_out(door):
    """A user's ratings were bounded before: whether a lax rating is looked at hangs on a strict one being there."""
    two = dc.Ratings.of_columns(SHOP, Labels.of(["ann"]), [0, 0], [0, 9], [1.0, 5.0], [200, 100])
    kept = bound_users(two, most=1)
    alone = bound_users(two.select(two.item_index == 9), most=1)
    assert kept.item_index.tolist() == [0] and alone.item_index.tolist() == [9]
    strict, lax = (level.paid(1.0)[0] for level in BY_ITEM.offer().levels(1.0, 1e-6, dc.User()))
    assert strict == pytest.approx(0.1) and lax == pytest.approx(1.0)
    for bounds in ({"most": 1}, {"least": 2}):
        with pytest.raises(dc.InputError, match="let users choose") as error:
            dc.TrustedServer(bound_users(two, **bounds), dc.Ledger(1.0, 1e-6, dc.User()), wishes=BY_ITEM)
    dc.TrustedServer(kept, dc.Ledger(1.0, 1e-6, dc.User()), wishes=dc.Wishes.of_users({"ann": 0.1}, levels=LEVELS))
    dc.TrustedServer(two, dc.Ledger(1.0, 1e-6, dc.User()), wishes=BY_ITEM)
    door(
        f"epsilon {strict:.1f} for a rating, of users with at most one",
        f"without it another is looked at, as often as epsilon {lax:.0f} allows",
        str(error.value),
    )


# ── Who sees what ──


def test_facts_that_a_model_takes_as_public(door):
    """Noise is made for a rating: a fact about a user is in the vectors of all items that they rated."""
    two = dc.Ratings.of_columns(SHOP, Labels.of(["ann"]), np.zeros(10, int), np.arange(10), np.full(10, 5.0))
    facts = [replace(two, user_facts={"gender": np.array([told])}) for told in ("F", "M")]
    model = dc.HuberMF(facts="gender=F, gender=M, age=18")
    asked = HuberItems(catalogue=SHOP, facts=("gender=F", "gender=M", "age=18"))
    moved = [asked.exact(held)["vectors"] for held in facts]
    assert (np.abs(moved[0] - moved[1]).max(axis=1) > 0.1).all()  # of a rating it is one item
    release = model.fit(dc.TrustedServer(facts[0], dc.Ledger(1.0)))
    said = release.guarantee
    assert said.public[-2:] == ("the gender of each user", "the age of each user")
    assert "the gender of each user" in str(said)
    assert dc.HuberMF().fit(dc.TrustedServer(two, dc.Ledger(1.0))).guarantee.public == said.public[:-2]
    door("one rating, present or absent, and nothing about facts", "a fact moves the vectors of 10 items", str(said))


def test_reports_that_were_made_where_all_ratings_are(door):
    """Whoever simulates everybody's devices holds what everybody rated."""
    mechanism, ratings = dc.collect.Piecewise(epsilon=1.0), dc.synthetic(users=50, items=30, ratings=600, seed=1)
    reports = dc.collect.perturb_ratings(mechanism, ratings, dc.Randomness())
    runner = "whoever ran the devices in one process"
    release = dc.Bias().fit(dc.NoPrivacy(reports))
    assert release.guarantee.protects_from == ("the recommender", "the public", "other users")
    assert release.guarantee.exposed_to == (runner,) and f"Not hidden from {runner}" in str(release.guarantee)
    assert dc.MF(epochs=1).fit(reports.split(test=0.2, seed=1)[0]).guarantee.exposed_to == (runner,)
    for population in (dc.TrustedServer, dc.LocalDevices):
        assert runner in dc.Bias().fit(population(reports, dc.Ledger(1.0))).guarantee.exposed_to
    # Reports that users sent were made where nobody else's ratings are.
    sent = replace(reports, perturbed=mechanism.form(ratings.catalogue.scale))
    assert dc.Bias().fit(dc.NoPrivacy(sent)).guarantee.exposed_to == ()
    door("hidden from the recommender, and exposed to nobody", "who ran it holds all ratings", str(release.guarantee))
