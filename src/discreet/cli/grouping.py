"""How commands take groups of options, and what was typed rather than taken from ``discreet.toml``."""

import inspect
import shlex
import sys
import typing
from collections.abc import Callable
from dataclasses import MISSING, field, fields, is_dataclass
from functools import wraps
from typing import Annotated, Any

import typer


def this_command() -> str:
    """What was typed, for pages that say how to do it again; addresses without their passwords."""
    from discreet.data.remote import Remote, is_remote

    words = [str.__str__(Remote.of(word)) if is_remote(word) else word for word in sys.argv[1:]]
    return shlex.join(["discreet", *words])


def option(*names: str, default: Any = None, **how: Any) -> Any:
    """A field of a group of options: what ``typer.Option`` takes, and the default."""
    return field(default=default, metadata={"typer": typer.Option(*names, **how)})


def argument(**how: Any) -> Any:
    """The same for an argument, which has no default."""
    return field(metadata={"typer": typer.Argument(**how)})


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take groups of options: a parameter annotated with a dataclass becomes its fields.

    Typer reads parameters off the signature, so the signature is what is changed; the command still
    receives each group as one object.
    """
    own = inspect.signature(command, eval_str=True).parameters
    groups = {name: own[name].annotation for name in own if is_dataclass(own[name].annotation)}
    parameters: list[inspect.Parameter] = []
    for name, parameter in own.items():
        if name not in groups:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        hints = typing.get_type_hints(groups[name], include_extras=True)
        parameters += [
            inspect.Parameter(
                one.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if one.default is MISSING else one.default,
                annotation=Annotated[hints[one.name], one.metadata["typer"]] if one.metadata else hints[one.name],
            )
            for one in fields(groups[name])
        ]

    if "ctx" not in own:
        parameters.append(inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context))

    @wraps(command)
    def expanded(**given: Any) -> None:
        given = _model_before_data(given["ctx"], given)
        if "ctx" not in own:
            del given["ctx"]
        for name, group in groups.items():
            given[name] = group(**{one.name: given.pop(one.name) for one in fields(group)})
        command(**given)

    expanded.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    expanded.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return expanded


def typed(ctx: typer.Context, name: str) -> bool:
    """Whether an option was on the command line, and is no default of the program or of ``discreet.toml``."""
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _model_before_data(ctx: typer.Context, given: dict[str, Any]) -> dict[str, Any]:
    """Where ``discreet.toml`` names the data, a single word that is a model is one: `discreet fit almanac`."""
    words = next((name for name in ("words", "models") if isinstance(given.get(name), list)), None)
    data = ctx.lookup_default("data")
    if words is None or data is None or given.get("data") in (None, data):
        return given
    from discreet.cli.settings import names_a_model

    if not names_a_model(given["data"]):
        return given
    first = given[words] if typed(ctx, words) else []
    return given | {words: [*first, given["data"]], "data": data} | ({"model": None} if "model" in given else {})
