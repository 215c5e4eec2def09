"""Sums of ratings by what their users rated: private in every rating's value, and in nothing else.

**Which items a user rated is taken to be public here.** Then everything that is made of the pattern of ratings alone
costs nothing, and only values need noise. With w_i the row of the pattern of user i, scaled to length 1, and the first
d right singular vectors Q of all these rows,

    u_i  =  (a, b·w_iᵀQ),   a² + b² = 1          features of user i, of length at most 1, from the pattern alone
    G_j  =  Σ_i u_i u_iᵀ                         over the raters of item j: exact
    s_j  =  Σ_i u_i (r_ij − centre) + η_j        over the raters of item j: with noise

**Guarantee.** Neighbours differ in the value of one rating (p, q) and in nothing else, so u, G and Q are the same on
both, and s_q alone is moved, by u_p (r_pq − r'_pq): at most the width of the scale in L2. Noise of density
∝ exp(−ε‖η‖/width) on every s_j, rounded to a lattice (:mod:`discreet.privacy.noise_ball`), hides that with a pure ε,
and all items together cost no more, since one rating is of one item: the others have the same law on both, samplers
and all. ∎ It needs a ledger for ``Rating("replace")``:
every other unit is refused.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from discreet.data.catalogue import Catalogue
from discreet.data.ratings import Ratings
from discreet.errors import InputError, require_whole
from discreet.models.sums.item_statistics import expected_rating
from discreet.populations.mechanism import Allowance, check_ratios
from discreet.populations.population import InParts
from discreet.privacy.noise import grid_of
from discreet.privacy.noise_ball import add_balls
from discreet.privacy.randomness import Randomness
from discreet.privacy.spend import Spend
from discreet.privacy.unit import Rating
from discreet.types import AnyArray, Doubles

FLOAT_MARGIN = 2.0**-20
"""Sums of doubles round, so that neighbouring ones may differ by a little more than their bound."""
CONSTANT = 0.8
"""The a² above, where there are singular vectors beside the constant."""
ROUNDS, SEED = 8, 0
"""Of the subspace iteration that finds the singular vectors; its start is public."""


@dataclass(frozen=True, kw_only=True)
class ValueSums:
    """The mechanism, for :meth:`~discreet.TrustedServer.run`.

    Parameters
    ----------
    catalogue
        The public items, with the scale that bounds a value.
    factors
        The d above: how many singular vectors of the pattern are used; 0 for the constant alone.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> server = dc.TrustedServer(ratings, dc.Ledger(1.0, unit=dc.Rating("replace")))
    >>> drawn = server.run(ValueSums(catalogue=ratings.catalogue, factors=2))
    >>> drawn["sums"].shape, drawn["grams"].shape, drawn["directions"].shape
    ((30, 3), (30, 3, 3), (30, 2))
    """

    catalogue: Catalogue
    factors: int = 0
    name: str = "sums of the values of ratings, by which items their users rated"

    def __post_init__(self) -> None:
        require_whole("factors", self.factors, least=0)

    @property
    def _dimensions(self) -> int:
        return self.factors + 1

    @cached_property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """The noisy sums, and what is public: the Gram matrices and the singular vectors of the pattern."""
        size, d = len(self.catalogue), self._dimensions
        return {"sums": (size, d), "grams": (size, d, d), "directions": (size, self.factors)}

    def spend(self, allowed: Allowance) -> Spend:
        """All that is allowed, as a pure epsilon; refused for a unit that hides more than values."""
        if allowed.unit != Rating("replace"):
            raise InputError(
                f"{self.name!r} hides the value of a rating and takes for public which items a user rated: keep a "
                f"ledger for Rating('replace'), and not for {allowed.unit}"
            )
        moved, reach = self.catalogue.scale.width * (1 + FLOAT_MARGIN), math.sqrt(self._dimensions)
        grid = grid_of(moved / allowed.epsilon, reach)
        moved += reach * grid
        return Spend(
            what=self.name,
            mechanism="pure",
            norm="l2",
            sensitivity=moved,
            scale=moved / allowed.epsilon,
            rounding=reach * grid,
        )

    def deviation(self, spend: Spend) -> float:
        """Standard deviation of the noise on each cell: a length of Gamma(d + 1, scale), in d + 1 directions."""
        return spend.scale * math.sqrt(self._dimensions + 1)

    def draw(self, ratings: InParts, spend: Spend, randomness: Randomness) -> Mapping[str, AnyArray]:
        """The sums with noise, and what the pattern alone says without."""
        found = dict(self.exact(ratings))
        grid = spend.rounding / math.sqrt(self._dimensions)
        found["sums"] = add_balls(found["sums"], spend.scale, grid, randomness)
        return found

    def exact(self, ratings: InParts) -> Mapping[str, AnyArray]:
        """The same without noise."""
        whole = _whole(ratings)
        directions = pattern_directions(whole, self.factors)
        features = self._features(whole, directions)
        size, d = len(self.catalogue), self._dimensions
        scale = self.catalogue.scale  # whose ends floats may not hold exactly
        values = np.clip(whole.values.astype(np.float64), scale.low, scale.high) - expected_rating(scale)
        own = features[whole.user_index]
        sums = np.stack(
            [np.bincount(whole.item_index, weights=own[:, k] * values, minlength=size) for k in range(d)], axis=1
        )
        grams = np.empty((size, d, d))
        for k in range(d):
            for other in range(k, d):
                products = own[:, k] * own[:, other]
                grams[:, k, other] = np.bincount(whole.item_index, weights=products, minlength=size)
                grams[:, other, k] = grams[:, k, other]
        return {"sums": sums, "grams": grams, "directions": directions}

    def _features(self, ratings: Ratings, directions: Doubles) -> Doubles:
        if self.factors == 0:
            return np.ones((ratings.n_users, 1))
        placed = _pattern(ratings) @ directions
        lengths = np.linalg.norm(placed, axis=1, keepdims=True)
        placed = math.sqrt(1 - CONSTANT) * placed / np.maximum(lengths, 1)
        return np.concatenate([np.full((ratings.n_users, 1), math.sqrt(CONSTANT)), placed], axis=1) * (1 - 2.0**-40)

    def check(self, catalogue: Catalogue) -> None:
        """Compare the densities of what is drawn on all neighbours in a small universe."""
        allowed = Allowance(unit=Rating("replace"), epsilon=1.0)
        of_these = ValueSums(catalogue=catalogue, factors=min(self.factors, 1))
        points = np.random.default_rng(0).normal(0, 10, (40, len(catalogue), of_these._dimensions))

        def log_law(ratings: Ratings, spend: Spend) -> Doubles:
            found = of_these.exact(ratings)
            at = np.linalg.norm(points - found["sums"], axis=2).sum(axis=1)
            public = np.concatenate([found["grams"].ravel(), found["directions"].ravel()])
            return np.concatenate([-at / spend.scale, public])  # what is public must not move at all

        check_ratios(of_these, log_law, catalogue, allowed)


def pattern_directions(ratings: Ratings, count: int) -> Doubles:
    """The first right singular vectors of the rows of the pattern, items by ``count``; a function of the pattern."""
    size = ratings.n_items
    found = np.zeros((size, count))
    if count == 0:
        return found
    width = min(count + 4, size)
    basis = np.random.default_rng(SEED).normal(size=(size, width))
    pattern = _pattern(ratings)
    for _ in range(ROUNDS):
        basis, _ = np.linalg.qr(pattern.T @ (pattern @ basis))
    _, _, rotation = np.linalg.svd(pattern @ basis, full_matrices=False)
    turned = basis @ rotation.T
    found[:, : min(count, turned.shape[1])] = turned[:, :count]
    return found


def _pattern(ratings: Ratings) -> "sp.csr_array":
    """Which items each user rated, every row scaled to length 1."""
    lengths = np.sqrt(np.maximum(np.diff(ratings.indptr), 1))
    ones = 1 / lengths[ratings.user_index]
    shape = (ratings.n_users, ratings.n_items)
    return sp.csr_array((ones, ratings.item_index, ratings.indptr), shape=shape)


def _whole(ratings: InParts) -> Ratings:
    if not isinstance(ratings, Ratings):
        raise InputError("singular vectors of a pattern need all ratings in memory: load them at once")
    return ratings
