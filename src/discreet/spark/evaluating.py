"""How good a release is, measured on a cluster: the numbers that one machine would give.

The histories and what was held out of each user meet in one task, which measures that task's users with the functions
of :mod:`discreet.evaluation`. What goes to the driver is five sums for each metric: enough for the mean, which is a
ratio of sums over users, and for its confidence interval.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.data.labels import Labels
from discreet.data.ratings import Ratings
from discreet.doors import checked_before
from discreet.errors import DataError, DiscreetError, InputError, require
from discreet.evaluation.measuring import ranks_of_users
from discreet.evaluation.metric_names import check_metrics, is_ranking
from discreet.evaluation.metrics import error_sizes, error_terms
from discreet.evaluation.results import NORMAL_95, Estimate
from discreet.releases.release import Release
from discreet.releases.tuning import look_of
from discreet.spark import running
from discreet.spark.blocks import cut, to_batch
from discreet.spark.gathering import FAILED, FRAME, Columns, Gathering, dealt_to
from discreet.spark.recommending import AT_ONCE, SentRelease
from discreet.types import AnyArray, Doubles

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

SCHEMA = "part int, problem string, sums binary"
SUMS = 6
"""For each metric: users, Σ sums, Σ weights, Σ sums², Σ sums·weights, Σ weights²."""


@checked_before
def evaluate_frames(
    release: Release,
    histories: Any,
    test: Any,
    metrics: Sequence[str] = ("rmse", "ndcg@10"),
    *,
    user: str = "user",
    item: str = "item",
    rating: str = "rating",
    partitions: int | None = None,
) -> dict[str, Estimate]:
    """Predict what was held out, from the users' histories, both in data frames of Spark.

    Parameters
    ----------
    release
        A model that was fitted on something else than ``test``.
    histories, test
        What the model sees of the users, and what it must foresee: one row for each rating.
    metrics
        Their names, as for :func:`discreet.evaluate`.
    user, item, rating, partitions
        As for :func:`discreet.from_spark`, in both.

    Returns
    -------
    dict
        An estimate for each metric, with its 95 % interval over users.
    """
    names = list(check_metrics(metrics))
    require(
        release.predicts_ratings or all(map(is_ranking, names)),
        f"{type(release.model).__name__} only ranks: ask for ndcg@k or recall@k",
    )
    of_all = [name for name in names if name.startswith(("coverage", "novelty"))]
    require(not of_all, f"{', '.join(of_all)}: this is about all users at once, and a cluster takes them in parts")
    columns = Columns(user, item, rating, held_out="held_out")
    frames = [running.check_frame(frame) for frame in (histories, test)]
    for frame in frames:
        Columns(user, item, rating).check(frame)
    functions = running.functions()
    taken = [
        frame.select(user, item, rating).withColumn("held_out", functions.lit(held_out))
        for frame, held_out in zip(frames, (False, True), strict=True)
    ]
    release.log.add(look_of("evaluate", [release.model], release.reading))
    parts = partitions or running.parts_for(frames[0])
    sent = SentRelease.of(frames[0], release)
    gathering = Gathering(sent.catalogue)

    def measured(rows: "Iterator[pl.DataFrame]") -> "Iterator[pa.RecordBatch]":
        part, problem, sums = running.part_of_task(), FAILED, np.zeros((len(names), SUMS))
        try:
            for known, held_out in _pairs(gathering, rows):
                sums += _sums(sent(), known, held_out, names)
            problem = ""
        except DiscreetError as error:
            problem = str(error)
        except Exception:  # its words, and its place, may tell of the ratings
            pass
        yield to_batch([{"part": part, "problem": problem or None, "sums": sums.tobytes()}], SCHEMA)

    both = taken[0].unionByName(taken[1])
    table = running.collected(dealt_to(both, columns, gathering, parts, measured, SCHEMA)).to_pylist()
    for row in table:
        if row["problem"]:
            raise DataError(row["problem"])
    found = [np.frombuffer(row["sums"]).reshape(len(names), SUMS) for row in sorted(table, key=lambda row: row["part"])]
    total = np.array([[math.fsum(one[m, s] for one in found) for s in range(SUMS)] for m in range(len(names))])
    require(bool((total[:, 0] > 0).all()), "there is nothing to test on: no rating was held out")
    return {name: _estimate(total[place], root=name == "rmse") for place, name in enumerate(names)}


def _pairs(gathering: Gathering, rows: "Iterator[pl.DataFrame]") -> Iterator[tuple[Ratings, Ratings]]:
    """Histories and held-out ratings of the same users, a bounded number at a time; only those who have some."""
    import polars as pl

    every = list(rows)
    if not every:
        return
    frame = pl.concat(every, how="vertical_relaxed")
    frame = frame.join(frame.filter("held_out").select("user").unique(), on="user", how="semi")
    if frame.height == 0:
        return
    # A pair in both is the caller's mistake, which rankings refuse; for the error it is as on one machine.
    known, held_out = (
        gathering.ratings(iter([frame.filter(pl.col("held_out") == which).drop("held_out")])) for which in (False, True)
    )
    assert held_out is not None
    known = _for_users(known, held_out)
    for some in cut(held_out, AT_ONCE):
        first = held_out.users.index(some.users[0])
        yield known._user_block(first, first + some.n_users), some


def _for_users(known: Ratings | None, held_out: Ratings) -> Ratings:
    """Histories in the order of the users of what was held out; empty for whoever has none."""
    if known is None:
        nobody = np.zeros(0, dtype=np.int32)
        return replace(held_out, user_index=nobody, item_index=nobody, values=np.zeros(0, dtype=np.float32), times=None)
    return known.with_users(Labels(held_out.users.names, what="user"))


def _sums(release: Release, known: Ratings, held_out: Ratings, names: Sequence[str]) -> Doubles:
    found = np.zeros((len(names), SUMS))
    on_ratings = [name for name in names if not is_ranking(name)]
    on_ranks = [name for name in names if is_ranking(name)]
    counts = np.diff(held_out.indptr).astype(np.float64)
    values: dict[str, tuple[AnyArray, AnyArray]] = {}
    if on_ratings:
        sizes = error_sizes(release.predict(known, held_out.user_index, held_out.item_index), held_out.values)
        if np.isnan(sizes).any():
            raise DataError(f"{type(release.model).__name__} predicted a rating that is not a number")
        for name in on_ratings:
            terms = error_terms(name, sizes)
            values[name] = np.bincount(held_out.user_index, weights=terms, minlength=held_out.n_users), counts
    if on_ranks:
        _refuse_overlap(known, held_out)
        ranks = ranks_of_users(release, known, held_out, None, on_ranks)
        values |= {name: (found_of, np.ones(len(found_of))) for name, found_of in ranks.items()}
    for place, name in enumerate(names):
        own, weights = values[name]
        found[place] = (
            len(own),
            own.sum(),
            weights.sum(),
            (own**2).sum(),
            (own * weights).sum(),
            (weights**2).sum(),
        )
    return found


def _refuse_overlap(known: Ratings, held_out: Ratings) -> None:
    one, other = (part.user_index.astype(np.int64) * part.n_items + part.item_index for part in (known, held_out))
    if np.isin(one, other).any():
        raise InputError(f"some held-out ratings are also in the histories of {FRAME}, whose items no ranking may hold")


def _estimate(sums: Doubles, *, root: bool) -> Estimate:
    """The mean and its interval as :meth:`Estimate.over_users` has them, from sums over users."""
    users, own, weights, squares, products, of_weights = (float(number) for number in sums)
    mean = own / weights
    if users == 1:
        mean = math.sqrt(mean) if root else mean
        return Estimate(mean, None, None, (mean,))
    spread = max(0.0, squares - 2 * mean * products + mean**2 * of_weights)
    half = NORMAL_95 * math.sqrt(spread * users / (users - 1)) / weights
    low, high = max(0.0, mean - half), mean + half
    if root:
        mean, low, high = math.sqrt(mean), math.sqrt(low), math.sqrt(high)
    return Estimate(mean, low, high, (mean,))
