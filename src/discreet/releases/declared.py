"""What arrays a model releases: declared beside its code, and checked on every release that is built or read.

A model says it in one method, which gets the names of the arrays that are there (some models have two forms):

    def declared(self, names):
        return (
            Array("item_factors", "float32", ("items", self.factors)),
            Array("neighbours", "int32", ("items", "k"), below="items"),
        )

An axis is a number, or a word: ``items`` and ``genres`` are those of the catalogue, any other word stands for one
length that is the same wherever it is used. Kernels read memory by these shapes and positions without looking again,
so a release that does not fit is never built. A model that declares nothing has its arrays checked against the card.
"""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from discreet.data.catalogue import Catalogue
from discreet.errors import InputError
from discreet.types import AnyArray

Axis = int | str


@dataclass(frozen=True)
class Array:
    """One array of a release.

    Parameters
    ----------
    name, dtype, shape
        What it is called, its type, and how long it is along each axis: a number or a word.
    below
        Its entries are positions, from 0 to below the length that this word stands for.
    least
        Its smallest entry, where smaller ones cannot be used.

    Examples
    --------
    >>> Array("neighbours", "int32", ("items", "k"), below="items").shape
    ('items', 'k')
    """

    name: str
    dtype: str
    shape: tuple[Axis, ...]
    below: str | None = field(default=None, kw_only=True)
    least: float | None = field(default=None, kw_only=True)


@runtime_checkable
class DeclaringModel(Protocol):
    """A model that says which arrays it releases."""

    def declared(self, names: Collection[str], /) -> tuple[Array, ...]:
        """The arrays of a release in which those of these names are."""
        ...


def check_shapes(
    model: Any, shapes: Mapping[str, tuple[tuple[int, ...], np.dtype[Any]]], items: int, genres: int
) -> None:
    """Raise unless names, types and shapes are those that the model declares; no entry is looked at."""
    if not isinstance(model, DeclaringModel):
        return
    kind, declared = type(model).__name__, model.declared(frozenset(shapes))
    expected = {array.name for array in declared}
    if missing := sorted(expected - set(shapes)):
        raise InputError(f"{kind} releases an array {missing[0]!r}, and there is none")
    if others := sorted(set(shapes) - expected):
        raise InputError(f"{kind} releases no array {others[0]!r}")
    lengths = {"items": items, "genres": genres}
    for array in declared:
        shape, dtype = shapes[array.name]
        if dtype != np.dtype(array.dtype):
            raise InputError(f"the array {array.name!r} of {kind} must be of {array.dtype}, and is of {dtype}")
        fits = len(shape) == len(array.shape) and all(
            length == (axis if isinstance(axis, int) else lengths.setdefault(axis, length))
            for length, axis in zip(shape, array.shape, strict=True)
        )
        if not fits:
            raise InputError(
                f"the array {array.name!r} of {kind} must have the shape {_product(_said(array.shape, lengths))}, "
                f"and has {_product(shape)}"
            )


def check_positions(model: Any, arrays: Mapping[str, AnyArray], items: int) -> None:
    """Raise where an array of positions points outside of what it is about."""
    if not isinstance(model, DeclaringModel):
        return
    for array in model.declared(frozenset(arrays)):
        if array.below is not None:
            check_inside(array.name, arrays[array.name], items)


def check_inside(name: str, positions: AnyArray, size: int) -> None:
    """Raise unless all entries are positions among ``size`` items.

    >>> check_inside("neighbours", np.array([0, 3]), 3)
    Traceback (most recent call last):
    discreet.errors.InputError: the array 'neighbours' names an item outside of the 3 of the catalogue
    """
    if positions.size and not (positions.min() >= 0 and positions.max() < size):
        raise InputError(f"the array {name!r} names an item outside of the {size:,} of the catalogue")


def check_values(model: Any, arrays: Mapping[str, AnyArray], proven: bool) -> None:
    """Raise where an entry is not finite, or less than the model can use.

    Of a model that declares nothing only a release that promises something must be finite, as when it is built.
    """
    declares = isinstance(model, DeclaringModel)
    least = {array.name: array.least for array in model.declared(frozenset(arrays))} if declares else {}
    for name, values in arrays.items():
        if values.dtype.kind == "f" and (declares or proven) and not _finite(values):
            raise InputError(f"the array {name!r} holds an entry that is not a finite number")
        lowest = least.get(name)
        if lowest is not None and values.size and values.min() < lowest:
            raise InputError(f"the array {name!r} holds an entry below {lowest:g}")


def check_declared(model: Any, arrays: Mapping[str, AnyArray], catalogue: Catalogue) -> None:
    """Raise unless names, types, shapes and positions are those that the model declares."""
    shapes = {name: (np.shape(array), np.asarray(array).dtype) for name, array in arrays.items()}
    check_shapes(model, shapes, len(catalogue), len(catalogue.genres))
    check_positions(model, arrays, len(catalogue))


def _finite(values: AnyArray) -> bool:
    # The sum is finite unless an entry is not, or it overflows: one pass without a copy in nearly all cases.
    with np.errstate(all="ignore"):
        return math.isfinite(float(values.sum(dtype=np.float64))) or bool(np.isfinite(values).all())


def _said(axes: Iterable[Axis], lengths: Mapping[str, int]) -> list[Axis]:
    return [lengths.get(axis, axis) if isinstance(axis, str) else axis for axis in axes]


def _product(shape: Iterable[Axis]) -> str:
    return " x ".join(f"{axis:,}" if isinstance(axis, int) else axis for axis in shape) or "of one number"
