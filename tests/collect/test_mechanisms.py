"""The mechanisms on a rating scale: law, loss, mean and what they refuse."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

import discreet as dc
from discreet.errors import InputError
from discreet.privacy.unit import Rating

STARS, HALVES = dc.Scale(1, 5), dc.Scale(0.5, 5)
CATALOGUE = dc.Catalogue.of(["a", "b", "c"], STARS, declared=True)
HISTORY = dc.History.of(CATALOGUE, {"a": 1, "b": 3, "c": 5})
PRIVATE = [
    dc.collect.RandomisedResponse(epsilon=0.3),
    dc.collect.RandomisedResponse(epsilon=2.0),
    dc.collect.Piecewise(epsilon=0.3),
    dc.collect.Piecewise(epsilon=2.0),
    dc.collect.Piecewise(epsilon=9.0),
]
every_private = pytest.mark.parametrize("mechanism", PRIVATE, ids=str)


def perturbed(mechanism, rating: float, count: int, seed: int = 1, scale: dc.Scale = STARS) -> np.ndarray:
    return mechanism.channel(scale).perturb(np.full(count, rating), dc.Randomness(seed=seed))


# ── Uniform noise ──


@pytest.mark.parametrize("gamma", [0.3, 1.5, 3.5])
def test_uniform_noise_is_uniform_and_of_this_width(gamma):
    noise = perturbed(dc.collect.UniformNoise(gamma=gamma), 3.0, 100_000) - 3
    assert np.abs(noise).max() <= gamma
    bins = np.linspace(-gamma, gamma, 21)
    counts, _ = np.histogram(noise, bins)
    assert chisquare(counts).pvalue > 1e-4
    assert noise.mean() == pytest.approx(0, abs=5 * gamma / math.sqrt(3 * 100_000))
    for wrong in (0.7, 1.3):
        # Noise of another width fills other bins.
        counts, _ = np.histogram(np.clip(noise * wrong, -gamma, gamma), bins)
        assert chisquare(counts).pvalue < 1e-20


def test_reports_lie_on_one_grid_whatever_the_rating():
    """Adding in floating point would put the reports of each rating on a grid of their own, and so tell them apart."""
    mechanism = dc.collect.UniformNoise(gamma=1.3)
    for rating in (1.0, 2.0, 3.7, 5.0):
        reports = perturbed(mechanism, rating, 1000)
        assert np.array_equal(reports, np.rint(reports * 1e6) / 1e6)
    naive = [rating + 1.3 * (np.arange(1000) / 999) for rating in (1.0, 2.0)]
    assert not set(naive[0]) & set(naive[1])  # the textbook way: one report is enough
    one, two = mechanism.channel(STARS).secrets(np.array([1.0, 2.0]))
    law = mechanism.channel(STARS).law
    both = np.arange(two, one + law.width)
    assert (law.odds(both, int(one)) == law.odds(both, int(two))).all()


@pytest.mark.parametrize("gamma", [0.25, 0.5, 1.0])
@pytest.mark.parametrize("other", [2.0, 3.0])
def test_uniform_noise_tells_ratings_apart_with_these_odds(gamma, other):
    """The hockey-stick divergence is min(1, d / 2γ) whatever epsilon: no epsilon helps."""
    mechanism = dc.collect.UniformNoise(gamma=gamma)
    channel = mechanism.channel(STARS)
    outputs = np.arange(channel.law.size)
    one, two = (channel.law.odds(outputs, int(secret)) for secret in channel.secrets(np.array([1.0, other])))
    for epsilon in (0.0, 1.0, 10.0):
        delta = np.maximum(one - math.exp(epsilon) * two, 0).sum()
        assert delta == pytest.approx(mechanism.told_apart(other - 1), abs=3e-6)
        assert delta <= mechanism.told_apart(other - 1) + 1e-9


def test_uniform_noise_promises_nothing_and_says_why():
    guarantee = dc.collect.UniformNoise(gamma=1.5).guarantee
    assert guarantee.proven is None
    assert "no epsilon is finite" in str(guarantee)
    assert "33%" in str(guarantee)
    assert "which items were rated is not hidden" in str(guarantee)
    assert "themselves are sent" in str(dc.collect.UniformNoise(gamma=0).guarantee)


def test_gamma_0_sends_the_ratings():
    report = dc.collect.UniformNoise(gamma=0).perturb(HISTORY, dc.Randomness())
    assert report.values.tolist() == [1, 3, 5]
    assert report.form.reported == STARS


# ── Locally private mechanisms ──


@every_private
def test_no_pair_of_ratings_loses_more_than_epsilon(mechanism):
    channel = mechanism.channel(STARS)
    law, secrets = channel.law, channel.secrets(np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    # Odds are constant between the ends of windows, so these outputs stand for all.
    ends = np.unique(np.concatenate([[0], secrets, np.minimum(secrets + law.width, law.size - 1)]))
    table = np.stack([np.log(law.odds(ends, int(secret))) for secret in secrets])
    worst = (table[:, None] - table[None]).max()
    assert worst <= mechanism.epsilon + 1e-12
    assert worst >= mechanism.epsilon * (1 - 1e-6)


@every_private
def test_private_mechanisms_prove_their_epsilon_for_one_value(mechanism):
    guarantee = mechanism.guarantee
    assert guarantee.proven == dc.privacy.Loss(mechanism.epsilon)
    assert guarantee.unit == Rating("replace")
    assert "whether they gave a rating this value or another" in str(guarantee)
    assert "not hidden" in guarantee.reason


@every_private
@pytest.mark.parametrize("rating", [1.0, 2.0, 5.0])
def test_reports_are_unbiased(mechanism, rating):
    channel = mechanism.channel(STARS)
    outputs = np.arange(channel.law.size)
    odds = channel.law.odds(outputs, int(channel.secrets(np.array([rating]))[0]))
    values = channel.values(outputs)
    assert odds @ values == pytest.approx(rating, abs=1e-6)
    assert math.sqrt(odds @ (values - rating) ** 2) == pytest.approx(channel.deviation(rating), rel=1e-6)
    drawn = perturbed(mechanism, rating, 50_000)
    assert drawn.mean() == pytest.approx(rating, abs=5 * channel.deviation(rating) / math.sqrt(50_000))
    assert channel.reported.low <= drawn.min() <= drawn.max() <= channel.reported.high


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_randomised_response_has_the_published_odds(epsilon):
    channel = dc.collect.RandomisedResponse(epsilon=epsilon).channel(STARS)
    truth = math.exp(epsilon) / (math.exp(epsilon) + 4)
    other = truth / math.exp(epsilon)
    assert channel.law.odds(np.arange(5), 2) == pytest.approx([other, other, truth, other, other], rel=1e-9)
    levels = np.arange(1, 6)
    debiased = (levels - other * levels.sum()) / (truth - other)
    np.testing.assert_allclose(channel.values(np.arange(5)), debiased, atol=1e-6)


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 4.0])
def test_the_piecewise_mechanism_is_the_published_one(epsilon):
    """On [−1, 1]: reports within ±C, and the variance of the published proof."""
    root = math.exp(epsilon / 2)
    channel = dc.collect.Piecewise(epsilon=epsilon).channel(dc.Scale(-1, 1))
    reach = (root + 1) / (root - 1)
    assert (channel.reported.low, channel.reported.high) == pytest.approx((-reach, reach), rel=1e-4)
    for rating in (-1.0, 0.0, 0.5):
        variance = rating**2 / (root - 1) + (root + 3) / (3 * (root - 1) ** 2)
        assert channel.deviation(rating) ** 2 == pytest.approx(variance, rel=1e-4)


def test_half_stars():
    mechanism = dc.collect.RandomisedResponse(epsilon=1.0, step=0.5)
    assert mechanism.channel(HALVES).law.inputs == 10
    assert mechanism.channel(HALVES).secrets(np.array([0.5, 3.5, 5.0])).tolist() == [0, 6, 9]


@given(st.sampled_from([dc.collect.UniformNoise(gamma=1.5), *PRIVATE]), st.integers(0, 10**6))
def test_a_report_leads_back_to_the_output_it_came_from(mechanism, output):
    channel = mechanism.channel(STARS)
    output = min(output, channel.law.size - 1)
    assert channel.outputs(channel.values(np.array([output]))).tolist() == [output]


# ── Reports ──


@pytest.mark.parametrize("mechanism", [dc.collect.UniformNoise(gamma=1.5), *PRIVATE], ids=str)
def test_a_report_has_the_items_and_its_form(mechanism):
    report = mechanism.perturb(HISTORY, dc.Randomness())
    assert report.items == ("a", "b", "c")
    assert report.form == mechanism.form(STARS)
    assert report.guarantee == str(mechanism.guarantee)
    again = mechanism.perturb(HISTORY, dc.Randomness())
    assert again.id != report.id


def test_fresh_noise_for_every_rating_and_every_report():
    mechanism = dc.collect.Piecewise(epsilon=1.0)
    same = dc.History.of(CATALOGUE, {"a": 3, "b": 3, "c": 3})
    one, two = (mechanism.perturb(same, dc.Randomness()).values for _ in range(2))
    assert len({*one.tolist(), *two.tolist()}) == 6


def test_seeded_noise_promises_nothing():
    report = dc.collect.RandomisedResponse(epsilon=1.0).perturb(HISTORY, dc.Randomness(seed=1))
    assert report.guarantee.startswith("No privacy: the noise was seeded")


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: dc.collect.UniformNoise(gamma=-0.5), "gamma must be at least 0 and at most 1000, got -0.5"),
        (lambda: dc.collect.UniformNoise(gamma=math.nan), "gamma must be at least 0 and at most 1000, got nan"),
        (lambda: dc.collect.RandomisedResponse(epsilon=0), "epsilon must be positive and finite, got 0"),
        (lambda: dc.collect.Piecewise(epsilon=-1), "epsilon must be positive and finite, got -1"),
        (lambda: dc.collect.Piecewise(epsilon=math.inf), "epsilon must be positive and finite, got inf"),
        (lambda: dc.collect.RandomisedResponse(epsilon=1e9), "epsilon 1e+09 promises nothing: at most 1000"),
        (lambda: dc.collect.Piecewise(epsilon=1e-10), "epsilon 1e-10 is too small: at least 1e-09"),
        (lambda: dc.collect.HiddenItems(epsilon=1001.0), "epsilon 1001 promises nothing"),
        (lambda: dc.collect.HiddenItems(epsilon=math.nan), "epsilon must be positive and finite, got nan"),
        (lambda: dc.collect.RandomisedResponse(epsilon=1, step=0), "step must be positive, got 0"),
        (
            lambda: dc.collect.RandomisedResponse(epsilon=1, step=0.3).channel(STARS),
            "steps of 0.3 do not lead from one end",
        ),
        (
            lambda: dc.collect.RandomisedResponse(epsilon=1).channel(STARS).secrets(np.array([2.5])),
            "a rating is not one of the levels 1, 2, …",
        ),
        (
            lambda: dc.collect.Piecewise(epsilon=1).channel(STARS).secrets(np.array([5.5])),
            "a rating is outside the scale",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(make, sentence):
    with pytest.raises(InputError) as refused:
        make()
    assert str(refused.value).startswith(sentence)


# ── Everyone at once ──


@pytest.mark.parametrize("mechanism", [dc.collect.UniformNoise(gamma=1.5), dc.collect.Piecewise(epsilon=1.0)], ids=str)
def test_a_simulated_collection_has_the_same_pairs_on_the_wider_scale(mechanism):
    ratings = dc.synthetic(users=40, items=30, ratings=500, seed=1)
    sent = dc.collect.perturb_ratings(mechanism, ratings, dc.Randomness(seed=1))
    assert np.array_equal(sent.item_index, ratings.item_index)
    assert np.array_equal(sent.indptr, ratings.indptr)
    assert not np.array_equal(sent.values, ratings.values)
    for user in range(sent.n_users):
        sent.history_at(user)  # refuses what is outside the declared scale
