"""What users and one server say to each other where there is no third party.

::

    user    ──  Keys  ──────────►  server      two public keys, signed
    server  ──  Roster  ────────►  users       everybody's keys
    user    ──  Shares  ────────►  server      shares of two secrets, locked for each other user
    server  ──  Delivered  ─────►  a user      the shares for them, and whose came at all
    user    ──  PairwiseValue  ─►  server      value + noise + masks
    server  ──  Survivors  ─────►  users       whose values came
    user    ──  Confirmation  ──►  server      this list, in a code for each other user
    server  ──  Confirmed  ─────►  a user      the codes for them: enough others saw the same list
    user    ──  Unmasking  ─────►  server      for each user one share: of the own mask, or of the key of who vanished
"""

import itertools
import struct
from dataclasses import dataclass
from typing import ClassVar

from discreet.protocol.message import DIGEST_BYTES, NAME_BYTES, Label, Message
from discreet.protocol.messages import packed_words, unpacked_words
from discreet.protocol.shamir import SHARE_BYTES
from discreet.protocol.wire import Reader, refuse_unless
from discreet.types import AnyArray

KEY_BYTES = 32
SIGNATURE_BYTES = 64
BOX_BYTES = 2 * SHARE_BYTES + 16
MOST_USERS = 1 << 13
"""Every user shares secrets with every other: this is for groups, not for crowds."""

Pairs = tuple[tuple[bytes, bytes], ...]


@dataclass(frozen=True, kw_only=True)
class Keys(Message):
    """A user's two public keys, for masks and for locking shares, signed by the key that is in the register."""

    kind: ClassVar[int] = 20
    sender: bytes
    question: bytes
    mask_key: bytes
    share_key: bytes
    identity: bytes
    signature: bytes

    @property
    def member(self) -> tuple[bytes, bytes, bytes]:
        """What is signed, beside run, round and question."""
        return self.sender, self.mask_key, self.share_key

    def _body(self) -> bytes:
        return self.sender + self.question + self.mask_key + self.share_key + self.identity + self.signature

    @classmethod
    def _read(cls, label: Label, reader: Reader) -> "Keys":
        return cls(
            label=label,
            sender=reader.take(NAME_BYTES),
            question=reader.take(DIGEST_BYTES),
            mask_key=reader.take(KEY_BYTES),
            share_key=reader.take(KEY_BYTES),
            identity=reader.take(KEY_BYTES),
            signature=reader.take(SIGNATURE_BYTES),
        )


@dataclass(frozen=True, kw_only=True)
class Roster(Message):
    """Who takes part, in order of name: name and both keys, then who signed them and the signature.

    ``register`` is how many users there are in all, and ``honest`` what part of those is taken to be honest.
    """

    kind: ClassVar[int] = 21
    question: bytes
    honest: float
    register: int
    members: tuple[tuple[bytes, bytes, bytes], ...]
    signed: Pairs

    def __post_init__(self) -> None:
        refuse_unless(len(self.members) == len(self.signed), "a list of users needs a signature for each")
        _check_order(tuple(name for name, _, _ in self.members))

    def _body(self) -> bytes:
        rows = zip(self.members, self.signed, strict=True)
        head = self.question + struct.pack("<dI", self.honest, self.register)
        return head + b"".join(b"".join((*member, *signed)) for member, signed in rows)

    @classmethod
    def _read(cls, label: Label, reader: Reader) -> "Roster":
        question, honest, register = reader.take(DIGEST_BYTES), reader.double(), reader.number("I")
        rows = _rows(reader, NAME_BYTES + 3 * KEY_BYTES + SIGNATURE_BYTES)
        return cls(
            label=label,
            question=question,
            honest=honest,
            register=register,
            members=tuple((row[:16], row[16:48], row[48:80]) for row in rows),
            signed=tuple((row[80:112], row[112:]) for row in rows),
        )


@dataclass(frozen=True, kw_only=True)
class Shares(Message):
    """Locked shares, one box for each other user, by receiver."""

    kind: ClassVar[int] = 22
    sender: bytes
    roster: bytes
    boxes: Pairs

    def __post_init__(self) -> None:
        _check_order(tuple(name for name, _ in self.boxes))

    def _body(self) -> bytes:
        return self.sender + self.roster + b"".join(name + box for name, box in self.boxes)

    @classmethod
    def _read(cls, label: Label, reader: Reader) -> "Shares":
        sender, roster = reader.take(NAME_BYTES), reader.take(DIGEST_BYTES)
        return cls(label=label, sender=sender, roster=roster, boxes=_pairs(reader, BOX_BYTES))


@dataclass(frozen=True, kw_only=True)
class Delivered(Message):
    """The boxes for one user, by sender: those are also the users with whom masks are made."""

    kind: ClassVar[int] = 23
    receiver: bytes
    roster: bytes
    boxes: Pairs

    def __post_init__(self) -> None:
        _check_order(tuple(name for name, _ in self.boxes))

    def _body(self) -> bytes:
        return self.receiver + self.roster + b"".join(name + box for name, box in self.boxes)

    @classmethod
    def _read(cls, label: Label, reader: Reader) -> "Delivered":
        receiver, roster = reader.take(NAME_BYTES), reader.take(DIGEST_BYTES)
        return cls(label=label, receiver=receiver, roster=roster, boxes=_pairs(reader, BOX_BYTES))


@dataclass(frozen=True, kw_only=True, eq=False)
class PairwiseValue(Message):
    """A user's statistic with its share of the noise, under a mask of its own and one for each other user."""

    kind: ClassVar[int] = 24
    sender: bytes
    roster: bytes
    words: AnyArray

    def _body(self) -> bytes:
        return self.sender + self.roster + packed_words(self.words)

    @classmethod
    def _read(cls, label: Label, reader: Reader) -> "PairwiseValue":
        sender, roster = reader.take(NAME_BYTES), reader.take(DIGEST_BYTES)
        return cls(label=label, sender=sender, roster=roster, words=unpacked_words(reader))


@dataclass(frozen=True, kw_only=True)
class Survivors(Message):
    """Whose values came; nobody else's will be taken."""

    kind: ClassVar[int] = 25
    roster: bytes
    senders: tuple[bytes, ...]

    def __post_init__(self) -> None:
        _check_order(self.senders)

    def _body(self) -> bytes:
        return self.roster + b"".join(self.senders)

    @classmethod
    def _read(cls, label: Label, reader: Reader) -> "Survivors":
        return cls(label=label, roster=reader.take(DIGEST_BYTES), senders=tuple(_rows(reader, NAME_BYTES)))


@dataclass(frozen=True, kw_only=True)
class Confirmation(Message):
    """Which list of survivors a user saw, in a code that only the receiver can check; by receiver."""

    kind: ClassVar[int] = 27
    sender: bytes
    survivors: bytes
    codes: Pairs

    def __post_init__(self) -> None:
        _check_order(tuple(name for name, _ in self.codes))

    def _body(self) -> bytes:
        return self.sender + self.survivors + b"".join(name + code for name, code in self.codes)

    @classmethod
    def _read(cls, label: Label, reader: Reader) -> "Confirmation":
        sender, survivors = reader.take(NAME_BYTES), reader.take(DIGEST_BYTES)
        return cls(label=label, sender=sender, survivors=survivors, codes=_pairs(reader, DIGEST_BYTES))


@dataclass(frozen=True, kw_only=True)
class Confirmed(Message):
    """The codes for one user, by sender."""

    kind: ClassVar[int] = 28
    receiver: bytes
    survivors: bytes
    codes: Pairs

    def __post_init__(self) -> None:
        _check_order(tuple(name for name, _ in self.codes))

    def _body(self) -> bytes:
        return self.receiver + self.survivors + b"".join(name + code for name, code in self.codes)

    @classmethod
    def _read(cls, label: Label, reader: Reader) -> "Confirmed":
        receiver, survivors = reader.take(NAME_BYTES), reader.take(DIGEST_BYTES)
        return cls(label=label, receiver=receiver, survivors=survivors, codes=_pairs(reader, DIGEST_BYTES))


@dataclass(frozen=True, kw_only=True)
class Unmasking(Message):
    """One share about each user: of the own mask of a survivor, or of the mask key of one who vanished."""

    kind: ClassVar[int] = 26
    sender: bytes
    survivors: bytes
    shares: Pairs

    def __post_init__(self) -> None:
        _check_order(tuple(name for name, _ in self.shares))

    def _body(self) -> bytes:
        return self.sender + self.survivors + b"".join(name + share for name, share in self.shares)

    @classmethod
    def _read(cls, label: Label, reader: Reader) -> "Unmasking":
        sender, survivors = reader.take(NAME_BYTES), reader.take(DIGEST_BYTES)
        return cls(label=label, sender=sender, survivors=survivors, shares=_pairs(reader, SHARE_BYTES))


def _rows(reader: Reader, size: int) -> list[bytes]:
    data = bytes(reader.rest())
    refuse_unless(len(data) % size == 0, "a list ends in the middle of a line")
    refuse_unless(len(data) // size <= MOST_USERS, f"a group has at most {MOST_USERS:,} users")
    return [data[at : at + size] for at in range(0, len(data), size)]


def _pairs(reader: Reader, size: int) -> Pairs:
    return tuple((row[:NAME_BYTES], row[NAME_BYTES:]) for row in _rows(reader, NAME_BYTES + size))


def _check_order(names: tuple[bytes, ...]) -> None:
    ordered = all(one < two for one, two in itertools.pairwise(names))
    refuse_unless(ordered, "a list of users must be in order and name nobody twice")
