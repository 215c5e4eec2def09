"""A setting that cannot be used is refused in one sentence when the model is built, for every model and setting."""

import dataclasses
import json
import math
from typing import Any, get_args, get_type_hints

import numpy as np
import pytest

import discreet as dc
from discreet.errors import InputError
from discreet.names import every_model


def settings_of(kind: type) -> list[tuple[str, str]]:
    """Every whole or real setting of every model: (model, setting)."""
    return [
        (name, field.name)
        for name, model in every_model().items()
        for field in dataclasses.fields(model)
        if kind in (hint := get_type_hints(model)[field.name], *get_args(hint))
    ]


@pytest.mark.parametrize(("name", "setting"), settings_of(int))
@pytest.mark.parametrize("value", [2.5, "3", math.nan, math.inf, True, [1], np.float64(3.0), -1])
def test_whole_settings_are_whole(name, setting, value):
    with pytest.raises(InputError, match=f"^{setting} must "):
        every_model()[name](**{setting: value})


@pytest.mark.parametrize(("name", "setting"), settings_of(float))
@pytest.mark.parametrize("value", ["100", math.nan, math.inf, -math.inf, True, [1.0], -1])
def test_real_settings_are_finite_numbers(name, setting, value):
    with pytest.raises(InputError, match=f"^{setting} must "):
        every_model()[name](**{setting: value})


@pytest.mark.parametrize(("name", "setting"), settings_of(int))
def test_whole_numbers_of_numpy_will_do(name, setting):
    assert getattr(every_model()[name](**{setting: np.int64(3)}), setting) == 3


def test_settings_of_numpy_survive_the_disk(tmp_path):
    ratings = dc.synthetic(users=30, items=20, ratings=300, seed=1)
    model = dc.Cosine(neighbours=np.int64(5), presence=np.float32(0.5))
    model.fit(dc.NoPrivacy(ratings)).save(tmp_path / "release")
    assert json.loads((tmp_path / "release" / "card.json").read_text())["settings"]["neighbours"] == 5
    assert dc.Release.load(tmp_path / "release").model == model


def test_what_was_put_in_the_wrong_place_is_not_printed():
    ratings = dc.synthetic(users=30, items=20, ratings=300, seed=1)
    wrong: list[Any] = [ratings, ratings.values, {"ann": 5}]
    for value in wrong:
        with pytest.raises(InputError, match=rf"neighbours must be a whole number, got {type(value).__name__}$"):
            dc.Cosine(neighbours=value)


@pytest.mark.parametrize("name", every_model())
@pytest.mark.parametrize("wrong", ["ml-100k", None, 3, dc.NoPrivacy])
def test_fit_says_what_it_takes(name, wrong):
    with pytest.raises(InputError, match=r"write \w+\(\.\.\.\)\.fit\(.*, got "):
        every_model()[name]().fit(wrong)
