"""The one table of papers: a new paper adds one line.

Under its name ``discreet reproduce`` runs its experiments; after ``paper:`` its systems are models, which can be
fitted, evaluated and audited. Nothing is imported before it is asked for, so the command line lists papers at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.papers.frame.paper import Paper


@dataclass(frozen=True)
class Listed:
    """A paper: its folder, its systems, and what it is in a line.

    ``systems`` says of each name, after ``paper:``, in which file of the folder it is, and what its class is called.
    """

    folder: str
    systems: Mapping[str, str]
    what: str

    @property
    def models(self) -> tuple[str, ...]:
        """What the command line and saved releases call its systems."""
        return tuple(f"paper:{name}" for name in self.systems)

    def kinds(self) -> dict[str, Any]:
        """Its systems, by what they are called."""
        return dict(zip(self.models, map(self._kind, self.systems.values()), strict=True))

    def _kind(self, place: str) -> Any:
        module, name = place.split(":")
        return getattr(import_module(f"discreet.papers.{self.folder}.{module}"), name)

    def load(self) -> "Paper":
        """Its experiments."""
        paper: Paper = import_module(f"discreet.papers.{self.folder}.paper").PAPER
        return paper


PAPERS = {
    "hybrid": Listed(
        "hybrid_knn",
        {"hybrid-knn": "algorithm:HybridKNN"},
        "Perturbation at home plus noise at the recommender's (DASFAA 2017).",
    ),
    "neighbourhood": Listed(
        "neighbourhood",
        {
            "dpsgd-pnbm": "descent:DPSGDPNBM",
            "dpps-pnbm": "sampling:DPPSPNBM",
            "dpsgd-mf": "factors:DPSGDMF",
            "dpps-mf": "factors:DPPSMF",
        },
        "Similarities learned with noise, or drawn from their posterior (arXiv 1701.02120).",
    ),
    "objective-perturbation": Listed(
        "objective_perturbation",
        {"objective-perturbation": "algorithm:ObjectivePerturbedMF"},
        "Matrix factorisation with a noisy objective (IJCAI 2015).",
    ),
    "personalised": Listed(
        "personalised",
        {"personalised": "algorithm:PDPPMF", "dp-pmf": "algorithm:DPPMF"},
        "Matrix factorisation with a privacy level for every rating (2018).",
    ),
    "untrusted": Listed(
        "untrusted",
        {"untrusted": "algorithm:UntrustedMF"},
        "Matrix factorisation by an untrusted recommender and a third party (IJCAI 2015).",
    ),
    "dp-vae": Listed(
        "dp_vae",
        {"dp-vae": "algorithm:DPVAE"},
        "A variational autoencoder with a privacy level for every user (2022).",
    ),
}


def kinds() -> dict[str, Any]:
    """The systems of all papers, by what they are called.

    >>> kinds()["paper:hybrid-knn"].__name__
    'HybridKNN'
    """
    return {name: kind for listed in PAPERS.values() for name, kind in listed.kinds().items()}
