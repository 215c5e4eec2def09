"""Masks: words of a ChaCha20 stream, which whoever has its seed can compute again and nobody else can tell from chance.

A seed is used once, for one label (run, round, group and sender), which goes into the nonce of the stream: even a seed
that was used twice by mistake would not give the same mask twice.
"""

import hashlib
import os
from collections.abc import Callable, Iterable
from typing import TypeAlias

import numpy as np

from discreet.errors import library_for, require
from discreet.protocol.encoding import word_type
from discreet.types import AnyArray

SEED_BYTES = 32
_BLOCK = 1 << 18

DrawBytes: TypeAlias = Callable[[int], bytes]
"""Gives so many random bytes: :func:`os.urandom`, or something repeatable in tests."""

Expand: TypeAlias = Callable[[bytes, bytes, int, int], AnyArray]
"""``expand(seed, label, count, bits)``: a mask."""


def fresh_seed(draw: DrawBytes = os.urandom) -> bytes:
    """A seed from the operating system.

    >>> len(fresh_seed())
    32
    """
    return draw(SEED_BYTES)


def expand(seed: bytes, label: bytes, count: int, bits: int = 64) -> AnyArray:
    """The mask of a seed: ``count`` uniform words.

    >>> bool((expand(bytes(32), b"a", 4) == expand(bytes(32), b"a", 4)).all())
    True
    """
    out = np.zeros(count, dtype=word_type(bits))
    add_mask(out, seed, label)
    return out


def add_mask(words: AnyArray, seed: bytes, label: bytes) -> None:
    """Add the mask of a seed to words in place, modulo their size."""
    require(len(seed) == SEED_BYTES, f"a seed has {SEED_BYTES} bytes, got {len(seed)}")
    with library_for("masks"):
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

    # The first four bytes are the block counter: it starts at 0, so that 2^32 blocks follow without a repeat.
    nonce = bytes(4) + hashlib.sha256(label).digest()[:12]
    stream = Cipher(algorithms.ChaCha20(seed, nonce), mode=None).encryptor()
    zeros = bytes(_BLOCK)
    buffer = bytearray(_BLOCK + 63)
    step = _BLOCK // words.dtype.itemsize
    for first in range(0, len(words), step):
        piece = words[first : first + step]
        stream.update_into(zeros[: piece.nbytes], buffer)
        np.add(piece, np.frombuffer(buffer, dtype=words.dtype, count=len(piece)), out=piece)


def sum_of_masks(seeds: Iterable[tuple[bytes, bytes]], count: int, bits: int) -> AnyArray:
    """The sum of the masks of ``(seed, label)`` pairs, modulo 2^bits, in the memory of one."""
    total = np.zeros(count, dtype=word_type(bits))
    for seed, label in seeds:
        add_mask(total, seed, label)
    return total
