"""Where noise gets its randomness: a ChaCha20 stream keyed by the operating system, and nothing else."""

import hashlib
import hmac
import os
import threading
from typing import Never, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from discreet.doors import checked
from discreet.errors import InputError, library_for, require

KEY_BYTES = 32
REKEY_AFTER = 1 << 30  # bytes; far below the 256 GiB after which ChaCha20's block counter would wrap
BLOCK = 1 << 20


@checked
class Randomness:
    """A stream of secret random words.

    Parameters
    ----------
    seed
        None for a key from the operating system. A number makes the stream repeatable, for tests and
        experiments; whatever is released with it carries no guarantee, and says so.

    Examples
    --------
    >>> Randomness(seed=1).words(2).tolist() == Randomness(seed=1).words(2).tolist()
    True
    >>> Randomness().is_seeded
    False
    """

    def __init__(self, seed: int | None = None) -> None:
        self._repeatable = seed is not None
        self._process, self._lock = os.getpid(), threading.Lock()
        if seed is None:
            self._key(os.urandom(KEY_BYTES))
        else:
            self._key(hashlib.sha256(f"discreet: seeded, not private: {seed}".encode()).digest())

    @classmethod
    def of_key(cls, key: bytes, purpose: str) -> "Randomness":
        """A stream that whoever has the secret key can repeat; one for every purpose, independent of the others.

        Never for noise: a stream that is used twice for different data hides nothing. It counts as seeded, so whatever
        is released with such noise carries no guarantee.

        >>> key = secret_key()
        >>> Randomness.of_key(key, "cap").words(1) == Randomness.of_key(key, "cap").words(1)
        array([ True])
        >>> Randomness.of_key(key, "cap").is_seeded
        True
        """
        require(len(key) == KEY_BYTES, f"a secret key has {KEY_BYTES} bytes, got {len(key)}")
        stream = cls()
        stream._repeatable = True
        stream._key(hmac.digest(key, purpose.encode(), "sha256"))
        return stream

    def split(self) -> "Randomness":
        """A stream of its own, keyed by the next words of this one: as secret, and as repeatable.

        >>> Randomness(seed=1).split().words(1) == Randomness(seed=1).split().words(1)
        array([ True])
        """
        stream = Randomness()
        stream._repeatable = self._repeatable
        stream._key(self.words(KEY_BYTES // 8).tobytes())
        return stream

    @property
    def is_seeded(self) -> bool:
        """Whether somebody can draw the same words again: whoever knows the seed, or has the key."""
        return self._repeatable

    def _key(self, key: bytes) -> None:
        with library_for("noise"):
            from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

        self._stream = Cipher(algorithms.ChaCha20(key, bytes(16)), mode=None).encryptor()
        self._left = REKEY_AFTER

    def words(self, count: int) -> NDArray[np.uint64]:
        """Independent uniform 64-bit words. Threads may share a stream; a forked process gets a key of its own."""
        if os.getpid() != self._process:
            # A fork copies the stream: without a new key both processes would draw the same noise.
            self._process, self._lock = os.getpid(), threading.Lock()
            if not self._repeatable:
                self._key(os.urandom(KEY_BYTES))
        with self._lock:
            return self._next(count)

    def _next(self, count: int) -> NDArray[np.uint64]:
        out = np.empty(count, dtype=np.uint64)
        view = out.data.cast("B")
        zeros = bytes(min(len(view), BLOCK))
        for start in range(0, len(view), BLOCK):
            piece = view[start : start + BLOCK]
            if self._left < len(piece) + KEY_BYTES:
                # The next key comes out of the old stream, so that a key found later reveals no earlier noise.
                self._key(self._stream.update(bytes(KEY_BYTES)))
            self._stream.update_into(zeros[: len(piece)], piece)
            self._left -= len(piece)
        return out

    def __reduce_ex__(self, protocol: SupportsIndex) -> Never:
        """Refuse copies and pickles, which all go through here: a copy would draw the same noise again."""
        raise InputError("a stream of randomness cannot be copied or pickled: make a new one with Randomness()")

    def __repr__(self) -> str:
        return "Randomness(seeded: not private)" if self.is_seeded else "Randomness(secure)"


def secret_key(randomness: Randomness | None = None) -> bytes:
    """A key of 32 bytes, from the operating system or out of a stream; keep it as secret as the ratings.

    >>> len(secret_key())
    32
    """
    return (Randomness() if randomness is None else randomness).words(KEY_BYTES // 8).tobytes()
