"""An almanac asks for no more numbers than the samplers of its ledger allow: none is refused after another was paid."""

from dataclasses import replace

import numpy as np
import pytest

import discreet as dc
from discreet.errors import OverspentError
from discreet.models.sums import room
from discreet.models.sums.almanac_plan import PURPOSES
from discreet.populations.around import has_room
from discreet.populations.calibration import SAMPLER_DISTANCE
from discreet.populations.pairwise import PairwiseMasks
from discreet.populations.replayed import Recorded, Replayed

RATINGS = dc.synthetic(users=1200, items=150, ratings=40_000, seed=3, like="movielens")
UNITS = {"user": dc.User(), "rating": dc.Rating()}


def server(epsilon, delta=0.01, unit="user", ratings=RATINGS):
    ledger = dc.Ledger(epsilon, delta, UNITS[unit])
    return dc.TrustedServer(ratings, ledger, randomness=dc.Randomness(1))


def bare(ratings):
    size = len(ratings.catalogue)
    none = {"genres": (), "item_genres": np.zeros((size, 0), bool), "years": np.zeros(size, np.int16)}
    return replace(ratings, catalogue=replace(ratings.catalogue, **none))


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("purpose", [*PURPOSES, None])
def test_without_room_for_pairs_an_almanac_does_without(unit, purpose):
    """Epsilon 50: about 1,200 numbers may have noise, and pairs of 150 items are 22,650."""
    population = server(50.0, unit=unit)
    assert not has_room(population, 22_650)
    release = dc.Almanac(purpose=purpose).fit(population)
    assert 0.99 < population.ledger.spent / 50.0 <= 1 + 1e-9
    assert not any("pairs of items" in spend.what for spend in population.spends)
    assert np.isfinite(release.predict(RATINGS, [0, 1], [2, 3])).all()
    assert len(release.recommend(RATINGS.history_at(0), k=3)) == 3


@pytest.mark.parametrize("purpose", PURPOSES)
def test_where_there_is_room_for_one_look_alone_nothing_is_decided_on_the_way(purpose):
    """Epsilon 50.9: 500 numbers, where item sums are 300."""
    population, almanac = server(50.9), dc.Almanac(purpose=purpose)
    assert dc.Almanac(purpose=purpose).chooses_on_the_way(server(50.0))
    assert not almanac.chooses_on_the_way(population)
    almanac.fit(population)
    assert len(population.spends) == 1


def test_pairs_that_are_wanted_are_refused_before_anything_is_spent():
    population = server(50.0)
    with pytest.raises(OverspentError, match="pairs of 150 items cannot be had with so large an epsilon"):
        dc.Almanac(pair_share=0.5).fit(population)
    assert population.spends == ()


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(("epsilon", "features"), [(2.0, True), (10.0, True), (10.0, False), (25.0, False)])
def test_no_look_has_more_numbers_than_were_counted(unit, epsilon, features, monkeypatch):
    for purpose in PURPOSES:
        population, counted = server(epsilon, 1e-6, unit, RATINGS if features else bare(RATINGS)), []

        def remembered(population, *cells, counted=counted):
            counted.append((len(population.spends), sum(cells)))
            return True

        monkeypatch.setattr(room, "has_room", remembered)
        dc.Almanac(purpose=purpose).fit(population)
        before, cells = counted[-1]
        assert sum(spend.slack for spend in population.spends[before:]) / SAMPLER_DISTANCE <= cells


def test_what_there_was_room_for_is_replayed():
    recorded = Recorded(server(50.0))
    release = dc.Almanac().fit(recorded)
    replayed = Replayed(recorded)
    again = dc.Almanac().fit(replayed)
    assert replayed.asked_all
    assert all(np.array_equal(release.arrays[name], again.arrays[name]) for name in release.arrays)


def test_populations_say_whether_there_is_room_as_their_ledgers_do():
    """Users who add shares of the noise have larger odds, and what was spent counts."""
    ledger = dc.Ledger(14.0, 1e-6, dc.User(neighbours="replace"))
    masks = PairwiseMasks(RATINGS, ledger)
    assert has_room(masks, 300) and not has_room(masks, *[22_650] * 20)
    assert has_room(dc.TrustedServer(RATINGS, ledger), *[22_650] * 20)
    population = server(50.0)
    assert has_room(population, 600)
    dc.Almanac(pair_share=0.0).fit(population)  # 300 numbers
    assert has_room(population, 600) and not has_room(population, 950)
    assert has_room(dc.NoPrivacy(RATINGS), 10**12)
