"""Tiny files in every original format: the same five ratings of two users and three films."""

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

GENRES = ("unknown", "Action", "Comedy", "Drama")
TITLES = {"1": "Toy Story (1995)", "2": "Amélie: the Film (2001)", "10": "unknown"}
KINDS = {"1": ("Action", "Comedy"), "2": ("Drama",), "10": ()}
ROWS = (("2", "10", "3", 100), ("1", "1", "5", 200), ("10", "1", "4", 300), ("1", "2", "1", 400), ("2", "2", "2", 500))


def _flags(item: str) -> str:
    own = KINDS[item] or ("unknown",)
    return "|".join("1" if genre in own else "0" for genre in GENRES)


def _ml_100k(folder: Path) -> None:
    (folder / "u.data").write_text("".join("\t".join(map(str, row)) + "\n" for row in ROWS))
    lines = [f"{item}|{TITLES[item]}|01-Jan-1995||http://x|{_flags(item)}\n" for item in TITLES]
    (folder / "u.item").write_text("".join(lines), encoding="latin-1")
    (folder / "u.genre").write_text("".join(f"{genre}|{place}\n" for place, genre in enumerate(GENRES)) + "\n")
    (folder / "u.user").write_text("1|24|M|technician|85711\n2|53|F|other|94043\n10|30|M|writer|T8H1N\n")


def _dat(folder: Path, encoding: str) -> None:
    (folder / "ratings.dat").write_text("".join("::".join(map(str, row)) + "\n" for row in ROWS))
    lines = [f"{item}::{TITLES[item]}::{'|'.join(KINDS[item]) or '(no genres listed)'}\n" for item in TITLES]
    (folder / "movies.dat").write_text("".join(lines), encoding=encoding)


def _ml_1m(folder: Path) -> None:
    _dat(folder, "latin-1")
    (folder / "users.dat").write_text("1::M::25::12::85711\n2::F::56::0::94043\n10::M::18::20::T8H1N\n")


def _ml_10m(folder: Path) -> None:
    _dat(folder, "utf-8")


def _csv(folder: Path) -> None:
    (folder / "ratings.csv").write_text(
        "userId,movieId,rating,timestamp\n" + "".join(",".join(map(str, row)) + "\n" for row in ROWS)
    )
    lines = [f'{item},"{TITLES[item]}",{"|".join(KINDS[item]) or "(no genres listed)"}\n' for item in TITLES]
    (folder / "movies.csv").write_text("movieId,title,genres\n" + "".join(lines), encoding="utf-8")


def _recbole(folder: Path) -> None:
    header = "user_id:token\titem_id:token\trating:float\ttimestamp:float\n"
    (folder / "ml-100k.inter").write_text(header + "".join("\t".join(map(str, row)) + "\n" for row in ROWS))
    lines = []
    for item, title in TITLES.items():
        name, _, year = title.removesuffix(")").rpartition(" (")
        genres = " ".join(KINDS[item]) or "unknown"
        lines.append(f"{item}\t{name}\t{year}\t{genres}\n" if name else f"{item}\tunkonwn\tunkonwn\t{genres}\n")
    header = "item_id:token\tmovie_title:token_seq\trelease_year:token\tclass:token_seq\n"
    (folder / "ml-100k.item").write_text(header + "".join(lines), encoding="utf-8")
    (folder / "ml-100k.user").write_text(
        "user_id:token\tage:token\tgender:token\toccupation:token\tzip_code:token\n"
        "1\t24\tM\ttechnician\t85711\n2\t53\tF\tother\t94043\n10\t30\tM\twriter\tT8H1N\n"
    )


FORMATS: dict[str, Callable[[Path], None]] = {
    "ml-100k": _ml_100k,
    "ml-1m": _ml_1m,
    "ml-10m": _ml_10m,
    "csv": _csv,
    "recbole": _recbole,
}


@pytest.fixture
def movielens(tmp_path: Path) -> Callable[[str], Path]:
    """Write the tiny data set in one of the formats, and give its folder."""

    def make(name: str) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        FORMATS[name](folder)
        return folder

    return make


@pytest.fixture
def zipped() -> Callable[[Path, str], Path]:
    """Put a folder into a zip archive, under a folder of any name."""

    def make(folder: Path, inside: str = "some-folder") -> Path:
        target = folder.with_suffix(".zip")
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.mkdir(inside)
            for file in sorted(folder.rglob("*")):
                if file.is_file():
                    archive.write(file, f"{inside}/{file.relative_to(folder)}")
        return target

    return make


@pytest.fixture(autouse=True)
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test sees the data of the person who runs it, or the network."""
    from discreet.data import datasets, fetching

    monkeypatch.delenv("DISCREET_DATA", raising=False)
    monkeypatch.setenv("DISCREET_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(datasets, "GROUPLENS", "http://127.0.0.1:9/")  # nobody listens there

    def no_pip(copy: object, folder: Path) -> None:
        raise fetching.FetchError("pip is not to be run in tests")

    monkeypatch.setattr(fetching, "_pip_download", no_pip)
    return tmp_path
