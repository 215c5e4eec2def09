"""How often each item was rated and how well, as one bounded sum over users.

With y_ui = (r_ui − base_i) in units of the clip, clipped to ±1, and a constant c (the relative weight of sums), a user
adds to every item that they rated

    w_u (1, c y_ui)

    unit rating, or no privacy    w_u = 1
    unit user, Gaussian noise     w_u = 1/√Σ_i (1 + c² y_ui²)
    unit user, Laplace noise      w_u = 1/Σ_i (1 + c |y_ui|)

With c = 0 these are counts alone, in one row. base, clip and c are public. The clip is half the width of the scale;
a little more without noise; or less, so that noise on sums is smaller in points of the scale, and sums are about a part
``kept`` of what they would be.

**One rating** moves one count by 1 and one sum by at most c: by 1 + c in L1 and √(1 + c²) in L2. A rating of another
value moves one sum by at most 2c, and no count.

**One user** adds a vector of length 1 (or 0): in L2 with the weights for Gaussian noise, in L1 with those for Laplace
noise, as entries of different items are different cells.

**One user for another, L2:** at most √2 for c ≤ 1, and 2c/√(1 + c²) for c > 1.

*Proof.* Let a and b be the two users' vectors. Their parts w (1, c y) and w' (1, c y') of an item that both rated
stand at an angle of at most 2 arctan c, whose cosine is q = (1 − c²)/(1 + c²). For c ≤ 1, q ≥ 0, so a·b ≥ 0 and ‖a −
b‖² ≤ ‖a‖² + ‖b‖² ≤ 2. For c > 1, a·b ≥ q Σ_i ‖a_i‖ ‖b_i‖ ≥ q by Cauchy and Schwarz, as q < 0, and ‖a − b‖² ≤ 2 − 2q =
4c²/(1 + c²). ∎ Entries are rounded to multiples of 2⁻³⁰, which turns these angles by so little that up to 2²⁰ items
stay within ``FLOAT_MARGIN`` of the populations.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from discreet.data.catalogue import Catalogue, Scale
from discreet.data.ratings import Ratings
from discreet.kernels.item_sums import (
    LENGTH_UNIT,
    PLAIN,
    SIZES,
    SQUARES,
    UNIT,
    item_sums_by_torch,
    weighted_item_sums,
)
from discreet.populations.contribution import Contribution
from discreet.privacy.lattice import on_lattice
from discreet.privacy.unit import Bound, Unit
from discreet.types import AnyArray, Doubles, Floats

Scaling = Literal["rating", "user, l2", "user, l1"]
SCALINGS: tuple[Scaling, ...] = get_args(Scaling)
MANY = 1 << 18
"""Ratings from which on a compiled kernel is worth loading."""


@dataclass(frozen=True)
class _Constants:
    """Chosen on a sample of MovieLens 1M."""

    relative_weight: float = 1.5
    """The c above: noise on sums costs more accuracy than noise on counts."""
    typical_weight: float = 0.1
    """What a rating of a user with some 60 ratings weighs where users are scaled."""
    mean_square: float = 0.25
    """The mean of y², about."""
    tight_clip: float = 0.4
    """A tight clip, in half widths of the scale: less than residuals spread, which makes noise in points of the scale
    smaller by more than it takes from sums."""
    rating_deviation: float = 0.235
    """Of ratings about the expectation of their item, in widths of the scale: what a tight clip leaves."""
    expected_rating: float = 0.625
    """The prior mean of a rating, in widths of the scale from its low end: people choose what they rate."""


CONSTANTS = _Constants()
ITEM_COUNTS = "how often each item was rated"
"""What looks at items are called, in a ledger."""


@dataclass(frozen=True, eq=False)
class ItemStatistics:
    """What is asked for.

    Parameters
    ----------
    base
        What is subtracted from the ratings of every item. Public.
    scale
        The declared scale.
    scaling
        How users are weighted.
    relative_weight
        The c above; 0 for counts alone.
    clip
        Where residuals are clipped, in half widths of the scale.
    kept
        About how much of a small difference between items clipping leaves in their sums.
    level
        About which rating residuals were taken when sums were asked for, in widths of the scale from its low end.
    heaviest
        The largest relative weight with which the same may be asked for again. It decides over how many users sums are
        exact, so that more are refused at the first look, and none after it.
    """

    base: Floats
    scale: Scale
    scaling: Scaling
    relative_weight: float = CONSTANTS.relative_weight
    clip: float = 1.0
    kept: float = 1.0
    level: float = CONSTANTS.expected_rating
    heaviest: float = 0.0

    @classmethod
    def of(cls, catalogue: Catalogue, scaling: Scaling) -> "ItemStatistics":
        """About the prior mean of a rating; counts alone where the data have no ratings."""
        base = np.full(len(catalogue), expected_rating(catalogue.scale), dtype=np.float32)
        weight = 0.0 if catalogue.scale.implicit else CONSTANTS.relative_weight
        return cls(base, catalogue.scale, scaling, weight)

    @classmethod
    def about_middle(cls, size: int, scale: Scale, unit: Unit | None) -> "ItemStatistics":
        """About the middle of the scale, where no rating is clipped."""
        return cls(np.full(size, scale.middle, dtype=np.float32), scale, scaling_for(unit))

    @property
    def counts_alone(self) -> bool:
        """Whether there are no sums: the data have no ratings, or nobody asks for them."""
        return self.relative_weight == 0

    @property
    def typical_weight(self) -> float:
        """What a rating weighs, about."""
        return 1.0 if self.scaling == "rating" else CONSTANTS.typical_weight

    def typical_length(self, relative_weight: float) -> float:
        """√(1 + c² E y²), by which a user's weight falls with the weight of sums; 1 where users are not scaled."""
        if self.scaling == "rating":
            return 1.0
        return math.sqrt(1 + relative_weight**2 * CONSTANTS.mean_square)

    def clipped_tightly(self) -> "ItemStatistics":
        """The same with less noise in points of the scale. How well all items are rated has to be asked by itself."""
        if self.counts_alone:
            return self
        clip, half_width = CONSTANTS.tight_clip, 0.5 / (math.sqrt(2) * CONSTANTS.rating_deviation)
        return replace(self, clip=clip, kept=math.erf(clip * half_width) / math.erf(half_width))

    def about_level(self, level: float) -> "ItemStatistics":
        """The same about another rating, in widths of the scale from its low end."""
        level = float(np.float32(np.clip(level, 0, 1)))
        base = np.full(len(self.base), self.scale.low + level * self.scale.width, dtype=np.float32)
        return replace(self, base=base, level=level)

    @property
    def kind(self) -> Floats:
        """How users, and sums beside counts, are weighted, the clip and the level."""
        return np.array([SCALINGS.index(self.scaling), self.relative_weight, self.clip, self.level], dtype=np.float32)

    def same_but_for_weight(self, kind: Floats, level: bool = True) -> bool:
        """Whether sums of that kind can be averaged with these, whatever their weight beside counts is.

        With ``level=False``, whether they could be if they were about the same level.
        """
        compared = [0, 2, 3] if level else [0, 2]
        sound = kind.shape == self.kind.shape and (float(kind[1]) > 0) != self.counts_alone
        return sound and np.array_equal(kind[compared], self.kind[compared])

    def with_weight(self, relative_weight: float | None) -> "ItemStatistics":
        """The same with another weight of sums beside counts; None for this one."""
        return self if relative_weight is None or self.counts_alone else replace(self, relative_weight=relative_weight)

    @property
    def points(self) -> float:
        """What one unit of a sum is in points of the scale; half its width where there are counts alone."""
        return self._unit / (self.kept * (self.relative_weight or 1.0))

    @property
    def _unit(self) -> float:
        return self.scale.width / 2 * self.clip

    @property
    def contribution(self) -> Contribution:
        """The sum, for a population: a row of counts and, unless c is 0, a row of sums."""
        c, size = self.relative_weight, len(self.base)
        name, shape = ITEM_COUNTS + ("" if c == 0 else ", and its ratings' sum"), (2, size)[0 if c else 1 :]
        # A user who is scaled adds at most 1 to a cell: w c |y| < 1, as w ≤ 1/√(1 + c² y²) in L2, 1/(1 + c |y|) in L1.
        largest = max(1.0, c, self.heaviest) if self.scaling == "rating" else 1.0
        total = self._total, self._bounds
        return Contribution(name, shape, *total, largest=largest, signed=c > 0, on_torch=self._total_by_torch)

    @property
    def _bounds(self) -> tuple[Bound, ...]:
        c = self.relative_weight
        if self.scaling == "user, l1":
            return (Bound("user", "l1", 1.0),)
        if self.scaling == "user, l2":
            return (Bound("user", "l2", 1.0, replace=math.sqrt(2) if c <= 1 else 2 * c / math.sqrt(1 + c**2)),)
        if c == 0:
            return (Bound("rating", "l1", 1.0, cells=1), Bound("rating", "l2", 1.0, cells=1))
        return (
            Bound("rating", "l1", 1 + c, cells=2, replace=2 * c),
            Bound("rating", "l2", math.sqrt(1 + c**2), cells=2, replace=2 * c),
        )

    def _total(self, ratings: Ratings) -> Doubles:
        if len(ratings) < MANY:
            return self._small_total(ratings)
        columns = ratings.user_index, ratings.item_index, ratings.values, self.base
        return self._scaled(weighted_item_sums(*columns, self._unit, self.relative_weight, self._kind))

    def _total_by_torch(self, parts: Iterable[Ratings]) -> Doubles:
        columns = ((part.indptr, part.item_index, part.values) for part in parts)
        return self._scaled(item_sums_by_torch(columns, self.base, self._unit, self.relative_weight, self._kind))

    @property
    def _kind(self) -> int:
        return {"rating": PLAIN, "user, l2": SQUARES, "user, l1": SIZES}[self.scaling]

    def _scaled(self, whole: AnyArray) -> Doubles:
        sums = whole / UNIT
        return np.asarray(sums[0] if self.counts_alone else sums, dtype=np.float64)

    def _small_total(self, ratings: Ratings) -> Doubles:
        """The same to the last bit, by numpy alone."""
        residuals = (ratings.values.astype(np.float64) - self.base[ratings.item_index]) / self._unit
        residuals = self.relative_weight * np.clip(residuals, -1, 1)
        weights = np.ones(len(ratings))
        if self.scaling != "rating":
            size = np.ceil((1 + (residuals**2 if self.scaling == "user, l2" else np.abs(residuals))) / LENGTH_UNIT)
            length = np.bincount(ratings.user_index, weights=size, minlength=ratings.n_users) * LENGTH_UNIT
            if self.scaling == "user, l2":
                length = np.sqrt(length)
            weights = (1 / np.maximum(length, 1))[ratings.user_index]
        rows = [on_lattice(weights), on_lattice(weights * residuals)][: 1 if self.counts_alone else 2]
        sums = [np.bincount(ratings.item_index, weights=row, minlength=len(self.base)) for row in rows]
        return np.asarray(sums[0] if len(sums) == 1 else np.stack(sums), dtype=np.float64)


def item_counts(catalogue_size: int, unit: Unit | None = None) -> Contribution:
    """How many users rated each item; with the unit user each counts with weight 1/√n for n ratings."""
    none = np.zeros(catalogue_size, dtype=np.float32)
    return ItemStatistics(none, Scale(0, 1), scaling_for(unit), relative_weight=0.0).contribution


def item_statistics(catalogue_size: int, scale: Scale, unit: Unit | None = None) -> Contribution:
    """Counts, and sums about the middle of the scale."""
    return ItemStatistics.about_middle(catalogue_size, scale, unit).contribution


def scaling_for(unit: Unit | None) -> Scaling:
    """How users are weighted for a unit, with Gaussian noise where it is the user."""
    return "user, l2" if unit is not None and unit.name == "user" else "rating"


def expected_rating(scale: Scale) -> float:
    """The prior mean of a rating.

    >>> expected_rating(Scale(1, 5))
    3.5
    """
    return scale.low + CONSTANTS.expected_rating * scale.width
