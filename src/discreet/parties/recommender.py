"""The recommender as a server: it tells users what is asked, adds up what they send, and asks the third party."""

import asyncio
import itertools
import os
import time
from collections.abc import Callable

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from discreet.data.catalogue import Catalogue
from discreet.errors import InputError
from discreet.parties import requests
from discreet.parties.calling import Caller, until_reached
from discreet.parties.credentials import derived
from discreet.parties.folder import StateFolder
from discreet.parties.news import BOOT_BYTES, News, catalogue_bytes, read_news
from discreet.parties.serving import LOG, application, binary, body_of, malformed, unfitting
from discreet.populations.remote import Told
from discreet.protocol.messages import MaskedValue, NoisyMasks, read_message, size_of_value
from discreet.protocol.questions import Offer, Question
from discreet.protocol.recommender import RecommenderMachine
from discreet.protocol.wire import RefusedError, refuse_unless
from discreet.types import Progress, no_progress

MACHINE = "machine"
MOST_AT_ONCE = 1 << 24
"""Bytes of answers in one message: users take no more than four times that."""
SECONDS_TO_WAIT = 20.0
"""So long a user's request for news is kept open."""
SECONDS_FOR_THE_OTHER = 3600.0
"""So long the third party may be away."""


class RecommenderServer:
    """One recommender in one run.

    Parameters
    ----------
    folder
        Its state: after a restart it goes on after the last finished round.
    offer, catalogue
        What is public.
    key
        What it shares with the third party.
    third_party
        Where that is.
    seconds_for_others
        How long others may still come when there are enough users for a sum.
    """

    def __init__(
        self,
        folder: StateFolder,
        offer: Offer,
        catalogue: Catalogue,
        key: bytes,
        third_party: Caller,
        *,
        seconds_for_others: float = 10.0,
        progress: Progress = no_progress,
    ) -> None:
        self._folder, self.offer, self._third_party = folder, offer, third_party
        self._catalogue, self._progress = catalogue_bytes(catalogue), progress
        self._receipts, self._requests = derived(key, "receipts"), derived(key, "requests")
        self._patience = seconds_for_others
        self._boot, self._claim = os.urandom(BOOT_BYTES), 0
        self._count = 0  # answers so far are on the disk, and the last one here: memory does not grow with rounds
        self._last: Told | None = None
        self._finished = False
        self._open: Question | None = None
        self._changed, self._came = asyncio.Event(), asyncio.Event()
        self.machine = self._load()

    def app(self) -> Starlette:
        """Its endpoints."""
        return application(
            [
                Route(requests.OFFER, self._send_offer, methods=["GET"]),
                Route(requests.CATALOGUE, self._send_catalogue, methods=["GET"]),
                Route(requests.NEWS, self._send_news, methods=["GET"]),
                Route(requests.VALUE, self._value, methods=["POST"]),
            ]
        )

    # ── For users ──

    async def _send_offer(self, _request: Request) -> Response:
        return binary(self.offer.to_bytes())

    async def _send_catalogue(self, _request: Request) -> Response:
        return binary(self._catalogue)

    async def _send_news(self, request: Request) -> Response:
        given, tag = request.query_params.get("told", "0"), request.query_params.get("tag", "")
        with malformed():
            known = given.isascii() and given.isdigit() and len(given) < 8
            refuse_unless(known, "how many answers are known must be a whole number")
        if tag == self._tag:
            try:
                async with asyncio.timeout(SECONDS_TO_WAIT):
                    await self._changed.wait()
            except TimeoutError:
                pass
        return binary(self._news(int(given)).to_bytes())

    async def _value(self, request: Request) -> Response:
        asked = self._open
        with unfitting():
            if asked is None:
                raise RefusedError("nothing is asked now")
        body = await body_of(request, size_of_value(asked.cells, self.offer.bits))
        with malformed():
            value = read_message(body, MaskedValue)
        with unfitting():
            refuse_unless(self._open is not None, "this round is closed")
            self.machine.receive(value)
        many, least = self.machine.values, self.offer.minimum_group
        self._progress(min(many, least), least, f"round {asked.label.round + 1}: masked values")
        if many >= least:
            self._came.set()
        return Response(status_code=204)

    @property
    def _tag(self) -> str:
        return News(boot=self._boot, finished=self._finished, first=self._count, question=self._open).tag

    def _news(self, first: int) -> News:
        first = min(first, self._count)
        told = [] if self._finished else self.told(first)  # when all is over nobody needs the last ones
        sizes = itertools.accumulate(answer.words.nbytes for _, answer in told)
        sent = max(1, sum(size <= MOST_AT_ONCE for size in sizes))
        # Whoever is far behind gets some of the answers, and asks again before they hear of the question.
        question = self._open if sent >= len(told) else None
        return News(boot=self._boot, finished=self._finished, first=first, told=tuple(told[:sent]), question=question)

    def told(self, first: int = 0) -> list[Told]:
        """Questions and answers from this number on."""
        if first == self._count - 1 and self._last is not None:
            return [self._last]
        return [told for number in range(first, self._count) for told in self._kept(number) or ()]

    def _publish(self, question: Question | None) -> None:
        self._open = question
        self._changed.set()
        self._changed = asyncio.Event()

    # ── Rounds ──

    async def begin(self, *, end_other_run: bool = False) -> None:
        """Tell the third party the terms; if it accepts them, take over from any other recommender of this run."""
        path = requests.OFFER_INSTEAD if end_other_run else requests.OFFER
        self._claim = int(await self._ask(path, self.offer.to_bytes(), 20))

    async def run_round(self, question: Question) -> Told:
        """One question to all users, and its answer; after a restart the same one is asked again."""
        machine, number = self.machine, question.label.round
        machine.ask(question)
        self._folder.write(MACHINE, machine.to_bytes())
        if machine.answered is None:
            await self._ask(requests.QUESTION, question.to_bytes(), 0)
            LOG.info("round %d: %s", number, question.name)
            started = time.monotonic()
            self._came.clear()
            self._publish(question)
            self._progress(0, self.offer.minimum_group, f"round {number + 1}: waiting for users")
            if machine.values < self.offer.minimum_group:  # a round that was closed before a restart has all it needs
                await self._came.wait()
                await self._others()
            arrived = machine.close()
            self._publish(None)
            self._folder.write(MACHINE, machine.to_bytes())
            most = 128 + question.cells * self.offer.bits // 8
            masks = read_message(await self._ask(requests.ARRIVED, arrived.to_bytes(), most), NoisyMasks)
            machine.finish(masks)
            self._folder.write(MACHINE, machine.to_bytes())
            LOG.info("round %d: answered after %.1f s", number, time.monotonic() - started)
        answer = machine.answered
        assert answer is not None
        await self._ask(requests.ANSWER, answer.to_bytes(), 0)
        return self._tell()

    async def end(self, linger: float) -> None:
        """Tell everyone that it is over, and wait a little until they have heard of it."""
        self._finished = True
        self._publish(None)
        await self._ask(requests.FINISHED, self.offer.label.run, 0)
        await asyncio.sleep(linger)

    async def _others(self) -> None:
        """Wait while others may come, as long as there is room for them."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self._patience
        while loop.time() < end and self.machine.values < self.offer.most_users:
            await asyncio.sleep(min(0.2, end - loop.time()))

    def _tell(self) -> Told:
        """Keep question and answer; both are public."""
        question, answer = self.machine.question, self.machine.answered
        assert question is not None and answer is not None
        if self._last is None or self._last[0].digest != question.digest:
            self._last = (question, answer)
            news = News(boot=bytes(BOOT_BYTES), first=self._count, told=(self._last,))
            self._folder.write(_file(self._count), news.to_bytes())
            self._count += 1
        return self._last

    async def _ask(self, path: str, body: bytes, most: int) -> bytes:
        headers = requests.signed(self._requests, path, self._claim, body)
        asked: Callable[[], object] = lambda: self._third_party.post(path, body, most, headers)  # noqa: E731
        found = await until_reached(asked, SECONDS_FOR_THE_OTHER)
        assert isinstance(found, bytes)
        return found

    # ── State ──

    def _kept(self, number: int) -> tuple[Told, ...] | None:
        kept = self._folder.read(_file(number))
        return None if kept is None else read_news(kept).told

    def _load(self) -> RecommenderMachine:
        while (kept := self._kept(self._count)) is not None:
            self._last = kept[-1]
            self._count += 1
        state = self._folder.read(MACHINE)
        if state is None:
            return RecommenderMachine(self.offer, key=self._receipts)
        machine = RecommenderMachine.from_bytes(state, key=self._receipts)
        if machine.offer.digest != self.offer.digest:
            raise InputError(f"{self._folder.path} holds the state of a run on other terms: name another folder")
        return machine


def _file(number: int) -> str:
    return f"told-{number:06d}"
