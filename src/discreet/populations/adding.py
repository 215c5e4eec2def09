"""Where sums over users are computed: here, part by part, or wherever the ratings lie.

A contribution is additive over users. So whoever has the ratings of some users adds up their totals, and whoever has
several such sums adds up these. On this machine that is a loop over parts; a cluster does the same on many machines.
Noise is added to the whole, once, by whoever asked.
"""

import math
from collections.abc import Iterator
from typing import Protocol, runtime_checkable

import numpy as np

from discreet.data.ratings import Ratings
from discreet.errors import InputError
from discreet.kernels.compiling import always_compiled
from discreet.populations.contribution import Contribution
from discreet.types import AnyArray

LARGE = 1 << 26
"""Totals of more cells are made at once where the ratings are in memory: adding parts up would take more room."""


class InParts(Protocol):
    """Ratings of users, some after others."""

    @property
    def n_users(self) -> int:
        """How many users there are."""
        ...

    def parts(self) -> Iterator[Ratings]:
        """The ratings of some users after those of others."""
        ...


@runtime_checkable
class AddsUp(Protocol):
    """Ratings that lie elsewhere, and are added up there.

    Sums of whole numbers, and of doubles on a lattice, are exact, so they are the same as here to the last bit.
    """

    def added_up(self, contribution: Contribution) -> AnyArray:
        """The total over all users, before the contribution's ``finish``."""
        ...


def added_up(contribution: Contribution, ratings: InParts) -> AnyArray:
    """The total over all users, before ``finish``, wherever it is computed."""
    if isinstance(ratings, AddsUp):
        return ratings.added_up(contribution)
    large = math.prod(contribution.shape) > LARGE or contribution.over_parts is not None
    parts = [ratings] if large and isinstance(ratings, Ratings) else ratings.parts()
    if contribution.over_parts is not None:  # an engine that copies one part while it adds up another
        with always_compiled():
            return as_declared(contribution, contribution.over_parts(parts))
    total: AnyArray | None = None
    for number, part in enumerate(parts):
        own = part_total(contribution, part)
        if total is None:
            total = own
        elif number == 1:
            total = total + own  # the first may belong to the contribution: it is not added to in place
        else:
            total += own
    assert total is not None
    return total


def part_total(contribution: Contribution, part: Ratings) -> AnyArray:
    """The total over the users of one part, checked against the shape that the contribution declares."""
    with always_compiled():
        return as_declared(contribution, contribution.total(part))


def as_declared(contribution: Contribution, total: AnyArray) -> AnyArray:
    """A total of the kind and the shape that the contribution declares; else an error."""
    own = np.asarray(total, dtype=kind_of_total(contribution))
    if own.shape != contribution.shape:
        raise InputError(
            f"the contribution {contribution.name!r} declares shape {contribution.shape} "
            f"but its total has shape {own.shape}"
        )
    return own


def kind_of_total(contribution: Contribution) -> "np.dtype[np.int64] | np.dtype[np.float64]":
    """Whole numbers where there is a ``finish``, else doubles."""
    return np.dtype(np.float64) if contribution.finish is None else np.dtype(np.int64)
