"""What reports promise is what their mechanism proves, and nothing where the form is made up."""

from dataclasses import replace

import pytest

import discreet as dc
from discreet.collect.promise import mechanism_of, promise_of, spends_of
from discreet.data.report import ReportForm

SCALE = dc.Scale(1, 5)
PRIVATE = [dc.collect.RandomisedResponse(epsilon=2.0), dc.collect.Piecewise(epsilon=0.5)]
RATINGS = dc.synthetic(users=50, items=30, ratings=600, seed=1)


@pytest.mark.parametrize("mechanism", [*PRIVATE, dc.collect.UniformNoise(gamma=1.5)], ids=str)
def test_a_form_names_its_mechanism(mechanism):
    assert mechanism_of(mechanism.form(SCALE)) == mechanism


@pytest.mark.parametrize("mechanism", PRIVATE, ids=str)
def test_what_is_made_of_private_reports_is_post_processing(mechanism):
    reported = dc.collect.perturb_ratings(mechanism, RATINGS, dc.Randomness())
    for release in (dc.Bias().fit(dc.NoPrivacy(reported)), dc.MF(epochs=1).fit(reported.split(0.2, seed=1)[0])):
        assert release.guarantee.proven == dc.privacy.Loss(mechanism.epsilon)
        assert release.guarantee.unit == dc.Rating("replace")
        assert release.guarantee.public == ("who rated which items",)
        release.require_covered()
        release.require_paid()


def test_hidden_items_hide_presence_too():
    mechanism = dc.collect.HiddenItems(epsilon=3.0)
    promised = promise_of(mechanism.form(SCALE))
    assert promised.proven == dc.privacy.Loss(3.0) and promised.unit == dc.Rating()


def test_uniform_noise_promises_nothing_and_says_why():
    reported = dc.collect.perturb_ratings(dc.collect.UniformNoise(gamma=1.5), RATINGS, dc.Randomness())
    release = dc.Bias().fit(dc.NoPrivacy(reported))
    assert release.guarantee.proven is None and release.spends == ()
    assert "no epsilon is finite" in str(release.guarantee)


def test_seeded_noise_promises_nothing():
    for randomness in (dc.Randomness(1), dc.Randomness.of_key(bytes(32), "noise")):
        reported = dc.collect.perturb_ratings(PRIVATE[0], RATINGS, randomness)
        assert reported.perturbed == PRIVATE[0].form(SCALE, seeded=True)  # neither raw ratings nor private ones
        for release in (dc.Bias().fit(dc.NoPrivacy(reported)), dc.MF(epochs=1).fit(reported)):
            assert release.guarantee.proven is None and release.guarantee.seeded and release.spends == ()
            assert "response (epsilon 2, step 1, seeded): the noise was seeded" in str(release.guarantee)


def test_every_collection_is_a_spend_of_its_own():
    one, other = (dc.collect.perturb_ratings(PRIVATE[0], RATINGS, dc.Randomness()) for _ in range(2))
    spent = [set(dc.Bias().fit(dc.NoPrivacy(part)).spends) for part in (one, one.split(0.5, seed=1)[0], other)]
    assert spent[0] == spent[1] and not spent[0] & spent[2]
    assert sum(spend.pure_epsilon for spend in spent[0] | spent[2]) == pytest.approx(2 * 2.0)


@pytest.mark.parametrize(
    "form",
    [
        ReportForm("magic", {"epsilon": 0.1}, SCALE, SCALE),
        ReportForm("response", {"epsilon": 0.1}, SCALE, SCALE),  # such reports lie far outside the scale
        ReportForm("response", {"epsilon": -1.0, "step": 1.0}, SCALE, SCALE),
        ReportForm("piecewise", {"epsilon": 1.0, "strength": 2.0}, SCALE, SCALE),
    ],
    ids=str,
)
def test_a_made_up_form_promises_nothing(form):
    assert promise_of(form).proven is None and spends_of(form) == ()
    ratings = replace(RATINGS, perturbed=form)
    assert "of which nothing is known" in str(dc.Bias().fit(dc.NoPrivacy(ratings)).guarantee)


def test_noise_on_top_says_what_the_recommender_holds():
    reported = dc.collect.perturb_ratings(PRIVATE[0], RATINGS, dc.Randomness())
    promised = dc.Bias().fit(dc.TrustedServer(reported, dc.Ledger(1.0))).guarantee
    assert "who holds the reports of ratings that were perturbed by response (epsilon 2, step 1)" in str(promised)
