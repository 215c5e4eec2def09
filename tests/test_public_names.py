"""Everything that is offered at the top is there, and what a caller must name is offered at the top."""

import inspect

import pytest

import discreet as dc
from discreet import errors


@pytest.mark.parametrize("name", dc.__all__)
def test_every_public_name_is_there(name):
    assert getattr(dc, name).__doc__
    assert name in dir(dc)


@pytest.mark.parametrize(
    "name", [name for name, kind in vars(errors).items() if inspect.isclass(kind) and issubclass(kind, Exception)]
)
def test_every_error_can_be_caught_by_its_public_name(name):
    assert getattr(dc, name) is getattr(errors, name)


def test_what_calls_return_can_be_named():
    ratings = dc.synthetic(users=30, items=20, ratings=200, seed=1)
    release = dc.Popularity().fit(dc.NoPrivacy(ratings))
    found = release.recommend(ratings.history_at(0), k=1)
    assert isinstance(found, dc.Recommendations) and isinstance(found[0], dc.Suggestion)
    assert isinstance(ratings.users, dc.Labels) and isinstance(release, dc.Release)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Recomendations'"):
        dc.Recomendations  # noqa: B018
