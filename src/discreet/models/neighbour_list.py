"""Item-item neighbours in one shot: similarities from noisy sums over pairs of items, as short lists.

Two looks at the ratings, both bounded sums over users with noise of a known deviation: counts and sums of each item,
and products of pairs of the most rated items (:mod:`~discreet.models.denoise.item_lists`, which says how similarities
follow). Where noise would hide the pairs they are not asked for, and all of the budget buys item means.

A prediction is the user's own expectation plus the mean residual of the listed neighbours, weighted by similarity
(:mod:`~discreet.models.home.lists`).

**Guarantee.** The release is a function of the noisy sums and of public facts; both sums are booked, with the
sensitivities that :mod:`~discreet.models.sums.item_statistics` and :mod:`~discreet.models.sums.pair_sums` prove. What a
user computes at home from the release and their own ratings says nothing about anybody else.
"""

from dataclasses import dataclass

from discreet.errors import require_kinds
from discreet.models.denoise.item_lists import ListQueries, ask_for_lists, check_lists, list_width
from discreet.models.home import lists
from discreet.populations.asking import check_population
from discreet.populations.population import Population
from discreet.releases.release import Release
from discreet.types import Progress, no_progress


@dataclass(frozen=True, kw_only=True)
class NeighbourList:
    """A short list of similar items for every item, from sums over pairs of items that are asked for once.

    Parameters
    ----------
    neighbours
        How many items each item lists at most. None for 200, fewer with a small catalogue.
    floor
        Least sum of similarities to divide by: with few or far neighbours, predictions stay near the user's own
        expectation.
    factors
        At most so many patterns of ratings; with few data or much noise fewer stand out.
    items
        Among how many items pairs are asked for, the most rated. None for 800.
    features
        Whether genres and years of the catalogue are used: for item means, and in users' own expectations.
    audience
        About how many users take part, as far as this is publicly known: whether pairs stand out of the noise.
    pair_share
        How much of the budget pairs get, 0 for item means alone. None for half where they stand out of the noise.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=200, items=100, ratings=5000, seed=1)
    >>> release = dc.NeighbourList(neighbours=20).fit(dc.NoPrivacy(ratings))
    >>> release.arrays["neighbours"].shape, release.arrays["similarities"].shape
    ((100, 20), (100, 20))
    >>> ledger = dc.Ledger(epsilon=10.0, delta=1e-6)
    >>> release = dc.NeighbourList(pair_share=0.7).fit(dc.TrustedServer(ratings, ledger))
    >>> [spend.mechanism for spend in ledger.spends]
    ['gaussian', 'gaussian']
    """

    neighbours: int | None = None
    floor: float = 1.0
    factors: int = 30
    items: int | None = None
    features: bool = True
    audience: int = 1000
    pair_share: float | None = None

    def __post_init__(self) -> None:
        require_kinds(self)
        check_lists(self)

    def fit(self, population: Population, progress: Progress = no_progress) -> Release:
        """Ask for item sums and, unless noise would hide them, for pairs; and list the most similar items."""
        check_population(self, population)
        width = list_width(self.neighbours, len(population.catalogue))
        plan = ListQueries.of(population, self.audience, self.items, self.pair_share)
        found = ask_for_lists(plan, population, width, self.factors, self.features)
        progress(1, 1, "similar items")
        return Release.of(self, population, found.released(found.similarities))

    declared, prepare = lists.declared, lists.prepare
    predict, score, explain = lists.predict, lists.score, lists.explain
