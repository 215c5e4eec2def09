"""Shares of a secret: any ``threshold`` of them give it back, and fewer say nothing about it (Shamir 1979).

The secret is the value at 0 of a random polynomial of degree ``threshold`` − 1 over the integers modulo a prime; share
number x is its value at x. For fewer points every value at 0 is equally likely.
"""

import os
from collections.abc import Mapping

from discreet.errors import require
from discreet.protocol.masks import DrawBytes

PRIME = 2**256 + 297
"""The least prime above 2^256: every secret of 32 bytes is below it."""
SHARE_BYTES = 33
SECRET_BYTES = 32


def split_secret(secret: bytes, count: int, threshold: int, draw: DrawBytes = os.urandom) -> list[bytes]:
    """Shares number 1 to ``count`` of a secret of 32 bytes.

    >>> shares = split_secret(bytes(range(32)), 5, 3)
    >>> join_shares({1: shares[0], 3: shares[2], 5: shares[4]}) == bytes(range(32))
    True
    """
    require(len(secret) == SECRET_BYTES, f"a secret has {SECRET_BYTES} bytes, got {len(secret)}")
    require(1 <= threshold <= count, f"a threshold lies between 1 and {count}, got {threshold}")
    # 64 bytes modulo a prime of 257 bits are uniform up to 2^-255.
    coefficients = [int.from_bytes(secret, "big")]
    coefficients += [int.from_bytes(draw(64), "big") % PRIME for _ in range(threshold - 1)]
    shares = []
    for place in range(1, count + 1):
        value = 0
        for coefficient in reversed(coefficients):
            value = (value * place + coefficient) % PRIME
        shares.append(value.to_bytes(SHARE_BYTES, "big"))
    return shares


def join_shares(shares: Mapping[int, bytes]) -> bytes | None:
    """The secret of shares by their numbers, or None where they do not belong together; Lagrange at 0."""
    total = 0
    for place, share in shares.items():
        top = bottom = 1
        for other in shares:
            if other != place:
                top = top * other % PRIME
                bottom = bottom * (other - place) % PRIME
        total = (total + int.from_bytes(share, "big") * top * pow(bottom, -1, PRIME)) % PRIME
    return total.to_bytes(SHARE_BYTES, "big")[1:] if total < 2**256 else None
