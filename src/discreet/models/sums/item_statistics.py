"""How often each item was rated and how well, each user's entries divided by their length."""

import math

import numpy as np

from discreet.data.catalogue import Scale
from discreet.data.ratings import Ratings
from discreet.populations.contribution import Contribution
from discreet.privacy.bounding import centre
from discreet.privacy.lattice import most_on_lattice, on_lattice
from discreet.privacy.unit import Bound, Unit
from discreet.types import AnyArray

SUM_WEIGHT = 1.5
"""The c below: how finely sums are released beside counts."""


def item_counts(catalogue_size: int, unit: Unit | None = None) -> Contribution:
    """How many users rated each item; with the unit user each counts with weight 1/√n for n ratings.

    Adding or removing a rating moves one count by 1. Adding or removing a user moves n counts by 1/√n each,
    which has length 1. Two users' vectors have no negative entry, so ‖a − b‖² ≤ ‖a‖² + ‖b‖² ≤ 2 where one replaces the
    other.
    """

    def total(ratings: Ratings) -> AnyArray:
        if unit is None or unit.name == "rating":
            return np.bincount(ratings.item_index, minlength=catalogue_size)
        weights = on_lattice(1 / np.sqrt(np.maximum(np.diff(ratings.indptr), 1)))
        return np.bincount(ratings.item_index, weights=weights[ratings.user_index], minlength=catalogue_size)

    bounds: tuple[Bound, ...] = (Bound("rating", "l1", 1.0, cells=1), Bound("rating", "l2", 1.0, cells=1))
    if unit is not None and unit.name == "user":
        bounds = (Bound("user", "l2", 1.0, replace=math.sqrt(2)),)
    most = most_on_lattice(1.0)
    return Contribution("how often each item was rated", (catalogue_size,), total, bounds, most_users=most)


def item_statistics(catalogue_size: int, scale: Scale, unit: Unit | None = None) -> Contribution:
    """Two rows: how often each item was rated, and c times the sum of its ratings about the middle of the scale.

    Ratings count in half widths of the scale, so each lies within ±1. Adding or removing one moves one entry
    of the first row by 1 and one of the second by at most c: L1 1 + c, L2 √(1 + c²). With the unit user
    everyone's entries are divided by their length √Σ(1 + c² x²), so a user moves the rows by at most 1 in L2.

    Where one replaces another: a changed rating moves the second row by at most 2c. Of two users' vectors a and b, the
    parts (1, cx) and (1, cy) of an item that both rated stand at an angle of at most 2 arctan c, whose cosine is
    (1 − c²)/(1 + c²) < 0, so a·b ≥ Σ_i |a_i| |b_i| (1 − c²)/(1 + c²) ≥ (1 − c²)/(1 + c²), and
    ‖a − b‖² ≤ 2 − 2 (1 − c²)/(1 + c²) = 4c²/(1 + c²). (Rounding to multiples of 2⁻³⁰ turns these angles by so little
    that up to 2²⁰ items stay within ``FLOAT_MARGIN`` of the populations.)
    """

    def total(ratings: Ratings) -> AnyArray:
        centred = SUM_WEIGHT * centre(ratings.values, scale.low, scale.high)
        weights = np.ones(len(ratings))
        if unit is not None and unit.name == "user":
            squares = np.bincount(ratings.user_index, weights=1 + centred**2, minlength=ratings.n_users)
            weights = (1 / np.sqrt(np.maximum(squares, 1)))[ratings.user_index]
        rows = [on_lattice(weights), on_lattice(weights * centred)]
        return np.stack([np.bincount(ratings.item_index, weights=row, minlength=catalogue_size) for row in rows])

    bounds: tuple[Bound, ...] = (
        Bound("rating", "l1", 1 + SUM_WEIGHT, cells=2, replace=2 * SUM_WEIGHT),
        Bound("rating", "l2", (1 + SUM_WEIGHT**2) ** 0.5, cells=2, replace=2 * SUM_WEIGHT),
    )
    if unit is not None and unit.name == "user":
        bounds = (Bound("user", "l2", 1.0, replace=2 * SUM_WEIGHT / math.sqrt(1 + SUM_WEIGHT**2)),)
    name, most = "how often each item was rated, and its ratings' sum", most_on_lattice(SUM_WEIGHT)
    return Contribution(name, (2, catalogue_size), total, bounds, most_users=most)
