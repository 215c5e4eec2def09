"""What users, the recommender and the third party say to each other in S2 and S3, as published.

::

    S3 only, once
      recommender  ──  Pads  ────────►  k online users      β and H of every item
      user         ──  PaddedNoise ──►  third party         η + β
      third party  ──  NoiseTotals ──►  recommender         α + Σ(η + β)
    every round
      user         ──  Request  ─────►  recommender         which items she rated, in clear
      recommender  ──  Task  ────────►  user                v, ψ, H and k of each item; in S3 a piece of τ̂
      user         ──  Masked  ──────►  third party         g + η + ρ̃ + ψ, item by item, in clear which
      third party  ──  Totals  ──────►  recommender         sums, and whose messages came

Words are whole numbers mod P. ``size(word)`` is in bytes, with ``word`` bytes for every number and 4 for every name.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from discreet.types import AnyArray, Doubles, Indices

NAME_BYTES = 4


@dataclass(frozen=True, kw_only=True, eq=False)
class Message:
    """What all have in common: arrays, which are compared by their bytes."""

    def to_bytes(self) -> bytes:
        """All that it says, so that two transcripts can be compared."""
        parts = [type(self).__name__.encode()]
        for field in fields(self):
            value = getattr(self, field.name)
            parts.append(b"-" if value is None else np.ascontiguousarray(value).tobytes())
        return b"|".join(parts)

    def size(self, word: int = 8) -> int:
        """In bytes: integers that name something have 4, all other numbers ``word``."""
        total = 0
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None:
                continue
            numbers = np.asarray(value)
            total += numbers.size * (NAME_BYTES if numbers.dtype in (np.int32, np.int64) else word)
        return total


@dataclass(frozen=True, kw_only=True, eq=False)
class Pads(Message):
    """For the initialisation of S3: β and H of every item, and how many users take part."""

    user: int
    count: int
    pads: AnyArray
    exponentials: Doubles


@dataclass(frozen=True, kw_only=True, eq=False)
class PaddedNoise(Message):
    """A user's pieces η of every item, with β on them."""

    user: int
    words: AnyArray


@dataclass(frozen=True, kw_only=True, eq=False)
class NoiseTotals(Message):
    """The sum of all of them, with the third party's α; and whose came."""

    users: Sequence[int]
    words: AnyArray


@dataclass(frozen=True, kw_only=True, eq=False)
class Request(Message):
    """A user asks for the vectors of the items that she rated."""

    user: int
    round: int
    items: Indices


@dataclass(frozen=True, kw_only=True, eq=False)
class Task(Message):
    """What the recommender answers: everything in it is its word.

    ``counts`` is k of each item. ``exponentials`` are the H of ρ̃; ``first_exponentials`` those of η in the first round
    of S2, ``pieces`` those of τ̂ in S3.
    """

    user: int
    round: int
    items: Indices
    vectors: Doubles
    masks: AnyArray
    counts: AnyArray
    exponentials: Doubles | None = None
    first_exponentials: Doubles | None = None
    pieces: AnyArray | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Masked(Message):
    """A user's gradients with noise and masks, a row for each item."""

    user: int
    round: int
    items: Indices
    words: AnyArray


@dataclass(frozen=True, kw_only=True, eq=False)
class Totals(Message):
    """Sums over users of what they sent about each item, and who sent something."""

    round: int
    users: Sequence[int]
    items: Indices
    words: AnyArray
