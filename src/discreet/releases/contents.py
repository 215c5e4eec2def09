"""What the arrays of a release hold, in words: patterns that were found, and not the zeros that fill them up."""

from collections.abc import Mapping

from discreet.types import AnyArray

NOTHING = "none above the noise"


def patterns_in(array: AnyArray) -> tuple[int, int]:
    """How many factors were found, and for how many items: columns and rows that are not all zeros.

    >>> import numpy as np
    >>> patterns_in(np.array([[1.0, 0], [2, 0], [0, 0]]))
    (1, 2)
    """
    return int(array.any(axis=0).sum()), int(array.any(axis=1).sum())


def described(arrays: Mapping[str, AnyArray]) -> dict[str, str]:
    """A few words for each array.

    >>> import numpy as np
    >>> described({"item_factors": np.zeros((3, 2), np.float32), "counts": np.ones(3, np.float32)})
    {'item_factors': 'none above the noise', 'counts': '3 float32'}
    """
    weightless = "neighbour_weights" in arrays and not arrays["neighbour_weights"].any()
    none = dict.fromkeys(("neighbours", "neighbour_weights"), NOTHING) if weightless else {}
    return {name: none.get(name) or _words(name, array) for name, array in arrays.items()}


def _words(name: str, array: AnyArray) -> str:
    if name.endswith("factors") and array.ndim == 2 and array.dtype.kind == "f":
        patterns, items = patterns_in(array)
        if patterns == 0:
            return NOTHING
        return f"{patterns:,} factor{'' if patterns == 1 else 's'} of {items:,} item{'' if items == 1 else 's'}"
    return f"{' by '.join(map(str, array.shape))} {array.dtype}"
