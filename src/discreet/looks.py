"""What was looked at to choose settings: a log that travels with ratings, and that budgets keep.

Evaluations, comparisons and audits use the ratings and pay nothing. Whoever chooses settings by what they print has
looked at the ratings, and a guarantee for the fit that follows must not leave that out. So each of them writes down
here which models it was about, and how the ratings were read: which features they have and how repeats are merged is
chosen like any setting. Nothing that came out of a look is kept, no rating and no user.
"""

import hashlib
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from typing import Any

Reading = tuple[tuple[str, str], ...]
"""How ratings were read: what could have been chosen otherwise (scale, features, …), and what it was."""

LISTED, KEPT_LIST, SELECTION = "list", "kept list", "selection"
"""Parts of a reading: what the list of items says, the same under the key of a budget, and which rows were selected."""


def kept_reading(reading: Reading, key: bytes) -> Reading:
    """What a budget keeps: no selection, which private ratings may have decided, and the list under its key.

    >>> kept_reading((("scale", "1 to 5"), (LISTED, ""), (SELECTION, "5e1ec7ed")), bytes(32))
    (('scale', '1 to 5'), ('kept list', ''))
    """
    found = {part: said for part, said in reading if part not in (LISTED, SELECTION)}
    if (listed := dict(reading).get(LISTED)) is not None:
        words = (hashlib.blake2b(word.encode(), key=key, digest_size=4).hexdigest() for word in listed.split())
        found[KEPT_LIST] = " ".join(words)
    return tuple(found.items())


@dataclass(frozen=True, kw_only=True)
class Look:
    """One unpaid look at ratings.

    Parameters
    ----------
    what
        Which kind: ``evaluate``, ``compare`` or ``audit``.
    models
        The kind of each model that was looked at, and a hash of its settings.
    at
        When, in UTC.
    reading
        How the ratings were read; empty where that is not known.
    """

    what: str
    models: tuple[tuple[str, str], ...]
    at: str
    reading: Reading = ()

    @classmethod
    def now(cls, what: str, models: Iterable[tuple[str, str]], reading: Reading = ()) -> "Look":
        """A look that is about to be taken."""
        at = datetime.now(UTC).isoformat(timespec="seconds")
        return cls(what=what, models=tuple(dict.fromkeys(models)), at=at, reading=reading)

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        models = [list(model) for model in self.models]
        return {"what": self.what, "at": self.at, "models": models, "reading": dict(self.reading)}


class Looks:
    """The looks at some ratings, the oldest first. Everything that is derived from the same ratings shares one log.

    Ratings of the same users that were read once more have a log of their own, which is linked to the others
    (:func:`discreet.populations.accounts.known_again`), unless it is to stay ``apart``.

    >>> looks = Looks()
    >>> looks.add(Look.now("compare", [("Bias", "a1"), ("Bias", "b2")]))
    >>> [look.what for look in looks]
    ['compare']
    """

    def __init__(self, looks: Iterable[Look] = (), apart: bool = False) -> None:
        self._looks, self.apart = tuple(looks), apart
        self._linked: tuple[Looks, ...] = ()
        self._lock = threading.Lock()

    def add(self, look: Look) -> None:
        """Write down one more."""
        with self._lock:
            self._looks = (*self._looks, look)

    def link(self, other: "Looks") -> None:
        """From now on this one tells of the looks of the other as well."""
        with self._lock:
            self._linked = (*self._linked, other)

    def __iter__(self) -> Iterator[Look]:
        return chain(self._looks, *(other._looks for other in self._linked))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Looks, (tuple(self), self.apart)  # a lock cannot be sent to another process
