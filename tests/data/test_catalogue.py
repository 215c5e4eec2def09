from dataclasses import replace

import numpy as np
import pytest

import discreet as dc
from discreet.data.labels import Labels
from discreet.errors import InputError, UnknownNameError

SCALE = dc.Scale(1, 5)


# Of two items, a and b, on the scale 1 to 5: releases that were saved hold such numbers.
FINGERPRINT = "b8f0f0ddb7053abefd39806e7e0481bc8239f6803e441139ffcde6d169913345"


def catalogue(**changes):
    given = {"titles": ["Up", "Down", "Up"], "genres": [["War"], [], ["War", "Drama"]], "years": [1990, 0, 2000]}
    return dc.Catalogue.of(["1", "2", "3"], SCALE, **(given | changes))


def test_finding_by_title_and_by_identifier():
    found = catalogue()
    assert [found.find(name) for name in ("Up", "Down", "3")] == [0, 1, 2]
    with pytest.raises(UnknownNameError, match="there is no item 'Dwn'; did you mean 'Down'"):
        found.find("Dwn")


def test_the_fingerprint_covers_everything():
    changes = [{"titles": ["Up", "Down", "U"]}, {"genres": [[], [], ["War", "Drama"]]}, {"years": [1990, 0, 2001]}]
    prints = {catalogue(**change).fingerprint for change in [{}, *changes]}
    assert len(prints) == 4 and catalogue().fingerprint in prints
    assert dc.Catalogue.of(["1"], SCALE).fingerprint != dc.Catalogue.of(["1"], dc.Scale(0, 5)).fingerprint
    catalogue().require_same(catalogue())
    with pytest.raises(InputError, match="different catalogues"):
        catalogue().require_same(catalogue(years=[1, 2, 3]))


def test_where_the_list_came_from_is_kept_and_is_no_part_of_the_fingerprint():
    stated, read_off = catalogue(declared=True), catalogue()
    assert stated.declared and not read_off.declared and not replace(read_off, scale=dc.Scale(0, 9)).declared
    stated.require_same(read_off)
    assert dc.Catalogue.of(["a", "b"], SCALE).fingerprint == FINGERPRINT
    assert repr(stated) == "Catalogue(3 items, scale 1 to 5)"
    assert repr(dc.Catalogue.of(["1"], SCALE)) == "Catalogue(1 item, scale 1 to 5, not declared)"


def test_wrong_shapes_and_repeated_items():
    with pytest.raises(InputError, match="3 items but 1 titles"):
        catalogue(titles=["a"])
    with pytest.raises(InputError, match="one row for each of the 3 items"):
        catalogue(years=[1])
    with pytest.raises(InputError, match="every item must be named once"):
        dc.Catalogue.of(["1", "1"], SCALE)


def test_scales():
    assert dc.Scale.parse("0.5:5") == dc.Scale(0.5, 5) and dc.Scale(1, 5).width == 4
    for wrong in ("1-5", "a:b", "1:2:3"):
        with pytest.raises(InputError, match="LOW:HIGH"):
            dc.Scale.parse(wrong)
    for low, high in ((5, 1), (1, 1), (float("nan"), 5), (1, float("inf"))):
        with pytest.raises(InputError, match="low below high"):
            dc.Scale(low, high)


def test_labels():
    labels = Labels.of(["b", "a"], what="user")
    assert list(labels) == ["b", "a"] and "a" in labels and "c" not in labels
    assert labels.indices(["a", "b"]).tolist() == [1, 0]
    with pytest.raises(UnknownNameError, match="there is no item 'aa'; did you mean 'a'"):
        Labels.of(["b", "a"], what="item").index("aa")
    with pytest.raises(UnknownNameError) as caught:
        labels.index("secret-name")
    assert str(caught.value) == "there is no user of that name"


def test_histories():
    history = dc.History.of(catalogue(), {"Down": 2, "1": 5})
    assert history.items.tolist() == [0, 1] and history.values.tolist() == [5, 2]
    assert dc.History.of_likes(catalogue(), ["Down"]).values.tolist() == [5]
    with pytest.raises(InputError, match="outside the scale 1 to 5"):
        dc.History.of(catalogue(), {"Down": 6})
    with pytest.raises(InputError, match="outside the scale 1 to 5"):
        dc.History.of(catalogue(), {"Down": float("nan")})
    assert dc.History.of(catalogue(), {np.str_("Down"): np.float32(2)}).values.tolist() == [2]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: dc.History.of(catalogue(), {3: 3}), "the name of an item is text, got int: write it in quotes"),
        (lambda: dc.History.of(catalogue(), {None: 3}), "the name of an item is text, got NoneType"),
        (lambda: dc.History.of(catalogue(), {("Up",): 3}), "the name of an item is text, got tuple"),
        (lambda: dc.History.of(catalogue(), {"Up": "three"}), "^a rating in the history is not a number$"),
        (lambda: dc.History.of(catalogue(), {"Up": "3"}), "^a rating in the history is not a number$"),
        (lambda: dc.History.of(catalogue(), {"Up": None}), "^a rating in the history is not a number$"),
        (lambda: dc.History.of(catalogue(), {"Up": True}), "^a rating in the history is not a number$"),
        (lambda: dc.History.of(catalogue(), [("Up", 3)]), "ratings must map names of items to numbers.*got list"),
        (lambda: dc.History.of_likes(catalogue(), [1]), "the name of an item is text, got int"),
        (lambda: dc.History.of_likes(catalogue(), "Up"), "names must be a list of titles or identifiers, got a single"),
        (lambda: catalogue().find(1), "the name of an item is text, got int"),
        (lambda: catalogue().items.index([]), "the name of an item is text, got list"),
    ],
)
def test_names_are_text_and_ratings_are_numbers(call, message):
    with pytest.raises(InputError, match=message):
        call()
    with pytest.raises(InputError, match="names one item twice"):
        dc.History.of(catalogue(), {"Down": 2, "2": 3})
    with pytest.raises(UnknownNameError, match="there is no item"):
        dc.History.of(catalogue(), {"Left": 2})
    with pytest.raises(InputError, match="increasing order"):
        dc.History(catalogue(), np.array([1, 0], dtype=np.int32), np.array([1, 2], dtype=np.float32))


def test_a_scale_is_the_same_in_whole_numbers_and_in_fractions():
    """A release from the command line (--scale 1:5) and a history read in Python (scale=(1, 5)) must fit together."""
    assert dc.Scale(1, 5) == dc.Scale.parse("1:5")
    assert dc.Catalogue.of(["a"], dc.Scale(1, 5)).fingerprint == dc.Catalogue.of(["a"], dc.Scale(1.0, 5.0)).fingerprint
