"""Single blocks of ChaCha20 (RFC 8439), for numbers that are drawn at a place of their own in the stream.

Long runs of words come from the library that :mod:`discreet.privacy.randomness` uses; here are the few that are wanted
one by one. A block has 64 bytes. Of its four public words the first counts blocks, the second is 0, and the others say
for which ``attempt`` and ``purpose`` it is.
"""

from typing import Any

import numpy as np

from discreet.kernels.compiling import njit
from discreet.types import AnyArray

CONSTANT_WORDS = (0x61707865, 0x3320646E, 0x79622D32, 0x6B206574)
"""The words "expand 32-byte k", with which every block starts."""
COLUMNS_AND_DIAGONALS = (
    (0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
    (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14),
)  # fmt: skip
"""Which words are mixed with each other in two rounds."""


@njit(cache=True, nogil=True, inline="always")
def _turned(word: Any, by: int) -> Any:
    return (word << np.uint32(by)) | (word >> np.uint32(32 - by))


@njit(cache=True, nogil=True, inline="always")
def _quarter(a: Any, b: Any, c: Any, d: Any) -> Any:
    a = np.uint32(a + b)
    d = _turned(np.uint32(d ^ a), 16)
    c = np.uint32(c + d)
    b = _turned(np.uint32(b ^ c), 12)
    a = np.uint32(a + b)
    d = _turned(np.uint32(d ^ a), 8)
    c = np.uint32(c + d)
    b = _turned(np.uint32(b ^ c), 7)
    return a, b, c, d


@njit(cache=True, nogil=True)
def chacha_block(key: AnyArray, counter: int, attempt: int, purpose: int, block: AnyArray) -> None:
    """Write one block as 16 words of 32 bits; ``key`` are 8 such words."""
    a0, a1, a2, a3 = np.uint32(0x61707865), np.uint32(0x3320646E), np.uint32(0x79622D32), np.uint32(0x6B206574)
    b0, b1, b2, b3 = key[0], key[1], key[2], key[3]
    c0, c1, c2, c3 = key[4], key[5], key[6], key[7]
    d0, d1, d2, d3 = np.uint32(counter), np.uint32(0), np.uint32(attempt), np.uint32(purpose)
    for _ in range(10):
        a0, b0, c0, d0 = _quarter(a0, b0, c0, d0)
        a1, b1, c1, d1 = _quarter(a1, b1, c1, d1)
        a2, b2, c2, d2 = _quarter(a2, b2, c2, d2)
        a3, b3, c3, d3 = _quarter(a3, b3, c3, d3)
        a0, b1, c2, d3 = _quarter(a0, b1, c2, d3)
        a1, b2, c3, d0 = _quarter(a1, b2, c3, d0)
        a2, b3, c0, d1 = _quarter(a2, b3, c0, d1)
        a3, b0, c1, d2 = _quarter(a3, b0, c1, d2)
    block[0], block[1], block[2], block[3] = a0, a1, a2, a3
    block[4], block[5], block[6], block[7] = b0, b1, b2, b3
    block[8], block[9], block[10], block[11] = c0, c1, c2, c3
    block[12], block[13], block[14], block[15] = d0, d1, d2, d3
    block[0] += np.uint32(0x61707865)
    block[1] += np.uint32(0x3320646E)
    block[2] += np.uint32(0x79622D32)
    block[3] += np.uint32(0x6B206574)
    for place in range(8):
        block[4 + place] += key[place]
    block[12] += np.uint32(counter)
    block[14] += np.uint32(attempt)
    block[15] += np.uint32(purpose)
