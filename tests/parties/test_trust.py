"""What a recommender that is not honest could try beside the protocol: to pass for the third party."""

import asyncio
import ssl

import pytest

from discreet.cli.app import app
from discreet.parties import calling
from discreet.parties.calling import Caller
from discreet.parties.certificates import make_certificate
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

    class Stop(Exception):
        pass

    class Noted(Caller):
        def __init__(self, url, name, *, trust=(), **settings):
            seen[name] = [path.parent.name for path in trust]
            super().__init__(url, name, trust=trust, **settings)
            if len(seen) == 2:
                raise Stop

    monkeypatch.setattr(calling, "Caller", Noted)
    paths = {name: make_certificate(tmp_path / name)[0] for name in ("recommender", "third-party")}
    (tmp_path / "mine.csv").write_text("item,rating\na,5\n")
    words = ["party", "user", "--history", str(tmp_path / "mine.csv"), "--state", str(tmp_path / "state")]
    for name, path in paths.items():
        words += [f"--{name}", f"https://{name}.example:8001", f"--trust-{name}", str(path)]
    found = typer.testing.CliRunner().invoke(app, words)
    assert isinstance(found.exception, Stop), found.output
    assert seen == {"recommender": ["recommender"], "third party": ["third-party"]}


def test_a_given_certificate_is_the_only_one_that_counts(tmp_path):
    context = calling._trusting([make_certificate(tmp_path)[0]])
    assert len(context.get_ca_certs()) == 1
    assert context.check_hostname and context.verify_mode == ssl.CERT_REQUIRED
