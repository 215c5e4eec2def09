"""The three parties of S2 and S3 as published: each consumes messages and produces messages, and does no input or
output.

They trust each other as the paper has it. A user believes the H, the k, the v and the τ̂ that she is sent, and refuses
nothing: :mod:`~discreet.papers.untrusted.attacks` makes use of that, and :mod:`discreet.protocol` is how it is done
soundly.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar

import numpy as np

from discreet.data.history import History
from discreet.errors import require
from discreet.kernels.untrusted import serve_users
from discreet.papers.untrusted.algorithm import UntrustedMF
from discreet.papers.untrusted.messages import Masked, NoiseTotals, PaddedNoise, Pads, Request, Task, Totals
from discreet.papers.untrusted.noise import Streams, laplace_scale, pieces
from discreet.papers.untrusted.simulation import NOTHING, at_home, moved
from discreet.privacy.randomness import Randomness, secret_key
from discreet.protocol.encoding import FixedPoint
from discreet.protocol.masks import expand
from discreet.types import AnyArray, Doubles, Indices

Normals = Callable[[str, int, int], Doubles]
"""``normals(purpose, round, rows)``: a user's own standard normal numbers, a row for each item."""


def points_of(model: UntrustedMF) -> FixedPoint:
    """How values become words mod P."""
    return FixedPoint(step=1 / model.unit, most_users=1, bits=model.bits)


class User:
    """One user: the ratings and u_i stay here.

    Parameters
    ----------
    name
        What the servers call her.
    history
        Her ratings.
    own
        u_i(0).
    ratings
        W, which only the reading M = W needs.
    normals
        Where her noise comes from; the operating system unless a test says otherwise.
    """

    def __init__(
        self,
        model: UntrustedMF,
        name: int,
        history: History,
        own: Doubles,
        *,
        ratings: int = 1,
        normals: Normals | None = None,
    ) -> None:
        require(not model.shrunk_noise, "noise that is divided by W is a reading of the text that no message carries")
        self.model, self.name, self._points = model, name, points_of(model)
        self._items, self._values = history.items, history.values
        self.own = own.reshape(1, -1).copy()
        whole = {"ratings": float(ratings), "none": 1.0}.get(model.divisor, float(max(len(self._items), 1)))
        self._divisor = np.array([whole])
        self._scale = 0.0
        if model.epsilon is not None:
            self._scale = laplace_scale(model.epsilon, history.catalogue.scale.width, model.factors)
        streams = Streams(secret_key(Randomness()))
        self._normals = normals or (lambda purpose, number, rows: streams.normals(purpose, number, rows, model.factors))
        self._eta: Doubles = np.zeros((len(self._items), model.factors))

    def request(self, number: int) -> Request:
        """Step 1: ask for the items that she rated."""
        return Request(user=self.name, round=number, items=self._items)

    def pad(self, pads: Pads) -> PaddedNoise:
        """I2: pieces of every item's η, with β on them."""
        drawn = np.zeros(pads.exponentials.shape)
        if self._scale:
            rows = len(drawn)
            normals = self._normals("eta", 0, rows)
            drawn = pieces(self._scale, pads.exponentials, normals, np.full(rows, float(pads.count)))
        whole = np.rint(drawn * self.model.unit).astype(np.int64)
        return PaddedNoise(user=self.name, words=self._points.words(whole) + pads.pads)

    def act(self, task: Task) -> Masked:
        """Step 2: gradients with noise and masks; then u_i makes its step."""
        counts = task.counts.astype(np.float64)
        noise = NOTHING
        if self._scale:
            if task.first_exponentials is not None:
                normals = self._normals("eta", 0, len(task.items))
                self._eta = pieces(self._scale, task.first_exponentials, normals, counts)
            assert task.exponentials is not None
            normals = self._normals("rho", task.round, len(task.items))
            noise = pieces(self._scale, task.exponentials, normals, counts)
            if task.pieces is None:
                noise = self._eta + noise
        rows = len(task.items)
        whole = np.zeros((rows, self.model.factors), dtype=np.int64)
        serve_users(
            np.zeros(1, dtype=np.int32),
            np.array([0, rows]),
            np.arange(rows, dtype=np.int32),
            self._values,
            self.own,
            task.vectors,
            noise,
            self._divisor,
            self.model.unit,
            *at_home(self.model),
            whole,
        )
        words = self._points.words(whole) + task.masks
        if task.pieces is not None:
            words = words + task.pieces
        return Masked(user=self.name, round=task.round, items=task.items, words=words)


class ThirdParty:
    """Adds up what it cannot read; in S3 it also keeps α."""

    def __init__(self, model: UntrustedMF, items: int, randomness: Randomness | None = None) -> None:
        self.model, self._shape, self._points = model, (items, model.factors), points_of(model)
        key = secret_key(Randomness() if randomness is None else randomness)
        self._alpha = np.zeros(self._shape, dtype=_type_of(model))
        if model.scenario == "dynamic":
            self._alpha = expand(key, b"alpha", items * model.factors, model.bits).reshape(self._shape)

    def collect_noise(self, messages: Iterable[PaddedNoise]) -> NoiseTotals:
        """I3: the sum of all padded pieces, with α on it."""
        total, users = self._alpha.copy(), []
        for message in messages:
            total += message.words
            users.append(message.user)
        return NoiseTotals(users=tuple(users), words=total)

    def collect(self, number: int, messages: Iterable[Masked]) -> Totals:
        """Step 3: the sum of each item over those whose message came; in S3 α is taken away."""
        total, users = np.zeros(self._shape, dtype=_type_of(self.model)), []
        asked = np.zeros(self._shape[0], dtype=np.bool_)
        for message in messages:
            np.add.at(total, message.items, message.words)
            asked[message.items] = True
            users.append(message.user)
        items = np.flatnonzero(asked).astype(np.int32)
        return Totals(round=number, users=tuple(users), items=items, words=(total - self._alpha)[items])


class Recommender:
    """Deals out masks and takes them away again; keeps V. It sees who rated what, and sums.

    ``streams`` has its H; a test may hand in others. The fields with a leading underscore are its secrets. Dealing τ̂
    out in pieces is redundant: where ``deals`` is False it keeps τ̂ and adds it to the sums, which come out the same.
    """

    deals: ClassVar[bool] = True

    def __init__(
        self,
        model: UntrustedMF,
        items: Doubles,
        *,
        ratings: int = 1,
        randomness: Randomness | None = None,
        streams: Streams | None = None,
    ) -> None:
        self.model, self.items, self._points = model, items.copy(), points_of(model)
        self._ratings = ratings
        self._secret = secret_key(Randomness() if randomness is None else randomness)
        self.streams = streams or Streams(secret_key(Randomness()))
        self._noisy = model.epsilon is not None
        self._tau: AnyArray = np.zeros(items.shape, dtype=_type_of(model))
        self._dealt: dict[int, Task] = {}

    # ── Before the first round of S3 ──

    def pads(self, users: Sequence[int]) -> list[Pads]:
        """I1: β and H of every item for each of k online users."""
        exponentials = self.first_exponentials()
        return [Pads(user=user, count=len(users), pads=self._beta(user), exponentials=exponentials) for user in users]

    def keep_noise(self, totals: NoiseTotals) -> None:
        """I4: take every β away; τ̂ = α + Σ η is left, and kept secret."""
        self._tau = totals.words.copy()
        for user in totals.users:
            self._tau -= self._beta(user)

    # ── A round ──

    def tasks(self, number: int, requests: Sequence[Request]) -> list[Task]:
        """Step 1: v, masks and H for everyone who asked."""
        counts = np.zeros(len(self.items), dtype=np.int32)
        for request in requests:
            counts[request.items] += 1
        exponentials = self.exponentials(number)
        told = self.told_counts(counts)
        left = self._tau.copy()
        waiting = counts.copy()
        tasks = []
        for request in requests:
            items, size = request.items, (len(request.items), self.model.factors)
            dealt = None
            if self.model.scenario == "dynamic" and self.deals:
                dealt = self._words(number, f"piece {request.user}", size)
                last = waiting[items] == 1
                dealt[last] = left[items][last]  # the last one gets what is left of τ̂
                left[items] -= dealt
                waiting[items] -= 1
            first = self._noisy and number == 1 and self.model.scenario == "static"
            tasks.append(
                Task(
                    user=request.user,
                    round=number,
                    items=items,
                    vectors=self.items[items],
                    masks=self._words(number, f"mask {request.user}", size),
                    counts=told[items],
                    exponentials=exponentials[items] if self._noisy else None,
                    first_exponentials=self.first_exponentials()[items] if first else None,
                    pieces=dealt,
                )
            )
        self._dealt = {task.user: task for task in tasks}
        return tasks

    def finish(self, totals: Totals) -> Doubles:
        """Step 4: take the masks of those who sent something away, put pieces of τ̂ that were lost back, and step.

        Returns the sums as it sees them, a row for each item.
        """
        seen, counts = self.unmasked(totals)
        whole = {"ratings": float(self._ratings), "none": 1.0}.get(self.model.divisor)
        items = np.flatnonzero(counts).astype(np.int32)
        divisors = counts[items].astype(np.float64)[:, None] if whole is None else np.float64(whole)
        self.items[items] = moved(self.model, self.items[items], seen[items] / divisors)
        return seen

    def unmasked(self, totals: Totals) -> tuple[Doubles, Indices]:
        """The sum of every item without masks, and of how many users it is."""
        words = np.zeros(self.items.shape, dtype=_type_of(self.model))
        counts = np.zeros(len(self.items), dtype=np.int32)
        words[totals.items] = totals.words
        came = set(totals.users)
        for user, task in self._dealt.items():
            if user in came:
                words[task.items] -= task.masks
                counts[task.items] += 1
            elif task.pieces is not None:
                words[task.items] += task.pieces
        if not self.deals:
            words += self._tau
        words[counts == 0] = 0
        return self._points.decode(words.ravel()).reshape(words.shape), counts

    # ── What is its word ──

    def exponentials(self, number: int) -> Doubles:
        """H of ρ̃ in this round, of every item."""
        return self.streams.exponentials("rho", number, *self.items.shape)

    def first_exponentials(self) -> Doubles:
        """H of η."""
        return self.streams.exponentials("eta", 0, *self.items.shape)

    def told_counts(self, counts: Indices) -> AnyArray:
        """The k that users are told."""
        return counts

    def _beta(self, user: int) -> AnyArray:
        return self._words(0, f"beta {user}", self.items.shape)

    def _words(self, number: int, purpose: str, shape: tuple[int, ...]) -> AnyArray:
        """Uniform words, the same whenever they are asked for again; never for two users, rounds or purposes."""
        label = f"{purpose}, round {number}".encode()
        return expand(self._secret, label, int(np.prod(shape)), self.model.bits).reshape(shape)


def _type_of(model: UntrustedMF) -> np.dtype[np.unsignedinteger]:
    return np.dtype(f"<u{model.bits // 8}")
