"""Arguments that are checked against the annotations of their function: the wrong kind of thing is refused at the door.

What an annotation says of one argument is checked, and no more: ranges, and what goes together, are the function's own
business. Annotations that cannot be checked (type variables, protocols, names that only a type checker sees) pass.
"""

import inspect
import numbers
import os
import sys
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

from discreet.errors import DiscreetError, InputError, is_number

Door = TypeVar("Door", bound=Callable[..., Any])

MOST_ENTRIES = 1000
"""Up to so many entries of a list are looked at: longer ones are columns, which their functions check."""


_BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Kind(NamedTuple):
    """What an argument may be: a test, and words for a message."""

    fits: Callable[[Any], bool]
    words: str


def checked(door: Door) -> Door:
    """A function, or a class whose arguments are checked when it is called.

    >>> @checked
    ... def repeat(text: str, times: int | None = None) -> str:
    ...     return text * (times or 1)
    >>> repeat("a", 2)
    'aa'
    >>> repeat("a", "2")
    Traceback (most recent call last):
    discreet.errors.InputError: times must be a whole number or None, got str
    """
    if inspect.isclass(door):
        setattr(door, "__init__", _checked(door.__init__, own_first=True))  # noqa: B010  (mypy takes no assignment)
        return door
    return _checked(door, own_first=True)


def checked_before(door: Door) -> Door:
    """As :func:`checked`, for what spends, writes or fetches: it is not begun with an argument of the wrong kind."""
    return _checked(door, own_first=False)


def _checked(door: Door, *, own_first: bool) -> Door:
    """With ``own_first`` the door itself answers where it can."""
    signature = inspect.signature(door)
    own_first = own_first and not inspect.isgeneratorfunction(door)  # which would answer too late
    kinds: dict[str, Kind] = {}
    in_order = [name for name, one in signature.parameters.items() if one.kind in _BY_POSITION]

    @wraps(door)
    def called(*given: Any, **named: Any) -> Any:
        if not kinds:
            kinds.update(_kinds(door, signature))
        arguments = chain(zip(in_order, given, strict=False), named.items())
        if all(name not in kinds or kinds[name].fits(value) for name, value in arguments):
            return door(*given, **named)  # nearly always; to bind the arguments takes longer than to check them
        try:
            bound = signature.bind(*given, **named)
        except TypeError:
            return door(*given, **named)  # Python says best which argument is missing or one too many
        for name, value in bound.arguments.items():
            kind = kinds.get(name)
            if kind is not None and not kind.fits(value):
                sentence = f"{name} must be {kind.words}, got {type(value).__name__}"  # no value: it may be a name
                if own_first:
                    return _own_answer(door, given, named, sentence)
                raise InputError(sentence)
        return door(*given, **named)

    return called  # type: ignore[return-value]


def _own_answer(door: Callable[..., Any], given: Any, named: Any, sentence: str) -> Any:
    """What the door itself says: it may take more than it declares, and its own sentence knows more than ours."""
    try:
        return door(*given, **named)
    except DiscreetError:
        raise
    except Exception:  # made of the argument that is known to be wrong, and not meant for people
        raise InputError(sentence) from None


def _kinds(door: Callable[..., Any], signature: inspect.Signature) -> dict[str, Kind]:
    found = {"": Kind(bool, "")}  # never empty, so that this is done once
    spaces = getattr(inspect.unwrap(door), "__globals__", {})
    for name, parameter in signature.parameters.items():
        if parameter.annotation is parameter.empty or parameter.kind in (
            parameter.VAR_KEYWORD,
            parameter.VAR_POSITIONAL,
        ):
            continue
        annotation = parameter.annotation
        if isinstance(annotation, str):
            try:
                annotation = eval(annotation, dict(spaces))  # our own source, not input
            except (NameError, TypeError):
                continue
        kind = _kind(annotation)
        if kind is not None:
            found[name] = kind
    return found


def _kind(annotation: Any) -> Kind | None:
    """The test for an annotation; None where there is none."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if annotation in _SIMPLE:
        return _SIMPLE[annotation]
    if origin in (Union, types.UnionType):
        return _one_of([_kind(one) for one in inner if one is not str or Path not in inner])
    if origin is Literal:
        return Kind(
            lambda value: isinstance(value, str | type(None)) and value in inner, _listed([repr(one) for one in inner])
        )
    if _is_ndarray(origin):
        return Kind(_is_array, "an array of numbers")
    if origin in (tuple, list, Sequence) or annotation in (Sequence, list, tuple):
        entry = _kind(inner[0]) if inner else None
        if origin is tuple and Ellipsis not in inner:
            size = len(inner)
            return Kind(lambda value: _is_list(value) and len(value) == size and _all(value, entry), f"{size} values")
        return Kind(lambda value: _is_list(value) and _all(value, entry), f"a list{_of(entry)}")
    if origin is Iterable:
        entry = _kind(inner[0]) if inner else None
        return Kind(lambda value: _is_list(value, Iterable) and _all(value, entry), f"a list{_of(entry)}")
    if origin is Mapping or origin is dict:
        key, entry = (None if _is_ndarray(get_origin(one)) else _kind(one) for one in inner)
        return Kind(
            lambda value: isinstance(value, Mapping) and _all(list(value), key) and _all(list(value.values()), entry),
            "a dictionary",
        )
    if origin is Callable:
        return Kind(callable, "a function")
    if inspect.isclass(annotation) and not getattr(annotation, "_is_protocol", False) and origin is None:
        article = "an" if annotation.__name__[0] in "AEIOU" else "a"
        return Kind(lambda value: isinstance(value, annotation), f"{article} {annotation.__name__}")
    return None


_SIMPLE: dict[Any, Kind | None] = {
    Any: None,
    object: None,
    type(None): Kind(lambda value: value is None, "None"),
    None: Kind(lambda value: value is None, "None"),
    bool: Kind(lambda value: isinstance(value, bool) or _is_numpy(value, "bool_"), "True or False"),
    int: Kind(lambda value: isinstance(value, numbers.Integral) and not isinstance(value, bool), "a whole number"),
    float: Kind(is_number, "a number"),
    str: Kind(lambda value: isinstance(value, str), "text"),
    bytes: Kind(lambda value: isinstance(value, bytes), "bytes"),
    Path: Kind(lambda value: isinstance(value, str | os.PathLike) and "\0" not in os.fspath(value), "a path"),
}


def _is_ndarray(annotation: Any) -> bool:
    return getattr(annotation, "__name__", "") == "ndarray"


def _is_numpy(value: Any, *names: str) -> bool:
    """Whether it is of one of these types of numpy, which is not loaded for it: what spends must start quickly."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, tuple(getattr(numpy, name) for name in names))


def _one_of(kinds: list[Kind | None]) -> Kind | None:
    known = [kind for kind in kinds if kind is not None]
    if len(known) < len(kinds):
        return None
    return Kind(lambda value: any(kind.fits(value) for kind in known), _listed([kind.words for kind in known]))


def _listed(words: list[str]) -> str:
    every = list(dict.fromkeys(words))
    return every[0] if len(every) == 1 else f"{', '.join(every[:-1])} or {every[-1]}"


def _of(entry: Kind | None) -> str:
    plural = {"text": " of text", "a number": " of numbers", "a whole number": " of whole numbers"}
    return plural.get(entry.words, "") if entry is not None else ""


def _is_list(value: Any, kind: Any = Sequence) -> bool:
    if isinstance(value, str | bytes) or inspect.isclass(value) or (kind is Sequence and isinstance(value, Mapping)):
        return False
    if _is_numpy(value, "ndarray", "generic"):
        return bool(value.ndim == 1)
    return isinstance(value, kind) or hasattr(value, "to_list")


def _is_array(value: Any) -> bool:
    import numpy as np

    if not isinstance(value, np.ndarray):
        if not _is_list(value):
            return False
        try:
            value = np.asarray(value)
        except ValueError:  # rows of different lengths
            return False
    return value.ndim > 0 and (value.size == 0 or value.dtype.kind in "biufUTMm")


def _all(value: Any, entry: Kind | None) -> bool:
    sized = (isinstance(value, Sequence) or _is_numpy(value, "ndarray")) and len(value) <= MOST_ENTRIES
    return entry is None or not sized or all(entry.fits(one) for one in value)


Class = TypeVar("Class", bound=type)


def checked_methods(kind: Class, *, own_first: bool = True) -> Class:
    """A class whose public methods check their arguments; its constructor is as it was.

    >>> @checked_methods
    ... class Counter:
    ...     def add(self, count: int) -> int:
    ...         return 1 + count
    >>> Counter().add(None)
    Traceback (most recent call last):
    discreet.errors.InputError: count must be a whole number, got NoneType
    """
    for name, method in list(vars(kind).items()):
        if name.startswith("_"):
            continue
        if isinstance(method, classmethod | staticmethod):
            setattr(kind, name, type(method)(_checked(method.__func__, own_first=own_first)))
        elif inspect.isfunction(method):
            setattr(kind, name, _checked(method, own_first=own_first))
    return kind
