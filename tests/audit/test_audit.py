"""Canaries, recording and the words of an audit."""

import json
import time
from dataclasses import dataclass

import numpy as np
import pytest

import discreet as dc
from discreet.audit.attack import Adversary, log_likelihood_ratio
from discreet.audit.canaries import canaries_for, joined, pairs_for, single_ratings_for, users_of, with_chosen
from discreet.audit.learning import canary_cells, differing_cells, fisher_direction, flat, numeric
from discreet.audit.one_run import canary_scores
from discreet.audit.recording import Look, RecordingPopulation
from discreet.errors import InputError
from discreet.models.sums.item_statistics import item_counts, item_statistics
from discreet.privacy.noise import add_gaussian, add_laplace

RATINGS = dc.synthetic(users=30, items=12, ratings=150, seed=1)


@pytest.mark.parametrize("unit", ["rating", "user"])
def test_pairs_are_neighbours(unit):
    for pair in pairs_for(RATINGS, unit):
        before = dict(zip(pair.absent.users.names, pair.absent.csr.toarray(), strict=True))
        gained = pair.present.csr.toarray() - [before.get(name, np.zeros(12)) for name in pair.present.users.names]
        assert not pair.present.has_repeats
        assert len(set(np.nonzero(gained)[0])) == 1  # one user
        assert pair.present.n_users - pair.absent.n_users == (unit == "user")
        assert unit == "user" or np.count_nonzero(gained) == 1
        for asked in (item_counts(12, dc.User()), item_statistics(12, RATINGS.catalogue.scale)):
            moved = asked.total(pair.present) - asked.total(pair.absent)
            own = asked.total(pair.own_present) - asked.total(pair.own_absent)
            np.testing.assert_allclose(moved, own, atol=1e-9)


def test_a_device_is_audited_alone():
    for pair in pairs_for(RATINGS, "user", device=True):
        assert pair.absent.n_users == pair.present.n_users == 1
        assert pair.own_present is pair.present


def test_canaries_do_not_overlap_and_are_all_different_users():
    canaries = canaries_for(RATINGS, 5)
    assert canaries.n_users == 5 and len(canaries) == 12
    assert sorted(canaries.item_index.tolist()) == list(range(12))
    assert canaries_for(RATINGS, 30).n_users == 30  # more than items: they go round
    assert single_ratings_for(RATINGS, 30).n_users == len(single_ratings_for(RATINGS, 30)) == 30


@pytest.mark.parametrize("unit", ["rating", "user"])
def test_chosen_canaries_join_the_data(unit):
    canaries = single_ratings_for(RATINGS, 4)
    chosen = np.array([True, False, False, True])
    whole = with_chosen(RATINGS, canaries, chosen, unit)
    assert len(whole) == len(RATINGS) + 2
    assert whole.n_users == RATINGS.n_users + (2 if unit == "user" else 4)


def test_canaries_borrow_times_and_facts():
    facts = {"age": np.arange(RATINGS.n_users)}
    ratings = dc.Ratings(
        RATINGS.catalogue, RATINGS.users, RATINGS.user_index, RATINGS.item_index, RATINGS.values, RATINGS.times, facts
    )
    whole = joined(ratings, users_of(RATINGS.catalogue, [[(0, 5.0)], []]))
    assert len(whole.times) == len(whole) and len(whole.user_facts["age"]) == whole.n_users
    with pytest.raises(InputError, match="canaries already"):
        joined(whole, users_of(RATINGS.catalogue, [[]]))


def test_recording_changes_nothing_and_keeps_everything():
    terms = [(dc.Ledger(1.0), "laplace"), (dc.Ledger(1.0, 1e-6, dc.User()), "gaussian")]
    for ledger, law in terms:
        plain = dc.TrustedServer(RATINGS, dc.Ledger(1.0, ledger.delta, ledger.unit), randomness=dc.Randomness(1))
        recorded = RecordingPopulation(dc.TrustedServer(RATINGS, ledger, randomness=dc.Randomness(1)))
        one, two = dc.Bias().fit(plain), dc.Bias().fit(recorded)
        np.testing.assert_array_equal(one.arrays["item_bias"], two.arrays["item_bias"])
        (look,) = recorded.looks
        assert look.law == law and look.spends == recorded.spends
        assert recorded.deviation(look.contribution) == plain.deviation(look.contribution)
        assert recorded.unit == ledger.unit and recorded.catalogue is RATINGS.catalogue
        assert recorded.ledger is ledger  # whatever else a model may want


def test_many_devices_together_are_nearly_gaussian():
    recorded = RecordingPopulation(dc.LocalDevices(RATINGS, dc.Ledger(1.0), randomness=dc.Randomness(1)))
    dc.Popularity().fit(recorded)
    assert recorded.looks[0].law == "gaussian"
    assert recorded.looks[0].scale == pytest.approx((2 * RATINGS.n_users) ** 0.5, rel=1e-3)


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_the_likelihood_ratio_is_that_of_the_densities(law):
    rng = np.random.default_rng(1)
    base, moved, answer = rng.normal(size=(3, 2, 5))
    moved[:, 3:] = 0
    look = Look(item_counts(5), answer, law, 1.7, ())

    def log_density(centre):
        gap = (answer - centre) / 1.7
        return -np.abs(gap).sum() if law == "laplace" else -(gap**2).sum() / 2

    wanted = log_density(base + moved) - log_density(base)
    assert log_likelihood_ratio(look, base, moved) == pytest.approx(wanted)


@pytest.mark.parametrize("unit", ["rating", "user"])
def test_scores_of_canaries_apart_are_likelihood_ratios(unit):
    """With one cell each no canary hides another: the score is the ratio of its own two worlds."""
    canaries = single_ratings_for(RATINGS, 12)
    ledger = dc.Ledger(1.0) if unit == "rating" else dc.Ledger(1.0, 1e-6, dc.User())
    recorded = RecordingPopulation(dc.TrustedServer(RATINGS, ledger, randomness=dc.Randomness(1)))
    dc.Bias().fit(recorded)
    (look,) = recorded.looks
    scores, faults = canary_scores(recorded.looks, RATINGS, canaries)
    base = look.contribution.total(RATINGS)
    for place in range(12):
        moved = look.contribution.total(canaries.select_users(np.array([place])))
        assert scores[place] == pytest.approx(log_likelihood_ratio(look, base, moved))
    assert faults == ()


def test_what_an_adversary_knows_does_not_depend_on_which_data_were_used():
    pair = pairs_for(RATINGS, "user")[0]
    looks = []
    for data in (pair.absent, pair.present):
        ledger = dc.Ledger(1.0, 1e-6, dc.User())
        recorded = RecordingPopulation(dc.TrustedServer(data, ledger, randomness=dc.Randomness(1)))
        dc.Bias().fit(recorded)
        looks.append(recorded.looks[0])
    adversary = Adversary(pair)
    for one, two in zip(adversary.totals(0, looks[0]), Adversary(pair).totals(0, looks[1]), strict=True):
        np.testing.assert_array_equal(one, two)


def test_noise_that_cancels_is_found():
    rng = np.random.default_rng(2)
    noise = rng.normal(size=(60, 1)) * [3, 3, 0]
    others = rng.normal(size=(60, 1)) * [0, 0, 1]
    direction = fisher_direction(noise[:30] + others[:30], noise[30:] + others[30:] + [0.1, 0, 0])
    scores = (noise[:30] @ direction, noise[30:] @ direction + 0.1 * direction[0])
    assert scores[1].min() - scores[0].max() > 10 * max(scores[0].std(), scores[1].std())


def test_cells_that_tell_and_their_partners_are_kept():
    rng = np.random.default_rng(3)
    absent, present = rng.normal(size=(2, 40, 500))
    for side in (absent, present):
        side[:, 11] = side[:, 10]  # the same noise
    present[:, 10] += 2
    assert {10, 11} <= set(differing_cells(absent, present).tolist())
    assert len(differing_cells(absent * 0, present * 0)) == 0


def test_the_numbers_of_the_canarys_items_are_known():
    pair = pairs_for(RATINGS, "rating")[2]
    item = int(np.setdiff1d(pair.own_present.item_index, pair.own_absent.item_index)[0])
    arrays = [np.zeros(1), np.arange(24.0).reshape(2, 12)]
    assert flat(arrays)[canary_cells(arrays, pair)].tolist() == [item, 12 + item]
    assert len(canary_cells([np.zeros((50, 12))], pair)) == 0


def test_released_numbers_in_a_row():
    row = flat([np.array([1, 2], dtype=np.float32), np.array([[np.nan], [np.inf]]), np.array([True])])
    assert len(numeric({"a": np.ones(3), "names": np.array(["x"])})) == 1
    assert row.tolist() == [5, 1, 2, 0, 0, 1]
    assert flat([np.ones(3)], size=6).tolist() == [3, 1, 1, 1, 0, 0]
    assert flat([np.ones(3)], size=2).tolist() == [3, 1]


def test_an_audit_in_words_and_as_data():
    audit = dc.audit.Audit(
        model="bias", data="films", unit="rating", trust="server", method="runs", trials=100, confidence=0.95,
        epsilon_low=0.5, limit=dc.privacy.Loss(1.0), proven=dc.privacy.Loss(1.0),
    )  # fmt: skip
    assert str(audit) == "No leak was found: epsilon is at least 0.5 with 0.95 confidence, where epsilon 1 is proven."
    assert json.loads(json.dumps(audit.to_json()))["accuses"] is False
    from dataclasses import replace

    assert "The promise is broken: epsilon is at least 1.5" in str(replace(audit, epsilon_low=1.5))
    assert replace(audit, claimed=dc.privacy.Loss(0.3)).accuses  # what a paper says counts as well
    assert replace(audit, faults=("a look is missing",)).accuses
    assert "A look is missing." in str(replace(audit, faults=("a look is missing",)))


def test_noise_helpers_are_those_of_the_populations():
    """The lattice is fine beside the noise, so that the continuous likelihood above is the right one."""
    zeros = np.zeros(2000)
    for add in (add_laplace, add_gaussian):
        drawn = add(zeros, 1.0, 2.0**-28, dc.Randomness(1))
        assert len(np.unique(drawn)) > 1990


@dataclass(frozen=True)
class Slow:
    def fit(self, population, progress=None):
        time.sleep(0.003)
        counts = population.sum(item_counts(len(population.catalogue), population.unit))
        return dc.Release.of(self, population, {"counts": counts})


def test_how_long_more_runs_take_is_told_with_the_search_for_a_canary():
    options = {"randomness": dc.Randomness(seed=1), "confidence": 0.9}
    ratings = dc.synthetic(users=5, items=6, ratings=12, seed=1)
    more = dc.audit.audit_by_runs(Slow(), ratings, dc.Terms(epsilon=1.0), runs=60, **options).more
    again = dc.audit.audit_by_runs(Slow(), ratings, dc.Terms(epsilon=1.0), runs=more.runs, **options)
    assert 0.5 < more.seconds / again.seconds < 2


@dataclass(frozen=True)
class LooksAgainWhereNoiseWasSmall:
    """What it asks for next hangs on its first answer."""

    def fit(self, population):
        asked = item_counts(len(population.catalogue), population.unit)
        found = population.sum(asked, 0.5)
        more = abs(found - asked.total(RATINGS))[0] < 2
        return dc.Release.of(self, population, {"found": population.sum(asked, 0.5) if more else found})


@pytest.mark.parametrize("seed", [1, 3])  # whose first run stops, and goes on
def test_a_model_that_goes_on_by_what_it_saw_is_left_in_peace(seed):
    randomness = dc.Randomness(seed)
    audit = dc.audit.audit_by_runs(
        LooksAgainWhereNoiseWasSmall(), RATINGS, dc.Terms(epsilon=1.0), runs=200, randomness=randomness
    )
    assert audit.noise == () and not audit.accuses, str(audit)
