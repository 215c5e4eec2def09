"""What all messages have in common: a label, and how they become bytes."""

import hashlib
import struct
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from discreet.protocol.wire import MAGIC, VERSION, Reader, refuse_unless

NAME_BYTES = 16
DIGEST_BYTES = 32
HEADER_BYTES = 26


def digest(data: bytes) -> bytes:
    """SHA-256."""
    return hashlib.sha256(data).digest()


@dataclass(frozen=True, kw_only=True)
class Label:
    """Which run of which recommender, which of its rounds, and which group of users."""

    run: bytes
    round: int
    group: int = 0

    def __post_init__(self) -> None:
        refuse_unless(len(self.run) == NAME_BYTES, f"a run is named by {NAME_BYTES} bytes, got {len(self.run)}")
        refuse_unless(0 <= self.round < 2**32 and 0 <= self.group < 2**16, "a round or a group is out of range")

    def to_bytes(self) -> bytes:
        """22 bytes."""
        return self.run + struct.pack("<IH", self.round, self.group)


@dataclass(frozen=True, kw_only=True)
class Message:
    """What all have in common."""

    kind: ClassVar[int]
    label: Label

    def to_bytes(self) -> bytes:
        """As it travels."""
        return MAGIC + struct.pack("<BB", VERSION, self.kind) + self.label.to_bytes() + self._body()

    @cached_property
    def digest(self) -> bytes:
        """Of its bytes."""
        return digest(self.to_bytes())

    def _body(self) -> bytes:
        raise NotImplementedError

    @classmethod
    def _read(cls, label: Label, reader: Reader) -> "Message":
        raise NotImplementedError
