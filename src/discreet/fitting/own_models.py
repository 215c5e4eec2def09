"""A model that is not Discreet's, by the name of its module and class: ``my_models:Taste``.

It is imported because whoever runs the program wrote its name, and for no other reason: a release says which model it
holds, and that name is never imported (:mod:`discreet.releases.storage`).
"""

import dataclasses
import inspect
from importlib import import_module
from typing import Any

from discreet.errors import InputError, UnknownNameError, require

METHODS = {
    "fit": "fit(self, population, progress=None) -> Release",
    "score": "score(self, release, histories) -> array of users by items",
}


def import_model(name: str) -> Any:
    """The class ``module:Class``.

    >>> import_model("discreet.models.bias:Bias").__name__
    'Bias'
    """
    module_name, _, class_name = name.partition(":")
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise InputError(f"the module {module_name!r} cannot be imported: {error}") from None
        raise UnknownNameError(
            f"there is no module {module_name!r}, neither in this folder nor installed; a model is a name of "
            "`discreet models`, or module:Class"
        ) from None
    except Exception as error:  # whatever is wrong with that file, it is one sentence
        raise InputError(f"the module {module_name!r} cannot be imported: {type(error).__name__}: {error}") from None
    kind: Any = module
    for part in class_name.split("."):
        kind = getattr(kind, part, None)
    if kind is None:
        classes = [each for each, value in vars(module).items() if inspect.isclass(value)]
        raise UnknownNameError.among(f"class in the module {module_name!r} called", class_name, classes)
    check_model(kind, name)
    return kind


def check_model(kind: Any, name: str) -> None:
    """Raise unless a class is a model: a dataclass of settings that can be fitted and can score."""
    require(inspect.isclass(kind), f"{name} is no class, and a model is a dataclass with fit and score")
    missing = [what for method, what in METHODS.items() if not callable(getattr(kind, method, None))]
    require(not missing, f"{name} is no model: it has no {' and no '.join(missing)}")
    require(
        dataclasses.is_dataclass(kind),
        f"{name} is no dataclass: write @dataclass(frozen=True, kw_only=True) above it; its fields are the settings",
    )
    try:
        for arguments in ((None, None), (None, None, None)):
            inspect.signature(kind.fit).bind(*arguments)
    except TypeError:
        raise InputError(f"the fit of {name} takes other arguments than a model's: {METHODS['fit']}") from None
