"""What is quick stays quick: which libraries are loaded is checked, not seconds."""

import subprocess
import sys

HEAVY = {"numpy", "scipy", "numba", "polars", "altair", "vl_convert", "matplotlib", "torch", "pyspark", "pandas"}


LIGHT = {"cli", "errors", "printable", "names", "types", "papers", "papers.names", "fitting", "fitting.outputs"}
"""Of Discreet itself what the help may load: words and tables."""


def loaded_by(program: str) -> set[str]:
    """Every module, and the name of every package."""
    program += "\nimport sys; print('\\n'.join(sys.modules), file=sys.__stderr__)"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return {part for name in result.stderr.splitlines() for part in (name, name.partition(".")[0])}


def test_import_discreet_is_light():
    assert not loaded_by("import discreet") & (HEAVY | {"typer", "rich"})


def test_help_is_light():
    loaded = loaded_by(
        "import sys; sys.argv = ['discreet', '--help']\n"
        "from discreet.cli import main\n"
        "try: main()\nexcept SystemExit as exit: assert exit.code in (None, 0)"
    )
    assert "typer" in loaded
    assert not loaded & (HEAVY | {"rich", "importlib.metadata", "sqlite3"})
    own = {name.removeprefix("discreet.") for name in loaded if name.startswith("discreet.")}
    assert {name for name in own if not name.startswith("cli.")} <= LIGHT
