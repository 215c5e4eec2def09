"""How many ratings a user contributes, as the paper has it (3.2): (p_k/ω)(d + 1 + ln(1/δ)), p_k in [p_min, 1].

d is the number of items. Users below the least are left out, and of those above the most only so many ratings are kept:
:func:`discreet.data.construction.bound_users`. Theorem 1 sets the constant of an O(·) bound to 1, and takes users who
share one model for independent samples: it promises nothing.

For MovieLens 100K the paper prints [3, 1772], with which nobody loses a rating. The formula gives [34, 33,707]. 1,772
is (1,682 + log₁₀(1/δ))/(1 − ω), rounded up; the 3 is not found.
"""

import math

from discreet.errors import require_number, require_whole

OMEGA, DELTA, LEAST_SHARE = 0.05, 0.1, 0.001
"""ω, δ and p_min of all experiments."""


def contribution_bounds(
    items: int, omega: float = OMEGA, delta: float = DELTA, least_share: float = LEAST_SHARE, *, printed: bool = False
) -> tuple[int, int]:
    """The least and the most ratings of a user: by the formula, or so that the printed 1,772 comes out.

    >>> contribution_bounds(1682), contribution_bounds(1682, printed=True)
    ((34, 33707), (2, 1772))
    """
    require_whole("items", items, least=1)
    for name, share in (("omega", omega), ("delta", delta)):
        require_number(name, share, above=0, below=1)
    require_number("least_share", least_share, above=0, most=1)
    if printed:
        most = math.ceil((items + math.log10(1 / delta)) / (1 - omega))
    else:
        most = math.ceil((items + 1 + math.log(1 / delta)) / omega)
    return math.ceil(least_share * most), most
