"""Libraries that not every installation has: loaded on use, and missed in one sentence."""

from importlib import import_module
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
        raise MissingLibraryError(
            f"{what} needs a library that is not installed: pip install 'discreet[{extra}]'"
        ) from None
