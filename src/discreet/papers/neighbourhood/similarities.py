"""What both learned neighbourhoods of the paper share: the prediction, item means, the start, and the neighbour size.

    r̂_ui = r̄_i + p_ui,    p_ui = Σ_j s_ij a_uj / Σ_j |s_ij|,    a_uj = r_uj − r̄_j          j over what u rated, not i

(eq. 2). Item means are exact; an item without ratings has the mean of all. The paper says of the first similarities
only that they are initialised, so there are three starts:

    constant    every similarity is 1: r̂ is the item's mean and the mean deviation of the user
    cosine      cosine of raw ratings, as in the paper's COS: computed from the ratings, and nobody pays for it
    random      uniform in ±0.1, made from a seed: what the released code does

and a fourth, the folder of a saved release whose similarities are taken on.
"""

from collections.abc import Collection
from pathlib import Path
from typing import Protocol

import numpy as np

from discreet.data.history import History
from discreet.data.ratings import Ratings
from discreet.errors import InputError, require, require_whole
from discreet.kernels import few_pairs
from discreet.kernels.compiling import chosen
from discreet.kernels.gram import gram_rows
from discreet.kernels.pnbm import learned_means
from discreet.releases.declared import Array
from discreet.releases.release import Release
from discreet.types import Doubles, Floats, Indices

STARTS = ("constant", "cosine", "random")
RANDOM = 0.1
"""Random similarities lie within ± this."""
PUBLISHED_NEIGHBOURS = 500
"""N_k of the paper; fewer where the catalogue is smaller."""
MOST_ITEMS = 10_000  # similarities and gradient of more items would take over 2 GB


class Learned(Protocol):
    """The settings that both have."""

    @property
    def start(self) -> str:
        """The first similarities."""
        ...

    @property
    def neighbours(self) -> int | None:
        """N_k."""
        ...

    @property
    def seed(self) -> int:
        """Of a random start."""
        ...


def check_settings(model: Learned) -> None:
    """Raise for a start or a neighbour size that cannot be."""
    require(
        isinstance(model.start, str) and model.start != "",
        f"start must be one of {', '.join(STARTS)} or the folder of a release, got {model.start!r}",
    )
    if model.neighbours is not None:
        require_whole("neighbours", model.neighbours, least=1)


def check_catalogue(model: Learned, size: int) -> None:
    """Raise for more neighbours than there are other items, and for more items than memory holds."""
    name = type(model).__name__
    if size > MOST_ITEMS:
        raise InputError(
            f"{name} holds a similarity for every pair of items and takes at most {MOST_ITEMS:,} items, "
            f"the catalogue lists {size:,}"
        )
    if model.neighbours is not None and model.neighbours > size - 1:
        raise InputError(
            f"{name} with neighbours={model.neighbours} needs as many other items, the catalogue lists {size}: "
            f"neighbours may be at most {size - 1}, or None"
        )


def item_means(ratings: Ratings) -> Floats:
    """Exact means of each item's ratings; that of all ratings for an item without, the middle of the scale without any.

    >>> import discreet as dc
    >>> item_means(dc.synthetic(users=50, items=30, ratings=600, seed=1)).shape
    (30,)
    """
    counts = np.bincount(ratings.item_index, minlength=ratings.n_items)
    sums = np.bincount(ratings.item_index, ratings.values, minlength=ratings.n_items)
    scale = ratings.catalogue.scale
    overall = float(ratings.values.mean(dtype=np.float64)) if len(ratings) else (scale.low + scale.high) / 2
    return np.where(counts > 0, sums / np.maximum(counts, 1), overall).astype(np.float32)


def start_of(model: Learned, ratings: Ratings) -> Floats:
    """The first similarities, items by items, 0 on the diagonal."""
    size = ratings.n_items
    if model.start == "constant":
        first = np.ones((size, size), dtype=np.float32)
    elif model.start == "cosine":
        first = cosines(ratings)
    elif model.start == "random":
        first = np.random.default_rng(model.seed).uniform(-RANDOM, RANDOM, (size, size)).astype(np.float32)
    else:
        first = _saved(model.start, ratings)
    np.fill_diagonal(first, 0)
    return first


def cosines(ratings: Ratings) -> Floats:
    """Cosine of the raw ratings of every two items: ``Σ_u r_ui r_uj / √(Σ_u r_ui² Σ_u r_uj²)``."""
    products = products_of_pairs(ratings)
    norms = np.sqrt(np.maximum(np.diag(products), 1e-12))
    return np.asarray(products / np.outer(norms, norms), dtype=np.float32)


def products_of_pairs(ratings: Ratings) -> Doubles:
    """``Σ_u r_ui r_uj`` of every two items."""
    columns = ratings.by_item
    by_item = columns.indptr, columns.users, columns.values
    by_user = ratings.indptr, ratings.item_index, ratings.values
    products: Doubles = gram_rows(0, ratings.n_items, by_item, by_user)[:, :, 0]
    return products


def _saved(start: str, ratings: Ratings) -> Floats:
    folder = Path(start)
    if not folder.is_dir():
        raise InputError(f"start must be one of {', '.join(STARTS)} or the folder of a release, got {start!r}")
    release = Release.load(folder)
    found = release.arrays.get("similarities")
    if found is None or found.ndim != 2 or found.shape[0] != found.shape[1]:
        raise InputError(
            f"the release in {start} has no similarity for every pair of items: start from one of a PNBM, or from "
            f"{', '.join(STARTS)}"
        )
    if release.catalogue.fingerprint != ratings.catalogue.fingerprint:
        raise InputError(
            f"the release in {start} is of another catalogue, of {len(release.catalogue):,} items: start from one that "
            f"was fitted on the same {ratings.n_items:,} items"
        )
    return np.array(found, dtype=np.float32)


def nearest_only(similarities: Floats, neighbours: int | None) -> Floats:
    """The largest similarities of each item, ties with the last one among them, and 0 for all others.

    >>> nearest_only(np.array([[0, 3, 1], [2, 0, -1], [1, 1, 0]], dtype=np.float32), 1).tolist()
    [[0.0, 3.0, 0.0], [2.0, 0.0, 0.0], [1.0, 1.0, 0.0]]
    """
    size = len(similarities)
    kept = min(PUBLISHED_NEIGHBOURS if neighbours is None else neighbours, size - 1)
    if kept >= size - 1:
        return similarities
    others = similarities.copy()
    np.fill_diagonal(others, -np.inf)  # an item is no neighbour of itself
    least = np.partition(others, size - kept, axis=1)[:, size - kept, None]
    return np.where((others >= least) & np.isfinite(others), similarities, np.float32(0))


# ── The methods of both: each takes them as its own ──


def declared(model: object, names: Collection[str]) -> tuple[Array, ...]:
    """The arrays of a release."""
    return (Array("item_mean", "float32", ("items",)), Array("similarities", "float32", ("items", "items")))


def predict(model: object, release: Release, histories: Ratings, users: Indices, items: Indices) -> Floats:
    """Eq. (2), over the item's neighbours that the user rated; the item's mean where there is none."""
    means = release.arrays["item_mean"]
    deviations = histories.values - means[histories.item_index]
    asked = users.copy(), items.copy(), histories.indptr, histories.item_index, deviations
    learned = chosen(histories.n_users, few_pairs.learned_means, learned_means)
    none = np.zeros(histories.n_users, dtype=np.float32)
    return np.asarray(means[items] + learned(asked, release.arrays["similarities"], 0.0, none), dtype=np.float32)


def score(model: object, release: Release, histories: Ratings) -> Floats:
    """Predicted ratings of all items."""
    size = len(release.catalogue)
    users = np.repeat(np.arange(histories.n_users, dtype=np.int32), size)
    items = np.tile(np.arange(size, dtype=np.int32), histories.n_users)
    return predict(model, release, histories, users, items).reshape(histories.n_users, size)


def explain(model: object, release: Release, history: History, item: int) -> Floats:
    """What each rating of the history adds to the prediction for ``item``."""
    row = np.where(history.items == item, 0, release.arrays["similarities"][item][history.items])
    deviations = history.values - release.arrays["item_mean"][history.items]
    below = float(np.abs(row).sum())
    return (row * deviations / below if below > 0 else 0 * deviations).astype(np.float32)
