import numpy as np
import pytest

import discreet as dc
from discreet.errors import InputError
from discreet.models import svd
from discreet.models.svd import leading_eigenvectors

RATINGS = dc.synthetic(users=80, items=40, ratings=1500, seed=5)


@pytest.mark.parametrize("few", [500, 1])
def test_scores_are_the_projected_rows(monkeypatch, few):
    """Against a dense singular value decomposition, by either search for eigenvectors."""
    monkeypatch.setattr(svd, "FEW_ITEMS", few)
    matrix = np.zeros((80, 40))
    matrix[RATINGS.user_index, RATINGS.item_index] = 1
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    release = dc.SVD(factors=4).fit(dc.NoPrivacy(RATINGS))
    np.testing.assert_allclose(release.scores(RATINGS), (left[:, :4] * values[:4]) @ right[:4], rtol=1e-3, atol=1e-4)
    again = dc.SVD(factors=4).fit(dc.NoPrivacy(RATINGS))
    np.testing.assert_array_equal(again.arrays["item_factors"], release.arrays["item_factors"])


def test_both_searches_agree(monkeypatch):
    rows = np.random.default_rng(0).normal(size=(50, 30)) * np.linspace(3, 1, 30)
    monkeypatch.setattr(svd, "FEW_ITEMS", 1)
    found = leading_eigenvectors(rows.T @ rows, 3)
    monkeypatch.setattr(svd, "FEW_ITEMS", 500)
    np.testing.assert_allclose(found, leading_eigenvectors(rows.T @ rows, 3), atol=1e-4)
    np.testing.assert_allclose(found.T @ found, np.eye(3), atol=1e-5)


def test_reasons_add_up_to_the_score():
    release = dc.SVD(factors=4).fit(dc.NoPrivacy(RATINGS))
    history = RATINGS.history_at(2)
    assert release.model.explain(release, history, 5).sum() == pytest.approx(release.score(history)[5], rel=1e-4)


def test_more_factors_than_items_give_the_rows_back():
    release = dc.SVD(factors=100).fit(dc.NoPrivacy(RATINGS))
    assert release.arrays["item_factors"].shape == (40, 40)
    scores = release.scores(RATINGS)
    np.testing.assert_allclose(scores[RATINGS.user_index, RATINGS.item_index], 1, atol=1e-4)


def test_settings_are_checked():
    with pytest.raises(InputError, match="factors"):
        dc.SVD(factors=0)
