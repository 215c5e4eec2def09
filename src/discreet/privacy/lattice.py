"""Values on a lattice, so that sums of them are exact: neighbours differ by what they contribute, not by rounding."""

import numpy as np

from discreet.types import Doubles


def on_lattice(values: Doubles) -> Doubles:
    """Values rounded towards 0 to multiples of 2**-30, so that sums of them are exact in doubles.

    Rounding towards 0 makes no entry larger, so every bound that held before holds after it; and sums that are exact
    do not depend on their order, so neighbours differ by what they contribute and by no rounding error.
    """
    return np.asarray(np.trunc(values * 2.0**30) * 2.0**-30)


def most_on_lattice(largest: float) -> int:
    """Over how many users sums of such values are exact, if none is larger: doubles hold multiples of 2**-30 to 2**23.

    >>> most_on_lattice(1.0) == 2**23
    True
    """
    return int(2.0**23 / largest)
