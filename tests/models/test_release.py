"""A release promises only what its ledger covers."""

import json
from dataclasses import replace

import numpy as np
import pytest

import discreet as dc
from discreet.errors import InputError, ReleaseError

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
    assert "Settings were chosen without looking" in sentence
    assert dc.Guarantee.from_json(json.loads(json.dumps(release.guarantee.to_json()))) == release.guarantee


def test_an_absurd_epsilon_promises_nothing():
    release = dc.Popularity().fit(dc.TrustedServer(RATINGS, dc.Ledger(epsilon=10_000.0)))
    assert release.guarantee.proven is None
    assert "so large that it promises nothing" in str(release.guarantee)


def test_a_claim_is_told_apart_from_a_proof():
    claim = dc.Guarantee(reason="item means are released without noise", claimed=dc.Loss(1.0), unit=dc.Rating())
    assert str(claim) == (
        "Claimed, not proven: epsilon 1 for one rating, present or absent. "
        "Why not: item means are released without noise."
    )
    with pytest.raises(InputError, match="a proven guarantee needs"):
        dc.Guarantee(reason="x", proven=dc.Loss(1.0), unit=dc.Rating(), seeded=True)
