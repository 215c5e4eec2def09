"""Sums on a cluster are the integers of one machine, whatever the partitions, and are paid for once."""

import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.data.ratings import Ratings
from discreet.models.sums.activity import activity_of_users
from discreet.models.sums.item_statistics import item_statistics
from discreet.models.sums.pair_sums import PairSums
from discreet.populations.accounts import sketch_of
from discreet.populations.adding import added_up
from discreet.spark import adding

from .conftest import RATINGS

PAIRS = PairSums(
    np.arange(60, dtype=np.int32), np.full(80, 3.5, dtype=np.float32), 1.0, 0.6, None, "user, l2"
).contribution


def user_ledger():
    return dc.Ledger(8.0, 1e-5, dc.User(max_ratings=15))


@pytest.mark.parametrize(
    "asked", [PAIRS, activity_of_users(), item_statistics(80, RATINGS.catalogue.scale, dc.User())], ids=lambda c: c.name
)
def test_totals_are_the_same_integers(on_cluster, asked):
    np.testing.assert_array_equal(added_up(asked, on_cluster), added_up(asked, RATINGS))


def test_large_totals_travel_in_pieces_through_a_tree(on_cluster, monkeypatch):
    monkeypatch.setattr(adding, "FOR_DRIVER", 1000)
    monkeypatch.setattr(adding, "FAN_IN", 2)
    np.testing.assert_array_equal(added_up(PAIRS, on_cluster), added_up(PAIRS, RATINGS))


def test_any_partitioning_gives_the_same(spark, table):
    frame = spark.read.parquet(str(table)).repartition(7)
    for partitions in (1, 3):
        ratings = dc.from_spark(frame, scale=(1, 5), items=RATINGS.catalogue, partitions=partitions)
        np.testing.assert_array_equal(added_up(PAIRS, ratings), added_up(PAIRS, RATINGS))
        ratings.unpersist()


@pytest.mark.parametrize(
    ("model", "ledger"),
    [
        (dc.Popularity(), lambda: dc.Ledger(1.0)),
        (dc.Bias(), lambda: dc.Ledger(1.0)),
        (dc.Almanac(), user_ledger),
        (dc.Almanac(purpose="both"), lambda: dc.Ledger(30.0, 1e-5, dc.User())),
        (dc.ALS(factors=2), user_ledger),
        (dc.CovarianceKNN(), lambda: dc.Ledger(5.0, 1e-5)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_releases_with_seeded_noise_are_the_same(on_cluster, model, ledger):
    """Every private model of the product, the cap on a user's ratings included."""
    releases = [
        model.fit(dc.TrustedServer(ratings, ledger(), randomness=dc.Randomness(seed=7)))
        for ratings in (on_cluster, RATINGS)
    ]
    assert releases[0].spends == releases[1].spends
    for name, array in releases[1].arrays.items():
        np.testing.assert_array_equal(releases[0].arrays[name], array)


def test_what_is_not_exact_is_the_same_each_time(on_cluster):
    """Without privacy ALS adds up doubles that are on no lattice."""
    model = dc.ALS(factors=2, sweeps=2)
    one, other = (model.fit(dc.NoPrivacy(on_cluster)) for _ in range(2))
    for name, array in one.arrays.items():
        np.testing.assert_array_equal(other.arrays[name], array)


def test_samples_of_users_are_summed_on_the_cluster(on_cluster):
    chosen = np.zeros(on_cluster.n_users, dtype=np.bool_)
    chosen[::3] = True
    some = on_cluster.some_users(chosen)
    here = list(some.parts())
    total = sum(added_up(PAIRS, part) for part in here)
    assert sum(part.n_users for part in here) == some.n_users == chosen.sum()
    np.testing.assert_array_equal(added_up(PAIRS, some), total)


def test_parts_hold_every_rating_once(on_cluster):
    found = {
        (part.users[user], int(item), float(value))
        for part in on_cluster.parts()
        for user, item, value in zip(part.user_index, part.item_index, part.values, strict=True)
    }
    expected = zip(RATINGS.user_index, RATINGS.item_index, RATINGS.values, strict=True)
    assert found == {(RATINGS.users[user], int(item), float(value)) for user, item, value in expected}
    assert len(on_cluster) == len(RATINGS)


def test_an_account_knows_the_users_again(on_cluster):
    assert sketch_of(on_cluster, bytes(32)) == sketch_of(RATINGS, bytes(32))


def test_a_contribution_that_fails_says_one_sentence_and_stays_spent(on_cluster):
    def total(ratings: Ratings) -> np.ndarray:
        if ratings.n_users > 1:
            raise ValueError(f"a secret of {ratings.users[0]}")
        return np.zeros(3)

    ledger = dc.Ledger(1.0)
    server = dc.TrustedServer(on_cluster, ledger)
    asked = dc.Contribution("a broken sum", (3,), total, (dc.Bound("rating", "l1", 1.0),))
    with pytest.raises(dc.InputError, match="'a broken sum' could not be computed, and what was booked") as caught:
        server.sum(asked)
    assert "secret" not in str(caught.value)
    assert len(ledger.spends) == 1


def executor_of(worker: int) -> int:
    """The executor among the parents of a Python worker."""
    while worker > 1:
        if b"CoarseGrainedExecutorBackend" in Path(f"/proc/{worker}/cmdline").read_bytes():
            return worker
        worker = int(Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[1])
    raise AssertionError("no executor")


def test_an_executor_killed_in_the_middle_of_a_sum(spark, table, tmp_path):
    """The task is run again elsewhere, on blocks that are made again: the same sum, one spend."""
    ratings = dc.from_spark(spark.read.parquet(str(table)), scale=(1, 5), items=RATINGS.catalogue, partitions=4)
    marker = str(tmp_path / "worker")
    asked = item_statistics(80, RATINGS.catalogue.scale, None)

    def slow(part: Ratings) -> np.ndarray:
        try:
            with Path(marker).open("x") as file:
                file.write(str(os.getpid()))
        except FileExistsError:
            return asked.total(part)
        time.sleep(600)  # until it is killed
        raise AssertionError("nobody killed it")

    def kill():
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            if Path(marker).exists() and Path(marker).read_text():
                os.kill(executor_of(int(Path(marker).read_text())), signal.SIGKILL)
                return
            time.sleep(0.1)

    from dataclasses import replace

    killer = threading.Thread(target=kill)
    asked_slowly = replace(asked, total=lambda part: asked.total(part) if part.n_users < 2 else slow(part))
    ledger = dc.Ledger(1.0)
    server = dc.TrustedServer(ratings, ledger, randomness=dc.Randomness(seed=1))
    killer.start()
    answer = server.sum(asked_slowly)
    killer.join()
    expected = dc.TrustedServer(RATINGS, dc.Ledger(1.0), randomness=dc.Randomness(seed=1)).sum(asked)
    np.testing.assert_array_equal(answer, expected)
    assert Path(marker).exists()
    assert len(ledger.spends) == 1
