"""Iterated and sampled sums: planned, booked, drawn and accounted together."""

import copy
import math
import pickle
import signal
import subprocess
import sys
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.fitting.replay import fit_and_replay
from discreet.populations.rehearsal import follow, rehearse
from discreet.privacy.accounting import epsilon_of
from discreet.privacy.composition import composed_epsilon
from discreet.privacy.randomness import Randomness

MODEL = Path(__file__).with_name("step_model.py")
_spec = spec_from_file_location("step_model", MODEL)
step_model = module_from_spec(_spec)
sys.modules["step_model"] = step_model
_spec.loader.exec_module(step_model)
Descent = step_model.Descent

RATINGS = dc.synthetic(users=200, items=10, ratings=1000, seed=1)
USER = dc.Bound("user", "l2", 1.0)
DELTA = 1e-6


def server(epsilon=1.0, ratings=RATINGS, unit=None, **settings):
    return dc.TrustedServer(ratings, dc.Ledger(epsilon, DELTA, unit or dc.User()), **settings)


def count_of(count, rate=1.0, **changes):
    return dc.populations.Steps(
        **{"name": "users", "shape": (), "bounds": (USER,), "count": count, "sampling_rate": rate, **changes}
    )


def users(ratings):
    return float(ratings.n_users)


# ── Planned, booked, accounted ──


def test_a_thousand_sampled_steps_cost_what_dp_accounting_says():
    import dp_accounting
    from dp_accounting.pld import PLDAccountant

    population = server()
    asked = count_of(1000, 0.01)
    drawn = population.steps(asked)
    (spend,) = population.spends
    assert (spend.times, spend.sampling_rate) == (1000, 0.01)
    oracle = PLDAccountant()
    once = dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(spend.noise_multiplier))
    oracle.compose(once, 1000)
    truth = oracle.get_epsilon(DELTA)
    assert composed_epsilon([spend], DELTA) == pytest.approx(truth, rel=0.02)
    assert 0.98 < truth <= 1.0
    for _ in range(1000):
        drawn.sum(asked.contribution(users))
    assert drawn.left == 0 and len(population.spends) == 1
    assert population.ledger.remaining < 0.001


def test_planned_together_they_cost_little():
    """The figure of the documentation: 50 steps, each with a fiftieth of delta, or all together."""
    once = dc.privacy.Spend(what="step", mechanism="gaussian", norm="l2", sensitivity=1, scale=1.0, sampling_rate=0.01)
    one_by_one = 50 * epsilon_of([once], DELTA / 50)
    together = composed_epsilon([replace(once, times=50)], DELTA)
    print(f"50 sampled steps: one by one epsilon {one_by_one:.1f}, planned together {together:.2f}")
    assert one_by_one == pytest.approx(37.9, abs=0.05) and together == pytest.approx(0.82, abs=0.005)


@pytest.mark.parametrize(("rate", "count", "share"), [(1.0, 20, 1.0), (1.0, 20, 0.3), (0.1, 50, 1.0), (0.1, 50, 0.3)])
def test_steps_fit_beside_gaussian_sums(rate, count, share):
    population = server()
    plans = [population.calibrate(count_of(count, rate), share).spend]
    if share < 1:
        asked = dc.Contribution("sum", (), users, (USER,))
        plans.append(population.calibrate(asked, 1 - share).spend)
    cost = composed_epsilon(plans, DELTA)
    assert 0.98 < cost <= 1 + 1e-9


def test_two_sets_of_steps_and_a_pure_choice_share_a_budget():
    from discreet.privacy.selection import pure_share

    population = server()
    half = population.calibrate(count_of(50, 0.1), 0.5).spend
    assert composed_epsilon([half, half], DELTA) <= 1 + 1e-9
    pure = pure_share(population.ledger, 0.5)
    chosen = dc.privacy.Spend(what="choice", mechanism="pure", norm="l1", sensitivity=1, scale=1 / pure)
    assert composed_epsilon([half, chosen], DELTA) <= 1 + 1e-9


def test_they_refuse_to_overspend():
    population = server()
    population.steps(count_of(10, 0.1))
    with pytest.raises(dc.OverspentError, match="over the limit of epsilon 1"):
        population.steps(count_of(10, 0.1), share=0.5)
    assert len(population.spends) == 1
    after_a_sum = server()
    after_a_sum.sum(dc.Contribution("sum", (), users, (USER,)), share=0.5)
    with pytest.raises(dc.OverspentError):
        after_a_sum.steps(count_of(10))


def test_no_more_steps_than_planned():
    drawn = server().steps(count_of(2))
    for _ in range(2):
        drawn.sum(count_of(2).contribution(users))
    with pytest.raises(dc.OverspentError, match="all 2 steps"):
        drawn.sum(count_of(2).contribution(users))


def test_steps_that_are_never_drawn_stay_paid():
    population = server()
    population.steps(count_of(1000, 0.01))
    assert population.ledger.spent > 0.99


def test_another_question_is_refused():
    population = server()
    drawn = population.steps(count_of(3))
    asked = count_of(3).contribution(users)
    for wrong, word in (
        (replace(asked, bounds=(dc.Bound("user", "l2", 2.0),)), "bounds"),
        (replace(asked, bounds=(dc.Bound("rating", "l2", 1.0),)), "bounds"),
        (replace(asked, shape=(1,)), "shape"),
        (replace(asked, name="others"), "name"),
    ):
        with pytest.raises(dc.InputError, match=f"another {word} than was planned"):
            drawn.sum(wrong)
    assert drawn.left == 3
    with pytest.raises(dc.InputError, match="shape"):
        drawn.sum(count_of(3).contribution(lambda ratings: np.zeros(2)))


def test_no_copy_draws_twice():
    drawn = server().steps(count_of(3))
    for make in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(dc.InputError, match="copied"):
            make(drawn)


# ── Sampling ──


def test_users_are_sampled_anew_in_each_step_at_the_rate():
    """Binomial(200, .3) a step: means and variances over 400 steps within 6 deviations (false alarms below 1e-8)."""
    ratings = RATINGS
    names = []

    def who(part):
        names.append(part.users.names.tolist())
        return float(part.n_users)

    asked = count_of(400, 0.3)
    drawn = server(ratings=ratings).steps(asked)
    for _ in range(400):
        drawn.sum(asked.contribution(who))
    samples = [sample for sample in names if set(sample) <= set(ratings.users.names.tolist())]
    sizes = np.array([len(sample) for sample in samples])
    assert len(sizes) == 400
    deviation = math.sqrt(200 * 0.3 * 0.7)
    assert abs(sizes.mean() - 60) < 6 * deviation / 20
    assert 0.6 < sizes.var() / deviation**2 < 1.5
    often = np.array([sum(name in sample for sample in map(set, samples)) for name in ratings.users.names])
    assert abs(often - 120).max() < 6 * math.sqrt(400 * 0.3 * 0.7)
    together = sum(ratings.users[0] in sample and ratings.users[1] in sample for sample in map(set, samples))
    assert abs(together - 36) < 6 * math.sqrt(400 * 0.09 * 0.91)


def test_noise_has_the_deviation_that_is_told():
    """Of 4,000 cells: within 6 standard errors."""
    population = server(randomness=Randomness(seed=1))
    asked = count_of(1, 1.0, shape=(4000,))
    drawn = population.steps(asked)
    assert population.deviation(asked) == drawn.deviation
    found = drawn.sum(asked.contribution(lambda ratings: np.zeros(4000)))
    assert found.std() == pytest.approx(drawn.deviation, rel=6 / math.sqrt(8000))


def test_an_empty_sample_is_nothing_special():
    ratings = dc.synthetic(users=2, items=10, ratings=10, seed=1)

    def total(part):
        assert part.n_users > 0
        return float(part.n_users)

    asked = count_of(200, 0.05)
    drawn = server(ratings=ratings).steps(asked)
    assert all(np.isfinite(drawn.sum(asked.contribution(total))) for _ in range(200))


def test_ratings_in_parts_are_sampled_too(tmp_path):
    for number in range(2):
        part = RATINGS.select_users(np.arange(100 * number, 100 * number + 100))
        part.to_frame().write_parquet(tmp_path / f"{number}.parquet")
    parts = dc.data.RatingsInParts(tmp_path, scale=(1, 5))

    asked = count_of(50, 0.2)
    exact = [dc.NoPrivacy(parts).steps(asked).sum(asked.contribution(users)) for _ in range(2)]
    assert exact[0] == exact[1] == dc.NoPrivacy(RATINGS).steps(asked).sum(asked.contribution(users))
    drawn = server(epsilon=8.0, ratings=parts).steps(asked)
    sizes = [float(drawn.sum(asked.contribution(users))) for _ in range(50)]
    assert abs(np.mean(sizes) - 40) < 6 * (math.sqrt(200 * 0.16) + drawn.deviation) / math.sqrt(50)


def test_an_error_in_a_step_tells_nothing():
    def fails(part):
        if part.n_users > 1:
            raise ValueError(f"user {part.users[0]}")
        return 0.0

    asked = count_of(3)
    with pytest.raises(dc.InputError, match="could not be computed, and what was booked for it stays spent") as found:
        server().steps(asked).sum(asked.contribution(fails))
    assert found.value.__context__ is None


@pytest.mark.parametrize("unit", [dc.Rating(), dc.User(neighbours="replace")])
def test_sampling_users_is_refused_where_it_is_not_proven(unit):
    bounds = (USER, dc.Bound("rating", "l2", 1.0))
    with pytest.raises(dc.InputError, match="samples users"):
        server(unit=unit).steps(count_of(3, 0.5, bounds=bounds))
    drawn = server(unit=unit).steps(count_of(3, bounds=bounds))
    drawn.sum(count_of(3, bounds=bounds).contribution(lambda ratings: 0.0))


def test_why_a_sample_of_users_hides_no_rating_better():
    """A user far from all others shows that they were sampled: a rating then moves a sum that is not hidden by it.

    (1 − q)·N(0) + q·N(a) against (1 − q)·N(0) + q·N(a + 1), with a large: delta is q times that without sampling,
    and more than what sampling would promise for a user.
    """
    from discreet.privacy.accounting import delta_of
    from discreet.privacy.gaussian import delta_of_mu

    epsilon, rate = 1.0, 0.1
    once = dc.privacy.Spend(what="step", mechanism="gaussian", norm="l2", sensitivity=1, scale=1.0, sampling_rate=rate)
    assert rate * delta_of_mu(1.0, epsilon) > 2 * delta_of([once], epsilon)


def test_devices_answer_steps_without_sampling():
    ledger = dc.Ledger(5.0, DELTA, dc.User(neighbours="replace"))
    devices = dc.LocalDevices(RATINGS, ledger)
    with pytest.raises(dc.InputError, match="sees which devices send"):
        devices.steps(count_of(3, 0.5))
    assert devices.spends == ()
    drawn = devices.steps(count_of(3))
    (spend,) = devices.spends
    assert spend.times == 3 and spend.sensitivity == pytest.approx(2, rel=1e-4)
    assert drawn.deviation == pytest.approx(spend.scale * math.sqrt(200))
    assert abs(drawn.sum(count_of(3).contribution(users)) - 200) < 8 * drawn.deviation


def test_gaussian_noise_needs_a_delta():
    with pytest.raises(dc.InputError, match="needs a delta"):
        dc.TrustedServer(RATINGS, dc.Ledger(1.0, 0.0, dc.User())).steps(count_of(3))


def test_without_privacy_steps_are_exact_and_repeatable():
    one, two = (Descent(count=20).fit(dc.NoPrivacy(RATINGS)).arrays["means"] for _ in range(2))
    assert (one == two).all() and one.any()


# ── Around a fit ──


def test_a_rehearsal_plans_them_and_the_fit_follows():
    population = server()
    plan = rehearse(Descent(), population)
    assert population.spends == () and plan.spends[0].times == 5
    follow(plan, population)
    release = Descent().fit(population)
    assert release.spends == plan.spends
    assert 0.99 < release.guarantee.proven.epsilon <= 1.0


def test_a_replay_finds_them_again():
    release = fit_and_replay(Descent(), server())
    assert release.guarantee.notes[-1].startswith("A replay of the noisy answers gave the same release")


def test_a_replay_finds_what_did_not_go_through_steps():
    class Leaks(Descent):
        def fit(self, population, progress=None):
            kept = []
            asked = self.asked(population)
            drawn = population.steps(asked)

            def total(ratings):
                kept.append(ratings.values.sum())
                return np.zeros(asked.shape)

            for _ in range(self.count):
                drawn.sum(asked.contribution(total))
            return dc.Release.of(self, population, {"means": np.full(asked.shape, max(kept))})

    with pytest.raises(dc.InputError, match="never went through the population"):
        fit_and_replay(Leaks(), server())


@pytest.mark.parametrize(("rates", "times"), [((0.001, 0.01), [3, 3, 1]), ((0.0, -0.0), [3, 1])])
def test_a_search_pays_for_steps(rates, times):
    search = dc.evaluation.Search(candidates=[Descent(count=3, rate=rate) for rate in rates], metric="ndcg@5")
    population = server(epsilon=8.0)
    follow(rehearse(search, population), population)
    release = search.fit(population)
    assert [spend.times for spend in release.spends] == times
    assert release.guarantee.proven.epsilon <= 8.0


# ── Accounts ──


def test_kill_9_in_the_middle_of_the_steps_loses_nothing(tmp_path):
    url = tmp_path / "budget.sqlite"
    process = subprocess.Popen([sys.executable, str(MODEL), str(url)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "step 0\n" and process.stdout.readline() == "step 1\n"
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    process.stdout.close()
    account = dc.Budget(url).account("films")
    (line,) = account.spendings
    assert line.spends[0].times == 1_000_000 and line.state == "reserved"
    assert account.spent == pytest.approx(1.0, rel=1e-2)


def test_an_account_pays_before_the_first_step(tmp_path):
    budget = dc.Budget(tmp_path / "budget.sqlite")
    budget.declare("films", 1.0, DELTA, dc.User())
    server(account="films", budget=budget).steps(count_of(100, 0.05))
    assert budget.account("films").spent > 0.99
    with pytest.raises(dc.OverspentError, match="over the limit"):
        server(account="films", budget=budget).steps(count_of(100, 0.05), share=0.5)
    assert len(budget.account("films").spendings) == 1
