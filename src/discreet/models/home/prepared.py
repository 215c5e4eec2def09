"""What an almanac's predictions at home start from, each made when it is first asked for."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.kernels.gpu_logit import LogitOnDevice
from discreet.kernels.gpu_pairs import best_device
from discreet.models.home.conditional_logit import MOST_FLOOR, USUAL_FLOOR, ConditionalLogit, InteractionModel
from discreet.models.home.neighbour_weights import NeighbourWeights
from discreet.models.home.user_regression import UserRegression
from discreet.releases.release import Release
from discreet.types import Floats


@dataclass(frozen=True, eq=False)
class Prepared:
    """What does not depend on a user.

    Parameters
    ----------
    release
        The release.
    features
        The public ones of its items, for rankings.
    make_regression
        Makes that for ratings.
    """

    release: Release
    features: Floats
    make_regression: Callable[[], UserRegression]

    @cached_property
    def ranking(self) -> ConditionalLogit:
        """For rankings."""
        arrays, catalogue = self.release.arrays, self.release.catalogue
        liked = (arrays["item_bias"] * (4 / catalogue.scale.width)).astype(np.float32)
        known = arrays["counts"], arrays["taste_factors"], NeighbourWeights.of(arrays)
        floor = min(float(arrays["popularity_floor"][0]), MOST_FLOOR) if "popularity_floor" in arrays else USUAL_FLOOR
        # A coefficient that is held m times as tightly is one of a feature that is √m times as small.
        smaller = np.sqrt(arrays["feature_precision"][0]) if "feature_precision" in arrays else np.float32(1)
        return ConditionalLogit.of(InteractionModel.of(*known, floor), liked, self.features / smaller)

    @cached_property
    def ranking_by_torch(self) -> LogitOnDevice:
        """For rankings of very many users."""
        return self.ranking.on_device(best_device())

    @cached_property
    def regression(self) -> UserRegression:
        """For ratings."""
        return self.make_regression()
