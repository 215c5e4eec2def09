"""``discreet.toml``: nothing is typed twice, what is typed wins, and a slip of the keyboard is named."""

import json
import shutil

import polars as pl
import pytest

import discreet as dc
from discreet.cli.project import Project

FILE = """
[data]
source = "ratings.csv"
scale = "1:5"
items = "items.csv"
items-public = true

[fit]
model = "popularity"
epsilon = 1
unit = "user"
release = "release"

[budget]
account = "films"
limit = 4.0
delta = 1e-6
unit = "user"

[recommend]
output = "recs.parquet"
k = 3
"""


@pytest.fixture
def project(table, items, tmp_path, monkeypatch):
    """A folder with ratings, a list of items and a ``discreet.toml``; the commands run in a folder inside."""
    shutil.copy(table, tmp_path / "ratings.csv")
    shutil.copy(items, tmp_path / "items.csv")
    (tmp_path / "discreet.toml").write_text(FILE)
    (tmp_path / "inside").mkdir()
    monkeypatch.chdir(tmp_path / "inside")
    return tmp_path


def test_a_night_without_an_option(discreet, project):
    assert "epsilon 4, delta 1e-06" in discreet("budget").out
    assert discreet("fit").code == 0
    outcome = discreet("recommend", "--all")
    assert outcome.code == 0 and str(project / "recs.parquet") in outcome.out
    assert pl.read_parquet(project / "recs.parquet").group_by("user").len()["len"].max() == 3
    shown = json.loads(discreet("show", "--json").out)
    assert shown["model"] == "popularity"
    assert "epsilon 1" in discreet("certificate").out
    spent = json.loads(discreet("budget", "--json").out)
    assert spent["data"] == "films" and len(spent["spendings"]) == 1
    assert discreet("data", "describe").code == 0
    assert discreet("plan", "--json").code == 0
    assert json.loads(discreet("evaluate", "--test", 0.2, "--json").out)["rows"][0]["model"] == "popularity"
    audited = discreet("audit", "popularity", "--runs", 200, "--seed", 1, "--json")
    assert audited.code == 0 and json.loads(audited.out)["unit"] == "user"


def test_what_is_typed_wins(discreet, project):
    done = json.loads(discreet("fit", "--epsilon", 2, "-o", project / "other", "--json").out)
    assert done["model"] == "popularity" and "epsilon 2" in done["guarantee"]
    done = json.loads(discreet("fit", "bias", "-o", project / "third", "--json").out)  # a model, and no DATA
    assert done["model"] == "bias" and done["account"] == "films"
    assert discreet("fit", "elsewhere.csv", "-o", project / "fourth").err == (
        "discreet: there is no file or folder elsewhere.csv\n"
    )
    found = json.loads(discreet("recommend", project / "other", "--likes", "5", "--json").out)["suggestions"]
    assert len(found) == 3  # k of the file; its output is for --all


def test_a_file_that_is_named(discreet, project, tmp_path_factory, monkeypatch):
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert "missing argument" in discreet("fit", "-o", "x").err
    assert discreet("--config", project / "discreet.toml", "fit").code == 0
    assert (project / "release").is_dir()  # paths are relative to the file
    outcome = discreet("--config", "nothing.toml", "fit")
    assert outcome.code == 2 and "there is no file nothing.toml" in outcome.err


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("[data]\nuser-colum = 'x'", "there is no key in [data] 'user-colum'; did you mean 'user-column'"),
        ("[dta]\nsource = 'x'", "there is no section 'dta'; did you mean 'data'?"),
        ("[fit]\nfolds = 3", "there is no key in [fit] 'folds'; there are model, settings, epsilon"),
        ("[fit]\nepsilon = 'one'", "epsilon in [fit] must be a number"),
        ("[recommend]\nk = 2.5", "k in [recommend] must be a whole number"),
        ("[data]\nitems-public = 'yes'", "items-public in [data] must be true or false"),
        ("[data]\nitems = 3", "items in [data] must be a path, in quotes"),
        ("data = 3", "data is a section: write [data] on a line of its own"),
        ("[fit]\nsettings = 3", "settings in [fit] must be a table"),
        ("epsilon = ", "this is not TOML"),
    ],
)
def test_a_slip_of_the_keyboard_is_named(discreet, tmp_path, monkeypatch, content, sentence):
    (tmp_path / "discreet.toml").write_text(content)
    monkeypatch.chdir(tmp_path)
    outcome = discreet("models")
    assert outcome.code == 2 and sentence in outcome.err and "discreet.toml" in outcome.err
    assert outcome.err.count("\n") == 1


def test_settings_of_a_model_are_a_table(tmp_path):
    (tmp_path / "discreet.toml").write_text("[fit]\nsettings = {neighbours = 50, features = false}\n")
    assert Project.read(tmp_path / "discreet.toml").fit["settings"] == ("neighbours=50", "features=false")


def test_addresses_and_names_stay_as_they_are(tmp_path):
    for source in ("ml-100k", "postgresql://db.shop/films?table=ratings", "s3://shop/ratings.parquet"):
        (tmp_path / "discreet.toml").write_text(f'[data]\nsource = "{source}"\n')
        assert Project.read(tmp_path / "discreet.toml").data["source"] == source


def test_without_a_file_nothing_changes(discreet, tmp_path, monkeypatch, release):
    monkeypatch.chdir(tmp_path)
    assert "missing argument 'DIR'" in discreet("show").err
    assert discreet("show", release).code == 0
    assert dc.Release.load(release)
