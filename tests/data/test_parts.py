"""Ratings in files, one in memory at a time: the same sums, the same caps, and no user in two parts."""

from itertools import pairwise

import numpy as np
import pytest

import discreet as dc
from discreet.data import ratings as ratings_module
from discreet.errors import DataError, InputError
from discreet.models.sums.pair_sums import PairSums
from discreet.populations.population import exact_total

RATINGS = dc.synthetic(users=120, items=40, ratings=2400, seed=1)
CUTS = (0, 35, 90, 120)


def write_parts(folder, ratings=RATINGS, cuts=CUTS):
    for number, (first, end) in enumerate(pairwise(cuts)):
        ratings.select_users(np.arange(first, end)).to_frame().write_parquet(folder / f"{number}.parquet")


@pytest.fixture
def items(tmp_path_factory):
    path = tmp_path_factory.mktemp("items") / "items.csv"
    genres = ["|".join(np.array(RATINGS.catalogue.genres)[row]) for row in RATINGS.catalogue.item_genres]
    rows = zip(RATINGS.catalogue.items, RATINGS.catalogue.titles, genres, RATINGS.catalogue.years, strict=True)
    lines = [f'{item},"{title}",{genre},{year}' for item, title, genre, year in rows]
    path.write_text("\n".join(["item,title,genres,year", *lines]))
    return path


def in_parts(folder, items=None):
    return dc.data.RatingsInParts(folder, scale=(1, 5), items=items, items_public=items is not None)


def test_says_what_it_holds(tmp_path, items):
    write_parts(tmp_path)
    parts = in_parts(tmp_path, items)
    assert repr(parts) == "RatingsInParts(3 parts, 2,400 ratings, 120 users, 40 items, scale 1 to 5)"
    assert parts.catalogue.declared and parts.catalogue.years.tolist() == RATINGS.catalogue.years.tolist()
    assert not in_parts(tmp_path).catalogue.declared
    assert [part.n_users for part in parts.parts()] == [35, 55, 30]


@pytest.mark.parametrize("model", [dc.Bias(), dc.Popularity(), dc.CovarianceKNN(factors=4)])
def test_the_same_without_privacy(tmp_path, items, model):
    write_parts(tmp_path)
    streamed = model.fit(dc.NoPrivacy(in_parts(tmp_path, items))).arrays
    for name, array in model.fit(dc.NoPrivacy(RATINGS)).arrays.items():
        np.testing.assert_allclose(streamed[name], array, rtol=1e-4, atol=1e-5)


def test_the_same_with_noise_of_one_seed_and_a_cap(tmp_path, items):
    """Which ratings a capped user keeps goes by the key and the user's name, in whatever part the user is."""
    write_parts(tmp_path)
    found = []
    for data in (in_parts(tmp_path, items), RATINGS):
        ledger = dc.Ledger(epsilon=1.0, delta=1e-6, unit=dc.User(max_ratings=5))
        server = dc.TrustedServer(data, ledger, randomness=dc.Randomness(3), key=bytes(32))
        found.append(dc.Bias().fit(server))
    assert [spend.what for spend in found[0].spends] == [spend.what for spend in found[1].spends]
    for name, array in found[1].arrays.items():
        np.testing.assert_array_equal(found[0].arrays[name], array)


def test_devices_in_parts(tmp_path, items):
    write_parts(tmp_path)
    asked = dc.Contribution("one each", (1,), lambda part: np.array([part.n_users]), (dc.Bound("rating", "l1", 1.0),))
    devices = dc.LocalDevices(in_parts(tmp_path, items), dc.Ledger(epsilon=1000))
    assert devices.sum(asked)[0] == pytest.approx(120, abs=1)
    assert devices.deviation(asked) == dc.LocalDevices(RATINGS, dc.Ledger(epsilon=1000)).deviation(asked)


def test_many_users_in_memory_are_summed_block_by_block(monkeypatch):
    pairs = PairSums(np.arange(40, dtype=np.int32), np.full(40, 3, np.float32), 1.0, 0.1, None, "user, l2").contribution
    counted = []

    def total(part):
        counted.append(part.n_users)
        return pairs.total(part)

    asked = dc.Contribution("pairs", pairs.shape, total)
    whole = exact_total(asked, RATINGS)
    monkeypatch.setattr(ratings_module, "BLOCK", 50)
    np.testing.assert_allclose(exact_total(asked, RATINGS), whole, rtol=1e-12, atol=1e-12)
    assert counted == [120, 50, 50, 20]
    monkeypatch.setattr("discreet.populations.adding.LARGE", 10)
    exact_total(asked, RATINGS)
    assert counted[-1] == 120  # a total that is larger than what is saved


def test_a_total_that_a_contribution_keeps_is_not_written_to(monkeypatch):
    monkeypatch.setattr(ratings_module, "BLOCK", 50)
    kept = np.ones(1)
    assert exact_total(dc.Contribution("the same for all", (1,), lambda part: kept), RATINGS)[0] == 3
    assert kept[0] == 1


def test_nobody_at_all_is_one_part():
    nobody = RATINGS.select_users(np.zeros(0, dtype=np.int64))
    assert [part.n_users for part in nobody.parts()] == [0]


def test_a_user_in_two_parts_is_refused(tmp_path):
    write_parts(tmp_path)
    RATINGS.select_users(np.array([3])).to_frame().write_parquet(tmp_path / "again.parquet")
    with pytest.raises(DataError, match=r"parquet has ratings of a user who is in another part too"):
        in_parts(tmp_path)


def test_a_part_that_changed_is_refused(tmp_path):
    write_parts(tmp_path)
    population = dc.NoPrivacy(in_parts(tmp_path))
    RATINGS.select_users(np.arange(0, 20)).to_frame().write_parquet(tmp_path / "0.parquet")
    with pytest.raises(DataError, match=r"0\.parquet has changed since it was checked"):
        dc.Popularity().fit(population)


def test_a_part_with_as_many_ratings_of_others_is_refused(tmp_path):
    """They may be users of another part, who would then count twice."""
    write_parts(tmp_path)
    population = dc.NoPrivacy(in_parts(tmp_path))
    others = RATINGS.select_users(np.arange(35, 90)).to_frame().head(int(RATINGS.indptr[35]))
    assert others.height == RATINGS.indptr[35]
    others.write_parquet(tmp_path / "0.parquet")
    with pytest.raises(DataError, match=r"0\.parquet has changed since it was checked"):
        dc.Popularity().fit(population)


def test_changes_come_one_after_the_other(tmp_path):
    """A cap does not bring back what was taken out before."""
    write_parts(tmp_path)
    high = in_parts(tmp_path).changed(lambda part: part.select(part.values > 3))
    twice = high.changed(lambda part: part.select(part.item_index < 20))
    assert sum(map(len, twice.parts())) == int(((RATINGS.values > 3) & (RATINGS.item_index < 20)).sum())


def test_every_part_is_checked_against_scale_and_items(tmp_path, items):
    write_parts(tmp_path)
    with pytest.raises(DataError, match="outside the declared scale 1 to 4"):
        dc.data.RatingsInParts(tmp_path, scale=(1, 4))
    items.write_text("\n".join(items.read_text().splitlines()[:-1]))
    with pytest.raises(DataError, match="not in the list of items"):
        in_parts(tmp_path, items)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(InputError, match="there are no parts"):
        in_parts(tmp_path)
    with pytest.raises(DataError, match="there is no folder"):
        in_parts(tmp_path / "nowhere")
    with pytest.raises(DataError, match="there is no such file"):
        dc.data.RatingsInParts([tmp_path / "0.parquet"], scale=(1, 5))
