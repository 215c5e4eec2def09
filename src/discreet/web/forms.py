"""How each model ranks and predicts on a device: as one of a few forms, with the arrays that it needs.

What a model prepared for any user (:class:`~discreet.releases.scorer.Scorer`) is written down as it is, so a device
computes what Python computes. A form has two parts, which are JSON in the header of the file:

    rank     logit, ratings, constant, neighbours, covariance, sums, weights, implicit, network
    rate     ridge, bias, beliefs, means, interpolation, or None for a model that only ranks

Each function below also returns the model prepared from the arrays as they are read back. In less than single
precision these are not the same, and by them the loss is measured in Python (:mod:`discreet.web.loss`).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from discreet.errors import InputError
from discreet.kernels.conditional_logit import tiles
from discreet.kernels.few_users import messages_of
from discreet.models import implicit_als
from discreet.models.almanac import ranking
from discreet.models.home.fold_in import FAINT_PENALTY, FoldIn, fixed, with_ones
from discreet.models.home.neighbourhood import Neighbourhood
from discreet.models.home.user_regression import UserRegression
from discreet.names import name_of
from discreet.releases.release import Release
from discreet.types import AnyArray, Floats
from discreet.web.file_format import FileArrays

Part = dict[str, Any]
BY_RATINGS: Part = {"kind": "ratings"}


@dataclass(frozen=True, kw_only=True)
class Form:
    """What a device does: how it ranks, how it predicts ratings, and the same prepared for Python."""

    rank: Part
    rate: Part | None
    prepared: Any


def form_of(release: Release, arrays: FileArrays) -> Form:
    """Write what a device needs into ``arrays``, and say how it is used."""
    name = name_of(type(release.model))
    if name not in FORMS:
        raise InputError(
            f"{type(release.model).__name__} cannot be exported to devices; these can: {', '.join(sorted(FORMS))}; "
            "nothing was written"
        )
    return FORMS[name](release, release.scorer().prepared, arrays)


# ── Parts that several models have ──


def _regression(found: UserRegression, arrays: FileArrays) -> tuple[Part, UserRegression]:
    kept = replace(
        found,
        base=arrays.vector("rate.base", found.base),
        rows=arrays.matrix("rate.design", found.rows),
        weights=arrays.vector("rate.weights", found.weights),
    )
    width = found.rows.shape[1]
    return {"kind": "ridge", "penalty": [float(found.residual_variance)] * width, "penalty_of_a_rating": None}, kept


def _fold_in(found: FoldIn, arrays: FileArrays) -> tuple[Part, FoldIn]:
    kept = replace(
        found,
        offsets=arrays.vector("rate.base", found.offsets),
        factors=arrays.matrix("rate.design", found.factors),
    )
    width = found.factors.shape[1]
    penalty = np.full(width, FAINT_PENALTY) if found.penalty is None else found.penalty
    part: Part = {
        "kind": "ridge",
        "penalty": [float(np.float32(each)) for each in penalty],
        "penalty_of_a_rating": [float(each) for each in found.penalty_of_a_rating],
    }
    return part, kept


def _ridge(found: FoldIn | UserRegression, arrays: FileArrays) -> tuple[Part, FoldIn | UserRegression]:
    return _regression(found, arrays) if isinstance(found, UserRegression) else _fold_in(found, arrays)


def _logit(found: ranking.ConditionalLogit, arrays: FileArrays) -> tuple[Part, ranking.ConditionalLogit]:
    who, size = found.interactions, len(found.interactions.share)
    columns = found.covariates.transpose(0, 2, 1).reshape(-1, len(found.precision))[:size]
    covariates = arrays.matrix("rank.covariates", columns, closely=True)
    arrays.vector("rank.precision", found.precision)
    arrays.vector("rank.share", who.share)
    constants = ranking.CONSTANTS
    part: Part = {
        "kind": "logit",
        "interaction_variance": constants.interaction_variance,
        "popularity_floor": ranking.CONSTANTS.popularity_floor,
        "part_of_weights": constants.part_of_weights,
        "newton_steps": constants.newton_steps,
    }
    inward, outward = who.inward, who.outward
    if len(who.strength):
        everyone = np.zeros((size, outward.shape[1]), dtype=np.float32)
        everyone[who.rows] = outward
        outward = arrays.matrix("rank.outward", everyone, closely=True)[who.rows]
        # Inward rows are outward rows, each times a number of its item.
        largest = np.abs(who.outward).argmax(axis=1)[:, None]
        above, below = (np.take_along_axis(side, largest, axis=1)[:, 0] for side in (who.inward, who.outward))
        scales = np.zeros(size, dtype=np.float32)
        scales[who.rows] = np.divide(above, below, out=np.zeros_like(above), where=below != 0)
        inward = outward * arrays.vector("rank.scales", scales)[who.rows, None]
        arrays.vector("rank.strength", who.strength)
    if who.neighbour_weights is not None:
        kept = _lists(who.neighbour_weights.neighbours, who.neighbour_weights.weights, arrays)[1]
        who = replace(who, neighbour_weights=replace(who.neighbour_weights, weights=kept))
    who = replace(who, inward=inward, outward=outward)
    return part, replace(found, interactions=who, covariates=fixed(tiles(covariates)))


def _lists(neighbours: AnyArray | None, similarities: Floats, arrays: FileArrays) -> tuple[AnyArray | None, Floats]:
    """Only what is not 0: how many each item lists, which, and how similar."""
    listed = similarities != 0
    arrays.whole("lists.lengths", np.count_nonzero(listed, axis=1))
    found = np.broadcast_to(np.arange(similarities.shape[1]), similarities.shape) if neighbours is None else neighbours
    arrays.whole("lists.items", found[listed])
    kept = np.zeros_like(similarities)
    kept[listed] = arrays.reduced("lists.similarities", similarities[listed])
    return neighbours, kept


def _neighbours(found: Neighbourhood, arrays: FileArrays) -> tuple[Part, Neighbourhood]:
    kept = replace(
        found,
        base=arrays.vector("rank.base", found.base),
        similarities=_lists(found.neighbours, found.similarities, arrays)[1],
        item_weights=arrays.vector("rank.weights", found.item_weights),
    )
    part: Part = {"kind": "neighbours", "user_damping": found.user_damping, "centre": "user", "positive": True}
    return part, kept


# ── The forms ──


def _almanac(release: Release, prepared: Any, arrays: FileArrays) -> Form:
    rank, ranking = _logit(prepared.ranking, arrays)
    rate, regression = _regression(prepared.regression, arrays)
    return Form(rank=rank, rate=rate, prepared=SimpleNamespace(ranking=ranking, regression=regression))


def _factors(release: Release, prepared: FoldIn | UserRegression, arrays: FileArrays) -> Form:
    rate, kept = _ridge(prepared, arrays)
    return Form(rank=BY_RATINGS, rate=rate, prepared=kept)


def _filtered(release: Release, prepared: Release, arrays: FileArrays) -> Form:
    known = release.arrays
    model: Any = release.model
    width = known["item_factors"].shape[1]
    none, penalty = np.zeros(width, np.float32), np.full(width, model.home_penalty, np.float32)
    base = np.asarray(known["mean"][0] + known["item_bias"], dtype=np.float32)
    rate, kept = _fold_in(FoldIn(known["item_factors"], base, none, penalty), arrays)
    return Form(rank=BY_RATINGS, rate=rate, prepared=_with(release, {"item_factors": kept.factors}))


def _beliefs(release: Release, prepared: Any, arrays: FileArrays) -> Form:
    known = release.arrays
    size = known["item_means"].shape[1]
    means = arrays.matrix("rate.means", known["item_means"])
    covariances = known["item_covariances"].copy()
    covariances[:, :-1] = arrays.matrix("rate.covariances", covariances[:, :-1])
    arrays.vector("rate.precision", prepared.precision)
    rate: Part = {"kind": "beliefs", "mean": prepared.mean, "unit": prepared.unit, "size": size}
    kept = replace(
        prepared,
        messages=messages_of(means, covariances),
        design=with_ones(means[:, :-1]),
        offsets=(prepared.mean + prepared.unit * means[:, -1]).astype(np.float32),
    )
    return Form(rank=BY_RATINGS, rate=rate, prepared=kept)


def _similar(release: Release, prepared: Neighbourhood, arrays: FileArrays) -> Form:
    rank, kept = _neighbours(prepared, arrays)
    damping = float(release.model.damping)  # type: ignore[attr-defined]
    rate = {"kind": "means", "over": "bias", "damping": damping, "user_damping": prepared.user_damping}
    return Form(rank=rank, rate=rate, prepared=kept)


def _listed(release: Release, prepared: Any, arrays: FileArrays) -> Form:
    rank, lists = _neighbours(prepared.lists, arrays)
    ridge, home = _regression(prepared.home, arrays)
    rate = {"kind": "means", "over": "ridge", "ridge": ridge, "floor": float(prepared.floor)}
    return Form(rank=rank, rate=rate, prepared=replace(prepared, lists=lists, home=home))


def _pnbm(release: Release, prepared: Any, arrays: FileArrays) -> Form:
    model: Any = release.model
    kept = replace(
        prepared,
        base=arrays.vector("rank.base", prepared.base),
        similarities=_lists(prepared.neighbours, prepared.similarities, arrays)[1],
        item_weights=arrays.vector("rank.weights", prepared.item_weights),
    )
    own: Part = {"user_damping": float(model.user_damping), "centre": model.centre}
    rank = {"kind": "neighbours", "positive": prepared.neighbours is not None, **own}
    rate = {"kind": "means", "over": "bias", "floor": float(model.floor), **own}
    return Form(rank=rank, rate=rate, prepared=kept)


def _covariance(release: Release, prepared: Any, arrays: FileArrays) -> Form:
    model: Any = release.model
    if model.form == "neighbours":
        rank, lists = _neighbours(prepared.neighbourhood, arrays)
        rate: Part = {"kind": "means", "over": "bias", "damping": model.damping, "nearest": model.k}
        kept = _with(release, {"similarities": lists.similarities})
        return Form(
            rank=rank, rate=rate | {"user_damping": model.user_damping}, prepared=replace(prepared, release=kept)
        )
    ridge, fold_in = _fold_in(prepared.fold_in, arrays)
    arrays.vector("rank.counts", release.arrays["counts"])
    rate = ridge
    if model.form == "interpolation":
        variance = float(fold_in.penalty[0]) if fold_in.penalty is not None else 0.0
        rate = {"kind": "interpolation", "ridge": ridge, "nearest": model.k, "residual_variance": variance}
        rate["user_damping"] = model.user_damping
    kept = _with(release, {"item_factors": fold_in.factors[:, :-1]})
    again = replace(prepared, release=kept)
    return Form(rank={"kind": "covariance", "ridge": ridge}, rate=rate, prepared=again)


def _bias(release: Release, prepared: Release, arrays: FileArrays) -> Form:
    arrays.vector("rate.base", release.arrays["mean"][0] + release.arrays["item_bias"])
    damping = float(release.model.user_damping)  # type: ignore[attr-defined]
    return Form(rank=BY_RATINGS, rate={"kind": "bias", "user_damping": damping}, prepared=prepared)


def _popularity(release: Release, prepared: Release, arrays: FileArrays) -> Form:
    arrays.vector("rank.scores", release.arrays["counts"])
    return Form(rank={"kind": "constant"}, rate=None, prepared=prepared)


def _ease(release: Release, prepared: Release, arrays: FileArrays) -> Form:
    weights = arrays.matrix("rank.weights", release.arrays["weights"], by_rows=True)
    return Form(rank={"kind": "weights"}, rate=None, prepared=_with(release, {"weights": weights}))


def _svd(release: Release, prepared: Release, arrays: FileArrays) -> Form:
    kept = _with(release, {"item_factors": arrays.matrix("rank.inputs", release.arrays["item_factors"])})
    return Form(rank={"kind": "sums", "outputs": "rank.inputs", "root": False}, rate=None, prepared=kept)


def _warp(release: Release, prepared: Release, arrays: FileArrays) -> Form:
    known = release.arrays
    arrays.vector("rank.bias", known["item_bias"])
    kept = {name: arrays.matrix(f"rank.{name}", known[name]) for name in ("inputs", "outputs")}
    rank: Part = {"kind": "sums", "outputs": "rank.outputs", "root": True}
    return Form(rank=rank, rate=None, prepared=_with(release, kept))


def _implicit(release: Release, prepared: Any, arrays: FileArrays) -> Form:
    model: Any = release.model
    factors = arrays.matrix("rank.factors", prepared.factors)
    arrays.vector("rank.spectrum", prepared.spectrum)
    rank: Part = {
        "kind": "implicit",
        "regularisation": float(model.regularisation),
        "unobserved_weight": float(model.unobserved_weight),
        "steps": implicit_als.STEPS,
    }
    return Form(rank=rank, rate=None, prepared=replace(prepared, factors=factors))


def _network(release: Release, prepared: Release, arrays: FileArrays) -> Form:
    kept = {}
    for name, values in release.arrays.items():
        put = arrays.matrix if values.ndim == 2 else arrays.vector
        kept[name] = put(f"rank.{name}", values)
    variational = name_of(type(release.model)) == "mult-vae" or bool(getattr(release.model, "variational", False))
    rank: Part = {"kind": "network", "variational": variational}
    return Form(rank=rank, rate=None, prepared=_with(release, kept))


def _with(release: Release, arrays: dict[str, AnyArray]) -> Release:
    return replace(release, arrays={**release.arrays, **arrays})


FORMS: dict[str, Callable[[Release, Any, FileArrays], Form]] = {
    "almanac": _almanac,
    "own-taste": _almanac,
    "popularity": _popularity,
    "bias": _bias,
    "cosine": _similar,
    "pearson": _similar,
    "pnbm": _pnbm,
    "noisy-pnbm": _listed,
    "langevin-pnbm": _listed,
    "neighbour-list": _listed,
    "covariance-knn": _covariance,
    "mf": _factors,
    "als": _factors,
    "pmf": _factors,
    "pattern-mf": _factors,
    "huber-mf": _factors,
    "filtered-mf": _filtered,
    "bayesian-mf": _beliefs,
    "svd": _svd,
    "warp": _warp,
    "ease": _ease,
    "implicit-als": _implicit,
    "mult-vae": _network,
    "private-vae": _network,
    "auto-encoder": _network,
}
"""The models that can be exported, by name."""
