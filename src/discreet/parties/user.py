"""A user's own program: it asks what is asked, checks it, and sends what the machine of the protocol gives away."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from discreet.data.catalogue import Catalogue
from discreet.data.history import History
from discreet.data.ratings import Ratings
from discreet.errors import DiscreetError
from discreet.parties import requests
from discreet.parties.calling import Caller, DeclinedError, UnreachableError, until_reached
from discreet.parties.folder import Kept
from discreet.parties.news import MOST_BYTES, News, read_catalogue_bytes, read_news
from discreet.parties.offered import offered_model
from discreet.parties.serving import LOG
from discreet.parties.third_party import MOST_HEAD, SEED_MESSAGE
from discreet.populations.remote import Device, ModelCopy, Told
from discreet.populations.secure_sums import MINIMUM_GROUP
from discreet.privacy.unit import Unit, User
from discreet.protocol.messages import MaskSeed, Receipt, read_message
from discreet.protocol.questions import Offer, Question
from discreet.protocol.user import Policy, UserMachine
from discreet.protocol.wire import RefusedError, refuse_unless

TOGETHER = 64
"""So many users of one program answer at the same time: what they send is put on the disk first, by one call."""


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
    kept, name
        What this user's program keeps, and under which name: it holds secrets, and is the user's own.
    terms, token
        What the user agrees to, and what shows the third party that they are enrolled.
    copy
        The copy of the model that the offer names: users in one program share it.
    """

    def __init__(
        self,
        kept: Kept,
        name: str,
        history: History,
        copy: ModelCopy,
        terms: Terms,
        token: bytes | None,
        recommender: Caller,
        third_party: Caller,
    ) -> None:
        self._kept, self._name, self._token = kept, name, token
        self._recommender, self._third_party = recommender, third_party
        self._device = Device(copy, Ratings.of_history(history), key=kept.key(name))
        self._machine = self._agree(copy.offer, terms, bytes.fromhex(history.catalogue.fingerprint))
        self._done: tuple[bytes, bytes] | None = None

    @property
    def answered(self) -> int:
        """How many questions were answered."""
        return self._machine.answered

    def is_done(self, boot: bytes, question: Question) -> bool:
        """Whether it was answered since this start of the recommender."""
        return self._done == (boot, question.digest)

    def prepare(self, question: Question, told: Sequence[Told]) -> MaskSeed:
        """Check and charge a question, and keep what will be sent: always the same bytes."""
        asked = self._device.next(told)
        if asked is None:
            raise RefusedError("the model has all it needs, and the recommender asks on")
        seed = self._machine.answer(question, asked.question, asked.values)
        self._write(self._machine)
        return seed

    async def send(self, boot: bytes, seed: MaskSeed) -> None:
        """Send what :meth:`prepare` gave, once it is on the disk."""
        headers = {} if self._token is None else {"authorization": f"Bearer {self._token.hex()}"}
        confirmed = await self._third_party.post(requests.SEED, seed.to_bytes(), SEED_MESSAGE, headers)
        value = self._machine.confirmed(read_message(confirmed, Receipt))
        await self._recommender.post(requests.VALUE, value.to_bytes(), 0)
        self._done = (boot, seed.question)

    async def answer(self, boot: bytes, question: Question, told: Sequence[Told]) -> None:
        """Answer a question, once for each start of the recommender."""
        if not self.is_done(boot, question):
            await self.send(boot, self.prepare(question, told))

    def _agree(self, offer: Offer, terms: Terms, catalogue: bytes) -> UserMachine:
        """The machine of this run; of a new one where the budget allows for it, which is written down first."""
        run, agreed = offer.label.run.hex(), self._kept.agreed(self._name)
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
        state = self._kept.machine(self._name, run)
        if state is not None:
            machine = UserMachine.from_bytes(state, policy, catalogue=catalogue)
            refuse_unless(machine.offer.digest == offer.digest, "the terms of this run have changed")
            return machine
        machine = UserMachine(policy, offer, catalogue=catalogue)
        self._write(machine)
        return machine

    def _write(self, machine: UserMachine) -> None:
        offer = machine.offer
        self._kept.write(self._name, offer.label.run.hex(), offer.epsilon, offer.delta, machine.to_bytes())


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How many users took part to the end, and why others did not."""

    took_part: int
    answered: int
    refused: tuple[str, ...]


async def take_part(
    users: Sequence[tuple[str, Callable[[Catalogue], History], bytes | None]],
    kept: Kept,
    terms: Terms,
    recommender: Caller,
    third_party: Caller,
    *,
    seconds: float = 600.0,
    heard: Callable[[str], None] = lambda sentence: None,
) -> Outcome:
    """Take part in one run for all these users, each with a name, their ratings and a token, until it is over."""
    feed = Feed(recommender, seconds)
    offer, catalogue = await feed.start()
    copy = ModelCopy(offered_model(offer.model), catalogue, offer)
    sessions: dict[int, UserSession] = {}
    reasons: list[str] = []
    with kept.together():
        for place, (name, read, token) in enumerate(users):
            try:
                history = read(catalogue)
                sessions[place] = UserSession(kept, name, history, copy, terms, token, recommender, third_party)
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

        def refused(place: int, error: DiscreetError) -> None:
            if len(users) == 1:
                raise error
            reasons.append(str(error))
            del sessions[place]

        async def send(place: int, seed: MaskSeed, boot: bytes = boot) -> bool:
            try:
                await sessions[place].send(boot, seed)
            except UnreachableError:
                return False  # asked again below
            except DeclinedError as error:  # too late for this round, perhaps: the next one may be in time
                if len(users) == 1:
                    heard(str(error))
                LOG.info("%s", error)
            except DiscreetError as error:
                refused(place, error)
            return True

        waiting = [place for place, session in sessions.items() if not session.is_done(boot, question)]
        unreached = 0
        for first in range(0, len(waiting), TOGETHER):
            seeds = {}
            with kept.together():
                for place in waiting[first : first + TOGETHER]:
                    try:
                        seeds[place] = sessions[place].prepare(question, told)
                    except DiscreetError as error:
                        refused(place, error)
            unreached += (await asyncio.gather(*(send(*each) for each in seeds.items()))).count(False)
        heard(f"round {question.label.round + 1}: {len(sessions) - unreached} of {len(users)} users have answered")
        if unreached:
            feed.again()
            await asyncio.sleep(0.2)
    answered = max((session.answered for session in sessions.values()), default=0)
    return Outcome(took_part=len(sessions), answered=answered, refused=tuple(sorted(set(reasons))))
