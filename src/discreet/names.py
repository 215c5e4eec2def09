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
    "noisy-pnbm": "noisy_pnbm:NoisyPNBM",
    "langevin-pnbm": "langevin_pnbm:LangevinPNBM",
    "neighbour-list": "neighbour_list:NeighbourList",
    "covariance-knn": "covariance_knn:CovarianceKNN",
    "mf": "mf:MF",
    "ease": "ease:EASE",
    "als": "als:ALS",
    "implicit-als": "implicit_als:ImplicitALS",
    "bayesian-mf": "bayesian_mf:BayesianMF",
    "pmf": "pmf:PMF",
    "svd": "svd:SVD",
    "warp": "warp:WARP",
    "mult-vae": "mult_vae:MultVAE",
    "private-vae": "private_vae:PrivateVAE",
    "auto-encoder": "auto_encoder:AutoEncoder",
    "pattern-mf": "pattern_mf:PatternMF",
    "huber-mf": "huber_mf:HuberMF",
    "filtered-mf": "filtered_mf:FilteredMF",
}
"""For each model its file in ``models/`` and its class."""
HOME = "discreet.models"


def every_model() -> dict[str, Any]:
    """The models by name.

    >>> every_model()["own-taste"].__name__
    'OwnTaste'
    """
    return {name: _load(place) for name, place in MODELS.items()}


def every_kind() -> dict[str, Any]:
    """Every name there is: the models', and those of the gallery of papers.

    >>> every_kind()["paper:hybrid-knn"].__name__
    'HybridKNN'
    """
    return {**every_model(), **_papers()}


def find_kind(name: str) -> Any:
    """The model of this name, or None if the table has none. Nothing else is ever imported, whatever the name says.

    >>> find_kind("bias").__name__, find_kind("os:system")
    ('Bias', None)
    """
    if name in MODELS:
        return _load(MODELS[name])
    return _papers().get(name) if name.startswith("paper:") else None


def name_of(kind: Any) -> str:
    """What a model is called: its name in the table, or else its module and class.

    >>> name_of(find_kind("bias"))
    'bias'
    """
    own = f"{kind.__module__}:{kind.__qualname__}"
    kinds = _papers() if own.startswith("discreet.papers.") else {}
    names = [name for name, place in MODELS.items() if f"{HOME}.{place}" == own] or kinds
    return next((name for name in names if find_kind(name) is kind), own)


def is_listed(kind: Any) -> bool:
    """Whether a model is one of Discreet's own.

    >>> is_listed(find_kind("bias")), is_listed(dict)
    (True, False)
    """
    return find_kind(name_of(kind)) is kind


def _load(place: str) -> Any:
    file, _, kind = place.partition(":")
    return getattr(import_module(f"{HOME}.{file}"), kind)


def _papers() -> dict[str, Any]:
    papers: dict[str, Any] = import_module("discreet.papers.names").kinds()
    return papers
