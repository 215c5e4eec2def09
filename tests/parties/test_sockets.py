"""Servers and users over real sockets, in one process: each request takes the way through the operating system."""

import asyncio
from contextlib import asynccontextmanager, closing
from dataclasses import replace

import pytest

import discreet as dc
from discreet.parties.calling import Caller, DeclinedError
from discreet.parties.fitting import Run, recommend
from discreet.parties.folder import Kept, StateFolder
from discreet.parties.serving import Address, listening
from discreet.parties.third_party import ThirdPartyServer
from discreet.parties.user import Feed, take_part

from .conftest import KEY, RATINGS, TERMS

ANYWHERE = Address.parse("127.0.0.1:0")
RUN = Run(
    model=dc.Popularity(),
    catalogue=RATINGS.catalogue,
    ledger=dc.Ledger(20.0, 1e-5, dc.User()),
    key=KEY,
    users_at_least=RATINGS.n_users,
    users_at_most=100,
    seconds_for_others=0.0,
    linger=0.5,
)


@asynccontextmanager
async def third_party(root):
    with StateFolder(root / "third-party", "third party") as folder:
        async with listening(ThirdPartyServer(folder, KEY, None).app(), ANYWHERE) as url:
            yield url


async def recommending(root, name, url, started=lambda url: None):
    """A recommender with a state of its own."""
    run = replace(RUN, ledger=dc.Ledger(20.0, 1e-5, dc.User()))
    async with Caller(url, "third party") as other:
        return await recommend(run, ANYWHERE, other, root / name, root / f"{name}-release", started=started)


async def asked_by(url):
    """Waits until a recommender asks something."""
    async with Caller(url, "recommender") as caller:
        feed = Feed(caller, 10.0)
        await feed.start()
        while (await feed.next()).question is None:
            await asyncio.sleep(0.01)


def test_a_recommender_that_is_refused_leaves_the_running_one_alone(tmp_path):
    async def main():
        async with third_party(tmp_path) as url:
            first_url = asyncio.get_running_loop().create_future()
            first = asyncio.create_task(recommending(tmp_path, "first", url, first_url.set_result))
            await asked_by(await first_url)
            with pytest.raises(DeclinedError, match="another run is going on"):
                await recommending(tmp_path, "second", url)
            users = [
                (f"user-{place}", lambda _, place=place: RATINGS.history_at(place), None)
                for place in range(RATINGS.n_users)
            ]
            async with Caller(first_url.result(), "recommender") as one, Caller(url, "third party") as other:
                with closing(Kept(tmp_path / "users")) as kept:
                    outcome = await take_part(users, kept, TERMS, one, other)
            assert outcome.took_part == RATINGS.n_users
            return await first

    release = asyncio.run(asyncio.wait_for(main(), 60))
    assert release.guarantee.proven.epsilon <= 20.0
    assert (tmp_path / "first-release").exists() and not (tmp_path / "second-release").exists()
