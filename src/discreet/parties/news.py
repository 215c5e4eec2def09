"""What the recommender tells everyone: questions and answers so far, and what is asked now. All of it is public."""

import json
import struct
from dataclasses import dataclass

import numpy as np

from discreet.data.catalogue import Catalogue, Scale
from discreet.data.labels import Labels
from discreet.populations.remote import Told
from discreet.protocol.message import digest
from discreet.protocol.messages import Answer, read_message
from discreet.protocol.questions import Question
from discreet.protocol.wire import Reader, parsed, refuse_unless
from discreet.strings import Strings

MAGIC = b"DN\x01"
BOOT_BYTES = 8
MOST_BYTES = 1 << 26
"""A user takes no more at once."""
MOST_TITLE = 1000


@dataclass(frozen=True, kw_only=True)
class News:
    """What is new since ``first`` answers.

    Parameters
    ----------
    boot
        Drawn whenever the recommender starts: values of an open round that were sent to it before are to be sent again.
    finished
        Whether there is nothing more to ask.
    first, told
        Questions and answers from this number on.
    question
        What is being asked.
    """

    boot: bytes
    finished: bool = False
    first: int = 0
    told: tuple[Told, ...] = ()
    question: Question | None = None

    @property
    def tag(self) -> str:
        """Differs where anything differs."""
        asked = b"" if self.question is None else self.question.digest
        return digest(self.boot + struct.pack("<?I", self.finished, self.first + len(self.told)) + asked)[:8].hex()

    def to_bytes(self) -> bytes:
        """As it travels."""
        head = MAGIC + struct.pack("<?8sII", self.finished, self.boot, self.first, len(self.told))
        blocks = [each.to_bytes() for pair in self.told for each in pair]
        blocks.append(b"" if self.question is None else self.question.to_bytes())
        return head + b"".join(struct.pack("<I", len(block)) + block for block in blocks)


def read_news(data: bytes) -> News:
    """News from bytes; anything else is refused."""
    what = "what the recommender tells"
    reader = Reader(data, what)
    refuse_unless(reader.take(len(MAGIC)) == MAGIC, f"{what} is of another kind or version")
    finished, boot = reader.number("B"), reader.take(BOOT_BYTES)
    refuse_unless(finished < 2, f"{what} is neither finished nor going on")
    first, count = reader.number("I"), reader.number("I")
    refuse_unless(count * 8 <= len(data), f"{what} has fewer answers than it says")

    def block() -> bytes:
        return reader.take(reader.number("I"))

    told = tuple((read_message(block(), Question), read_message(block(), Answer)) for _ in range(count))
    asked = block()
    reader.end()
    question = read_message(asked, Question) if asked else None
    return News(boot=boot, finished=bool(finished), first=first, told=told, question=question)


def catalogue_bytes(catalogue: Catalogue) -> bytes:
    """The public items as JSON."""
    genres = [np.flatnonzero(row).tolist() for row in catalogue.item_genres]
    document = {
        "scale": [catalogue.scale.low, catalogue.scale.high],
        "items": catalogue.items.names.tolist(),
        "titles": catalogue.titles.tolist(),
        "years": catalogue.years.tolist(),
        "genres": list(catalogue.genres),
        "item_genres": genres,
    }
    return json.dumps(document, separators=(",", ":")).encode()


def read_catalogue_bytes(data: bytes, expected: bytes) -> Catalogue:
    """The public items from bytes, if they are those of the offer."""
    what = "the list of items that the recommender sends"

    def build() -> Catalogue:
        document = json.loads(data)
        size, genres = len(document["items"]), tuple(document["genres"])
        texts = [*document["items"], *document["titles"], *genres]
        short = all(isinstance(text, str) and len(text) <= MOST_TITLE for text in texts)
        refuse_unless(short, f"{what} has a name that is longer than {MOST_TITLE} letters, or none")
        matrix = np.zeros((size, len(genres)), dtype=np.bool_)
        for row, own in zip(matrix, document["item_genres"], strict=True):
            row[np.asarray(own, dtype=np.intp)] = True
        return Catalogue(
            items=Labels.of(document["items"], what="item"),
            scale=Scale.of_ends(*document["scale"]),
            titles=Strings.of(document["titles"]),
            genres=genres,
            item_genres=matrix,
            years=np.array(document["years"], dtype=np.int16),
            declared=True,  # by the recommender, who sends it before anyone has sent anything
        )

    try:
        found = parsed(build, what)
    except (KeyError, TypeError, AttributeError, LookupError, RecursionError, MemoryError):
        refuse_unless(False, f"{what} cannot be read")
        raise
    refuse_unless(bytes.fromhex(found.fingerprint) == expected, f"{what} is not the one that the offer names")
    return found
