"""What is wrong for certain, whatever the noise was: found on exact totals, without a run and without statistics."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from discreet.audit.recording import Look
from discreet.data.ratings import Ratings
from discreet.populations.calibration import FLOAT_MARGIN
from discreet.populations.population import exact_total
from discreet.privacy.spend import Spend
from discreet.types import AnyArray, Doubles

ROUNDING = 1e-9
"""Of the greatest total: what sums of doubles may be off by, where no noise is booked that says how much matters."""
LARGE, FEW_UNITS = 1_000_000, 12
"""For statistics of so many cells only so many canaries are tried on exact totals: each takes its time."""


def telling(looks: Sequence[Look]) -> list[Look]:
    """All looks, but of many steps the first and the last alone."""
    steps = {look.steps: look for look in looks}
    firsts = {look.steps: look for look in reversed(looks)}
    return [look for look in looks if look.steps is None or look in (firsts[look.steps], steps[look.steps])]


@dataclass(eq=False)
class Exact:
    """Collects what is wrong: canaries beyond a declared bound, and statistics that are no sums over users.

    ``cap`` is how many ratings of a user a population says it uses: a longer canary moves what is asked by less than
    its own total, so its total alone is no fault. Whether the cap is kept is left to the statistics.
    """

    cap: int | None = None
    _beyond: dict[tuple[str, str], tuple[float, float]] = field(default_factory=dict)
    _no_sums: dict[str, None] = field(default_factory=dict)

    def see_move(self, spends: Sequence[Spend], moved: Doubles, ratings: int) -> None:
        """How far a canary with so many ratings moves what was asked."""
        self.see_size(spends, float(np.abs(moved).sum()), float(np.sqrt((moved**2).sum())), ratings)

    def see_size(self, spends: Sequence[Spend], l1: float, l2: float, ratings: int) -> None:
        """The same, as lengths."""
        if self.cap is not None and ratings > self.cap:
            return
        for spend in spends:
            size = l1 if spend.norm == "l1" else l2
            known = self._beyond.get((spend.what, spend.norm), (spend.sensitivity, spend.sensitivity))
            if size > spend.sensitivity and size / spend.sensitivity > known[0] / known[1]:
                self._beyond[spend.what, spend.norm] = size, spend.sensitivity

    def see_totals(self, look: Look, absent: AnyArray, present: AnyArray, moved: AnyArray) -> None:
        """The totals of both data sets, which should differ by what the canary adds and by nothing else."""
        gap = np.abs(present - absent - moved)
        allowed = ROUNDING * max(1.0, float(np.abs(present).max(initial=0.0)))
        size = float(gap.max(initial=0.0))
        if look.spends:  # the noise is made for a little more than the bound, because sums of doubles round
            (spend, *_) = look.spends
            size = float(gap.sum() if spend.norm == "l1" else np.sqrt((gap**2).sum()))
            allowed += FLOAT_MARGIN * spend.sensitivity
        if not size <= allowed:
            self._no_sums[look.contribution.name] = None

    def see_units(self, looks: Sequence[Look], units: Iterable[tuple[Ratings, Ratings]]) -> None:
        """Canaries of every kind, by their own totals alone."""
        small = [look for look in looks if look.answer.size <= LARGE]
        for number, (absent, present) in enumerate(units):
            for look in looks if number < FEW_UNITS else small:
                moved = exact_total(look.contribution, present) - exact_total(look.contribution, absent)
                self.see_move(look.spends, moved, len(present))

    def sentences(self) -> list[str]:
        """Each fault in words; of each statistic the canary that moves it furthest."""
        return [
            f"a canary moves {what!r} by {size:.4g} in {norm}, and the noise is made for {sensitivity:.4g}"
            for (what, norm), (size, sensitivity) in self._beyond.items()
        ] + [
            f"{name!r} is not a sum over users: one more user changes what it adds up for the others"
            for name in self._no_sums
        ]
