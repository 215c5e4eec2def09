"""The third party as a server: it keeps seeds on disk for one round, and gives away one noisy sum of masks."""

import asyncio
import json
from collections.abc import Collection

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from discreet.errors import DiscreetError, DishonestDeviceError
from discreet.parties import requests
from discreet.parties.credentials import TOKEN_BYTES, derived, token_digest
from discreet.parties.folder import Journal, StateFolder
from discreet.parties.serving import LOG, application, binary, body_of, forbidden, malformed, unfitting
from discreet.protocol.message import NAME_BYTES
from discreet.protocol.messages import Answer, Arrived, MaskSeed, read_message
from discreet.protocol.questions import MOST_TEXT, Offer, Question
from discreet.protocol.third_party import ThirdPartyMachine
from discreet.protocol.wire import RefusedError, refuse_unless

SEED_MESSAGE = 106
MOST_HEAD = 4 * MOST_TEXT
MOST_ARRIVED = 1 << 26
RECORD = 2 * TOKEN_BYTES + NAME_BYTES
MACHINE, CLAIMS = "machine", "claims.json"


class ThirdPartyServer:
    """One third party, for one run after the other.

    Parameters
    ----------
    folder
        Its state. Whoever deletes it in the middle of a run must draw a new key too: without its state a third party
        would take part in the same round again.
    key
        What it shares with the recommender.
    enrolled
        Digests of the tokens that count; None lets anyone take part, as often as they like.
    """

    def __init__(self, folder: StateFolder, key: bytes, enrolled: Collection[bytes] | None) -> None:
        self._folder, self._enrolled = folder, enrolled
        self._receipts, self._requests = derived(key, "receipts"), derived(key, "requests")
        self._lock = asyncio.Lock()
        self.machine: ThirdPartyMachine | None = None
        self._claims: dict[str, int | list[str]] = {}
        self._names: dict[bytes, bytes] = {}
        self._journal: Journal | None = None
        self._load()

    def app(self) -> Starlette:
        """Its endpoints."""
        return application(
            [
                Route(requests.OFFER, self._offer, methods=["POST"]),
                Route(requests.OFFER_INSTEAD, self._offer, methods=["POST"]),
                Route(requests.QUESTION, self._question, methods=["POST"]),
                Route(requests.ARRIVED, self._arrived, methods=["POST"]),
                Route(requests.ANSWER, self._answer, methods=["POST"]),
                Route(requests.FINISHED, self._finished, methods=["POST"]),
                Route(requests.SEED, self._seed, methods=["POST"]),
            ]
        )

    # ── For users ──

    async def _seed(self, request: Request) -> Response:
        who = self._token(request)
        with malformed():
            seed = read_message(await body_of(request, SEED_MESSAGE), MaskSeed)
        async with self._lock:
            with unfitting():
                machine, journal = self._open()
                name = self._names.get(who, seed.sender)
                refuse_unless(name == seed.sender, "this token was used in this round before, under another name")
                before = machine.seeds
                receipt = machine.receive(seed)
            if machine.seeds > before:
                try:
                    journal.add(who + seed.sender + seed.seed)
                except OSError:
                    self._load()  # nothing is confirmed that is not kept
                    raise
            if self._enrolled is not None:
                self._names[who] = seed.sender
        await journal.kept()
        return binary(receipt.to_bytes())

    def _token(self, request: Request) -> bytes:
        """The digest of the user's token."""
        if self._enrolled is None:
            return bytes(TOKEN_BYTES)
        kind, _, text = request.headers.get("authorization", "").partition(" ")
        try:
            found = token_digest(bytes.fromhex(text)) if kind == "Bearer" and len(text) == 2 * TOKEN_BYTES else b""
        except ValueError:
            found = b""
        if found not in self._enrolled:
            raise forbidden(401, "this token is not enrolled here")
        return found

    # ── For the recommender ──

    async def _offer(self, request: Request) -> Response:
        """Begin a run or go on with it, and obey from now on the recommender that offers it: gives its number."""
        body = await self._from_recommender(request, MOST_HEAD, started=False)
        with malformed():
            offer = read_message(body, Offer)
        async with self._lock:
            machine, run = self.machine, offer.label.run.hex()
            if machine is None or machine.offer.label.run != offer.label.run:
                with unfitting():
                    # Users would send the same masked values again, and a second sum would tell whose are not in it.
                    refuse_unless(run not in self._ended(), "this run has ended here, and is never begun again")
                    instead = request.scope["path"] == requests.OFFER_INSTEAD
                    refuse_unless(machine is None or instead, "another run is going on here, and has not ended")
                if machine is not None:
                    self._end()
                self._begin(ThirdPartyMachine(offer, key=self._receipts))
                LOG.info("a run begins: %s", offer.model)
            else:
                with unfitting():
                    refuse_unless(machine.offer.digest == offer.digest, "this run was offered on other terms")
            number = self._number() + 1
            self._keep(number=number)
        LOG.info("a recommender has started (%d)", number)
        return binary(str(number).encode())

    async def _question(self, request: Request) -> Response:
        body = await self._from_recommender(request, MOST_HEAD)
        with malformed():
            question = read_message(body, Question)
        async with self._lock:
            with unfitting():
                machine = self._running()
                before = machine.question
                machine.ask(question)
            if before is None or before.digest != question.digest:
                self._begin(machine)
                LOG.info("round %d: %s", question.label.round, question.name)
        return Response(status_code=204)

    async def _arrived(self, request: Request) -> Response:
        most = MOST_ARRIVED if self.machine is None else 128 + NAME_BYTES * self.machine.offer.most_users
        body = await self._from_recommender(request, min(most, MOST_ARRIVED))
        with malformed():
            arrived = read_message(body, Arrived)
        async with self._lock:
            with unfitting():
                machine = self._running()
                was_closed = machine.is_closed
                try:
                    masks = await asyncio.to_thread(machine.close, arrived)
                except asyncio.CancelledError:
                    self._load()  # what was not kept did not happen, whatever the thread still does
                    raise
            if not was_closed:
                self._save(machine)
                self._open_journal()  # which removes the seeds
                LOG.info("round %d is closed", arrived.label.round)
        return binary(masks.to_bytes())

    async def _answer(self, request: Request) -> Response:
        question = None if self.machine is None else self.machine.question
        most = MOST_HEAD if question is None else 128 + 8 * question.cells
        body = await self._from_recommender(request, most)
        with malformed():
            answer = read_message(body, Answer)
        async with self._lock:
            with unfitting():
                try:
                    self._running().check(answer)
                except DishonestDeviceError:
                    self._end()
                    raise
        return Response(status_code=204)

    async def _finished(self, request: Request) -> Response:
        body = await self._from_recommender(request, NAME_BYTES)
        async with self._lock:
            if self.machine is not None and body == self.machine.offer.label.run:
                self._end()
        return Response(status_code=204)

    async def _from_recommender(self, request: Request, most: int, *, started: bool = True) -> bytes:
        """The body of a request that a recommender signed: the one that ``started`` last, or any."""
        given, body = requests.number_of(request.headers), await body_of(request, most)
        if not requests.is_signed(self._requests, request.scope["path"], max(given, 0), body, request.headers):
            raise forbidden(403, "only the recommender may ask this")
        if started:
            self._check_started(request)
        return body

    def _check_started(self, request: Request) -> None:
        with unfitting():
            last = requests.number_of(request.headers) == self._number()
            refuse_unless(last, "another recommender was started since, and has taken over")

    # ── State ──

    def _load(self) -> None:
        claims = self._folder.read(CLAIMS)
        self._claims = {"number": 0, "ended": []} if claims is None else json.loads(claims)
        state = self._folder.read(MACHINE)
        self.machine = None if state is None else ThirdPartyMachine.from_bytes(state, key=self._receipts)
        if self.machine is not None and self.machine.offer.label.run.hex() in self._ended():
            self._forget()
        self._open_journal()

    def _begin(self, machine: ThirdPartyMachine) -> None:
        """Keep what was asked before anyone answers it; the seeds of the round before are forgotten."""
        self._save(machine)
        self.machine = machine
        self._open_journal()

    def _save(self, machine: ThirdPartyMachine) -> None:
        try:
            self._folder.write(MACHINE, machine.to_bytes())
        except DiscreetError:
            self._load()  # what was not kept did not happen
            raise

    def _open_journal(self) -> None:
        if self._journal is not None:
            self._journal.close()
        self._journal, self._names = None, {}
        machine = self.machine
        asked = None if machine is None else machine.question
        is_open = machine is not None and asked is not None and not machine.is_closed
        wanted = f"seeds-{asked.digest[:8].hex()}" if is_open and asked is not None else ""
        for old in self._folder.path.glob("seeds-*"):
            if old.name != wanted:
                old.unlink()
        if not is_open or machine is None or asked is None:
            return
        self._journal = Journal(self._folder.path / wanted, RECORD)
        for record in self._journal.records():
            who, sender, seed = record[:32], record[32:48], record[48:]
            self._names[who] = sender
            machine.receive(MaskSeed(label=asked.label, sender=sender, question=asked.digest, seed=seed))
        if self._enrolled is None:
            self._names = {}

    def _end(self) -> None:
        """End the run for good."""
        self._keep(ended=[*self._ended(), self._running().offer.label.run.hex()])
        self._forget()
        LOG.info("the run has ended")

    def _forget(self) -> None:
        self.machine = None
        self._open_journal()
        (self._folder.path / MACHINE).unlink(missing_ok=True)

    def _keep(self, **changes: int | list[str]) -> None:
        self._claims |= changes
        self._folder.write(CLAIMS, json.dumps(self._claims).encode())

    def _number(self) -> int:
        number = self._claims["number"]
        assert isinstance(number, int)
        return number

    def _ended(self) -> list[str]:
        ended = self._claims["ended"]
        assert isinstance(ended, list)
        return ended

    def _running(self) -> ThirdPartyMachine:
        if self.machine is None:
            raise RefusedError("no run was offered yet")
        return self.machine

    def _open(self) -> tuple[ThirdPartyMachine, Journal]:
        machine = self._running()
        if self._journal is None:
            raise RefusedError("nothing was asked yet" if machine.question is None else "this round is closed")
        return machine, self._journal
