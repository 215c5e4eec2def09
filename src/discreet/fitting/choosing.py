"""Which model to fit when nobody says which: a rule on public facts alone, with its reason in a sentence.

What the rule may look at is what its arguments are: about how many users take part, as far as that was announced, how
many items there are, on what terms, and whether the items have public features. It never sees a rating.

    reach below the least, and public features            OwnTaste, which asks for nothing
    otherwise, and without privacy                        Almanac, which plans by a first noisy look

    reach  =  users · epsilon                  with one server that adds noise once
              √users · epsilon                 where every device adds its own: of noise √users times as much is left

The number of users may be announced ten times too small: reach is that of ten times as many.
"""

import math
from dataclasses import dataclass

from discreet.data.catalogue import Catalogue
from discreet.data.features import item_features
from discreet.errors import require, require_type, require_whole
from discreet.models.almanac import Almanac
from discreet.models.almanac.planner import Purpose
from discreet.models.own_taste import OwnTaste
from discreet.populations.terms import Terms
from discreet.releases.contract import Model

# Almanac without privacy, too: on MovieLens 100K (20% held out, seeds 101 to 103) it has RMSE .895 and NDCG@100 .536,
# where the best for ratings alone (BayesianMF) has .898 and the best for ranking alone (ImplicitALS) .537. Without
# features it has .905 and .529. On MovieLens 1M (seed 101) it is .843 and .468, without features .846 and .460, where
# Cosine has .852 and .405.


@dataclass(frozen=True)
class _Constants:
    """The reach below which a publication predicts ratings no better than own taste alone.

    Found on users of MovieLens 100K who were drawn in groups of 20 to 700 (users divided with seed 177).
    """

    rating: float = 10.0
    """With the unit rating."""
    user: float = 100.0
    """With the unit user."""
    more_users: float = 10.0
    """There may be so many times more users than were announced. Nothing is published only where even then nothing
    could be seen: what a publication of noise costs, up to .02 RMSE and .03 NDCG@100, is less than what would be missed
    (MovieLens 100K and latest-small, MovieTweetings and synthetic ratings, splits with the seeds 1171 and 1172)."""


LEAST_REACH = _Constants()


def choose(users: int, items: int, terms: Terms, features: bool, purpose: Purpose = "both") -> tuple[Model, str]:
    """The model to fit, and why, in one sentence.

    Parameters
    ----------
    users
        About how many take part, as far as this is publicly known.
    items
        How many there are in the public catalogue.
    terms
        How much privacy is asked for, for whom, and who is trusted.
    features
        Whether the catalogue knows genres or years.
    purpose
        What the release is for.

    Examples
    --------
    >>> import discreet as dc
    >>> model, reason = choose(943, 1682, dc.Terms(epsilon=1.0, unit="user"), features=True)
    >>> type(model).__name__
    'Almanac'
    >>> type(choose(9, 1682, dc.Terms(epsilon=1.0, unit="user"), features=True)[0]).__name__
    'OwnTaste'
    >>> type(choose(943, 1682, dc.Terms(), features=True)[0]).__name__
    'Almanac'
    """
    require_whole("users", users, least=1)
    require_whole("items", items, least=1)
    require_type(terms, Terms, "terms must be Terms, for example Terms(epsilon=1.0)")
    require(isinstance(features, bool), f"features must be true or false, got {features!r}")
    if terms.epsilon is None:
        return Almanac(purpose=purpose), (
            "Without privacy Almanac, on exact sums, foresees ratings and ranks about as well as the best that were "
            "measured for either"
        )
    asked = f"epsilon {terms.epsilon:g} for every {terms.unit_name} and about {users:,} users"
    likely = users * LEAST_REACH.more_users
    reach = terms.epsilon * (math.sqrt(likely) if terms.trusted == "devices" else likely)
    hidden = reach < (LEAST_REACH.user if terms.unit_name == "user" else LEAST_REACH.rating)
    if hidden and features:
        return OwnTaste(), (
            f"With {asked} noise would hide what is published, so OwnTaste goes by one's own ratings and public "
            "features, asks for nothing, and spends nothing"
        )
    if hidden:
        return Almanac(purpose=purpose), (
            f"With {asked} noise hides most of what Almanac publishes, and without genres and years of the items "
            "there is little else to go by, so expect little of it"
        )
    known = "with genres or years of the items" if features else "without genres and years of the items"
    return Almanac(purpose=purpose), f"With {asked}, {known}, Almanac is the most accurate"


def choose_for(catalogue: Catalogue, users: int, terms: Terms, purpose: Purpose = "both") -> tuple[Model, str]:
    """What the rule chooses for these items."""
    if catalogue.prior is not None:
        reason = "With another release as a prior, Almanac makes the most of what is known"
        return Almanac(purpose=purpose), reason
    return choose(users, len(catalogue), terms, features=item_features(catalogue).shape[1] > 0, purpose=purpose)
