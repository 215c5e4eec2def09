"""A device that sends what no honest device sends: the servers see only sums, and these must be possible."""

import asyncio
import json
import math
from contextlib import closing

import numpy as np
import pytest

import discreet as dc
from discreet.errors import DishonestDeviceError
from discreet.parties.calling import Caller
from discreet.parties.fitting import Run, recommend
from discreet.parties.folder import Kept, StateFolder
from discreet.parties.serving import Address, listening
from discreet.parties.third_party import ThirdPartyServer
from discreet.parties.user import Terms, take_part
from discreet.populations.secure_sums import SecureSums
from discreet.protocol.user import UserMachine

pytestmark = pytest.mark.doors

USERS = 61
RATINGS = dc.synthetic(users=USERS, items=20, ratings=600, seed=5)
SETTINGS = {"bits": 32, "most_users": 100}


def ledger():
    return dc.Ledger(5.0, 1e-6, dc.User())


def test_one_device_of_61_adds_what_no_honest_device_sends(door, monkeypatch):
    honest = SecureSums._whole

    def one_lies(self, contribution, ratings, points):
        return honest(self, contribution, ratings, points) + 2**30

    server = dc.populations.UntrustedServer(RATINGS, ledger(), **SETTINGS)
    assert dc.Popularity().fit(server).guarantee.proven
    monkeypatch.setattr(SecureSums, "_whole", one_lies)
    server = dc.populations.UntrustedServer(RATINGS, ledger(), **SETTINGS)
    with pytest.raises(DishonestDeviceError, match="how often each item was rated"):
        dc.Popularity().fit(server)
    assert len(server.spends) == 1  # it is paid for all the same
    door(
        "Proven, over two servers, and counts that come from users' devices",
        f"one device of {USERS} added 2^30 to every word: counts of hundreds to thousands, where {USERS} are possible",
        "a sum that no honest devices can have sent is not released; the round is paid for, and the message says why",
    )


def test_one_device_makes_no_count_of_others_negative(door, monkeypatch):
    honest = SecureSums._whole
    monkeypatch.setattr(SecureSums, "_whole", lambda *asked: honest(*asked) - 2**29)
    server = dc.populations.UntrustedServer(RATINGS, ledger(), **SETTINGS)
    with pytest.raises(DishonestDeviceError) as error:
        dc.Popularity().fit(server)
    door("Proven, over two servers", "counts of -61 to -46: one device had taken 2^29 off every word", str(error.value))


@pytest.mark.parametrize("model", [dc.Popularity(), dc.Bias(), dc.Almanac()], ids=repr)
@pytest.mark.parametrize("unit", [dc.User(), dc.User(max_ratings=5), dc.Rating()], ids=repr)
def test_what_is_possible_goes_by_what_a_user_can_say_of_an_item(model, unit, door, monkeypatch):
    def answers(users, noise):
        ledger = dc.Ledger(5.0, 1e-6, unit)
        server = dc.populations.UntrustedServer(users, ledger, bits=32, most_users=1000, minimum_group=2)
        monkeypatch.setattr("discreet.populations.untrusted.draw_noise", noise)
        monkeypatch.setattr("discreet.populations.untrusted.check_sum", check_sum)
        return model.fit(server)

    def check_sum(name, whole, spend, step, *, users, largest, signed):
        found.append((name, float(np.abs(whole).max()) * step, largest))

    found = []
    eager = dc.synthetic(users=2, items=40, ratings=80, seed=1)  # both rated everything
    with np.errstate(all="ignore"):
        answers(eager, lambda spend, step, count, randomness: np.zeros(count, dtype=np.int64))
    assert found
    for name, most, largest in found:
        assert most <= 2 * largest * (1 + 1e-6), name
        # Whatever a device sends counts as no more than a few users, or of all ratings as one who rated everything.
        assert largest <= 1.001 * (
            len(eager.catalogue) if "ratings there are" in name or "pairs users" in name else 2
        ), name
    door(
        f"{model!r} for {unit}: sums that honest devices cannot have sent are not released",
        "for one rating, a device could send of each item what it can of all together: 12,210 where 61 are possible",
        "what is allowed in a cell is what one user can add to it",
    )


def test_what_is_possible_of_roots_goes_by_how_many_items_there_are(door, monkeypatch):
    """The second look of an almanac for single ratings, to which a user adds √(n − 1) for n ratings."""
    honest = SecureSums._whole

    def one_lies(self, contribution, ratings, points):
        lie = round(1_000 / points.step) if contribution.name == "how many pairs users rate" else 0
        return honest(self, contribution, ratings, points) + lie

    monkeypatch.setattr(SecureSums, "_whole", one_lies)
    server = dc.populations.UntrustedServer(RATINGS, dc.Ledger(20.0, 1e-6), **SETTINGS)
    with pytest.raises(DishonestDeviceError, match="how many pairs users rate") as error:
        dc.Almanac().fit(server)
    assert len(server.spends) == 2
    most = USERS * math.sqrt(len(RATINGS.catalogue) - 1)
    door(
        f"at most {most:,.0f} for {USERS} users of 20 items",
        f"{USERS * 2**10:,}: what users of a million items could add",
        str(error.value),
    )


def test_a_dishonest_device_on_a_network_ends_the_run_and_nothing_is_released(door, monkeypatch, tmp_path):
    honest, lies = UserMachine._agreed, iter([2**30])

    def agreed(self, *asked):
        return honest(self, *asked) + np.uint32(next(lies, 0))

    monkeypatch.setattr(UserMachine, "_agreed", agreed)
    run = Run(
        model=dc.Popularity(),
        catalogue=RATINGS.catalogue,
        ledger=ledger(),
        key=bytes(32),
        users_at_least=USERS,
        users_at_most=100,
        bits=32,
        seconds_for_others=0.0,
        linger=0.5,
    )
    anywhere, terms = Address.parse("127.0.0.1:0"), Terms(epsilon=5.0)

    async def main():
        with StateFolder(tmp_path / "third-party", "third party") as folder:
            server = ThirdPartyServer(folder, bytes(32), None)
            async with listening(server.app(), anywhere) as url, Caller(url, "third party") as other:
                users = asyncio.get_running_loop().create_future()

                def started(mine):
                    users.set_result(asyncio.create_task(everyone(mine, other)))

                with pytest.raises(DishonestDeviceError, match="how often each item was rated"):
                    await recommend(run, anywhere, other, tmp_path / "state", tmp_path / "release", started=started)
                return await users.result()

    async def everyone(url, other):
        async with Caller(url, "recommender") as one:
            with closing(Kept(tmp_path / "users")) as kept:
                return await take_part(hosted(), kept, terms, one, other)

    outcome = asyncio.run(asyncio.wait_for(main(), 60))
    assert (outcome.took_part, outcome.answered) == (USERS, 1)  # they heard that the run is over
    assert len(run.ledger.spends) == 1
    assert not (tmp_path / "release").exists()
    assert not list((tmp_path / "state").glob("told-*"))  # nor was the sum told to anyone
    assert len(json.loads((tmp_path / "third-party/claims.json").read_text())["ended"]) == 1
    door(
        "the same, as programs on a network",
        "counts of hundreds to thousands in the release",
        "both servers check the noisy sum before it is told to anyone, and the run ends",
    )


def hosted():
    return [(f"user-{place}", lambda _, place=place: RATINGS.history_at(place), None) for place in range(USERS)]


def test_a_refused_sum_of_a_named_run_is_paid_again(door, monkeypatch, tmp_path):
    budget, honest = dc.Budget(tmp_path / "budget.sqlite"), SecureSums._whole
    budget.declare("films", epsilon=100.0, delta=1e-5)

    def fit():
        own = dc.Ledger(5.0, 1e-6, dc.User())
        server = dc.populations.UntrustedServer(RATINGS, own, **SETTINGS, account="films", budget=budget)
        return dc.spend_and_release(dc.Popularity(), server, tmp_path / "release", run_id="nightly")

    monkeypatch.setattr(SecureSums, "_whole", lambda *asked: honest(*asked) + 2**30)
    for tries in (1, 2):
        with pytest.raises(DishonestDeviceError):
            fit()
        assert len(budget.account("films").spendings) == tries
    monkeypatch.setattr(SecureSums, "_whole", honest)
    fit()
    assert len(budget.account("films").spendings) == 3
    door(
        "the same command goes on from what was drawn, and is paid once",
        "each try drew the refused sum anew, and whether it was refused was seen: several draws, paid once",
        "a run whose sum was refused pays again",
    )
