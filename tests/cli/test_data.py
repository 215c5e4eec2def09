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
    assert "1 ratings of an item that the user had rated before" in discreet(*arguments).out
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
