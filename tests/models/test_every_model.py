"""What every model and every paper owes its users, checked on each name of the tables.

The block world has an answer that is known by construction: two groups of users, two groups of items,
and everyone rates items of their own group high and of the other group low. What does not ask for that answer is
checked on the same world perturbed at home too, whose ratings lie on a wider scale.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.collect.promise import promise_of
from discreet.data.labels import Labels
from discreet.data.ratings import Ratings
from discreet.errors import InputError, ReleaseError
from discreet.fitting.fit_on import fit_on
from discreet.names import every_kind
from discreet.populations.population import NoPrivacy
from discreet.releases.contract import ExplainingModel, needs_raw_ratings

# All but the first two have nothing to go by without genres and years, or with the few factors of their defaults.
NOT_PERSONAL = {"bias", "popularity", "own-taste", "pattern-mf", "huber-mf", "filtered-mf"}
# Few items want few factors: with nearly as many factors as items these say nothing new. A paper's noise is its own.
SETTINGS = {
    "svd": {"factors": 2},
    "pmf": {"factors": 5},
    "private-vae": {"latent": 2, "learning_rate": 0.1},
    "mult-vae": {"hidden": 16, "latent": 4, "learning_rate": 0.01, "patience": 0},
    "paper:hybrid-knn": {"epsilon": None, "gamma": 0.0},
    "paper:dpsgd-pnbm": {"epsilon": None, "iterations": 20, "learning_rate": 0.4},
    "paper:dpps-pnbm": {"epsilon": None, "iterations": 20, "learning_rate": 0.4},
    "paper:dpsgd-mf": {"epsilon": None, "factors": 3, "learning_rate": 0.03, "iterations": 60},
    "paper:dpps-mf": {"epsilon": None, "factors": 3, "learning_rate": 0.03, "iterations": 300},
    "paper:objective-perturbation": {"epsilon": None, "factors": 2},
    "paper:personalised": {"epsilon": None, "factors": 2},
    "paper:dp-pmf": {"epsilon": None, "factors": 2},
    "paper:untrusted": {"epsilon": None, "factors": 2},
    "paper:dp-vae": {
        "epsilon": None,
        "hidden": 8,
        "latent": 2,
        "epochs": 200,
        "learning_rate": 0.02,
        "divergence": 0,
    },
}
USERS, ITEMS = 61, 24
KINDS = every_kind()


def block_world() -> Ratings:
    """Users rate two thirds of their own block with 5 and a few items of the other block with 1."""
    rng = np.random.default_rng(3)
    own = np.arange(USERS)[:, None] % 2 == np.arange(ITEMS)[None, :] % 2
    rated = rng.random((USERS, ITEMS)) < np.where(own, 0.66, 0.12)
    rated[:, :2] |= own[:, :2]
    user, item = np.nonzero(rated)
    catalogue = dc.Catalogue.of([f"i{n}" for n in range(ITEMS)], dc.Scale(1, 5), declared=True)
    users = Labels.of([f"u{n}" for n in range(USERS)], what="user")
    return Ratings.of_columns(catalogue, users, user, item, np.where(own[user, item], 5.0, 1.0))


def perturbed(ratings: Ratings, mechanism: Any) -> Ratings:
    """As users send them, with the promise of their reports; the noise is seeded, so that no test depends on luck."""
    sent = dc.collect.perturb_ratings(mechanism, ratings, dc.Randomness(seed=4))
    return replace(sent, perturbed=mechanism.form(ratings.catalogue.scale))


WORLD = block_world()
WORLDS = {
    "ratings": WORLD,
    "private reports": perturbed(WORLD, dc.collect.Piecewise(epsilon=2.0)),
    "uniform reports": perturbed(WORLD, dc.collect.UniformNoise(gamma=1.5)),
}
RELEASES: dict[tuple[str, str], dc.Release] = {}


def model_of(name: str) -> Any:
    return KINDS[name](**SETTINGS.get(name, {}))


def released(name: str, world: str = "ratings") -> dc.Release:
    if (name, world) not in RELEASES:
        RELEASES[name, world] = fit_on(model_of(name), WORLDS[world])
    return RELEASES[name, world]


every_model = pytest.mark.parametrize("name", KINDS)
every_world = pytest.mark.parametrize("world", WORLDS)


@every_model
@every_world
def test_holds_no_user(name, world):
    for key, array in released(name, world).arrays.items():
        assert USERS not in array.shape, f"{key} has an axis as long as there are users"


@every_model
@every_world
def test_scores_are_finite_and_of_the_right_shape(name, world):
    scores = released(name, world).scores(WORLDS[world])
    assert scores.shape == (USERS, ITEMS)
    assert scores.dtype == np.float32
    assert np.isfinite(scores).all()


@every_model
def test_finds_the_block_of_a_user(name):
    if name in NOT_PERSONAL:
        pytest.skip("the same for everyone")
    for position in (0, 1):
        history = WORLD.history_at(position)
        best = [int(suggestion.item[1:]) for suggestion in released(name).recommend(history, k=2)]
        assert all(item % 2 == position for item in best)


@every_model
def test_predicts_the_rating_of_a_block(name):
    release = released(name)
    if not release.predicts_ratings or name in NOT_PERSONAL:
        pytest.skip("does not predict personal ratings")
    predicted = release.predict(WORLD, [0, 0, 1, 1], [0, 1, 0, 1])
    assert predicted[0] > predicted[1]
    assert predicted[3] > predicted[2]


@every_model
@every_world
def test_predictions_stay_on_the_scale(name, world):
    release = released(name, world)
    if not release.predicts_ratings:
        with pytest.raises(InputError, match="does not predict ratings"):
            release.predict(WORLDS[world], [0], [0])
        return
    users, items = np.divmod(np.arange(USERS * ITEMS), ITEMS)
    predicted = release.predict(WORLDS[world], users, items)
    assert predicted.shape == (USERS * ITEMS,)
    scale = WORLDS[world].catalogue.scale
    assert scale.low <= predicted.min() <= predicted.max() <= scale.high


@every_model
@every_world
def test_one_user_is_scored_as_in_a_batch(name, world):
    """A prediction is a function of the release and one history: the other users change nothing."""
    release = released(name, world)
    batch = release.scores(WORLDS[world])
    for position in (0, 7, USERS - 1):
        alone = release.score(WORLDS[world].history_at(position))
        np.testing.assert_allclose(alone, batch[position], rtol=1e-4, atol=1e-5)


@every_model
@every_world
def test_same_seed_same_release(name, world):
    again = fit_on(model_of(name), WORLDS[world])
    for key, array in released(name, world).arrays.items():
        np.testing.assert_array_equal(array, again.arrays[key])


@every_model
def test_does_not_care_how_users_are_called_or_ordered(name):
    if needs_raw_ratings(KINDS[name]()):
        pytest.skip("a seeded walk over raw ratings depends on their order")
    order = np.random.default_rng(0).permutation(USERS).astype(np.int32)
    shuffled = Ratings.of_columns(WORLD.catalogue, WORLD.users, order[WORLD.user_index], WORLD.item_index, WORLD.values)
    release = fit_on(model_of(name), shuffled)
    for key, array in released(name).arrays.items():
        np.testing.assert_allclose(array, release.arrays[key], rtol=2e-3, atol=2e-3)


@every_model
@every_world
def test_nobody_is_too_new(name, world):
    """An empty history, and an item that nobody rated."""
    catalogue = dc.Catalogue.of([*WORLD.catalogue.items, "unseen"], WORLDS[world].catalogue.scale)
    release = fit_on(model_of(name), replace(WORLDS[world], catalogue=catalogue))
    stranger = dc.History(catalogue, np.zeros(0, np.int32), np.zeros(0, np.float32))
    assert np.isfinite(release.score(stranger)).all()
    assert len(release.recommend(stranger, k=5)) == 5
    if release.predicts_ratings:
        histories = Ratings.of_history(stranger)
        assert np.isfinite(release.predict(histories, [0, 0], [0, ITEMS])).all()


@every_model
@every_world
def test_recommends_only_what_is_new(name, world):
    history = WORLDS[world].history_at(4)
    suggestions = released(name, world).recommend(history, k=ITEMS)
    assert len(suggestions) == ITEMS - len(history)
    assert not {s.item for s in suggestions} & {WORLDS[world].catalogue.items[int(i)] for i in history.items}
    scores = [s.score for s in suggestions]
    assert scores == sorted(scores, reverse=True)


@every_model
def test_explains_with_the_users_own_ratings_or_says_that_it_cannot(name):
    release, history = released(name), WORLD.history_at(4)
    if not isinstance(release.model, ExplainingModel):
        with pytest.raises(InputError, match="cannot explain"):
            release.recommend(history, explain=True)
        return
    own = {WORLD.catalogue.items[int(i)] for i in history.items}
    first = release.recommend(history, k=1, explain=True)[0]
    assert first.because or name in NOT_PERSONAL
    assert {reason.item for reason in first.because} <= own
    assert all(0 < reason.share <= 1 for reason in first.because)


@every_model
@every_world
def test_survives_the_disk(name, world, tmp_path):
    release = released(name, world)
    release.save(tmp_path / "release")
    again = dc.Release.load(tmp_path / "release")
    assert again.model == release.model
    assert again.guarantee == release.guarantee
    assert again.catalogue.fingerprint == release.catalogue.fingerprint
    np.testing.assert_array_equal(again.scores(WORLDS[world]), release.scores(WORLDS[world]))


@every_model
@every_world
def test_promises_no_more_than_was_done_at_home(name, world):
    """Whatever is made of reports promises what they do; of ratings nothing, or what a paper claims."""
    guarantee, form = released(name, world).guarantee, WORLDS[world].perturbed
    if name.startswith("paper:") or form is None:
        assert guarantee.proven is None
    else:
        assert guarantee.proven == promise_of(form).proven
        assert f"perturbed by {form}" in guarantee.reason or f"at home by {form}" in guarantee.reason


def other_world() -> Ratings:
    """The same catalogue, but fewer users with other names, who rated less and otherwise."""
    rng = np.random.default_rng(8)
    rated = rng.random((37, ITEMS)) < 0.4
    user, item = np.nonzero(rated)
    users = Labels.of([f"someone-else-{n}" for n in range(37)], what="user")
    return Ratings.of_columns(WORLD.catalogue, users, user, item, rng.integers(1, 6, len(user)))


OTHER = other_world()


@every_model
def test_card_says_nothing_about_the_users(name, tmp_path):
    """Whoever the users were and whatever they rated: the same card, but for the checksum of the arrays."""
    assert _card(released(name), tmp_path / "here") == _card(fit_on(model_of(name), OTHER), tmp_path / "there")
    assert {path.name for path in (tmp_path / "here").iterdir()} == {"card.json", "arrays.safetensors"}


@pytest.mark.parametrize("terms", [dc.Terms(epsilon=1.0), dc.Terms(epsilon=1.0, unit="user")], ids=["rating", "user"])
@pytest.mark.parametrize("name", ["bias", "popularity"])
def test_card_of_a_private_release_says_nothing_about_the_users(name, terms, tmp_path):
    """Ledger, guarantee and scale of the noise are public: they may not depend on the ratings either."""
    here, there = (fit_on(model_of(name), world, terms) for world in (WORLD, OTHER))
    assert here.guarantee.proven is not None
    assert _card(here, tmp_path / "here") == _card(there, tmp_path / "there")


def _card(release: dc.Release, folder: Path) -> dict[str, Any]:
    release.save(folder)
    card: dict[str, Any] = json.loads((folder / "card.json").read_text())
    text = json.dumps(card)
    assert not any(f'"{user}"' in text for world in (WORLD, OTHER) for user in world.users)
    del card["arrays_sha256"]
    return card


@every_model
def test_is_told_apart_by_what_it_learns_from(name):
    model = KINDS[name]()
    wrong = NoPrivacy(WORLD) if needs_raw_ratings(model) else WORLD
    with pytest.raises(InputError, match="fit\\("):
        model.fit(wrong)


@every_model
def test_settings_are_frozen_and_comparable(name):
    model = KINDS[name]()
    assert model == KINDS[name]()
    with pytest.raises(AttributeError):
        model.anything = 1


def test_damaged_release_is_refused(tmp_path):
    folder = tmp_path / "release"
    released("bias").save(folder)
    with (folder / "arrays.safetensors").open("ab") as file:
        file.write(b"!")
    with pytest.raises(ReleaseError, match=r"is missing or damaged: it has .* bytes where its header says"):
        dc.Release.load(folder)


def test_release_of_another_format_is_refused(tmp_path):
    folder = tmp_path / "release"
    released("bias").save(folder)
    card = json.loads((folder / "card.json").read_text())
    (folder / "card.json").write_text(json.dumps(card | {"format": 99}))
    with pytest.raises(ReleaseError, match="format 99"):
        dc.Release.load(folder)


@pytest.mark.parametrize("content", [None, "", "{", "[]", "{}", '{"format": 1, "model": "bias"}'])
def test_folder_that_is_no_release_is_refused(tmp_path, content):
    if content is not None:
        (tmp_path / "card.json").write_text(content)
    with pytest.raises(ReleaseError):
        dc.Release.load(tmp_path)


def test_save_does_not_overwrite_what_is_not_a_release(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match="not a release"):
        released("bias").save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_save_replaces_a_release_and_leaves_nothing_beside_it(tmp_path):
    released("bias").save(tmp_path / "release")
    with pytest.raises(InputError, match="holds a release"):
        released("popularity").save(tmp_path / "release")
    released("popularity").save(tmp_path / "release", replace=True)
    assert isinstance(dc.Release.load(tmp_path / "release").model, dc.Popularity)
    assert [path.name for path in tmp_path.iterdir()] == ["release"]
