"""Many noisy sums that are planned together and drawn one by one, each over a secret sample of the users.

Noisy gradient descent asks for hundreds of sums, each of which depends on the answer before. Charged one by one that is
very expensive; but how many there are, how far one user moves each and who is sampled how often is known before the
first. So all of them are one line of the ledger, and are accounted together.

**Guarantee.** In step t every user is in the sample with probability q, independently of all others and of all other
steps, and the answer is the sum over the sample plus Gaussian noise of standard deviation z·C, where no user moves a
sum by more than C. Fix the answers before, so that the question is fixed too. With and without one user the answer then
has the law (1 − q)·N(a, z²C²) + q·N(a + d, z²C²) and N(a, z²C²), averaged over the samples of the others, where
‖d‖ ≤ C. This is no easier to tell apart than (1 − q)·N(0, z²) + q·N(1, z²) and N(0, z²) in one dimension (Zhu, Dong &
Wang 2022, theorem 11), whatever the answers before were; so T steps are no easier to tell apart than T independent
draws of it, which is what the ledger composes. ∎ It needs three things, and the population sees to them:

- One user is added or removed. If a user is replaced, or a single rating comes or goes, that user is sampled in both
  worlds, and being sampled may show: with probability q the answer then tells as much as without sampling.
- Nobody learns who was sampled, nor how many.
- The sensitivity of every step is the one that was declared.
"""

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Never, SupportsIndex

from discreet.data.ratings import Ratings
from discreet.doors import checked
from discreet.errors import InputError, OverspentError, require, require_whole
from discreet.populations.contribution import Contribution
from discreet.privacy.unit import Bound, Unit
from discreet.types import AnyArray, Doubles


@checked
@dataclass(frozen=True, kw_only=True)
class Steps:
    """What a model asks a population for: so many sums of one shape, each over a fresh sample of the users.

    Parameters
    ----------
    name
        What is summed, in words: this is what the ledger shows.
    shape
        Shape of every sum. Public.
    bounds
        How far one unit moves a sum at most, in L2.
    count
        How many steps there will be at most. Those that are never drawn are paid for all the same.
    sampling_rate
        The probability with which a user is in the sample, anew in each step; 1 for everybody always.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=500, items=30, ratings=6000, seed=1)
    >>> server = dc.TrustedServer(ratings, dc.Ledger(1.0, 1e-6, dc.User()))
    >>> asked = Steps(name="steps", shape=(), bounds=(dc.Bound("user", "l2", 1.0),), count=10, sampling_rate=0.1)
    >>> drawn = server.steps(asked)
    >>> noisy = drawn.sum(asked.contribution(lambda ratings: float(ratings.n_users)))
    >>> drawn.left, server.spends[0].times
    (9, 10)
    """

    name: str
    shape: tuple[int, ...]
    bounds: tuple[Bound, ...]
    count: int
    sampling_rate: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(self.shape))
        object.__setattr__(self, "bounds", tuple(self.bounds))
        require_whole("count", self.count, least=1)
        require(0 < self.sampling_rate <= 1, f"sampling_rate must lie in (0, 1], got {self.sampling_rate}")
        require(
            len(self.bounds) > 0 and all(bound.norm == "l2" for bound in self.bounds),
            f"{self.name!r} needs a bound in l2, which Gaussian noise hides",
        )

    def contribution(
        self, total: Callable[[Ratings], AnyArray], on_device: Callable[[Ratings], Any] | None = None
    ) -> Contribution:
        """The question of one step; ``on_device`` computes the same as a tensor on a GPU."""
        return Contribution(self.name, self.shape, total, self.bounds, noise="gaussian", on_device=on_device)

    def check_unit(self, unit: Unit) -> None:
        """Raise where sampling users is not proven to hide more."""
        proven = unit.name == "user" and unit.neighbours == "add-or-remove"
        require(
            self.sampling_rate == 1 or proven,
            f"{self.name!r} samples users, which is proven to hide more of a user who is present or absent, and not of "
            f"{unit}: ask with sampling_rate=1, or keep a ledger for User()",
        )

    def check(self, contribution: Contribution) -> None:
        """Raise unless a contribution is what was planned."""
        for what, planned, asked in (
            ("name", self.name, contribution.name),
            ("shape", self.shape, contribution.shape),
            ("bounds", self.bounds, contribution.bounds),
        ):
            require(
                planned == asked,
                f"a step has another {what} than was planned for {self.name!r}: {asked!r} and not {planned!r}; "
                "nothing was computed",
            )
        require(not contribution.chooses, f"{self.name!r} was not planned as a choice of settings")


Question = Contribution | Steps
"""What may be asked how much noise it would get."""


class StepSums:
    """Steps that are paid for, to be drawn one by one.

    Parameters
    ----------
    asked
        What was planned.
    deviation
        Standard deviation of the noise on each cell of each step. Public.
    answer
        Gives one step.
    on_device
        Gives one step as a tensor, on the GPU where its noise was made too; None where there is no such.
    """

    def __init__(
        self,
        asked: Steps,
        deviation: float,
        answer: Callable[[Contribution], Doubles],
        on_device: Callable[[Contribution], Any] | None = None,
    ) -> None:
        self.asked, self.deviation = asked, deviation
        self._answer, self._on_device, self._left = answer, on_device, asked.count
        self._process, self._lock = os.getpid(), threading.Lock()

    @property
    def left(self) -> int:
        """How many steps may still be drawn."""
        return self._left

    def sum(self, contribution: Contribution) -> Doubles:
        """The next step: the sum over a fresh sample, with noise. It is made over :attr:`Steps.sampling_rate` of all
        users on average, and is not scaled up."""
        self._take(contribution)
        return self._answer(contribution)

    @property
    def stays_on_device(self) -> bool:
        """Whether :meth:`sum_on_device` can answer."""
        return self._on_device is not None

    def sum_on_device(self, contribution: Contribution) -> Any:
        """The next step as :meth:`sum` gives it, but as a tensor on a GPU: the same lattice and the same noise."""
        if self._on_device is None or contribution.on_device is None:
            raise InputError(f"{contribution.name!r} is not summed on a GPU here: ask with sum")
        self._take(contribution)
        return self._on_device(contribution)

    def _take(self, contribution: Contribution) -> None:
        self.asked.check(contribution)
        if os.getpid() != self._process:
            raise InputError("these steps belong to another process, and a copy of them cannot keep count")
        with self._lock:
            if self._left == 0:
                raise OverspentError(
                    f"all {self.asked.count} steps that were planned for {self.asked.name!r} are drawn; "
                    "nothing was computed"
                )
            self._left -= 1

    def __reduce_ex__(self, protocol: SupportsIndex) -> Never:
        """Refuse copies: each would have all steps that are left."""
        raise InputError("steps cannot be copied or pickled: each copy would draw what was paid for once")

    def __repr__(self) -> str:
        return f"StepSums({self.asked.name!r}, {self._left} of {self.asked.count} left)"
