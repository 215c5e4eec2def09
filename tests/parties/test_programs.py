"""Servers and users that vanish, restart or come twice: nothing is lost, and nothing counts twice."""

import asyncio
import logging
import sqlite3
from contextlib import closing
from dataclasses import replace

import httpx
import pytest

import discreet as dc
from discreet.errors import InputError
from discreet.parties import requests
from discreet.parties.calling import Caller, DeclinedError, printable
from discreet.parties.certificates import make_certificate
from discreet.parties.credentials import derived, make_tokens, read_key, read_tokens
from discreet.parties.folder import Journal, Kept, StateFolder
from discreet.parties.hosting import history_files, hosted_users
from discreet.parties.news import News
from discreet.parties.offered import offered_model
from discreet.parties.recommender import RecommenderServer
from discreet.parties.serving import Address, listening
from discreet.parties.third_party import SEED_MESSAGE
from discreet.parties.user import Feed, Terms, take_part
from discreet.protocol.messages import Receipt, read_message
from discreet.protocol.wire import RefusedError

from .conftest import KEY, RATINGS, TERMS


def run(main):
    return asyncio.run(asyncio.wait_for(main, 60))


async def seed_alone(net, session):
    """What a user does up to the receipt, and the receipt."""
    asked = session._device.next([])
    seed = session._machine.answer(net.question(), asked.question, asked.values)
    session._write(session._machine)
    headers = {"authorization": f"Bearer {session._token.hex()}"}
    return read_message(await session._third_party.post(requests.SEED, seed.to_bytes(), SEED_MESSAGE, headers), Receipt)


@pytest.mark.parametrize("after", ["offer", "seed", "receipt", "value"])
def test_a_user_who_vanishes_costs_that_users_part_alone(net, without_noise, after):
    async def main():
        await net.recommender.begin()
        rounds = await net.round_begins()
        gone = net.session(0)
        if after in ("seed", "receipt"):
            await seed_alone(net, gone)
        elif after == "value":
            await gone.answer(net.boot, net.question(), [])
        for place in (1, 2) if after == "value" else (1, 2, 3):
            await net.session(place).answer(net.boot, net.question(), [])
        return net.decoded(await rounds)

    assert run(main()) == net.counts([0, 1, 2] if after == "value" else [1, 2, 3])


def test_servers_that_restart_in_the_middle_of_a_round_lose_nothing(net, without_noise):
    async def main():
        await net.recommender.begin()
        rounds = await net.round_begins()
        users = [net.session(place) for place in range(3)]
        for user in users[:2]:
            await user.answer(net.boot, net.question(), [])
        net.start_third_party()  # killed: what it had not written is gone
        assert net.third_party.machine.seeds == 2
        first = net.boot
        rounds.cancel()
        net.start_recommender()
        assert net.boot != first and net.recommender.machine.values == 0
        await net.recommender.begin()
        rounds = await net.round_begins()
        again = [net.session(place) for place in range(3)]  # users restart too, from what they keep
        for user in again:
            await user.answer(net.boot, net.question(), [])
        told = await rounds
        net.start_third_party()
        net.start_recommender()
        assert net.recommender.told()[0][1].to_bytes() == told[1].to_bytes()
        assert again[0].answered == 1  # sent twice, charged once
        return net.decoded(told)

    assert run(main()) == net.counts([0, 1, 2])


def test_a_round_that_was_closed_before_a_restart_is_answered_after_it(net, without_noise):
    async def main():
        await net.recommender.begin()
        rounds = await net.round_begins()
        for place in range(3):
            await net.session(place).answer(net.boot, net.question(), [])
        net.recommender._folder.write("machine", _closed(net.recommender))  # killed before the third party was asked
        rounds.cancel()
        net.start_recommender()
        await net.recommender.begin()
        return net.decoded(await net.recommender.run_round(net.question()))

    def _closed(server):
        server.machine.close()
        return server.machine.to_bytes()

    assert run(main()) == net.counts([0, 1, 2])


def test_two_recommenders_cannot_run_one_round(net):
    with (
        pytest.raises(InputError, match="two of them cannot run one round"),
        StateFolder(net.root / "recommender", "recommender"),
    ):
        pass

    async def main():
        first = net.recommender
        await first.begin()
        rounds = await net.round_begins()
        # A copy of its state elsewhere, as a backup would be.
        copy = net.root / "copy"
        copy.mkdir()
        for name in ("offer", "machine"):
            (copy / name).write_bytes((net.root / "recommender" / name).read_bytes())
        await net.start_recommender("copy").begin()
        for place in range(3):
            session = net.session(place)
            net.recommender_app = first.app()
            await session.answer(first._boot, net.question(), [])
        with pytest.raises(DeclinedError, match="another recommender was started since"):
            await rounds

    run(main())


def test_another_run_waits_until_the_first_has_ended_and_no_run_begins_again(net):
    async def main():
        await net.recommender.begin()
        first = net.offer
        other = net.start_recommender("other")
        with pytest.raises(DeclinedError, match="another run is going on"):
            await other.begin()
        await other.begin(end_other_run=True)
        assert net.third_party.machine.offer.digest == other.offer.digest
        net.start_recommender()
        assert net.offer.digest == first.digest
        with pytest.raises(DeclinedError, match="never begun again"):
            await net.recommender.begin(end_other_run=True)
        assert net.third_party.machine.offer.digest == other.offer.digest  # what is refused ends nothing
        net.start_third_party()
        with pytest.raises(DeclinedError, match="never begun again"):
            await net.recommender.begin()

    run(main())


def test_a_token_counts_once_in_a_round_and_only_if_it_is_enrolled(net):
    async def main():
        await net.recommender.begin()
        rounds = await net.round_begins()
        await seed_alone(net, net.session(0))
        twice = net.session(1, token=net.tokens[0])
        with pytest.raises(DeclinedError, match="under another name"):
            await twice.answer(net.boot, net.question(), [])
        with pytest.raises(RefusedError, match="not enrolled"):
            await net.session(2, token=bytes(32)).answer(net.boot, net.question(), [])
        net.start_third_party()
        with pytest.raises(DeclinedError, match="under another name"):
            await twice.answer(net.boot, net.question(), [])
        assert net.third_party.machine.seeds == 1
        rounds.cancel()

    run(main())


def test_requests_of_the_recommender_are_its_own(net):
    async def main():
        await net.recommender.begin()
        caller = net.caller("third party")
        body = net.question().to_bytes()
        for headers in ({}, requests.signed(bytes(32), requests.QUESTION, 1, body)):
            with pytest.raises(RefusedError, match="only the recommender"):
                await caller.post(requests.QUESTION, body, 0, headers)
        own = requests.signed(derived(KEY, "requests"), requests.OFFER, 1, body)  # signed for another path
        with pytest.raises(RefusedError, match="only the recommender"):
            await caller.post(requests.QUESTION, body, 0, own)
        assert net.third_party.machine.question is None

    run(main())


def test_a_users_budget_holds_over_all_runs(net):
    net.session(0, terms=Terms(epsilon=30.0, delta=1e-4, users_at_least=2))
    net.start_recommender("other")
    with pytest.raises(RefusedError, match=r"more than this user's budget has left: epsilon 10, delta 9e-05"):
        net.session(0, terms=Terms(epsilon=30.0, delta=1e-4, users_at_least=2))
    for terms in (replace(TERMS, epsilon=1.0), replace(TERMS, users_at_least=50), replace(TERMS, unit=dc.Rating())):
        if terms.unit == dc.User():
            with pytest.raises(RefusedError):
                net.session(1, terms=terms)
    assert list(net.kept.agreed("0").values()) == [(20.0, 1e-5)]


def test_many_users_in_one_program_share_what_the_recommender_tells(net, without_noise):
    async def main():
        await net.recommender.begin()

        async def serve():
            told = await net.recommender.run_round(net.question())
            await net.recommender.end(0.0)
            return told

        told, outcome = await asyncio.gather(
            serve(), take_part(hosted(net), net.kept, TERMS, net.caller("recommender"), net.caller("third party"))
        )
        assert (outcome.took_part, outcome.answered, outcome.refused) == (3, 1, ())
        return net.decoded(told)

    assert run(main()) == net.counts([0, 1, 2])


def hosted(net):
    return [(str(place), lambda _, place=place: RATINGS.history_at(place), net.tokens[place]) for place in range(3)]


def test_what_is_sent_is_on_the_disk_before_and_the_model_is_run_once_for_all(net, monkeypatch):
    """Whoever is killed after sending a seed finds it again, and never sends another one in this round."""
    fit, fits, seen = dc.Popularity.fit, [], []

    def counted(model, *arguments):
        fits.append(model)
        return fit(model, *arguments)

    class Looks(Caller):
        async def post(self, path, body, most, headers=None):
            with closing(sqlite3.connect(net.root / "users" / "users.sqlite")) as file:
                kept = [machine for (machine,) in file.execute("SELECT machine FROM runs")]
            seen.append(sum(body in machine for machine in kept))
            return await super().post(path, body, most, headers)

    async def main():
        await net.recommender.begin()
        rounds = await net.round_begins()
        third_party = Looks("http://localhost:1", "third party", transport=httpx.ASGITransport(net.third_party_app))
        monkeypatch.setattr(dc.Popularity, "fit", counted)
        users = asyncio.create_task(take_part(hosted(net), net.kept, TERMS, net.caller("recommender"), third_party))
        await rounds
        await net.recommender.end(0.0)
        return await users

    assert run(main()).answered == 1
    assert seen == [1, 1, 1]  # every seed, in the state of one user
    assert len(fits) == 1


def test_nothing_is_sent_that_cannot_be_kept(net, monkeypatch, without_noise):
    do, commits = Kept._do, iter([False, True])  # the users' agreement is kept; their answers are not

    def disk_is_full(kept, statement, *values):
        if statement == "COMMIT" and next(commits, False):
            raise InputError("no space is left")
        return do(kept, statement, *values)

    monkeypatch.setattr(Kept, "_do", disk_is_full)

    async def main():
        taking_part = net.kept, TERMS, net.caller("recommender"), net.caller("third party")
        await net.recommender.begin()
        rounds = await net.round_begins()
        with pytest.raises(InputError, match="no space"):
            await take_part(hosted(net), *taking_part)
        assert net.third_party.machine.seeds == 0 and len(net.kept.agreed("0")) == 1
        users = asyncio.create_task(take_part(hosted(net), *taking_part))
        told = await rounds
        await net.recommender.end(0.0)
        assert (await users).took_part == 3
        return net.decoded(told)

    assert run(main()) == net.counts([0, 1, 2])


def test_a_full_disk_undoes_what_was_written_together_and_is_named(tmp_path):
    with closing(Kept(tmp_path)) as kept:
        with closing(sqlite3.connect(tmp_path / "users.sqlite")) as file:  # as sqlite does where no room is left
            full = "SELECT RAISE(ROLLBACK, 'disk is full')"
            file.execute(f"CREATE TRIGGER full BEFORE INSERT ON runs WHEN NEW.user = 'bob' BEGIN {full}; END")
        with pytest.raises(InputError, match="make room"), kept.together():
            kept.write("ann", "run", 0.5, 0.0, b"state")
            with pytest.raises(InputError, match="full"):
                kept.write("bob", "run", 0.5, 0.0, b"state")
        assert kept.agreed("ann") == {}


def test_budgets_of_an_earlier_version_are_not_forgotten(tmp_path):
    (tmp_path / "0123456789abcdef").mkdir()
    (tmp_path / "0123456789abcdef" / "agreed.json").write_text("{}")
    with pytest.raises(InputError, match="earlier version"):
        Kept(tmp_path)


def test_whoever_is_far_behind_gets_answers_one_after_another(net, without_noise, monkeypatch):
    async def main():
        await net.recommender.begin()
        rounds = await net.round_begins()
        for place in range(3):
            await net.session(place).answer(net.boot, net.question(), [])
        told = await rounds
        server = net.recommender
        for number in (1, 2):
            server._folder.write(f"told-{number:06d}", News(boot=bytes(8), first=number, told=(told,)).to_bytes())
        net.start_recommender()
        net.recommender._publish(net.question())
        monkeypatch.setattr("discreet.parties.recommender.MOST_AT_ONCE", 1)
        feed = Feed(net.caller("recommender"), 1.0)
        await feed.start()
        seen = [await feed.next() for _ in range(3)]
        assert [len(news.told) for news in seen] == [1, 1, 1] and len(feed.told) == 3
        assert [news.question is None for news in seen] == [True, True, False]

    run(main())


def test_logs_name_nobody_and_no_rating(net, caplog):
    caplog.set_level(logging.DEBUG, logger="discreet")

    async def main():
        await net.recommender.begin()
        rounds = await net.round_begins()
        for place in range(3):
            await net.session(place).answer(net.boot, net.question(), [])
        await rounds
        await net.recommender.end(0.0)

    run(main())
    said = [record.getMessage() for record in caplog.records if record.name == "discreet.parties"]
    assert [sentence.partition(" after ")[0] for sentence in said] == [
        "a run begins: Popularity()",
        "a recommender has started (1)",
        "round 0: how often each item was rated",
        "round 0: how often each item was rated",
        "round 0 is closed",
        "round 0: answered",
        "the run has ended",
    ]


def test_terms_cannot_change_under_a_state(net, tmp_path):
    with pytest.raises(InputError, match="on other terms"):
        replace(net.run, rounds=3).offer(net.open_folders[-1])
    with pytest.raises(InputError, match="on other terms"):
        RecommenderServer(
            _with_machine(net), replace(net.offer, rounds=3), RATINGS.catalogue, KEY, net.caller("third party")
        )


def _with_machine(net):
    folder = net.open_folders[-1]
    folder.write("machine", net.recommender.machine.to_bytes())
    return folder


def test_what_is_written_wrongly_is_said_in_one_sentence(tmp_path):
    for text in ("8001", "host:x", ":1", "h:70000"):
        with pytest.raises(InputError, match="HOST:PORT"):
            Address.parse(text)
    with pytest.raises(InputError, match="open to others"):
        Address.parse("0.0.0.0:8001")
    with pytest.raises(InputError, match="go together"):
        Address.parse("0.0.0.0:8001", tmp_path)
    for url in ("ftp://x", "localhost:3", "https://x/path"):
        with pytest.raises(InputError, match="is written https"):
            Caller(url, "recommender")
    with pytest.raises(InputError, match="must begin with https"):
        Caller("http://example.org", "recommender")
    with pytest.raises(InputError, match="no certificate"):
        Caller("https://example.org", "recommender", trust=[tmp_path / "none"])
    (tmp_path / "key").write_text("12\n")
    with pytest.raises(InputError, match="64 hexadecimal"):
        read_key(tmp_path / "key")
    make_tokens(tmp_path, 2)
    assert (tmp_path / "tokens.txt").stat().st_mode & 0o77 == 0
    with pytest.raises(InputError, match="holds 2 tokens, and there are 3 users"):
        read_tokens(tmp_path / "tokens.txt", 3)
    _, key = make_certificate(tmp_path)
    assert key.stat().st_mode & 0o77 == 0
    with pytest.raises(InputError, match="servers may be using it"):
        make_certificate(tmp_path)
    assert printable(b"\x1b[31mred") == "?[31mred"


def test_files_of_users_are_named_in_no_message(tmp_path):
    (tmp_path / "alice.csv").write_text("item,rating\nnothing of this name,5\n")
    (_, read, token) = hosted_users(history_files(tmp_path), None)[0]
    assert token is None
    with pytest.raises(InputError, match=r"^a file of ratings, row 2") as error:
        read(RATINGS.catalogue)
    assert "alice" not in str(error.value)
    with pytest.raises(InputError, match="does not exist"):
        history_files(tmp_path / "other")


@pytest.mark.parametrize(
    "text",
    ["", "x", "Almanac", "print('hello')", "Bias(1)", "Bias(**{})", "Bias(item_damping=__import__('os'))", "(" * 3000],
)
def test_a_model_is_read_and_never_run(text):
    with pytest.raises(RefusedError, match="the offer names"):
        offered_model(text)


def test_models_are_read_as_they_are_written():
    for model in (dc.Almanac(factors=5), dc.ALS(), dc.Popularity()):
        assert offered_model(repr(model)) == model


def test_a_missing_library_is_one_sentence(monkeypatch):
    import sys

    from discreet.cli.party import _check_installed

    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(dc.errors.MissingLibraryError, match=r"pip install 'discreet\[parties\]'"):
        _check_installed()


def test_a_journal_forgets_a_record_that_was_torn_and_waits_for_what_is_being_written(tmp_path):
    async def main():
        journal = Journal(tmp_path / "seeds", 4)
        journal.add(b"abcd")
        waiting = [asyncio.create_task(journal.kept()) for _ in range(3)]
        await asyncio.sleep(0)
        journal.close()
        await asyncio.gather(*waiting)

    run(main())
    with (tmp_path / "seeds").open("ab") as file:
        file.write(b"ef")
    assert Journal(tmp_path / "seeds", 4).records() == [b"abcd"]


HEAD = b"POST /v1/seed HTTP/1.1\r\nhost: x\r\nauthorization: Bearer %s\r\n"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET /v1/seed HTTP/1.1\r\nhost: [\r\n\r\n", b"405"),
        (HEAD + b"content-length: 99999999999\r\n\r\n", b"413"),
        (HEAD + b"transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", b"411"),
        (HEAD + b"content-length: 3\r\n\r\nabc", b"400"),
        (HEAD + b"content-length: 106\r\n\r\nabc", b""),  # and no more: cut off by whoever sent it
    ],
)
def test_the_server_itself_answers_hostile_requests(net, sent, status):
    """Over a real connection: what a framework would make of them does not matter."""

    async def main():
        async with listening(net.third_party.app(), Address.parse("127.0.0.1:0")) as url:
            reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
            writer.write(sent.replace(b"%s", net.tokens[0].hex().encode()))
            if not status:
                await writer.drain()
                writer.close()
                return
            found = await reader.readuntil(b"\r\n")
            assert found.split()[1] == status
            writer.close()

    run(main())
    assert net.third_party.machine is None
