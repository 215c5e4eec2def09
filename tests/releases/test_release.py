"""A release promises only what its ledger covers."""

import copy
import json
import pickle
from dataclasses import dataclass, replace

import numpy as np
import pytest

import discreet as dc
from discreet.errors import InputError, ReleaseError
from discreet.releases.release import HERE

RATINGS = dc.synthetic(users=60, items=40, ratings=900, seed=1)


@pytest.fixture(scope="module")
def private():
    return dc.Bias().fit(dc.TrustedServer(RATINGS, dc.Ledger(epsilon=1.0)))


def test_every_array_names_the_looks_it_was_made_from(private):
    assert set(private.sources) == set(private.arrays)
    looks = {spend.what for spend in private.spends}
    assert all(set(sources) <= looks for sources in private.sources.values())


def test_an_array_that_no_look_covers_cannot_be_released_as_proven(private):
    exact_means = np.ones(40, dtype=np.float32)
    with pytest.raises(InputError, match="'exact_means' is not covered by the ledger"):
        replace(private, arrays={**private.arrays, "exact_means": exact_means})
    with pytest.raises(InputError, match="not covered"):
        replace(private, spends=())
    with pytest.raises(InputError, match="not covered"):
        replace(private, sources={**private.sources, "mean": ("a look that was never booked",)})


def test_without_a_promise_anything_may_be_released(private):
    honest = replace(private, guarantee=dc.Guarantee.none("the means are exact"), spends=(), sources={})
    assert honest.guarantee.proven is None


def test_guarantee_and_ledger_survive_the_disk(private, tmp_path):
    private.save(tmp_path / "release")
    again = dc.Release.load(tmp_path / "release")
    assert again.guarantee == private.guarantee
    assert again.spends == private.spends
    assert again.sources == private.sources


def test_a_card_whose_ledger_was_emptied_is_refused(private, tmp_path):
    private.save(tmp_path / "release")
    path = tmp_path / "release" / "card.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"ledger": []}))
    with pytest.raises(ReleaseError, match="not covered"):
        dc.Release.load(tmp_path / "release")


@pytest.mark.parametrize(
    ("unit", "delta", "words"),
    [
        (dc.Rating(), 0.0, "whether or not they gave a rating"),
        (dc.Rating("replace"), 0.0, "this value or another"),
        (dc.User(), 1e-6, "whether or not they took part"),
        (dc.User(neighbours="replace"), 1e-6, "these ratings or quite others"),
    ],
)
def test_the_promise_reads_as_a_sentence_and_survives_json(unit, delta, words):
    release = dc.Popularity().fit(dc.TrustedServer(RATINGS, dc.Ledger(1.0, delta, unit)))
    sentence = str(release.guarantee)
    assert words in sentence and "epsilon 1" in sentence and "the recommender" in sentence
    assert "Settings are the model's defaults" in sentence
    assert dc.Guarantee.from_json(json.loads(json.dumps(release.guarantee.to_json()))) == release.guarantee


def test_an_absurd_epsilon_promises_nothing():
    release = dc.Popularity().fit(dc.TrustedServer(RATINGS, dc.Ledger(epsilon=1000.0)))
    assert release.guarantee.proven is None
    assert "so large that it promises nothing" in str(release.guarantee)


def test_a_claim_is_told_apart_from_a_proof():
    claim = dc.Guarantee(reason="item means are released without noise", claimed=dc.privacy.Loss(1.0), unit=dc.Rating())
    assert str(claim) == (
        "Claimed, not proven: epsilon 1 for one rating, present or absent. "
        "Why not: item means are released without noise."
    )
    with pytest.raises(InputError, match="a proven guarantee needs"):
        dc.Guarantee(reason="x", proven=dc.privacy.Loss(1.0), unit=dc.Rating(), seeded=True)


# ── What was released stays as it is ──


def test_arrays_and_sources_cannot_be_changed(private):
    with pytest.raises(TypeError, match="does not support item assignment"):
        private.arrays["exact_means"] = np.ones(40)
    with pytest.raises(TypeError):
        private.sources["mean"] = ()
    with pytest.raises((TypeError, AttributeError)):
        private.arrays.update(exact_means=np.ones(40))
    with pytest.raises(ValueError, match="read-only"):
        private.arrays["item_bias"][0] = 5


def test_the_dictionary_it_was_built_from_is_not_a_back_door(private):
    given = dict(private.arrays)
    release = replace(private, arrays=given)
    given["exact_means"] = np.ones(40)
    assert "exact_means" not in release.arrays


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda release: pickle.loads(pickle.dumps(release))])
def test_a_copy_is_as_closed_as_the_first(private, duplicate):
    again = duplicate(private)
    assert again.sources == private.sources
    np.testing.assert_array_equal(again.scores(RATINGS), private.scores(RATINGS))
    with pytest.raises(TypeError):
        again.arrays["exact_means"] = np.ones(40)
    with pytest.raises(ValueError, match="read-only"):
        again.arrays["item_bias"][0] = 5


def test_what_is_not_covered_is_not_saved_either(private, tmp_path):
    forged = copy.copy(private)
    object.__setattr__(forged, "arrays", {**private.arrays, "exact_means": np.ones(40)})
    with pytest.raises(InputError, match="'exact_means' is not covered by the ledger"):
        forged.save(tmp_path / "release")
    assert list(tmp_path.iterdir()) == []


def test_a_release_prints_on_one_line(private):
    assert repr(private) == "Release(Bias, 40 items, proven epsilon 1)"
    assert repr(dc.Cosine().fit(dc.NoPrivacy(RATINGS))) == "Release(Cosine, 40 items, no privacy)"
    claimed = dc.Guarantee(reason="no noise", claimed=dc.privacy.Loss(2.0), unit=dc.Rating())
    assert repr(replace(private, guarantee=claimed)) == "Release(Bias, 40 items, claimed, not proven: epsilon 2)"


def test_where_the_list_of_items_came_from_survives_the_disk(tmp_path):
    for declared in (True, False):
        ratings = replace(RATINGS, catalogue=replace(RATINGS.catalogue, declared=declared))
        dc.Popularity().fit(dc.NoPrivacy(ratings)).save(tmp_path / "release", replace=True)
        assert dc.Release.load(tmp_path / "release").catalogue.declared is declared


def test_a_promise_that_its_ledger_does_not_add_up_to_is_not_saved(private, tmp_path):
    smaller = replace(private.guarantee, proven=dc.privacy.Loss(0.01, 1e-9))
    assert replace(private, guarantee=smaller).guarantee.proven is None
    forged = replace(private, guarantee=smaller, made=HERE)  # as if a fit had made it
    with pytest.raises(InputError, match="its ledger adds up to epsilon 1: the promise is false"):
        forged.save(tmp_path / "release")
    assert list(tmp_path.iterdir()) == []


@dataclass(frozen=True)
class Says:
    """Explains everything with the same numbers."""

    added: tuple[float, ...]

    def score(self, release, histories):
        return np.zeros((histories.n_users, histories.n_items), dtype=np.float32)

    def explain(self, release, history, item):
        return np.array(self.added)


def test_a_rating_that_spoke_against_an_item_is_no_reason_for_it():
    catalogue = dc.Catalogue.of(["a", "b", "c", "d", "e"], dc.Scale(1, 5))
    history = dc.History(catalogue, np.arange(4, dtype=np.int32), np.full(4, 3.0, dtype=np.float32))

    def because(*added):
        release = dc.Release(Says(added), {}, catalogue, dc.Guarantee.none("made up"))
        return {reason.item: reason.share for reason in release.recommend(history, k=1, explain=True)[0].because}

    assert because(-5.0, 1.0, -2.0, 3.0) == {"d": 0.75, "b": 0.25}
    assert because(-5.0, -1.0, -2.0, 0.0) == {}
