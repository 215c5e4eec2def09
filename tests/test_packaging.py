"""What is published: a wheel and an sdist that are well formed, complete, and typed for those who use them."""

import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import discreet as dc

ROOT = Path(__file__).parent.parent
CONSUMER = '''
"""A project that uses Discreet, checked strictly."""

from pathlib import Path

import discreet as dc


def nightly(place: Path, epsilon: float) -> list[str]:
    ratings: dc.Ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    ledger = dc.Ledger(epsilon=epsilon, delta=1e-6, unit=dc.User())
    release = dc.Almanac().fit(dc.TrustedServer(ratings, ledger))
    release.save(place)
    again = dc.Release.load(place)
    found = again.recommend(ratings.history_at(0), k=3, explain=True)
    promise: dc.Guarantee = again.guarantee
    return [suggestion.title for suggestion in found] + [str(promise)]
'''
MISTAKES = {
    "dc.Almanac(factors='many')": "arg-type",
    "dc.Ledger(epsilon='1')": "arg-type",
    "dc.Release.load(3)": "arg-type",
    "dc.NoSuchModel()": "attr-defined",
}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    pytest.importorskip("build")
    pytest.importorskip("hatchling")  # which builds the wheel; nothing is downloaded
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    said = subprocess.run(command, capture_output=True, text=True)
    assert said.returncode == 0, said.stderr
    return folder


def test_twine_finds_nothing_wrong(built):
    pytest.importorskip("twine")
    files = [str(path) for path in built.iterdir()]
    assert len(files) == 2
    said = subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *files], capture_output=True, text=True)
    assert said.returncode == 0 and said.stdout.count("PASSED") == 2, said.stdout


def test_the_wheel_holds_the_package_and_no_more(built):
    wheel = zipfile.ZipFile(next(built.glob("*.whl")))
    names = set(wheel.namelist())
    source = ROOT / "src"
    kept = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}
    kept = {name for name in kept if "__pycache__" not in name and ".egg-info" not in name}
    assert {name for name in names if not name.startswith(f"discreet-{dc.__version__}.dist-info/")} == kept
    assert "discreet/py.typed" in names and f"discreet-{dc.__version__}.dist-info/licenses/LICENSE" in names
    about = wheel.read(f"discreet-{dc.__version__}.dist-info/METADATA").decode()
    assert "Requires-Python: >=3.11" in about
    for version in ("3.11", "3.12", "3.13", "3.14"):
        assert f"Programming Language :: Python :: {version}" in about


def test_the_sdist_holds_what_builds_and_tests_it(built):
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "src/discreet/__init__.py"} <= names
    assert {"tests/conftest.py", "docs/guarantee.md", "scripts/check"} <= names
    assert not [name for name in names if "__pycache__" in name or name.startswith((".venv", "build/"))]


def test_a_project_that_uses_it_is_checked_strictly(built, tmp_path):
    """Against the wheel in an environment of its own: its types are found because ``py.typed`` is there."""
    pytest.importorskip("mypy")
    venv.create(tmp_path / "env", with_pip=False)
    python = tmp_path / "env/bin/python"
    own = Path(
        subprocess.run(
            [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
    )
    zipfile.ZipFile(next(built.glob("*.whl"))).extractall(own)
    (own / "others.pth").write_text(sysconfig.get_path("purelib"))  # numpy and the rest; nothing is downloaded

    def checked(code: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "consumer.py").write_text(code)
        command = [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(python), "consumer.py"]
        return subprocess.run(
            command, capture_output=True, text=True, cwd=tmp_path, env={"PATH": "", "HOME": str(tmp_path)}
        )

    said = checked(CONSUMER)
    assert said.returncode == 0, said.stdout + said.stderr
    mistaken = "import discreet as dc\n\n" + "\n".join(MISTAKES)
    said = checked(mistaken)
    for line, kind in enumerate(MISTAKES.values(), start=3):
        assert f"consumer.py:{line}: error:" in said.stdout and f"[{kind}]" in said.stdout, said.stdout


def test_the_changelog_has_this_version():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert version == dc.__version__
    final = version.partition(".dev")[0]  # what a version in the making will be
    assert f"\n## {final}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
