"""A third party's model: it declares no arrays, and is made of parts of ours, kernels among them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

import discreet as dc
from discreet.models.home import neighbourhood
from discreet.models.home.fold_in import fold_in, predict_pairs


@dataclass(frozen=True, kw_only=True)
class Neighbours:
    """Lists as Cosine has them, and factors that nobody declared."""

    neighbours: int = 5
    damping: float = 0.01
    user_damping: float = 10.0

    def fit(self, population: Any, progress: Any = None) -> dc.Release:
        found = dc.Cosine(neighbours=self.neighbours).fit(population)
        factors = np.linspace(0, 1, 3 * len(population.catalogue), dtype=np.float32).reshape(-1, 3)
        return dc.Release.of(self, population, {**found.arrays, "factors": factors})

    def prepare(self, release: dc.Release) -> Any:
        return neighbourhood.Neighbourhood.of(release, self.user_damping), release

    def score(self, prepared: Any, histories: Any) -> Any:
        return prepared[0].scores(histories)

    def explain(self, prepared: Any, history: Any, item: int) -> Any:
        return prepared[0].shares(history, item)

    def predict(self, prepared: Any, histories: Any, users: Any, items: Any) -> Any:
        lists, release = prepared
        factors = release.arrays["factors"]
        own = fold_in(histories, factors, lists.base, np.full(factors.shape[1], 0.1, dtype=np.float32))
        return predict_pairs(own, factors, lists.base, users, items) + neighbourhood.predict(
            self, lists, histories, users, items
        )
