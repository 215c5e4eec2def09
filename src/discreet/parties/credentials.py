"""Secrets in files: the key that both servers share, and the tokens of enrolled users.

**Who may take part, and who learns what.** Whoever enrols users draws a random token for each and gives the third party
a list of their SHA-256 digests. A user shows the token to the third party, with the seed of a round, and never to the
recommender. The third party counts every token once in a round. The recommender sees that the third party has accepted
someone, under a random name that is used in this round and never again: it can link no two rounds of a user, and no
round to a token. The third party can link the rounds of a token to each other; it sees no values. Both see network
addresses, as every server does.
"""

import hashlib
import hmac
import os
import secrets
from pathlib import Path

from discreet.errors import InputError, require
from discreet.files import write_whole

TOKEN_BYTES = 32
TOKENS, ENROLLED = "tokens.txt", "enrolled.txt"


def make_key(path: str | Path) -> None:
    """Write 32 random bytes as a line of hexadecimal digits."""
    require(not Path(path).exists(), f"{path} exists, and servers may be using it: name another file")
    write_whole(path, os.urandom(32).hex().encode() + b"\n", private=True)


def read_key(path: str | Path) -> bytes:
    """The key that both servers share."""
    lines = _lines(path)
    require(len(lines) == 1, f"{path} must hold one key of 64 hexadecimal digits: `discreet party key` makes one")
    return lines[0]


def derived(key: bytes, purpose: str) -> bytes:
    """A key for one purpose: what is signed for one is worth nothing for another.

    >>> derived(bytes(32), "receipts") == derived(bytes(32), "requests")
    False
    """
    return hmac.digest(key, purpose.encode(), "sha256")


def make_tokens(folder: str | Path, users: int) -> tuple[Path, Path]:
    """Write tokens to hand out, one a line, and their digests for the third party, in another order."""
    require(1 <= users <= 10_000_000, f"tokens are for 1 to 10,000,000 users, got {users}")
    tokens, enrolled = Path(folder) / TOKENS, Path(folder) / ENROLLED
    for path in (tokens, enrolled):
        require(not path.exists(), f"{path} exists: name another folder")
    drawn = [secrets.token_bytes(TOKEN_BYTES) for _ in range(users)]
    write_whole(tokens, b"".join(token.hex().encode() + b"\n" for token in drawn), private=True)
    write_whole(enrolled, b"".join(digest.hex().encode() + b"\n" for digest in sorted(map(token_digest, drawn))))
    return tokens, enrolled


def token_digest(token: bytes) -> bytes:
    """By which the third party knows a token."""
    return hashlib.sha256(token).digest()


def read_tokens(path: str | Path, users: int) -> list[bytes]:
    """The tokens of so many users."""
    lines = _lines(path)
    require(len(lines) >= users, f"{path} holds {len(lines)} tokens, and there are {users} users")
    return lines[:users]


def read_enrolled(path: str | Path) -> frozenset[bytes]:
    """The digests of all tokens that count."""
    return frozenset(_lines(path))


def _lines(path: str | Path) -> list[bytes]:
    try:
        text = Path(path).read_text(encoding="ascii")
    except UnicodeDecodeError:
        raise InputError(f"{path} must hold lines of 64 hexadecimal digits") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    found = []
    for number, line in enumerate(text.split(), start=1):
        try:
            found.append(bytes.fromhex(line))
        except ValueError:
            found.append(b"")
        require(len(found[-1]) == TOKEN_BYTES, f"{path}, line {number}: expected 64 hexadecimal digits")
    return found
