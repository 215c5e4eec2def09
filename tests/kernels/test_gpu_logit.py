"""Rankings by torch: the scores of the processor, up to rounding, and its best items."""

import numpy as np
import pytest

import discreet as dc
from discreet.kernels import gpu_logit
from discreet.releases.recommendations import best_items

torch = pytest.importorskip("torch")
RATINGS = dc.synthetic(users=300, items=90, ratings=6_000, seed=1, like="movielens")
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


def histories():
    """Some users, one of whom rated nothing and one everything."""
    names = [*RATINGS.users.names.tolist(), "nobody"]
    return RATINGS.with_users(names)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("model", [dc.Almanac(), dc.Almanac(features=False), dc.Almanac(taste_factors=1)])
def test_scores_are_those_of_the_processor(model, device, monkeypatch):
    release, users = model.fit(dc.NoPrivacy(RATINGS)), histories()
    ranking = release.scorer().prepared.ranking
    wanted = ranking.scores(users)
    here = ranking.on_device(device)
    scores, _ = here.scores(users.indptr, users.item_index)
    np.testing.assert_allclose(scores.cpu().numpy(), wanted, atol=2e-3)
    monkeypatch.setattr(gpu_logit, "CELLS", 90 * 70)
    blocks = list(here.best(users.indptr, users.item_index, 10))
    assert [first for first, _, _ in blocks] == list(range(0, users.n_users, 70))
    best = np.concatenate([places for _, places, _ in blocks])
    own = best_items(wanted, [users], 10)
    assert (best == own).mean() > 0.99  # scores that are nearly equal may change places
    values = np.concatenate([values for _, _, values in blocks])
    taken = np.take_along_axis(wanted, np.maximum(own, 0), 1)
    np.testing.assert_allclose(values[own >= 0], taken[own >= 0], atol=2e-3)
