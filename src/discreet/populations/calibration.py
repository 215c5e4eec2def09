"""How much noise a contribution needs for its share of a budget."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from discreet.data.handling import Handling
from discreet.errors import InputError, require
from discreet.populations.bounded import moved_by_unit
from discreet.populations.contribution import Contribution
from discreet.populations.steps import Steps
from discreet.privacy.ledger import Ledger
from discreet.privacy.noise import add_gaussian, add_laplace, grid_of
from discreet.privacy.randomness import Randomness
from discreet.privacy.slabs import NoiseOnDevice, add_many_gaussians
from discreet.privacy.spend import Spend
from discreet.privacy.unit import Norm
from discreet.types import Doubles

MANY = 1 << 20
"""Sums of so many cells get their noise from :mod:`discreet.privacy.slabs`: the same law, drawn in another way."""

Noise = Literal["laplace", "gaussian"]

FLOAT_MARGIN = 2.0**-20
"""Sums of doubles round, so neighbouring totals may differ by a little more than their bound: so much is allowed."""


@dataclass(frozen=True)
class CalibratedNoise:
    """Noise for one contribution: its line in the ledger, and the lattice it is drawn on."""

    spend: Spend
    grid: float

    def add_noise(self, total: Doubles, randomness: Randomness) -> Doubles:
        """Round to the lattice and add the noise."""
        # What is no finite number has no place on a lattice. It counts 0: an error would come after the charge.
        finite = np.isfinite(total)
        if not finite.all():
            total = np.where(finite, total, 0.0)
        if self.spend.mechanism == "laplace":
            return add_laplace(total, self.spend.scale, self.grid, randomness)
        add = add_many_gaussians if np.size(total) >= MANY else add_gaussian
        return add(total, self.spend.scale, self.grid, randomness)

    def begin_on_device(self, size: int, randomness: Randomness, device: str) -> NoiseOnDevice:
        """Start to make the noise of so many cells on a GPU, which then does something else meanwhile."""
        require(self.spend.mechanism == "gaussian", "only Gaussian noise is made on a GPU")
        return NoiseOnDevice(self.spend.scale, self.grid, size, randomness, device)

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise on each cell."""
        return self.spend.scale * (math.sqrt(2) if self.spend.mechanism == "laplace" else 1.0)


def noise_for(ledger: Ledger) -> Noise:
    """Laplace noise for one rating, which touches few cells; Gaussian for a user, who touches many."""
    return "gaussian" if ledger.unit.name == "user" and ledger.delta > 0 else "laplace"


def calibrate_noise(
    contribution: Contribution,
    share: float,
    ledger: Ledger,
    noise: Noise | None,
    handling: Handling,
    *,
    seeded: bool = False,
) -> CalibratedNoise:
    """The least noise with which a contribution costs its share of the ledger's limit.

    Shares add up: of epsilon for Laplace noise; of μ² for Gaussian noise, where μ = sensitivity / σ, since
    the squares of μ add up. Replacing a unit moves a statistic twice, once down and once up again, unless its bound
    says that it is less; and so may one event more, where repeats were merged (``handling``).

    Where no noise is asked for, it is the one for the ledger. Beside Laplace noise, a contribution that is bounded in
    L2 alone gets Gaussian noise if the ledger has a delta: then all shares are of epsilon, and all of delta goes to it.
    One such sum and any number of Laplace ones before it together cost the sum of their epsilons, and delta once; in
    another order they do so only where they are planned together (:mod:`discreet.privacy.composition`).
    """
    require(0 < share <= 1, f"the share of a budget lies in (0, 1], got {share}")
    part_of_epsilon = False
    if noise is None and contribution.noise == "gaussian" and ledger.delta > 0:
        noise = "gaussian"
    elif noise is None:
        noise = noise_for(ledger)
        if noise == "laplace" and ledger.delta > 0 and {bound.norm for bound in contribution.bounds} == {"l2"}:
            noise, part_of_epsilon = "gaussian", True
    norm: Norm = "l1" if noise == "laplace" else "l2"
    moved, cells = moved_by_unit(contribution, ledger.unit, norm, handling)
    reach = cells if noise == "laplace" else math.sqrt(cells)  # what rounding adds, in grid steps
    sensitivity = moved * (1 + FLOAT_MARGIN)
    if noise == "laplace":
        multiplier = 1 / (share * ledger.epsilon)
    elif part_of_epsilon:
        multiplier = _gaussian_multiplier(share * ledger.epsilon, ledger.delta)
    else:
        multiplier = _gaussian_multiplier(ledger.epsilon, ledger.delta) / math.sqrt(share)
    grid = grid_of(sensitivity * multiplier, reach)
    sensitivity += reach * grid
    spend = Spend(
        what=contribution.name,
        mechanism=noise,
        norm=norm,
        sensitivity=sensitivity,
        scale=sensitivity * multiplier,
        rounding=reach * grid,
        seeded=seeded,
        chooses=contribution.chooses,
        weighted=ledger.weighted,
    )
    return CalibratedNoise(spend, grid)


def calibrate_steps(
    steps: Steps, share: float, ledger: Ledger, handling: Handling, *, seeded: bool = False
) -> CalibratedNoise:
    """The least Gaussian noise on every step with which all of them together cost their share of the ledger's limit.

    Shares are of μ², as those of Gaussian sums; how they are met with sampling is in
    :func:`~discreet.privacy.accounting.sampled_noise_multiplier`. One line in the ledger holds all steps.
    """
    from discreet.privacy.accounting import sampled_noise_multiplier
    from discreet.privacy.composition import SET_ASIDE

    require(0 < share <= 1, f"the share of a budget lies in (0, 1], got {share}")
    require(ledger.delta > 0, f"{steps.name!r} has Gaussian noise, which needs a delta above 0, for example 1e-6")
    steps.check_unit(ledger.unit)
    asked = steps.contribution(lambda ratings: np.zeros(steps.shape))
    moved, cells = moved_by_unit(asked, ledger.unit, "l2", handling)
    reach, sensitivity = math.sqrt(cells), moved * (1 + FLOAT_MARGIN)
    usable = ledger.delta * (1 - SET_ASIDE)
    multiplier = sampled_noise_multiplier(ledger.epsilon, usable, steps.sampling_rate, steps.count, share) * (1 + 1e-9)
    grid = grid_of(sensitivity * multiplier, reach)
    sensitivity += reach * grid
    spend = Spend(
        what=steps.name,
        mechanism="gaussian",
        norm="l2",
        sensitivity=sensitivity,
        scale=sensitivity * multiplier,
        sampling_rate=steps.sampling_rate,
        times=steps.count,
        rounding=reach * grid,
        seeded=seeded,
        weighted=ledger.weighted,
    )
    return CalibratedNoise(spend, grid)


@lru_cache(maxsize=64)
def _gaussian_multiplier(epsilon: float, delta: float) -> float:
    from discreet.privacy.accounting import gaussian_noise_multiplier
    from discreet.privacy.composition import SET_ASIDE

    if delta == 0:
        raise InputError("Gaussian noise needs a delta above 0, for example 1e-6; with delta 0 use Laplace noise")
    # A thousandth of delta is set aside for the samplers, and a hair of noise for the last digit of the search.
    return gaussian_noise_multiplier(epsilon, delta * (1 - SET_ASIDE)) * (1 + 1e-9)
