"""What a published system is: the one definition that fitting, comparing, auditing and the command line share."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from discreet.data.ratings import Ratings
from discreet.privacy.randomness import Randomness
from discreet.releases.release import Release
from discreet.types import Progress

if TYPE_CHECKING:
    from discreet.audit.recording import Look


@runtime_checkable
class Published(Protocol):
    """A system as its authors published it: it takes raw ratings, and its epsilon is a setting, which it claims.

    No population hides the ratings from it and no ledger limits it, so nothing is proven. ``raw_ratings`` is True, as
    for every model that no population can serve; ``epsilon`` is None where nothing is claimed.

    >>> import discreet as dc
    >>> isinstance(dc.papers.HybridKNN(), Published), isinstance(dc.MF(), Published), isinstance(dc.Bias(), Published)
    (True, False, False)
    """

    raw_ratings: ClassVar[bool]

    @property
    def epsilon(self) -> float | None:
        """What is claimed."""
        ...

    def fit(self, ratings: Ratings, progress: Progress = ..., *, randomness: Randomness | None = None) -> Release:
        """Learn from the ratings themselves."""
        ...

    def observe(self, ratings: Ratings, randomness: Randomness) -> "tuple[Release, tuple[Look, ...]]":
        """A fit as an audit sees it: the release, and every sum behind it with the noise that the paper says."""
        ...


def claiming(model: Published, epsilon: float | None) -> Any:
    """The same system with another epsilon to claim.

    >>> import discreet as dc
    >>> claiming(dc.papers.HybridKNN(), 2.0).epsilon
    2.0
    """
    return replace(model, epsilon=epsilon)  # type: ignore[type-var]
