"""Hiding which items were rated: randomised response over every item of a public list.

For every item of the list there is a secret: 0 for "not rated", or 1 … k for the level that the rating has. Each is
answered by (k + 1)-ary randomised response on its own: the truth with p = e^ε / (e^ε + k), every other answer with
q = p / e^ε. A report lists the items whose answer is not 0, with the level that was answered. Most of it is made up: of
m items about m · k · q are listed that were never rated.

**Guarantee.** epsilon-local differential privacy for one rating, present or absent, and for its value: either changes
one secret, and the odds of every answer to it differ by at most p/q ≤ e^ε (:mod:`discreet.collect.windows`, drawn in
integers). Two histories that differ in n items are hidden from each other with n · epsilon. The list must
be public: on a list that was read off a user's ratings, an item that is never answered for was certainly not rated.

**What can be made of it.** With N reports, c of which list item i at level v, (c − N·q) / (p − q) is an unbiased
estimate of how many users gave item i that level: :meth:`HiddenItems.estimate`. Its deviation is about
√(N q) / (p − q), so it takes many users to see anything. The values are answers, not unbiased estimates of ratings, and
a model that takes them for ratings learns from noise; use the estimates.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.collect.channel import SEEDED
from discreet.collect.mechanisms import EVERYONE, RandomisedResponse, check_epsilon, levels_of
from discreet.collect.windows import Windows
from discreet.data.catalogue import Scale
from discreet.data.history import History
from discreet.data.report import ReportForm, UserReport
from discreet.doors import checked, checked_methods
from discreet.errors import require
from discreet.privacy.guarantee import Guarantee, Loss
from discreet.privacy.randomness import Randomness
from discreet.privacy.unit import Rating
from discreet.types import Doubles

if TYPE_CHECKING:
    from discreet.data.ratings import Ratings


@checked
@checked_methods
@dataclass(frozen=True, kw_only=True)
class HiddenItems:
    """Answer for every item of the catalogue, rated or not; the history's catalogue must be the public list.

    Parameters
    ----------
    epsilon
        For one rating, present or absent.
    step
        Distance of two levels, 1 for whole stars.

    Examples
    --------
    >>> print(HiddenItems(epsilon=3.0).guarantee.unit)
    one rating, present or absent
    """

    epsilon: float
    step: float = 1.0
    name: ClassVar[str] = "hidden-items"

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        require(self.step > 0, f"step must be positive, got {self.step:g}")

    @property
    def settings(self) -> dict[str, float]:
        """What a report says of it."""
        return {"epsilon": self.epsilon, "step": self.step}

    @property
    def guarantee(self) -> Guarantee:
        """Epsilon for one rating, present or absent."""
        return Guarantee(
            reason="the odds of every answer differ by a factor of at most e^epsilon, rated or not",
            proven=Loss(self.epsilon),
            unit=Rating(),
            protects_from=EVERYONE,
        )

    def law(self, scale: Scale) -> Windows:
        """The law of the answer for one item: 0 for not rated, 1 … k for the levels."""
        return Windows.of_epsilon(levels_of(scale, self.step) + 1, 1, self.epsilon)

    def form(self, scale: Scale, *, seeded: bool = False) -> ReportForm:
        """What every report has in common."""
        return ReportForm(self.name, self.settings, scale, scale, seeded)

    def perturb(self, history: History, randomness: Randomness) -> UserReport:
        """One user's report: an answer for every item of the history's catalogue."""
        catalogue = history.catalogue
        require(
            catalogue.declared,
            "the list of items was read off the ratings, so a report on it would say which were rated; "
            "hidden items need the public list: Catalogue.of(..., declared=True)",
        )
        scale = catalogue.scale
        secrets = np.zeros(len(catalogue), dtype=np.int64)
        levels = RandomisedResponse(epsilon=self.epsilon, step=self.step).channel(scale)
        secrets[history.items] = levels.secrets(history.values) + 1
        answers = self.law(scale).draw(secrets, randomness)
        listed = np.flatnonzero(answers)
        return UserReport(
            form=self.form(scale, seeded=randomness.is_seeded),
            items=tuple(catalogue.items.names[listed].tolist()),
            values=np.asarray(scale.low + self.step * (answers[listed] - 1.0), dtype=np.float64),
            guarantee=str(SEEDED if randomness.is_seeded else self.guarantee),
        )

    def estimate(self, reported: "Ratings") -> Doubles:
        """How many users gave each item each level (items × levels), from what was reported; unbiased."""
        scale = reported.catalogue.scale
        law = self.law(scale)
        levels = law.inputs - 1
        level = np.rint((reported.values - scale.low) / self.step).astype(np.int64)
        cells = reported.item_index.astype(np.int64) * levels + level
        counts = np.bincount(cells, minlength=reported.n_items * levels).reshape(reported.n_items, levels)
        truth, other = law.inside / law.total, law.outside / law.total
        return np.asarray((counts - reported.n_users * other) / (truth - other), dtype=np.float64)

    def deviation(self, users: int, scale: Scale) -> float:
        """Standard deviation of an estimate for an item that few users rated."""
        law = self.law(scale)
        truth, other = law.inside / law.total, law.outside / law.total
        return float(np.sqrt(users * other * (1 - other)) / (truth - other))
