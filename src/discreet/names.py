"""The one table of names: what the command line and saved releases call each model, and where it is.

It is a table and no part of the layers: whoever has a name looks it up here, and the model is loaded when it is used.
"""

from importlib import import_module
from typing import Any

MODELS = {
    "almanac": "almanac:Almanac",
    "bias": "bias:Bias",
    "popularity": "popularity:Popularity",
    "own-taste": "own_taste:OwnTaste",
    "cosine": "cosine:Cosine",
    "pearson": "pearson:Pearson",
    "pnbm": "pnbm:PNBM",
    "covariance-knn": "covariance_knn:CovarianceKNN",
    "mf": "mf:MF",
    "ease": "ease:EASE",
    "als": "als:ALS",
    "implicit-als": "implicit_als:ImplicitALS",
    "bayesian-mf": "bayesian_mf:BayesianMF",
    "pmf": "pmf:PMF",
    "svd": "svd:SVD",
    "warp": "warp:WARP",
}
"""For each model its file in ``models/`` and its class."""


def every_model() -> dict[str, Any]:
    """The models by name.

    >>> every_model()["own-taste"].__name__
    'OwnTaste'
    """
    places = {name: place.split(":") for name, place in MODELS.items()}
    return {name: getattr(import_module(f"discreet.models.{file}"), kind) for name, (file, kind) in places.items()}


def kind_of(name: str) -> Any:
    """The model or paper of a name, loaded alone; None if there is no such name.

    >>> kind_of("own-taste").__name__
    'OwnTaste'
    """
    if name in MODELS:
        file, kind = MODELS[name].split(":")
        return getattr(import_module(f"discreet.models.{file}"), kind)
    papers = import_module("discreet.papers.names").PAPERS.values()
    return next((listed.kind() for listed in papers if listed.model == name), None)


def every_kind() -> dict[str, Any]:
    """Every name there is: the models', and those of the gallery of papers.

    >>> every_kind()["paper:hybrid-knn"].__name__
    'HybridKNN'
    """
    papers: dict[str, Any] = import_module("discreet.papers.names").kinds()
    return {**every_model(), **papers}
