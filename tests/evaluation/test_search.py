"""A paid search: what it asks, what it pays, that no user or rating says more than was proven, and that it finds."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import InputError, OverspentError
from discreet.evaluation.search import LONGEST, PURPOSE, Search
from discreet.fitting.spending import spend_and_release
from discreet.populations.bounded import tags_of
from discreet.populations.rehearsal import rehearse
from discreet.privacy.bounding import hold_out

RATINGS = dc.synthetic(users=120, items=40, ratings=2400, seed=5)
DAMPINGS = [dc.Bias(item_damping=damping) for damping in (0.1, 5, 500)]


def server(epsilon=5.0, delta=1e-6, unit=None, **named) -> dc.TrustedServer:
    return dc.TrustedServer(RATINGS, dc.Ledger(epsilon, delta, unit or dc.User()), **named)


class Extreme(dc.Bias):
    """Goes from one extreme to the other with every rating of the history: the bound must hold all the same."""

    def predict(self, release, histories, users, items):
        return self.score(release, histories)[users, items]

    def score(self, release, histories):
        scale, items = release.catalogue.scale, np.arange(histories.n_items)
        odd = np.bincount(histories.user_index, minlength=histories.n_users) % 2 == 1
        return np.where(odd[:, None] ^ (items % 2 == 0), scale.low, scale.high).astype(np.float32)


class Doubled(dc.Bias):
    """Asks for twice the sums of Bias: the same shape, and another question."""

    def fit(self, population, progress=None):
        class Twice:
            def __getattr__(self, name):
                return getattr(population, name)

            def sum(self, contribution, share=1.0):
                total, bounds = contribution.total, contribution.bounds
                doubled = replace(
                    contribution,
                    total=lambda ratings: 2 * total(ratings),
                    bounds=tuple(
                        replace(bound, value=2 * bound.value, replace=bound.replace and 2 * bound.replace)
                        for bound in bounds
                    ),
                )
                return population.sum(doubled, share) / 2

        return super().fit(Twice())


class TestWhatIsAsked:
    def test_settings_that_matter_after_the_noise_are_asked_for_once(self):
        single = dc.Bias().fit(server()).spends
        release = Search(candidates=DAMPINGS).fit(server())
        assert [spend.what for spend in release.spends[:-1]] == [spend.what for spend in single]
        assert release.spends[-1].chooses

    def test_different_questions_are_paid_one_by_one(self):
        release = Search(candidates=[dc.Bias(), Doubled(), dc.Bias(item_damping=1)]).fit(server())
        single = dc.Bias().fit(server()).spends
        assert len(release.spends) == 2 * len(single) + 1  # two different questions, and the comparison
        for place in range(len(single)):
            spend, alone = release.spends[place], single[place]
            assert spend.noise_multiplier == pytest.approx(alone.noise_multiplier * np.sqrt(2 / 0.95), rel=1e-6)

    @pytest.mark.parametrize(
        ("unit", "delta"),
        [(dc.User(), 1e-6), (dc.User(max_ratings=20), 1e-6), (dc.Rating(), 1e-6), (dc.Rating(), 0.0)],
    )
    def test_never_over_the_limit(self, unit, delta):
        population = server(2.0, delta, unit)
        release = Search(candidates=[*DAMPINGS, dc.Bias(user_damping=1)]).fit(population)
        assert population.ledger.spent <= 2.0 * (1 + 1e-9)
        assert release.guarantee.proven.epsilon <= 2.0 * (1 + 1e-9)
        assert release.guarantee.tuning == "paid"
        assert "the search is paid for in the ledger" in str(release.guarantee)
        release.require_paid()

    def test_noise_of_two_kinds_is_made_one(self):
        """Shares of Laplace noise and of Gaussian noise do not add up to one budget."""
        population = server(5.0, 1e-6, dc.Rating())
        assert {spend.mechanism for spend in dc.Bias().fit(server(5.0, 1e-6, dc.Rating())).spends} == {"laplace"}
        release = Search(candidates=[dc.Bias(), dc.CovarianceKNN(), dc.Almanac()]).fit(population)
        assert {spend.mechanism for spend in release.spends} == {"gaussian"}
        assert release.guarantee.proven.epsilon <= 5.0 * (1 + 1e-9)

    def test_the_candidates_are_fitted_on_what_was_not_held_out(self):
        search = Search(candidates=[dc.Popularity(), dc.Popularity()], metric="ndcg@10", held_out=0.4)
        release = search.fit(dc.NoPrivacy(RATINGS))
        held = hold_out(RATINGS.indptr, RATINGS.item_index, tags_of(RATINGS), 0.4, PURPOSE)
        expected = dc.Popularity().fit(dc.NoPrivacy(RATINGS.select(~held)))
        for name, array in expected.arrays.items():
            np.testing.assert_array_equal(release.arrays[name], array)

    def test_the_same_release_as_without_the_other_candidates(self):
        """The winner's arrays are those of its own fit on the same answers."""
        search = Search(candidates=DAMPINGS)
        release = search.fit(dc.NoPrivacy(RATINGS))
        held = hold_out(RATINGS.indptr, RATINGS.item_index, tags_of(RATINGS), 0.1, PURPOSE)
        alone = release.model.fit(dc.NoPrivacy(RATINGS.select(~held)))
        for name, array in alone.arrays.items():
            np.testing.assert_array_equal(release.arrays[name], array)


class TestFinding:
    def test_finds_what_is_clearly_best(self):
        """By far more than the noise: one is ahead by 10, and the noise deviates by 0.14."""
        for candidates in ([dc.Bias(), Extreme()], [Extreme(), dc.Bias()]):
            assert type(Search(candidates=candidates).fit(server(20.0)).model) is dc.Bias

    def test_finds_the_better_ranking(self):
        @dataclass(frozen=True, kw_only=True)
        class Backwards(dc.Popularity):
            def score(self, release, histories):
                return -super().score(release, histories)

        search = Search(candidates=[Backwards(), dc.Popularity()], metric="ndcg@10")
        assert type(search.fit(server(20.0)).model) is dc.Popularity

    def test_agrees_with_the_scores_themselves(self):
        """Without noise: the candidate with the least bounded loss, user by user."""
        search = Search(candidates=DAMPINGS, held_out=0.3)
        held = hold_out(RATINGS.indptr, RATINGS.item_index, tags_of(RATINGS), 0.3, PURPOSE)
        train, test = RATINGS.select(~held), RATINGS.select(held)
        releases = [model.fit(dc.NoPrivacy(train)) for model in DAMPINGS]
        expected = np.zeros(3)
        for user in range(RATINGS.n_users):
            own = np.flatnonzero(test.user_index == user)
            if len(own) == 0:
                continue
            row = []
            for release in releases:
                errors = release.predict(train, test.user_index[own], test.item_index[own]) - test.values[own]
                row.append(-np.mean(np.minimum(1, (errors / 2) ** 2)))
            centred = np.array(row) - np.mean(row)
            expected += centred * min(1, LONGEST / max(np.linalg.norm(centred), 1e-12))
        found = search.comparison(releases).total(RATINGS)
        np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("metric", ["rmse", "ndcg@2"])
def test_nobody_says_more_than_was_proven(metric):
    """All users and ratings of a small universe, one by one."""
    catalogue = dc.Catalogue.of(["a", "b", "c"], dc.Scale(1, 5))
    few = dc.Ratings.of_columns(catalogue, dc.data.Labels.of(["u"], what="user"), [0, 0], [0, 1], [1, 5])
    models = [dc.Bias(), Extreme(), dc.Bias(user_damping=0.1)]
    releases = [model.fit(dc.NoPrivacy(few)) for model in models]
    comparison = Search(candidates=models, metric=metric, held_out=0.5).comparison(releases)
    found = dc.audit.check_sensitivity(comparison, catalogue, [1.0, 5.0], users=2, most=150)
    reached = {(one.bound.unit, one.bound.norm): one.share for one in found}
    assert reached["user", "l2"] == pytest.approx(1, rel=1e-6)  # the bound is not loose
    assert all(share <= 1 for share in reached.values())


class Contrary(Extreme):
    """Foresees a 5 where the other foresees a 1."""

    def score(self, release, histories):
        scale = release.catalogue.scale
        return scale.low + scale.high - super().score(release, histories)


def test_one_rating_can_turn_a_user_around(monkeypatch):
    """From wholly for one candidate to wholly for the other: nothing less than twice the length of a row would do."""

    def first_item_held_out(self, ratings, *key):
        return ratings.select(ratings.item_index > 0), ratings.select(ratings.item_index == 0)

    monkeypatch.setattr(Search, "_parts", first_item_held_out)
    catalogue = dc.Catalogue.of(["a", "b", "c"], dc.Scale(1, 5))
    few = dc.Ratings.of_columns(catalogue, dc.data.Labels.of(["u"], what="user"), [0, 0], [0, 1], [1, 5])
    models = [Extreme(), Contrary()]
    releases = [model.fit(dc.NoPrivacy(few)) for model in models]
    comparison = Search(candidates=models).comparison(releases)
    one, two = (comparison.total(few.select(np.isin(few.item_index, kept))) for kept in ([0], [0, 1]))
    moved = np.linalg.norm(one - two)
    assert moved == pytest.approx(2 * LONGEST, rel=1e-6)
    assert moved <= comparison.bound("rating", "l2").value
    assert np.abs(one - two).sum() <= comparison.bound("rating", "l1").value


class Crowded(dc.Bias):
    """Its scores depend on who else is asked about at once, as last bits of matrix products do; some are no numbers."""

    def predict(self, release, histories, users, items):
        found = self.score(release, histories)[users, items]
        found[items == 0] = np.nan
        return found

    def score(self, release, histories):
        found = np.roll(super().score(release, histories), histories.n_users, axis=1)
        found[:, 0] = np.nan
        return found


@pytest.mark.parametrize("metric", ["rmse", "ndcg@10"])
def test_nobody_moves_what_others_say(metric):
    """Not in the last bit: sums without and with a user differ by that user's row exactly, in whatever company."""
    models = [dc.Bias(), Crowded(), dc.Bias(item_damping=500)]
    releases = [model.fit(dc.NoPrivacy(RATINGS)) for model in models]
    total = Search(candidates=models, metric=metric, held_out=0.3).comparison(releases).total
    whole = total(RATINGS)
    for user in (0, 57, 119):
        others = RATINGS.select_users(np.delete(np.arange(RATINGS.n_users), user))
        own = total(RATINGS.select_users(np.array([user])))
        np.testing.assert_array_equal(whole - total(others), own)
        assert np.linalg.norm(own) <= LONGEST


class Unsolved(dc.Bias):
    """Fails for whoever gave a 5, as a system of equations may that has no solution."""

    def predict(self, release, histories, users, items):
        return self.score(release, histories)[users, items]

    def score(self, release, histories):
        if (histories.values == 5).any():
            raise np.linalg.LinAlgError("Singular matrix")
        return super().score(release, histories)


class Boundless(dc.Bias):
    """Computes infinity for whoever gave a 5."""

    def predict(self, release, histories, users, items):
        return self.score(release, histories)[users, items]

    def score(self, release, histories):
        scores = super().score(release, histories)
        scores[np.unique(histories.user_index[histories.values == 5])] = np.inf
        return scores


@pytest.mark.parametrize("metric", ["rmse", "ndcg@10", "hit@5"])
@pytest.mark.parametrize("model", [Unsolved(), Boundless()])
def test_a_search_never_refuses_because_of_ratings(metric, model):
    """Nor may a score that is no number win: whoever has none counts as served worst."""
    models = [dc.Bias(), model]
    releases = [one.fit(dc.NoPrivacy(RATINGS)) for one in models]
    search = Search(candidates=models, metric=metric, held_out=0.3)
    fives = np.unique(RATINGS.user_index[RATINGS.values == 5])
    assert len(fives) > 0
    rows = search.comparison(releases).total(RATINGS.select_users(fives))
    assert np.isfinite(rows).all()
    assert rows[1] <= rows[0]
    ledger = dc.Ledger(epsilon=1.0, delta=1e-6, unit=dc.User(max_ratings=50))
    assert search.fit(dc.TrustedServer(RATINGS, ledger)).model in models


@given(seed=st.integers(0, 2**32 - 1), share=st.floats(0.05, 0.9))
def test_what_is_held_out_depends_on_no_other_rating(seed, share):
    """A rating more or less leaves all others on their side."""
    rng = np.random.default_rng(seed)
    gone = int(rng.integers(len(RATINGS)))
    fewer = RATINGS.select(np.arange(len(RATINGS)) != gone)
    search = Search(candidates=DAMPINGS, held_out=share)
    for whole, part in zip(search._parts(RATINGS), search._parts(fewer), strict=True):
        assert len(whole) - len(part) in (0, 1)
        keys = [p.user_index.astype(np.int64) * p.n_items + p.item_index for p in (whole, part)]
        assert np.isin(keys[1], keys[0]).all()
    assert sum(map(len, search._parts(fewer))) == len(RATINGS) - 1


def test_an_audit_by_hand_does_not_accuse():
    """With and without one user who does all to sway the choice: the odds differ by no more than e^epsilon."""
    catalogue = dc.Catalogue.of([str(item) for item in range(12)], dc.Scale(1, 5))
    rng = np.random.default_rng(0)
    base = dc.Ratings.of_columns(
        catalogue, dc.data.Labels.of(list("abcdef"), what="user"), np.repeat(np.arange(6), 12),
        np.tile(np.arange(12), 6), rng.integers(1, 6, 72),
    )  # fmt: skip
    without = base.select_users(np.arange(5))
    candidates = [dc.Bias(item_damping=0.1), Extreme()]
    epsilon, runs = 1.0, 150
    wins = []
    for number, ratings in enumerate((base, without)):
        chosen = 0
        for run in range(runs):
            ledger = dc.Ledger(epsilon, 1e-6, dc.User())
            population = dc.TrustedServer(ratings, ledger, randomness=dc.Randomness(seed=number * runs + run))
            chosen += type(Search(candidates=candidates, held_out=0.5, share=0.9).fit(population).model) is Extreme
        wins.append((chosen + 1) / (runs + 2))
    deviation = np.sqrt(sum((1 - share) / (share * runs) for share in wins))
    assert abs(np.log(wins[0] / wins[1])) <= epsilon + 5 * deviation


class TestTheBudget:
    def test_the_rehearsal_is_the_fit(self):
        for candidates in (DAMPINGS, [dc.Bias(), Doubled(), dc.CovarianceKNN()]):
            population = server()
            plan = rehearse(Search(candidates=candidates), population)
            assert population.spends == ()
            Search(candidates=candidates).fit(population)
            assert population.spends == plan.spends

    def test_candidates_that_choose_on_the_way_are_paid_by_the_limit(self, tmp_path):
        search = Search(candidates=[dc.Almanac(), dc.Almanac(purpose="ratings"), dc.Bias()])
        budget = dc.Budget(f"sqlite:///{tmp_path}/budget.sqlite")
        budget.declare("made up", epsilon=2.0, delta=1e-6, unit=dc.User())
        release = spend_and_release(search, server(2.0), tmp_path / "out", budget=budget, data="made up")
        assert release.guarantee.tuning == "paid" and release.guarantee.proven.epsilon == 2.0
        assert budget.account("made up").spent == pytest.approx(2.0)

    @pytest.mark.parametrize("others", [[dc.Bias()], [dc.Almanac(purpose="ratings")], []])
    def test_with_the_unit_rating_one_budget_pays_for_all_that_they_choose(self, others):
        """Laplace noise, then Gaussian noise, then Laplace noise again for the next candidate would cost too much."""
        ratings = dc.synthetic(users=2000, items=100, ratings=60_000, seed=1)
        for candidates in ([dc.Almanac(), *others, dc.Bias()], [dc.Bias(), *others, dc.Almanac()]):
            ledger = dc.Ledger(1.0, 1e-6)
            Search(candidates=candidates).fit(dc.TrustedServer(ratings, ledger))
            assert 0.99 < ledger.spent <= 1 + 1e-9

    def test_a_lasting_budget_pays_for_a_search(self, tmp_path):
        budget = dc.Budget(f"sqlite:///{tmp_path}/budget.sqlite")
        budget.declare("made up", epsilon=1.0, delta=1e-6, unit=dc.User())
        search = Search(candidates=DAMPINGS)
        release = spend_and_release(search, server(1.0), tmp_path / "out", budget=budget, data="made up")
        again = dc.Release.load(tmp_path / "out")
        assert again.model == release.model and again.guarantee.tuning == "paid"
        with pytest.raises(OverspentError):
            spend_and_release(search, server(1.0), tmp_path / "more", budget=budget, data="made up")

    def test_a_seeded_search_promises_nothing(self):
        release = Search(candidates=DAMPINGS).fit(server(randomness=dc.Randomness(seed=1)))
        assert release.guarantee.proven is None and "seeded" in release.guarantee.reason


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"candidates": [dc.Bias()]}, "at least two candidates"),
        ({"candidates": [dc.Bias(), dc.MF()]}, "MF needs the raw ratings"),
        ({"candidates": [dc.Bias(), dc.Popularity()]}, "Popularity does not predict ratings"),
        ({"candidates": [dc.Bias(), "bias"]}, "'bias' is no model"),
        ({"candidates": DAMPINGS, "metric": "mae"}, "by rmse or a metric of rankings"),
        ({"candidates": DAMPINGS, "share": 1.0}, "share must lie between 0 and 1, got 1.0"),
        ({"candidates": DAMPINGS, "held_out": 0}, "held_out must lie between 0 and 1, got 0"),
    ],
)
def test_refuses_in_a_sentence(settings, sentence):
    with pytest.raises(InputError, match=sentence):
        Search(**settings)


def test_devices_are_refused():
    devices = dc.LocalDevices(RATINGS, dc.Ledger(1.0, unit=dc.Rating()))
    with pytest.raises(InputError, match="needs a trusted server"):
        Search(candidates=DAMPINGS).fit(devices)


def test_replacing_a_setting_keeps_the_others():
    assert replace(Search(candidates=DAMPINGS), share=0.2).candidates == tuple(DAMPINGS)
