"""The command as a process of its own: what goes to which stream, and how it ends."""

import os
import re
import subprocess
import sys

import discreet as dc

COMMAND = (sys.executable, "-W", "error", "-m", "discreet")


def run(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *map(str, arguments)], capture_output=True, text=True, env=os.environ | environment, check=False
    )


def test_version_and_help():
    version = run("--version")
    assert (version.returncode, version.stdout, version.stderr) == (0, f"{dc.__version__}\n", "")
    usage = run("--help")
    assert usage.returncode == 0
    for command in ("data", "models", "fit", "evaluate", "compare", "recommend", "show", "demo", "doctor"):
        assert f"\n  {command} " in usage.stdout


def test_an_error_is_one_sentence_on_stderr():
    result = run("show", "nowhere")
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr == "discreet: nowhere is not a release: it has no card.json\n"


def test_a_reader_that_leaves_is_no_error():
    process = subprocess.Popen([*COMMAND, "models", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    _, complaint = process.communicate()
    assert complaint == b""
    assert process.returncode != 0


def test_no_colour_where_it_is_not_wanted():
    assert "\x1b[" not in run("models").stdout
    assert not re.search(r"\x1b\[[\d;]*[34]\d", run("models", FORCE_COLOR="1", NO_COLOR="1").stdout)
