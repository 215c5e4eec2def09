"""What predictions of a published hybrid are made of, whoever the user is."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from discreet.releases.release import Release
from discreet.types import Floats

if TYPE_CHECKING:
    from discreet.papers.hybrid_knn.algorithm import HybridKNN


@dataclass(frozen=True, eq=False)
class Prepared:
    """The matrices of a release, each computed when it is first asked for."""

    model: "HybridKNN"
    release: Release

    @cached_property
    def similarities(self) -> Floats:
        """By which neighbours are chosen and weighted."""
        return self.model.similarities(self.release)

    @cached_property
    def moments(self) -> Floats:
        """For joint weights."""
        return self.model.moments(self.release)
