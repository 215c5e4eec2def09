"""The same split through Discreet and its peers: one function for each, run by peers.py in a process of its own.

Every function takes the data and a stopwatch, does its work in named stages, and returns what came out: an accuracy,
and whatever else is worth a note. Peers are imported inside their functions; Discreet too, so that no process carries
what it does not use. Where a peer offers several ways to do the same, its quickest one we know is timed.
"""

import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

Outcome = dict[str, Any]

MF_SETTINGS = {"factors": 20, "epochs": 20, "rate": 0.01, "penalty": 0.02}
ALS_FACTORS, ALS_CONFIDENCE, ALS_PENALTY, ALS_SWEEPS = 64, 10.0, 0.01, 5


@dataclass(frozen=True)
class Part:
    """Ratings in columns, in random order (no peer shuffles by itself, and stochastic gradients want it)."""

    users: np.ndarray
    items: np.ndarray
    values: np.ndarray


@dataclass(frozen=True)
class Data:
    """A split, and for ALS the factors that a half-step starts from."""

    train: Part
    test: Part
    n_users: int
    n_items: int
    low: float
    high: float
    threads: int
    more: dict[str, np.ndarray]

    @classmethod
    def read(cls, path: Path, threads: int) -> "Data":
        with np.load(path) as saved:
            more = dict(saved)
        parts = [Part(*(more.pop(f"{part}_{column}") for column in COLUMNS)) for part in ("train", "test")]
        n_users, n_items, low, high = more.pop("facts").tolist()
        return cls(parts[0], parts[1], int(n_users), int(n_items), low, high, threads, more)

    def small(self) -> "Data":
        """A few users of it, to warm up on."""
        parts = [
            Part(*(column[part.users < 40] for column in (part.users, part.items, part.values)))
            for part in (self.train, self.test)
        ]
        return Data(parts[0], parts[1], self.n_users, self.n_items, self.low, self.high, self.threads, dict(self.more))

    def rmse(self, predicted: Any) -> float:
        """Of predictions for the test part; what lies outside the scale is brought back into it."""
        errors = np.clip(np.asarray(predicted, dtype=np.float64), self.low, self.high) - self.test.values
        return float(np.sqrt(np.mean(errors**2)))

    def ndcg(self, scores: np.ndarray, k: int = 100) -> float:
        """Mean over the users with something held out; what they rated in training is left out of the ranking."""
        scores = scores.copy()
        scores[self.train.users, self.train.items] = -np.inf
        best = np.argsort(-scores, axis=1)[:, :k]
        held_out = np.zeros(scores.shape, dtype=bool)
        held_out[self.test.users, self.test.items] = True
        discounts = 1 / np.log2(np.arange(2, k + 2))
        gains = (np.take_along_axis(held_out, best, axis=1) * discounts).sum(axis=1)
        counts = held_out.sum(axis=1)
        ideal = np.concatenate([[0], np.cumsum(discounts)])[np.minimum(counts, k)]
        return float(np.mean(gains[counts > 0] / ideal[counts > 0]))


COLUMNS = ("users", "items", "values")


class Stopwatch:
    """Seconds on the wall and on all cores together, of each stage, and the most memory held until its end."""

    def __init__(self) -> None:
        self.stages: dict[str, tuple[float, float]] = {}
        self.peak_mb: float | None = None

    @contextlib.contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        wall, cores = time.perf_counter(), time.process_time()
        yield
        self.stages[stage] = (time.perf_counter() - wall, time.process_time() - cores)
        self.peak_mb = memory_mb("VmHWM")


def memory_mb(kind: str) -> float | None:
    """What the process holds (VmRSS) or has held at most (VmHWM), where the system says so (Linux)."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith(f"{kind}:")), None)


# ── Discreet ──


def discreet_ratings(data: Data, part: Part) -> Any:
    import discreet as dc
    from discreet.data.labels import Labels

    catalogue = dc.Catalogue.of(
        [str(item) for item in range(data.n_items)], dc.Scale(data.low, data.high), declared=True
    )
    users = Labels.of([str(user) for user in range(data.n_users)], what="user")
    return dc.Ratings.of_columns(catalogue, users, part.users, part.items, part.values)


def discreet_model(data: Data, watch: Stopwatch, name: str, **settings: Any) -> Outcome:
    """Fit, and predict the test part. The ratings are new each time: nothing is left over from the last fit."""
    import discreet as dc
    from discreet.names import every_model

    model = every_model()[name](**settings)
    with watch("prepare"):
        train = discreet_ratings(data, data.train)
    with watch("fit"):
        release = model.fit(train if getattr(model, "raw_ratings", False) else dc.NoPrivacy(train))
    with watch("predict"):
        predicted = release.predict(train, data.test.users, data.test.items)
    return {"rmse": data.rmse(predicted), "epochs": settings.get("epochs"), "threads": data.threads}


def discreet_mf_kept(data: Data, watch: Stopwatch) -> Outcome:
    """The training of ``MF``, predicting by the users' side that training found, as the peers do.

    A release of Discreet holds no user; each solves for their own side at home. With settings that rely on stopping
    early instead of on a penalty, that solution fits the history too closely, so like is compared with like here.
    """
    from discreet.kernels.pairs import pair_products
    from discreet.kernels.sgd import sgd_epoch
    from discreet.models.mf import in_blocks

    factors, epochs, rate, penalty = MF_SETTINGS.values()
    with watch("prepare"):
        train = discreet_ratings(data, data.train)
    with watch("fit"):
        rng = np.random.default_rng(1)
        mean = np.float32(train.values.mean(dtype=np.float64))
        starts, users, items, values = in_blocks(train, rng)
        values -= mean
        user_factors = rng.normal(0, 0.01, (data.n_users, int(factors))).astype(np.float32)
        item_factors = rng.normal(0, 0.01, (data.n_items, int(factors))).astype(np.float32)
        user_bias, item_bias = np.zeros(data.n_users, np.float32), np.zeros(data.n_items, np.float32)
        grid = round(len(starts) ** 0.5)
        for _ in range(int(epochs)):
            sides = user_factors, item_factors, user_bias, item_bias
            sgd_epoch(starts, rng.permutation(grid), (users, items, values), sides, (rate, rate, penalty, penalty))
    with watch("predict"):
        u, i = data.test.users, data.test.items
        predicted = mean + user_bias[u] + item_bias[i] + pair_products(user_factors, item_factors, u, i)
    return {"rmse": data.rmse(predicted), "epochs": epochs, "threads": data.threads}


def discreet_als(data: Data, watch: Stopwatch, steps: int | None = None) -> Outcome:
    """Both half-steps of one sweep, exactly or by conjugate gradients, from factors that all libraries are given."""
    from discreet.kernels.als import half_step
    from discreet.kernels.ridge import solve_rows

    with watch("prepare"):
        train = discreet_ratings(data, data.train)
        by_item = train.by_item
    users, items = data.more["user_factors"], data.more["item_factors"]

    def half(indptr: np.ndarray, columns: np.ndarray, given: np.ndarray, start: np.ndarray) -> np.ndarray:
        rows, d = len(indptr) - 1, given.shape[1]
        if steps is not None:
            penalty = np.full(rows, ALS_PENALTY, np.float32)
            return half_step(indptr, columns, given, 1.0, penalty, ALS_CONFIDENCE - 1, ALS_CONFIDENCE, steps, start)
        base = given.T @ given + np.float32(ALS_PENALTY) * np.eye(d, dtype=np.float32)
        targets = np.full(len(columns), ALS_CONFIDENCE, np.float32)
        return solve_rows(indptr, columns, targets, given, base, ALS_CONFIDENCE - 1, np.zeros(d, np.float32))

    with watch("half-step of users"):
        solved_users = half(train.indptr, train.item_index, items, users)
    with watch("half-step of items"):
        solved_items = half(by_item.indptr, by_item.users, users, items)
    return {"off by": distance(data, solved_users, solved_items), "threads": data.threads}


def discreet_implicit_als(data: Data, watch: Stopwatch) -> Outcome:
    """The whole model, which asks a population for sums and so solves all items exactly."""
    import discreet as dc

    with watch("prepare"):
        train = discreet_ratings(data, data.train)
    model = dc.ImplicitALS(factors=ALS_FACTORS, sweeps=ALS_SWEEPS)
    with watch("fit"):
        release = model.fit(dc.NoPrivacy(train))
    with watch("predict"):
        scores = release.scores(train)
    return {"ndcg@100": data.ndcg(scores), "sweeps": ALS_SWEEPS, "threads": data.threads}


# ── scikit-surprise ──


def surprise_trainset(data: Data) -> Any:
    import pandas as pd
    from surprise import Dataset, Reader

    frame = pd.DataFrame({"u": data.train.users, "i": data.train.items, "r": data.train.values})
    return Dataset.load_from_df(frame, Reader(rating_scale=(data.low, data.high))).build_full_trainset()


def surprise_knn(data: Data, watch: Stopwatch, kind: str, similarity: str) -> Outcome:
    import surprise

    with watch("prepare"):
        trainset = surprise_trainset(data)
        pairs = list(zip(*(column.tolist() for column in vars(data.test).values()), strict=True))
    model = getattr(surprise, kind)(k=40, verbose=False, sim_options={"name": similarity, "user_based": False})
    with watch("fit"):
        model.fit(trainset)
    with watch("predict"):
        predicted = [prediction.est for prediction in model.test(pairs)]
    return {"rmse": data.rmse(predicted), "threads": 1}


def surprise_svd(data: Data, watch: Stopwatch) -> Outcome:
    import surprise

    factors, epochs, rate, penalty = MF_SETTINGS.values()
    with watch("prepare"):
        trainset = surprise_trainset(data)
        pairs = list(zip(*(column.tolist() for column in vars(data.test).values()), strict=True))
    model = surprise.SVD(n_factors=int(factors), n_epochs=int(epochs), lr_all=rate, reg_all=penalty, random_state=1)
    with watch("fit"):
        model.fit(trainset)
    with watch("predict"):
        predicted = [prediction.est for prediction in model.test(pairs)]
    return {"rmse": data.rmse(predicted), "epochs": epochs, "threads": 1}


# ── LensKit ──


def lenskit_knn(data: Data, watch: Stopwatch, neighbours: int, kept: int | None = None) -> Outcome:
    """Item neighbours. Calling the trained components user by user is quicker than ``batch.predict``; both are timed.

    ``batch.predict`` runs in this process: with worker processes it is slower still on these data, and the tried
    release (2025.8.1) fails there on a list with an item that training has not seen.
    """
    import pandas as pd
    from lenskit import batch
    from lenskit.data import ItemList, ItemListCollection, RecQuery, from_interactions_df
    from lenskit.knn import ItemKNNScorer
    from lenskit.pipeline import predict_pipeline

    logging.getLogger("lenskit").setLevel(logging.ERROR)
    train, test = data.train, data.test
    with watch("prepare"):
        frame = pd.DataFrame({"user_id": train.users, "item_id": train.items, "rating": train.values})
        dataset = from_interactions_df(frame)
    pipeline = predict_pipeline(ItemKNNScorer(k=neighbours, feedback="explicit", save_nbrs=kept))
    with watch("fit"):
        pipeline.train(dataset)
    with watch("predict"):
        score = pipeline.node("scorer").component
        fall_back = pipeline.node("fallback-predictor").component
        look_up = pipeline.node("history-lookup").component
        order = np.argsort(test.users, kind="stable")
        users, items = test.users[order], test.items[order]
        ends = np.flatnonzero(np.diff(users, append=-1)) + 1
        predicted = np.empty(len(users))
        for first, end in zip(np.concatenate([[0], ends[:-1]]), ends, strict=True):
            query, wanted = look_up(RecQuery(user_id=int(users[first]))), ItemList(item_ids=items[first:end])
            scores = score(query, wanted).scores()
            unknown = np.isnan(scores)
            if unknown.any():
                scores = np.where(unknown, fall_back(query, wanted).scores(), scores)
            predicted[first:end] = scores
        in_order = np.empty(len(users))
        in_order[order] = np.nan_to_num(predicted, nan=float(train.values.mean()))
    with watch("predict as documented"):
        frame = pd.DataFrame({"user_id": test.users, "item_id": test.items, "rating": test.values})
        batch.predict(pipeline, ItemListCollection.from_df(frame, ["user_id"]), n_jobs=1).to_df()
    return {"rmse": data.rmse(in_order), "threads": f"{data.threads} fit, 1 predict"}


# ── cornac ──


def cornac_mf(data: Data, watch: Stopwatch, threads: int) -> Outcome:
    """Predictions are read off the factors by numpy: quicker than ``rate``, which takes one pair at a time."""
    from collections import OrderedDict

    from cornac.data import Dataset
    from cornac.models import MF

    factors, epochs, rate, penalty = MF_SETTINGS.values()
    threads = min(threads, data.threads)
    with watch("prepare"):
        columns = (
            data.train.users.astype(np.int64),
            data.train.items.astype(np.int64),
            data.train.values.astype(float),
        )
        names = (OrderedDict((place, place) for place in range(count)) for count in (data.n_users, data.n_items))
        dataset = Dataset(data.n_users, data.n_items, *names, columns)
    rng = np.random.default_rng(1)  # cornac's own seed would force one thread; these are the starts it would draw
    start = {
        "U": rng.normal(0, 0.01, (data.n_users, int(factors))).astype(np.float32),
        "V": rng.normal(0, 0.01, (data.n_items, int(factors))).astype(np.float32),
    }
    model = MF(
        k=int(factors), max_iter=int(epochs), learning_rate=rate, lambda_reg=penalty, num_threads=threads,
        init_params=start, verbose=False,
    )  # fmt: skip
    with watch("fit"):
        model.fit(dataset)
    with watch("predict"):
        u, i = data.test.users, data.test.items
        products = np.einsum("nk,nk->n", model.u_factors[u], model.i_factors[i])
        predicted = model.global_mean + model.u_biases[u] + model.i_biases[i] + products
    return {"rmse": data.rmse(predicted), "epochs": epochs, "threads": threads}


# ── implicit ──


def implicit_matrix(data: Data) -> Any:
    import scipy.sparse as sp

    confidence = np.full(len(data.train.users), ALS_CONFIDENCE, np.float32)
    places = (data.train.users, data.train.items)
    return sp.csr_matrix((confidence, places), shape=(data.n_users, data.n_items))


def implicit_als(data: Data, watch: Stopwatch, exact: bool) -> Outcome:
    """Both half-steps of one sweep by the very call that ``fit`` makes, from the given factors."""
    from implicit.als import AlternatingLeastSquares

    with watch("prepare"):
        by_user = implicit_matrix(data)
        by_item = by_user.T.tocsr()
    model = AlternatingLeastSquares(factors=ALS_FACTORS, use_cg=not exact, num_threads=data.threads)
    users, items = data.more["user_factors"], data.more["item_factors"]
    solved_users, solved_items = users.copy(), items.copy()
    with watch("half-step of users"):
        model.solver(by_user, solved_users, items, ALS_PENALTY, num_threads=data.threads)
    with watch("half-step of items"):
        model.solver(by_item, solved_items, users, ALS_PENALTY, num_threads=data.threads)
    return {"off by": distance(data, solved_users, solved_items), "threads": data.threads}


def implicit_als_model(data: Data, watch: Stopwatch, exact: bool) -> Outcome:
    from implicit.als import AlternatingLeastSquares

    with watch("prepare"):
        by_user = implicit_matrix(data)
    model = AlternatingLeastSquares(
        factors=ALS_FACTORS, use_cg=not exact, num_threads=data.threads, iterations=ALS_SWEEPS, random_state=1
    )
    with watch("fit"):
        model.fit(by_user, show_progress=False)
    with watch("predict"):
        scores = model.user_factors @ model.item_factors.T
    return {"ndcg@100": data.ndcg(scores), "sweeps": ALS_SWEEPS, "threads": data.threads}


def distance(data: Data, users: np.ndarray, items: np.ndarray) -> float:
    """How far solved factors are from the exact solution, relative to its size; a sample of rows is compared."""
    gaps, sizes = 0.0, 0.0
    for side, solved in (("user", users), ("item", items)):
        exact = data.more[f"exact_{side}s"]
        gaps += float(np.sum((solved[data.more[f"sampled_{side}s"]] - exact) ** 2))
        sizes += float(np.sum(exact**2))
    return float(np.sqrt(gaps / sizes))


# ── Preparation ──


def prepare(name: str, path: Path) -> None:
    """Load and split the ratings and write them, with factors for ALS, where the other processes find them."""
    import discreet as dc

    ratings = dc.load(name)
    if ratings.has_repeats:
        ratings = ratings.merge("last")
    train, test = ratings.split(test=0.2, seed=1)
    rng = np.random.default_rng(1)
    saved: dict[str, Any] = {}
    for part, which in (("train", train), ("test", test)):
        order = rng.permutation(len(which))
        saved[f"{part}_users"], saved[f"{part}_items"] = which.user_index[order], which.item_index[order]
        saved[f"{part}_values"] = which.values[order]
    scale = ratings.catalogue.scale
    saved["facts"] = np.array([ratings.n_users, ratings.n_items, scale.low, scale.high])
    data = Data(
        *(Part(*(saved[f"{part}_{column}"] for column in COLUMNS)) for part in ("train", "test")),
        ratings.n_users, ratings.n_items, scale.low, scale.high, os.cpu_count() or 1, saved,
    )  # fmt: skip
    for side, count in (("user", ratings.n_users), ("item", ratings.n_items)):
        saved[f"{side}_factors"] = rng.normal(0, 0.01, (count, ALS_FACTORS)).astype(np.float32)
    # A few sweeps, so that the half-steps to be timed are those of the midst of a fit.
    for _ in range(2):
        for side in ("user", "item"):
            saved[f"{side}_factors"] = solve_exactly(data, side, np.arange(len(saved[f"{side}_factors"])), np.float32)
    for side, column in (("user", saved["train_users"]), ("item", saved["train_items"])):
        rated = np.unique(column)
        saved[f"sampled_{side}s"] = rows = np.sort(rng.choice(rated, size=min(300, len(rated)), replace=False))
        saved[f"exact_{side}s"] = solve_exactly(data, side, rows, np.float64)
    np.savez(path, **saved)


def solve_exactly(data: Data, side: str, rows: np.ndarray, precision: Any) -> np.ndarray:
    """The half-step of implicit ALS as its formula says, one row at a time: slow, and independent of all libraries."""
    mine, others = (data.train.users, data.train.items) if side == "user" else (data.train.items, data.train.users)
    given = data.more["item_factors" if side == "user" else "user_factors"].astype(precision)
    order = np.argsort(mine, kind="stable")
    bounds = np.searchsorted(mine[order], np.arange(mine.max() + 2))
    bounds = np.concatenate([bounds, np.full(len(rows), bounds[-1])])
    base = given.T @ given + ALS_PENALTY * np.eye(given.shape[1], dtype=precision)
    solved = np.zeros((len(rows), given.shape[1]), dtype=precision)
    for place, row in enumerate(rows):
        own = given[others[order[bounds[row] : bounds[row + 1]]]]
        matrix = base + (ALS_CONFIDENCE - 1) * (own.T @ own)
        solved[place] = np.linalg.solve(matrix, ALS_CONFIDENCE * own.sum(axis=0))
    return solved


# ── What is run: group, library, and how ──


@dataclass(frozen=True)
class Contender:
    """One configuration of one library."""

    group: str
    library: str
    name: str
    run: Callable[[Data, Stopwatch], Outcome]


def contenders(threads: int) -> list[Contender]:
    """Everything that is compared, in groups that do the same job."""
    equal = {
        "factors": MF_SETTINGS["factors"], "epochs": MF_SETTINGS["epochs"], "learning_rate": MF_SETTINGS["rate"],
        "decay": 1.0, "regularisation": MF_SETTINGS["penalty"],
    }  # fmt: skip
    several = sorted({1, threads})
    return [
        Contender("neighbours", "discreet", "cosine", partial(discreet_model, name="cosine")),
        Contender("neighbours", "discreet", "pearson", partial(discreet_model, name="pearson")),
        *(
            Contender("neighbours", "lenskit", f"ItemKNN {what}", partial(lenskit_knn, **settings))
            for what, settings in {
                "k=40": {"neighbours": 40},
                "k=20, 100 kept": {"neighbours": 20, "kept": 100},
            }.items()
        ),
        *(
            Contender("neighbours", "surprise", f"{kind} {like}", partial(surprise_knn, kind=kind, similarity=like))
            for kind, like in (
                ("KNNBaseline", "pearson_baseline"),
                ("KNNWithMeans", "cosine"),
                ("KNNWithMeans", "pearson"),
            )
        ),
        Contender("mf", "discreet", "mf, users kept", discreet_mf_kept),
        Contender("mf", "discreet", "mf, released", partial(discreet_model, name="mf", **equal)),
        Contender("mf", "discreet", "mf, its defaults", partial(discreet_model, name="mf", factors=20, epochs=60)),
        *(
            Contender("mf", "cornac", f"MF, {count} thread{'s' * (count > 1)}", partial(cornac_mf, threads=count))
            for count in several
        ),
        Contender("mf", "surprise", "SVD", surprise_svd),
        Contender("als", "discreet", "exact", discreet_als),
        *(
            Contender("als", "discreet", f"CG, {steps} steps", partial(discreet_als, steps=steps))
            for steps in (2, 3, 8)
        ),
        Contender("als", "implicit", "exact", partial(implicit_als, exact=True)),
        Contender("als", "implicit", "CG, 3 steps", partial(implicit_als, exact=False)),
        Contender("als model", "discreet", "implicit-als", discreet_implicit_als),
        Contender("als model", "implicit", "ALS, exact", partial(implicit_als_model, exact=True)),
        Contender("als model", "implicit", "ALS, CG", partial(implicit_als_model, exact=False)),
    ]
