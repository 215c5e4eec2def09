"""The Gaussian integers of :mod:`discreet.kernels.slab_noise` made by torch: the same numbers, on any device.

On a GPU compiled kernels make them (:mod:`discreet.kernels.slab_noise_triton`); elsewhere plain operations of torch do.
Torch knows no unsigned words, so here words of 32 bits are held in 64, and words of 64 bits are compared with their
highest bit turned.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import require
from discreet.extras import load_extra
from discreet.kernels.chacha import COLUMNS_AND_DIAGONALS, CONSTANT_WORDS
from discreet.kernels.slab_noise import DOUBTFUL, KEPT, PAIRS, REJECTED
from discreet.types import AnyArray

LOW = 0xFFFFFFFF
AT_ONCE = 1 << 20
"""Numbers that plain operations make at once."""


@dataclass(frozen=True, eq=False)
class Slabs:
    """What numbers are looked up in, on a device.

    Parameters
    ----------
    bits, sigma, doubt
        The width of a slab, the deviation, and how close doubles decide.
    high
        The upper 64 bits of the thresholds, in signed words.
    numbers
        ``sigma``, ``doubt`` and the scale of a chance once more, as a tensor of doubles.
    """

    bits: int
    sigma: float
    doubt: float
    high: Any
    numbers: Any

    @classmethod
    def of(cls, bits: int, sigma: float, doubt: float, high: AnyArray, device: str) -> "Slabs":
        """From the tables of the other kernel."""
        torch = load_torch()
        numbers = torch.tensor([sigma, doubt, 2.0 ** (bits - 63)], dtype=torch.float64, device=device)
        return cls(bits, sigma, doubt, torch.tensor(high.view(np.int64), device=device), numbers)


@dataclass(frozen=True, eq=False)
class Undecided:
    """Numbers that may still be on their way, and which of them doubles could not decide."""

    numbers: Any
    places: Any
    how_many: Any
    ready: Any = None

    def doubtful(self) -> list[int]:
        """Their places; waits for the device."""
        if self.ready is not None:
            self.ready.synchronize()  # the numbers are there, for every stream
        count = int(self.how_many[0])
        require(count <= len(self.places), "far more numbers than ever were doubtful: this GPU computes wrongly")
        return [int(place) for place in self.places[:count].tolist()] if count else []

    def decide(self, place: int, number: int) -> None:
        """Put in what was decided."""
        self.numbers[place] = number


def load_torch() -> Any:
    """Torch, or a sentence that says how to install it."""
    return load_extra("torch", "torch", "noise on a GPU")


def draw_by_torch(key: AnyArray, slabs: Slabs, count: int) -> Undecided:
    """The numbers 0 to ``count`` − 1 of a key of 8 words, on the device of the tables."""
    torch, device = load_torch(), slabs.high.device
    if device.type == "cuda":
        from discreet.kernels.slab_noise_triton import draw_by_triton

        return draw_by_triton(key, slabs, count)
    out = torch.empty(count, dtype=torch.int64, device=device)
    places = []
    for first in range(0, count, AT_ONCE):
        cells = torch.arange(first, min(first + AT_ONCE, count), device=device)
        blocks = torch.arange(first // PAIRS, -(-int(cells[-1] + 1) // PAIRS), device=device)
        pairs = _block(torch, key, blocks, 0, device).view(-1, 2)[: len(cells)]
        state, number = _numbers(torch, pairs[:, 0], pairs[:, 1], slabs)
        rejected, attempt = torch.nonzero(state == REJECTED)[:, 0], 0
        while len(rejected):
            pairs = _block(torch, key, cells[rejected], 1 + attempt // PAIRS, device)[:, attempt % PAIRS]
            state[rejected], number[rejected] = _numbers(torch, pairs[:, 0], pairs[:, 1], slabs)
            rejected, attempt = rejected[state[rejected] == REJECTED], attempt + 1
        out[cells] = number
        places.append(cells[state == DOUBTFUL])
    found = torch.cat(places) if places else torch.empty(0, dtype=torch.int64)
    return Undecided(out, found, torch.tensor([len(found)]))


def add_on_grid_by_torch(values: Any, noise: Any, grid: float, divisor: float = 1.0, *, single: bool = False) -> Any:
    """Round to the grid, clip to a public range and add the noise, as the other kernel does.

    What comes out is divided by a public number, and rounded to single precision if wanted: post-processing.
    """
    torch = load_torch()
    kind = torch.float32 if single else torch.float64
    if values.device.type == "cuda":
        from discreet.kernels.slab_noise_triton import add_on_grid_by_triton

        return add_on_grid_by_triton(values, noise, grid, divisor, kind)
    steps = torch.round(values / grid).clamp_(-(2.0**61), 2.0**61).to(torch.int64)
    return ((steps + noise).to(torch.float64) * grid / divisor).to(kind)


def _block(torch: Any, key: AnyArray, counters: Any, attempt: int, device: Any) -> Any:
    """Blocks of the stream as signed words of 64 bits: blocks × 4 pairs × 2."""

    def all_of(word: int) -> Any:
        return torch.full_like(counters, word)

    start = [all_of(word) for word in CONSTANT_WORDS] + [all_of(int(word)) for word in key]
    start += [counters & LOW, all_of(0), all_of(attempt), all_of(0)]
    state = list(start)

    def turned(word: Any, by: int) -> Any:
        return ((word << by) | (word >> (32 - by))) & LOW

    for _ in range(10):
        for a, b, c, d in COLUMNS_AND_DIAGONALS:
            state[a] = (state[a] + state[b]) & LOW
            state[d] = turned(state[d] ^ state[a], 16)
            state[c] = (state[c] + state[d]) & LOW
            state[b] = turned(state[b] ^ state[c], 12)
            state[a] = (state[a] + state[b]) & LOW
            state[d] = turned(state[d] ^ state[a], 8)
            state[c] = (state[c] + state[d]) & LOW
            state[b] = turned(state[b] ^ state[c], 7)
    words = [(word + first) & LOW for word, first in zip(state, start, strict=True)]
    longer = [words[at] | (words[at + 1] << 32) for at in range(0, 16, 2)]
    return torch.stack(longer, dim=1).view(-1, PAIRS, 2)


def _numbers(torch: Any, word: Any, second: Any, slabs: Slabs) -> tuple[Any, Any]:
    """As :func:`~discreet.kernels.slab_noise.number_of_pair`, of many pairs."""
    lowest, bits = -(1 << 63), slabs.bits
    slab = torch.searchsorted(slabs.high ^ lowest, (word ^ lowest).contiguous())
    tie = slabs.high[slab] == word
    place = (slab << bits) + (second & ((1 << bits) - 1))
    number = place ^ -((second >> bits) & 1)
    chance = (second >> (bits + 1)) & ((1 << (63 - bits)) - 1)
    edge, size = (slab << bits).double(), number.double().abs()
    odds = torch.exp(-0.5 * ((size - edge) / slabs.sigma) * ((size + edge) / slabs.sigma))
    scale = 2.0 ** (bits - 63)
    drawn = chance.double() * scale
    state = torch.full_like(slab, DOUBTFUL)
    state[drawn + scale + slabs.doubt <= odds] = KEPT
    state[drawn - slabs.doubt >= odds] = REJECTED
    state[tie] = DOUBTFUL
    return state, number
