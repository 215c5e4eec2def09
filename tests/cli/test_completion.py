"""Shells complete commands and options."""

import os
import shutil
import subprocess
import sys

import pytest

from discreet.cli.completion import SHELLS, VARIABLE


def said(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "discreet", *words], capture_output=True, text=True, env=os.environ | variables
    )


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_is_printed(shell):
    found = said("completion", shell)
    assert found.returncode == 0 and VARIABLE in found.stdout and not found.stderr


def test_another_shell_is_refused_in_one_sentence():
    found = said("completion", "tcsh")
    assert found.returncode == 2 and found.stderr.startswith("discreet: there is no completion for 'tcsh'")


def test_commands_and_options_are_completed():
    asked = {VARIABLE: "complete_bash", "COMP_WORDS": "discreet cert", "COMP_CWORD": "1"}
    assert said(**asked).stdout.split() == ["certificate"]
    asked = {VARIABLE: "complete_bash", "COMP_WORDS": "discreet serve --behind", "COMP_CWORD": "2"}
    assert said(**asked).stdout.split() == ["--behind-proxy"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_can_read_its_script():
    script = said("completion", "bash").stdout
    done = subprocess.run(["bash", "-c", f"{script}\ncomplete -p discreet"], capture_output=True, text=True)
    assert done.returncode == 0 and "_discreet_completion" in done.stdout
