import contextlib
import json
import os
import signal

import pytest

import discreet as dc
from discreet.populations.rehearsal import Rehearsal
from discreet.types import no_progress

SCALE = ("--scale", "1:5")


def test_fit_writes_a_release_and_says_that_there_is_no_privacy(discreet, table, tmp_path):
    outcome = discreet("fit", "bias", table, *SCALE, "-o", tmp_path / "new" / "release", "--set", "item_damping=2")
    assert outcome.code == 0
    assert outcome.err == ""
    assert "No privacy: exact sums over the users were released." in outcome.out
    release = dc.Release.load(tmp_path / "new" / "release")
    assert release.model == dc.Bias(item_damping=2)
    assert len(release.catalogue) == 40


def test_fit_replaces_a_release_and_prints_json(discreet, table, tmp_path):
    for model in ("bias", "popularity"):
        outcome = discreet("fit", model, table, *SCALE, "-o", tmp_path / "release", "--json", "--replace")
        document = json.loads(outcome.out)
        assert document["model"] == model
        assert document["guarantee"].startswith("No privacy")
    refused = discreet("fit", "bias", table, *SCALE, "-o", tmp_path / "release")
    assert refused.code == 2 and "holds a release: name another folder, or replace it with --replace" in refused.err
    assert dc.Release.load(tmp_path / "release").model == dc.Popularity()
    assert [path.name for path in tmp_path.iterdir()] == ["release"]


def test_what_cannot_be_fitted_is_refused_and_leaves_nothing(discreet, table, tmp_path):
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "letter.txt").write_text("dear")
    to_new = ("-o", tmp_path / "new")
    fine = (*SCALE, *to_new)
    requests = {
        ("bia", table, *fine): "there is no model 'bia'; did you mean 'bias'?",
        ("bias", table, *fine, "--set", "item_damping=much"): "item_damping must be a number, got 'much'",
        ("bias", table, *fine, "--set", "item_damp=1"): "there is no bias setting 'item_damp'; did you",
        ("bias", table, *SCALE, "-o", taken): f"{taken} exists and is not a release; nothing was written",
        ("bias", table, *SCALE, "-o", taken / "letter.txt" / "x"): "cannot write to",
        ("bias", table, "--scale", "five", *to_new): "a rating scale is written LOW:HIGH, for example 1:5, got 'five'",
        ("bias", table, *to_new): f"{table} does not say its rating scale: declare it with --scale LOW:HIGH",
        ("bias", table, *fine, "--repeats", "best"): "--repeats must be last, mean or recency, got 'best'",
        ("bias", table, "--scale", "1:4", *to_new): f"{table}, row ",
        ("bias", table, *fine, "--user-column", "who"): f"{table}",
        ("bias", tmp_path / "none.csv", *fine): f"there is no file or folder {tmp_path}/none.csv",
        ("bias", "ml-100x", *to_new): "there is no data set 'ml-100x'; did you mean 'ml-100k'",
        ("bias", "ml-100k", *to_new, "--path", tmp_path / "none"): f"there is no folder {tmp_path}/none",
    }
    for arguments, sentence in requests.items():
        outcome = discreet("fit", *arguments)
        assert outcome.code == 2, arguments
        assert outcome.out == "", arguments
        assert outcome.err.startswith(f"discreet: {sentence}"), outcome.err
        assert outcome.err.count("\n") == 1, outcome.err
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is empty"),
        (b"user,item,rating\n", "is empty"),
        (b"user,item\n1,2\n", "'rating'"),
        (b"user,item,rating\n1,2,good\n", "row 2: the rating is missing or not a number"),
        (b"user,item,rating\n1,2,4\n1,3,nan\n", "row 3: the rating is missing or not a number"),
        (b"user,item,rating\n1,2,9\n", "row 2: the rating is outside the declared scale 1 to 5"),
        (b"user,item,rating\n1,2,4\n1,2,4\n", "row 3: this user rated this item before"),
        ("user,item,rating\n1,café,4\n".encode("latin-1"), "row 2: this is not text in UTF-8"),
    ],
)
def test_a_bad_table_is_named_with_its_row(discreet, tmp_path, content, sentence):
    (tmp_path / "bad.csv").write_bytes(content)
    outcome = discreet("fit", "bias", tmp_path / "bad.csv", *SCALE, "-o", tmp_path / "release")
    assert outcome.code == 2
    assert outcome.err.startswith(f"discreet: {tmp_path}/bad.csv")
    assert sentence in outcome.err
    assert not (tmp_path / "release").exists()


def test_several_ratings_of_an_item_need_a_rule(discreet, tmp_path):
    (tmp_path / "twice.csv").write_text("user,item,rating,day\n1,a,2,100\n1,a,5,200\n2,a,3,150\n2,b,3,160\n")
    arguments = ("fit", "bias", tmp_path / "twice.csv", *SCALE, "--time-column", "day", "-o", tmp_path / "release")
    refused = discreet(*arguments)
    assert refused.code == 2
    assert refused.err.endswith("by one user: merge them with --repeats last, mean or recency\n")
    (tmp_path / "same.csv").write_text("user,item,rating\n1,a,2\n1,a,5\n2,a,3\n")
    refused = discreet("fit", "bias", tmp_path / "same.csv", *SCALE, "-o", tmp_path / "release")
    assert "--repeats last" in refused.err and "repeats=" not in refused.err
    assert not (tmp_path / "release").exists()
    assert discreet(*arguments, "--repeats", "mean").code == 0
    assert len(dc.Release.load(tmp_path / "release").catalogue) == 2


def test_a_damaged_archive_is_refused(discreet, tmp_path):
    (tmp_path / "ml-100k.zip").write_bytes(b"PK\x03\x04 and then nothing")
    for data in (("ml-100k", "--path", tmp_path), (tmp_path / "ml-100k.zip",)):
        outcome = discreet("fit", "bias", *data, "-o", tmp_path / "release")
        assert outcome.code == 2
        assert outcome.err.startswith(f"discreet: {tmp_path}/ml-100k.zip is not a whole zip archive")
    assert not (tmp_path / "release").exists()


def test_an_interrupt_ends_quietly_with_130_and_leaves_nothing(discreet, table, tmp_path, monkeypatch):
    def interrupt(*_arguments, **_named):
        raise KeyboardInterrupt

    for place in ("discreet.models.bias.Bias.fit", "discreet.releases.storage.write_arrays"):
        with monkeypatch.context() as patched:
            patched.setattr(place, interrupt)
            outcome = discreet("fit", "bias", table, *SCALE, "-o", tmp_path / "release")
        assert (outcome.code, outcome.out, outcome.err) == (130, "", "")
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("options", [(), ("--epsilon", "1")])
def test_an_interrupt_that_is_swallowed_takes_effect_before_anything_is_written(
    discreet, table, items, tmp_path, monkeypatch, options
):
    fit = dc.Popularity.fit

    def compile_and_fit(model, population, progress=no_progress):
        if not isinstance(population, Rehearsal):
            with contextlib.suppress(KeyboardInterrupt):  # as numba does while it compiles
                os.kill(os.getpid(), signal.SIGINT)
        return fit(model, population, progress)

    monkeypatch.setattr("discreet.models.popularity.Popularity.fit", compile_and_fit)
    before = signal.getsignal(signal.SIGINT)
    outcome = discreet(
        "fit", "popularity", table, *SCALE, "--items", items, "--items-public", "-o", tmp_path / "release", *options
    )
    assert (outcome.code, outcome.out) == (130, "")
    assert list(tmp_path.iterdir()) == []
    assert signal.getsignal(signal.SIGINT) is before


def test_a_full_disk_is_a_sentence(discreet, table, tmp_path, monkeypatch):
    def full(*_arguments, **_named):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("discreet.releases.storage.write_arrays", full)
    outcome = discreet("fit", "bias", table, *SCALE, "-o", tmp_path / "release")
    assert outcome.code == 2
    place = tmp_path / "release"
    sentence = f"cannot write the release to {place}: No space left on device; nothing was written"
    assert outcome.err == f"discreet: {sentence}\n"
    assert list(tmp_path.iterdir()) == []


def test_fit_and_certificate_say_that_covariances_were_left_out(discreet, table, items, tmp_path):
    how = (*SCALE, "--items", items, "--items-public", "--audience", 200, "--epsilon", 0.7, "-o", tmp_path / "release")
    fitted = discreet("fit", "covariance-knn", table, *how)
    assert fitted.code == 0 and "These are averages alone" in fitted.out
    assert "with --delta 1e-6 it could be smaller, and they would be published." in fitted.out
    assert "These are averages alone" in discreet("certificate", tmp_path / "release").out
    document = json.loads(discreet("certificate", tmp_path / "release", "--json").out)
    assert document["remark"].startswith("These are averages alone")
    assert json.loads(discreet("fit", "bias", table, *SCALE, "-o", tmp_path / "bias", "--json").out)["remark"] is None


def test_a_link_as_output_is_named_with_where_it_leads(discreet, table, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    outcome = discreet("fit", "bias", table, *SCALE, "-o", tmp_path / "link")
    assert outcome.code == 0 and (tmp_path / "link").is_symlink() and (tmp_path / "real" / "card.json").exists()
    assert f"The release is in {tmp_path / 'link'}, a link to {tmp_path / 'real'}" in " ".join(outcome.out.split())


def test_what_cannot_be_delivered_is_refused_and_costs_nothing(discreet, table, items, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    private = ("fit", "bias", table, "--items", items, "--items-public", "--epsilon", 1)
    for options in (("--scale", "-1e308:1e308", "-o", "new"), (*SCALE, "-o", "."), (*SCALE, "-o", "x" * 300)):
        outcome = discreet(*private, *options)
        assert outcome.code == 2 and outcome.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
    assert json.loads(discreet("budget", table, "--json").out)["spendings"] == []


def test_the_budget_command_puts_in_order_what_a_killed_run_left(discreet, table, items, tmp_path):
    private = (*SCALE, "--items", items, "--items-public", "--epsilon", 1, "-o", tmp_path / "release")
    assert discreet("fit", "bias", table, *private).code == 0
    budget = dc.Budget()
    with budget._writing() as connection:
        connection.run("UPDATE discreet_spendings SET released_at = NULL")
    [line] = json.loads(discreet("budget", table, "--json").out)["spendings"]
    assert line["state"] == "released"
