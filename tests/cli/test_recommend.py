import json

import pytest

import discreet as dc
from discreet.data.labels import Labels


@pytest.fixture(scope="module")
def titles(release):
    return dc.Release.load(release).catalogue.titles.tolist()


def test_likes_become_suggestions(discreet, release, titles):
    outcome = discreet("recommend", release, "--likes", titles[0], "-k", 3)
    assert outcome.code == 0
    assert outcome.err == ""
    own = dc.History.of_likes(dc.Release.load(release).catalogue, [titles[0]])
    for suggestion in dc.Release.load(release).recommend(own, 3):
        assert suggestion.title in outcome.out


def test_several_likes_in_one_go_or_one_by_one(discreet, release, titles):
    together = discreet("recommend", release, "--likes", titles[0], titles[1], "-k", 4, "--json")
    apart = discreet("recommend", release, "--likes", titles[0], "--likes", titles[1], "-k", 4, "--json")
    assert together.out == apart.out
    suggested = json.loads(together.out)["suggestions"]
    assert len(suggested) == 4
    assert not {titles[0], titles[1]} & {suggestion["title"] for suggestion in suggested}


def test_a_history_is_read_from_a_file(discreet, release, titles, tmp_path):
    (tmp_path / "own.tsv").write_text(f"item\trating\n{titles[0]}\t5\n{titles[5]}\t1\n")
    outcome = discreet("recommend", release, "--history", tmp_path / "own.tsv", "--json")
    document = json.loads(outcome.out)
    assert document["guarantee"].startswith("No privacy")
    assert len(document["suggestions"]) == 10


def test_a_model_of_ratings_says_which_rating_to_expect(discreet, release, titles):
    command = ("recommend", release, "--likes", titles[0], "-k", 3)
    shown, document = discreet(*command).out, json.loads(discreet(*command, "--json").out)
    assert "predicted" in shown and "score" not in shown
    loaded = dc.Release.load(release)
    own = dc.Ratings.of_history(dc.History.of_likes(loaded.catalogue, [titles[0]]))
    for suggestion in document["suggestions"]:
        item = loaded.catalogue.items.index(suggestion["item"])
        assert suggestion["predicted"] == pytest.approx(float(loaded.predict(own, [0], [item])[0]))
        assert f"{suggestion['predicted']:.2f}" in shown


def test_a_score_is_not_passed_off_as_a_rating(discreet, tmp_path, titles):
    dc.Popularity().fit(dc.NoPrivacy(dc.synthetic(users=60, items=40, ratings=900, seed=1))).save(tmp_path / "ranks")
    command = ("recommend", tmp_path / "ranks", "--likes", titles[0], "-k", 3)
    shown = discreet(*command).out
    assert "score" in shown and "this model does not predict ratings" in shown
    assert all(entry["predicted"] is None for entry in json.loads(discreet(*command, "--json").out)["suggestions"])


def test_a_title_that_several_items_have_is_pointed_out(discreet, tmp_path):
    catalogue = dc.Catalogue.of(["1", "2", "3", "4"], dc.Scale(1, 5), titles=["Hamlet", "Faust", "Hamlet", "Hamlet"])
    users = Labels.of(["a", "b"], what="user")
    ratings = dc.Ratings.of_columns(catalogue, users, [0, 0, 1, 1], [0, 1, 2, 3], [5, 4, 3, 2])
    dc.Bias().fit(dc.NoPrivacy(ratings)).save(tmp_path / "release")
    outcome = discreet("recommend", tmp_path / "release", "--likes", "Hamlet", "Faust", "-k", 2)
    assert outcome.err == (
        "3 items are called 'Hamlet': the first is taken, 1; name another by its identifier, 3 or 4.\n"
    )
    assert discreet("recommend", tmp_path / "release", "--likes", "3", "-k", 2).err == ""


def test_a_small_catalogue_is_said_to_be_small(discreet, release, titles):
    outcome = discreet("recommend", release, "--likes", titles[0], "-k", 1000)
    assert outcome.code == 0
    assert outcome.err == "The catalogue holds no more than 39 other items.\n"


def test_bad_requests_end_with_2_and_a_sentence(discreet, release, titles, tmp_path):
    requests = {
        ("--likes", titles[0], "-k", "-1"): "k must be at least 1, got -1",
        ("--likes", titles[0], "-k", "0"): "k must be at least 1, got 0",
        ("--likes", titles[0][:-1]): f"there is no item {titles[0][:-1]!r}; did you mean {titles[0]!r}",
        (): "say what is liked: either --history FILE or --likes TITLE",
        ("--likes", titles[0], "--history", "x"): "say what is liked: either --history FILE or --likes TITLE",
        ("--history", "x", titles[0]): "titles follow --likes, for example --likes 'Toy Story (1995)'",
        ("--history", tmp_path / "none.csv"): f"{tmp_path}/none.csv cannot be read",
        ("--likes", titles[0], "--explain"): "Bias cannot explain its suggestions; Almanac and neighbour models can",
    }
    for arguments, sentence in requests.items():
        outcome = discreet("recommend", release, *arguments)
        assert outcome.code == 2, arguments
        assert outcome.out == "", arguments
        assert outcome.err.startswith(f"discreet: {sentence}"), arguments
        assert outcome.err.count("\n") == 1, arguments


def test_what_is_no_release_is_refused(discreet, release, tmp_path):
    assert (
        discreet("recommend", tmp_path, "--likes", "a").err
        == f"discreet: {tmp_path} is not a release: it has no card.json\n"
    )
    (tmp_path / "card.json").write_bytes((release / "card.json").read_bytes())
    (tmp_path / "arrays.safetensors").write_bytes((release / "arrays.safetensors").read_bytes()[:-7])
    for command in (("recommend", tmp_path, "--likes", "a"), ("show", tmp_path)):
        outcome = discreet(*command)
        assert outcome.code == 2
        assert "is missing or damaged" in outcome.err


def test_show_tells_what_is_in_a_release_and_nothing_about_users(discreet, release):
    shown = discreet("show", release)
    assert "No privacy: exact sums over the users were released." in shown.out
    assert "40 items" in shown.out
    document = json.loads(discreet("show", release, "--json").out)
    assert document["model"] == "bias"
    assert document["settings"] == {"item_damping": 5.0, "user_damping": 5.0}
    assert document["arrays"]["item_bias"] == {"shape": [40], "type": "float32"}
    for text in (shown.out, json.dumps(document)):
        assert "900" not in text
        assert "60" not in text.replace(document["catalogue"]["fingerprint"], "")
