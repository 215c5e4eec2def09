"""S2 and S3 for all users at once: the same integers as message by message, without the messages.

Masks cancel mod P whatever they are, so they are left out; tests compare with a run of real messages, bit for bit. Only
the sum of the noise pieces reaches the recommender: by default its law, Laplace, is drawn once for an item and a round.
With ``by_pieces`` every user's piece is drawn and rounded, as devices do it.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from discreet.data.ratings import Ratings
from discreet.errors import InputError
from discreet.kernels.untrusted import Sums, add_laplace_rows, serve_users
from discreet.papers.objective_perturbation.algorithm import unit_rows
from discreet.papers.untrusted.algorithm import UntrustedMF
from discreet.papers.untrusted.attendance import attendance
from discreet.papers.untrusted.noise import Streams, laplace_scale, pieces
from discreet.privacy.randomness import Randomness, secret_key
from discreet.types import Doubles, Indices, Progress, no_progress

LARGEST = 2.0**62
"""Sums beyond this are taken for an overflow: half of what 64 bits hold."""
DIVERGED = 2.0**38
"""Sums that do not fit into the published words, of 64 bits with 24 after the point, are no matter of their size."""
NOTHING = np.zeros((0, 1))


@dataclass(frozen=True, eq=False)
class Simulated:
    """Where a run ended: the users' vectors, which stay at home, and the items'."""

    users: Doubles
    items: Doubles


def start(model: UntrustedMF, users: int, items: int) -> tuple[Doubles, Doubles]:
    """U(0) and V(0): rows of norm 1, uniform. The same as in S1."""
    rng = np.random.default_rng(model.seed)
    return unit_rows(rng, users, model.factors), unit_rows(rng, items, model.factors)


def simulate(
    model: UntrustedMF,
    ratings: Ratings,
    randomness: Randomness,
    progress: Progress = no_progress,
    *,
    by_pieces: bool = False,
) -> Simulated:
    """All rounds; where they end."""
    run = Simulation(model, ratings, randomness, by_pieces=by_pieces)
    for done in run.rounds():
        progress(done, model.iterations, "rounds")
    return Simulated(run.users, run.items)


class Simulation:
    """A run of the protocol, round by round."""

    def __init__(
        self, model: UntrustedMF, ratings: Ratings, randomness: Randomness, *, by_pieces: bool = False
    ) -> None:
        self.model, self.ratings = model, ratings
        self.users, self.items = start(model, ratings.n_users, ratings.n_items)
        self._columns = ratings.indptr, ratings.item_index, ratings.values
        counts = np.maximum(np.diff(ratings.indptr), 1).astype(np.float64)
        whole = {"ratings": float(max(len(ratings), 1)), "none": 1.0}.get(model.divisor)
        self._divisors = counts if whole is None else np.full_like(counts, whole)
        self._whole, self._by_pieces, self._randomness = whole, by_pieces, randomness
        self.streams = Streams(secret_key(randomness))
        self._scale = 0.0
        if model.epsilon is not None:
            self._scale = laplace_scale(model.epsilon, ratings.catalogue.scale.width, model.factors)
        self._every_item = np.arange(ratings.n_items, dtype=np.int32)
        self._fixed = self._fixed_noise()

    def rounds(self) -> Iterator[int]:
        """Run them; yields the number of each after it."""
        groups = attendance(self.model, self.ratings.n_users)
        for number, group in enumerate(islice(groups, self.model.iterations), start=1):
            self.round(number, group)
            yield number

    def round(self, number: int, group: Indices) -> None:
        """One round with these users."""
        model = self.model
        counts = self.counts(group)
        total, apart = self._total(number, group, counts)
        asked = np.flatnonzero(counts).astype(np.int32)
        divisors = counts[asked].astype(np.float64)[:, None] if self._whole is None else np.float64(self._whole)
        gradient = decode(total[asked], model) / divisors
        if model.shrunk_noise:
            gradient += decode(apart[asked], model) / max(len(self.ratings), 1)
        self.items[asked] = moved(model, self.items[asked], gradient)
        if not (np.isfinite(self.items[asked]).all() and np.isfinite(self.users[group]).all()):
            raise overflowed(model, number)

    def counts(self, group: Indices) -> Sums:
        """How many of these users rated each item."""
        if len(group) == self.ratings.n_users:
            return np.diff(self.ratings.by_item.indptr)
        taken = _rows_of(self.ratings, group)
        return np.bincount(self.ratings.item_index[taken], minlength=self.ratings.n_items)

    def _total(self, number: int, group: Indices, counts: Sums) -> tuple[Sums, Sums]:
        """Whole numbers for each item: what is divided by M, and noise that is divided by W."""
        model, shape = self.model, self.items.shape
        total = np.zeros(shape, dtype=np.int64)
        apart = np.zeros(shape, dtype=np.int64) if model.shrunk_noise else total
        noise = self._pieces("rho", number, group, counts) if self._by_pieces and self._scale else NOTHING
        if self._by_pieces and self._scale and model.scenario == "static":
            noise = self._own_eta + noise
        rate, penalty, in_ball, first = at_home(model)
        indptr, columns, values = self._columns
        largest = serve_users(
            group,
            indptr,
            columns,
            values,
            self.users,
            self.items,
            noise,
            self._divisors,
            model.unit,
            rate,
            penalty,
            in_ball,
            first,
            total,
        )
        apart += self._fixed
        if self._scale and not self._by_pieces:
            asked = np.flatnonzero(counts).astype(np.int32)
            words = self._randomness.words(len(asked) * shape[1])
            largest = max(largest, add_laplace_rows(words, asked, self._scale, model.unit, apart))
        reach = largest * max(int(counts.max(initial=0)), 1)
        if reach < LARGEST:  # then the sums below are right, and tell exactly whether they fit
            reach = float(max(np.abs(total).max(initial=0), np.abs(apart).max(initial=0)))
        if reach >= min(LARGEST, 2.0 ** (model.bits - 1)):
            raise overflowed(model, number, reach)
        return total, apart

    def _fixed_noise(self) -> Sums:
        """Σ η of every item, which is the same in all rounds."""
        fixed = np.zeros(self.items.shape, dtype=np.int64)
        if not self._scale:
            return fixed
        everyone = np.arange(self.ratings.n_users, dtype=np.int32)
        if not self._by_pieces:
            words = self._randomness.words(fixed.size)
            largest = add_laplace_rows(words, self._every_item, self._scale, self.model.unit, fixed)
            if largest >= LARGEST:
                raise overflowed(self.model, 0, largest)
        elif self.model.scenario == "static":  # pieces are added to gradients before they are rounded
            self._own_eta = self._pieces("eta", 0, everyone, self.counts(everyone))
        else:
            fixed += self._initial_sum()
        return fixed

    def _initial_sum(self) -> Sums:
        """Σ η of the users of the initialisation, each with a piece of every item."""
        group = next(attendance(self.model, self.ratings.n_users))
        k, shape = len(group), self.items.shape
        normals = self.streams.normals("eta", 0, k * shape[0], shape[1])
        exponentials = np.tile(self.streams.exponentials("eta", 0, *shape), (k, 1))
        drawn = pieces(self._scale, exponentials, normals, np.full(len(normals), float(k)))
        whole = np.rint(drawn * self.model.unit).astype(np.int64)
        return np.asarray(whole.reshape(k, *shape).sum(axis=0))

    def _pieces(self, purpose: str, number: int, group: Indices, counts: Sums) -> Doubles:
        """A piece for every rating of these users."""
        items = self.ratings.item_index[_rows_of(self.ratings, group)]
        normals = self.streams.normals(purpose, number, len(items), self.model.factors)
        exponentials = self.streams.exponentials(purpose, number, *self.items.shape)
        return pieces(self._scale, exponentials[items], normals, counts[items].astype(np.float64))


def at_home(model: UntrustedMF) -> tuple[float, float, bool, bool]:
    """What :func:`~discreet.kernels.untrusted.serve_users` is told of a user's own step."""
    return model.learning_rate, model.user_penalty, model.user_norm == "projected", model.order == "user first"


def moved(model: UntrustedMF, items: Doubles, gradient: Doubles) -> Doubles:
    """(9), downwards."""
    with np.errstate(over="ignore", invalid="ignore"):  # which is looked for after every round
        return np.asarray(items - model.learning_rate * (gradient + 2 * model.item_penalty * items))


def decode(total: Sums, model: UntrustedMF) -> Doubles:
    """Sums of whole numbers as what they stand for; of P = 2**32 the low half counts."""
    if model.bits == 32:
        total = total.astype(np.uint64).astype(np.uint32).astype(np.int32).astype(np.int64)
    return np.asarray(total / model.unit)


def overflowed(model: UntrustedMF, number: int, reach: float = np.inf) -> InputError:
    """What is wrong when numbers no longer fit; they reach so far, counted in whole numbers."""
    if 0 < reach / model.unit < DIVERGED:
        fits = model.bits - 2 - math.ceil(math.log2(reach / model.unit))  # one bit more than this round needs
        shorter = [f"fraction_bits={fits} or less"] if fits >= 0 else []
        longer = ["bits=64"] if model.bits == 32 else []
        return InputError(
            f"the sums of round {number} do not fit into words of {model.bits} bits with "
            f"fraction_bits={model.fraction_bits}: take {' or '.join(shorter + longer)}"
        )
    return InputError(
        f"training overflowed in round {number}: with divisor={model.divisor!r} and user_norm={model.user_norm!r} "
        f"steps of {model.learning_rate:g} are too long; take user_norm='projected', divisor='row', or less noise"
    )


def _rows_of(ratings: Ratings, group: Indices) -> Indices:
    """Where the ratings of these users stand, user after user."""
    if len(group) == ratings.n_users:
        return np.arange(len(ratings), dtype=np.int32)
    first, sizes = ratings.indptr[group], np.diff(ratings.indptr)[group]
    ends = np.cumsum(sizes)
    within = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - sizes, sizes)
    return np.asarray(np.repeat(first, sizes) + within, dtype=np.int32)
