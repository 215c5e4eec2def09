"""A run message by message: who says what to whom, in order, with a record of all of it and with users who vanish."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from discreet.data.ratings import Ratings
from discreet.papers.untrusted.algorithm import UntrustedMF
from discreet.papers.untrusted.attendance import attendance
from discreet.papers.untrusted.messages import Message
from discreet.papers.untrusted.noise import Streams
from discreet.papers.untrusted.parties import Normals, Recommender, ThirdParty, User
from discreet.papers.untrusted.simulation import start
from discreet.privacy.randomness import Randomness
from discreet.types import Doubles, Indices

Vanishes = Callable[[int, int], str]
"""``vanishes(user, round)``: before which message she leaves, ``request`` or ``masked``; empty for never."""


def nobody(user: int, number: int) -> str:
    """No user vanishes."""
    return ""


@dataclass
class Transcript:
    """What each party saw."""

    by: dict[str, list[Message]] = field(default_factory=dict)

    def sent(self, to: str, message: Message) -> None:
        """A message arrived."""
        self.by.setdefault(to, []).append(message)


class Exchange:
    """All parties in one process, and the messages between them.

    ``streams`` is what a :class:`~discreet.papers.untrusted.simulation.Simulation` draws its pieces from: with the same
    streams the two agree in every bit. Without, every user draws her own.
    """

    def __init__(
        self,
        model: UntrustedMF,
        ratings: Ratings,
        *,
        randomness: Randomness | None = None,
        streams: Streams | None = None,
        recommender: type[Recommender] = Recommender,
        vanishes: Vanishes = nobody,
    ) -> None:
        self.model, self.ratings, self._vanishes = model, ratings, vanishes
        users, items = start(model, ratings.n_users, ratings.n_items)
        self._streams = streams
        self.users = [
            User(
                model,
                number,
                ratings.history_at(number),
                users[number],
                ratings=len(ratings),
                normals=None if streams is None else self._normals_of(number),
            )
            for number in range(ratings.n_users)
        ]
        randomness = Randomness() if randomness is None else randomness
        self.third_party = ThirdParty(model, ratings.n_items, randomness)
        self.recommender = recommender(model, items, ratings=len(ratings), randomness=randomness, streams=streams)
        self.transcript = Transcript()

    def run(self) -> Doubles:
        """All rounds; V."""
        for _ in self.rounds():
            pass
        return self.recommender.items

    def rounds(self) -> Iterator[int]:
        """Yields the number of each round after it."""
        groups = attendance(self.model, self.ratings.n_users)
        if self.model.scenario == "dynamic":
            self.initialise(next(attendance(self.model, self.ratings.n_users)))
        for number, group in enumerate(islice(groups, self.model.iterations), start=1):
            self.round(number, group)
            yield number

    def initialise(self, group: Indices) -> None:
        """S3: τ̂ is made."""
        sent = []
        self._place(group, np.full(len(group), self.ratings.n_items))
        for pads in self.recommender.pads([int(user) for user in group]):
            self.transcript.sent(f"user {pads.user}", pads)
            sent.append(self.users[pads.user].pad(pads))
            self.transcript.sent("third party", sent[-1])
        totals = self.third_party.collect_noise(sent)
        self.transcript.sent("recommender", totals)
        self.recommender.keep_noise(totals)

    def round(self, number: int, group: Indices) -> Doubles:
        """One round with these users; the sums that the recommender sees."""
        there = [int(user) for user in group if self._vanishes(int(user), number) != "request"]
        self._place(group, np.diff(self.ratings.indptr)[group])
        requests = [self.users[user].request(number) for user in there]
        for request in requests:
            self.transcript.sent("recommender", request)
        sent = []
        for task in self.recommender.tasks(number, requests):
            self.transcript.sent(f"user {task.user}", task)
            masked = self.users[task.user].act(task)
            if self._vanishes(task.user, number) != "masked":
                self.transcript.sent("third party", masked)
                sent.append(masked)
        totals = self.third_party.collect(number, sent)
        self.transcript.sent("recommender", totals)
        return self.recommender.finish(totals)

    def _place(self, group: Indices, sizes: Indices) -> None:
        """Which rows of a stream belong to whom: user after user, as a simulation draws them."""
        ends = np.cumsum(sizes)
        self._of_group = {
            int(user): slice(int(end - size), int(end)) for user, size, end in zip(group, sizes, ends, strict=True)
        }
        self._total = int(ends[-1]) if len(ends) else 0

    def _normals_of(self, number: int) -> Normals:
        def normals(purpose: str, round_: int, rows: int) -> Doubles:
            assert self._streams is not None
            drawn = self._streams.normals(purpose, round_, self._total, self.model.factors)
            return drawn[self._of_group[number]]

        return normals
