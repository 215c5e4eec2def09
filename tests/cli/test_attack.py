"""``discreet attack untrusted``: a table for people, JSON for machines, a page, and no rating in any of them."""

import json

import pytest

import discreet as dc


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """A table with enough users for a group of a hundred and the victims."""
    path = tmp_path_factory.mktemp("attack") / "many.csv"
    ratings = dc.synthetic(users=120, items=30, ratings=1800, seed=1)
    ratings.to_frame().write_csv(path)
    return path


HOW = ("--scale", "1:5", "--victims", 2, "--seed", 1)


def test_people_get_both_tables_and_what_they_say(discreet, many, tmp_path):
    page = tmp_path / "attacks.html"
    outcome = discreet("attack", "untrusted", many, *HOW, "--html", page)
    assert outcome.code == 0
    for words in ("The published protocol", "The sound protocol", "difference of rounds", "refused", "(100%)"):
        assert words in outcome.out
    assert f"The page is {page}" in outcome.out
    text = page.read_text(encoding="utf-8")
    assert "Attacks on an untrusted recommender" in text and "ratings recovered (100%)" in text


def test_machines_get_one_document(discreet, many):
    outcome = discreet("attack", "untrusted", many, *HOW, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    document = json.loads(outcome.out)
    published = [row for row in document["attacks"] if row["protocol"] == "published"]
    sound = [row for row in document["attacks"] if row["protocol"] == "sound"]
    assert [row["succeeds"] for row in published] == [True, published[1]["ratings"] > 0, True, True, False]
    assert not any(row["succeeds"] for row in sound) and sum(bool(row["refused"]) for row in sound) == 7


def test_too_few_users_are_refused_in_a_sentence(discreet, many):
    outcome = discreet("attack", "untrusted", many, "--scale", "1:5", "--victims", 21)
    assert outcome.code == 2 and "need at least 121 users" in outcome.err
