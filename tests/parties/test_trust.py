"""What a recommender that is not honest could try beside the protocol: to pass for the third party."""

import asyncio
import ssl

import pytest

from discreet.cli.app import app
from discreet.errors import InputError
from discreet.parties import calling
from discreet.parties.calling import Caller, DeclinedError
from discreet.parties.certificates import make_certificate
from discreet.parties.hosting import default_state, history_files, hosted_users
from discreet.parties.serving import Address, application, listening
from discreet.protocol.wire import RefusedError


def test_the_recommenders_certificate_is_worth_nothing_for_the_third_party(tmp_path):
    """On the way to the third party sits the recommender, with its own certificate: it must get no seed."""
    recommender, key = make_certificate(tmp_path / "recommender")
    third_party, _ = make_certificate(tmp_path / "third-party")

    async def main():
        impostor = Address(host="127.0.0.1", port=0, certificate=recommender, key=key)
        async with listening(application([]), impostor) as url:
            async with Caller(url, "third party", trust=[third_party]) as caller:
                with pytest.raises(RefusedError, match="not trusted"):
                    await caller.post("/v1/seed", b"seed", 100)
            async with Caller(url, "third party") as caller:  # nor without any
                with pytest.raises(RefusedError, match="not trusted"):
                    await caller.post("/v1/seed", b"seed", 100)

    asyncio.run(asyncio.wait_for(main(), 60))


def test_each_server_is_known_by_its_own_certificate_alone(tmp_path, monkeypatch):
    """`discreet party user` gives each connection the certificate of that server, and not that of the other."""
    import typer.testing

    seen = {}

    class StopError(Exception):
        pass

    class Noted(Caller):
        def __init__(self, url, name, *, trust=(), **settings):
            seen[name] = [path.parent.name for path in trust]
            super().__init__(url, name, trust=trust, **settings)
            if len(seen) == 2:
                raise StopError

    monkeypatch.setattr(calling, "Caller", Noted)
    paths = {name: make_certificate(tmp_path / name)[0] for name in ("recommender", "third-party")}
    (tmp_path / "mine.csv").write_text("item,rating\na,5\n")
    words = ["party", "user", "--history", str(tmp_path / "mine.csv"), "--state", str(tmp_path / "state")]
    for name, path in paths.items():
        words += [f"--{name}", f"https://{name}.example:8001", f"--trust-{name}", str(path)]
    found = typer.testing.CliRunner().invoke(app, words)
    assert isinstance(found.exception, StopError), found.output
    assert seen == {"recommender": ["recommender"], "third party": ["third-party"]}


def test_a_given_certificate_is_the_only_one_that_counts(tmp_path):
    context = calling._trusting([make_certificate(tmp_path)[0]])
    assert len(context.get_ca_certs()) == 1
    assert context.check_hostname and context.verify_mode == ssl.CERT_REQUIRED


def test_one_history_has_one_budget_however_it_is_reached(tmp_path, monkeypatch):
    """Alone, in a folder, by a link or by another way of writing its path: the same state, so the same budget."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    folder = tmp_path / "ratings"
    folder.mkdir()
    mine = folder / "mine.csv"
    mine.write_text("item,rating\na,5\n")
    (tmp_path / "link.csv").symlink_to(mine)
    (tmp_path / "linked").symlink_to(folder)
    states = {
        (default_state(place), hosted_users(history_files(place), None)[0][0])
        for place in (mine, folder, tmp_path / "link.csv", tmp_path / "linked", folder / ".." / "ratings" / "mine.csv")
    }
    assert len(states) == 1
    (folder / "again.csv").symlink_to(mine)
    with pytest.raises(InputError, match="there twice"):
        hosted_users(history_files(folder), None)


def test_seeds_are_gone_from_the_disk_when_a_round_is_closed(net, without_noise):
    async def main():
        await net.recommender.begin()
        rounds = await net.round_begins()
        sent = []
        for place in range(3):
            session = net.session(place)
            await session.answer(net.boot, net.question(), [])
            sent.append(session._machine._sent.seed.seed)
        await rounds
        kept = b"".join(path.read_bytes() for path in (net.root / "third party").iterdir())
        assert not any(seed in kept for seed in sent)
        assert not list((net.root / "third party").glob("seeds-*"))
        with pytest.raises(DeclinedError, match="this round is closed"):  # who is late hears so, before and after
            await net.session(3).answer(net.boot, net.question(), [])
        net.start_third_party()
        with pytest.raises(DeclinedError, match="this round is closed"):
            await net.session(4).answer(net.boot, net.question(), [])

    asyncio.run(asyncio.wait_for(main(), 60))
