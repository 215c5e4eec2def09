"""Every command that takes --json prints exactly one document on stdout, and nothing else."""

import json

import pytest
from typer.main import get_command

import discreet as dc
from discreet.cli.app import app
from discreet.papers.names import PAPERS

SCALE = ("--scale", "1:5")
COMMANDS = {
    "data list": (),
    "data fetch": ("synthetic",),
    "data describe": ("TABLE", *SCALE),
    "models": (),
    "fit": ("popularity", "TABLE", *SCALE, "-o", "FOLDER/release"),
    "evaluate": ("popularity", "TABLE", *SCALE, "--test", 0.2),
    "compare": ("TABLE", *SCALE, "--models", "popularity", "--test", 0.2, "-o", "FOLDER/out"),
    "recommend": ("RELEASE", "--likes", "1"),
    "show": ("RELEASE",),
    "certificate": ("RELEASE",),
    "export": ("RELEASE", "--web", "-o", "FOLDER/web"),
    "keys": ("FOLDER/key",),
    "audit": ("popularity", "synthetic", "--epsilon", 1, "--runs", 100, "--seed", 1),
    "budget": ("TABLE",),
    "doctor": (),
}
# These have such a test in their own file.
ELSEWHERE = {
    "demo",
    "perturb",
    "collect",
    "search",
    "attack untrusted",
    "reproduce tables",
    "plan",
    "reports delete",
    "similar",
    *(f"reproduce {name}" for name in PAPERS),
}


def commands(group=None, path=()):
    """The names of all commands that take --json."""
    for name, command in (group or get_command(app)).commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        elif any("--json" in getattr(parameter, "opts", ()) for parameter in command.params):
            yield " ".join((*path, name))


def test_no_command_is_forgotten():
    assert set(commands()) == set(COMMANDS) | ELSEWHERE


@pytest.mark.parametrize("command", COMMANDS)
def test_json_is_one_document_on_stdout_and_nothing_else(discreet, table, release, tmp_path, command):
    places = {"TABLE": str(table), "RELEASE": str(release), "FOLDER/release": str(tmp_path / "release")}
    places |= {
        "FOLDER/key": str(tmp_path / "key"),
        "FOLDER/out": str(tmp_path / "out"),
        "FOLDER/web": str(tmp_path / "web"),
    }
    places |= {"1": dc.Release.load(release).catalogue.items[0]}
    arguments = [places.get(str(word), word) for word in COMMANDS[command]]
    outcome = discreet(*command.split(), *arguments, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    assert json.loads(outcome.out) is not None
    assert "\x1b" not in outcome.out
