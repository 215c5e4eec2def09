"""The gallery: published systems, faithful to the letter, with their experiments and what became of their claims.

Each paper is a folder: ``algorithm`` is the system, ``privacy`` what it claims and what is true, ``experiment`` its
grid and one repetition, ``claims`` what its authors say; :mod:`discreet.papers.frame` does the rest. What a paper
releases says what is *claimed*, and why it is not proven. What one should use instead is in :mod:`discreet.models`,
which knows nothing of the gallery.

>>> import discreet as dc
>>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
>>> release = dc.papers.HybridKNN(epsilon=1.0, gamma=0.5).fit(ratings)
>>> release.guarantee.proven is None, release.guarantee.claimed
(True, Loss(epsilon=1.0, delta=0.0))
"""

from typing import TYPE_CHECKING, Any

from discreet.papers.names import PAPERS

if TYPE_CHECKING:
    from discreet.papers.hybrid_knn.algorithm import HybridKNN as HybridKNN
    from discreet.papers.objective_perturbation.algorithm import ObjectivePerturbedMF as ObjectivePerturbedMF
    from discreet.papers.personalised.algorithm import DPPMF as DPPMF
    from discreet.papers.personalised.algorithm import PDPPMF as PDPPMF

__all__ = ["DPPMF", "PDPPMF", "HybridKNN", "ObjectivePerturbedMF"]


def __getattr__(name: str) -> Any:
    for listed in PAPERS.values():  # only when it is asked for: the command line lists papers without loading one
        if name in listed.systems.values():
            return listed.kind(name)
    raise AttributeError(f"module 'discreet.papers' has no attribute {name!r}")
