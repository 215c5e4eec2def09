"""The one table of names: what the command line and saved releases call each model."""

from importlib import import_module
from typing import Any

from discreet.models.almanac import Almanac
from discreet.models.als import ALS
from discreet.models.bayesian_mf import BayesianMF
from discreet.models.bias import Bias
from discreet.models.cosine import Cosine
from discreet.models.covariance_knn import CovarianceKNN
from discreet.models.ease import EASE
from discreet.models.implicit_als import ImplicitALS
from discreet.models.mf import MF
from discreet.models.own_taste import OwnTaste
from discreet.models.pearson import Pearson
from discreet.models.pmf import PMF
from discreet.models.pnbm import PNBM
from discreet.models.popularity import Popularity
from discreet.models.svd import SVD
from discreet.models.warp import WARP

MODELS = {
    "almanac": Almanac,
    "bias": Bias,
    "popularity": Popularity,
    "own-taste": OwnTaste,
    "cosine": Cosine,
    "pearson": Pearson,
    "pnbm": PNBM,
    "covariance-knn": CovarianceKNN,
    "mf": MF,
    "ease": EASE,
    "als": ALS,
    "implicit-als": ImplicitALS,
    "bayesian-mf": BayesianMF,
    "pmf": PMF,
    "svd": SVD,
    "warp": WARP,
}


def every_kind() -> dict[str, Any]:
    """Every name there is: the models', and those of the gallery of papers.

    The gallery stands above the models, which know nothing of it: whoever has a name looks it up here, when it is used.

    >>> every_kind()["paper:hybrid-knn"].__name__
    'HybridKNN'
    """
    papers: dict[str, Any] = import_module("discreet.papers.names").kinds()
    return {**MODELS, **papers}
