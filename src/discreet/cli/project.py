"""``discreet.toml``: what every command of a project would otherwise have to be told again.

It is looked for in this folder and the folders above, read once into :class:`Project`, and becomes the defaults of the
options that it names; what is typed wins. Paths in it are relative to its own folder.

    [data]
    source = "ratings.csv"          a file, a data set by name, or an address; with query = "select …" for a database
    scale = "1:5"
    items = "items.csv"
    items-public = true

    [fit]
    model = "almanac"
    epsilon = 1.0
    unit = "user"
    release = "release"

    [budget]
    account = "films"
    limit = 8.0

    [recommend]
    output = "recs.parquet"
    k = 20
"""

import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args, get_type_hints

from discreet.cli.data_options import DataOptions
from discreet.errors import InputError, UnknownNameError

NAME = "discreet.toml"
PLACES = ("source", "url", "items", "users", "exclude", "only", "prior")
"""Keys that name a file beside it, or something with an address."""


def _kinds(group: type, leaving_out: Collection[str]) -> dict[str, Any]:
    """The kind of value of each option of a group, by name."""
    hints = {name: hint for name, hint in get_type_hints(group).items() if name not in leaving_out}
    return {name: (get_args(hint) or (hint,))[0] for name, hint in hints.items()}


SECTIONS: dict[str, dict[str, Any]] = {
    "data": {"source": str} | _kinds(DataOptions, leaving_out=("data", "path")),
    "fit": {
        "model": str,
        "settings": tuple,
        "epsilon": float,
        "delta": float,
        "unit": str,
        "trust": str,
        "audience": int,
        "tuned_on": str,
        "release": Path,
        "sign": Path,
        "once_per": str,
        "purpose": str,
        "prior": str,
    },
    "budget": {"account": str, "url": str, "limit": float, "delta": float, "unit": str},
    "recommend": {"output": Path, "k": int, "exclude": str, "only": str, "chunk": int, "titles": bool},
}
"""What may be said in each section, and what kind of value it is; ``[data]`` takes the options of the same names."""


@dataclass(frozen=True, kw_only=True)
class Project:
    """What a ``discreet.toml`` says.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "discreet.toml"
    >>> _ = file.write_text('[data]\\nsource = "ml-100k"\\n[fit]\\nepsilon = 1\\n')
    >>> Project.read(file).defaults()["fit"]
    {'data': 'ml-100k', 'epsilon': 1.0}
    """

    path: Path
    data: Mapping[str, Any] = field(default_factory=dict)
    fit: Mapping[str, Any] = field(default_factory=dict)
    budget: Mapping[str, Any] = field(default_factory=dict)
    recommend: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> "Project":
        """Read a file; a key that is not known is refused, with the nearest one that is."""
        try:
            content = tomllib.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise InputError(f"there is no file {path}", place=str(path)) from None
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(
                f"{path} cannot be read: {getattr(error, 'strerror', None) or 'it is not UTF-8'}"
            ) from None
        except tomllib.TOMLDecodeError as error:
            raise InputError.at(str(path), f"this is not TOML: {str(error)[:1].lower()}{str(error)[1:]}") from None
        made: dict[str, Any] = {}
        for name, values in content.items():
            if name not in SECTIONS:
                raise _unknown(path, "section", name, list(SECTIONS))
            if not isinstance(values, Mapping):
                raise InputError.at(str(path), f"{name} is a section: write [{name}] on a line of its own")
            made[name] = _section(path, name, values)
        return cls(path=path, **made)

    def defaults(self) -> dict[str, dict[str, Any]]:
        """For each command the defaults of its options, by the names of its parameters."""
        data = dict(self.data)
        if "source" in data:
            data["data"] = data.pop("source")
        fit = dict(self.fit)
        release = {"release": fit.pop("release")} if "release" in fit else {}
        privacy = {name: fit[name] for name in ("epsilon", "delta", "unit", "trust") if name in fit}
        account = {name: value for name, value in self.budget.items() if name == "account"}
        paying = account | ({"budget": self.budget["url"]} if "url" in self.budget else {})
        model = [fit["model"]] if "model" in fit else []
        settings = {name: fit[name] for name in ("settings", "audience") if name in fit}
        written = {"output": release["release"]} if release else {}
        several = {name: f"{value:g}" if name == "epsilon" else value for name, value in privacy.items()}
        limits = dict(self.budget)
        if "limit" in limits:
            limits["epsilon"] = limits.pop("limit")
        owner = {} if account or "data" not in data else {"data": data["data"]}
        found = {
            "fit": data | fit | paying | written,
            "plan": data | fit | paying,
            "search": data | privacy | paying,
            "evaluate": data | privacy | settings | paying | ({"models": model} if model else {}),
            "compare": data | several | settings | paying,
            "audit": data | privacy | {name: settings[name] for name in settings if name == "settings"} | paying,
            "recommend": {**data, **release, **self.recommend},
            "show": release,
            "serve": release,
            "export": release,
            "certificate": release | paying,
            "budget": limits | owner,
        }
        return {command: values for command, values in found.items() if values} | (
            {"data": {"describe": data}} if data else {}
        )


def find(folder: Path) -> Path | None:
    """The nearest ``discreet.toml``, here or in a folder above."""
    here = folder.absolute()
    places = (above / NAME for above in (here, *here.parents))
    found = next((place for place in places if place.is_file()), None)
    return Path(NAME) if found == Path.cwd() / NAME else found


def _section(path: Path, name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    kinds = {option.replace("_", "-"): (option, kind) for option, kind in SECTIONS[name].items()}
    made = {}
    for key, value in values.items():
        if key.replace("_", "-") not in kinds:
            raise _unknown(path, f"key in [{name}]", key, list(kinds))
        option, kind = kinds[key.replace("_", "-")]
        made[option] = _value(path, f"{key} in [{name}]", kind, value)
    return made


def _value(path: Path, what: str, kind: Any, value: Any) -> Any:
    """A value of the kind that the key has; a path is relative to the file."""
    if kind is float and type(value) is int:
        value = float(value)
    if kind is Path and isinstance(value, str):
        return _beside(path, value)
    if kind is tuple:
        if isinstance(value, Mapping):
            value = [f"{name}={_spelled(one)}" for name, one in value.items()]
        if isinstance(value, list) and all(isinstance(one, str) for one in value):
            return tuple(value)
        raise InputError.at(str(path), f"{what} must be a table, for example settings = {{factors = 8}}")
    if type(value) is not kind:
        words = {
            str: "text, in quotes",
            float: "a number",
            int: "a whole number",
            bool: "true or false",
            Path: "a path, in quotes",
        }
        place = what.partition(" in [")[0] in PLACES[2:]
        raise InputError.at(str(path), f"{what} must be {words[Path if place else kind]}")
    if what.partition(" in [")[0] in PLACES and value != "previous":
        return _place(path, value)
    return value


def _spelled(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _place(path: Path, value: str) -> str:
    """A file beside the ``discreet.toml``; a name of a data set or an address stays as it is."""
    if "://" in value or not (Path(value).suffix or len(Path(value).parts) > 1 or (path.parent / value).exists()):
        return value
    return str(_beside(path, value))


def _beside(path: Path, value: str) -> Path:
    place = Path(value).expanduser()
    return place if place.is_absolute() or path.parent == Path() else path.parent / place


def _unknown(path: Path, what: str, name: str, known: list[str]) -> InputError:
    error = UnknownNameError.among(what, name, known)
    hint = "" if "did you mean" in str(error) else f"; there are {', '.join(known)}"
    return InputError.at(str(path), f"{error}{hint}")
