"""The Containerfile, read without an engine: what it copies is there, what it runs is valid, and nobody is root.

``scripts/container ROOT RELEASE`` runs its steps for real, in a Debian root.
"""

import ast
import importlib.machinery
import importlib.util
import json
import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import pytest

from discreet.cli.app import app

ROOT = Path(__file__).parents[1]
KNOWN = {"FROM", "COPY", "RUN", "USER", "ENV", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT", "CMD"}


def script():
    """``scripts/container`` as a module."""
    loader = importlib.machinery.SourceFileLoader("container", str(ROOT / "scripts/container"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("container", loader))
    loader.exec_module(module)
    return module


if not (ROOT / "scripts/container").is_file():
    pytest.skip("only the repository has the script", allow_module_level=True)
CONTAINER = script()
STEPS = CONTAINER.steps((ROOT / "Containerfile").read_text(encoding="utf-8"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def the(word: str) -> str:
    """What the last instruction of this kind says."""
    return [rest for found, rest in STEPS if found == word][-1]


def test_every_instruction_is_known():
    assert {word for word, _ in STEPS} <= KNOWN and STEPS[0][0] == "FROM"


def test_what_is_copied_is_there():
    stages = {rest.split()[-1] for word, rest in STEPS if word == "FROM" and " AS " in rest}
    for word, rest in STEPS:
        if word == "COPY":
            sources, place, elsewhere = CONTAINER.copied(rest)
            assert place.startswith("/")
            if elsewhere:
                assert re.search(r"--from=(\w+)", rest)[1] in stages
            else:
                assert sources and all((ROOT / source).exists() for source in sources), rest


def test_what_the_build_needs_is_copied():
    """The project names a readme and a licence, and its build reads them."""
    copied = {source for word, rest in STEPS if word == "COPY" for source in CONTAINER.copied(rest)[0]}
    project = PROJECT["project"]
    assert {"pyproject.toml", "src", project["readme"], *project["license-files"]} <= copied


def test_the_python_of_the_image_is_one_that_is_supported():
    versions = {re.search(r"python:(\d\.\d+)", rest)[1] for word, rest in STEPS if word == "FROM"}
    classified = {line.rpartition(" ")[2] for line in PROJECT["project"]["classifiers"]}
    assert len(versions) == 1 and versions <= classified


def test_the_shell_understands_what_is_run():
    for word, rest in STEPS:
        if word == "RUN":
            assert subprocess.run(["sh", "-n", "-c", rest], capture_output=True).returncode == 0, rest
    installed = next(rest for word, rest in STEPS if word == "RUN" and "pip install" in rest)
    extras = re.search(r"\[(\w+)\]", installed)[1]
    assert extras in PROJECT["project"]["optional-dependencies"]


def test_it_runs_a_command_that_there_is_as_nobody():
    assert int(the("USER")) > 0 and f"--uid {the('USER')}" in str(STEPS)
    entry, words = json.loads(the("ENTRYPOINT")), json.loads(the("CMD"))
    assert entry[0].endswith("/bin/discreet") and entry[0].split("/bin/")[0] in str(STEPS)
    import typer

    serve = typer.main.get_command(app).commands[entry[1]]
    known = {name for parameter in serve.params for name in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= known
    serve.make_context("serve", words, resilient_parsing=False).close()


def test_the_check_of_its_health_is_a_program():
    program = json.loads(the("HEALTHCHECK").partition("CMD ")[2])
    ast.parse(program[-1])
    assert f":{the('EXPOSE')}/ready" in program[-1]
    assert all("=" in word for word in shlex.split(the("ENV")))
