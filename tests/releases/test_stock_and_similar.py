"""What may be recommended, and what is like an item."""

import numpy as np
import pytest

import discreet as dc
from discreet.data.labels import Labels
from discreet.fitting.fit_on import fit_on
from discreet.names import every_model
from discreet.releases.stock import allowed_items

RATINGS = dc.synthetic(users=60, items=40, ratings=900, seed=1)
RELEASE = dc.Cosine().fit(dc.NoPrivacy(RATINGS))


def test_excluded_items_are_not_recommended_and_others_move_up():
    history = RATINGS.history_at(0)
    first = RELEASE.recommend(history, k=6)
    rest = RELEASE.recommend(history, k=5, exclude=[first[0].title])
    assert [one.item for one in rest] == [one.item for one in first[1:]]
    shown = RELEASE.recommend(history, k=10, only=[first[1].item, first[4].item, "new"])
    assert [one.item for one in shown] == [first[1].item, first[4].item]


def test_many_users_as_one():
    only = list(RATINGS.catalogue.items)[:15]
    table = RELEASE.recommend_many(RATINGS, 4, only=only, exclude=only[:2])
    own = RELEASE.recommend(RATINGS.history_at(3), 4, only=only, exclude=only[:2])
    assert table.filter(table["user"] == RATINGS.users[3])["item"].to_list() == [one.item for one in own]


def test_a_title_stands_for_all_items_that_have_it():
    catalogue = dc.Catalogue.of(["1", "2", "3"], dc.Scale(1, 5), titles=["Heat", "Heat", "3 Ninjas"])
    assert allowed_items(catalogue, exclude=["Heat"]).tolist() == [False, False, True]
    assert allowed_items(catalogue, only=["3"]).tolist() == [False, False, True]  # the identifier, not a title


@pytest.mark.parametrize("wrong", ["1", 5, [1]])
def test_lists_of_names_are_lists_of_text(wrong):
    with pytest.raises(dc.InputError, match=r"text|list"):
        RELEASE.recommend(RATINGS.history_at(0), exclude=wrong)


def blocks() -> dc.Ratings:
    """Two kinds of users who rate the items of their own half high, and few of the others, low."""
    rng = np.random.default_rng(0)
    rows = []
    for user in range(120):
        rows += [(user, user % 2 * 20 + item, rng.choice([4, 5])) for item in rng.choice(20, 12, replace=False)]
        rows += [(user, (1 - user % 2) * 20 + item, rng.choice([1, 2])) for item in rng.choice(20, 2, replace=False)]
    users, items, values = np.array(rows).T
    catalogue = dc.Catalogue.of([f"i{item}" for item in range(40)], dc.Scale(1, 5), declared=True)
    return dc.Ratings.of_columns(catalogue, Labels.of(map(str, range(120)), what="user"), users, items, values)


@pytest.mark.parametrize(
    "name", ["almanac", "cosine", "pearson", "covariance-knn", "ease", "als", "mf", "neighbour-list"]
)
def test_similar_items_are_of_the_same_kind(name):
    """The block world has a known answer: of 10 items that are similar to one, all or nearly all are of its half."""
    found = fit_on(every_model()[name](), blocks()).similar("i3", k=10)
    assert "i3" not in [one.item for one in found]
    assert sum(int(one.item[1:]) < 20 for one in found) >= 8
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


def test_without_patterns_public_features_say_what_is_similar():
    genres = [["Drama"], ["Drama"], ["Comedy"], ["Drama", "War"]]
    catalogue = dc.Catalogue.of(list("abcd"), dc.Scale(1, 5), genres=genres, declared=True)
    ratings = dc.Ratings.of_columns(catalogue, Labels.of(["u"], what="user"), [0, 0], [0, 2], [5, 1])
    release = dc.Popularity().fit(dc.NoPrivacy(ratings))
    assert [one.item for one in release.similar("a", k=2)] == ["b", "d"]
    assert [one.item for one in release.similar("a", k=5, only=["c", "d"])] == ["d", "c"]
    plain = dc.Popularity().fit(dc.NoPrivacy(blocks()))
    with pytest.raises(dc.InputError, match="knows no more than averages"):
        plain.similar("i3")


def test_an_unknown_item_offers_the_nearest():
    with pytest.raises(dc.errors.UnknownNameError, match="there is no item"):
        RELEASE.similar("no such thing")
