"""How the third party knows the recommender: a code over every request, and the number of its last start.

Whoever starts a recommender offers its run to the third party, and if that is accepted gets the next number, which each
further request carries. A recommender that was started before is refused from then on, so that two of them cannot run
one round; an offer that is refused changes nothing for the one that runs, also one that is to take its place.
"""

import hmac
import struct
from collections.abc import Mapping

CODE, NUMBER = "x-discreet-code", "x-discreet-claim"
OFFER, OFFER_INSTEAD, QUESTION, ARRIVED, ANSWER, FINISHED = (
    "/v1/offer",
    "/v1/offer-instead",
    "/v1/question",
    "/v1/arrived",
    "/v1/answer",
    "/v1/finished",
)
SEED, VALUE, NEWS, CATALOGUE = "/v1/seed", "/v1/value", "/v1/news", "/v1/catalogue"


def signed(key: bytes, path: str, number: int, body: bytes) -> dict[str, str]:
    """The headers of a request.

    >>> is_signed(bytes(32), "/v1/offer", 3, b"body", signed(bytes(32), "/v1/offer", 3, b"body"))
    True
    """
    return {NUMBER: str(number), CODE: _code(key, path, number, body)}


def is_signed(key: bytes, path: str, number: int, body: bytes, headers: Mapping[str, str]) -> bool:
    """Whether the recommender wrote it."""
    given = headers.get(CODE, "")
    return given.isascii() and hmac.compare_digest(given, _code(key, path, number, body))


def number_of(headers: Mapping[str, str]) -> int:
    """Which start of the recommender a request belongs to; −1 where it does not say."""
    text = headers.get(NUMBER, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1


def _code(key: bytes, path: str, number: int, body: bytes) -> str:
    return hmac.new(key, path.encode() + struct.pack("<Q", number) + body, "sha256").hexdigest()
