"""One line of a ledger: a mechanism that touched ratings, described as data."""

import dataclasses
import math
from dataclasses import dataclass, replace
from typing import Any, Literal

from discreet.doors import checked
from discreet.errors import InputError, require
from discreet.privacy.unit import Norm

MechanismName = Literal["laplace", "gaussian", "pure"]


@checked
@dataclass(frozen=True, kw_only=True)
class Spend:
    """What was looked at, and how it was hidden.

    Parameters
    ----------
    what
        The statistic, in words.
    mechanism
        ``laplace`` or ``gaussian`` noise, or ``pure`` for any other mechanism whose privacy loss never
        exceeds ``sensitivity / scale`` (randomised response, report noisy max, …).
    sensitivity
        How far one unit moves the statistic in ``norm``, rounding to the lattice included.
    rounding
        The part of ``sensitivity`` that comes from rounding to the lattice.
    scale
        Scale of the Laplace noise, or standard deviation of the Gaussian.
    sampling_rate
        Each unit takes part with this probability, independently, anew each time, and in secret.
    times
        How often it was done, each time with fresh noise.
    slack
        Odds that the sampler was not the ideal one; part of delta.
    seeded
        Whether the noise can be drawn again by whoever knows its seed; then nothing is proven.
    chooses
        Whether a setting was chosen by it (see :func:`discreet.privacy.choose`).
    weighted
        Whether every user's part in it was multiplied by the weight of their privacy level.

    Examples
    --------
    >>> Spend(what="counts", mechanism="laplace", norm="l1", sensitivity=1, scale=2.0).pure_epsilon
    0.5
    """

    what: str
    mechanism: MechanismName
    norm: Norm
    sensitivity: float
    scale: float
    sampling_rate: float = 1.0
    times: int = 1
    slack: float = 0.0
    rounding: float = 0.0
    seeded: bool = False
    chooses: bool = False
    weighted: bool = False

    def __post_init__(self) -> None:
        require(self.mechanism in ("laplace", "gaussian", "pure"), f"there is no mechanism {self.mechanism!r}")
        norm = "l2" if self.mechanism == "gaussian" else "l1"
        require(
            self.norm == norm or self.mechanism == "pure",
            f"{self.mechanism} noise hides a bound in {norm}, not in {self.norm}",
        )
        for name in ("sensitivity", "scale"):
            value = getattr(self, name)
            require(math.isfinite(value) and value > 0, f"{name} must be positive and finite, got {value}")
        require(0 < self.sampling_rate <= 1, f"sampling_rate must lie in (0, 1], got {self.sampling_rate}")
        require(self.times >= 1, f"times must be at least 1, got {self.times}")
        require(0 <= self.slack < 1, f"slack must lie in [0, 1), got {self.slack}")

    @property
    def noise_multiplier(self) -> float:
        """Scale of the noise in units of the sensitivity."""
        return self.scale / self.sensitivity

    @property
    def pure_epsilon(self) -> float:
        """The loss that is never exceeded, all times together; infinite for Gaussian noise."""
        if self.mechanism == "gaussian":
            return math.inf
        once = 1 / self.noise_multiplier
        return self.times * amplified(once, self.sampling_rate)

    def for_weight(self, weight: float) -> "Spend":
        """The same look at a unit that takes part with ``weight`` times the full contribution."""
        require(0 < weight <= 1, f"a weight lies in (0, 1], got {weight}")
        # Rounding to the lattice does not shrink with the weight.
        return replace(self, sensitivity=(self.sensitivity - self.rounding) * weight + self.rounding)

    def for_level(self, weight: float) -> "Spend":
        """The same look at a unit whose privacy level has this weight: in full where no weights were applied."""
        return self.for_weight(weight) if self.weighted else self

    def for_group(self, size: int) -> "Spend":
        """The same look at ``size`` units together, each added or removed: they move the statistic that much further.

        Amplification by sampling is proven for one unit, so Gaussian noise is counted without it: a sample tells no
        more than everything would. For a pure loss ln(1 + q(e^kε − 1)) is at least k times ln(1 + q(e^ε − 1)).
        """
        require(size >= 1, f"a group has at least 1 member, got {size}")
        if size == 1:
            return self
        rate = 1.0 if self.mechanism == "gaussian" else self.sampling_rate
        return replace(self, sensitivity=self.sensitivity * size, rounding=self.rounding * size, sampling_rate=rate)

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Spend":
        """Back from plain data."""
        try:
            return cls(**data)
        except TypeError as error:
            raise InputError(f"this is not a line of a ledger: {error}") from None


def amplified(epsilon: float, sampling_rate: float) -> float:
    """The loss of a pure step in which each unit takes part with a probability: ln(1 + q(e^ε − 1)), not q·ε.

    >>> round(amplified(1.0, 0.1), 4)
    0.1586
    """
    if sampling_rate == 1:
        return epsilon
    if epsilon > 30:  # e^ε alone would overflow; ln(q e^ε + 1 − q) = ε + ln(q + (1 − q) e^−ε)
        return epsilon + math.log(sampling_rate + (1 - sampling_rate) * math.exp(-epsilon))
    return math.log1p(sampling_rate * math.expm1(epsilon))
