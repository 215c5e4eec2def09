"""What is quick stays quick: which libraries are loaded is checked, not seconds."""

import subprocess
import sys

HEAVY = {"numpy", "scipy", "numba", "polars", "altair", "vl_convert", "matplotlib", "torch", "pyspark", "pandas"}


def loaded_by(program: str) -> set[str]:
    program += "\nimport sys; print('\\n'.join(sys.modules), file=sys.__stderr__)"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in result.stderr.splitlines()}


def test_import_discreet_is_light():
    assert not loaded_by("import discreet") & (HEAVY | {"typer", "rich"})


def test_help_is_light():
    loaded = loaded_by(
        "import sys; sys.argv = ['discreet', '--help']\n"
        "from discreet.cli import main\n"
        "try: main()\nexcept SystemExit as exit: assert exit.code in (None, 0)"
    )
    assert "typer" in loaded
    assert not loaded & HEAVY
