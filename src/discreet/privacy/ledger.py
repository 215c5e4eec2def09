"""A limit, and everything that was spent of it; what would overspend is refused before it is computed."""

import math
import os
import threading
from typing import Any

from discreet.errors import InputError, OverspentError, is_number, require, require_type
from discreet.privacy.spend import Spend
from discreet.privacy.unit import Rating, Unit, User, unit_from_json, unit_to_json

ROUNDING = 1e-9
SMALLEST_EPSILON, LARGEST_EPSILON = 1e-9, 1000.0
"""Below this noise would leave no digit of any sum; above it there is no promise left to speak of."""


class Ledger:
    """What may be spent on one data set, and what was.

    Parameters
    ----------
    epsilon, delta
        The limit. Epsilon must be positive and finite; delta 0 allows pure mechanisms only.
    unit
        Whose secret is kept.

    Notes
    -----
    Disjoint items compose in parallel for the unit rating: one rating touches one of them, so a vector over all
    items has the bound of a single entry. Ask for them in one contribution, which is one spend; two sums over half
    the items each are two spends. A user touches many items: for users there is nothing parallel about it.

    Examples
    --------
    >>> ledger = Ledger(epsilon=1.0, unit=Rating())
    >>> ledger.charge(Spend(what="counts", mechanism="laplace", norm="l1", sensitivity=1, scale=2.0))
    >>> ledger.spent, ledger.remaining
    (0.5, 0.5)
    >>> ledger.charge(Spend(what="sums", mechanism="laplace", norm="l1", sensitivity=2, scale=2.0))
    Traceback (most recent call last):
    discreet.errors.OverspentError: 'sums' would bring the spending to epsilon 1.5, which is 0.5 over the limit of 1; \
nothing was computed
    """

    def __init__(self, epsilon: float, delta: float = 0.0, unit: Unit | None = None) -> None:
        for name, value in {"epsilon": epsilon, "delta": delta}.items():
            require(is_number(value), f"{name} must be a number, got {type(value).__name__}")
        if unit is not None:
            require_type(unit, (Rating, User), "unit must be Rating() or User()")
        require(math.isfinite(epsilon) and epsilon > 0, f"epsilon must be positive and finite, got {epsilon}")
        require(epsilon >= SMALLEST_EPSILON, f"epsilon {epsilon:g} is too small: at least {SMALLEST_EPSILON:g}")
        require(
            epsilon <= LARGEST_EPSILON,
            f"epsilon {epsilon:g} promises nothing: at most {LARGEST_EPSILON:g}, or none at all for no privacy",
        )
        require(0 <= delta < 1, f"delta must lie in [0, 1), got {delta}")
        self.epsilon, self.delta = float(epsilon), float(delta)
        self.unit: Unit = Rating() if unit is None else unit
        self._spends: tuple[Spend, ...] = ()
        self._process = os.getpid()
        self._lock = threading.Lock()

    @property
    def spends(self) -> tuple[Spend, ...]:
        """Every look at the data, in order."""
        return self._spends

    @property
    def spent(self) -> float:
        """The epsilon that all spends cost together at the ledger's delta."""
        return self.cost()

    @property
    def remaining(self) -> float:
        """How much epsilon is left. Composition is no sum: several spends may cost less than they add up to."""
        return max(0.0, self.epsilon - self.spent)

    @property
    def sampler_delta(self) -> float:
        """What the samplers add to delta; all the delta there is in an otherwise pure guarantee."""
        from discreet.privacy.accounting import sampler_delta

        return sampler_delta(self._spends, self.spent)

    def cost(self, weight: float = 1.0) -> float:
        """What the spends cost a unit that takes part with ``weight`` times the full contribution."""
        from discreet.privacy.accounting import adaptive_epsilon_of

        return adaptive_epsilon_of([spend.for_weight(weight) for spend in self._spends], self.delta)

    def charge(self, *spends: Spend) -> None:
        """Book spends, all or none; one that would exceed the limit is refused and nothing is booked."""
        from discreet.privacy.accounting import adaptive_epsilon_of

        require(
            os.getpid() == self._process,
            "this ledger belongs to another process, and a copy of it cannot keep count: "
            "make one in each process, and let a Budget keep count of all",
        )
        require(
            self.unit.neighbours == "add-or-remove" or all(spend.sampling_rate == 1 for spend in spends),
            "amplification by sampling is proven for adding or removing a unit, not for replacing it",
        )
        with self._lock:
            after = adaptive_epsilon_of((*self._spends, *spends), self.delta)
            if after > self.epsilon * (1 + ROUNDING):
                names = ", ".join(repr(spend.what) for spend in spends)
                if math.isinf(after) and self.delta > 0:
                    raise OverspentError(
                        f"{names} cannot be had at epsilon {self.epsilon:g} and delta {self.delta:g}: "
                        "the samplers alone are off with larger odds; nothing was computed"
                    )
                if math.isinf(after):
                    raise OverspentError(
                        f"{names} adds Gaussian noise, which needs a delta above 0, and the ledger has delta 0; "
                        "nothing was computed"
                    )
                raise OverspentError(
                    f"{names} would bring the spending to epsilon {after:.4g}, which is "
                    f"{after - self.epsilon:.4g} over the limit of {self.epsilon:g}; nothing was computed"
                )
            self._spends = (*self._spends, *spends)

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "unit": unit_to_json(self.unit),
            "spends": [spend.to_json() for spend in self._spends],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Ledger":
        """Back from plain data; a ledger that exceeds its own limit is refused."""
        try:
            ledger = cls(data["epsilon"], data["delta"], unit_from_json(data["unit"]))
            ledger.charge(*(Spend.from_json(line) for line in data["spends"]))
        except (KeyError, TypeError) as error:
            raise InputError(f"this is not a ledger: {error}") from None
        return ledger

    def __repr__(self) -> str:
        return f"Ledger(epsilon={self.epsilon:g}, delta={self.delta:g}, unit={self.unit}, {len(self._spends)} spends)"
