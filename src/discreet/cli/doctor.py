"""``discreet doctor``: the facts about this machine that a bug report needs."""

import os
import platform

from discreet.cli.options import Json
from discreet.cli.tables import document, facts

LIBRARIES = ("numpy", "scipy", "numba", "polars", "typer", "rich", "altair", "vl-convert-python")


def doctor(json: Json = False) -> None:
    """Print versions, threads and where data sets are kept."""
    found = diagnosis()
    if json:
        document(found)
    else:
        facts([(name, str(value)) for name, value in found.items()])


def diagnosis() -> dict[str, str | int | None]:
    """What a person who reports a problem should send along."""
    from importlib.metadata import PackageNotFoundError, version

    from discreet import __version__
    from discreet.data.datasets import cache_folder

    found: dict[str, str | int | None] = {"discreet": __version__, "python": platform.python_version()}
    found["system"] = f"{platform.system()} {platform.machine()}"
    for library in LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            found[library] = None
    found["cores"] = os.cpu_count()
    found["NUMBA_NUM_THREADS"] = os.environ.get("NUMBA_NUM_THREADS")
    found["cache"] = str(cache_folder())
    found["DISCREET_DATA"] = os.environ.get("DISCREET_DATA")
    return found
