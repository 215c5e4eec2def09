"""A model as it is written on the command line: a name, and settings as text.

``cosine`` is the model with its defaults, ``cosine:neighbours=100,shrinkage=5`` has two settings of its
own (``paper:hybrid-knn:gamma=1`` is a paper, ``my_models:Taste:strength=2`` a class of one's own, each with one), and
``--set neighbours=100`` or ``--set cosine.neighbours=100`` change those of the models named.
"""

import dataclasses
import sys
import types
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from discreet.errors import DiscreetError, InputError, UnknownNameError, require
from discreet.names import MODELS

AUTO = "auto"


def planned_model(name: str, settings: Sequence[str], *, users: int, purpose: str | None) -> Any | None:
    """The model of a fit or of its plan, told about how many ``users`` there are; None where a rule will choose.

    A ``purpose`` that is asked for in vain is refused.
    """
    if name == AUTO:
        check_auto([name], settings)
        return None
    chosen = parse_models([name], settings, audience=users, purpose=purpose)[name]
    require(
        purpose is None or hasattr(chosen, "purpose"),
        f"{split_name(name)[0]} does not plan by what a release is for: leave out --for",
    )
    return chosen


def check_auto(texts: Sequence[str], settings: Sequence[str]) -> None:
    """Raise for a setting of what ``auto`` stands for; beside named models it must say whose it is.

    >>> check_auto(["auto", "bias"], ["bias.item_damping=2"])
    """
    if not any(split_name(text)[0] == AUTO for text in texts):
        return
    require(list(texts).count(AUTO) < 2, f"the model {AUTO!r} is named twice")
    stray = [text for text in texts if text != AUTO and split_name(text)[0] == AUTO]
    others = [split_name(text)[0] for text in texts if split_name(text)[0] != AUTO]
    stray += [setting for setting in settings if not others or _pair(setting)[0].rpartition(".")[0] in ("", AUTO)]
    remedy = f", or write --set {others[0]}.NAME=VALUE" if others else ""
    require(not stray, f"--set is for a model with a name, and auto has not chosen one yet: name the model{remedy}")


def parse_models(
    texts: Sequence[str],
    settings: Sequence[str] = (),
    *,
    audience: int | None = None,
    purpose: str | None = None,
) -> dict[str, Any]:
    """The models that ``texts`` name, each under the text it was written as.

    Models that plan by the number of users are told ``audience``, and those that plan by what a release is for,
    ``purpose``, unless a setting says another.

    >>> parse_models(["bias", "bias:item_damping=2"], ["user_damping=1"])["bias:item_damping=2"]
    Bias(item_damping=2.0, user_damping=1.0)
    """
    names = {text: split_name(text)[0] for text in texts}
    check_auto(texts, settings)
    if len(names) < len(texts):
        raise InputError(f"the model {max(texts, key=texts.count)!r} is named twice")
    kinds = {name: model_kind(name) for name in names.values()}
    told = {name: value for name, value in (("audience", audience), ("purpose", purpose)) if value is not None}
    common: dict[str, dict[str, Any]] = {
        name: {key: value for key, value in told.items() if key in _fields(kind)} for name, kind in kinds.items()
    }
    for setting in settings:
        key, value = _pair(setting)
        owner, _, key = key.rpartition(".")
        takers = [name for name in kinds if name == owner or (not owner and key in _fields(kinds[name]))]
        if not takers:
            _refuse_setting(owner, key, kinds)
        for name in takers:
            common[name][key] = parse_setting(name, kinds[name], key, value)
    models = {}
    for text, name in names.items():
        pairs = [_pair(part) for part in split_name(text)[1].split(",") if part]
        own = {key: parse_setting(name, kinds[name], key, value) for key, value in pairs}
        models[text] = _made(name, kinds[name], common[name] | own)  # what is written beside the name wins
    return models


def model_name(words: Sequence[str], option: str | None, data: str) -> str:
    """The one model of a command, named before DATA or by ``--model``; auto where none was.

    >>> model_name(["bias"], None, "ml-100k"), model_name([], "bias", "ml-100k"), model_name([], None, "ml-100k")
    ('bias', 'bias', 'auto')
    """
    require(len(words) <= 1, f"fit takes one model, got {' '.join(words)}: write `discreet fit MODEL DATA -o DIR`")
    if words and option is not None:
        raise InputError(f"the model is named twice, {words[0]} and --model {option}: name it once")
    named = words[0] if words else option
    if named is None:  # with a single word that is what the parser takes for DATA, whichever it was meant to be
        require(not names_a_model(data), f"DATA is missing: write `discreet fit {data} DATA -o DIR`")
    return AUTO if named is None else named


def names_a_model(text: str) -> bool:
    """Whether a word that stands for DATA was meant to be a model."""
    from discreet.names import find_kind

    name = split_name(text)[0]
    return (name == AUTO or find_kind(name) is not None or _is_class(name)) and not Path(text).exists()


def partial_settings(texts: Sequence[str], settings: Sequence[str]) -> list[str]:
    """A sentence for each of ``settings`` that some of the models do not have, and which does not say whose it is.

    >>> partial_settings(["cosine", "bias"], ["neighbours=50", "cosine.power=2"])
    ['--set neighbours=50 changes cosine, and not bias, which has no such setting.']
    """
    names = list(dict.fromkeys(split_name(text)[0] for text in texts))
    sentences = []
    for setting in settings:
        key, _ = _pair(setting)
        takers = [name for name in names if key in _fields(model_kind(name))]
        others = [name for name in names if name not in takers]
        if "." not in key and takers and others:
            have = "which has" if len(others) == 1 else "which have"
            sentences.append(f"--set {setting} changes {_and(takers)}, and not {_and(others)}, {have} no such setting.")
    return sentences


def split_name(text: str) -> tuple[str, str]:
    """The name of a model, and the settings that are written beside it.

    >>> split_name("cosine:power=2"), split_name("paper:hybrid-knn:gamma=1"), split_name("my_models:Taste:strength=2")
    (('cosine', 'power=2'), ('paper:hybrid-knn', 'gamma=1'), ('my_models:Taste', 'strength=2'))
    """
    first, _, rest = text.partition(":")
    second, _, settings = rest.partition(":")
    if first == "paper" or (first not in MODELS and _is_class(f"{first}:{second}")):
        return f"{first}:{second}", settings
    return first, rest


def model_kind(name: str) -> Any:
    """The class of a model; an unknown name is an error that offers the nearest ones."""
    from discreet.names import every_kind, find_kind

    found = find_kind(name)
    if found is not None:
        return found
    if _is_class(name):
        from discreet.fitting.own_models import import_model

        if str(Path.cwd()) not in sys.path:  # as with `python -m`; only where a class is named
            sys.path.insert(0, str(Path.cwd()))
        return import_model(name)
    raise UnknownNameError.among("model", name, every_kind()).with_hint("`discreet models` lists them")


def own_kind(name: str | None) -> Any:
    """The class that ``--model`` names beside a release; None where it is left out."""
    return None if name is None else model_kind(name)


def parse_setting(name: str, kind: Any, key: str, text: str) -> Any:
    """The value of one setting, read by the type that the model declares for it.

    >>> import discreet as dc
    >>> parse_setting("bias", dc.Bias, "item_damping", "2")
    2.0
    """
    if key not in _fields(kind):
        _refuse_setting(name, key, {name: kind})
    try:
        declared = typing.get_type_hints(kind)[key]
    except NameError as error:
        raise InputError(f"the types of the settings of {name} cannot be read: {error}") from None
    is_union = typing.get_origin(declared) in (types.UnionType, typing.Union)
    options = typing.get_args(declared) if is_union else (declared,)
    if type(None) in options and text.lower() == "none":
        return None
    wanted = []
    for option in options:
        if option is type(None):
            wanted.append("none")
            continue
        words, value = _read(option, text)
        if value is not None:
            return value
        wanted.append(words)
    raise InputError(f"{key} must be {' or '.join(wanted)}, got {text!r}")


def settings_of(kind: Any) -> dict[str, Any]:
    """The settings of a model class, each with its default."""
    return {field.name: field.default for field in dataclasses.fields(kind)}


def _read(option: Any, text: str) -> tuple[str, Any]:
    """What the option wants, in words, and the value; None where the text is something else."""
    if typing.get_origin(option) is Literal:
        choices = typing.get_args(option)
        found = next((choice for choice in choices if str(choice) == text), None)
        return "one of " + ", ".join(map(str, choices)), found
    if option is bool:
        found = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}.get(text.lower())
        return "true or false", found
    if option in (int, float):
        try:
            return ("a whole number" if option is int else "a number"), option(text)
        except ValueError:
            return ("a whole number" if option is int else "a number"), None
    return "text", text


def _fields(kind: Any) -> list[str]:
    return [field.name for field in dataclasses.fields(kind)]


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip() or not value.strip():
        raise InputError(f"a setting is written name=value, for example neighbours=100, got {text!r}")
    return key.strip(), value.strip()


def _refuse_setting(owner: str, key: str, kinds: Mapping[str, Any]) -> typing.NoReturn:
    if owner and owner not in kinds:
        raise UnknownNameError.among("model in this command", owner, kinds)
    known = sorted({field for name in ([owner] if owner else kinds) for field in _fields(kinds[name])})
    whose = owner or " or ".join(kinds)
    has = f"it has {', '.join(known)}" if known else "it has no settings"
    raise UnknownNameError.among(f"{whose} setting", key, known).with_hint(has)


def _made(name: str, kind: Any, settings: dict[str, Any]) -> Any:
    """The model; what a class of somebody else's has against its settings becomes one sentence too."""
    missing = [
        field.name
        for field in dataclasses.fields(kind)
        if field.init and field.default is field.default_factory is dataclasses.MISSING and field.name not in settings
    ]
    if missing:
        raise InputError(f"{name} has no default for {_and(missing)}: write {name}:{'=VALUE,'.join(missing)}=VALUE")
    try:
        return kind(**settings)
    except DiscreetError:
        raise
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} cannot be made with these settings: {error}") from None


def _is_class(name: str) -> bool:
    """Whether a name is written as ``module:Class``."""
    module, _, kind = name.partition(":")
    return all(part.isidentifier() for part in (*module.split("."), *kind.split("."))) and module != "paper"


def _and(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
