"""What an audit found, in numbers, in words and as plain data."""

import math
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from discreet.audit.bounds import Interval
from discreet.populations.terms import Trust
from discreet.privacy.guarantee import Loss
from discreet.privacy.unit import UnitName
from discreet.types import Doubles


class More(NamedTuple):
    """What more runs would take, and which bound (on epsilon or on mu) they would show."""

    runs: int
    seconds: float
    of: Literal["epsilon", "mu"]
    low: float

    def __str__(self) -> str:
        time = f"{self.seconds / 60:.0f} minutes" if self.seconds > 90 else f"{max(1.0, self.seconds):.0f} seconds"
        return f"--runs {self.runs} takes about {time}, and would show {self.of} {self.low:.3g} if it goes on as now"


@dataclass(frozen=True, kw_only=True, eq=False)
class Audit:
    """A lower bound on epsilon, beside what is proven and claimed.

    Parameters
    ----------
    model, data, unit, trust
        What was audited.
    method
        ``runs``: many runs on two neighbouring data sets; ``one run`` with many canaries.
    trials
        Runs on each side, or canaries.
    confidence
        The bounds hold with at least this probability, whatever the mechanism is.
    epsilon_low
        The loss is at least this.
    limit
        What the fits were allowed to spend.
    proven
        What the ledger of a fit adds up to; None where nothing was booked.
    claimed
        What a publication claims.
    mu, mu_proven
        For Gaussian noise: the loss in standard deviations, measured and according to the ledger.
    epsilon_of_mu
        The epsilon at delta that the lower end of ``mu`` means if the noise is Gaussian.
    canary, exercised
        The unit that came and went, and how much of the allowed loss it can show at most.
    attack
        Which attack was judged.
    faults
        What is wrong for certain, without any statistics.
    noise
        How the noise of the looks differs from what the ledger says, if it does; see :mod:`discreet.audit.noise`.
    absent, present
        Scores of the judged runs (or canaries) without and with the canary.
    threshold
        Where the attack draws the line.
    seconds, more
        How long it took, and what more runs would.
    """

    model: str
    data: str
    unit: UnitName
    trust: Trust
    method: Literal["runs", "one run"]
    trials: int
    confidence: float
    epsilon_low: float
    limit: Loss
    proven: Loss | None
    claimed: Loss | None = None
    mu: Interval | None = None
    mu_proven: float | None = None
    epsilon_of_mu: float | None = None
    canary: str = ""
    exercised: float | None = None
    attack: str = ""
    faults: tuple[str, ...] = ()
    noise: tuple[str, ...] = ()
    absent: Doubles = field(default_factory=lambda: np.zeros(0), repr=False)
    present: Doubles = field(default_factory=lambda: np.zeros(0), repr=False)
    threshold: float | None = None
    guesses: tuple[int, int] | None = None
    seconds: float = 0.0
    more: More | None = None

    @property
    def accuses(self) -> bool:
        """Whether what is proven, claimed or allowed cannot be true. Wrong with at most 1 − confidence."""
        promised = [loss.epsilon for loss in (self.proven, self.claimed, self.limit) if loss is not None]
        exceeded = any(self.epsilon_low > epsilon * (1 + 1e-9) for epsilon in promised)
        if self.mu is not None and self.mu_proven is not None:
            exceeded |= self.mu.low > self.mu_proven * (1 + 1e-9)
        if self.claimed is not None and self.epsilon_of_mu is not None:
            exceeded |= self.epsilon_of_mu > self.claimed.epsilon * (1 + 1e-9)
        return exceeded or bool(self.faults) or bool(self.noise)

    def __str__(self) -> str:
        return " ".join(self.sentences())

    def sentences(self) -> list[str]:
        """In plain words, the verdict first."""
        gaussian = ""
        if self.epsilon_of_mu is not None:
            gaussian = f" (at least {self.epsilon_of_mu:.3g} if the noise is Gaussian, as the ledger says)"
        measured = f"epsilon is at least {self.epsilon_low:.3g}{gaussian} with {self.confidence:.4g} confidence"
        promise = f"where {self.proven} is proven" if self.proven is not None else "and nothing is proven"
        if self.claimed is not None:
            promise += f" and {self.claimed} is claimed"
        if self.accuses:
            lines = [f"The promise is broken: {measured}, {promise}."]
            if not self.faults and not self.noise:
                rare = round(1 / max(1 - self.confidence, 1e-9))
                lines.append(f"Chance says so of at most one sound mechanism in {rare:,}: audit again to be sure.")
        else:
            lines = [f"No leak was found: {measured}, {promise}."]
        lines += [f"{fault[:1].upper()}{fault[1:]}." for fault in (*self.faults, *self.noise)]
        if self.mu is not None and self.mu_proven is not None:
            lines.append(
                f"The loss in deviations, mu, is {self.mu.estimate:.3g} (between {self.mu.low:.3g} and "
                f"{self.mu.high:.3g}) and {self.mu_proven:.3g} by the ledger."
            )
        return lines

    def to_json(self) -> dict[str, Any]:
        """As plain data, the scores left out."""

        def loss(value: Loss | None) -> dict[str, float] | None:
            return None if value is None else {"epsilon": value.epsilon, "delta": value.delta}

        def finite(value: float | None) -> float | None:
            return value if value is not None and math.isfinite(value) else None

        return {
            "model": self.model,
            "data": self.data,
            "unit": self.unit,
            "trust": self.trust,
            "method": self.method,
            "runs" if self.method == "runs" else "canaries": self.trials,
            "confidence": self.confidence,
            "epsilon_low": self.epsilon_low,
            "limit": loss(self.limit),
            "proven": loss(self.proven),
            "claimed": loss(self.claimed),
            "mu": None
            if self.mu is None
            else {
                "estimate": finite(self.mu.estimate),
                "low": finite(self.mu.low),
                "high": finite(self.mu.high),
                "proven": self.mu_proven,
                "epsilon": finite(self.epsilon_of_mu),
            },
            "canary": self.canary,
            "exercised": finite(self.exercised),
            "attack": self.attack,
            "guesses": None if self.guesses is None else {"right": self.guesses[0], "of": self.guesses[1]},
            "faults": list(self.faults),
            "noise": list(self.noise),
            "accuses": self.accuses,
            "sentence": str(self),
            "seconds": self.seconds,
            "more": None if self.more is None else self.more._asdict(),
        }
