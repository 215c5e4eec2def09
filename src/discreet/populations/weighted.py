"""Sums in which every user has the weight of their privacy level. Models need not know: they ask for a sum as ever."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from discreet.data.parts import RatingsInParts
from discreet.data.ratings import Ratings
from discreet.errors import InputError, require
from discreet.populations.contribution import Contribution
from discreet.populations.guarded import finite_total
from discreet.populations.population import InParts
from discreet.populations.some import some_users
from discreet.privacy.levels import Level
from discreet.types import AnyArray, Doubles


def weighted_total(contribution: Contribution, ratings: InParts | None, levels: Sequence[Level], fact: str) -> Doubles:
    """Σ over the levels of their weight times the total over their users.

    **Guarantee.** A user is in one level, of weight w, and is added to or removed from that level's total alone, which
    they move by at most the bound of the contribution: so they move the whole by w times the bound. ∎ The same holds
    for one of their ratings.
    """
    if not levels or ratings is None:
        return finite_total(contribution, ratings)
    assert isinstance(ratings, Ratings)
    chosen, total = _levels_of(ratings, fact), np.zeros(contribution.shape)
    for level in levels:
        total += level.weight * finite_total(contribution, some_users(ratings, chosen == level.name))
    return total


WEIGHT_FACT = "privacy weight"
"""Which fact about users says by what their privacy level multiplies all they contribute."""


def with_weights(ratings: Ratings | RatingsInParts, levels: Sequence[Level], fact: str) -> Ratings | RatingsInParts:
    """The ratings with everybody's weight as a fact, for mechanisms that keep to weights themselves."""
    if isinstance(ratings, RatingsInParts):
        return ratings
    if not levels:  # a fact of this name that came with the data is nobody's weight
        others = {name: column for name, column in ratings.user_facts.items() if name != WEIGHT_FACT}
        return replace(ratings, user_facts=others) if len(others) < len(ratings.user_facts) else ratings
    weights = {level.name: level.weight for level in levels}
    own = np.array([weights[name] for name in _levels_of(ratings, fact).tolist()])
    return replace(ratings, user_facts={**ratings.user_facts, WEIGHT_FACT: own})


def _levels_of(ratings: Ratings, fact: str) -> AnyArray:
    return np.asarray(ratings.user_facts[fact]).astype(np.str_)


def check_levels(ratings: Ratings | RatingsInParts, levels: Sequence[Level], fact: str) -> None:
    """Raise unless it is known of every user which of the levels they chose."""
    if not levels:
        return
    if isinstance(ratings, RatingsInParts):
        raise InputError("privacy levels are facts about users, which ratings in parts do not have: load them at once")
    require(
        fact in ratings.user_facts,
        f"the ledger offers privacy levels, and the ratings have no fact {fact!r} about users that says who chose "
        "which: add it to user_facts, or name another with level_fact=",
    )
    known = np.isin(_levels_of(ratings, fact), [level.name for level in levels])
    require(bool(known.all()), f"the fact {fact!r} of some user is no privacy level that the ledger offers")
