"""A user's own program: it asks what is asked, checks it, and sends what the machine of the protocol gives away."""

import asyncio
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from discreet.data.catalogue import Catalogue
from discreet.data.history import History
from discreet.data.ratings import Ratings
from discreet.errors import DiscreetError
from discreet.files import write_whole
from discreet.parties import requests
from discreet.parties.calling import Caller, DeclinedError, UnreachableError, until_reached
from discreet.parties.news import MOST_BYTES, News, read_catalogue_bytes, read_news
from discreet.parties.offered import offered_model
from discreet.parties.serving import LOG
from discreet.parties.third_party import MOST_HEAD, SEED_MESSAGE
from discreet.populations.remote import Device, Told
from discreet.populations.secure_sums import MINIMUM_GROUP
from discreet.privacy.unit import Unit, User
from discreet.protocol.messages import Receipt, read_message
from discreet.protocol.questions import Offer, Question
from discreet.protocol.user import Policy, UserMachine
from discreet.protocol.wire import RefusedError, refuse_unless

KEY, AGREED = "key", "agreed.json"


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What a user agrees to.

    Parameters
    ----------
    epsilon, delta
        At most so much may be learned by either server, over all runs together.
    unit
        Whose secret must be kept.
    users_at_least
        How many users must take part in every sum.
    rounds
        How many questions of a run are answered at most.
    """

    epsilon: float
    delta: float = 1e-6
    unit: Unit = field(default_factory=User)
    users_at_least: int = MINIMUM_GROUP
    rounds: int = 20


class Feed:
    """What the recommender tells; users in one program read it together.

    A user's own program checks all of it, so a recommender that tells some users other things is refused by them.
    """

    def __init__(self, recommender: Caller, seconds: float) -> None:
        self._recommender, self._seconds = recommender, seconds
        self.told: list[Told] = []
        self._tag, self._rounds = "", 0

    async def start(self) -> tuple[Offer, Catalogue]:
        """The terms of the run and the public items."""
        offer = read_message(await self._get(requests.OFFER, MOST_HEAD), Offer)
        self._rounds = offer.rounds
        items = await self._get(requests.CATALOGUE, MOST_BYTES)
        return offer, read_catalogue_bytes(items, offer.catalogue)

    async def next(self) -> News:
        """What is new; waits where nothing is."""
        known = len(self.told)
        news = read_news(await self._get(requests.NEWS, MOST_BYTES, {"told": str(known), "tag": self._tag}))
        refuse_unless(news.first <= known, "the recommender leaves out answers")
        self.told += news.told[known - news.first :]
        refuse_unless(len(self.told) <= self._rounds, "the recommender tells of more rounds than were offered")
        self._tag = news.tag
        return news

    def again(self) -> None:
        """Do not wait for anything new next time."""
        self._tag = ""

    async def _get(self, path: str, most: int, params: dict[str, str] | None = None) -> bytes:
        found = await until_reached(lambda: self._recommender.get(path, most, params), self._seconds)
        assert isinstance(found, bytes)
        return found


class UserSession:
    """One user in one run.

    Parameters
    ----------
    folder
        What this user's program keeps: it holds secrets, and is the user's own.
    terms, token
        What the user agrees to, and what shows the third party that they are enrolled.
    """

    def __init__(
        self,
        folder: Path,
        history: History,
        offer: Offer,
        terms: Terms,
        token: bytes | None,
        recommender: Caller,
        third_party: Caller,
    ) -> None:
        self._folder, self._token = folder, token
        self._recommender, self._third_party = recommender, third_party
        self._device = Device(offered_model(offer.model), Ratings.of_history(history), offer, key=self._own_key())
        self._machine = self._agree(offer, terms, bytes.fromhex(history.catalogue.fingerprint))
        self._done: tuple[bytes, bytes] | None = None

    @property
    def answered(self) -> int:
        """How many questions were answered."""
        return self._machine.answered

    async def answer(self, boot: bytes, question: Question, told: Sequence[Told]) -> None:
        """Answer a question, once for each start of the recommender: always with the same bytes."""
        if self._done == (boot, question.digest):
            return
        asked = self._device.next(told)
        if asked is None:
            raise RefusedError("the model has all it needs, and the recommender asks on")
        seed = self._machine.answer(question, asked.question, asked.values)
        self._save()
        headers = {} if self._token is None else {"authorization": f"Bearer {self._token.hex()}"}
        confirmed = await self._third_party.post(requests.SEED, seed.to_bytes(), SEED_MESSAGE, headers)
        value = self._machine.confirmed(read_message(confirmed, Receipt))
        await self._recommender.post(requests.VALUE, value.to_bytes(), 0)
        self._done = (boot, question.digest)

    def _agree(self, offer: Offer, terms: Terms, catalogue: bytes) -> UserMachine:
        """The machine of this run; of a new one where the budget allows for it, which is written down first."""
        run, agreed = offer.label.run.hex(), self._agreed()
        others = [each for name, each in agreed.items() if name != run]
        left = Terms(
            epsilon=terms.epsilon - sum(epsilon for epsilon, _ in others),
            delta=terms.delta - sum(delta for _, delta in others),
        )
        enough = offer.epsilon <= left.epsilon * (1 + 1e-12) and offer.delta <= left.delta * (1 + 1e-12)
        refuse_unless(
            enough,
            f"epsilon {offer.epsilon:g}, delta {offer.delta:g} is more than this user's budget has left: "
            f"epsilon {max(left.epsilon, 0):.4g}, delta {max(left.delta, 0):.4g}",
        )
        policy = Policy(
            epsilon=offer.epsilon,
            delta=offer.delta,
            unit=terms.unit,
            minimum_group=terms.users_at_least,
            rounds=terms.rounds,
        )
        kept = self._folder / f"run-{run}"
        if kept.exists():
            machine = UserMachine.from_bytes(kept.read_bytes(), policy, catalogue=catalogue)
            refuse_unless(machine.offer.digest == offer.digest, "the terms of this run have changed")
        else:
            refuse_unless(run not in agreed, "what was sent in this run is not known any more: it is not sent twice")
            machine = UserMachine(policy, offer, catalogue=catalogue)
            write_whole(kept, machine.to_bytes(), private=True)
        agreed[run] = (offer.epsilon, offer.delta)
        write_whole(self._folder / AGREED, json.dumps(agreed).encode(), private=True)
        return machine

    def _agreed(self) -> dict[str, tuple[float, float]]:
        path = self._folder / AGREED
        found = json.loads(path.read_bytes()) if path.exists() else {}
        return {run: (float(each[0]), float(each[1])) for run, each in found.items()}

    def _own_key(self) -> bytes:
        path = self._folder / KEY
        if not path.exists():
            write_whole(path, os.urandom(32), private=True)
        return path.read_bytes()

    def _save(self) -> None:
        run = self._machine.offer.label.run.hex()
        write_whole(self._folder / f"run-{run}", self._machine.to_bytes(), private=True)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How many users took part to the end, and why others did not."""

    took_part: int
    answered: int
    refused: tuple[str, ...]


async def take_part(
    users: Sequence[tuple[Path, Callable[[Catalogue], History], bytes | None]],
    terms: Terms,
    recommender: Caller,
    third_party: Caller,
    *,
    seconds: float = 600.0,
    heard: Callable[[str], None] = lambda sentence: None,
) -> Outcome:
    """Take part in one run for all these users, each with a folder, their ratings and a token, until it is over."""
    feed = Feed(recommender, seconds)
    offer, catalogue = await feed.start()
    sessions: dict[int, UserSession] = {}
    reasons: list[str] = []
    for place, (folder, read, token) in enumerate(users):
        try:
            history = read(catalogue)
            sessions[place] = UserSession(folder, history, offer, terms, token, recommender, third_party)
        except DiscreetError as error:
            if len(users) == 1:
                raise
            reasons.append(str(error))
        await asyncio.sleep(0)
    heard(f"{offer.model} with epsilon {offer.epsilon:g}, delta {offer.delta:g} for one {offer.unit.name}")
    while sessions:
        news = await feed.next()
        if news.finished:
            break
        if news.question is None:
            await asyncio.sleep(0.05)  # whatever the recommender does, this program does not run hot
            continue
        question, boot, told = news.question, news.boot, list(feed.told)

        async def one(place: int, boot: bytes = boot, question: Question = question, told: list[Told] = told) -> bool:
            try:
                await sessions[place].answer(boot, question, told)
            except UnreachableError:
                return False  # asked again below
            except DeclinedError as error:  # too late for this round, perhaps: the next one may be in time
                if len(users) == 1:
                    heard(str(error))
                LOG.info("%s", error)
            except DiscreetError as error:
                if len(users) == 1:
                    raise
                reasons.append(str(error))
                del sessions[place]
            return True

        reached = await asyncio.gather(*(one(place) for place in list(sessions)))
        heard(f"round {question.label.round + 1}: {sum(reached)} of {len(users)} users have answered")
        if not all(reached):
            feed.again()
            await asyncio.sleep(0.2)
    answered = max((session.answered for session in sessions.values()), default=0)
    return Outcome(took_part=len(sessions), answered=answered, refused=tuple(sorted(set(reasons))))
