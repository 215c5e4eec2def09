"""Public features of items."""

from dataclasses import replace

import numpy as np

import discreet as dc
from discreet.data.features import item_features

CATALOGUE = dc.synthetic(users=50, items=40, ratings=600, seed=1).catalogue


def test_they_are_computed_once_for_each_catalogue_and_number_of_ages():
    found = item_features(CATALOGUE, 4)
    assert item_features(CATALOGUE, 4) is found and not found.flags.writeable
    other = replace(CATALOGUE, years=np.arange(1960, 2000, dtype=np.int16))
    assert item_features(other, 8).shape[1] > item_features(other, 4).shape[1] > 0
    assert not np.array_equal(item_features(other, 4), found)
