"""``discreet fit`` without a model, and with --model."""

import json

import pytest

import discreet as dc

SCALE = ("--scale", "1:5")
PRIVATE = ("--epsilon", 1, "--unit", "user")


@pytest.mark.parametrize("words", [(), ("auto",), ("--model", "auto")])
def test_three_ways_to_let_it_choose(discreet, table, items, tmp_path, words):
    data = (table, *SCALE, "--items", items, "--items-public")
    outcome = discreet("fit", *words, *data, *PRIVATE, "--audience", 60, "-o", tmp_path / "release", "--json")
    assert (outcome.code, outcome.err) == (0, "")
    document = json.loads(outcome.out)
    assert document["model"] == "almanac" and document["settings"]["purpose"] == "both"
    assert "epsilon 1 for every user and about 60 users" in document["reason"]
    release = dc.Release.load(tmp_path / "release")
    assert isinstance(release.model, dc.Almanac) and release.note == document["reason"]
    assert json.loads((tmp_path / "release" / "card.json").read_text())["note"] == document["reason"]


def test_the_reason_is_said_and_kept(discreet, table, items, tmp_path):
    outcome = discreet("fit", table, *SCALE, "--items", items, "--items-public", *PRIVATE, "-o", tmp_path / "release")
    assert outcome.code == 0, outcome.err
    reason = dc.Release.load(tmp_path / "release").note
    assert outcome.out.startswith(f"{reason}.\nFitted Almanac(")
    assert outcome.err == "About 1,000 users were assumed; --audience N announces how many there are, roughly.\n"
    shown = discreet("show", tmp_path / "release")
    assert "chosen" in shown.out
    assert json.loads(discreet("show", tmp_path / "release", "--json").out)["note"] == reason


def test_the_users_of_the_table_are_not_counted(discreet, table, items, tmp_path):
    """Ten users more or fewer, and the same plan: how many there are is what privacy for users hides."""
    lines = table.read_text().splitlines(keepends=True)
    fewer = tmp_path / "fewer.csv"
    fewer.write_text("".join(lines[: len(lines) // 2]))
    documents = []
    for number, data in enumerate((table, fewer)):
        folder = tmp_path / f"release-{number}"
        declared = ("--items", items, "--items-public", "--account", number)
        outcome = discreet("fit", data, *SCALE, *declared, *PRIVATE, "-o", folder, "--json")
        documents.append(json.loads(outcome.out))
    first, second = documents
    assert (first["reason"], first["settings"]) == (second["reason"], second["settings"])


def test_without_privacy_it_chooses_too(discreet, table, tmp_path):
    outcome = discreet("fit", table, *SCALE, "-o", tmp_path / "release")
    assert (outcome.code, outcome.err) == (0, "")
    assert "Without privacy" in outcome.out and "No privacy" in outcome.out


def test_a_name_can_be_an_option(discreet, table, tmp_path):
    outcome = discreet("fit", "--model", "bias:item_damping=2", table, *SCALE, "-o", tmp_path / "release", "--json")
    document = json.loads(outcome.out)
    assert (document["model"], document["reason"]) == ("bias", None)
    assert dc.Release.load(tmp_path / "release").model == dc.Bias(item_damping=2)


def test_a_named_model_is_told_the_audience(discreet, table, items, tmp_path):
    data = (table, *SCALE, "--items", items, "--items-public", *PRIVATE, "--json")
    announced = discreet("fit", "als", *data, "--audience", 77, "-o", tmp_path / "one")
    assert json.loads(announced.out)["settings"]["audience"] == 77
    written = discreet("fit", "als:audience=5", *data, "--audience", 77, "-o", tmp_path / "two")
    assert json.loads(written.out)["settings"]["audience"] == 5


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("auto",), "DATA is missing: write `discreet fit auto DATA -o DIR`"),
        (("bias",), "DATA is missing: write `discreet fit bias DATA -o DIR`"),
        (("bias", "mf", "ml-100k"), "fit takes one model, got bias mf"),
        (("bias", "ml-100k", "--model", "mf"), "the model is named twice, bias and --model mf"),
        (("ml-100k", "--set", "factors=3"), "--set is for a model with a name"),
        (("ml-100k", "--audience", 0), "--audience must be at least 1, got 0"),
        (("--model", "bia", "ml-100k"), "there is no model 'bia'; did you mean 'bias'?"),
        (("--model", "", "ml-100k"), "there is no model ''"),
    ],
)
def test_what_cannot_be_meant_is_one_sentence(discreet, tmp_path, arguments, sentence):
    outcome = discreet("fit", *arguments, "-o", tmp_path / "release")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"discreet: {sentence}") and outcome.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_items_read_off_the_ratings_are_refused_before_anything_is_chosen(discreet, table, tmp_path):
    outcome = discreet("fit", table, *SCALE, *PRIVATE, "-o", tmp_path / "release")
    assert outcome.code == 2
    assert "would promise nothing" in outcome.err and "--items FILE" in outcome.err


def test_a_limit_is_kept_without_a_name_too(discreet, table, tmp_path):
    discreet("budget", table, "--epsilon", 1)
    outcome = discreet("fit", table, *SCALE, "-o", tmp_path / "release")
    assert outcome.code == 2 and "would overspend any limit" in outcome.err
