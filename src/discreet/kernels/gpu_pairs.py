"""Sums over pairs of items in whole numbers, by products of bytes: what the tensor cores of a GPU do fastest.

    A = Σ_u w_u x_u x_uᵀ = Xᵀ (wX)          W = Σ_u w_u e_u e_uᵀ = Eᵀ (wE)

x and w are whole numbers, so a weighted residual is a sum of bytes, w x = Σ_b 256ᵇ r_b with −128 ≤ r_b < 128, and

    Xᵀ (wX)  =  Σ_b 256ᵇ Xᵀ R_b            each a product of bytes, exact in 32 bits, added up in 64

Where x does not fit in a byte it is split as well. Users are dense rows only within a block; in a block they are taken
in classes by how many bytes their weights need, as the sum is the same in whatever order they come. Of the symmetric
results the upper triangle is made, a strip of rows at a time.

Everything that is made of a rating on the way is made on the device too, by the same operations as
:mod:`discreet.models.sums.pair_sums` uses: each of them rounds correctly, so all integers are those of the processor.
While one part of the ratings is multiplied the next is read and copied, by a stream of its own, from pinned memory.
"""

import os
import weakref
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from operator import is_
from typing import Any

import numpy as np

from discreet.extras import load_extra
from discreet.kernels.device import root
from discreet.types import AnyArray, Floats, Indices

BLOCK_CELLS = 1 << 32
"""Of a block of users, spread out: 4 GB for each matrix of bytes, of which there are up to six; on a GPU with less
memory fewer."""
MEMORY_SHARE = 16
"""A matrix of bytes takes at most one part in so many of a GPU's memory."""
STRIP = 2048
"""Rows of the results that are made at once; each is multiplied with all columns from its first on."""
EVEN = 16
"""Tensor cores want matrices whose sides are multiples of this."""
FEW = 2048
"""A class of so few users goes with the next."""
PART = 1 << 18
"""Users that are copied at once."""
COPIERS = min(8, os.cpu_count() or 1)
"""Threads that copy a column into pinned memory."""
COPIED_BY_ONE = 1 << 20
"""Numbers for which one thread is enough."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PairQuestion:
    """Which residuals and which weights; :class:`discreet.models.sums.pair_sums.PairSums` says what they mean.

    Parameters
    ----------
    position, size
        Where every item of the catalogue stands in the list, −1 for nowhere; and how long the list is.
    base, clip, damping, mean_clip
        What is taken off a rating, the unit of a residual, and how users' own means are taken off; None for not.
    bits
        p and q: residuals are multiples of 2⁻ᵖ, weights of 2⁻ᵠ.
    weighting, relative_weight
        How much a user counts.
    """

    position: Indices
    size: int
    base: Floats
    clip: float
    damping: float | None
    mean_clip: float
    bits: tuple[int, int]
    weighting: str
    relative_weight: float


def load_torch() -> Any:
    """Torch, or a sentence that says how to install it."""
    return load_extra("torch", "torch", "an engine of torch")


def best_device() -> str:
    """A GPU where there is one."""
    return "cuda" if load_torch().cuda.is_available() else "cpu"


Columns = tuple[AnyArray, ...]
"""Where each user's ratings start, their items, their values, and more columns of them if need be."""
_STAYING: ContextVar[list[tuple[Any, list[tuple[Any, ...]]]] | None] = ContextVar("staying", default=None)
"""Columns of parts, and their pieces on a GPU."""


def pair_totals(question: PairQuestion, parts: Iterable[Columns], device: str | None = None) -> "PairTotals":
    """The sums over all parts, on a device: a GPU where there is one."""
    totals = PairTotals(question.size, best_device() if device is None else device)
    for indptr, items, values in on_device(parts, totals.device):
        totals.add(*residuals(question, indptr, items, values))
    return totals


@contextmanager
def ratings_stay() -> Iterator[None]:
    """Within, ratings in memory are copied to a GPU once, unless they would take too much of its memory."""
    token = _STAYING.set([])
    try:
        yield
    finally:
        _STAYING.reset(token)


def on_device(parts: Iterable[Columns], device: str, users: int | None = None) -> Iterator[tuple[Any, ...]]:
    """The columns of parts as tensors, of so many users at once, the next on its way while one is worked on."""
    torch, users = load_torch(), users or PART
    if not device.startswith("cuda"):
        for part in parts:
            for piece in _pieces(part, users):
                yield tuple(torch.tensor(column) for column in piece)
        return
    working, waiting = torch.cuda.current_stream(device), None
    for sent in _sent(torch, parts, device, users):
        if waiting is not None:
            yield _arrived(working, *waiting)
        waiting = sent
    if waiting is not None:
        yield _arrived(working, *waiting)


def _sent(torch: Any, parts: Iterable[Columns], device: str, users: int) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """Pieces of parts on their way, each with what says when it is there; None if it stayed from before."""
    staying, copying = _STAYING.get(), torch.cuda.Stream(device)
    pinned: list[dict[int, Any]] = [{}, {}]
    sent: list[Any] = [None, None]
    side = 0
    for part in parts:
        marks = tuple(map(weakref.ref, part))  # the same objects as long as the columns are
        known = [pieces for of, pieces in staying or () if len(of) == len(marks) and all(map(is_, of, marks))]
        if known:
            yield from ((None, piece) for piece in known[0])
            continue
        pieces = []
        for piece in _pieces(part, users):
            side = 1 - side
            if sent[side] is not None:
                sent[side].synchronize()  # its pinned memory is free again
            with torch.cuda.stream(copying):
                there = tuple(_copied(torch, pinned[side], place, column, device) for place, column in enumerate(piece))
                sent[side] = torch.cuda.Event()
                sent[side].record(copying)
            pieces.append(there)
            yield sent[side], there
        if staying is not None:  # parts of files are gone by the next time
            alive = [(of, there) for of, there in staying if all(mark() is not None for mark in of)] + [(marks, pieces)]
            size = sum(column.nbytes for _, pieces in alive for piece in pieces for column in piece)
            staying[:] = alive if size <= torch.cuda.mem_get_info()[1] // MEMORY_SHARE else alive[:-1]


def _pieces(part: Columns, users: int) -> Iterator[Columns]:
    indptr, *columns = part
    for first in range(0, len(indptr) - 1, users):
        own = indptr[first : first + users + 1]
        rows = slice(int(own[0]), int(own[-1]))
        yield own - own[0], *(column[rows] for column in columns)


def _copied(torch: Any, pinned: dict[int, Any], place: int, column: Any, device: str) -> Any:
    if place not in pinned or len(pinned[place]) < len(column):
        kind = torch.from_numpy(np.empty(0, dtype=column.dtype)).dtype
        pinned[place] = torch.empty(len(column) + len(column) // 8, dtype=kind, pin_memory=True)
    staged = pinned[place][: len(column)]
    _copy(staged.numpy(), column)
    return staged.to(device, non_blocking=True)


def _copy(there: AnyArray, here: AnyArray) -> None:
    """By several threads, as one does not use all of the memory's bandwidth."""
    if len(here) < COPIED_BY_ONE:
        np.copyto(there, here)
        return
    cuts = np.linspace(0, len(here), COPIERS + 1).astype(np.int64)
    with ThreadPoolExecutor(COPIERS) as threads:
        list(threads.map(lambda first, last: np.copyto(there[first:last], here[first:last]), cuts[:-1], cuts[1:]))


def _arrived(working: Any, sent: Any, columns: tuple[Any, ...]) -> tuple[Any, ...]:
    if sent is not None:
        working.wait_event(sent)
    for column in columns:
        column.record_stream(working)
    return columns


def residuals(question: PairQuestion, indptr: Any, items: Any, values: Any) -> tuple[Any, Any, Any, Any]:
    """Of the listed items: each rating's user and position, its whole residual; and each user's whole weight.

    Operation by operation what :class:`~discreet.models.sums.pair_sums.PairSums` does with numpy.
    """
    torch, device = load_torch(), items.device
    users, (p, q), steps = len(indptr) - 1, question.bits, 2.0 ** question.bits[0]
    lengths = indptr[1:] - indptr[:-1]
    user = torch.repeat_interleave(torch.arange(users, device=device), lengths, output_size=len(items))
    place = torch.tensor(question.position, device=device)[items]
    kept = torch.nonzero(place >= 0)[:, 0]
    user, place, items = user[kept], place[kept].long(), items[kept]
    single = torch.tensor(question.base, dtype=torch.float32, device=device)
    of_rating = (values[kept] - single[items]) / torch.tensor(question.clip, dtype=torch.float32, device=device)

    def rounded(numbers: Any) -> Any:
        return (torch.round(numbers * steps) / steps).to(torch.float32)

    def of_users(numbers: Any) -> Any:  # whole multiples of a small unit: exact in doubles, in any order
        return torch.zeros(users, dtype=torch.float64, device=device).index_add_(0, user, numbers)

    of_rating = rounded(of_rating)
    counts = torch.bincount(user, minlength=users).double()
    if question.damping is not None:
        of_rating = of_rating.clamp_(-question.mean_clip, question.mean_clip)
        means = of_users(of_rating.double()) / (counts + question.damping).clamp_(min=1e-9)
        of_rating = rounded(of_rating.double() - means[user])
    whole = (of_rating.clamp(-1, 1) * steps).to(torch.int16)
    squares = of_users(whole.double() ** 2) * 4.0**-p
    if question.weighting == "user, l2":
        length = root(squares**2 + (question.relative_weight * counts) ** 2)
    elif question.weighting == "rating, l2":
        length = root(squares + question.relative_weight * counts)
    else:
        length = counts
    weight = torch.where(length > 0, 2.0**q / length, 0.0).long()
    return user, place, whole, weight


class PairTotals:
    """Both sums so far.

    Parameters
    ----------
    size
        How many items are listed.
    device
        As torch names it.
    """

    def __init__(self, size: int, device: str) -> None:
        torch = load_torch()
        self.size, self.device = size, device
        self._side = -(-max(size, EVEN) // EVEN) * EVEN
        self.sums = torch.zeros((2, self._side, self._side), dtype=torch.int64, device=device)
        self._cells = BLOCK_CELLS
        if device.startswith("cuda"):
            self._cells = min(BLOCK_CELLS, torch.cuda.mem_get_info()[1] // MEMORY_SHARE)
        self.operations = 0
        """Of the products so far; a product and its addition count 2."""
        self.bytes_moved = 0
        """At least: matrices are written and read once for a product, results written, read and added to."""

    def add(self, user: Any, place: Any, whole: Any, weight: Any) -> None:
        """Add users: each rating's user, position and residual, by user; and each user's weight."""
        torch = load_torch()
        if len(user) == 0:
            return
        largest = int(whole.abs().max())
        needed = _bytes_for(torch, weight * max(largest, 1)) * 16 + _bytes_for(torch, weight)
        found, how_many = torch.unique(needed, return_counts=True)
        classes, taken = [], 0
        for key, count in zip(reversed(found.tolist()), reversed(how_many.tolist()), strict=True):
            # The most bytes first: a small class goes with the next, which needs no more.
            taken += count
            classes.append(key)
            if taken >= FEW:
                self._add_class(torch, user, place, whole, weight, torch.isin(needed, torch.tensor(
                    classes, device=needed.device)), largest)  # fmt: skip
                classes, taken = [], 0
        if classes:
            chosen = torch.isin(needed, torch.tensor(classes, device=needed.device))
            self._add_class(torch, user, place, whole, weight, chosen, largest)

    def _add_class(self, torch: Any, user: Any, place: Any, whole: Any, weight: Any, chosen: Any, largest: int) -> None:
        """Users for whom ``chosen`` is true, block by block."""
        members = int(chosen.sum())
        row = torch.where(chosen, torch.cumsum(chosen, 0) - 1, -1)
        left = max(1, -(-(largest.bit_length() + 1) // 8))
        exact = 2**31 // (128 * 128 if left > 1 else 128 * max(largest, 1)) - EVEN
        block = max(EVEN, min(members, self._cells // self._side, exact) // EVEN * EVEN)
        if members < EVEN:
            block = EVEN
        rows = row[user]
        for first in range(0, members, block):
            here = torch.nonzero((rows >= first) & (rows < first + block))[:, 0]
            if len(here) == 0:
                continue
            count = -(-min(block, members - first) // EVEN) * EVEN
            cells = place[here] * count + (rows[here] - first)
            own, weights = whole[here].long(), weight[user[here]]
            self._multiply(torch, 0, own, weights * own, cells, count, left)
            self._multiply(torch, 1, None, weights, cells, count, 1)

    def _multiply(self, torch: Any, number: int, own: Any, weighted: Any, cells: Any, count: int, left: int) -> None:
        right = int(_bytes_for(torch, weighted).max())
        if right == 0:  # no residual is other than 0
            return
        ones = None if own is not None else torch.ones(len(cells), dtype=torch.int8, device=cells.device)
        lefts = (
            [self._spread(torch, ones, cells, count)] if own is None else self._limbs(torch, own, cells, count, left)
        )
        rights = self._limbs(torch, weighted, cells, count, right)
        self.bytes_moved += (len(lefts) + len(rights)) * self._side * count
        for power, one in enumerate(lefts):
            for other_power, other in enumerate(rights):
                for top in range(0, self._side, STRIP):
                    strip = self.sums[number, top : top + STRIP, top:]
                    product = _product(torch, one[top : top + STRIP], other[top:])
                    strip.add_(product, alpha=256 ** (power + other_power))
                    self.operations += 2 * product.numel() * count
                    self.bytes_moved += 24 * product.numel() + product.shape[0] * count + product.shape[1] * count

    def _limbs(self, torch: Any, numbers: Any, cells: Any, count: int, limbs: int) -> list[Any]:
        found = []
        for _ in range(limbs):
            low = ((numbers + 128) & 255) - 128
            numbers = (numbers - low) >> 8
            found.append(self._spread(torch, low.to(torch.int8), cells, count))
        return found

    def _spread(self, torch: Any, digits: Any, cells: Any, count: int) -> Any:
        matrix = torch.zeros((self._side, count), dtype=torch.int8, device=cells.device)
        matrix.view(-1)[cells] = digits
        return matrix

    def packed(self) -> AnyArray:
        """Two packed upper triangles, as :func:`discreet.kernels.covariance.weighted_moments` returns them."""
        torch = load_torch()
        out = np.empty((2, self.size * (self.size + 1) // 2), dtype=np.int64)
        there, first = torch.from_numpy(out), 0
        for top in range(0, self.size, STRIP):
            rows = min(STRIP, self.size - top)
            row, column = torch.triu_indices(rows, self.size - top, device=self.device)
            found = self.sums[:, top : top + rows, top : self.size][:, row, column]
            there[:, first : first + found.shape[1]] = found.cpu()
            first += found.shape[1]
        return out


def _bytes_for(torch: Any, numbers: Any) -> Any:
    """How many bytes with signs each number needs, 0 for 0."""
    size, found = numbers.abs(), torch.zeros_like(numbers)
    reach = 0
    for limbs in range(6):
        found += size > reach
        reach += 127 * 256**limbs
    return found


def _product(torch: Any, one: Any, other: Any) -> Any:
    """one otherᵀ in 32 bits."""
    if len(one) > EVEN:
        return torch._int_mm(one, other.t())
    return torch._int_mm(torch.cat([one, one]), other.t())[: len(one)]  # a GPU wants more rows
