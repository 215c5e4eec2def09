"""Wishes on the command line: from a column or a file to the certificate, a level of it, and one's own page."""

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.cli.app import app

RATINGS = dc.synthetic(users=60, items=20, ratings=600, seed=1)


@pytest.fixture
def files(tmp_path):
    frame = RATINGS.to_frame().select("user", "item", "rating")
    wished = np.random.default_rng(1).choice(["0.1", "0.2", "", "1"], frame.height)
    frame = frame.with_columns(pl.Series("privacy", wished))
    frame.write_csv(tmp_path / "mine.csv")
    titles = ["Toy Story (1995)", *(f"Film {item}" for item in range(1, 20))]
    pl.DataFrame({"item": RATINGS.catalogue.items.names.tolist(), "title": titles}).write_csv(tmp_path / "items.csv")
    (tmp_path / "me.csv").write_text("title,rating,privacy\nToy Story (1995),5,0.2\nFilm 3,1,\n")
    return tmp_path


def call(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def fit(files, *more):
    return call(
        *("fit", "bias", files / "mine.csv", "--scale", "1:5", "--items", files / "items.csv", "--items-public"),
        *("--budget", f"sqlite:///{files / 'budget.sqlite'}", "-o", files / "release", *more),
    )


def test_from_a_column_to_what_one_person_is_told(files):
    shown = fit(files, "--epsilon", ".5", "--epsilon-column", "privacy", "--levels", ".1,.2,1")
    assert shown.exit_code == 0, shown.output
    assert "0.1: epsilon 0.1; 0.2: epsilon 0.2; 1: epsilon 0.5" in shown.output
    shown = call("certificate", files / "release", "--level", "0.2")
    assert (
        shown.exit_code == 0
        and "Every rating for which this level was chosen is protected at epsilon 0.2" in shown.output
    )
    document = json.loads(call("certificate", files / "release", "--level", ".15", "--json").output)
    assert document["name"] == "0.1" and document["loss"]["epsilon"] == pytest.approx(0.1)
    own = call("certificate", files / "release", "--history", files / "me.csv", "--epsilon-column", "privacy")
    assert "Your rating of Toy Story (1995) is protected at epsilon 0.2." in own.output
    assert "Your rating of Film 3 is protected at epsilon 0.1." in own.output
    assert "All of them together are protected at epsilon 0.3." in own.output
    document = json.loads(call("certificate", files / "release", "--history", files / "me.csv", "--json").output)
    assert {one["level"] for one in document["ratings"]} == {"0.1"}


def test_users_choose_for_all_they_gave(files):
    (files / "wishes.csv").write_text("user,epsilon\n1,strict\n2,1\n")
    levels = ("--levels", "strict=.25,normal=1")
    shown = fit(files, "--epsilon", "1", "--unit", "user", "--wishes", files / "wishes.csv", *levels)
    assert shown.exit_code == 0, shown.output
    own = call("certificate", files / "release", "--history", files / "me.csv", "--level", "strict")
    assert "All your ratings together are protected at epsilon 0.25" in own.output.replace("\n", " ")


def test_made_up_wishes_for_experiments(files):
    shown = fit(files, "--epsilon", "1", "--wishes", "survey")
    assert shown.exit_code == 0 and "conservative: epsilon 0.1" in shown.output


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--epsilon-column", "privacy"], "wishes need --epsilon too"),
        (["--epsilon", "1", "--levels", ".1,1"], "--levels goes with"),
        (["--epsilon", "1", "--epsilon-column", "privacy", "--wishes", "survey"], "give one of them"),
        (["--epsilon", "1", "--epsilon-column", "privat"], "there is no column 'privat'"),
        (["--epsilon", "1", "--epsilon-column", "privacy", "--levels", "a,b"], "--levels must be numbers"),
        (["--epsilon", "1", "--epsilon-column", "privacy", "--levels", ".5,1"], "below the lowest level on offer"),
        (["--epsilon", "9", "--epsilon-column", "privacy"], "above every level on offer"),
        (["--epsilon", "1", "--wishes", "nowhere.csv"], "nowhere.csv"),
    ],
)
def test_what_is_wrong_is_one_sentence_and_costs_nothing(files, more, sentence):
    shown = fit(files, *more)
    assert shown.exit_code == 2 and sentence in shown.output
    assert not (files / "release").exists() and "Traceback" not in shown.output
    assert dc.Budget(f"sqlite:///{files / 'budget.sqlite'}").account(str(files / "mine.csv")).spendings == ()


def test_a_release_without_levels_has_none_to_show(files):
    fit(files, "--epsilon", "1")
    shown = call("certificate", files / "release", "--level", "0.2")
    assert shown.exit_code == 2 and "offers no privacy levels" in shown.output
    own = call("certificate", files / "release", "--history", files / "me.csv")
    assert "Your rating of Toy Story (1995) is protected at epsilon 1." in own.output


def test_ones_own_page(files):
    fit(files, "--epsilon", ".5", "--epsilon-column", "privacy", "--levels", ".1,.2,1")
    own = ("certificate", files / "release", "--history", files / "me.csv", "--epsilon-column", "Privacy")
    shown = call(*own, "--html", files / "own.html")
    assert shown.exit_code == 0 and f"Your page is {files / 'own.html'}" in shown.output
    page = (files / "own.html").read_text(encoding="utf-8")
    assert "Toy Story (1995)</th>" in page and "epsilon 0.2</td>" in page
    assert len(json.loads(call(*own, "--html", files / "own.html", "--json").output)["ratings"]) == 2


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--history", "me.csv", "--html", "me.csv"], "would replace your ratings"),
        (["--history", "me.csv", "--html", "."], "is a folder"),
        (["--level", "0.05"], "below the lowest level on offer; on offer are 0.1, 0.2, 1"),
        (["--level", "secret"], "there is no privacy level 'secret'; on offer are 0.1, 0.2, 1"),
    ],
)
def test_what_is_wrong_with_a_page_or_a_level_is_one_sentence(files, monkeypatch, more, sentence):
    fit(files, "--epsilon", ".5", "--epsilon-column", "privacy", "--levels", ".1,.2,1")
    monkeypatch.chdir(files)
    shown = call("certificate", "release", *more)
    assert shown.exit_code == 2 and sentence in shown.output and len(shown.output.splitlines()) == 1
    assert "Toy Story" not in shown.output and not (files / "own.html").exists()


def test_a_level_that_is_not_on_offer(files):
    fit(files, "--epsilon", ".5", "--epsilon-column", "privacy", "--levels", ".1,.2,1")
    told = "There is no privacy level 0.3: on offer are 0.1, 0.2, 1, and such a wish is lowered to 0.2."
    assert call("certificate", files / "release", "--level", "0.3").output.splitlines()[0] == told
    own = call("certificate", files / "release", "--history", files / "me.csv", "--level", "0.3")
    assert own.output.splitlines()[0] == told
    assert "There is no" not in call("certificate", files / "release", "--level", ".2").output
