"""Libraries that not every installation has: loaded on use, and missed in one sentence."""

from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from discreet.errors import MissingLibraryError


def load_extra(module: str, extra: str, what: str) -> Any:
    """A module of an extra; where it is not installed, the error says what needs it and how to install it.

    >>> load_extra("math", "numbers", "counting").floor(1.5)
    1
    >>> load_extra("no_such_module", "numbers", "counting")
    Traceback (most recent call last):
    discreet.errors.MissingLibraryError: counting needs a library that is not installed: pip install 'discreet[numbers]'
    """
    try:
        return import_module(module)
    except ModuleNotFoundError:
        raise MissingLibraryError(f"{what} needs a library that is not installed: {install([extra])}") from None


def install(extras: Iterable[str]) -> str:
    """The command that installs extras.

    >>> install(["torch", "accounting"])
    "pip install 'discreet[torch,accounting]'"
    """
    return f"pip install 'discreet[{','.join(extras)}]'"


def missing_extras(model: Any) -> list[str]:
    """The extras that fitting a model needs and that are not installed.

    A model, or its class, says in ``extras`` what it needs: each extra, and the module that comes with it.

    >>> class Counting:
    ...     extras = {"numbers": "math", "more": "no_such_module"}
    >>> missing_extras(Counting)
    ['more']
    """
    return [extra for extra, module in getattr(model, "extras", {}).items() if find_spec(module) is None]
