"""Private choices, counts, means and quantiles: their laws, their bounds by brute force, and what they book."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import discreet as dc
from discreet.errors import InputError, OverspentError
from discreet.privacy.quantiles import _balance, private_count, private_mean, private_quantile
from discreet.privacy.randomness import Randomness
from discreet.privacy.selection import choose, permute_and_flip, pure_share

FALSE_ALARM = 1e-9
LEDGER_UNITS = [dc.Rating(), dc.Rating("replace")]


def law(scores, rate):
    """The odds of every candidate: the integral of the proof, a polynomial in the arrival time."""
    odds = np.exp(rate * (np.asarray(scores) - np.max(scores)))
    out = []
    for r in range(len(odds)):
        product = np.polynomial.Polynomial([1.0])
        for s in range(len(odds)):
            if s != r:
                product *= np.polynomial.Polynomial([1.0, -odds[s]])
        integral = product.integ()
        out.append(odds[r] * (integral(1.0) - integral(0.0)))
    return np.array(out)


def test_the_integral_is_the_law_of_all_orders():
    """Against all permutations, one by one."""
    scores = np.array([0.0, -0.7, -0.2, -3.0])
    odds = np.exp(scores)
    by_hand = np.zeros(4)
    for order in itertools.permutations(range(4)):
        missed = 1.0
        for candidate in order:
            by_hand[candidate] += missed * odds[candidate] / 24
            missed *= 1 - odds[candidate]
    np.testing.assert_allclose(law(scores, 1.0), by_hand, rtol=1e-12)
    assert by_hand.sum() == pytest.approx(1)


def test_draws_have_that_law_and_not_that_of_a_rate_30_percent_off():
    scores, randomness = np.array([0.0, -1.0, -2.0, -2.0, -5.0]), Randomness(seed=1)
    counts = np.bincount([permute_and_flip(scores, 0.8, randomness) for _ in range(20_000)], minlength=5)
    assert stats.chisquare(counts, 20_000 * law(scores, 0.8)).pvalue > FALSE_ALARM
    for off in (0.7, 1.3):
        assert stats.chisquare(counts, 20_000 * law(scores, 0.8 * off)).pvalue < 1e-20


scores = st.lists(st.floats(-3, 3), min_size=2, max_size=5)


@given(scores=scores, moves=st.lists(st.floats(-1, 1), min_size=5, max_size=5), rate=st.floats(0.05, 2))
def test_no_choice_is_more_than_e_to_the_epsilon_times_likelier(scores, moves, rate):
    """Scores move by at most 1: epsilon is 2·rate; or rate, where all move the same way."""
    here = law(scores, rate)
    there = law(np.add(scores, moves[: len(scores)]), rate)
    assert np.abs(np.log(here / there)).max() <= 2 * rate + 1e-9
    for direction in (-1, 1):
        there = law(np.add(scores, direction * np.abs(moves[: len(scores)])), rate)
        assert np.abs(np.log(here / there)).max() <= rate + 1e-9


def test_the_bound_is_reached():
    """A candidate far behind, which moves up while the leader moves down."""
    here, there = law([0.0, -20.0], 1.0), law([-1.0, -19.0], 1.0)
    assert math.log(there[1] / here[1]) == pytest.approx(2.0, abs=1e-6)


@given(scores=scores, rate=st.floats(0.1, 3))
def test_never_worse_than_the_exponential_mechanism(scores, rate):
    exponential = np.exp(rate * (np.array(scores) - max(scores)))
    exponential /= exponential.sum()
    assert law(scores, rate) @ scores >= exponential @ scores - 1e-9


@pytest.mark.parametrize("unit", LEDGER_UNITS)
@pytest.mark.parametrize("monotone", [False, True])
def test_choosing_books_its_share_and_uses_its_own_bound(unit, monotone):
    ledger = dc.Ledger(epsilon=2.0, unit=unit)
    choose("abc", lambda letter: ord(letter), 3.0, ledger, 0.25, monotone=monotone)
    (spend,) = ledger.spends
    assert spend.pure_epsilon == pytest.approx(0.5)
    apart = 3.0 * (1 if monotone else 2) * (2 if unit.neighbours == "replace" else 1)
    assert spend.sensitivity == pytest.approx(apart, rel=1e-5) and spend.sensitivity > apart
    assert spend.slack == 0


def test_choosing_charges_before_it_looks():
    looked = []
    ledger = dc.Ledger(epsilon=1.0)
    choose([1], lambda one: 0.0, 1.0, ledger, 0.75)
    with pytest.raises(OverspentError):
        choose([1, 2], looked.append, 1.0, ledger, 0.5)
    assert looked == []


def test_with_enough_privacy_budget_the_best_is_chosen():
    assert choose([3, 1, 2], lambda x: -1000.0 * x, 1.0, dc.Ledger(epsilon=1.0)) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: choose([], lambda x: 0.0, 1.0, dc.Ledger(1.0)),
        lambda: choose([1], lambda x: 0.0, 0.0, dc.Ledger(1.0)),
        lambda: choose([1], lambda x: 0.0, 1.0, dc.Ledger(1.0), share=0.0),
        lambda: private_quantile(np.arange(3), 1.0, np.arange(3), dc.Ledger(1.0)),
        lambda: private_quantile(np.arange(3), 0.5, np.array([]), dc.Ledger(1.0)),
        lambda: private_count(3, dc.Ledger(1.0), per_unit=0),
        lambda: private_mean(np.arange(3), 5, 1, dc.Ledger(1.0)),
    ],
)
def test_impossible_questions_are_refused(wrong):
    with pytest.raises(InputError):
        wrong()


@pytest.mark.parametrize("share", [0.25, 0.6])
def test_a_pure_share_fits_beside_gaussian_noise(share):
    """The rest of the ledger goes to a noisy sum, and together they do not exceed the limit."""
    ledger = dc.Ledger(epsilon=1.0, delta=1e-6, unit=dc.User())
    ratings = dc.synthetic(users=20, items=10, ratings=100, seed=1)
    one = dc.Contribution("one", (1,), lambda part: np.ones(1), (dc.Bound("user", "l2", 1.0),))
    choose("ab", lambda letter: 0.0, 1.0, ledger, share)
    dc.TrustedServer(ratings, ledger, share=1 - share).sum(one)
    assert 0.99 < ledger.spent <= 1.0
    assert pure_share(ledger, share) < share


def test_a_paid_choice_and_a_fit_share_a_ledger():
    ledger = dc.Ledger(epsilon=1.0)
    ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    damping = choose([1.0, 10.0], lambda damping: 0.0, 1.0, ledger, 0.2)
    release = dc.Bias(item_damping=damping).fit(dc.TrustedServer(ratings, ledger, share=0.8, tuning="paid"))
    assert release.guarantee.tuning == "paid"
    assert release.guarantee.proven.epsilon == pytest.approx(1.0)
    assert "paid for in the ledger" in str(release.guarantee)


# ── Counts, means, quantiles ──


values = st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.5, 9.0]), max_size=7)


@given(values=values, extra=st.sampled_from([0.0, 1.0, 2.0, 3.5, 9.0]), quantile=st.sampled_from([0.1, 0.5, 0.95]))
def test_the_scores_of_a_quantile_move_by_no_more_than_stated(values, extra, quantile):
    points = np.array([-1.0, 0.0, 1.5, 3.5, 20.0])
    here, there = _balance(values, quantile, points), _balance([*values, extra], quantile, points)
    assert np.abs(here - there).max() <= max(quantile, 1 - quantile) + 1e-12


@given(values=values, quantile=st.sampled_from([0.1, 0.5, 0.95]))
def test_the_best_point_is_the_quantile(values, quantile):
    """Numpy's smallest number with at least that share of the numbers at or below it, where the grid has them all."""
    if values:
        points = np.array([0.0, 1.0, 2.0, 3.5, 9.0])
        exact = np.quantile(values, quantile, method="inverted_cdf")
        balance = _balance(values, quantile, points)
        assert balance[points == exact][0] == pytest.approx(0, abs=1e-12)
        for point, score in zip(points, balance, strict=True):
            rank, below = quantile * len(values), (np.array(values) < point).sum()
            at_most = (np.array(values) <= point).sum()
            assert score == pytest.approx(-max(0, below - rank, rank - at_most), abs=1e-12)


@pytest.mark.parametrize("unit", LEDGER_UNITS)
def test_quantiles_are_near_and_booked(unit):
    ledger = dc.Ledger(epsilon=1.0, unit=unit)
    numbers = np.repeat(np.arange(100), 50)
    found = private_quantile(numbers, 0.8, np.arange(0, 1000), ledger, 0.5, Randomness(seed=2))
    assert abs(found - 79) <= 3
    assert ledger.spent == pytest.approx(0.5)


def test_counts_have_discrete_laplace_noise():
    noise = [private_count(50, dc.Ledger(0.5), 0.5, Randomness(seed), per_unit=2) - 50 for seed in range(3_000)]
    observed = np.bincount(np.clip(np.abs(noise), 0, 30), minlength=31)
    for scale, accepted in ((8.0, True), (8.0 * 1.4, False), (8.0 / 1.4, False)):
        odds = np.exp(-np.abs(np.arange(-3000, 3001)) / scale)
        expected = np.bincount(np.clip(np.abs(np.arange(-3000, 3001)), 0, 30), weights=odds / odds.sum()) * len(noise)
        p_value = stats.chisquare(observed, expected).pvalue
        assert p_value > FALSE_ALARM if accepted else p_value < 1e-9


@given(values=st.lists(st.floats(-100, 100), max_size=8), extra=st.floats(-100, 100))
@settings(max_examples=50)
def test_count_and_sum_move_by_no_more_than_stated(values, extra):
    from discreet.privacy.bounding import centre

    def released(numbers):
        return np.array([len(numbers), centre(np.array(numbers), 1, 5).sum()])

    assert np.abs(released([*values, extra]) - released(values)).sum() <= 2 + 1e-9


def test_means_are_near_booked_and_within_range():
    rng = np.random.default_rng(1)
    numbers = rng.integers(1, 6, 20_000)
    ledger = dc.Ledger(epsilon=1.0)
    assert private_mean(numbers, 1, 5, ledger, 0.5) == pytest.approx(numbers.mean(), abs=0.02)
    assert ledger.spent == pytest.approx(0.5)
    for seed in range(50):
        assert 1 <= private_mean(np.array([]), 1, 5, dc.Ledger(0.1), randomness=Randomness(seed)) <= 5


def test_who_cannot_pay_gets_no_answer():
    ledger = dc.Ledger(epsilon=1.0)
    private_count(10, ledger)
    for ask in (
        lambda: private_count(10, ledger, 0.1),
        lambda: private_mean(np.ones(3), 0, 1, ledger, 0.1),
        lambda: private_quantile(np.ones(3), 0.5, np.arange(3), ledger, 0.1),
    ):
        with pytest.raises(OverspentError):
            ask()
    assert len(ledger.spends) == 1


def test_seeded_and_unpaid_choices_prove_nothing():
    ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    ledger = dc.Ledger(epsilon=1.0)
    choose([1.0, 10.0], lambda damping: 0.0, 1.0, ledger, 0.2, Randomness(seed=1))
    guarantee = dc.Bias().fit(dc.TrustedServer(ratings, ledger, share=0.8, tuning="paid")).guarantee
    assert guarantee.proven is None and guarantee.seeded
    with pytest.raises(InputError, match="needs a choice that this ledger paid for"):
        dc.Bias().fit(dc.TrustedServer(ratings, dc.Ledger(epsilon=1.0), tuning="paid"))
    with pytest.raises(InputError, match="tuning must be"):
        dc.Bias().fit(dc.TrustedServer(ratings, dc.Ledger(epsilon=1.0), tuning="Unpaid"))


def test_a_count_is_booked_as_the_pure_mechanism_that_it_is():
    """On the integers discrete Laplace noise is as bad as a pure mechanism can be: continuous noise composes better."""
    ledger = dc.Ledger(epsilon=1.0, delta=1e-6)
    private_count(100, ledger)
    assert ledger.spends[0].mechanism == "pure"


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_a_score_that_is_no_number_is_the_worst_and_no_error(wrong):
    """The ledger was charged by then: an error would tell on which ratings it is none."""
    for _ in range(20):  # the odds of the other one are below e^-1e299
        assert choose([1, 2], lambda x: wrong if x == 1 else 0.0, 1.0, dc.Ledger(1.0)) == 2


def test_a_score_that_fails_does_not_say_why():
    ledger = dc.Ledger(1.0)
    with pytest.raises(InputError, match=r"^a score could not be computed, and what was booked") as error:
        choose([1, 2], lambda x: {}["rating 4"], 1.0, ledger)
    assert error.value.__context__ is None and error.value.__cause__ is None
    assert len(ledger.spends) == 1
