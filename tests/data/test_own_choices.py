"""Data that the defaults were chosen on are recognised by their items, whatever file they come from."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.data.datasets import find_data_set, locate
from discreet.data.own_choices import chosen_on

FOLDER = Path(os.environ.get("DISCREET_DATA", "."))


def test_filmtrust_is_known_by_its_numbers_in_any_order():
    names = [str(number) for number in np.random.default_rng(0).permutation(np.arange(1, 2072))]
    catalogue = dc.Catalogue.of(names, dc.Scale(0.5, 4), declared=True)
    assert chosen_on(catalogue) == "filmtrust"
    assert chosen_on(dc.Catalogue.of(names[1:], dc.Scale(0.5, 4), declared=True)) is None
    assert chosen_on(dc.Catalogue.of([*names[1:], "x"], dc.Scale(0.5, 4), declared=True)) is None
    rated = dc.History(catalogue, np.arange(3, dtype=np.int32), np.full(3, 2.0, dtype=np.float32))
    guarantee = dc.Popularity().fit(dc.TrustedServer(dc.Ratings.of_history(rated), dc.Ledger(1.0))).guarantee
    assert any("items of filmtrust, on which Discreet's own defaults were chosen" in note for note in guarantee.notes)


@pytest.mark.parametrize(
    ("name", "items", "columns"),
    [
        ("filmtrust", "items.csv", {}),
        ("movietweetings", "items.csv", {}),
        ("ml-latest-small", "movies.csv", {"user": "userId", "item": "movieId"}),
    ],
)
def test_tables_that_the_defaults_were_chosen_on_are_recognised(name, items, columns):
    if not (FOLDER / name / "ratings.csv").exists() or not (FOLDER / name / items).exists():
        pytest.skip(f"{name} is not in DISCREET_DATA")
    told = {"scale": (0, 10), "repeats": "last", **columns}
    ratings = dc.load(FOLDER / name / "ratings.csv", items=FOLDER / name / items, items_public=True, **told)
    if len(ratings.catalogue) == find_data_set("ml-latest-small").items:
        pytest.skip("this is a later edition")
    assert chosen_on(ratings.catalogue) == name
    assert chosen_on(ratings.split(0.2, seed=1)[0].catalogue) == name
    assert chosen_on(replace(ratings.catalogue, titles=ratings.catalogue.items.names)) == name
    assert chosen_on(dc.load(FOLDER / name / "ratings.csv", **told).catalogue) == name  # of the ratings alone


def test_the_data_set_of_that_name_is_recognised_too():
    if locate(find_data_set("ml-latest-small"), FOLDER) is None:
        pytest.skip("MovieLens latest-small is not here")
    catalogue = dc.load("ml-latest-small", path=FOLDER).catalogue
    if len(catalogue) != 9125:
        pytest.skip("this is a later edition")
    assert chosen_on(catalogue) == "ml-latest-small"
