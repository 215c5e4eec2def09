"""How far one changed rating moves the published gradient, beside the ΔF that its noise is made for.

Two kinds of pairs: ordinary users of the data, one of whose ratings goes to the other end of the scale; and a pair that
was constructed, with S and item means that the algorithm may meet (after the first step S has a positive density
everywhere, so a proof must cover every S).
"""

from dataclasses import replace

import numpy as np

from discreet.audit.canaries import users_of
from discreet.data.catalogue import Catalogue, Scale
from discreet.data.ratings import Ratings
from discreet.papers.neighbourhood import similarities as shared
from discreet.papers.neighbourhood.descent import DPSGDPNBM
from discreet.papers.neighbourhood.privacy import published_sensitivity
from discreet.papers.neighbourhood.sampling import DPPSPNBM, capped
from discreet.privacy.randomness import Randomness
from discreet.types import Floats

TRIED = 5
"""How many ratings of a user are changed, one at a time."""


def worst_pair(ratings_of_a_user: int, bound: float) -> tuple[Ratings, Ratings, Floats, Floats]:
    """One user whose first rating goes from 1 to 5, item means, and similarities with ``|S_i| I_u ≥ C``.

    Three quarters of the other items are rated 4 above their mean, the rest at their mean. The first item dominates
    every row but its own, where two opposite weights of C/2 stand.
    """
    n = ratings_of_a_user
    above = 1 + round(0.75 * (n - 1))
    rows = [(0, 1.0), *((item, 5.0 if item < above else 3.0) for item in range(1, n))]
    means = np.array([3.0, *(1.0 if item < above else 3.0 for item in range(1, n))], dtype=np.float32)
    near = np.full((n, n), 1e-4, dtype=np.float32)
    near[:, 0] = bound
    near[0, :] = 1e-4
    near[0, 1], near[0, 2] = bound / 2, -bound / 2
    np.fill_diagonal(near, 0)
    catalogue = Catalogue.of([str(item) for item in range(n)], Scale(1, 5))
    before, after = (users_of(catalogue, [[(0, value), *rows[1:]]]) for value in (1.0, 5.0))
    return before, after, means, near


def of_the_worst_pair(model: DPSGDPNBM, ratings_of_a_user: int) -> float:
    """L1 change of the first gradient for the constructed pair, in what the noise is made for.

    >>> round(of_the_worst_pair(DPSGDPNBM(), 20))
    147
    """
    before, after, means, near = worst_pair(ratings_of_a_user, model.bound)
    gradients = [model.gradient(side, means, near, 1) for side in (before, after)]
    return float(np.abs(gradients[1] - gradients[0]).sum()) / _calibrated(model, 4.0)


def of_a_user(model: DPSGDPNBM, ratings: Ratings, ratings_of_a_user: int, *, public_means: bool) -> float:
    """The largest L1 change by one of a few ratings of a user with about so many, in what the noise is made for.

    As published item means are those of the ratings, and move too; ``public_means`` keeps them.
    """
    user = int(np.argmin(np.abs(np.diff(ratings.indptr) - ratings_of_a_user)))
    first, last = int(ratings.indptr[user]), int(ratings.indptr[user + 1])
    scale = ratings.catalogue.scale
    means = shared.item_means(ratings)
    near = first_similarities(model, ratings)
    exact, found = model.gradient(ratings, means, near, 1), 0.0
    for place in np.linspace(first, last - 1, min(TRIED, last - first)).astype(int):
        values = ratings.values.copy()
        values[place] = scale.low if values[place] > (scale.low + scale.high) / 2 else scale.high
        changed = replace(ratings, values=values)
        moved = model.gradient(changed, means if public_means else shared.item_means(changed), near, 1)
        found = max(found, float(np.abs(moved - exact).sum()))
    return float(found / _calibrated(model, scale.width))


def of_a_removed_user(model: DPPSPNBM, ratings: Ratings, ratings_of_a_user: int) -> float:
    """How far a user with about so many ratings moves the first Langevin step, in deviations of its noise.

    Item means are kept, and of DPPS-PNBM to the letter at most τ of the user's ratings count.
    """
    user = int(np.argmin(np.abs(np.diff(ratings.indptr) - ratings_of_a_user)))
    own = ratings.select_users(np.array([user]))
    if not model.as_released_code:
        own = capped(own, model.cap, Randomness(0))
    means, near = shared.item_means(ratings), shared.start_of(model, ratings)
    shift = float(np.sqrt((model.gradient(own, means, near) ** 2).sum()))
    step = model.step_length(1)
    moved = shift * model.drift(len(ratings), ratings.catalogue.scale.width) * step
    return float(moved / np.sqrt(model.temperature * step))


def first_similarities(model: DPSGDPNBM, ratings: Ratings) -> Floats:
    """What the first step begins with."""
    near = shared.start_of(model, ratings) * np.float32(model.rescaling)
    if model.as_released_code:
        np.fill_diagonal(near, np.float32(model.rescaling) * shared.RANDOM / 2)
    return near


def _calibrated(model: DPSGDPNBM, width: float) -> float:
    made_for = published_sensitivity(1, width, model.bound)
    return float(made_for / np.sqrt(2)) if model.as_released_code else made_for
