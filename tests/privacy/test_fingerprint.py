"""Data are known again by their users, whatever the file is called and however the rows lie; others are not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.privacy.fingerprint import ALIKE, Sketcher

ITEMS = np.array([f"item {number}" for number in range(300)])
KEY = bytes(range(32))


def histories(users, seed):
    rng = np.random.default_rng(seed)
    return [np.sort(rng.choice(300, size=rng.integers(5, 40), replace=False)) for _ in range(users)]


def named(users, who="user"):
    return np.array([f"{who} {number}" for number in range(users)])


def numbered(users):
    return np.arange(1, users + 1).astype(str)


def sketch(names, rows, key=KEY, parts=1):
    sketcher = Sketcher(key, ITEMS)
    for some in np.array_split(np.arange(len(names)), parts):
        indptr = np.concatenate([[0], np.cumsum([len(rows[user]) for user in some])]).astype(np.int64)
        items = np.concatenate([rows[user] for user in some]) if len(some) else np.zeros(0, dtype=np.int64)
        sketcher.add(names[some], indptr, items)
    return sketcher.finish()


@given(users=st.integers(20, 400), seed=st.integers(0, 10**6), numbers=st.booleans())
@settings(max_examples=30)
def test_the_same_data_in_any_order_and_in_parts_are_the_same(users, seed, numbers):
    names, rows = numbered(users) if numbers else named(users), histories(users, seed)
    order = np.random.default_rng(seed).permutation(users)
    one = sketch(names, rows)
    other = sketch(names[order], [rows[user] for user in order], parts=3)
    assert one == other and one.users_like(other) == one.items_like(other) == 1.0


@given(users=st.integers(20, 400), seed=st.integers(0, 10**6), numbers=st.booleans())
@settings(max_examples=30)
def test_an_export_with_a_tenth_more_is_known_again(users, seed, numbers):
    rng = np.random.default_rng(seed)
    more = users + users // 10
    names, rows = numbered(more) if numbers else named(more), histories(more, seed)
    grown = [np.union1d(own, rng.choice(300, size=round(0.1 * len(own)))) for own in rows]
    assert sketch(names[:users], rows[:users]).users_like(sketch(names, grown)) >= ALIKE


@given(users=st.integers(20, 400), seed=st.integers(0, 10**6), numbers=st.booleans())
@settings(max_examples=30)
def test_other_people_with_the_same_items_are_others(users, seed, numbers):
    """Also where both data sets number their users from 1 on."""
    names = (numbered(users), numbered(users)) if numbers else (named(users), named(users, "someone"))
    one, other = (sketch(own, histories(users, seed + place)) for place, own in enumerate(names))
    assert one.users_like(other) < ALIKE and one.items_like(other) == 1.0
    assert not one.same_users(other)


@given(users=st.integers(100, 300), seed=st.integers(0, 10**6), numbers=st.booleans())
@settings(max_examples=20)
def test_a_quarter_of_the_users_is_known_again(users, seed, numbers):
    """And all of them, after a quarter: by names, and where they are numbered by their tastes."""
    names, rows = numbered(4 * users) if numbers else named(4 * users), histories(4 * users, seed)
    part, everyone = sketch(names[:users], rows[:users]), sketch(names, rows)
    assert part.same_users(everyone) and everyone.same_users(part)


def test_the_bits_say_nothing_without_the_key():
    """Uniform for 20 users and for 5,000: neither who nor how many (chi², false alarm 1e-6 for each)."""
    for users in (20, 5000):
        counts = np.zeros(4)
        for number in range(40):
            text = sketch(named(users), histories(users, 1), key=bytes([number]) * 32).users
            bits = np.frombuffer(bytes.fromhex(text), dtype=np.uint8)[:, None] >> np.array([0, 2, 4, 6]) & 3
            assert len(text) == 512
            counts += np.bincount(bits[::8, 0].ravel(), minlength=4)
        expected = counts.sum() / 4
        # Of 20 users many bins are copies of one another, so the counts vary up to as much as 20 draws for each key.
        spread = 1 if users > 1000 else counts.sum() / (40 * 20)
        assert ((counts - expected) ** 2 / expected).sum() < 31 * max(1.0, spread)


def test_another_key_compares_nothing():
    one, other = (sketch(named(50), histories(50, 1), key=key) for key in (KEY, bytes(32)))
    assert one.users_like(other) == one.items_like(other) == 0.0


@pytest.mark.parametrize("users", [0, 1, 3])
def test_hardly_anyone(users):
    one = sketch(named(users), histories(users, 1))
    assert one.users_like(one) == (1.0 if users else 0.0)
