"""Which ratings take part: bounds on how many each user contributes, and filters. What each costs is marked.

=====================  =============================================  ==========================================
what                   with the unit user                             with the unit rating
=====================  =============================================  ==========================================
a cap on each user     free: it goes by that user's own ratings       one rating more can push out another
a floor for each user  free, for the same reason                      one rating less can take all of that user's
items by popularity    not free: others' ratings decide, nothing      the same
                       is proven
=====================  =============================================  ==========================================

*Why caps and floors are free.* Both are functions of one user's own row (and of public constants). So two data sets
that differ in one user still differ in that user alone, and a user has no more ratings than before. ∎ An item's
popularity is a function of everybody's rows: one user more can bring back an item, and with it ratings of many others.
Ask for noisy counts instead (:func:`discreet.models.sums.item_statistics.item_counts`), and filter by those.

:class:`~discreet.data.handling.Handling` carries what was done, and populations read it.
"""

from dataclasses import replace

import numpy as np

from discreet.data.ratings import Ratings
from discreet.errors import require, require_seed, require_whole


def bound_users(ratings: Ratings, *, least: int = 1, most: int | None = None, seed: int = 0) -> Ratings:
    """At most ``most`` ratings of each user, and none of users who have fewer than ``least``.

    The latest are kept; without times, those of items that come first in an order of all items, drawn from ``seed``.
    Nobody leaves the list of users: who has too few ratings stays, without any.

    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> some = bound_users(ratings, least=5, most=10)
    >>> np.diff(some.indptr).max(), some.n_users, some.handling.most
    (np.int64(10), 50, 10)
    """
    require_whole("least", least, least=1)
    require(
        most is None or (isinstance(most, int | np.integer) and most >= least),
        f"most must be None or a whole number of at least {least}, as least is, got {most!r}",
    )
    require_seed(seed)
    sizes = np.diff(ratings.indptr)
    keep = (sizes >= least)[ratings.user_index]
    if most is not None:
        place = np.random.default_rng(seed).permutation(ratings.n_items)[ratings.item_index]
        late = place if ratings.times is None else -ratings.times.astype(np.int64)
        order = np.lexsort((place, late, ratings.user_index))
        rank = np.empty(len(ratings), dtype=np.int64)
        rank[order] = np.arange(len(ratings)) - ratings.indptr[ratings.user_index[order]]
        keep &= rank < most
    bounded = ratings.handling.bounded_by(least, most)
    return replace(ratings.select(keep), handling=replace(bounded, options=(*bounded.options, ("seed", str(seed)))))


def keep_popular_items(ratings: Ratings, *, least: int) -> Ratings:
    """Only ratings of items that at least ``least`` users rated. Nothing can be proven of what is learned from them.

    The catalogue stays as it is: which items are left is no public fact.

    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> some = keep_popular_items(ratings, least=20)
    >>> len(some) < len(ratings), some.n_items, some.handling.popular_items
    (True, 30, True)
    """
    require_whole("least", least, least=1)
    counts = np.bincount(ratings.item_index, minlength=ratings.n_items)
    kept = ratings.select((counts >= least)[ratings.item_index])
    return replace(kept, handling=ratings.handling.filtered_by_popularity())
