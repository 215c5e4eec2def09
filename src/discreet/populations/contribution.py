"""A statistic that is a sum over users, together with how far one unit can move it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from discreet.data.ratings import Ratings
from discreet.doors import checked
from discreet.errors import InputError
from discreet.privacy.lattice import most_on_lattice
from discreet.privacy.unit import Bound, Norm, UnitName
from discreet.types import AnyArray

MOST_USERS = 1 << 23
"""Over so many users whole totals are added up exactly; whoever declares them sees to it that they fit in 64 bits. More
are refused, so this much is told about the number of users: that there are no more."""


@checked
@dataclass(frozen=True)
class Contribution:
    """What a model asks a population for.

    ``total`` must be additive: ``total(A + B) = total(A) + total(B)`` for ratings ``A`` and ``B`` of
    different users. So it can be computed by a server over everyone, or by each device over one person.

    Parameters
    ----------
    name
        What it is, in words: this is what a ledger shows.
    shape
        Shape of the total. Public: it may depend on the catalogue and on settings, never on ratings.
    total
        Ratings to array.
    bounds
        What is proven about ``total``; none means that no noise can make it private.
    noise
        ``gaussian`` to have Gaussian noise wherever the ledger has a delta, whatever its unit. Shares of sums that all
        do so are of μ², as with the unit user: for a model that asks for several sums, none of which is Laplace's.
    chooses
        Whether a setting is chosen by it: then the guarantee says so, and that it was paid for.
    finish
        Where ``total`` counts in whole numbers of a small unit, what becomes of them once all parts are added up, which
        they are exactly. It may use their memory.
    most_users
        Over how many users it is summed exactly, where its bound rests on that; more are refused before anything is
        charged. ``MOST_USERS`` where it has a ``finish``; without one values are multiples of 2⁻³⁰
        (:mod:`discreet.privacy.lattice`), and there are as many as such values of ``largest`` allow.
    largest
        What one user adds to a cell at most, however many ratings they have. Secure sums know by it what no honest
        device sends; without it they go by the bounds, which for single ratings is far more.
    signed
        Whether a cell of one user may be negative, which counts are not. Secure sums go by it likewise.
    on_torch
        The total over some parts of the ratings by torch, for populations whose ``engine`` it is: the same numbers to
        the last bit, so the bounds hold for it; where there are none, the same up to rounding. It takes the parts one
        by one, so that it may work on one while the next is read.
    over_parts
        Set by the engine: ``on_torch``, where that computes the total.
    on_device
        ``total`` of a step as a tensor on a GPU, where training goes on with it there.
    """

    name: str
    shape: tuple[int, ...]
    total: Callable[[Ratings], AnyArray]
    bounds: tuple[Bound, ...] = ()
    noise: Literal["gaussian"] | None = None
    chooses: bool = False
    finish: Callable[[AnyArray], AnyArray] | None = None
    most_users: int | None = None
    largest: float | None = None
    signed: bool = True
    on_torch: Callable[[Iterable[Ratings]], AnyArray] | None = None
    over_parts: Callable[[Iterable[Ratings]], AnyArray] | None = None
    on_device: Callable[[Ratings], Any] | None = None

    def __post_init__(self) -> None:
        if self.most_users is None and self.finish is None and self.largest is not None:
            object.__setattr__(self, "most_users", most_on_lattice(self.largest))
        if self.on_torch is not None and self.finish is None and self.most_users is None and self.bounds:
            raise InputError(
                f"{self.name!r} needs a finish, largest or most_users: only exact sums are the same on every engine"
            )
        if self.finish is not None and self.most_users is None:
            object.__setattr__(self, "most_users", MOST_USERS)

    def bound(self, unit: UnitName, norm: Norm) -> Bound:
        """What is proven for a unit in a norm; where nothing is, no noise can hide this statistic."""
        for bound in self.bounds:
            if bound.unit == unit and bound.norm == norm:
                return bound
        cure = "so no noise can make it private"
        if norm == "l1" and any(bound.unit == unit and bound.norm == "l2" for bound in self.bounds):
            cure = "only in l2, where noise makes it private with a delta: give one, for example 1e-6"
        raise InputError(f"{self.name!r} has no proven bound for the unit {unit} in {norm}, {cure}")
