"""The one table of names: what the command line and saved releases call each model."""

from discreet.models.bias import Bias
from discreet.models.cosine import Cosine
from discreet.models.ease import EASE
from discreet.models.mf import MF
from discreet.models.pearson import Pearson
from discreet.models.popularity import Popularity

MODELS = {
    "bias": Bias,
    "popularity": Popularity,
    "cosine": Cosine,
    "pearson": Pearson,
    "mf": MF,
    "ease": EASE,
}
