"""Predictions and recommendations for many users at once, as frames of polars."""

from typing import Any

import numpy as np
import polars as pl

from discreet.data.labels import Labels
from discreet.data.ratings import Ratings
from discreet.errors import InputError, UnknownNameError, require, require_whole
from discreet.processes import require_threads
from discreet.releases.contract import TorchRankingModel
from discreet.releases.many import best_by_torch, best_of_many
from discreet.releases.scorer import Scorer
from discreet.types import Booleans, Floats, Indices


def predict_frame(scorer: Scorer, histories: Ratings, pairs: Any, user: str, item: str) -> pl.DataFrame:
    """See :meth:`discreet.Release.predict_frame`."""
    scorer.check_histories(histories)
    wanted = f"pairs must be a frame with the columns {user!r} and {item!r}, got {type(pairs).__name__}"
    require(not isinstance(pairs, str), wanted)
    try:
        frame = pairs if isinstance(pairs, pl.DataFrame) else pl.DataFrame(pairs)
    except (TypeError, ValueError, pl.exceptions.PolarsError):
        raise InputError(wanted) from None
    require_threads("polars")
    users = _positions_of(frame, user, histories.users)
    items = _positions_of(frame, item, scorer.catalogue.items)
    return frame.with_columns(pl.Series("predicted", scorer.predict(histories, users, items)))


def recommend_many(
    scorer: Scorer, histories: Ratings, k: int, allowed: Booleans | None = None, engine: str = "numba"
) -> pl.DataFrame:
    """See :meth:`discreet.Release.recommend_many`."""
    require_threads("polars")
    require(engine in ("numba", "torch"), f"engine must be 'numba' or 'torch', got {engine!r}")
    require_whole("k", k, least=1)
    scorer.check_histories(histories)
    require(not histories.has_repeats, "some pairs are rated more than once: call ratings.merge('last') first")
    user_names = pl.Series("user", histories.users.names.tolist(), dtype=pl.String)
    item_names = pl.Series("item", scorer.catalogue.items.names.tolist(), dtype=pl.String)
    titles = pl.Series("title", scorer.catalogue.titles.tolist(), dtype=pl.String)

    def rows(first: int, best: Indices, scores: Floats) -> pl.DataFrame:
        user, place = np.nonzero(best >= 0)
        item = best[user, place]
        return pl.DataFrame(
            [
                user_names.gather(user + first),
                pl.Series("rank", (place + 1).astype(np.int32)),
                item_names.gather(item),
                titles.gather(item),
                pl.Series("score", scores[user, place].astype(np.float32)),
            ]
        )

    none = np.zeros((0, 1), dtype=np.float32)
    best = best_by_torch if engine == "torch" and isinstance(scorer.model, TorchRankingModel) else best_of_many
    return pl.concat(
        [rows(0, none.astype(np.int32), none), *(rows(*block) for block in best(scorer, histories, k, allowed))]
    )


def _positions_of(frame: pl.DataFrame, column: str, labels: Labels) -> Indices:
    """Positions of the names in a column; an unknown one is refused by its row, and an item also by its name."""
    if column not in frame.columns:
        raise UnknownNameError.among("column", column, frame.columns)
    named = frame[column]
    require(
        named.dtype.is_integer() or named.dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null),
        f"the column {column!r} must hold names, as text or whole numbers, not {named.dtype}",
    )
    names = named.cast(pl.String)
    known = pl.Series(labels.names.tolist(), dtype=pl.String)
    positions = pl.int_range(len(labels), dtype=pl.Int32, eager=True)
    found = names.replace_strict(known, positions, default=None, return_dtype=pl.Int32)
    missing = found.is_null()
    if missing.any():
        row = int(missing.to_numpy().argmax())
        where, name = f"row {row + 1} of the pairs", names[row]
        if name is None or labels.what == "user":  # who is there is nobody's business
            raise UnknownNameError(f"{where} names no {labels.what} that is known")
        raise UnknownNameError(f"{where}: {UnknownNameError.among(labels.what, name, labels)}")
    return found.to_numpy().astype(np.int32)
