"""The one table of papers: a new paper adds one line.

Under its name ``discreet reproduce`` runs its experiments; under its model's name it is fitted, evaluated and audited.
Everything is named and nothing is imported, so that the command line can list the papers at once.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.papers.frame.paper import Paper


@dataclass(frozen=True)
class Listed:
    """A paper: what its model is called, where model and experiments are (``module:name``), what it is in a line."""

    model: str
    kind: str
    experiments: str
    what: str

    def load(self) -> "Paper":
        """Its experiments."""
        paper: Paper = _named(self.experiments)
        return paper


_HYBRID = "discreet.papers.hybrid_knn"
PAPERS = {
    "hybrid": Listed(
        "paper:hybrid-knn",
        f"{_HYBRID}.algorithm:HybridKNN",
        f"{_HYBRID}.paper:PAPER",
        "Perturbation at home plus noise at the recommender's (DASFAA 2017).",
    ),
}


def kinds() -> dict[str, Any]:
    """The models of all papers, by name."""
    return {listed.model: _named(listed.kind) for listed in PAPERS.values()}


def _named(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
