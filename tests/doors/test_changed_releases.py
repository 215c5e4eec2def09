"""What a fit promised is about what it made, and not about what somebody made of that later."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

import discreet as dc
from discreet.cli.app import app
from discreet.errors import InputError
from discreet.fitting.replay import fit_and_replay
from discreet.releases.releasable import CHECKED, UNCHECKED

RATINGS = dc.synthetic(users=50, items=30, ratings=600, seed=1)
EXACT = {"counts": np.bincount(RATINGS.item_index, minlength=30).astype(np.float32)}


@pytest.fixture(scope="module")
def release():
    return fit_and_replay(dc.Popularity(), dc.TrustedServer(RATINGS, dc.Ledger(epsilon=1.0)))


def test_arrays_that_were_changed_after_the_fit_are_not_proven(door, release, tmp_path, capsys):
    assert CHECKED in release.guarantee.notes
    changed = replace(release, arrays={**release.arrays, **EXACT})
    changed.save(tmp_path / "changed")
    with pytest.raises(SystemExit):
        app(["certificate", str(tmp_path / "changed")], prog_name="discreet")
    card = " ".join(capsys.readouterr().out.split())
    door(
        "proven: epsilon 1, and a replay gave the same release",
        "exact counts were put in after it",
        str(changed.guarantee),
    )
    assert changed.guarantee.proven is None and "after" in changed.guarantee.reason
    assert "No privacy" in card and "Proven" not in card and CHECKED not in card
    assert dc.Release.load(tmp_path / "changed").guarantee.proven is None


@pytest.mark.parametrize(
    "change",
    [
        {"arrays": EXACT},
        {"model": dc.Popularity(), "arrays": EXACT},
        {"spends": "louder"},
        {"guarantee": "smaller"},
        {"guarantee": "of another fit"},
        {"catalogue": "other titles"},
        {"made": ""},
        {"arrays": EXACT, "made": "made here"},
        {"guarantee": "without notes"},
        {"note": "exact counts 137 89 107"},
    ],
    ids=lambda change: "+".join(change),
)
def test_whatever_a_promise_rests_on_is_bound_to_it(release, change):
    made = {
        "louder": tuple(replace(spend, scale=spend.scale * 10) for spend in release.spends),
        "smaller": replace(release.guarantee, proven=dc.privacy.Loss(0.1)),
        "of another fit": dc.Popularity().fit(dc.TrustedServer(RATINGS, dc.Ledger(epsilon=2.0))).guarantee,
        "without notes": replace(release.guarantee, notes=(CHECKED,)),
        "other titles": replace(release.catalogue, titles=np.array([f"film {item}" for item in range(30)])),
    }
    asked = {name: made.get(value, value) if isinstance(value, str) else value for name, value in change.items()}
    assert replace(release, **asked).guarantee.proven is None


def test_the_same_again_is_proven(release, tmp_path):
    same = [
        replace(release, arrays={name: array.copy() for name, array in release.arrays.items()}),
        copy.copy(release),
        copy.deepcopy(release),
        pickle.loads(pickle.dumps(release)),
    ]
    for number, one in enumerate(same):
        assert one.guarantee == release.guarantee
        one.save(tmp_path / f"{number}")
        loaded = dc.Release.load(tmp_path / f"{number}")
        assert loaded.guarantee == release.guarantee
        assert replace(loaded, arrays=EXACT).guarantee.proven is None
    changed = replace(release, arrays=EXACT)
    assert replace(changed, arrays=release.arrays, guarantee=release.guarantee).guarantee == release.guarantee


def test_arrays_that_were_changed_in_place_are_not_saved(door, release, tmp_path):
    changed = copy.deepcopy(release)
    changed.arrays["counts"].setflags(write=True)
    changed.arrays["counts"][:] = EXACT["counts"]
    with pytest.raises(InputError, match="changed") as refused:
        changed.save(tmp_path / "changed")
    door("proven, and saved", "exact counts were written over the noisy ones", str(refused.value))
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match="changed"):
        dc.releases.with_prior(RATINGS, changed)


def test_what_was_not_replayed_does_not_say_so(door, tmp_path):
    fitted = dc.Popularity().fit(dc.TrustedServer(RATINGS, dc.Ledger(epsilon=1.0)))
    assert fitted.guarantee.proven is not None and UNCHECKED in fitted.guarantee.notes
    said = replace(fitted, guarantee=replace(fitted.guarantee, notes=(CHECKED,)))
    said.save(tmp_path / "said")
    door("proven, and a replay gave the same release", "there was no replay", str(said.guarantee))
    assert dc.Release.load(tmp_path / "said").guarantee.proven is None


def test_what_was_not_proven_is_not_proven_later(release):
    exact = dc.Popularity().fit(dc.NoPrivacy(RATINGS))
    promised = {name: getattr(release, name) for name in ("guarantee", "spends", "sources")}
    assert replace(exact, **promised).guarantee.proven is None


def test_what_discreet_makes_of_released_arrays_stays_proven():
    ratings = dc.synthetic(users=80, items=60, ratings=2000, seed=1)
    release = dc.CovarianceKNN(form="neighbours").fit(dc.TrustedServer(ratings, dc.Ledger(8.0, 1e-6)))
    shorter = dc.truncated(release, 10)
    assert shorter.guarantee.proven == release.guarantee.proven is not None
    assert replace(shorter, arrays=release.arrays).guarantee.proven is None


def test_arrays_that_were_changed_in_place_are_not_truncated(door):
    """What is made of a release is marked anew, so it must be what the fit made."""
    ratings = dc.synthetic(users=80, items=60, ratings=2000, seed=1)
    release = dc.CovarianceKNN(form="neighbours").fit(dc.TrustedServer(ratings, dc.Ledger(8.0, 1e-6)))
    release.arrays["counts"].setflags(write=True)
    release.arrays["counts"][:] = np.bincount(ratings.item_index, minlength=60)
    with pytest.raises(InputError, match="changed") as refused:
        dc.truncated(release, 10)
    door("proven: epsilon 8, after truncation", "exact counts were written over the noisy ones", str(refused.value))
