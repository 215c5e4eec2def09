"""What an almanac publishes, attacked: both Gaussian sums are as noisy as the ledger says, and no more."""

from collections.abc import Callable
from typing import Literal

import pytest

import discreet as dc
from discreet.audit import runs as by_runs
from discreet.models.almanac.planner import Plan, Planner
from discreet.models.sums.activity import Known

RATINGS = dc.synthetic(users=60, items=16, ratings=500, seed=1)
CONFIDENCE = 0.999
"""Of a thousand such audits of a sound mechanism at most one would accuse it; the noise is seeded besides."""


@pytest.mark.parametrize("shares", [{"items": 0.4, "counts": 0.6}, {"items": 0.4, "counts": 0.3, "products": 0.3}])
def test_an_almanac_is_as_private_as_its_ledger_says_and_not_more(
    shares: dict[str, float], force_plan: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So few users would not be asked for pairs, so the plan is told to."""
    monkeypatch.setattr(by_runs, "EXPLORING", 8)  # the canaries are the same for all; time is better spent on judging
    force_plan(**shares)
    model = dc.Almanac()
    audit = dc.audit.audit_by_runs(
        model,
        RATINGS,
        dc.Terms(epsilon=8.0, delta=1e-5, unit="user"),
        runs=160,
        confidence=CONFIDENCE,
        randomness=dc.Randomness(seed=3),
    )
    assert not audit.accuses, str(audit)
    assert not audit.faults
    assert audit.exercised is not None and 0.97 < audit.exercised <= 1
    assert audit.mu is not None and audit.mu_proven is not None
    assert audit.mu.low < audit.mu_proven < audit.mu.high  # tight: neither more noise than was paid for nor less
    assert 0.75 < audit.mu.estimate / audit.mu_proven < 1.25


def test_an_almanac_that_chooses_on_the_way_is_as_private_as_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_runs, "EXPLORING", 8)
    audit = dc.audit.audit_by_runs(
        dc.Almanac(purpose="both"),
        RATINGS,
        dc.Terms(epsilon=8.0, delta=1e-5, unit="user"),
        runs=100,
        confidence=CONFIDENCE,
        randomness=dc.Randomness(seed=3),
    )
    assert not audit.accuses, str(audit)
    assert not audit.faults
    assert audit.exercised is not None and 0.97 < audit.exercised <= 1
    assert audit.mu is not None and audit.mu_proven is not None
    assert audit.mu.low < audit.mu_proven < audit.mu.high


@pytest.mark.parametrize("purpose", ["both", "ranking"])
def test_laplace_looks_and_then_pairs_are_as_private_as_the_ledger_says(
    purpose: Literal["both", "ranking"], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the unit rating; so few users would not be asked for pairs, so the plan is told to.

    For rankings nobody asks for the level or for widths of priors.
    """

    def plan(self: Planner, purpose: str, known: Known, left: float) -> Plan:
        part = self.gaussian(left)
        pairs = {"counts": 0.4 * part, "counted": 8, "products": 0.3 * part, "rated": 6}
        return Plan("gaussian", 0.75, 0.3 * part, **pairs)

    monkeypatch.setattr(Planner, "plan", plan)
    monkeypatch.setattr(by_runs, "EXPLORING", 8)
    audit = dc.audit.audit_by_runs(
        dc.Almanac(purpose=purpose),
        RATINGS,
        dc.Terms(epsilon=1.5, delta=1e-5, unit="rating"),
        runs=100,
        confidence=CONFIDENCE,
        randomness=dc.Randomness(seed=3),
    )
    assert not audit.accuses, str(audit)
    assert not audit.faults


def test_an_almanac_in_one_run(force_plan: Callable[..., None]) -> None:
    force_plan(items=0.4, counts=0.6)
    audit = dc.audit.audit_in_one_run(
        dc.Almanac(),
        RATINGS,
        dc.Terms(epsilon=2.0, delta=1e-8, unit="user"),
        canaries=400,
        confidence=CONFIDENCE,
        randomness=dc.Randomness(seed=1),
    )
    assert not audit.accuses, str(audit)
    assert not audit.faults
