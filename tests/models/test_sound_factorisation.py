"""The sound factor models: what is proven of them, by brute force, and the counter-examples that break published forms.

The published forms fail these: a rating that moves every item through a trained U, an item with one rater, noise drawn
anew in each step and never composed, and a vector of a user that was trained on others.
"""

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.data.labels import Labels
from discreet.kernels.huber import gradient_of, minimise
from discreet.models.sums.filtered_sums import FilteredSums
from discreet.models.sums.huber_items import HuberItems
from discreet.models.sums.value_sums import ValueSums
from discreet.populations.mechanism import Allowance
from discreet.populations.weighted import WEIGHT_FACT

RATINGS = dc.synthetic(users=120, items=25, ratings=1500, seed=1)
SMALL = dc.Catalogue.of(["a", "b"], dc.Scale(1, 5), declared=True)
VALUE = dc.Rating("replace")


def table(catalogue, rows, **facts):
    """Ratings from (user, item, value), all users listed."""
    user, item, value = (np.array(column) for column in zip(*rows, strict=True))
    names = Labels(np.unique(user).astype(np.str_), what="user")
    return dc.Ratings.of_columns(catalogue, names, user, item, value, user_facts=facts)


# ── Mechanisms against their own books ──


@pytest.mark.parametrize(
    "asked",
    [
        ValueSums(catalogue=SMALL),
        ValueSums(catalogue=SMALL, factors=1),
        HuberItems(catalogue=SMALL),
        HuberItems(catalogue=SMALL, threshold=0.4),
        HuberItems(catalogue=SMALL, noise="gaussian"),
    ],
    ids=["values", "values and factors", "huber", "huber, strict", "huber, gaussian"],
)
def test_no_outcome_is_likelier_than_the_ledger_says(asked):
    asked.check(SMALL)


def test_the_check_catches_too_little_noise(monkeypatch):
    right = HuberItems.objective_scale
    monkeypatch.setattr(HuberItems, "objective_scale", lambda self, *at: right(self, *at) / 2)
    with pytest.raises(dc.InputError, match="times as likely"):
        HuberItems(catalogue=SMALL).check(SMALL)
    monkeypatch.setattr(HuberItems, "objective_scale", right)
    monkeypatch.setattr(
        HuberItems, "ridge", lambda self, epsilon: 0.1
    )  # the determinants then differ by a factor of 11
    with pytest.raises(dc.InputError, match="times as likely"):
        HuberItems(catalogue=SMALL, threshold=0.4).check(SMALL)


def test_the_check_catches_values_that_move_what_is_called_public(monkeypatch):
    right = ValueSums.exact

    def leaking(self, ratings):
        found = dict(right(self, ratings))
        return found | {"grams": found["grams"] * (1 + ratings.values.sum())}

    monkeypatch.setattr(ValueSums, "exact", leaking)
    with pytest.raises(dc.InputError, match="times as likely"):
        ValueSums(catalogue=SMALL).check(SMALL)


def test_huber_in_one_dimension_comes_close_to_its_bound():
    """Section 4, L5: 1.5986 of a bound of 1.59861, at epsilon 1 for the noise and a ridge of 1.217."""
    points, ridge, scale, threshold = np.linspace(-60, 60, 200_001), 1.217, 1.0, 1.0
    curvature = np.full(len(points), ridge)
    absent = -np.abs(-ridge * points) / scale + np.log(curvature)
    residual = 3.0 - points
    noise = np.clip(residual, -threshold, threshold) - ridge * points
    present = -np.abs(noise) / scale + np.log(curvature + (np.abs(residual) < threshold))
    bound = threshold / scale + math.log1p(1 / ridge)
    assert 0.99 * bound < np.abs(present - absent).max() <= bound + 1e-9


@pytest.mark.parametrize("dimensions", [1, 3])
def test_minimisers_are_minima(dimensions):
    rng = np.random.default_rng(dimensions)
    sizes = rng.integers(0, 40, 60)
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    features = rng.normal(size=(indptr[-1], dimensions))
    features /= np.maximum(np.linalg.norm(features, axis=1, keepdims=True), 1)
    targets, noise = rng.normal(0, 3, indptr[-1]), rng.standard_cauchy((60, dimensions)) * 5
    found, lengths = minimise(indptr, features, targets, noise, 0.7, 0.5)
    assert lengths.max() < 1e-9
    for item in range(60):
        rows = slice(indptr[item], indptr[item + 1])
        gradient = gradient_of(features[rows], targets[rows], noise[item], 0.7, 0.5, found[item])
        assert np.linalg.norm(gradient) == pytest.approx(lengths[item], abs=1e-12)


def test_a_minimiser_that_was_not_found_is_not_released(monkeypatch):
    from discreet.models.sums import huber_items

    def lazy(indptr, features, targets, noise, threshold, ridge):
        found, lengths = minimise(indptr, features, targets, noise, threshold, ridge)
        return found + 0.1, lengths + (0.1 * ridge if len(targets) else 0.0)

    monkeypatch.setattr(huber_items, "minimise", lazy)
    server = dc.TrustedServer(RATINGS, dc.Ledger(1.0))
    with pytest.raises(dc.InputError, match="could not be drawn, and what was booked for it stays spent"):
        server.run(HuberItems(catalogue=RATINGS.catalogue))


def test_less_exact_minimisers_get_more_noise():
    """Approximate minima perturbation: noise covers what a tolerance leaves open. Odds of failing: below 1e-20."""
    empty = table(RATINGS.catalogue, [(0, 0, 3.0)])
    spread = []
    for tolerance in (1e-6, 100.0):
        asked = HuberItems(catalogue=RATINGS.catalogue, tolerance=tolerance)
        drawn = [dc.TrustedServer(empty, dc.Ledger(5.0)).run(asked)["vectors"] for _ in range(20)]
        spread.append(np.std(drawn))
    assert spread[1] > 10 * spread[0]


# ── The counter-examples ──


def test_one_rating_of_ten_moves_one_item_alone():
    """One user, ten items, (1, …, 1) or (5, 1, …, 1): through a trained U the published form moves all ten."""
    catalogue = dc.Catalogue.of([str(n) for n in range(10)], dc.Scale(1, 5), declared=True)
    ones, one_five = ([(0, n, 5.0 if n == 0 and first == 5 else 1.0) for n in range(10)] for first in (1, 5))
    for asked, unit in (
        (ValueSums(catalogue=catalogue, factors=2), VALUE),
        (HuberItems(catalogue=catalogue), dc.Rating()),
    ):
        drawn = []
        for rows in (ones, one_five):
            server = dc.TrustedServer(
                table(catalogue, rows), dc.Ledger(0.1, unit=unit), randomness=dc.Randomness(seed=5)
            )
            drawn.append(next(iter(server.run(asked).values())))
        moved = np.flatnonzero(np.abs(drawn[0] - drawn[1]).max(axis=1) > 1e-12)
        assert moved.tolist() == [0]


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0])
def test_the_total_variation_of_an_item_with_one_rater_is_what_epsilon_allows(epsilon):
    """The published forms come to .66 and .945 at any of these; a pure epsilon allows tanh(epsilon/2)."""
    catalogue = dc.Catalogue.of(["a"], dc.Scale(1, 5), declared=True)
    asked = HuberItems(catalogue=catalogue)
    ridge, scale = asked.ridge(epsilon), asked.objective_scale(epsilon, 1.0)
    points = np.linspace(-1, 1, 400_001) * 60 * scale / ridge
    laws = []
    for rows in ([], [5.0], [1.0]):
        residuals = np.array(rows)[None, :] - 3.5 - points[:, None]
        noise = np.clip(residuals, -asked.threshold, asked.threshold).sum(axis=1) - ridge * points
        density = np.exp(-np.abs(noise) / scale) * (ridge + (np.abs(residuals) < asked.threshold).sum(axis=1))
        laws.append(density / density.sum())
    for one, other in ((0, 1), (0, 2)):
        assert np.abs(laws[one] - laws[other]).sum() / 2 <= math.tanh(epsilon / 2)


def test_an_item_with_one_rater_tells_nothing_by_its_scale():
    """T10: |v| > 10 b/(1 + Λ) had frequencies .9 and 5e-5. False alarm below 1e-6: Clopper–Pearson at 1e-7 each."""
    from discreet.audit.bounds import clopper_pearson

    catalogue = dc.Catalogue.of(["a", "b"], dc.Scale(1, 5), declared=True)
    asked, epsilon, runs = HuberItems(catalogue=catalogue), 0.5, 400
    cut = 2 * asked.objective_scale(epsilon, 1.0) / (1 + asked.ridge(epsilon))
    hits = []
    for rows in ([(0, 1, 3.0)], [(0, 1, 3.0), (0, 0, 5.0)]):
        ratings = table(catalogue, rows)
        found = [dc.TrustedServer(ratings, dc.Ledger(epsilon)).run(asked)["vectors"][0, 0] for _ in range(runs)]
        hits.append(np.count_nonzero(np.abs(found) > cut))
    for one, other in (hits, hits[::-1]):
        low, high = clopper_pearson(one, runs, 1e-7)[0], clopper_pearson(other, runs, 1e-7)[1]
        assert low <= math.exp(epsilon) * high


@pytest.mark.parametrize("name", ["PatternMF", "HuberMF", "FilteredMF"])
def test_users_are_served_from_the_release_alone(name, tmp_path):
    """A Sybil who rated one item gets what the release and that rating say, and nothing that was trained on others."""
    unit = {"PatternMF": VALUE, "HuberMF": dc.Rating(), "FilteredMF": dc.User()}[name]
    release = getattr(dc, name)().fit(dc.TrustedServer(RATINGS, dc.Ledger(1.0, 1e-6, unit)))
    assert not any(RATINGS.n_users in array.shape for array in release.arrays.values())
    release.save(tmp_path / "release")
    sybil = dc.History.of(RATINGS.catalogue, {RATINGS.catalogue.items[3]: 5})
    assert np.array_equal(dc.Release.load(tmp_path / "release").score(sybil), release.score(sybil))


@pytest.mark.parametrize(
    ("model", "unit", "looks"),
    [
        (dc.PatternMF(factors=2), VALUE, ["pure"]),
        (dc.HuberMF(), dc.Rating(), ["pure", "laplace"]),
        (dc.FilteredMF(), dc.User(), ["gaussian"]),
    ],
)
def test_every_draw_of_noise_is_in_the_ledger(model, unit, looks):
    ledger = dc.Ledger(0.7, 1e-6, unit)
    release = model.fit(dc.TrustedServer(RATINGS, ledger))
    assert [spend.mechanism for spend in release.spends] == looks
    assert release.guarantee.proven is not None and ledger.spent <= 0.7 * (1 + 1e-9)


# ── Units, facts and words ──


def test_the_pattern_is_public_and_it_is_said_loudly():
    release = dc.PatternMF().fit(dc.TrustedServer(RATINGS, dc.Ledger(1.0, unit=VALUE)))
    assert "Not hidden: which items a user rated." in str(release.guarantee)
    assert release.guarantee.proven == dc.privacy.Loss(1.0, release.guarantee.proven.delta)
    assert release.guarantee.proven.delta < 1e-15


@pytest.mark.parametrize(
    ("model", "unit", "sentence"),
    [
        (dc.PatternMF(), dc.Rating(), "takes for public which items a user rated"),
        (dc.PatternMF(), dc.User(), "takes for public which items a user rated"),
        (dc.HuberMF(), dc.User(), "is proven for one rating|no proven bound"),
        (dc.FilteredMF(), dc.Rating(), "present or absent, and not for one rating"),
    ],
)
def test_other_units_are_refused_before_anything_is_spent(model, unit, sentence):
    ledger = dc.Ledger(1.0, 1e-6, unit)
    with pytest.raises(dc.InputError, match=sentence):
        from discreet.populations.rehearsal import rehearse

        rehearse(model, dc.TrustedServer(RATINGS, ledger))
    assert ledger.spends == ()


def test_public_facts_about_users_become_factors():
    facts = np.where(np.arange(RATINGS.n_users) % 2 == 0, "F", "M")
    ratings = replace(RATINGS, user_facts={"gender": facts})
    model = dc.HuberMF(facts="gender=F,gender=M")
    release = model.fit(dc.TrustedServer(ratings, dc.Ledger(5.0)))
    assert release.arrays["item_factors"].shape == (RATINGS.n_items, 2) and release.arrays["item_factors"].any()
    features = HuberItems(catalogue=ratings.catalogue, facts=("gender=F", "gender=M"))._features(ratings)
    assert np.linalg.norm(features, axis=1).max() <= 1
    with pytest.raises(dc.InputError, match="name=value"):
        dc.HuberMF(facts="gender").fit(dc.NoPrivacy(ratings))


def test_gaussian_noise_in_the_objective_needs_a_delta():
    model = dc.HuberMF(noise="gaussian")
    ledger = dc.Ledger(1.0, 1e-6)
    assert model.fit(dc.TrustedServer(RATINGS, ledger)).guarantee.proven.epsilon == 1.0
    assert ledger.spends[0].slack >= 1e-11
    with pytest.raises(dc.InputError, match="needs a delta"):
        model.fit(dc.TrustedServer(RATINGS, dc.Ledger(1.0)))


# ── The filter ──


def counting(steps=6, lasting=2.0, clip=1.0, rows=None):
    """Each rating adds 1/4: a user with four ratings has a row of length 1/2, one with 16 or more the full length."""
    return FilteredSums(
        name="counts",
        start=np.zeros((RATINGS.n_items, 1)),
        channels=1,
        rows=rows or (lambda ratings, known: np.full((len(ratings), 1), 0.25)),
        update=lambda known, noisy, step, deviation: known + noisy,
        steps=steps,
        clip=clip,
        lasting=lasting,
    )


def test_users_last_as_long_as_their_own_budget():
    """The noise is made tiny by hand, so that the sums show who was in."""
    rows = [(0, n, 3.0) for n in range(16)] + [(1, n, 3.0) for n in range(16, 20)]
    asked = counting()
    spend = replace(asked.spend(Allowance(unit=dc.User(), epsilon=1.0, mu=1.0)), scale=1e-6)
    known = asked.draw(table(RATINGS.catalogue, rows), spend, dc.Randomness(seed=1))["known"][:, 0]
    assert known[0] == pytest.approx(2 * 0.25, abs=1e-4)  # the full length: out after `lasting` steps
    assert known[16] == pytest.approx(6 * 0.25, abs=1e-4)  # half of it: would last for eight
    weak = table(RATINGS.catalogue, rows, **{WEIGHT_FACT: np.array([1.0, 0.75])})
    known = asked.draw(weak, spend, dc.Randomness(seed=1))["known"][:, 0]
    assert known[16] == pytest.approx(4 * 0.25, abs=1e-4)  # .75² of the budget


def test_the_check_of_a_filter_catches_rows_that_depend_on_others():
    counting().check(RATINGS.catalogue)
    others = counting(rows=lambda ratings, known: np.full((len(ratings), 1), 0.25 * ratings.n_users))
    with pytest.raises(dc.InputError, match="moves a sum by"):
        others.check(RATINGS.catalogue)


def test_levels_pay_their_own_mu():
    wishes = dc.populations.Groups(of="user").wishes()
    server = dc.TrustedServer(RATINGS, dc.Ledger(1.0, 1e-6, dc.User()), wishes=wishes)
    release = dc.FilteredMF().fit(server)
    assert release.spends[0].weighted
    losses = [level.loss.epsilon for level in release.guarantee.levels]
    assert losses == [0.1, 0.2, 1.0]


def test_numbers_of_the_golden_table():
    from discreet.privacy.gaussian import mu_of

    golden = {1: 0.3139, 2: 0.5766, 5: 1.2564, 10: 2.1965}
    assert {epsilon: round(mu_of(epsilon, 1e-4), 4) for epsilon in golden} == pytest.approx(golden, abs=2e-4)


def test_frames_keep_the_facts_that_a_model_names():
    frame = pl.DataFrame({"user": [1, 1, 2], "item": ["a", "b", "a"], "rating": [5, 4, 1]})
    ratings = dc.from_frame(frame, scale=(1, 5))
    release = dc.HuberMF(facts="gender=F").fit(dc.NoPrivacy(ratings))  # nobody has the fact: a factor of zeros
    assert not release.arrays["item_factors"].any()
