"""From a question and a release that is ready to an answer: pure functions, which keep nothing."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.data.history import History
from discreet.data.ratings import Ratings
from discreet.releases.recommendations import best_items
from discreet.releases.similar import similarities
from discreet.service.asked import Predict, Recommend, RefusedError, WithHistory
from discreet.service.limits import Limits
from discreet.service.ready import Ready
from discreet.types import Booleans, Floats, Indices


def recommend(ready: Ready, asked: Recommend, limits: Limits) -> dict[str, Any]:
    """The same items, scores and reasons as :meth:`discreet.Release.recommend` gives."""
    require_k(asked.k, limits)
    history, ignored = history_of(ready, asked, limits)
    return {
        "items": _best(ready, history, asked.k, asked.exclude, asked.only, explain=asked.explain and ready.explains),
        "ignored": ignored,
        "release": ready.name,
    }


def similar(ready: Ready, name: str, k: int, limits: Limits) -> dict[str, Any]:
    """The same items as :meth:`discreet.Release.similar` gives."""
    require_k(k, limits)
    place = ready.names.find(name)
    if place is None:
        raise RefusedError(404, "there is no item of that name: GET /items?q=… finds names")
    scores = similarities(ready.scorer, place)[None, :]
    others = np.arange(len(ready.items)) != place
    return {"items": _listed(ready, scores, best_items(scores, [], k, others)[0]), "release": ready.name}


def predict(ready: Ready, asked: Predict, limits: Limits) -> dict[str, Any]:
    """The same ratings as :meth:`discreet.Release.predict` gives."""
    if not ready.scorer.predicts_ratings:
        raise RefusedError(422, f"{ready.model} ranks items and does not predict ratings: ask /recommend")
    if len(asked.items) > limits.history:
        raise RefusedError(422, f"items must be at most {limits.history:,} names")
    history, ignored = history_of(ready, asked, limits)
    known = _places(ready, asked.items)
    if -1 in known:
        raise RefusedError(
            422, f"entry {known.index(-1) + 1} of items is not in the catalogue: GET /items?q=… finds names"
        )
    items = np.array(known, dtype=np.int32)
    found = ready.scorer.predict(Ratings.of_history(history), np.zeros_like(items), items)
    return {
        "items": [
            {"item": ready.items[item], "title": ready.titles[item], "predicted": rating}
            for item, rating in zip(known, found.tolist(), strict=True)
        ],
        "ignored": ignored,
        "release": ready.name,
    }


def search(ready: Ready, words: str, limit: int, limits: Limits) -> dict[str, Any]:
    """Items whose titles hold the words; one that has exactly this identifier comes first."""
    if not 1 <= limit <= limits.k:
        raise RefusedError(422, f"limit must be a whole number from 1 to {limits.k}")
    found = ready.search.find(words[:200], limit)
    exact = ready.names.find(words)
    if exact is not None:
        found = [exact, *(place for place in found if place != exact)][:limit]
    catalogue = ready.catalogue
    return {
        "items": [
            {
                "item": ready.items[place],
                "title": ready.titles[place],
                "year": int(catalogue.years[place]),
                "genres": [catalogue.genres[column] for column in np.flatnonzero(catalogue.item_genres[place])],
            }
            for place in found
        ],
        "release": ready.name,
    }


def require_k(k: int, limits: Limits) -> None:
    """Refuse more items than a request may ask for."""
    if not 1 <= k <= limits.k:
        raise RefusedError(422, f"k must be a whole number from 1 to {limits.k}")


def history_of(ready: Ready, asked: WithHistory, limits: Limits) -> tuple[History, int]:
    """The history of a question, and how many of its items the release does not know."""
    given = asked.history
    if len(given) > limits.history:
        raise RefusedError(422, f"a history must have at most {limits.history:,} ratings")
    names = list(given)
    places = np.array(_places(ready, names), dtype=np.int32)
    high = ready.catalogue.scale.high
    values = np.array(list(given.values()) if isinstance(given, dict) else [high] * len(names), dtype=np.float32)
    known = places >= 0
    ignored = len(places) - int(known.sum())
    if ignored and not asked.ignore_unknown:
        raise RefusedError(
            422,
            f"entry {int(np.argmin(known)) + 1} of the history is not in the catalogue: GET /items?q=… finds names, "
            "and ignore_unknown leaves it out",
        )
    places, values = places[known], values[known]
    order = np.argsort(places, kind="stable")
    places, values = places[order], values[order]
    if len(places) > 1 and not bool((np.diff(places) > 0).all()):
        raise RefusedError(422, "the history names one item twice")
    return History(ready.catalogue, places, values, asked.facts), ignored


def _best(
    ready: Ready,
    history: History,
    k: int,
    exclude: Sequence[str] | None,
    only: Sequence[str] | None,
    *,
    explain: bool,
) -> list[dict[str, Any]]:
    """The best items as plain data. Names in ``exclude`` and ``only`` that the release does not know change nothing."""
    scorer, alone = ready.scorer, Ratings.of_history(history)
    scores = scorer.scores(alone)
    best = best_items(scores, [alone], k, _allowed(ready, exclude, only))[0]
    found = _listed(ready, scores, best)
    if explain:
        for one, because in zip(found, scorer.reasons(history, best[best >= 0]), strict=True):
            one["because"] = [{"item": why.item, "title": why.title, "share": why.share} for why in because]
    return found


def _listed(ready: Ready, scores: Floats, best: Indices) -> list[dict[str, Any]]:
    best = best[best >= 0]
    return [
        {"item": ready.items[item], "title": ready.titles[item], "score": score, "because": []}
        for item, score in zip(best.tolist(), scores[0, best].tolist(), strict=True)
    ]


def _allowed(ready: Ready, exclude: Sequence[str] | None, only: Sequence[str] | None) -> Booleans | None:
    if not exclude and only is None:
        return None
    allowed = np.full(len(ready.items), only is None)
    for names, may in ((only or (), True), (exclude or (), False)):
        allowed[[place for name in names for place in ready.names.all_of(name)]] = may
    return allowed


def _places(ready: Ready, names: Sequence[str]) -> list[int]:
    """Positions of items, −1 for those that the release does not know."""
    found = (ready.names.find(name) for name in names)
    return [-1 if place is None else place for place in found]
