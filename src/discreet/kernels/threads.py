"""How many threads the linear algebra of numpy takes."""

from contextlib import AbstractContextManager
from functools import cache
from typing import TYPE_CHECKING, Any

from discreet.errors import library_for

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController


@cache
def _controller() -> "ThreadpoolController":
    with library_for("fitting"):
        from threadpoolctl import ThreadpoolController

    return ThreadpoolController()  # looks through all loaded libraries, so once


def one_blas_thread() -> AbstractContextManager[Any]:
    """Within it BLAS works alone.

    On matrices as small as a factor's Gram matrix its threads gain nothing, and as they spin while they wait, they keep
    the cores from the kernels.

    >>> import numpy as np
    >>> with one_blas_thread():
    ...     float(np.ones(2) @ np.ones(2))
    2.0
    """
    limited: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limited
