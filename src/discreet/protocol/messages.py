"""What users and the two servers say to each other, as values and as bytes.

::

    recommender  ──  Offer, Question  ─────────►  users, third party      what is asked, public
    user         ──  MaskSeed  ────────────────►  third party             a fresh seed: independent of all ratings
    third party  ──  Receipt  ─────────────────►  user                    the seed is kept
    user         ──  MaskedValue, with Receipt ►  recommender             value + mask: uniform words
    recommender  ──  Arrived  ─────────────────►  third party             whose values came
    third party  ──  NoisyMasks  ──────────────►  recommender             the sum of their masks, plus noise
    recommender  ──  Answer  ──────────────────►  third party             the noisy sum, which both servers check
    recommender  ──  Answer  ──────────────────►  everyone                the same, public

Every message has a header of 26 bytes: magic, version, kind, run, round, group. Users are known by random names that
are drawn anew in each round. Layouts are fixed, lengths are checked, and what cannot be is refused in one sentence.
"""

import struct
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy as np

from discreet.protocol.encoding import word_type
from discreet.protocol.message import DIGEST_BYTES, HEADER_BYTES, NAME_BYTES, Label, Message
from discreet.protocol.wire import MAGIC, VERSION, Reader, RefusedError, parsed, refuse_unless
from discreet.types import AnyArray


@dataclass(frozen=True, kw_only=True)
class FromUser(Message):
    """Sent under a random name that is used in one round only, about one question."""

    sender: bytes
    question: bytes

    def __post_init__(self) -> None:
        refuse_unless(len(self.sender) == NAME_BYTES, f"a sender is named by {NAME_BYTES} bytes")
        refuse_unless(len(self.question) == DIGEST_BYTES, f"a question is named by {DIGEST_BYTES} bytes")

    @property
    def mask_label(self) -> bytes:
        """What the mask is made for, and for nothing else."""
        return self.label.to_bytes() + self.sender


@dataclass(frozen=True, kw_only=True)
class MaskSeed(FromUser):
    """The seed of a user's mask, for the third party."""

    kind: ClassVar[int] = 3
    seed: bytes

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_unless(len(self.seed) == 32, "a seed has 32 bytes")

    def _body(self) -> bytes:
        return self.sender + self.question + self.seed

    @classmethod
    def _read(cls, label: Label, reader: Reader) -> "MaskSeed":
        return cls(label=label, sender=reader.take(16), question=reader.take(32), seed=reader.take(32))


@dataclass(frozen=True, kw_only=True)
class Receipt(FromUser):
    """The third party has the seed: a code that only the two servers can make."""

    kind: ClassVar[int] = 4
    code: bytes

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_unless(len(self.code) == 32, "a receipt has a code of 32 bytes")

    def _body(self) -> bytes:
        return self.sender + self.question + self.code

    @classmethod
    def _read(cls, label: Label, reader: Reader) -> "Receipt":
        return cls(label=label, sender=reader.take(16), question=reader.take(32), code=reader.take(32))


@dataclass(frozen=True, kw_only=True, eq=False)
class MaskedValue(FromUser):
    """A user's statistic plus the mask, for the recommender; ``code`` is that of the receipt."""

    kind: ClassVar[int] = 5
    code: bytes
    words: AnyArray

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_unless(len(self.code) == 32, "a receipt has a code of 32 bytes")

    def _body(self) -> bytes:
        return self.sender + self.question + self.code + packed_words(self.words)

    @classmethod
    def _read(cls, label: Label, reader: Reader) -> "MaskedValue":
        sender, question, code = reader.take(16), reader.take(32), reader.take(32)
        return cls(label=label, sender=sender, question=question, code=code, words=unpacked_words(reader))


@dataclass(frozen=True, kw_only=True)
class Arrived(Message):
    """Whose masked values the recommender has, in increasing order; the round is closed with it."""

    kind: ClassVar[int] = 6
    question: bytes
    senders: tuple[bytes, ...]

    def __post_init__(self) -> None:
        sizes = all(len(sender) == NAME_BYTES for sender in self.senders)
        refuse_unless(sizes and len(self.question) == DIGEST_BYTES, "a list of senders has a name of the wrong size")
        ordered = all(one < two for one, two in zip(self.senders, self.senders[1:], strict=False))
        refuse_unless(ordered, "a list of senders must be in order and name nobody twice")

    def _body(self) -> bytes:
        return self.question + b"".join(self.senders)

    @classmethod
    def _read(cls, label: Label, reader: Reader) -> "Arrived":
        question, names = reader.take(32), bytes(reader.rest())
        refuse_unless(len(names) % NAME_BYTES == 0, "a list of senders ends in the middle of a name")
        senders = tuple(names[place : place + NAME_BYTES] for place in range(0, len(names), NAME_BYTES))
        return cls(label=label, question=question, senders=senders)


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisyMasks(Message):
    """The sum of the masks of all who arrived, plus the third party's noise."""

    kind: ClassVar[int] = 7
    arrived: bytes
    words: AnyArray

    def _body(self) -> bytes:
        return self.arrived + packed_words(self.words)

    @classmethod
    def _read(cls, label: Label, reader: Reader) -> "NoisyMasks":
        return cls(label=label, arrived=reader.take(32), words=unpacked_words(reader))


@dataclass(frozen=True, kw_only=True, eq=False)
class Answer(Message):
    """The noisy sum: with both servers' noise in it, it is public."""

    kind: ClassVar[int] = 8
    question: bytes
    words: AnyArray

    def _body(self) -> bytes:
        return self.question + packed_words(self.words)

    @classmethod
    def _read(cls, label: Label, reader: Reader) -> "Answer":
        return cls(label=label, question=reader.take(32), words=unpacked_words(reader))


M = TypeVar("M", bound=Message)


def read_message(data: bytes, kind: type[M], *, most_bytes: int | None = None) -> M:
    """The message of a kind that bytes hold; anything else is refused.

    ``most_bytes`` is what the reader is ready to take; whoever receives from a network checks it before reading.
    """
    what = f"this {kind.__name__}"
    refuse_unless(most_bytes is None or len(data) <= most_bytes, f"{what} has {len(data)} bytes, at most {most_bytes}")
    reader = Reader(data, what)
    refuse_unless(reader.take(2) == MAGIC, f"{what} is no message of this protocol")
    version, found = reader.number("B"), reader.number("B")
    refuse_unless(version == VERSION, f"{what} has version {version}, and {VERSION} is spoken here")
    refuse_unless(found == kind.kind, f"{what} is a message of another kind, {found}")
    label = Label(run=reader.take(NAME_BYTES), round=reader.number("I"), group=reader.number("H"))
    message = parsed(lambda: kind._read(label, reader), what)
    reader.end()
    if not isinstance(message, kind):
        raise RefusedError(f"{what} is a message of another kind")
    return message


def size_of_value(cells: int, bits: int) -> int:
    """Bytes of a masked value: what a user sends to the recommender in a round.

    >>> size_of_value(1000, 32)
    4107
    """
    return HEADER_BYTES + NAME_BYTES + 2 * DIGEST_BYTES + 1 + cells * bits // 8


def packed_words(words: AnyArray) -> bytes:
    """Words with their size before them."""
    return struct.pack("<B", 8 * words.dtype.itemsize) + words.astype(word_type(8 * words.dtype.itemsize)).tobytes()


def unpacked_words(reader: Reader) -> AnyArray:
    """Words with their size before them, up to the end of a message."""
    bits = reader.number("B")
    refuse_unless(bits in (32, 64), f"words have 32 or 64 bits, got {bits}")
    data = reader.rest()
    refuse_unless(len(data) % (bits // 8) == 0, "a message ends in the middle of a word")
    return np.frombuffer(data, dtype=word_type(bits))
