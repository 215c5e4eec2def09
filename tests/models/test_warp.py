import numpy as np
import pytest

import discreet as dc
from discreet.errors import InputError

RATINGS = dc.synthetic(users=80, items=40, ratings=800, seed=5)


def share_in_order(release):
    """How often a rated item scores above one that was not rated."""
    scores = release.scores(RATINGS)
    rated = np.zeros(scores.shape, dtype=bool)
    rated[RATINGS.user_index, RATINGS.item_index] = True
    wins = [(row[known][:, None] > row[~known]).mean() for row, known in zip(scores, rated, strict=True) if known.any()]
    return float(np.mean(wins))


def test_training_puts_rated_items_first():
    untrained, trained = (dc.WARP(factors=8, epochs=epochs).fit(RATINGS) for epochs in (0, 20))
    assert share_in_order(untrained) < 0.6
    assert share_in_order(trained) > 0.75


def test_reasons_add_up_to_the_score():
    release = dc.WARP(factors=4, epochs=3).fit(RATINGS)
    history = RATINGS.history_at(2)
    reasons = release.model.explain(release, history, 5)
    assert reasons.sum() + release.arrays["item_bias"][5] == pytest.approx(
        release.score(history)[5], rel=1e-4, abs=1e-5
    )


def test_one_user_who_rated_everything_teaches_nothing():
    full = dc.synthetic(users=1, items=6, ratings=6, seed=1)
    release = dc.WARP(factors=3, epochs=2).fit(full)
    assert not release.arrays["item_bias"].any()


@pytest.mark.parametrize(
    "settings",
    [{"factors": 0}, {"epochs": -1}, {"learning_rate": 0}, {"decay": 2}, {"regularisation": -1}, {"trials": 0}],
)
def test_settings_are_checked(settings):
    (name,) = settings
    with pytest.raises(InputError, match=name):
        dc.WARP(**settings)
