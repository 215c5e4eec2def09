"""A limit, and everything that was spent of it; what would overspend is refused before it is computed."""

import math
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from discreet.doors import checked
from discreet.errors import InputError, OverspentError, is_number, require, require_type
from discreet.privacy.levels import Level, Offer
from discreet.privacy.spend import Spend
from discreet.privacy.unit import Rating, Unit, User, unit_from_json, unit_to_json

ROUNDING = 1e-9
SMALLEST_EPSILON, LARGEST_EPSILON = 1e-9, 1000.0
"""Below this noise would leave no digit of any sum; above it there is no promise left to speak of."""
MOST_LINES = 1000
"""So many are added up in seconds by whoever loads a release: a longer one would be paid for and never read."""


@checked
class Ledger:
    """What may be spent on one data set, and what was.

    Parameters
    ----------
    epsilon, delta
        The limit. Epsilon must be positive and finite; delta 0 allows pure mechanisms only.
    unit
        Whose secret is kept.
    levels
        Privacy levels on offer, by name, each with an epsilon of its own: ``{"strict": 0.25, "normal": 1.0}``. A
        population weights everybody's contributions accordingly (:mod:`discreet.privacy.levels`).

    Notes
    -----
    Disjoint items compose in parallel for the unit rating: one rating touches one of them, so a vector over all
    items has the bound of a single entry. Ask for them in one contribution, which is one spend; two sums over half
    the items each are two spends. A user touches many items: for users there is nothing parallel about it.

    **Guarantee.** With a plan (:meth:`plan`), what the planned spends cost together. Without one the limit, as soon as
    anything was spent: whether to look once more is then decided after seeing answers, so what was spent in the end is
    itself an answer. (A ledger without spends has told nothing: the first look is decided on before any answer.) The
    proofs are in :mod:`discreet.privacy.composition`.

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

    def __init__(
        self,
        epsilon: float,
        delta: float = 0.0,
        unit: Unit | None = None,
        *,
        levels: Mapping[str, float] | None = None,
    ) -> None:
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
        self._epsilon, self._delta = float(epsilon), float(delta)
        self._unit: Unit = Rating() if unit is None else unit
        self._offer = Offer(epsilons={})
        self._levels: tuple[Level, ...] = ()
        self._wished = False
        if levels:
            self._take(Offer(epsilons=levels))
        self._batches: tuple[tuple[Spend, ...], ...] = ()
        self._plan: tuple[Spend, ...] | None = None
        self._payer: Callable[[Ledger, Spend], None] | None = None
        self._process = os.getpid()
        self._lock = threading.Lock()

    @property
    def epsilon(self) -> float:
        """The limit. It cannot be changed: what was spent was promised under it."""
        return self._epsilon

    @property
    def delta(self) -> float:
        """The delta of the limit."""
        return self._delta

    @property
    def unit(self) -> Unit:
        """Whose secret is kept."""
        return self._unit

    @property
    def levels(self) -> tuple[Level, ...]:
        """The privacy levels on offer, each with a limit of its own."""
        return self._levels

    @property
    def offered(self) -> Offer:
        """Which levels there are, and how whoever chose one takes part."""
        return self._offer

    @property
    def weighted(self) -> bool:
        """Whether contributions are multiplied by the weight of a level."""
        return bool(self._levels) and self._offer.by == "weights"

    def offer(self, offer: Offer) -> None:
        """Set the privacy levels, once and before the first look; the one population with wishes does so.

        A second one might have others choose these levels: who is strict in one of them would pay in full in the other.
        """
        if self._levels:
            require(offer == self._offer, "this ledger offers other privacy levels already: start with a fresh one")
            require(offer.by == "weights", "a sample is drawn once for a ledger, and was: start with a fresh ledger")
            require(not self._wished, "a ledger keeps the wishes of one population: start with a fresh ledger")
            self._wished = True
            return
        require(
            not self._batches and self._plan is None,
            "privacy levels are offered before the first look: start with a fresh ledger",
        )
        self._take(offer)
        self._wished = True

    def _take(self, offer: Offer) -> None:
        self._offer, self._levels = offer, offer.levels(self._epsilon, self._delta, self._unit)

    @property
    def spends(self) -> tuple[Spend, ...]:
        """Every look at the data, in order."""
        return tuple(spend for batch in self._batches for spend in batch)

    @property
    def planned(self) -> tuple[Spend, ...] | None:
        """What will have been spent in the end, where that was fixed before the first look; else None."""
        return self._plan

    @property
    def spent(self) -> float:
        """What the plan costs, all of it; without a plan how much of the limit is used up, at the ledger's delta."""
        return self.cost()

    @property
    def remaining(self) -> float:
        """How much epsilon is left. Composition is no sum: several spends may cost less than they add up to."""
        return max(0.0, self.epsilon - self.spent)

    @property
    def sampler_delta(self) -> float:
        """What the samplers add to delta; all the delta there is in an otherwise pure guarantee.

        Without a plan and with a delta of 0 it is what all samplers together are allowed.
        """
        from discreet.privacy.accounting import sampler_delta
        from discreet.privacy.composition import samplers_delta

        if self._plan is not None:
            return sampler_delta(self._plan, self.spent)
        if self.delta == 0:
            return samplers_delta(self.epsilon, 0.0)
        return sampler_delta(self.spends, self.epsilon)

    def cost(self, weight: float = 1.0) -> float:
        """As :attr:`spent`, for a unit that takes part with ``weight`` times the full contribution."""
        from discreet.privacy.composition import composed_epsilon

        if self._plan is not None:
            return composed_epsilon([spend.for_weight(weight) for spend in self._plan], self.delta)
        return self._filtered([[spend.for_weight(weight) for spend in batch] for batch in self._batches])

    def cost_of(self, level: Level) -> float:
        """What whoever chose a level pays for the plan, all of it; without a plan, the limit of the level."""
        from discreet.privacy.composition import composed_epsilon

        if self._plan is None:
            return level.epsilon
        return level.paid(composed_epsilon([spend.for_level(level.weight) for spend in self._plan], self.delta))[0]

    def plan(self, *spends: Spend) -> None:
        """Fix what will be spent, before the first look; every charge must then be what is next in the plan.

        >>> ledger = Ledger(epsilon=1.0)
        >>> ledger.plan(Spend(what="counts", mechanism="laplace", norm="l1", sensitivity=1, scale=2.0))
        >>> ledger.charge(Spend(what="sums", mechanism="laplace", norm="l1", sensitivity=1, scale=2.0))
        Traceback (most recent call last):
        discreet.errors.OverspentError: 'sums' is not what was planned next; nothing was computed
        """
        from discreet.privacy.composition import composed_epsilon

        self._check_process()
        self._check_sampling(spends)
        self._check_length(len(spends))
        with self._lock:
            require(
                self._plan is None and not self._batches,
                "a plan is made before the first look, and once: start with a fresh ledger",
            )
            self._check_limit(spends, composed_epsilon(spends, self.delta))
            for level in self.levels:
                own = [spend.for_level(level.weight) for spend in spends]
                self._check_level(level, spends, level.paid(composed_epsilon(own, self.delta))[0])
            self._plan = tuple(spends)

    def charge(self, *spends: Spend) -> None:
        """Book spends, all or none; one that would exceed the limit is refused and nothing is booked.

        What is charged at once counts as planned together.
        """
        self._check_process()
        self._check_sampling(spends)
        self._check_length(len(self.spends) + len(spends))
        if self._payer is not None:
            for spend in spends:
                self._payer(self, spend)
        with self._lock:
            if self._plan is None:
                self._check_limit(spends, self._filtered((*self._batches, spends)))
                for level in self.levels:
                    self._check_level(level, spends, self._filtered_for(level, (*self._batches, spends)))
            else:
                done = len(self.spends)
                if self._plan[done : done + len(spends)] != spends:
                    raise OverspentError(f"{_names(spends)} is not what was planned next; nothing was computed")
            if spends:
                self._batches = (*self._batches, spends)

    def paid_by(self, payer: "Callable[[Ledger, Spend], None]") -> None:
        """Let an account pay for every spend before it is charged, whoever charges it; the account may refuse."""
        require(self._payer is None, "another account pays for this ledger already: make a ledger for each account")
        self._payer = payer

    def __copy__(self) -> "Ledger":
        return self  # a limit is kept once: what was copied would be spent twice

    def __deepcopy__(self, memo: dict[int, Any]) -> "Ledger":
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise InputError(
            "a ledger cannot be pickled, since its copy would be spent a second time: make one in each process, and "
            "let a Budget keep count of all"
        )

    def copy(self) -> "Ledger":
        """Another ledger with the same limit, plan and spends."""
        ledger = self.fresh()
        ledger._batches, ledger._plan, ledger._wished = self._batches, self._plan, self._wished
        return ledger

    def fresh(self) -> "Ledger":
        """Another ledger with the same limit, in which nothing is spent."""
        ledger = Ledger(self.epsilon, self.delta, self.unit)
        ledger._offer, ledger._levels = self._offer, self._levels
        return ledger

    def _filtered_for(self, level: Level, batches: Sequence[Sequence[Spend]]) -> float:
        from discreet.privacy.composition import filtered_epsilon

        own = [[spend.for_level(level.weight) for spend in batch] for batch in batches]
        limit = level.epsilon if self.weighted else self.epsilon
        return level.paid(filtered_epsilon(own, self.delta, limit))[0]

    def _check_level(self, level: Level, spends: Sequence[Spend], after: float) -> None:
        if after > level.epsilon * (1 + ROUNDING):
            raise OverspentError(
                f"{_names(spends)} would bring users of the level {level.name!r} to epsilon {after:.4g}, which is over "
                f"their limit of {level.epsilon:g}; nothing was computed"
            )

    def _filtered(self, batches: Sequence[Sequence[Spend]]) -> float:
        from discreet.privacy.composition import filtered_epsilon

        return filtered_epsilon(batches, self.delta, self.epsilon)

    def _check_process(self) -> None:
        require(
            os.getpid() == self._process,
            "this ledger belongs to another process, and a copy of it cannot keep count: "
            "make one in each process, and let a Budget keep count of all",
        )

    def _check_sampling(self, spends: Sequence[Spend]) -> None:
        require(
            self.unit.neighbours == "add-or-remove" or all(spend.sampling_rate == 1 for spend in spends),
            "amplification by sampling is proven for adding or removing a unit, not for replacing it",
        )

    def _check_length(self, lines: int) -> None:
        require(
            lines <= MOST_LINES,
            f"a ledger has at most {MOST_LINES:,} lines, and this would be number {lines:,}: looks that are alike are "
            "one line with `times`; nothing was computed",
        )

    def _check_limit(self, spends: Sequence[Spend], after: float) -> None:
        if after <= self.epsilon * (1 + ROUNDING):
            return
        names = _names(spends)
        if math.isinf(after) and any(spend.sampling_rate < 1 for spend in self.spends):
            raise OverspentError(
                f"{names} would come over the limit of epsilon {self.epsilon:g}, delta {self.delta:g}: sampled steps "
                "before it were chosen alone and took the delta; plan all looks together; nothing was computed"
            )
        if math.isinf(after) and (self.delta > 0 or all(spend.mechanism != "gaussian" for spend in spends)):
            from discreet.privacy.accounting import refused_for_samplers

            odds = sum(spend.slack * spend.times for spend in (*self.spends, *spends))
            refused = refused_for_samplers(names, odds, self.epsilon, self.delta)
            raise OverspentError(f"{refused}; nothing was computed")
        if math.isinf(after):
            raise OverspentError(
                f"{names} adds Gaussian noise, which needs a delta above 0, and the ledger has delta 0; "
                "nothing was computed"
            )
        raise OverspentError(
            f"{names} would bring the spending to epsilon {after:.4g}, which is "
            f"{after - self.epsilon:.4g} over the limit of {self.epsilon:g}; nothing was computed"
        )

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "unit": unit_to_json(self.unit),
            "levels": self._offer.to_json() if self.levels else {},
            "plan": None if self._plan is None else [spend.to_json() for spend in self._plan],
            "spends": [[spend.to_json() for spend in batch] for batch in self._batches],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Ledger":
        """Back from plain data; a ledger that exceeds its own limit is refused."""
        try:
            unit = unit_from_json(data["unit"])
            ledger = cls(data["epsilon"], data["delta"], unit)
            if levels := data.get("levels"):
                ledger.offer(Offer(**levels) if "epsilons" in levels else Offer(epsilons=levels))
            if data["plan"] is not None:
                ledger.plan(*(Spend.from_json(line) for line in data["plan"]))
            for batch in data["spends"]:
                ledger.charge(*(Spend.from_json(line) for line in batch))
        except (KeyError, TypeError) as error:
            raise InputError(f"this is not a ledger: {error}") from None
        return ledger

    def __repr__(self) -> str:
        return f"Ledger(epsilon={self.epsilon:g}, delta={self.delta:g}, unit={self.unit}, {len(self.spends)} spends)"


def _names(spends: Sequence[Spend]) -> str:
    names = [repr(spend.what) for spend in spends]
    return ", ".join(names) if len(names) <= 3 else f"{', '.join(names[:2])} and {len(names) - 2} more"
