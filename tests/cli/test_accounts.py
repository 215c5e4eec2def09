"""Accounts, tuning and named runs on the command line."""

import json

import pytest

import discreet as dc

SCALE = ("--scale", "1:5")


@pytest.fixture
def fit(discreet, table, items, tmp_path):
    def run(*options, model="popularity", output="release"):
        given = ("--items", items, "--items-public", "--epsilon", "0.5", "-o", tmp_path / output)
        return discreet("fit", model, table, *SCALE, *given, *options)

    return run


def test_an_account_has_a_name(discreet, fit, own_budget):
    assert discreet("budget", "--account", "films", "--epsilon", "1").code == 0
    document = json.loads(fit("--account", "films", "--run-id", "may", "--json").out)
    assert (document["account"], document["run_id"], document["booked"]) == ("films", "may", "now")
    assert json.loads(fit("--account", "films", "--run-id", "may", "--json").out)["booked"] == "before"
    again = fit("--account", "films", "--run-id", "may")
    assert again.code == 0 and "nothing was computed, and nothing spent" in again.out and "Fitted" not in again.out
    assert len(dc.Budget(own_budget).account("films").spendings) == 1
    text = discreet("budget", "--account", "films").out
    assert "epsilon 0.5 for one more fit like the last; 1 fit of that size" in text
    for arguments in ((), ("ml-100k", "--account", "films")):
        outcome = discreet("budget", *arguments)
        assert (outcome.code, outcome.err) == (2, "discreet: name either DATA or --account NAME\n")


def test_another_folder_or_other_settings_are_refused_under_the_same_run(fit, tmp_path):
    assert fit("--run-id", "may").code == 0
    lost = fit("--run-id", "may", output="elsewhere")
    assert lost.code == 2 and "was released before, and" in lost.err and not (tmp_path / "elsewhere").exists()
    other = fit("--run-id", "may", "--replace", model="bias")
    assert other.code == 2 and "the run may was booked for something else (Popularity()" in other.err


def test_a_fit_is_checked_by_replay_when_asked(discreet, fit, table, tmp_path):
    replayed = "A replay of the noisy answers gave the same release"
    assert replayed not in fit().out and replayed in fit("--check-replay", output="checked").out
    plain = discreet("fit", "popularity", table, *SCALE, "--check-replay", "-o", tmp_path / "plain")
    assert plain.code == 2 and "--check-replay" in plain.err and not (tmp_path / "plain").exists()


def test_looks_are_written_down_and_shown(discreet, table):
    for command in (("evaluate", "bias"), ("compare", "--models", "bias")):
        extra = ("-o", table.parent / "page") if command[0] == "compare" else ()
        assert discreet(*command, table, *SCALE, "--test", ".2", *extra).code == 0
    document = json.loads(discreet("budget", table, "--json").out)
    assert [look["what"] for look in document["looks"]] == ["compare", "compare"]
    assert [look["models"][0][0] for look in document["looks"]] == ["Bias", "Bias"]
    assert "2 times without paying (compare)" in discreet("budget", table).out


def test_tuned_settings_need_a_word(discreet, fit, table):
    assert discreet("evaluate", "bias", table, *SCALE, "--test", ".2").code == 0
    refused = fit("--set", "item_damping=2", model="bias")
    assert (refused.code, refused.out) == (2, "") and refused.err.endswith("; nothing was computed or spent\n")
    own = fit("--set", "item_damping=2", "--tuned-on", table, model="bias")
    assert own.code == 2 and "names these ratings themselves" in own.err
    assert fit(model="bias").code == 0
    stated = fit("--set", "item_damping=2", "--tuned-on", "ml-1m", "--replace", model="bias")
    assert stated.code == 0 and "Settings were chosen on ml-1m, says whoever ran the fit." in stated.out
    for options, sentence in (
        (("--tuned-on", "ml-1m"), "--tuned-on says nothing without --epsilon"),
        (("--run-id", "may"), "--run-id is for what is paid for"),
    ):
        outcome = discreet("fit", "bias", table, *SCALE, "-o", table.parent / "free", *options)
        assert outcome.code == 2 and sentence in outcome.err


def test_a_release_without_privacy_asks_for_an_account_too(discreet, fit, table, tmp_path):
    assert fit().code == 0
    copy = tmp_path / "copy.csv"
    copy.write_text(table.read_text())
    outcome = discreet("fit", "popularity", copy, *SCALE, "-o", tmp_path / "exact")
    assert outcome.code == 2 and f"--account {table}" in outcome.err and not (tmp_path / "exact").exists()
