"""What a release promises to the people whose ratings it was made of."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Guarantee:
    """The promise that travels inside a release.

    Examples
    --------
    >>> print(Guarantee.none("exact sums were released"))
    No privacy: exact sums were released.
    """

    reason: str

    @classmethod
    def none(cls, reason: str) -> "Guarantee":
        """No promise at all, and why."""
        return cls(reason)

    @property
    def is_none(self) -> bool:
        """Whether nothing is promised. So far there is no other kind."""
        return True

    def __str__(self) -> str:
        return f"No privacy: {self.reason}."
