"""Doors through which "proven" was printed and did not hold: one test for each, and a table of them at the end.

``pytest tests/doors`` prints for every door what was claimed before it was closed, what is true, and what is said now.
Each test was red before.
"""

from collections.abc import Callable

import pytest

from discreet.cli.app import app

Door = Callable[[str, str, str], None]


def pytest_collection_modifyitems(items):
    for item in items:
        if "tests/doors/" in item.path.as_posix():
            item.add_marker(pytest.mark.doors)


@pytest.fixture
def door(record_property) -> Door:
    """Writes down what was claimed, what is true (measured by the test), and what is said now."""

    def write(claimed: str, true: str, now: str) -> None:
        record_property("door", (claimed, true, now))

    return write


@pytest.fixture
def budget(tmp_path, monkeypatch):
    path = tmp_path / "kept" / "budget.sqlite"
    path.parent.mkdir()
    monkeypatch.setenv("DISCREET_BUDGET", str(path))
    return path


@pytest.fixture
def discreet(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments):
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            app([str(argument) for argument in arguments], prog_name="discreet")
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run


def pytest_terminal_summary(terminalreporter):
    found = [
        (report.nodeid.partition("::")[2], *value)
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", "") == "call"
        for name, value in report.user_properties
        if name == "door"
    ]
    if not found:
        return
    terminalreporter.section("doors that are closed")
    for name, claimed, true, now in sorted(found):
        terminalreporter.write_line(name.removeprefix("test_").replace("_", " "), bold=True)
        for what, text in (("claimed", claimed), ("true", true), ("now", now)):
            terminalreporter.write_line(f"  {what:8} {text}")
