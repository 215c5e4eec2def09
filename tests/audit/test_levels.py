"""Canaries at two privacy levels: each level shows its own epsilon, and no more."""

import math

import numpy as np
import pytest

import discreet as dc
from discreet.audit.bounds import clopper_pearson
from discreet.models.sums.item_statistics import item_counts

LEVELS = {"strict": 0.5, "lax": 2.0}
RUNS = 2000
"""So many that the lax level shows less than it has to once in ten million times; with 1,500, once in 10,000."""
RISK = 1e-5
"""Of each bound, of which every test has two: no test fails by chance more often than once in 50,000 times."""

OTHERS = dc.synthetic(users=10, items=6, ratings=30, seed=1)
RARE = 0
"""An item that nobody rated but the canary."""


def data(present: bool) -> dc.Ratings:
    frame = OTHERS.to_frame()
    kept = frame.filter(frame["item"] != OTHERS.catalogue.items[RARE]).select("user", "item", "rating")
    import polars as pl

    items = pl.DataFrame({"item": OTHERS.catalogue.items.names.tolist()})
    own = [OTHERS.catalogue.items[RARE if present else 1]]
    canary = pl.DataFrame({"user": ["~"], "item": own, "rating": [5.0]}, schema=kept.schema)
    return dc.from_frame(pl.concat([kept, canary]), scale=(1, 5), items=items, items_public=True)


def scores(present: bool, wishes: dc.Wishes, unit: dc.Rating) -> np.ndarray:
    ratings, asked = data(present), item_counts(OTHERS.n_items, unit)
    found = np.empty(RUNS)
    for run in range(RUNS):
        server = dc.TrustedServer(ratings, dc.Ledger(2.0, unit=unit), wishes=wishes)
        found[run] = server.sum(asked)[RARE]
    return found


def of_canary(by: str, level: str) -> dc.Wishes:
    if by == "weights":
        return dc.Wishes.of_users({"~": level}, levels=LEVELS)
    return dc.Wishes.of_ratings({("~", item): level for item in OTHERS.catalogue.items}, levels=LEVELS)


@pytest.mark.parametrize("by", ["weights", "sampling"])
def test_each_level_shows_its_own_epsilon_and_no_more(by):
    shown = {}
    for level, epsilon in LEVELS.items():
        wishes = of_canary(by, level)
        absent, present = (scores(present, wishes, dc.Rating()) for present in (False, True))
        cut = epsilon / 2.0 if by == "weights" else 1.0  # beyond it every outcome is e^epsilon times as likely
        many, few = np.count_nonzero(present > cut), np.count_nonzero(absent > cut)
        low, most = (bound.item() for bound in clopper_pearson(many, RUNS, RISK / 2))
        least, high = (bound.item() for bound in clopper_pearson(few, RUNS, RISK / 2))
        shown[level] = math.log(low / high), math.log(most / least)
        assert shown[level][0] <= epsilon, "an audit shows more than the level promises"
        assert shown[level][1] >= epsilon * 0.98, "the level wastes some of its epsilon"
    # The levels are told apart: what the lax one shows is more than the strict one can.
    assert shown["lax"][0] > LEVELS["strict"] and shown["lax"][0] > 1.2


def test_a_strict_rating_without_its_sample_would_be_caught():
    """The same audit with the strict level's rating always in the sample: it must show more than the level promises."""
    wishes = of_canary("sampling", "lax")
    absent, present = (scores(present, wishes, dc.Rating()) for present in (False, True))
    many, few = np.count_nonzero(present > 1.0), np.count_nonzero(absent > 1.0)
    low, high = clopper_pearson(many, RUNS, RISK / 2)[0], clopper_pearson(few, RUNS, RISK / 2)[1]
    assert math.log(low / high) > LEVELS["strict"]
