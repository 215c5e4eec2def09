import json

import pytest

from discreet.errors import FetchError


def test_the_list_names_what_there_is(discreet, tmp_path, monkeypatch):
    monkeypatch.setenv("DISCREET_CACHE", str(tmp_path))
    monkeypatch.delenv("DISCREET_DATA", raising=False)
    shown = discreet("data", "list")
    assert shown.code == 0
    listed = json.loads(discreet("data", "list", "--json").out)
    assert {"ml-100k", "ml-1m", "netflix", "synthetic"} <= {entry["name"] for entry in listed}
    for entry in listed:
        assert entry["name"] in shown.out
        assert entry["here"] == (entry["name"] == "synthetic")


def test_describe(discreet, table, tmp_path):
    arguments = ("data", "describe", table, "--scale", "1:5")
    shown = discreet(*arguments)
    assert "900, 37.50% of all pairs" in shown.out
    document = json.loads(discreet(*arguments, "--json").out)
    assert document["data"] == "ratings.csv"
    assert (document["ratings"], document["users"], document["items"]) == (900, 60, 40)


def test_describe_counts_repeats_rather_than_refusing_them(discreet, tmp_path):
    (tmp_path / "twice.csv").write_text("user,item,rating,day\n1,a,2,100\n1,a,5,200\n2,a,3,150\n")
    arguments = ("data", "describe", tmp_path / "twice.csv", "--scale", "1:5", "--time-column", "day")
    assert "1 rating of an item that the user had rated before" in discreet(*arguments).out
    assert json.loads(discreet(*arguments, "--json").out)["repeats"] == 1


def test_fetch_says_where_it_is(discreet, tmp_path, monkeypatch):
    monkeypatch.setattr("discreet.data.datasets.fetch", lambda name, path, progress: path / name)
    assert discreet("data", "fetch", "ml-100k", "--path", tmp_path).out == f"ml-100k is in {tmp_path}/ml-100k\n"
    document = json.loads(discreet("data", "fetch", "ml-100k", "--path", tmp_path, "--json").out)
    assert document == {"name": "ml-100k", "path": f"{tmp_path}/ml-100k"}


def test_what_cannot_be_fetched_is_a_sentence(discreet, tmp_path, monkeypatch):
    def fail(*_arguments, **_named):
        raise FetchError("there is no network")

    monkeypatch.setattr("discreet.data.datasets.download", fail)
    monkeypatch.setattr("discreet.data.datasets.unpack_copy", fail)
    monkeypatch.setenv("DISCREET_CACHE", str(tmp_path))
    monkeypatch.delenv("DISCREET_DATA", raising=False)
    for command in (("data", "fetch", "ml-100k"), ("data", "describe", "ml-100k"), ("evaluate", "bias", "ml-1m")):
        outcome = discreet(*command, "--json")
        assert outcome.code == 2
        assert outcome.out == ""
        assert "could not be had: there is no network" in outcome.err
        assert outcome.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["fetch", "describe"])
def test_an_unknown_data_set_has_near_names(discreet, command):
    outcome = discreet("data", command, "ml-100")
    assert outcome.code == 2
    assert outcome.err.startswith("discreet: there is no data set 'ml-100'; did you mean 'ml-100k'")


@pytest.mark.parametrize("command", [("data", "describe"), ("evaluate", "bias"), ("budget",)])
def test_a_name_like_no_other_has_a_list_to_look_at(discreet, command):
    outcome = discreet(*command, "qqq")
    assert (outcome.code, outcome.err) == (2, "discreet: there is no data set 'qqq'; `discreet data list` lists them\n")


@pytest.mark.parametrize(
    "option",
    [
        ("--items", "x.csv"),
        ("--user-column", "a"),
        ("--item-column", "a"),
        ("--rating-column", "a"),
        ("--time-column", "a"),
    ],
)
def test_an_option_that_says_nothing_about_the_data_is_refused(discreet, option):
    outcome = discreet("data", "describe", "synthetic", *option)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        f"discreet: synthetic is a data set with a name and a format of its own, which {option[0]} cannot change: "
        "leave it out\n"
    )


def test_so_is_one_that_says_nothing_about_a_file(discreet, table, tmp_path):
    outcome = discreet("data", "describe", table, "--scale", "1:5", "--path", tmp_path)
    assert outcome.err == f"discreet: {table} is a table, which --path cannot change: leave it out\n"
    (tmp_path / "u.data").write_text("1\t1\t3\t1\n")
    (tmp_path / "u.item").write_text("")
    outcome = discreet("data", "describe", tmp_path, "--user-column", "who", "--items", "x.csv")
    assert outcome.code == 2
    assert "in a format of its own, which --user-column and --items cannot change" in outcome.err


def test_the_list_can_be_read_in_a_narrow_terminal(discreet, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    lines = discreet("data", "list").out.splitlines()
    assert max(map(len, lines)) <= 40
    for words in ("name     ml-100k", "ratings  100,000", "users    943", "name     synthetic"):
        assert any(line.rstrip() == words for line in lines), words
