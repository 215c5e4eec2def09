from dataclasses import dataclass
from typing import ClassVar, Literal

import pytest

import discreet as dc
from discreet.cli.settings import parse_models, parse_setting
from discreet.errors import InputError, UnknownNameError


@dataclass(frozen=True, kw_only=True)
class Sample:
    raw_ratings: ClassVar[bool] = True
    neighbours: int = 100
    shrinkage: float = 5.0
    centred: bool = True
    kind: Literal["plain", "biased"] = "plain"
    limit: int | None = None


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("neighbours", "7", 7),
        ("shrinkage", "7", 7.0),
        ("shrinkage", "1e-3", 0.001),
        ("centred", "false", False),
        ("centred", "Yes", True),
        ("kind", "biased", "biased"),
        ("limit", "none", None),
        ("limit", "3", 3),
    ],
)
def test_a_value_is_read_by_the_declared_type(key, text, value):
    read = parse_setting("sample", Sample, key, text)
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    ("key", "text", "message"),
    [
        ("neighbours", "many", "neighbours must be a whole number, got 'many'"),
        ("neighbours", "2.5", "neighbours must be a whole number, got '2.5'"),
        ("neighbours", "none", "neighbours must be a whole number, got 'none'"),
        ("shrinkage", "a lot", "shrinkage must be a number, got 'a lot'"),
        ("centred", "perhaps", "centred must be true or false, got 'perhaps'"),
        ("kind", "round", "kind must be one of plain, biased, got 'round'"),
        ("limit", "few", "limit must be a whole number or none, got 'few'"),
        ("neighbors", "3", "there is no sample setting 'neighbors'; did you mean 'neighbours'?"),
    ],
)
def test_a_value_of_another_kind_is_refused(key, text, message, monkeypatch):
    monkeypatch.setattr("discreet.names.every_kind", lambda: {"sample": Sample})
    with pytest.raises(InputError) as refused:
        parse_setting("sample", Sample, key, text)
    assert str(refused.value) == message


def test_settings_reach_the_models_they_name():
    models = parse_models(["bias", "bias:item_damping=1", "popularity"], ["user_damping=2", "bias.item_damping=3"])
    assert models["bias"] == dc.Bias(item_damping=3, user_damping=2)
    assert models["bias:item_damping=1"] == dc.Bias(item_damping=1, user_damping=2)
    assert models["popularity"] == dc.Popularity()


@pytest.mark.parametrize(
    ("models", "settings", "message"),
    [
        (["bia"], [], "there is no model 'bia'; did you mean 'bias'?"),
        (["zzz"], [], "there is no model 'zzz'; `discreet models` lists them"),
        (["bias", "bias"], [], "the model 'bias' is named twice"),
        (["bias"], ["item_damping"], "a setting is written name=value, for example neighbours=100, got 'item_damping'"),
        (["bias:item_damping"], [], "a setting is written name=value, for example neighbours=100, got 'item_damping'"),
        (["bias"], ["cosine.neighbours=3"], "there is no model in this command 'cosine'"),
        (["popularity"], ["depth=3"], "there is no popularity setting 'depth'; it has no settings"),
        (["bias"], ["depth=3"], "there is no bias setting 'depth'; it has item_damping, user_damping"),
        (["bias"], ["item_damping=-1"], "item_damping must not be negative, got -1.0"),
        (["bias"], ["item_damping=nan"], "item_damping must be finite, got nan"),
    ],
)
def test_what_cannot_be_meant_is_refused(models, settings, message):
    with pytest.raises(InputError) as refused:
        parse_models(models, settings)
    assert str(refused.value) == message


def test_an_unknown_name_is_a_lookup_error():
    with pytest.raises(UnknownNameError):
        parse_models(["bias:depth=3"])
