"""An audit of a model that learns in sampled steps: left in peace as it is, found with half the noise."""

import sys
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

import discreet as dc
from discreet.populations.held import held_by
from discreet.populations.some import sampled_users, some_users
from discreet.populations.steps import StepSums

_spec = spec_from_file_location("step_model", Path(__file__).parent.parent / "populations" / "step_model.py")
step_model = module_from_spec(_spec)
sys.modules["step_model"] = step_model
_spec.loader.exec_module(step_model)

# Few others, so that who else was sampled hides little: the canary has nobody to hide behind but the noise.
RATINGS = dc.synthetic(users=2, items=4, ratings=4, seed=1)
# With a large delta epsilon is what a thousand runs can show; at 1e-6 it is about events that are too rare to be seen.
TERMS = dc.Terms(epsilon=1.0, delta=0.05, unit="user")
MODEL = step_model.Descent(count=3, sampling_rate=0.5)


class HalfTheNoise(dc.TrustedServer):
    def steps(self, steps, share=1.0):
        plan = self._charged_steps(steps, share)
        weak = replace(plan, spend=replace(plan.spend, scale=plan.spend.scale / 2))

        def answer(contribution):
            sample = sampled_users(held_by(self), steps.sampling_rate, self._randomness)
            return self._noisy(contribution, some_users(held_by(self), sample), weak)

        return StepSums(steps, plan.deviation, answer)


def audited(kind=None, runs=1200, model=MODEL):
    make = None if kind is None else lambda ratings, ledger, noise: kind(ratings, ledger, randomness=noise)
    return dc.audit.audit_by_runs(
        model, RATINGS, TERMS, runs=runs, make_population=make, randomness=dc.Randomness(seed=5)
    )


def test_sampled_steps_are_not_accused():
    audit = audited()
    assert not audit.accuses and audit.faults == (), str(audit)
    assert audit.proven.epsilon == pytest.approx(1, rel=1e-2)
    assert 0.1 < audit.epsilon_low <= 1
    assert 0.5 < audit.exercised <= 1


def test_half_the_noise_is_found():
    audit = audited(HalfTheNoise)
    assert audit.accuses and audit.epsilon_low > 1.1, str(audit)


def test_too_little_noise_on_steps_over_everybody_shows_on_the_looks_themselves():
    """An honest one is accused with odds below 1e-5: a thousandth of the risk of 0.01."""
    everybody = replace(MODEL, sampling_rate=1.0)
    assert audited(runs=200, model=everybody).noise == ()
    (found,) = audited(HalfTheNoise, runs=200, model=everybody).noise
    assert found.startswith("there is less noise on")


def test_steps_in_one_run_are_not_accused():
    ratings = dc.synthetic(users=20, items=400, ratings=400, seed=1)
    model = replace(MODEL, count=2)
    options = {"canaries": 400, "randomness": dc.Randomness(5), "seed": 5}
    terms = replace(TERMS, epsilon=2.0, delta=1e-6)
    audit = dc.audit.audit_in_one_run(model, ratings, terms, **options)
    assert not audit.accuses and audit.faults == (), str(audit)
