"""The state of a machine as bytes: a JSON head, blocks of bytes after it, and a checksum before both."""

import json
from typing import Any

from discreet.protocol.message import digest
from discreet.protocol.wire import Reader, RefusedError, refuse_unless


def packed_state(kind: str, head: dict[str, Any], *blocks: bytes) -> bytes:
    """As bytes.

    >>> unpacked_state("a user", packed_state("a user", {"round": 1}, b"words"))
    ({'round': 1}, [b'words'])
    """
    text = json.dumps({"kind": kind, "blocks": [len(block) for block in blocks], "head": head}).encode()
    body = len(text).to_bytes(4, "little") + text + b"".join(blocks)
    return digest(body) + body


def unpacked_state(kind: str, data: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """Back from bytes; what is damaged, or the state of something else, is refused."""
    what = f"the state of {kind}"
    refuse_unless(len(data) > 36 and digest(data[32:]) == data[:32], f"{what} is damaged")
    reader = Reader(data[32:], what)
    try:
        head = json.loads(reader.take(reader.number("I")))
        refuse_unless(head["kind"] == kind, f"{what} was expected, and this is of something else")
        blocks = [reader.take(size) for size in head["blocks"]]
        reader.end()
        return dict(head["head"]), blocks
    except (KeyError, TypeError, ValueError) as error:
        raise error if isinstance(error, RefusedError) else RefusedError(f"{what} cannot be read") from None
