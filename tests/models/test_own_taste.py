"""A model that asks for nothing, against the regression written out."""

import numpy as np
import pytest

import discreet as dc
from discreet.data.features import item_features
from discreet.models.almanac import AGES_FOR_RANKING
from discreet.models.home.user_regression import FEATURE, GENEROSITY, RESIDUAL_DEVIATION
from discreet.models.sums.item_sums import EXPECTED

RATINGS = dc.synthetic(users=40, items=30, ratings=500, seed=3)


def test_it_is_ridge_regression_on_public_features():
    release = dc.OwnTaste().fit(dc.NoPrivacy(RATINGS))
    width = RATINGS.catalogue.scale.width
    features = item_features(RATINGS.catalogue).astype(np.float64)
    rows = np.column_stack([np.full(len(features), GENEROSITY), FEATURE * (features - features.mean(axis=0))]) * width
    expected = RATINGS.catalogue.scale.low + EXPECTED * width
    history = RATINGS.history_at(5)
    own = rows[history.items]
    taste = np.linalg.solve(
        own.T @ own + (RESIDUAL_DEVIATION * width) ** 2 * np.eye(own.shape[1]), own.T @ (history.values - expected)
    )
    items = np.arange(RATINGS.n_items)
    predicted = release.predict(RATINGS, np.full(len(items), 5), items)
    assert predicted == pytest.approx(np.clip(expected + rows @ taste, 1, 5), abs=1e-3)


@pytest.mark.parametrize("unit", ["rating", "user"])
def test_it_costs_nothing_and_holds_nothing(unit):
    for ratings in (RATINGS, dc.synthetic(users=40, items=30, ratings=500, seed=4)):
        population = dc.Terms(epsilon=0.5, unit=unit).population(ratings)
        release = dc.OwnTaste().fit(population)
        assert population.spends == () and dict(release.arrays) == {}
        assert release.guarantee.proven == dc.privacy.Loss(0.0)
        assert "learns nothing about any user: epsilon 0." in str(release.guarantee)


def test_without_a_history_everything_is_as_expected():
    release = dc.OwnTaste().fit(dc.NoPrivacy(RATINGS))
    nothing = dc.History.of(RATINGS.catalogue, {})
    assert np.ptp(release.score(nothing)) == pytest.approx(0, abs=1e-6)
    predicted = release.predict(dc.Ratings.of_history(nothing), [0], [3])
    assert predicted == pytest.approx([1 + EXPECTED * 4])


def test_it_ranks_by_the_likeliest_tilt():
    """Of items that are all as popular, those like what was rated come first."""
    release = dc.OwnTaste().fit(dc.NoPrivacy(RATINGS))
    features = item_features(RATINGS.catalogue, AGES_FOR_RANKING).astype(np.float64)
    history = RATINGS.history_at(5)
    scores = release.score(history).astype(np.float64)
    chances = np.exp(scores - scores.max())
    chances /= chances.sum()
    columns = np.column_stack([features, np.ones(len(features))])
    taste, *_ = np.linalg.lstsq(columns, scores, rcond=None)
    assert columns @ taste == pytest.approx(scores, abs=1e-3)  # linear in the features
    rated = np.log(chances[history.items]).mean()
    assert rated > -np.log(len(features))  # likelier than if nothing were known
