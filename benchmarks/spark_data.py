"""Made-up ratings in one Parquet file, written in pieces: users with tastes, items of very different popularity."""

from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

ITEMS, EACH, FACTORS = 5000, 100, 8
AT_ONCE = 10_000
HELD_OUT = 0.02


def write_ratings(folder: Path, ratings: int, seed: int = 0) -> int:
    """``train.parquet``, ``test.parquet`` and ``items.csv`` with about so many ratings; how many users there are."""
    users = max(100, ratings // EACH)
    finished = folder / "items.csv"
    if finished.exists():  # written last, by an earlier run
        return users
    folder.mkdir(parents=True, exist_ok=True)
    public = np.random.default_rng(1)
    popularity = 1 / np.arange(10, ITEMS + 10) ** 0.8
    popularity /= popularity.sum()
    bias, factors = public.normal(0, 0.4, ITEMS), public.normal(0, 0.3, (ITEMS, FACTORS))
    schema = pa.schema([("user", pa.int64()), ("item", pa.int32()), ("rating", pa.float32())])
    with (
        pq.ParquetWriter(folder / "train.parquet", schema) as train,
        pq.ParquetWriter(folder / "test.parquet", schema) as test,
    ):
        for first in range(0, users, AT_ONCE):
            own = np.random.default_rng([seed, first])
            count = min(AT_ONCE, users - first)
            # One draw in nine is lost, as a user draws some items twice.
            lengths = np.maximum(5, own.gamma(2.0, EACH * 1.12 / 2, count)).astype(np.int64)
            user = np.repeat(np.arange(count), lengths)
            item = own.choice(ITEMS, size=len(user), p=popularity)
            pair = np.unique(user * ITEMS + item)
            user, item = pair // ITEMS, pair % ITEMS
            taste, level = own.normal(0, 1, (count, FACTORS)), own.normal(0, 0.4, count)
            expected = 3.5 + bias[item] + level[user] + np.einsum("ij,ij->i", taste[user], factors[item])
            rating = np.clip(np.rint(expected + own.normal(0, 0.7, len(pair))), 1, 5)
            columns = {"user": user + first, "item": item.astype(np.int32), "rating": rating.astype(np.float32)}
            held_out = own.random(len(pair)) < HELD_OUT
            for writer, kept in ((train, ~held_out), (test, held_out)):
                writer.write_table(pa.table({name: column[kept] for name, column in columns.items()}, schema=schema))
    pl.DataFrame({"item": np.arange(ITEMS)}).write_csv(finished)
    return users
