"""The one table of papers: a new paper adds one line.

Under its name ``discreet reproduce`` runs its experiments; as ``paper:`` and its folder it is a model, which can be
fitted, evaluated and audited. Nothing is imported before it is asked for, so the command line lists papers at once.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.papers.frame.paper import Paper


@dataclass(frozen=True)
class Listed:
    """A paper: its folder, the class of its system in ``algorithm``, and what it is in a line."""

    folder: str
    system: str
    what: str

    @property
    def model(self) -> str:
        """What the command line and saved releases call its system."""
        return f"paper:{self.folder.replace('_', '-')}"

    def kind(self) -> Any:
        """Its system."""
        return getattr(import_module(f"discreet.papers.{self.folder}.algorithm"), self.system)

    def load(self) -> "Paper":
        """Its experiments."""
        paper: Paper = import_module(f"discreet.papers.{self.folder}.paper").PAPER
        return paper


PAPERS = {
    "hybrid": Listed("hybrid_knn", "HybridKNN", "Perturbation at home plus noise at the recommender's (DASFAA 2017)."),
}


def kinds() -> dict[str, Any]:
    """The systems of all papers, by what they are called.

    >>> kinds()["paper:hybrid-knn"].__name__
    'HybridKNN'
    """
    return {listed.model: listed.kind() for listed in PAPERS.values()}
