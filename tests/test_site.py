"""The documentation site builds from the pages there are, loads nothing from elsewhere, and finds dead links."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import discreet as dc

ROOT = Path(__file__).parent.parent
pytest.importorskip("sphinx")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    output = tmp_path_factory.mktemp("site") / "site"
    said = subprocess.run([sys.executable, ROOT / "docs/site/build.py", output], capture_output=True, text=True)
    assert said.returncode == 0, said.stderr
    return output


def test_every_page_and_every_public_name_is_there(site):
    assert (site / "index.html").read_bytes() == (site / "README.html").read_bytes()
    for page in (ROOT / "docs").rglob("*.md"):
        assert (site / page.relative_to(ROOT).with_suffix(".html")).is_file(), page.name
    documented = "".join(path.read_text(encoding="utf-8") for path in (site / "reference").glob("*.html"))
    errors = vars(dc.errors)
    for name in dc.__all__:
        if not hasattr(getattr(dc, name), "__all__") and name != "errors":
            home = "discreet.errors" if name in errors else "discreet"
            assert f'id="{home}.{name}"' in documented, name


def test_nothing_is_loaded_from_elsewhere(site):
    for path in site.rglob("*.html"):
        loaded = re.findall(
            r'<(?:script|img|link|iframe)\b[^>]*?(?:src|href)="([^"]+)"', path.read_text(encoding="utf-8")
        )
        assert not [target for target in loaded if target.startswith(("http", "//"))], path.name
    for path in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//", path.read_text(encoding="utf-8")), path.name


@pytest.mark.parametrize("link", ["nowhere.md", "README.md#no-such-heading", "../outside.md"])
def test_a_dead_link_fails(tmp_path, link):
    source = tmp_path / "source"
    source.mkdir()
    (source / "README.md").write_text(f"# Page\n\n[dead]({link})\n")
    command = ["-b", "html", "--fail-on-warning", "-c", ROOT / "docs/site", source, tmp_path / "site"]
    said = subprocess.run([sys.executable, "-m", "sphinx", *command], capture_output=True, text=True)
    assert said.returncode == 1 and "xref_missing" in said.stderr, said.stderr
