"""A device computes what Python computes: every model, in node and in a real browser, for 200 made-up users."""

import dataclasses

import numpy as np
import pytest

import discreet as dc
from discreet.data.catalogue import IMPLICIT
from discreet.errors import InputError
from discreet.names import MODELS
from discreet.web.agreement import agreement, agreements
from discreet.web.forms import FORMS

NAMES = [
    *FORMS,
    "covariance-knn, neighbours",
    "covariance-knn, interpolation",
    "pnbm, lists",
    "pnbm, item",
    "cosine, plain",
    "mf, not biased",
    "mult-vae, no hidden layer",
]


def test_every_model_can_be_exported():
    assert set(FORMS) == set(MODELS)


@pytest.mark.parametrize("name", NAMES)
def test_node_gives_the_scores_ratings_reasons_and_lists_of_python(name, exported, node):
    found = agreement(exported(name).release, exported(name).folder, "node")
    assert found.histories == 200
    assert found.holds, found
    assert found.equal_lists >= 198, found  # two items may differ by less than single precision can tell


def test_a_browser_does_too(exported, chromium):
    wanted = [exported(name) for name in NAMES]
    found = agreements([(one.release, one.folder) for one in wanted], "chromium")
    assert len(found) == len(NAMES)
    for name, one in zip(NAMES, found, strict=True):
        assert one.holds and one.histories == 200 and one.equal_lists >= 198, (name, one)


def test_reasons_are_compared_where_there_are_any(exported, node):
    for name in ("almanac", "own-taste", "cosine", "pnbm", "neighbour-list", "covariance-knn", "svd", "warp", "ease"):
        assert agreement(exported(name).release, exported(name).folder, "node").reason is not None, name


def test_another_release_is_noticed(exported, ratings, node):
    """The comparison has power: an item bias that is off by a thousandth of a point."""
    release = exported("bias").release
    arrays = dict(release.arrays)
    arrays["item_bias"] = arrays["item_bias"].copy()
    arrays["item_bias"][3] += 1e-3
    other = dataclasses.replace(release, arrays=arrays)
    assert not agreement(other, exported("bias").folder, "node").holds


def test_with_patterns_and_noise(ratings, node, tmp_path):
    ledger = dc.Ledger(epsilon=20.0, delta=1e-6, unit=dc.Rating())
    release = dc.Almanac().fit(dc.TrustedServer(ratings, ledger))
    assert release.arrays["taste_factors"].any() and release.arrays["neighbour_weights"].any()
    folder = dc.web.export_release(release, tmp_path / "web")
    assert agreement(release, folder, "node").holds


@pytest.mark.parametrize("model", [dc.Almanac(), dc.OwnTaste(), dc.Cosine(neighbours=20)], ids=str)
def test_data_without_ratings(model, ratings, node, tmp_path):
    catalogue = dataclasses.replace(ratings.catalogue, scale=IMPLICIT)
    users, items = ratings.user_index, ratings.item_index
    clicks = dc.Ratings.of_columns(catalogue, ratings.users, users, items, np.ones(len(ratings), dtype=np.float32))
    release = model.fit(dc.NoPrivacy(clicks))
    found = agreement(release, dc.web.export_release(release, tmp_path / "web"), "node")
    assert found.holds and found.rating is None


def test_a_model_of_ones_own_is_refused_in_one_sentence(ratings, tmp_path):
    @dataclasses.dataclass(frozen=True)
    class Mine:
        def score(self, prepared, histories):
            return histories

    release = exported_by(Mine(), ratings)
    with pytest.raises(InputError, match="Mine cannot be exported to devices; these can: almanac, als"):
        dc.web.export_release(release, tmp_path / "web")
    assert not (tmp_path / "web").exists()


def exported_by(model, ratings) -> dc.Release:
    return dc.Release(model, {}, ratings.catalogue, dc.Guarantee.none("a test"))
