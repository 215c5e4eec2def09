"""A release made ready to serve: the same answers for one user and for many, by numpy and by compiled kernels."""

import pickle
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.data.ratings import Ratings
from discreet.errors import InputError
from discreet.fitting.fit_on import fit_on
from discreet.kernels import compiling
from discreet.names import every_kind
from discreet.releases.contract import ExplainingManyModel, ExplainingModel, PreparingModel
from discreet.releases.scorer import Scorer

RATINGS = dc.synthetic(users=40, items=60, ratings=900, seed=5)
SETTINGS: dict[str, dict[str, Any]] = {
    "svd": {"factors": 4},
    "mf": {"factors": 5, "epochs": 5},
    "warp": {"factors": 5, "epochs": 5},
    "mult-vae": {"hidden": 8, "latent": 4, "epochs": 5},
    "private-vae": {"latent": 4, "steps": 2},
    "auto-encoder": {"latent": 4, "epochs": 5},
    "paper:untrusted": {"epsilon": None, "factors": 3},
    "paper:dp-vae": {"epsilon": None, "hidden": 8, "latent": 2, "epochs": 2},
    "paper:hybrid-knn": {"epsilon": None, "gamma": 0.0},
}
FORMS = [
    *((name, SETTINGS.get(name, {})) for name in every_kind()),
    ("covariance-knn", {"form": "interpolation"}),
    ("covariance-knn", {"form": "neighbours", "k": 3}),
    ("pnbm", {"centre": "item", "floor": 0.0}),
    ("almanac", {"features": False}),
    *(
        ("paper:hybrid-knn", {"epsilon": None, "gamma": 0.0, "prediction": form})
        for form in ("plain", "ratio", "joint")
    ),
]
RELEASES: dict[int, dc.Release] = {}
every_form = pytest.mark.parametrize("place", range(len(FORMS)), ids=[f"{name} {given}" for name, given in FORMS])


def released(place: int) -> dc.Release:
    if place not in RELEASES:
        name, settings = FORMS[place]
        RELEASES[place] = fit_on(every_kind()[name](**settings), RATINGS)
    return RELEASES[place]


def both_ways(monkeypatch: pytest.MonkeyPatch, asked: Any) -> tuple[Any, Any]:
    """What numpy says, and what the compiled kernels say, whoever asks."""
    answers = []
    for few in (10**9, -1):
        monkeypatch.setattr(compiling, "FEW_USERS", few)
        answers.append(asked())
    return answers[0], answers[1]


@every_form
def test_numpy_and_kernels_score_alike(place, monkeypatch):
    scorer = released(place).scorer()
    by_numpy, compiled = both_ways(monkeypatch, lambda: scorer.scores(RATINGS))
    spread = max(1.0, float(np.abs(compiled).max()))
    np.testing.assert_allclose(by_numpy, compiled, rtol=1e-5, atol=1e-5 * spread)


@every_form
def test_numpy_and_kernels_recommend_alike(place, monkeypatch):
    """The same order, unless two scores differ by no more than rounding."""
    scorer = released(place).scorer()
    for user in range(5):
        history = RATINGS.history_at(user)
        by_numpy, compiled = both_ways(monkeypatch, lambda own=history: scorer.recommend(own, k=10))
        for ours, theirs in zip(by_numpy, compiled, strict=True):
            assert ours.item == theirs.item or ours.score == pytest.approx(theirs.score, rel=1e-5, abs=1e-5)


@every_form
def test_numpy_and_kernels_predict_alike(place, monkeypatch):
    release = released(place)
    if not release.predicts_ratings:
        pytest.skip("only ranks")
    rng = np.random.default_rng(0)
    users, items = rng.integers(0, 40, 500), rng.integers(0, 60, 500)  # in any order
    scorer = release.scorer()
    by_numpy, compiled = both_ways(monkeypatch, lambda: scorer.predict(RATINGS, users, items))
    np.testing.assert_allclose(by_numpy, compiled, rtol=1e-5, atol=2e-5)


@every_form
def test_a_scorer_says_what_its_release_says(place):
    release, history = released(place), RATINGS.history_at(3)
    scorer = release.scorer()
    np.testing.assert_array_equal(scorer.score(history), release.score(history))
    assert [found.item for found in scorer.recommend(history)] == [found.item for found in release.recommend(history)]
    for item in (0, 30):
        if isinstance(release.model, ExplainingModel):
            name = release.catalogue.items[item]
            assert scorer.explain(history, name) == release.explain(history, name)
            assert scorer.shares(history, item).shape == (len(history),)
        else:
            with pytest.raises(InputError, match="cannot explain"):
                scorer.explain(history, release.catalogue.items[item])


@every_form
def test_a_list_is_explained_as_its_items_are_one_by_one(place):
    release, history = released(place), RATINGS.history_at(3)
    if not isinstance(release.model, ExplainingModel):
        pytest.skip("cannot explain")
    scorer, items = release.scorer(), np.array([30, 0, 59])
    if isinstance(release.model, ExplainingManyModel):
        each = np.stack([scorer.shares(history, int(item)) for item in items])
        together = release.model.explain_many(scorer.prepared, history, items.astype(np.int32))
        np.testing.assert_allclose(together, each, rtol=1e-5, atol=1e-6)
    alone = [scorer.explain(history, release.catalogue.items[int(item)]) for item in items]
    assert [[reason.item for reason in found] for found in scorer.reasons(history, items)] == [
        [reason.item for reason in found] for found in alone
    ]
    assert scorer.reasons(history, []) == []


@every_form
def test_what_is_prepared_does_not_depend_on_who_asked_before(place):
    """A scorer that has served others answers as a fresh one."""
    release, history = released(place), RATINGS.history_at(7)
    used = Scorer.of(release)
    used.scores(RATINGS)
    used.recommend(RATINGS.history_at(1))
    np.testing.assert_array_equal(used.score(history), Scorer.of(release).score(history))


@pytest.mark.parametrize("few", [0, 10**9], ids=["kernels", "numpy"])
@every_form
def test_a_history_without_ratings_is_served(place, few, monkeypatch):
    monkeypatch.setattr(compiling, "FEW_USERS", few)
    release = released(place)
    nobody = dc.History(release.catalogue, np.zeros(0, np.int32), np.zeros(0, np.float32))
    assert np.isfinite(release.score(nobody)).all()
    if release.predicts_ratings:
        assert np.isfinite(release.predict(Ratings.of_history(nobody), [0, 0], [1, 59])).all()


def test_a_release_is_prepared_once(monkeypatch):
    prepared = []
    prepare = dc.Almanac.prepare
    monkeypatch.setattr(dc.Almanac, "prepare", lambda self, release: prepared.append(1) or prepare(self, release))
    release = dc.Almanac().fit(dc.NoPrivacy(RATINGS))
    release.recommend_many(RATINGS, k=3)
    for user in range(5):
        release.recommend(RATINGS.history_at(user), explain=True)
    assert len(prepared) == 1
    assert release.scorer() is release.scorer()


def test_what_is_prepared_does_not_travel_with_a_release():
    release = dc.Almanac().fit(dc.NoPrivacy(RATINGS))
    before = len(pickle.dumps(release))
    release.recommend(RATINGS.history_at(0))
    assert len(pickle.dumps(release)) == before
    again = pickle.loads(pickle.dumps(release))
    np.testing.assert_array_equal(again.score(RATINGS.history_at(3)), release.score(RATINGS.history_at(3)))


def test_a_model_without_prepare_gets_the_release_itself():
    class Alphabet:
        def score(self, release, histories):
            assert isinstance(release, dc.Release)
            return np.tile(np.arange(len(release.catalogue), dtype=np.float32), (histories.n_users, 1))

    release = dc.Release(Alphabet(), {}, RATINGS.catalogue, dc.Guarantee.none("a toy"))
    assert not isinstance(release.model, PreparingModel)
    assert release.score(RATINGS.history_at(0))[-1] == 59
    assert release.scorer().prepared is release


def test_histories_of_another_catalogue_are_refused():
    scorer = released(0).scorer()
    other = dc.synthetic(users=3, items=50, ratings=60, seed=1)
    for asked in (
        lambda: scorer.score(other.history_at(0)),
        lambda: scorer.scores(other),
        lambda: scorer.explain(other.history_at(0), "1"),
        lambda: scorer.predict(other, [0], [0]),
    ):
        with pytest.raises(InputError, match="different catalogues"):
            asked()
    with pytest.raises(InputError, match="takes the History of one user"):
        scorer.explain(other, "1")
    with pytest.raises(InputError, match="no item at that position"):
        scorer.shares(RATINGS.history_at(0), 60)
