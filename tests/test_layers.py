"""What import-linter does not see: imports by a string, and models that their own helpers would import."""

import ast
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src/discreet"
TABLES = {"__init__.py", "names.py"}  # at the top: they name everything, and load it when it is asked for
FILES = sorted(path for path in SOURCE.rglob("*.py") if str(path.relative_to(SOURCE)) not in TABLES)
SHARED = sorted(path for folder in ("sums", "denoise", "home") for path in (SOURCE / "models" / folder).glob("*.py"))


def layers() -> dict[str, int]:
    """How high each folder stands, as import-linter is told."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    lines = next(contract["layers"] for contract in contracts if contract["name"] == "Layers import downwards only")
    return {name.split(".")[1]: -place for place, line in enumerate(lines) for name in line.split(" | ")}


def imported_by_string(path: Path) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            text = ast.unparse(node.args[0]).lstrip("f").strip("'\"")
            found.append(text)
    return found


def imported(path: Path) -> list[str]:
    return [
        node.module
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module is not None
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_by_a_string_go_downwards_too(path):
    heights = layers()
    own = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    for name in imported_by_string(path):
        parts = name.split(".")
        if parts[0] == "discreet" and len(parts) > 1 and own in heights:
            assert heights[parts[1]] <= heights[own], f"{path.name} imports {name}, which stands above it"


def test_only_a_name_that_was_typed_is_imported_from_outside():
    """A string that is no part of this package: an optional library, or the model that a command names."""
    outside = {
        (str(path.relative_to(SOURCE)), name)
        for path in FILES
        for name in imported_by_string(path)
        if name.split(".")[0] != "discreet"
    }
    assert outside <= {("fitting/own_models.py", "module_name"), ("extras.py", "module")}


def test_nothing_that_reads_a_release_imports_what_was_typed():
    """Cards come from anyone: what is below the fitting never reaches the import of a name."""
    below = [path for path in FILES if path.relative_to(SOURCE).parts[0] in ("releases", "models", "populations")]
    assert not [path for path in below if "own_models" in path.read_text()]


@pytest.mark.parametrize("path", SHARED, ids=lambda path: path.name)
def test_what_models_share_imports_no_model(path):
    parts = [name.split(".") for name in imported(path)]
    assert not [
        name for name in parts if name[:2] == ["discreet", "models"] and name[2] not in ("sums", "denoise", "home")
    ]
