"""What was looked at to choose settings: a log that travels with ratings, and that budgets keep.

Evaluations, comparisons and audits use the ratings and pay nothing. Whoever chooses settings by what they print has
looked at the ratings, and a guarantee for the fit that follows must not leave that out. So each of them writes down
here which models it was about. Nothing that came out of a look is kept, no rating and no user.
"""

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any


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
    """

    what: str
    models: tuple[tuple[str, str], ...]
    at: str

    @classmethod
    def now(cls, what: str, models: Iterable[tuple[str, str]]) -> "Look":
        """A look that is about to be taken."""
        at = datetime.now(UTC).isoformat(timespec="seconds")
        return cls(what=what, models=tuple(dict.fromkeys(models)), at=at)

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {"what": self.what, "at": self.at, "models": [list(model) for model in self.models]}


class Looks:
    """The looks at some ratings, the oldest first. Everything that is derived from the same ratings shares one log.

    >>> looks = Looks()
    >>> looks.add(Look.now("compare", [("Bias", "a1"), ("Bias", "b2")]))
    >>> [look.what for look in looks]
    ['compare']
    """

    def __init__(self, looks: Iterable[Look] = ()) -> None:
        self._looks = tuple(looks)
        self._lock = threading.Lock()

    def add(self, look: Look) -> None:
        """Write down one more."""
        with self._lock:
            self._looks = (*self._looks, look)

    def __iter__(self) -> Iterator[Look]:
        return iter(self._looks)

    def __len__(self) -> int:
        return len(self._looks)

    def __reduce__(self) -> tuple[Any, ...]:
        return Looks, (self._looks,)  # a lock cannot be sent to another process
