"""Hiding which items were rated."""

import itertools
import math

import numpy as np
import pytest

import discreet as dc
from discreet.data.labels import Labels
from discreet.errors import InputError
from discreet.privacy.unit import Rating

SCALE = dc.Scale(1, 3)
CATALOGUE = dc.Catalogue.of(["a", "b"], SCALE, declared=True)


def odds_of_reports(mechanism: dc.collect.HiddenItems, secrets: tuple[int, ...]) -> dict[tuple[int, ...], float]:
    """Of every possible report: the answers of the items are independent."""
    law = mechanism.law(SCALE)
    every = itertools.product(range(law.inputs), repeat=len(secrets))
    return {
        answers: math.prod(
            float(law.odds(np.array([answer]), secret)[0]) for answer, secret in zip(answers, secrets, strict=True)
        )
        for answers in every
    }


def test_no_rating_present_absent_or_changed_loses_more_than_epsilon():
    mechanism = dc.collect.HiddenItems(epsilon=1.2)
    histories = list(itertools.product(range(4), repeat=2))
    worst = {1: 0.0, 2: 0.0}
    for one, other in itertools.permutations(histories, 2):
        differing = sum(a != b for a, b in zip(one, other, strict=True))
        first, second = odds_of_reports(mechanism, one), odds_of_reports(mechanism, other)
        loss = max(math.log(first[report] / second[report]) for report in first)
        worst[differing] = max(worst[differing], loss)
    assert worst[1] == pytest.approx(1.2, rel=1e-9)
    assert worst[2] == pytest.approx(2.4, rel=1e-9)


def test_the_guarantee_covers_presence():
    guarantee = dc.collect.HiddenItems(epsilon=1.2).guarantee
    assert (guarantee.proven, guarantee.unit) == (dc.privacy.Loss(1.2), Rating())


def test_reports_follow_the_law():
    """The share of reports that list an item, rated and not, is that of the law; 30 % off is not."""
    mechanism = dc.collect.HiddenItems(epsilon=1.0)
    history, randomness = dc.History.of(CATALOGUE, {"a": 3}), dc.Randomness(seed=1)
    reports = [mechanism.perturb(history, randomness) for _ in range(4000)]
    truth = math.e / (math.e + 3)
    told = np.mean([dict(zip(report.items, report.values.tolist(), strict=True)).get("a") == 3 for report in reports])
    listed = np.mean(["b" in report.items for report in reports])
    deviation = math.sqrt(0.25 / len(reports))
    assert abs(told - truth) < 4 * deviation
    assert abs(listed - 3 * truth / math.e) < 4 * deviation
    wrong = math.exp(1.3) / (math.exp(1.3) + 3)
    assert abs(told - wrong) > 4 * deviation


def test_estimates_are_unbiased():
    """Expected counts, put through the estimate, give the true counts."""
    mechanism, users = dc.collect.HiddenItems(epsilon=1.0), 1000
    law = mechanism.law(SCALE)
    truth = np.array([[300, 0, 200], [0, 10, 0]])  # items × levels
    for row in truth:
        secrets = np.array([users - row.sum(), *row])
        expected = sum(secrets[secret] * law.odds(np.arange(4), secret) for secret in range(4))
        right, other = law.inside / law.total, law.outside / law.total
        np.testing.assert_allclose((expected[1:] - users * other) / (right - other), row, atol=1e-6)


def test_estimates_from_reports():
    mechanism, users = dc.collect.HiddenItems(epsilon=2.0), 3000
    randomness = dc.Randomness(seed=1)
    entries = []
    for user in range(users):
        given = {"a": 3.0} if user < 1000 else {"a": 1.0, "b": 2.0} if user < 1500 else {"b": 2.0}
        report = mechanism.perturb(dc.History.of(CATALOGUE, given), randomness)
        entries += [
            (user, CATALOGUE.find(item), value)
            for item, value in zip(report.items, report.values.tolist(), strict=True)
        ]
    columns = np.array(entries)
    positions = columns[:, :2].astype(np.int64)
    reported = dc.Ratings.of_columns(
        CATALOGUE, Labels(np.arange(users).astype(str)), positions[:, 0], positions[:, 1], columns[:, 2]
    )
    estimated = mechanism.estimate(reported)
    bound = 5 * max(mechanism.deviation(users, SCALE), math.sqrt(users))
    np.testing.assert_allclose(estimated, [[500, 0, 1000], [0, 2000, 0]], atol=bound)


def test_a_rating_between_levels_is_refused():
    with pytest.raises(InputError, match="not one of the levels"):
        dc.collect.HiddenItems(epsilon=1.0).perturb(dc.History.of(CATALOGUE, {"a": 1.5}), dc.Randomness())


def test_answers_are_not_taken_for_ratings(tmp_path):
    """Most answers are noise about items that nobody rated."""
    report = dc.collect.HiddenItems(epsilon=2.0).perturb(dc.History.of(CATALOGUE, {"a": 3.0}), dc.Randomness())
    report.save(tmp_path / "report.json")
    with pytest.raises(dc.errors.DataError, match=r"not ratings: count them with HiddenItems\.estimate"):
        dc.Ratings.from_reports(tmp_path, CATALOGUE)
    assert dc.data.read_reports(tmp_path, CATALOGUE).ratings.n_users == 1


def test_a_list_that_was_read_off_the_ratings_is_refused():
    own = dc.Catalogue.of(["a"], SCALE, declared=False)
    with pytest.raises(InputError, match="read off the ratings, so a report on it would say which were rated"):
        dc.collect.HiddenItems(epsilon=1.0).perturb(dc.History.of(own, {"a": 3.0}), dc.Randomness())
