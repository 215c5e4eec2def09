"""Items like an item, from a release alone: what liking the one says about the others.

    similarity_ij = score_j({i: highest rating}) − score_j({})

That is what the model itself makes of the item, whatever its kind: the similarity of a neighbour model, the product of
factors after folding in, the weight of EASE. What every user is shown anyway (popularity, averages) cancels. Where all
differences are equal the release knows no patterns, and public features take their place: the cosine of genres and
years.
"""

from typing import TYPE_CHECKING

import numpy as np

from discreet.data.features import item_features
from discreet.data.history import History
from discreet.errors import InputError, require_whole
from discreet.releases.recommendations import Recommendations, Suggestion, best_items
from discreet.types import Booleans, Floats

if TYPE_CHECKING:
    from discreet.releases.scorer import Scorer

FLAT = 1e-6
"""Differences that vary by less than this share of the scores are rounding."""


def similar_items(scorer: "Scorer", item: str, k: int, allowed: Booleans | None = None) -> Recommendations:
    """See :meth:`discreet.Release.similar`."""
    require_whole("k", k, least=1)
    catalogue = scorer.catalogue
    position = catalogue.find(item)
    scores = similarities(scorer, position)
    others = np.ones(len(catalogue), dtype=np.bool_) if allowed is None else allowed.copy()
    others[position] = False
    best = best_items(scores[None, :], [], k, others)[0]
    return Recommendations(
        [
            Suggestion(item=catalogue.items[int(place)], title=str(catalogue.titles[place]), score=float(scores[place]))
            for place in best[best >= 0]
        ]
    )


def similarities(scorer: "Scorer", position: int) -> Floats:
    """How much the item at a position speaks for each item."""
    catalogue = scorer.catalogue
    alone = History(catalogue, np.array([position], dtype=np.int32), np.array([catalogue.scale.high], dtype=np.float32))
    nobody = History(catalogue, np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32))
    liked, usual = scorer.score(alone), scorer.score(nobody)
    others = np.arange(len(catalogue)) != position
    found = np.where(np.isfinite(usual), liked - usual, liked)
    spread = float(np.ptp(found[others])) if others.any() else 0.0
    if spread > FLAT * max(1.0, float(np.abs(liked).max())):
        return np.asarray(found, dtype=np.float32)
    return _by_features(scorer, position)


def _by_features(scorer: "Scorer", position: int) -> Floats:
    features = item_features(scorer.catalogue)
    own = features[position]
    if features.shape[1] == 0 or not own.any():
        raise InputError(
            "this release knows no more than averages, and the item has no genre and no year: nothing says what is "
            "like it"
        )
    lengths = np.linalg.norm(features, axis=1) * np.linalg.norm(own)
    return np.asarray(features @ own / np.maximum(lengths, 1e-9), dtype=np.float32)
