"""Neighbour models, attacked: item sums, pairs and steps are as noisy as the ledger says, and no more."""

from dataclasses import replace
from typing import Any, Literal

import pytest

import discreet as dc
from discreet.audit import runs as by_runs
from discreet.populations.held import held_by
from discreet.populations.some import sampled_users, some_users
from discreet.populations.steps import StepSums

RATINGS = dc.synthetic(users=25, items=10, ratings=120, seed=1)
CONFIDENCE = 0.999
"""Of a thousand such audits of a sound mechanism at most one would accuse it; the noise is seeded besides."""

MODELS = {
    "one shot": dc.NeighbourList(pair_share=0.6, audience=100),
    "descent": dc.NoisyPNBM(steps=2, steps_share=0.6, clip=1.0, pair_share=0.5, audience=100),
    "descent from a constant": dc.NoisyPNBM(start="constant", steps=2, steps_share=0.6, clip=1.0, audience=100),
    "langevin": dc.LangevinPNBM(steps=2, steps_share=0.6, clip=1.0, pair_share=0.5, audience=100),
}


class HalfTheNoise(dc.TrustedServer):
    """Steps with half the noise that was paid for."""

    def steps(self, steps: dc.populations.Steps, share: float = 1.0) -> StepSums:
        plan = self._charged_steps(steps, share)
        weak = replace(plan, spend=replace(plan.spend, scale=plan.spend.scale / 2))

        def answer(contribution: dc.Contribution) -> Any:
            sample = sampled_users(held_by(self), steps.sampling_rate, self._randomness)
            return self._noisy(contribution, some_users(held_by(self), sample), weak)

        return StepSums(steps, plan.deviation, answer)


def audited(model: Any, unit: Literal["rating", "user"], kind: Any = None, runs: int = 160) -> dc.audit.Audit:
    return dc.audit.audit_by_runs(
        model,
        RATINGS,
        dc.Terms(epsilon=8.0, delta=1e-5, unit=unit),
        runs=runs,
        confidence=CONFIDENCE,
        make_population=None
        if kind is None
        else lambda ratings, ledger, noise: kind(ratings, ledger, randomness=noise),
        randomness=dc.Randomness(seed=3),
    )


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("unit", ["user", "rating"])
def test_no_leak_is_found(name: str, unit: Literal["rating", "user"], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_runs, "EXPLORING", 8)
    audit = audited(MODELS[name], unit)
    assert not audit.accuses, str(audit)
    assert not audit.faults and audit.noise == ()
    assert audit.mu is not None and audit.mu_proven is not None
    assert audit.mu.low < audit.mu_proven


@pytest.mark.parametrize("name", ["descent", "langevin"])
def test_half_the_noise_on_steps_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_runs, "EXPLORING", 8)
    audit = audited(MODELS[name], "user", HalfTheNoise)
    assert audit.accuses or audit.noise != (), str(audit)


def test_in_one_run() -> None:
    """400 canaries at once."""
    ratings = dc.synthetic(users=20, items=400, ratings=400, seed=1)
    model = dc.NoisyPNBM(start="constant", steps=2, steps_share=0.6, clip=1.0, neighbours=20)
    audit = dc.audit.audit_in_one_run(
        model,
        ratings,
        dc.Terms(epsilon=2.0, delta=1e-8, unit="user"),
        canaries=400,
        confidence=CONFIDENCE,
        randomness=dc.Randomness(5),
        seed=5,
    )
    assert not audit.accuses and audit.faults == (), str(audit)
