# ruff: noqa: E501
"""Hostile command lines: every command with each of its options wrong, run in this process.

``cases(folder)`` yields (kind, name, what to call); ``command_lines(folder)`` the same as lists of words, to run them as
programs.
"""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from typer.testing import CliRunner

import discreet as dc
from discreet.cli.app import app
from discreet.errors import DiscreetError

from .outcome import Case

VALUES = (
    "",
    " ",
    "x",
    "-1",
    "0",
    "nan",
    "inf",
    "1e400",
    "1.5",
    "9" * 30,
    "1:5",
    "5:1",
    "nan:inf",
    "a=b",
    "=",
    "a\nb",
    "\x1b[2J",
    "é" * 50,
    "/dev/null",
    "/",
    ".",
    "x" * 5000,
    "--",
    "~",
    "*",
    "ndcg@99999999999999999999999",
)
SLOW = {"audit", "reproduce", "demo", "search"}


def command_lines(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """A name, and the words behind ``discreet``."""
    ratings = dc.synthetic(users=12, items=15, ratings=90, seed=1)
    table = folder / "ratings.csv"
    ratings.to_frame().write_csv(table)
    own = folder / "own.csv"
    own.write_text(f"item,rating\n{ratings.catalogue.items[0]},5\n")
    release = folder / "release"
    dc.Bias().fit(dc.NoPrivacy(ratings)).save(release)
    read = [str(table), "--scale", "1:5"]
    sound: dict[str, list[str]] = {
        "models": [], "fit": ["bias", *read, "-o", str(folder / "out")], "show": [str(release)], "budget": [],
        "evaluate": [str(release), *read], "compare": [*read, "--models", "bias"], "recommend": [str(release), "--history", str(own)],
        "perturb": [str(own), "--scale", "1:5", "-o", str(folder / "report.json")], "collect": [str(folder)], "certificate": [str(release)],
        "keys": [str(folder / "key")], "doctor": [], "audit": ["bias"], "reproduce": [], "demo": [], "search": [*read], "data": [],
    }  # fmt: skip
    group: Any = typer.main.get_command(app)
    for name, command in group.commands.items():
        base = [name, *sound.get(name, [])]
        yield f"{name} with an unknown option", [*base, "--bogus"]
        yield f"{name} with words too many", [*base, "x", "y", "z", "w"]
        yield f"{name} with nothing", [name] if name not in SLOW else [name, "--bogus", "x"]
        yield f"{name} --json and an unknown option", [*base, "--json", "--bogus"]
        for place in range(1, len(base)):
            for value in VALUES:
                yield (
                    f"{name}: word {place} is {value[:20]!r}",
                    [*base[:place], value, *base[place + 1 :], *(["--bogus"] if name in SLOW else [])],
                )
        for parameter in getattr(command, "params", ()):
            option = next((one for one in parameter.opts if one.startswith("--")), None)
            if option is None or option in ("--help", "--replace", "--version") or getattr(parameter, "is_flag", False):
                continue
            for value in VALUES:
                yield f"{name} {option} {value[:20]!r}", [*base, option, value, *(["--bogus"] if name in SLOW else [])]
    for words in (["--json"], ["--version", "x"], ["x"], ["fit", "--help", "x"], ["--"], ["-"], [""]):
        yield f"discreet {' '.join(words)}", words


def cases(folder: Path, every: int = 1) -> Iterator[Case]:
    """Each command line in this process, or each so-manieth of them."""
    runner = CliRunner()
    for number, (name, words) in enumerate(command_lines(folder)):
        if number % every == 0:
            yield Case("command lines", name, lambda words=words: run(runner, words, folder))


def run(runner: CliRunner, words: list[str], folder: Path) -> None:
    """Run a command in a folder: what it refuses becomes an error again, to be judged like one."""
    with contextlib.chdir(folder):  # some values name a place to write to
        done = runner.invoke(app, words)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code in (0, 1, 2), f"exit code {done.exit_code}"
    if done.exit_code != 2:
        return
    last = done.stderr.strip().splitlines()[-1]
    if "--json" in words:
        failure = json.loads(last)
        assert set(failure) == {"kind", "sentence", "place"}
        raise DiscreetError(failure["sentence"])
    assert last.startswith("discreet: ") or "Usage" in done.stderr, done.stderr
    raise DiscreetError(last)
