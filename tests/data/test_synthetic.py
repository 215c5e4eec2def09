import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.data import synthetic as module
from discreet.errors import InputError


@settings(max_examples=60)
@given(st.integers(1, 40), st.integers(1, 40), st.floats(0.001, 1), st.integers(0, 2**32 - 1))
def test_any_size(users, items, density, seed):
    count = max(1, round(density * users * items))
    ratings = dc.synthetic(users=users, items=items, ratings=count, seed=seed)
    assert (len(ratings), ratings.n_users, ratings.n_items) == (count, users, items)
    assert not ratings.has_repeats and set(ratings.values.tolist()) <= {1, 2, 3, 4, 5}
    sizes = np.diff(ratings.indptr)
    assert sizes.sum() == count and sizes.min() >= min(10, count // users, items)
    # The columns are sorted, as everything else takes for granted.
    keys = ratings.user_index.astype(np.int64) * items + ratings.item_index
    assert np.all(np.diff(keys) > 0)
    assert len(set(ratings.catalogue.titles.tolist())) == items


@pytest.fixture(scope="module")
def default():
    return dc.synthetic()


def test_the_seed_decides(default):
    again, other = dc.synthetic(seed=1), dc.synthetic(seed=2)
    for column in ("user_index", "item_index", "values", "times"):
        assert np.array_equal(getattr(default, column), getattr(again, column))
        assert not np.array_equal(getattr(default, column), getattr(other, column))
    assert default.catalogue.fingerprint == again.catalogue.fingerprint != other.catalogue.fingerprint


def test_threads_and_blocks_do_not_matter(default, monkeypatch):
    monkeypatch.setattr(module.os, "cpu_count", lambda: 1)
    monkeypatch.setattr(module, "BLOCK", 7)
    again = dc.synthetic()
    assert np.array_equal(default.item_index, again.item_index) and np.array_equal(default.values, again.values)


def test_it_looks_like_movielens(default):
    shares = np.bincount(default.values.astype(int)) / len(default)
    assert shares == pytest.approx([0, 0.061, 0.114, 0.271, 0.342, 0.212], abs=0.002)
    sizes = np.diff(default.indptr)
    assert sizes.min() >= 10 and sizes.max() > 5 * np.median(sizes)
    counts = np.sort(np.bincount(default.item_index, minlength=default.n_items))[::-1]
    assert counts[: default.n_items // 10].sum() > 0.35 * len(default)  # a tenth of the items, a third of the ratings
    assert np.median(counts) < 0.6 * counts.mean()
    genres = default.catalogue.item_genres.sum(axis=1)
    assert genres.min() >= 1 and genres.max() <= 3
    assert default.catalogue.titles[0].endswith(f"({default.catalogue.years[0]})")


def test_it_is_as_hard_to_predict_as_movielens(default):
    train, test = default.split(test=0.2, seed=1)
    release = dc.Bias().fit(dc.NoPrivacy(train))
    errors = release.predict(train, test.user_index, test.item_index) - test.values
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(0.94, abs=0.015)


def test_tastes_can_be_learned(default):
    """Residuals of the bias model have structure: their strongest directions explain held-out residuals."""
    train, test = default.split(test=0.2, seed=1)
    release = dc.Bias().fit(dc.NoPrivacy(train))
    residuals = [part.values - release.predict(train, part.user_index, part.item_index) for part in (train, test)]
    dense = np.zeros((train.n_users, train.n_items))
    dense[train.user_index, train.item_index] = residuals[0]
    left, strength, right = np.linalg.svd(dense, full_matrices=False)
    guess = ((left[:, :8] * strength[:8]) @ right[:8])[test.user_index, test.item_index]
    best = (guess @ residuals[1]) / (guess @ guess)
    gain = 1 - np.sqrt(np.mean((residuals[1] - best * guess) ** 2) / np.mean(residuals[1] ** 2))
    assert 0.02 < gain < 0.1


def test_like_movielens_it_has_many_weak_tastes(default):
    """Of the eigenvalues of who rates what, beyond popularity, the second is not far above those that follow."""
    like = dc.synthetic(like="movielens")
    assert not np.array_equal(like.item_index, default.item_index)
    second_to_sixth = []
    for ratings in (default, like):
        rated = ratings.csr.astype(bool).astype(float).toarray()
        rated /= np.sqrt(rated.sum(axis=1, keepdims=True)) * np.sqrt(np.maximum(rated.sum(axis=0), 1))
        strengths = np.linalg.svd(rated, compute_uv=False)
        second_to_sixth.append(strengths[1] / strengths[5])
    assert second_to_sixth[1] < 0.8 * second_to_sixth[0]
    train, test = like.split(test=0.2, seed=1)
    release = dc.Bias().fit(dc.NoPrivacy(train))
    errors = release.predict(train, test.user_index, test.item_index) - test.values
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(0.93, abs=0.02)


def test_users_pick_by_interest():
    """Items of a user share genres more often than chance has it."""
    ratings = dc.synthetic(users=300, items=300, ratings=9000, seed=3)
    genres = ratings.catalogue.item_genres.astype(float)
    profiles = ratings.csr.astype(bool).astype(float) @ genres
    profiles /= profiles.sum(axis=1, keepdims=True)
    shuffled = np.random.default_rng(0).permutation(ratings.item_index)
    blind = np.zeros((300, 300))
    blind[ratings.user_index, shuffled] = 1
    blind = blind @ genres
    blind /= blind.sum(axis=1, keepdims=True)
    assert profiles.var(axis=0).sum() > 1.2 * blind.var(axis=0).sum()


def test_half_stars_and_flat_laws():
    ratings = dc.synthetic(users=80, items=50, ratings=2000, seed=1, scale=dc.Scale(0.5, 5), step=0.5)
    assert set(ratings.values.tolist()) == {half / 2 for half in range(1, 11)}
    flat = dc.synthetic(users=100, items=50, ratings=1000, seed=1, activity_power=0)
    assert np.diff(flat.indptr).tolist() == [10] * 100


def test_progress_reaches_the_end():
    seen = []
    dc.synthetic(users=50, items=30, ratings=600, seed=1, progress=lambda done, total, what: seen.append((done, total)))
    assert seen[-1] == (50, 50) and seen == sorted(seen)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"users": 0}, "users must be at least 1, got 0"),
        ({"ratings": 901}, "30 users and 30 items have 900 pairs, too few for 901 ratings"),
        ({"step": 0.3}, "step must divide the rating scale 1 to 5 into equal parts, got 0.3"),
        ({"step": -1}, "step must be positive, got -1"),
        ({"popularity_power": -1}, "popularity_power must not be negative, got -1"),
        ({"like": "netflix"}, "like must be 'movielens' or left out, got 'netflix'"),
        ({"activity_power": -1}, "activity_power must not be negative, got -1"),
    ],
)
def test_bad_arguments(changes, message):
    with pytest.raises(InputError, match=message):
        dc.synthetic(**({"users": 30, "items": 30, "ratings": 100} | changes))


def test_titles_never_run_out():
    years = np.full(30_000, 1990, dtype=np.int16)
    titles = module._titles(years, np.random.default_rng(1))
    assert len(set(titles.tolist())) == 30_000
