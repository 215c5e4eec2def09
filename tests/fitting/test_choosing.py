"""The rule of auto: a table of what it answers, and that it sees public facts alone."""

import inspect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import InputError
from discreet.fitting.choosing import choose, choose_for
from discreet.fitting.private_forms import has_private_form

units, trusts = st.sampled_from(["rating", "user"]), st.sampled_from(["server", "devices"])
epsilons = st.floats(0.01, 30)  # beyond that the samplers themselves are off with larger odds than a delta
private_terms = st.builds(
    dc.Terms, epsilon=epsilons, unit=units, trust=trusts, delta=st.sampled_from([None, 0.0, 1e-6, 1e-5])
)
terms = st.one_of(st.just(dc.Terms()), private_terms)
facts = {"users": st.integers(1, 10**8), "items": st.integers(1, 10**6), "features": st.booleans()}


@pytest.mark.parametrize(
    ("users", "items", "asked", "features", "expected"),
    [
        (943, 1_682, dc.Terms(), True, dc.Almanac()),
        (10, 20_000, dc.Terms(), False, dc.Almanac()),
        (943, 1_682, dc.Terms(epsilon=1, unit="user"), True, dc.Almanac()),
        (943, 1_682, dc.Terms(epsilon=1, unit="rating"), True, dc.Almanac()),
        (943, 1_682, dc.Terms(epsilon=10, unit="user"), False, dc.Almanac()),
        (480_189, 17_770, dc.Terms(epsilon=0.1, unit="user"), False, dc.Almanac()),
        (100_000, 5_000, dc.Terms(epsilon=1, unit="user", trust="devices"), True, dc.Almanac()),
        (9, 1_682, dc.Terms(epsilon=1, unit="user"), True, dc.OwnTaste()),
        (94, 1_682, dc.Terms(epsilon=1, unit="user"), True, dc.Almanac()),  # and it may be ten times more
        (50, 1_682, dc.Terms(epsilon=1, unit="rating"), True, dc.Almanac()),
        (50, 1_682, dc.Terms(epsilon=1, unit="user"), False, dc.Almanac()),
        (900, 1_682, dc.Terms(epsilon=1, unit="user", trust="devices"), True, dc.OwnTaste()),
    ],
)
def test_what_is_chosen(users, items, asked, features, expected):
    model, reason = choose(users, items, asked, features)
    assert model == expected
    assert type(model).__name__ in reason


def test_nothing_good_is_said_where_noise_hides_everything_and_there_are_no_features():
    model, reason = choose(300, 60, dc.Terms(epsilon=0.01, unit="user"), features=False)
    assert isinstance(model, dc.Almanac)
    assert "noise hides most of what Almanac publishes" in reason and "the most out of" not in reason


@given(**facts, terms=terms)
def test_there_is_always_an_answer_with_one_sentence(users, items, terms, features):
    model, reason = choose(users, items, terms, features)
    assert reason[0].isupper() and not reason.endswith(".") and "\n" not in reason and ". " not in reason
    if terms.epsilon is not None:
        assert f"epsilon {terms.epsilon:g}" in reason and f"{users:,} users" in reason
    assert choose(users, items, terms, features) == (model, reason)


@given(terms=private_terms)
def test_what_is_chosen_can_keep_its_terms(terms):
    for users in (10, 1000, 10**6):
        assert has_private_form(choose(users, 64, terms, features=True)[0], terms)


@given(seed=st.integers(0, 1000), asked=terms)
def test_no_rating_is_looked_at(seed, asked):
    """Other ratings by other users, or none at all, of the same public items: the same choice and the same words."""
    ratings = dc.synthetic(users=40, items=30, ratings=500, seed=1)
    others = dc.synthetic(users=40, items=30, ratings=500, seed=1).select_users([seed % 40])
    nobody = ratings.select_users(np.arange(0))
    first = choose_for(ratings.catalogue, 1000, asked)
    assert choose_for(others.catalogue, 1000, asked) == choose_for(nobody.catalogue, 1000, asked) == first


def test_its_arguments_are_public_facts():
    assert list(inspect.signature(choose).parameters) == ["users", "items", "terms", "features", "purpose"]
    with pytest.raises(InputError, match="users must be at least 1, got 0"):
        choose(0, 1, dc.Terms(), True)
    with pytest.raises(InputError, match="terms must be Terms"):
        choose(10, 1, 1.0, True)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="features must be true or false"):
        choose(10, 1, dc.Terms(), 18)  # type: ignore[arg-type]
