"""A fit whose sums come from users' devices over a network."""

import asyncio
import os
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.data.catalogue import Catalogue
from discreet.errors import DishonestDeviceError, InputError, require
from discreet.fitting.outputs import check_release_folder
from discreet.parties.calling import Caller
from discreet.parties.folder import StateFolder
from discreet.parties.recommender import RecommenderServer
from discreet.parties.serving import Address, listening
from discreet.populations.remote import RemoteDevices, Told, offer_of
from discreet.privacy.ledger import Ledger
from discreet.protocol.messages import read_message
from discreet.protocol.questions import Offer, Question
from discreet.releases.contract import check_settings
from discreet.releases.release import Release
from discreet.types import Progress, no_progress

OFFER = "offer"


@dataclass(frozen=True, kw_only=True)
class Run:
    """What a recommender does.

    Parameters
    ----------
    model, catalogue, ledger
        What is learned, of which public items, and what it may cost each user.
    key
        What it shares with the third party.
    users_at_least, users_at_most
        How many take part in a sum.
    rounds, bits
        How many questions there are at most, and the size of words.
    seconds_for_others
        How long others may still come when there are enough.
    linger
        How long to stay when all is done, so that users hear of it.
    tuning
        On what the settings were chosen.
    """

    model: Any
    catalogue: Catalogue
    ledger: Ledger
    key: bytes
    users_at_least: int
    users_at_most: int = 1 << 20
    rounds: int = 20
    bits: int = 64
    seconds_for_others: float = 10.0
    linger: float = 3.0
    tuning: str | None = None

    def offer(self, folder: StateFolder) -> Offer:
        """The terms of the run that is kept in this folder; of a new one where there is none."""
        kept = folder.read(OFFER)
        run = os.urandom(16) if kept is None else read_message(kept, Offer).label.run
        offer = offer_of(
            self.model,
            self.catalogue,
            self.ledger,
            run,
            rounds=self.rounds,
            minimum_group=self.users_at_least,
            most_users=self.users_at_most,
            bits=self.bits,
        )
        require(
            kept is None or kept == offer.to_bytes(),
            f"{folder.path} holds the state of a run on other terms: start with those, or name another folder",
        )
        if kept is None:
            folder.write(OFFER, offer.to_bytes())
        return offer


async def recommend(
    run: Run,
    address: Address,
    third_party: Caller,
    state: Path,
    output: Path,
    *,
    sign: Any = None,
    replace: bool = False,
    end_other_run: bool = False,
    progress: Progress = no_progress,
    started: Any = lambda url: None,
) -> Release:
    """Serve users until the model has all the sums it needs, and save the release."""
    check_settings(run.model)
    check_release_folder(output, replace=replace)
    with StateFolder(state, "recommender") as folder:
        offer = run.offer(folder)
        server = RecommenderServer(
            folder,
            offer,
            run.catalogue,
            run.key,
            third_party,
            seconds_for_others=run.seconds_for_others,
            progress=progress,
        )
        async with listening(server.app(), address) as url:
            started(url)
            await server.begin(end_other_run=end_other_run)
            try:
                release = await _fit(run, offer, server)
            except DishonestDeviceError:  # nobody can tell which device it was: this run is over
                await server.end(run.linger)
                raise
            release.save(output, sign=sign)
            await server.end(run.linger)
        return release


async def _fit(run: Run, offer: Offer, server: RecommenderServer) -> Release:
    """The fit in a thread of its own, so that users are served while it goes on."""
    loop, asked = asyncio.get_running_loop(), list[Future[Told]]()

    def ask(question: Question) -> Told:
        asked.append(asyncio.run_coroutine_threadsafe(server.run_round(question), loop))
        return asked[-1].result()

    population = RemoteDevices(run.catalogue, run.ledger, offer, ask, told=server.told(), tuning=run.tuning)
    try:
        release = await asyncio.to_thread(run.model.fit, population)
    except asyncio.CancelledError:
        for each in asked:
            each.cancel()  # the thread ends with it
        raise
    if not isinstance(release, Release):
        raise InputError(f"{run.model!r} gave no release")
    return release
