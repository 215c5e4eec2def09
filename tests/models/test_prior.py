"""A release as the prior of another: what is matched, what is believed, and what several nights are together."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import discreet as dc
from discreet.data.prior import ItemPrior
from discreet.evaluation.measuring import measure
from discreet.models.almanac.items import GAUSSIAN, LAPLACE, SeenItems, counts_with
from discreet.models.almanac.planner import Plan, Planner
from discreet.models.sums.item_statistics import ItemStatistics
from discreet.releases.priors import matches, prior_of, with_prior

MADE = {"items": 120, "seed": 5, "like": "movielens"}
"""The same items and tastes; users come in blocks, so that the first and the last ones are different people."""


@pytest.fixture(scope="module")
def worlds():
    everybody = dc.synthetic(users=1600, ratings=60_000, **MADE)
    return everybody.select_users(range(1000)), everybody.select_users(range(1000, 1600))


def exchanged(release):
    """The same release, its items exchanged at random."""
    order = np.random.default_rng(0).permutation(len(release.catalogue))
    names = [release.catalogue.items[int(place)] for place in order]
    titles = [str(release.catalogue.titles[int(place)]) for place in order]
    catalogue = dc.Catalogue.of(names, release.catalogue.scale, titles=titles, declared=True)
    return dc.Release(release.model, dict(release.arrays), catalogue, release.guarantee)


def fit(ratings, epsilon, prior=None, seed=1, **settings):
    known = ratings if prior is None else with_prior(ratings, prior)
    server = dc.TrustedServer(known, dc.Ledger(epsilon, 1e-6, dc.User()), randomness=dc.Randomness(seed))
    return dc.Almanac(**settings).fit(server)


def error(release, train, test):
    return measure(release, train, test, None, ["rmse"]).estimates["rmse"].mean


def test_a_true_prior_helps_and_a_wrong_one_changes_nothing(worlds):
    """Seeded noise, so nothing here is left to chance."""
    others, ours = worlds
    train, test = ours.split(0.2, seed=1)
    prior = dc.Almanac().fit(dc.NoPrivacy(others))
    alone, helped, misled = (error(fit(train, 0.3, known), train, test) for known in (None, prior, exchanged(prior)))
    assert helped < alone - 0.01
    assert misled <= alone + 0.002


def test_the_guarantee_says_that_ledgers_compose(worlds):
    others, ours = worlds
    exact = dc.Almanac().fit(dc.NoPrivacy(others))
    private = dc.Almanac().fit(dc.TrustedServer(others, dc.Ledger(1.0, 1e-6, dc.User())))
    for prior, words in ((exact, "says nothing to those"), (private, "their ledgers compose")):
        ledger = dc.Ledger(0.5, 1e-6, dc.User())
        release = dc.Almanac().fit(dc.TrustedServer(with_prior(ours, prior), ledger))
        assert words in str(release.guarantee) and release.guarantee.proven.epsilon <= 0.5
    assert "prior" not in str(fit(ours, 0.5).guarantee)


@pytest.mark.parametrize("as_they_are", [True, False], ids=["ratings", "counts alone"])
def test_looks_at_the_same_sums_are_averaged_by_their_noise(worlds, as_they_are):
    """Ten looks with a tenth of mu squared have the noise of one with all of it; other sums are not averaged."""
    ours = worlds[1] if as_they_are else dc.data.without_ratings(worlds[1])
    asked = asked_of(ours)
    exact = np.atleast_2d(dc.NoPrivacy(ours).sum(asked.contribution))
    rng, noise = np.random.default_rng(2), np.sqrt(10.0)
    seen = look(asked, exact + rng.normal(0, noise, exact.shape), noise)
    assert np.isinf(seen.before)
    for night in range(1, 10):
        tonight = look(asked, exact + rng.normal(0, noise, exact.shape), noise)
        seen = tonight.with_nights_before(prior_with(ours, seen))
        assert seen.before == pytest.approx(noise / np.sqrt(night), rel=1e-6)
    assert np.allclose(seen.deviations, 1.0)
    assert 0.8 < np.std(seen.answer - exact) < 1.2  # 240 cells: off by 20 % in 1 of 10^5 runs, and seeded
    other = look(asked, 2 * exact, 0.1)
    assert other.with_nights_before(prior_with(ours, seen)) is other


def test_nights_that_weigh_sums_differently_are_averaged_and_new_items_have_the_noise_of_one():
    """Whole counts, so that users weigh the same whatever the weight of sums is."""
    scale = dc.Scale(1, 5)
    base, counts, sums = np.full(3, 3.0, dtype=np.float32), np.array([50.0, 30.0, 20.0]), np.array([9.0, -4.0, 2.0])
    first, second = (ItemStatistics(base, scale, "rating", relative_weight=weight) for weight in (0.5, 2.0))
    before = look(first, np.stack([counts, 0.5 * sums]), 3.0)
    prior = replace(
        made_up_prior(counts), matched=np.array([True, True, False]), sums=before.answer,
        sums_noise=before.deviations, sums_kind=first.kind,
    )  # fmt: skip
    seen = look(second, np.stack([counts, 2.0 * sums]), 4.0).with_nights_before(prior)
    np.testing.assert_allclose(seen.answer, [counts, 2.0 * sums])
    both = [(1 / 9 + 1 / 16) ** -0.5, (1 / 144 + 1 / 16) ** -0.5]  # a sum of weight .5 has four times the noise
    np.testing.assert_allclose(seen.deviations, [[both[0], both[0], 4], [both[1], both[1], 4]])
    for changed in (replace(second, clip=0.5), replace(second, scaling="user, l2"), second.about_level(0.7)):
        other = look(changed, np.stack([counts, 2.0 * sums]), 4.0)
        assert other.with_nights_before(prior) is other


@pytest.mark.parametrize(("kurtosis", "scaling"), [(GAUSSIAN, "user, l2"), (LAPLACE, "rating")])
@pytest.mark.parametrize("nights", [1, 9])
def test_nights_of_the_same_people_are_taken_for_others_in_less_than_1_of_500(kurtosis, scaling, nights):
    """240 cells: 1 night in 2,000 with Laplace noise, fewer with Gaussian noise. So more than 6 of 2,000 come by chance
    in 1 of 4,000 runs, and it is seeded. A limit that took Laplace noise for Gaussian came to 1 night in 100 to 300."""
    asked = ItemStatistics(np.full(120, 3.0, dtype=np.float32), dc.Scale(1, 5), scaling)
    rng = np.random.default_rng(4)

    def drawn():
        return rng.normal(size=(2, 120)) if kurtosis == GAUSSIAN else rng.laplace(0, np.sqrt(0.5), size=(2, 120))

    others = 0
    for _ in range(2000):
        before = look(asked, np.mean([drawn() for _ in range(nights)], axis=0), nights**-0.5)
        tonight = replace(look(asked, drawn(), 1.0), kurtosis=kurtosis)
        others += np.isinf(tonight.with_nights_before(prior_of_look(before)).before)
    assert others <= 6


def test_a_look_knows_which_noise_it_has(worlds):
    """Whatever noise was asked for: without a delta there is none but Laplace's."""
    _, ours = worlds
    for unit, delta, noise, kurtosis in (
        (dc.User(), 1e-6, "gaussian", GAUSSIAN),
        (dc.Rating(), 1e-6, "gaussian", GAUSSIAN),
        (dc.Rating(), 1e-6, None, LAPLACE),
        (dc.Rating(), 0.0, "gaussian", LAPLACE),
    ):
        asked = ItemStatistics.of(ours.catalogue, "user, l2" if unit.name == "user" else "rating")
        assert (
            SeenItems.ask(asked, dc.TrustedServer(ours, dc.Ledger(1.0, delta, unit)), 0.5, noise).kurtosis == kurtosis
        )


@pytest.mark.parametrize("unit", [dc.User(), dc.Rating()], ids=["user", "rating"])
def test_a_plan_knows_what_the_nights_before_saw(worlds, unit, monkeypatch):
    _, ours = worlds
    known, release, plan = [], None, Planner.plan

    def noted(self, purpose, seen, left):
        known.append(seen)
        return plan(self, purpose, seen, left)

    monkeypatch.setattr(Planner, "plan", noted)
    for seed in range(1, 5):
        before = ours if release is None else with_prior(ours, release)
        server = dc.TrustedServer(before, dc.Ledger(0.3, 1e-6, unit), randomness=dc.Randomness(seed))
        release = dc.Almanac().fit(server)
    for night, later in pairwise(known):  # each has seen all that came before, and its own first look
        assert later.count_precision >= (night.count_precision + known[0].count_precision) * (1 - 1e-6)
        assert later.sum_precision >= (night.sum_precision + known[0].sum_precision) * (1 - 1e-6)


def look(asked, answer, noise):
    return SeenItems(asked, answer, np.full(answer.shape, float(noise)), "gaussian")


def asked_of(ratings):
    return ItemStatistics.of(ratings.catalogue, "user, l2")


def prior_of_look(seen):
    return replace(
        made_up_prior(seen.answer[0]), sums=seen.answer, sums_noise=seen.deviations, sums_kind=seen.sums.kind
    )


def prior_with(ratings, seen):
    release = fit(ratings, 1.0)
    arrays = dict(release.arrays) | {
        "noisy_sums": seen.answer.astype(np.float32),
        "sums_noise": seen.deviations.astype(np.float32),
        "sums_kind": seen.sums.kind,
    }
    return prior_of(
        dc.Release(release.model, arrays, release.catalogue, dc.Guarantee.none("made up")), ratings.catalogue
    )


@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_nights_that_hide_single_ratings_are_averaged_too(worlds, epsilon, monkeypatch):
    """About which level sums are clipped there goes by a noisy answer, which is another one every night."""
    monkeypatch.setattr(Planner, "plan", lambda self, purpose, known, left: Plan(None, 1.5, left))
    _, ours = worlds
    nights, prior = [], None
    for seed in (1, 2, 3):
        known = ours if prior is None else with_prior(ours, prior)
        server = dc.TrustedServer(known, dc.Ledger(epsilon, 1e-6, dc.Rating()), randomness=dc.Randomness(seed))
        prior = dc.Almanac(purpose="ratings").fit(server)
        nights.append(prior.arrays)
    assert len({tuple(night["sums_kind"][[0, 2, 3]].tolist()) for night in nights}) == 1
    noise = [float(night["sums_noise"].mean()) for night in nights]
    assert noise[1] < 0.8 * noise[0] and noise[2] < 0.9 * noise[1]


def test_popularity_of_a_prior_is_believed_as_far_as_counts_agree():
    rng = np.random.default_rng(3)
    true = rng.lognormal(2, 1, 300)
    seen = counted(true + rng.normal(0, 8, 300), 8.0)
    right, wrong = (made_up_prior(column) for column in (5 * true, rng.permutation(true)))
    counts, agrees = counts_with(seen, right)
    assert agrees > 0.99 and np.abs(counts - true).mean() < 0.3 * np.abs(seen.answer[0] - true).mean()
    assert counts_with(seen, wrong)[1] < 0.01


def test_a_prior_that_could_not_be_more_wrong_leaves_counts_as_they_are():
    rng = np.random.default_rng(4)
    true = rng.lognormal(6, 2, 300)
    seen = counted(true, 1e-3)
    counts, agrees = counts_with(seen, made_up_prior(1 / true))
    assert agrees == 0 and np.isfinite(counts).all()


def counted(counts, noise):
    asked = ItemStatistics(np.zeros(len(counts), dtype=np.float32), dc.Scale(0, 1), "rating", relative_weight=0.0)
    return look(asked, counts[None], noise)


def made_up_prior(counts):
    size = len(counts)
    none = np.zeros((size, 0), dtype=np.float32)
    return ItemPrior(
        matched=np.ones(size, bool), counts=counts.astype(np.float32), base=None, factors=none, tastes=none,
        sums=None, sums_noise=None, sums_kind=None, sentence="",
    )  # fmt: skip


def test_items_are_matched_by_identifier_or_title():
    scale = dc.Scale(1, 5)
    ours = dc.Catalogue.of(["1", "2", "3"], scale, titles=["Heat (1995)", "Jumanji (1995)", "New"])
    shop = dc.Catalogue.of(["1", "9", "2"], scale, titles=["JUMANJI (1995)", "Heat, (1995)", "Old"])
    assert [place.tolist() for place in matches(ours, shop)] == [[0, 1], [1, 0]]
    later = dc.Catalogue.of(["3", "2", "4"], scale, titles=["New", "Jumanji (1995)", "Newer"])
    assert [place.tolist() for place in matches(ours, later)] == [[1, 2], [1, 0]]
    assert [place.tolist() for place in matches(dc.Catalogue.of(["a", "b"], scale), dc.Catalogue.of(["b"], scale))] == [
        [1],
        [0],
    ]


def test_new_items_enter_by_their_features(worlds):
    """Half of the items are unknown to the prior: they are scored like any other, and the release covers them."""
    others, ours = worlds
    half = dc.Almanac().fit(dc.NoPrivacy(others))
    known = dc.Catalogue.of(
        list(half.catalogue.items)[:60], half.catalogue.scale, titles=half.catalogue.titles.tolist()[:60], declared=True
    )
    arrays = {name: array[:60] if len(array) == 120 else array for name, array in half.arrays.items()}
    del arrays["neighbours"], arrays["neighbour_weights"]  # which name items that are no longer there
    prior = dc.Release(half.model, arrays, known, half.guarantee)
    release = fit(ours, 0.3, prior)
    assert np.isfinite(release.score(ours.history_at(0))).all() and release.arrays["unknown"][60:].min() > 0


def test_what_is_no_prior_is_refused(worlds):
    _, ours = worlds
    stranger = dc.Almanac().fit(dc.NoPrivacy(dc.synthetic(users=50, items=30, ratings=600, seed=1)))
    elsewhere = dc.Catalogue.of(["x", "y"], dc.Scale(1, 5), titles=["X", "Y"])
    with pytest.raises(dc.InputError, match="knows none of these items"):
        prior_of(stranger, elsewhere)
    with pytest.raises(dc.InputError, match="releases no counts"):
        with_prior(ours, dc.EASE().fit(dc.NoPrivacy(ours)))


@pytest.mark.parametrize("terms", [{"unit": "user"}, {"delta": 1e-6}, {}], ids=["user", "rating", "no delta"])
def test_popularity_and_patterns_of_data_without_ratings_come_from_a_prior(worlds, terms):
    others, ours = (dc.data.without_ratings(world) for world in worlds)
    train, test = ours.split(test=0.3, seed=1)
    before = dc.Almanac().fit(dc.NoPrivacy(others))
    asked = dc.Terms(epsilon=0.1, noise_seed=3, **terms)

    def ranked(prior):
        known = train if prior is None else with_prior(train, prior)
        release = dc.Almanac().fit(asked.population(known))
        return dc.evaluate(release, train, test, metrics=["ndcg@100"]).rows[0].metrics["ndcg@100"].mean

    alone, helped, misled = (ranked(prior) for prior in (None, before, exchanged(before)))
    assert helped > alone + 0.02 and abs(misled - alone) < 0.01


def test_widths_of_priors_at_home_are_averaged_over_nights(worlds):
    """By how much of all that was seen was seen tonight: about half of it, after one night of the same size."""
    _, ours = worlds
    first = fit(ours, 1.0)
    arrays = dict(first.arrays) | {"prior_scales": np.array([4.0, 0.25, 1.0, 1.0], dtype=np.float32)}
    wide = dc.Release(first.model, arrays, first.catalogue, first.guarantee)
    usual, averaged = (fit(ours, 1.0, prior, seed=2).arrays for prior in (first, wide))
    nights = float(np.median(usual["sums_noise"][0]) / np.median(arrays["sums_noise"][0])) ** 2
    assert 0.35 < nights < 0.65
    np.testing.assert_allclose(
        averaged["prior_scales"] / usual["prior_scales"],
        (arrays["prior_scales"] / first.arrays["prior_scales"]) ** nights,
        rtol=1e-3,
    )
