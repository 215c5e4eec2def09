"""What the README and the pages say runs as printed, and what they link to is there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    ROOT / "benchmarks/README.md",
]
every_page = pytest.mark.parametrize(
    "page", PAGES, ids=lambda page: page.name if page.parent == ROOT else str(page.relative_to(ROOT))
)


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


@every_page
def test_python_runs_as_printed(page, request, capsys, tmp_path, monkeypatch):
    """All blocks of a page share their names, as a reader would type them one after the other."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for code in blocks(page, "python"):
        if '"ml-100k"' in code:
            request.getfixturevalue("ml_100k")
        exec(compile(code, str(page), "exec"), names)


@every_page
def test_commands_exist_and_take_their_options(page):
    """Every ``discreet …`` line of a shell block names a command and options that it has."""
    import typer

    from discreet.cli.app import app

    group = typer.main.get_command(app)
    for line in "\n".join(blocks(page, "sh")).splitlines():
        for command in re.findall(r"(?:^|&& )discreet ([^#&|]*)", line.replace("\\", "")):
            words = command.split()
            found = group
            while words and not words[0].startswith("-") and hasattr(found, "commands"):
                assert words[0] in found.commands, f"there is no command {words[0]!r}, named in {page.name}"
                found = found.commands[words.pop(0)]
            known = {name for parameter in found.params for name in (*parameter.opts, *parameter.secondary_opts)}
            used = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
            assert used <= known | {"--help", "--version"}, f"{page.name}: {command}"


def test_commands_on_a_gpu_run_as_printed():
    """All other pages are run by ``scripts/check``, in an environment without torch."""
    page = "docs/gpu.md"
    done = subprocess.run(
        [sys.executable, ROOT / "scripts/readme", "--here", ROOT / page], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@every_page
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), f"{page.name} links to {target}, which is not there"


@every_page
def test_no_line_names_a_machine(page):
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"/work/|/root/|/home/", text)
