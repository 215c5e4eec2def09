"""Every judge on both sides of its tolerance, and intervals against the textbook."""

import math

import numpy as np
import pytest
from scipy import stats

from discreet.papers.frame import judges
from discreet.papers.frame.cases import Case
from discreet.papers.frame.judges import Finding
from discreet.papers.frame.outcome import Sample, ratios, with_half_width


def line(*means: float, spread: float = 0.0, repetitions: int = 4) -> list[Sample]:
    """Means at x = 1, 2, …; every repetition is shifted alike, so that differences are exact."""
    shifts = spread * (np.arange(repetitions) - (repetitions - 1) / 2)
    return [Sample(Case("m", x=place), mean + shifts) for place, mean in enumerate(means, start=1)]


def noisy(mean: float, *errors: float) -> Sample:
    return Sample(Case("m", x=1), mean + np.array(errors))


@pytest.mark.parametrize("count", [2, 3, 10])
def test_an_interval_is_students(count):
    values = np.random.default_rng(count).normal(size=count)
    mean, half = with_half_width(values)
    low, high = stats.t.interval(0.95, count - 1, loc=np.mean(values), scale=stats.sem(values))
    assert (mean - half, mean + half) == pytest.approx((low, high))


def test_an_interval_covers_as_often_as_it_says():
    """Of 4,000 intervals of normal samples 95 % cover the mean: within 5 standard errors, so once in 1.7 million."""
    samples = np.random.default_rng(1).normal(size=(4000, 5))
    covered = sum(abs(mean) <= half for mean, half in map(with_half_width, samples))
    assert abs(covered / 4000 - 0.95) < 5 * math.sqrt(0.95 * 0.05 / 4000)


def test_one_value_has_no_width():
    assert with_half_width([2.0]) == (2.0, 0.0)


def test_ratios_are_taken_repetition_by_repetition():
    (found,) = ratios([noisy(0, 2.0, 9.0)], [noisy(0, 1.0, 3.0)])
    assert found.values.tolist() == [2.0, 3.0]


def test_rises_forgives_its_slack_and_no_more():
    assert judges.rises(line(1, 0.9985, 1.1, spread=0.3), slack=0.002).holds
    assert not judges.rises(line(1, 0.9975, 1.1, spread=0.3), slack=0.002).holds
    assert not judges.rises(line(1, 1.1, 1.0), slack=1.0).holds  # it must end higher
    assert not judges.rises(line(1, 1), slack=0.1).holds


def test_rises_forgives_chance_and_no_more():
    """A fall of .01 whose 95 % interval is half as wide again is chance, one that is half as wide is not."""
    half = with_half_width([-1.0, 0.0, 1.0])[1]
    for width, holds in ((0.015, True), (0.005, False)):
        errors = np.array([-1.0, 0.0, 1.0]) * width / half
        steps = [noisy(1, 0, 0, 0), noisy(0.99, *errors), noisy(1.2, *errors)]
        assert judges.rises(steps, slack=0.0).holds is holds


def test_falls_is_rises_backwards():
    assert judges.falls(line(3, 2, 1), slack=0).holds and not judges.falls(line(1, 2, 3), slack=0).holds
    assert judges.falls(line(3, 2, 2.001, 1), slack=0.002).holds
    assert not judges.falls(line(3, 2, 2.003, 1), slack=0.002).holds
    assert judges.falls(line(3, 1), slack=0).numbers == "3.000 at x 1, 1.000 at x 2"


def test_flat_knows_from_where():
    assert judges.flat(line(2, 1.019, 1), over="x", beyond=2, within=0.02).holds
    found = judges.flat(line(2, 1.021, 1), over="x", beyond=2, within=0.02)
    assert not found.holds and "from x 3 on" in found.numbers
    assert not judges.flat(line(1, 1.5, 1), over="x", beyond=1, within=0.02).holds  # it comes back, but is not flat


def test_approaches_asks_for_smaller_steps_and_a_small_last_one():
    how = {"over": "x", "beyond": 2, "within": 0.02}
    assert judges.approaches(line(9, 1.2, 1.019, 1), **how).holds
    assert not judges.approaches(line(9, 1.2, 1.021, 1), **how).holds  # the last is too large
    assert not judges.approaches(line(9, 1.05, 1.0, 1.2, 1.2), **how).holds  # one grows
    assert judges.approaches(line(9, 1.0, 1.001, 1.011), **how).holds  # but so small a one may
    assert judges.approaches(line(9, 9, 1, 1), **{**how, "beyond": 3}).holds  # what is before does not matter


def test_near_one_is_on_both_sides():
    assert judges.near_one(line(1.09, 0.91), within=0.1).holds
    for off in (1.11, 0.89):
        found = judges.near_one(line(1.0, off), within=0.1)
        assert not found.holds and found.numbers.endswith("within 10% of 1 in 1 of 2")


def test_mainly_is_more_than_a_share():
    assert judges.mainly(line(0.51)[0], line(1)[0]).holds and not judges.mainly(line(0.5)[0], line(1)[0]).holds
    assert judges.mainly(line(0.3)[0], line(1)[0], share=0.2).holds


def test_one_setting_is_close_or_not():
    assert judges.close(line(1.09), line(1), within=0.1).numbers == "+9.0%, and up to 10% is the limit"


def test_steeper_counts_how_often():
    assert judges.steeper(line(1.31, 1, 0.9), over="x", below=2, times=3).holds
    assert not judges.steeper(line(1.29, 1, 0.9), over="x", below=2, times=3).holds
    assert judges.steeper(line(1.01, 1, 1.1), over="x", below=2, times=3).holds  # beyond, nothing is gained
    assert not judges.steeper(line(1, 1, 1), over="x", below=2, times=3).holds
    assert not judges.steeper(line(1.01, 1, 1.1), over="x", below=2, times=3, least=0.02).holds  # so little is flat


def test_close_is_a_share_in_every_setting():
    assert judges.close(line(1.09, 0.5), line(1, 1), within=0.1).holds
    found = judges.close(line(1.11, 0.5), line(1, 1), within=0.1)
    assert not found.holds and found.numbers == "-50.0% to +11.0%, up to 10% in 1 of 2; most at x 1"


def test_better_is_in_every_setting_and_by_enough():
    assert judges.better(line(0.9, 0.99), line(1, 1)).holds
    assert not judges.better(line(0.9, 1), line(1, 1)).holds
    assert judges.better(line(0.99), line(1), by=0.009).holds
    assert not judges.better(line(0.99), line(1), by=0.011).holds


def test_better_somewhere_asks_for_twice_chance():
    half = with_half_width([-1.0, 0.0, 1.0])[1]
    for gap, holds in ((0.021, True), (0.019, False)):
        own = noisy(1 - gap, *(np.array([-1.0, 0.0, 1.0]) * 0.01 / half))
        found = judges.better_somewhere([own, noisy(2, 0, 0, 0)], [noisy(1, 0, 0, 0)] * 2, slack=0.0)
        assert found.holds is holds
    assert not judges.better_somewhere(line(0.999), line(1), slack=0.002).holds
    assert judges.better_somewhere(line(0.997), line(1), slack=0.002).holds


def test_mostly_worse_is_more_than_half():
    assert judges.mostly_worse(line(2, 2, 0), line(1, 1, 1)).holds
    assert not judges.mostly_worse(line(2, 0), line(1, 1)).holds
    assert not judges.mostly_worse(line(2, 2, 0), line(1, 1, 1), share=0.7).holds


def test_at_most_includes_the_limit():
    assert judges.at_most(line(33.0)[0], limit=33).holds and not judges.at_most(line(33.01)[0], limit=33).holds


def test_all_of_names_what_fails():
    good, bad = Finding(True, ""), Finding(False, "")
    assert judges.all_of({"a": good, "b": good}, "things") == Finding(True, "for 2 of 2 things")
    assert judges.all_of({"a": good, "b": bad}, "things") == Finding(False, "for 1 of 2 things, not for b")


def test_judges_change_nothing():
    given = line(1, 2, 3)
    before = [found.values.copy() for found in given]
    for judge in (judges.rises, judges.falls):
        judge(given, slack=0.1)
    judges.flat(given, over="x", beyond=1, within=0.1)
    assert all((found.values == old).all() for found, old in zip(given, before, strict=True))
