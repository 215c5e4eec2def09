"""Recommendations for many users on a cluster: the release is sent to every executor, and no rating leaves it.

A release is small beside the ratings. It travels as the bytes of its saved folder and is loaded, and checked, once in
each worker. Users are dealt to parts by a hash, so a part has its share of them; of a user with very many ratings only
the latest count (``most``), and they are cut where the rows are first read: no task waits for one user.
"""

import hashlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.doors import checked_before
from discreet.errors import DiscreetError, require, require_whole
from discreet.releases.release import Release
from discreet.spark import running
from discreet.spark.blocks import cut
from discreet.spark.gathering import FAILED, Columns, Gathering, dealt_to
from discreet.spark.shared import Shared

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from discreet.data.gather import Repeats

MOST = 2000
"""Ratings of a user's history that count by default."""
AT_ONCE = 1 << 18
"""Ratings of the users who are served at once."""
SCHEMA = "user string, rank int, item string, title string, score float"


@checked_before
def recommend_frame(
    release: Release,
    histories: Any,
    k: int = 10,
    *,
    user: str = "user",
    item: str = "item",
    rating: str = "rating",
    time: str | None = None,
    repeats: "Repeats" = "keep",
    most: int = MOST,
    partitions: int | None = None,
) -> "DataFrame":
    """The ``k`` best new items of every user, as a data frame of Spark: ``.write.parquet(…)`` it, or go on.

    Parameters
    ----------
    release
        A model that was fitted.
    histories
        A data frame with what is known of the users, one row for each rating.
    k
        How many each.
    user, item, rating, time, repeats, partitions
        As for :func:`discreet.from_spark`.
    most
        Of a user with more ratings only so many count, the latest; the others may be recommended again.

    Returns
    -------
    pyspark.sql.DataFrame
        Columns user, rank (from 1), item, title and score, as :meth:`discreet.Release.recommend_many` has them.
    """
    frame = running.check_frame(histories)
    require_whole("k", k, least=1)
    require_whole("most", most, least=1)
    columns = Columns(user, item, rating, time)
    columns.check(frame)
    require(repeats in ("keep", "last", "mean", "recency"), "repeats must be 'keep', 'last', 'mean' or 'recency'")
    parts = partitions or running.parts_for(frame)
    sent = SentRelease.of(frame, release)
    gathering = Gathering(sent.catalogue, repeats, most)

    def recommend(frames: "Iterator[pl.DataFrame]") -> "Iterator[pa.RecordBatch]":
        ratings = gathering.ratings(frames)
        if ratings is None:
            return
        scorer = sent().scorer()
        for block in cut(ratings, AT_ONCE):
            table = scorer.recommend_many(block, k).to_arrow(compat_level=_oldest())
            yield from table.cast(_schema()).to_batches()

    return dealt_to(frame, columns, gathering, parts, safely(recommend), SCHEMA)


def safely(task: Any) -> Any:
    """A task whose errors say nothing of the ratings, in a job that somebody else starts."""

    def done(frames: "Iterator[pl.DataFrame]") -> "Iterator[pa.RecordBatch]":
        problem = FAILED
        try:
            yield from task(frames)
            return
        except DiscreetError as error:
            problem = str(error)
        except Exception:  # its words, and its place, may tell of the ratings
            pass
        raise RuntimeError(problem)  # outside of the handler, so that it carries no other error along

    return done


class SentRelease:
    """A release that every worker loads once."""

    def __init__(self, content: Shared, digest: str) -> None:
        self._content, self._digest = content, digest

    @classmethod
    def of(cls, frame: "DataFrame", release: Release) -> "SentRelease":
        """Send the files of a release."""
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "release"
            release.save(folder)
            content = {file.name: file.read_bytes() for file in sorted(folder.iterdir()) if file.is_file()}
        digest = hashlib.sha256(b"".join(content.values())).hexdigest()
        return cls(Shared.of(frame, (type(release.model), content)), digest)

    def __call__(self) -> Release:
        """The release, in a task."""
        if self._digest not in _LOADED:
            kind, content = self._content()
            with tempfile.TemporaryDirectory() as place:
                for name, part in content.items():
                    (Path(place) / name).write_bytes(part)
                own = kind.__module__.partition(".")[0] != "discreet"
                loaded = Release.load(place, model=kind if own else None)
            _LOADED.clear()  # a worker serves one release at a time
            _LOADED[self._digest] = loaded
        return _LOADED[self._digest]

    def catalogue(self) -> Any:
        """Its items."""
        return self().catalogue


_LOADED: dict[str, Release] = {}
"""In a worker: the release that was loaded last, by its digest."""


def _oldest() -> Any:
    import polars as pl

    return pl.CompatLevel.oldest()


def _schema() -> "pa.Schema":
    import pyarrow as pa

    kinds = {"string": pa.string(), "int": pa.int32(), "float": pa.float32()}
    return pa.schema([pa.field(name, kinds[kind]) for name, kind in (entry.split() for entry in SCHEMA.split(", "))])
