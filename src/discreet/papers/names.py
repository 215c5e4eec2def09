"""The one table of papers: a new paper adds one line.

Under its name ``discreet reproduce`` runs its experiments; as ``paper:`` and its folder it is a model, which can be
fitted, evaluated and audited, and so are further systems of the same paper under names of their own. Nothing is
imported before it is asked for, so the command line lists papers at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.papers.frame.paper import Paper


@dataclass(frozen=True)
class Listed:
    """A paper: its folder, the class of its system in ``algorithm``, and what it is in a line.

    ``also`` are further systems of the paper: what each is called after ``paper:``, and its class.
    """

    folder: str
    system: str
    what: str
    also: Mapping[str, str] = field(default_factory=dict)

    @property
    def model(self) -> str:
        """What the command line and saved releases call its system."""
        return f"paper:{self.folder.replace('_', '-')}"

    @property
    def systems(self) -> dict[str, str]:
        """The class of each of its systems, by what it is called."""
        return {self.model: self.system, **{f"paper:{name}": system for name, system in self.also.items()}}

    def kind(self, system: str = "") -> Any:
        """Its system, or another of its systems."""
        return getattr(import_module(f"discreet.papers.{self.folder}.algorithm"), system or self.system)

    def load(self) -> "Paper":
        """Its experiments."""
        paper: Paper = import_module(f"discreet.papers.{self.folder}.paper").PAPER
        return paper


PAPERS = {
    "hybrid": Listed("hybrid_knn", "HybridKNN", "Perturbation at home plus noise at the recommender's (DASFAA 2017)."),
    "objective-perturbation": Listed(
        "objective_perturbation", "ObjectivePerturbedMF", "Matrix factorisation with a noisy objective (IJCAI 2015)."
    ),
    "personalised": Listed(
        "personalised",
        "PDPPMF",
        "Matrix factorisation with a privacy level for every rating (2018).",
        also={"dp-pmf": "DPPMF"},
    ),
}


def kinds() -> dict[str, Any]:
    """The systems of all papers, by what they are called.

    >>> kinds()["paper:hybrid-knn"].__name__
    'HybridKNN'
    """
    return {name: listed.kind(system) for listed in PAPERS.values() for name, system in listed.systems.items()}
