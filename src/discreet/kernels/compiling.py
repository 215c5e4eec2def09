"""Kernels that numba compiles when they are first called, so that importing one needs no numba.

One user's scores are made by numpy (:mod:`discreet.kernels.few_users`): compiling would take seconds, and a server that
answers one user at a time needs no compiler at all. Compiled kernels are for batches and for fits.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar

from discreet.errors import ForkedProcessError, InputError, library_for
from discreet.processes import require_threads

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

FEW_USERS = 16
"""Up to so many users are served by numpy: loading a compiled kernel takes longer than that."""

FEW_ROWS = 2**17
"""Fewer rows of a table are read without kernels: a small file need not wait for them."""

_ALWAYS_COMPILED: ContextVar[bool] = ContextVar("always_compiled", default=False)

_ONE_AT_A_TIME = threading.RLock()

prange = range
"""Stands for numba's own, which takes its place when a kernel is compiled."""


def by_numpy(users: int) -> bool:
    """Whether numpy serves so many users: always where numba is not installed.

    >>> by_numpy(1)
    True
    """
    if users <= FEW_USERS and not _ALWAYS_COMPILED.get():
        return True
    try:
        import numba  # noqa: F401
    except ModuleNotFoundError:
        return True
    return False


def may_compile(rows: int) -> bool:
    """Whether kernels read so many rows: not a few, and not where numba is missing or cannot run.

    >>> may_compile(1)
    False
    """
    try:
        require_threads("numba")
    except (InputError, ForkedProcessError):
        return False
    return rows >= FEW_ROWS and not by_numpy(rows)


@contextmanager
def always_compiled() -> Iterator[None]:
    """Within, kernels serve few users too.

    Sums over users and mechanisms are computed here: numpy and kernels differ in the last bit, and if the number of
    users decided between them, one user more would move the rounding of everybody's contribution.
    """
    token = _ALWAYS_COMPILED.set(True)
    try:
        yield
    finally:
        _ALWAYS_COMPILED.reset(token)


def chosen(
    users: int, few: Callable[Arguments, Result], many: Callable[Arguments, Result]
) -> Callable[Arguments, Result]:
    """The numpy function or the compiled kernel of the same arguments, by the number of users."""
    return few if by_numpy(users) else many


def _shares_threads() -> bool:
    """Whether several threads may run parallel kernels at once: numba's own workqueue ends the process then."""
    import numba

    layer: Callable[[], str] = numba.threading_layer  # type: ignore[attr-defined]
    try:
        return layer() != "workqueue"
    except ValueError:  # it is not known before the first of them
        return False


class Kernel(Generic[Arguments, Result]):
    """A function that numba compiles when it is first called."""

    def __init__(self, function: Callable[Arguments, Result], options: dict[str, Any]) -> None:
        self._function, self._options, self._compiled = function, options, None
        update_wrapper(self, function)

    def compiled(self) -> Any:
        """Numba's own form of it."""
        if self._compiled is None:
            require_threads("numba")
            with library_for("fitting, and for batches of users"):
                import numba
            if "prange" in self._function.__globals__:
                self._function.__globals__["prange"] = numba.prange
            try:
                self._compiled = numba.njit(**self._options)(self._function)
            except RuntimeError:  # no folder can be written to: it is compiled anew in every process
                self._compiled = numba.njit(**{**self._options, "cache": False})(self._function)
        return self._compiled

    def __call__(self, *args: Arguments.args, **named: Arguments.kwargs) -> Result:
        """Compile it if need be, and call it."""
        kernel = self.compiled()
        if not self._options.get("parallel"):
            result: Result = kernel(*args, **named)
            return result
        require_threads("numba")
        with nullcontext() if _shares_threads() else _ONE_AT_A_TIME:
            result = kernel(*args, **named)
        return result

    def __reduce__(self) -> str:
        """By its name: another process compiles its own, or finds it compiled."""
        return self._function.__qualname__

    @property
    def _numba_type_(self) -> Any:
        """What numba asks for when another kernel calls this one."""
        return self.compiled()._numba_type_


def njit(**options: Any) -> Callable[[Callable[Arguments, Result]], Kernel[Arguments, Result]]:
    """``numba.njit`` with these options, put off until the first call.

    >>> @njit()
    ... def doubled(x):
    ...     return 2 * x
    >>> doubled(3)
    6
    """
    return lambda function: Kernel(function, options)
