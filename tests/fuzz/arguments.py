# ruff: noqa: E501
"""Hostile arguments: every public function and class called with each of its arguments wrong, one at a time.

``cases(folder)`` yields (kind, name, what to call). The sound arguments of each door are in the tables below; a door
that is public and in no table is an error, so that none is forgotten.
"""

import inspect
import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import discreet as dc
from discreet.names import MODELS

from .outcome import Case

HOSTILE: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "text": lambda: "x",
    "empty text": lambda: "",
    "number as text": lambda: "3",
    "bytes": lambda: b"x",
    "True": lambda: True,
    "0": lambda: 0,
    "-1": lambda: -1,
    "1.5": lambda: 1.5,
    "nan": lambda: math.nan,
    "inf": lambda: math.inf,
    "-inf": lambda: -math.inf,
    "1e300": lambda: 1e300,
    "10**30": lambda: 10**30,
    "complex": lambda: 1j,
    "Decimal": lambda: Decimal("NaN"),
    "Fraction": lambda: Fraction(1, 3),
    "np.int8": lambda: np.int8(-3),
    "np.float32 nan": lambda: np.float32(np.nan),
    "list": lambda: [],
    "list of None": lambda: [None],
    "tuple": lambda: (1, 2, 3),
    "dict": lambda: {},
    "dict of None": lambda: {None: None},
    "set": lambda: {1},
    "array": lambda: np.zeros((2, 2)),
    "array of objects": lambda: np.array([None, "x"], dtype=object),
    "empty array": lambda: np.zeros(0),
    "array of nan": lambda: np.full(3, np.nan),
    "frame": lambda: pl.DataFrame({"a": [1]}),
    "object": object,
    "class": lambda: dc.Bias,
    "function": lambda: len,
    "range": lambda: range(5),
    "generator": lambda: (number for number in "ab"),
    "ratings": lambda: RATINGS,
    "history": lambda: RATINGS.history_at(0),
    "catalogue": lambda: RATINGS.catalogue,
    "model": dc.Bias,
    "unit": dc.Rating,
    "path with a zero byte": lambda: "a\0b",
}
LARGE = {"1e300", "10**30", "inf"}
RATINGS = dc.synthetic(users=12, items=15, ratings=90, seed=1)
TRAIN, TEST = RATINGS.split(test=0.3, seed=1)
Door = tuple[str, Callable[..., Any], dict[str, Any]]


def ledger() -> dc.Ledger:
    return dc.Ledger(epsilon=1.0, delta=1e-6, unit=dc.User(max_ratings=20))


def total(ratings: dc.Ratings) -> np.ndarray:
    return np.bincount(ratings.item_index, minlength=ratings.n_items).astype(float)


CONTRIBUTION = dc.Contribution(name="counts", shape=(15,), total=total, bounds=(dc.Bound("rating", "l1", 1.0),))


def doors(folder: Path) -> Iterator[Door]:
    """Name, what to call, and arguments that are sound."""
    catalogue, history = RATINGS.catalogue, RATINGS.history_at(0)
    release = dc.Bias().fit(dc.NoPrivacy(RATINGS))
    table = folder / "ratings.csv"
    RATINGS.to_frame().write_csv(table)
    own = folder / "own.csv"
    own.write_text(f"item,rating\n{catalogue.items[0]},5\n")
    frame = RATINGS.to_frame()
    yield "load", dc.load, {
        "data": table, "path": None, "scale": (1, 5), "user": "user", "item": "item", "rating": "rating", "time": None,
        "items": None, "items_public": False, "repeats": "keep",
    }  # fmt: skip
    yield "from_frame", dc.from_frame, {
        "frame": frame, "scale": (1, 5), "user": "user", "item": "item", "rating": "rating", "time": "time", "items": None,
        "items_public": False, "repeats": "keep",
    }  # fmt: skip
    yield (
        "synthetic",
        dc.synthetic,
        {"users": 5, "items": 8, "ratings": 20, "scale": dc.Scale(1, 5), "step": 1.0, "seed": 1},
    )
    yield "Scale", dc.Scale, {"low": 1, "high": 5}
    yield "Scale.parse", dc.Scale.parse, {"text": "1:5"}
    yield "Catalogue.of", dc.Catalogue.of, {
        "items": ["a", "b"], "scale": dc.Scale(1, 5), "titles": ["A", "B"], "genres": [["x"], []], "years": [1999, 0], "declared": True,
    }  # fmt: skip
    yield "Catalogue", dc.Catalogue, {
        "items": catalogue.items, "scale": catalogue.scale, "titles": catalogue.titles, "genres": catalogue.genres,
        "item_genres": np.array(catalogue.item_genres), "years": np.array(catalogue.years), "declared": True,
    }  # fmt: skip
    yield "Catalogue.find", catalogue.find, {"name": catalogue.items[0]}
    yield "Catalogue.require_same", catalogue.require_same, {"other": catalogue}
    yield "Labels", dc.data.Labels, {"names": ["a", "b"], "what": "item"}
    yield "Labels.of", dc.data.Labels.of, {"names": ["a", "b"], "what": "item"}
    yield "Labels.index", catalogue.items.index, {"name": catalogue.items[0]}
    yield "Labels.indices", catalogue.items.indices, {"names": [catalogue.items[0]]}
    yield "History.of", dc.History.of, {"catalogue": catalogue, "ratings": {catalogue.items[0]: 5}}
    yield "History.of_likes", dc.History.of_likes, {"catalogue": catalogue, "names": [catalogue.items[0]]}
    yield (
        "History",
        dc.History,
        {"catalogue": catalogue, "items": np.array([0], np.int32), "values": np.array([5], np.float32)},
    )
    yield "Ratings.of_columns", dc.Ratings.of_columns, {
        "catalogue": catalogue, "users": dc.data.Labels.of(["u", "v"]), "user_index": np.array([0, 1]), "item_index": np.array([0, 1]),
        "values": np.array([1.0, 2]), "times": np.array([1, 2]), "user_facts": {"age": np.array([1, 2])},
    }  # fmt: skip
    yield "Ratings.of_history", dc.Ratings.of_history, {"history": history}
    yield "Ratings.of_histories", dc.Ratings.of_histories, {"histories": [history]}
    yield "Ratings.from_reports", dc.Ratings.from_reports, {"folder": folder, "catalogue": catalogue}
    yield "Ratings.history", RATINGS.history, {"user": RATINGS.users[0]}
    yield "Ratings.history_at", RATINGS.history_at, {"position": 0}
    yield "Ratings.select", RATINGS.select, {"rows": np.ones(len(RATINGS), bool)}
    yield "Ratings.select_users", RATINGS.select_users, {"positions": np.array([0, 2])}
    yield "Ratings.with_users", RATINGS.with_users, {"names": list(RATINGS.users)}
    yield "Ratings.split", RATINGS.split, {"test": 0.2, "seed": 1}
    yield "Ratings.folds", lambda count, seed: list(RATINGS.folds(count, seed)), {"count": 3, "seed": 1}
    yield "Ratings.split_each_user", RATINGS.split_each_user, {"shares": (0.5, 0.5), "seed": 1}
    yield "Ratings.split_users", RATINGS.split_users, {"test": 3, "seed": 1}
    yield "Ratings.merge", RATINGS.merge, {"rule": "last"}
    yield "data.describe", dc.data.describe, {"ratings": RATINGS}
    yield "data.available", dc.data.available, {"path": None}
    yield "data.fetch", dc.data.fetch, {"name": "synthetic", "path": None}
    yield "data.read_history", dc.data.read_history, {"path": own, "catalogue": catalogue}
    yield "data.read_reports", dc.data.read_reports, {"folder": folder, "catalogue": catalogue, "form": None}
    yield "data.read_movielens_split", dc.data.read_movielens_split, {"path": folder, "name": "u1"}
    yield "data.read_netflix_probe", dc.data.read_netflix_probe, {"path": folder}
    yield "data.RatingsInParts", dc.data.RatingsInParts, {
        "data": [table], "scale": (1, 5), "user": "user", "item": "item", "rating": "rating", "time": None, "items": None,
        "items_public": False, "repeats": "keep",
    }  # fmt: skip
    yield (
        "data.Handling",
        dc.data.Handling,
        {"merged": None, "split": False, "selected": False, "users_listed": False, "nameless": False},
    )
    yield "Ledger", dc.Ledger, {"epsilon": 1.0, "delta": 1e-6, "unit": dc.Rating(), "levels": None}
    yield "Rating", dc.Rating, {"neighbours": "replace"}
    yield "User", dc.User, {"max_ratings": 10, "neighbours": "replace"}
    yield "Bound", dc.Bound, {"unit": "rating", "norm": "l1", "value": 1.0, "cells": 0, "replace": None}
    yield "Randomness", dc.Randomness, {"seed": 1}
    yield "privacy.Loss", dc.privacy.Loss, {"epsilon": 1.0, "delta": 0.0}
    yield "privacy.Loss.for_group", dc.privacy.Loss(1.0).for_group, {"size": 2}
    yield (
        "privacy.LevelLoss",
        dc.privacy.LevelLoss,
        {"name": "a", "weight": 0.5, "loss": dc.privacy.Loss(1.0), "rate": 1.0},
    )
    yield "privacy.Spend", dc.privacy.Spend, {
        "what": "a", "mechanism": "laplace", "norm": "l1", "sensitivity": 1.0, "scale": 1.0, "sampling_rate": 1.0, "times": 1,
        "slack": 0.0, "rounding": 0.0,
    }  # fmt: skip
    yield (
        "privacy.private_count",
        lambda **a: dc.privacy.private_count(**{"ledger": ledger(), **a}),
        {"count": 5, "share": 1.0, "per_unit": 1, "ledger": ledger(), "randomness": None},
    )
    yield "privacy.private_mean", lambda **a: dc.privacy.private_mean(**{"ledger": ledger(), **a}), {
        "values": np.array([1.0, 2]), "low": 1, "high": 5, "share": 1.0, "per_unit": 1, "ledger": ledger(), "randomness": None,
    }  # fmt: skip
    yield "privacy.private_quantile", lambda **a: dc.privacy.private_quantile(**{"ledger": ledger(), **a}), {
        "values": np.array([1.0, 2]), "quantile": 0.5, "grid": np.array([1.0, 2, 3]), "share": 1.0, "per_unit": 1, "ledger": ledger(),
    }  # fmt: skip
    yield "privacy.choose", lambda **a: dc.privacy.choose(**{"ledger": ledger(), **a}), {
        "candidates": ["a", "b"], "score": len, "sensitivity": 1.0, "share": 1.0, "ledger": ledger(), "randomness": None, "monotone": False,
    }  # fmt: skip
    yield (
        "Contribution",
        dc.Contribution,
        {"name": "a", "shape": (15,), "total": total, "bounds": (dc.Bound("rating", "l1", 1.0),), "noise": None},
    )
    yield "NoPrivacy", dc.NoPrivacy, {"ratings": RATINGS, "engine": "numba"}
    yield "NoPrivacy.sum", dc.NoPrivacy(RATINGS).sum, {"contribution": CONTRIBUTION, "share": 1.0}
    yield "TrustedServer", lambda **a: dc.TrustedServer(**{"ledger": ledger(), **a}), {
        "ratings": RATINGS, "ledger": ledger(), "noise": None, "randomness": None, "tuning": None, "key": None, "share": 1.0, "account": None,
    }  # fmt: skip
    yield (
        "TrustedServer.sum",
        lambda **a: dc.TrustedServer(RATINGS, dc.Ledger(1.0, unit=dc.Rating())).sum(**a),
        {"contribution": CONTRIBUTION, "share": 1.0},
    )
    yield (
        "LocalDevices",
        lambda **a: dc.LocalDevices(**a),
        {"ratings": RATINGS, "ledger": dc.Ledger(1.0, unit=dc.Rating())},
    )
    yield (
        "Terms",
        dc.Terms,
        {"epsilon": 1.0, "delta": 1e-6, "unit": "user", "trust": "server", "noise_seed": None, "engine": "numba"},
    )
    yield (
        "Wishes.of_users",
        dc.Wishes.of_users,
        {"wishes": {"1": 0.5}, "levels": {"strict": 0.5, "normal": 1.0}, "by": "weights"},
    )
    yield (
        "Wishes.of_ratings",
        dc.Wishes.of_ratings,
        {"wishes": {("1", "1"): 0.5}, "levels": {"strict": 0.5, "normal": 1.0}},
    )
    yield "Wishes.read", dc.Wishes.read, {"path": table, "column": "rating"}
    yield (
        "populations.Groups",
        dc.populations.Groups,
        {
            "conservative": 0.5,
            "moderate": 0.3,
            "epsilons": (0.1, 0.2, 1.0),
            "spread": 0,
            "of": "rating",
            "by": None,
            "seed": 0,
        },
    )
    yield (
        "populations.Steps",
        dc.populations.Steps,
        {"name": "a", "shape": (3,), "bounds": (dc.Bound("user", "l2", 1.0),), "count": 3, "sampling_rate": 0.5},
    )
    yield "Guarantee.none", dc.Guarantee.none, {"reason": "because"}
    yield "Budget", dc.Budget, {"url": folder / "budget.db"}
    budget = dc.Budget(folder / "budget.db")
    yield (
        "Budget.declare",
        lambda **a: budget.declare(**a),
        {"data": "mine", "epsilon": 1.0, "delta": 1e-6, "unit": dc.Rating()},
    )
    yield "Budget.knows", budget.knows, {"data": "mine"}
    yield "Budget.account", budget.account, {"data": "mine"}
    yield (
        "Budget.reserve",
        lambda **a: budget.reserve(**a),
        {"data": "mine", "plan": ledger(), "purpose": "a", "settings": "", "digest": None, "run_id": None},
    )
    yield "Release.score", release.score, {"history": history}
    yield "Release.scores", release.scores, {"histories": RATINGS}
    yield "Release.batches", lambda **a: list(release.batches(**a)), {"histories": RATINGS}
    yield "Release.predict", release.predict, {"histories": RATINGS, "users": np.array([0]), "items": np.array([0])}
    yield (
        "Release.predict_frame",
        release.predict_frame,
        {"histories": RATINGS, "pairs": frame, "user": "user", "item": "item"},
    )
    yield "Release.recommend", release.recommend, {"history": history, "k": 3, "explain": False}
    yield "Release.explain", release.explain, {"history": history, "item": catalogue.items[0]}
    yield "Release.recommend_many", release.recommend_many, {"histories": RATINGS, "k": 3}
    yield "Release.save", lambda **a: release.save(**a, replace=True), {"folder": folder / "release", "sign": None}
    release.save(folder / "saved", replace=True)
    yield "Release.load", dc.Release.load, {"folder": folder / "saved", "key": None, "model": None}
    yield (
        "releases.promised_to",
        dc.releases.promised_to,
        {"guarantee": release.guarantee, "history": history, "wishes": None},
    )
    yield "truncated", dc.truncated, {"release": dc.Cosine(neighbours=5).fit(dc.NoPrivacy(RATINGS)), "neighbours": 2}
    yield (
        "evaluate",
        dc.evaluate,
        {
            "release": release,
            "histories": TRAIN,
            "test": TEST,
            "mask": None,
            "metrics": ("rmse", "ndcg@5"),
            "account": None,
            "budget": None,
        },
    )
    yield (
        "compare",
        dc.compare,
        {
            "models": {"bias": dc.Bias()},
            "ratings": RATINGS,
            "protocol": dc.evaluation.HoldOut(test=0.2),
            "terms": dc.Terms(),
            "metrics": ("rmse",),
            "account": None,
            "budget": None,
        },
    )
    for name, own_arguments in (
        ("HoldOut", {"seed": 0, "repeats": 1, "test": 0.2}), ("Folds", {"count": 3, "seed": 0}), ("EachUser", {"seed": 0, "repeats": 1, "shares": (0.8, 0.2)}),
        ("HeldOutUsers", {"seed": 0, "repeats": 1, "test": 0.2, "history": 0.5}),
        ("PublishedRanking", {"held_out": 5, "above": 3.5, "at_least": 2, "seed": 1}), ("PublishedRatings", {"seed": 1}),
        ("Search", {"candidates": [dc.Bias(), dc.Popularity()], "metric": "rmse", "held_out": 0.1, "share": 0.05}),
    ):  # fmt: skip
        kind = getattr(dc.evaluation, name)
        yield f"evaluation.{name}", kind, own_arguments
        if hasattr(kind, "splits"):
            yield (
                f"evaluation.{name}.splits",
                lambda ratings, kind=kind, own_arguments=own_arguments: list(kind(**own_arguments).splits(ratings)),
                {"ratings": RATINGS},
            )
    for name, own_arguments in (
        ("UniformNoise", {"gamma": 1.0}), ("RandomisedResponse", {"epsilon": 1.0, "step": 1.0}), ("Piecewise", {"epsilon": 1.0}), ("HiddenItems", {"epsilon": 1.0, "step": 1.0}),
    ):  # fmt: skip
        kind = getattr(dc.collect, name)
        yield f"collect.{name}", kind, own_arguments
        yield (
            f"collect.{name}.perturb",
            kind(**own_arguments).perturb,
            {"history": history, "randomness": dc.Randomness()},
        )
    noise = dc.collect.UniformNoise(gamma=1.0)
    yield (
        "collect.perturb_ratings",
        dc.collect.perturb_ratings,
        {"mechanism": noise, "ratings": RATINGS, "randomness": dc.Randomness(1)},
    )
    yield (
        "collect.reconstruct",
        dc.collect.reconstruct,
        {"mechanism": noise, "reported": np.array([1.0, 2]), "prior": {1.0: 1, 2.0: 2}, "scale": dc.Scale(1, 5)},
    )
    yield (
        "collect.risk_of",
        dc.collect.risk_of,
        {"mechanism": noise, "prior": {1.0: 1, 2.0: 2}, "scale": dc.Scale(1, 5)},
    )
    yield "collect.sent_reports", dc.collect.sent_reports, {"history": own}
    yield (
        "collect.make_report",
        dc.collect.make_report,
        {
            "path": own,
            "mechanism": noise,
            "output": folder / "report.json",
            "scale": dc.Scale(1, 5),
            "items": None,
            "items_public": False,
            "again": True,
        },
    )
    yield (
        "audit.check_sensitivity",
        dc.audit.check_sensitivity,
        {
            "contribution": dc.Contribution(name="a", shape=(2,), total=total, bounds=(dc.Bound("rating", "l1", 1.0),)),
            "catalogue": dc.Catalogue.of(["a", "b"], dc.Scale(1, 5)),
            "values": (1.0, 5.0),
            "users": 2,
            "neighbours": "add-or-remove",
            "most": 50,
            "seed": 0,
        },
    )
    yield (
        "spend_and_release",
        dc.spend_and_release,
        {
            "model": dc.Bias(),
            "population": dc.NoPrivacy(RATINGS),
            "folder": folder / "paid",
            "budget": None,
            "data": None,
            "note": "",
            "run_id": None,
        },
    )


def models() -> Iterator[tuple[str, type[Any], dict[str, Any]]]:
    """Every model and its settings as they are by default."""
    kinds = {
        kind.__name__: kind
        for kind in (getattr(dc, name) for name in dc.__all__)
        if inspect.isclass(kind) and hasattr(kind, "fit")
    }
    kinds |= {name: getattr(dc.papers, name) for name in dc.papers.__all__ if inspect.isclass(getattr(dc.papers, name))}
    for name, kind in kinds.items():
        if name != "Search":
            yield name, kind, {own: parameter.default for own, parameter in inspect.signature(kind).parameters.items()}


def cases(folder: Path) -> Iterator[Case]:
    """Every door with every argument wrong in every way, without arguments, and with one too many."""
    for name, call, sound in doors(folder):
        known = _parameters(call)
        for argument in sound:
            for hostile, make in HOSTILE.items():
                if (
                    hostile in LARGE
                    and name.startswith(("synthetic", "Budget"))
                    and argument in ("users", "items", "ratings")
                ):
                    continue

                def run(
                    call: Any = call, sound: dict[str, Any] = sound, argument: str = argument, make: Any = make
                ) -> Any:
                    return call(**{**sound, argument: make()})

                if known is None or argument in known:
                    yield Case("arguments", f"{name}({argument}={hostile})", run)
    for name, kind, settings in models():
        for setting in settings:
            for hostile, make in HOSTILE.items():

                def run(kind: Any = kind, setting: str = setting, make: Any = make) -> Any:
                    return kind(**{setting: make()})

                yield Case("settings of models", f"{name}({setting}={hostile})", run)
        for hostile, make in HOSTILE.items():
            if hostile != "ratings" or not getattr(kind, "raw_ratings", False):
                yield Case("fits", f"{name}().fit({hostile})", lambda kind=kind, make=make: kind().fit(make()))
    assert MODELS


def _parameters(call: Callable[..., Any]) -> set[str] | None:
    """The names that a door takes; None where it takes any."""
    parameters = inspect.signature(call).parameters
    return None if any(one.kind == one.VAR_KEYWORD for one in parameters.values()) else set(parameters)


def unknown(folder: Path) -> list[str]:
    """Arguments in the tables that their door does not take: the tables are out of date."""
    return [
        f"{name}({argument})"
        for name, call, sound in doors(folder)
        if (known := _parameters(call)) is not None
        for argument in sound
        if argument not in known
    ]
