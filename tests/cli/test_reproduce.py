import json

import pytest

import discreet as dc

SCALE = ("--scale", "1:5")


def test_draws_and_judges(discreet, table, tmp_path):
    outcome = discreet(
        "reproduce",
        "hybrid",
        "--data",
        table,
        *SCALE,
        "--quick",
        "--seeds",
        1,
        "--figure",
        2,
        "--figure",
        9,
        "-o",
        tmp_path,
    )
    assert outcome.code == 0
    assert "RMSE rises with gamma" in outcome.out
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {"page.html", "results.json", "repetitions", "figure-2.png", "figure-9.png"}
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "What epsilon 1 is worth" in page and "Fig. 9: noise" in page and "Fig. 3: noise" not in page
    written = json.loads((tmp_path / "results.json").read_text())
    forms = {"plain", "ratio", "joint", "shrunk", "damped"}
    assert set(written["claims"][0]["verdicts"]) == {"letter", "letter plain", *forms, "sent"}
    assert [found["figure"] for found in written["claims"]] == [2, 2, 2, 2, 2, 2, 9, 9, 9]
    assert "Our own questions" in page and "What is sent for a gamma" in page
    # The paper was never run on these data, so nothing of it is counted.
    assert written["reproduces"] == {"letter": {"claims": 0, "of": 0}, "plain": {"claims": 0, "of": 0}}
    assert "to the letter" in outcome.out and "corrected" in outcome.out and "not judged" in outcome.out
    assert "None of its claims is counted on ratings.csv, with 1 repetition." in outcome.out


def test_prints_one_document(discreet, table, tmp_path):
    how = ("--quick", "--seeds", 1, "--figure", 2, "--json", "--called", "ml-100k", "-o", tmp_path)
    outcome = discreet("reproduce", "hybrid", "--data", table, *SCALE, *how)
    document = json.loads(outcome.out)
    assert outcome.err == ""
    assert document["figures"] == [2]
    assert document["claims"][0]["claim"] == "RMSE rises with gamma"
    assert document["claims"][0]["source"] == "the paper" and document["data"]["name"] == "ml-100k"
    assert {reading: found["of"] for reading, found in document["reproduces"].items()} == {"letter": 3, "plain": 3}
    assert document["pictures"] == [str(tmp_path / "figure-2.png")]


def test_takes_a_given_test_set_and_the_most_rated_items(discreet, table, tmp_path):
    """Yahoo's two files, made up: the second has a user and an item of its own."""
    rows = table.read_text(encoding="utf-8").splitlines()
    (tmp_path / "train.csv").write_text("\n".join(rows[:-40]) + "\n")
    (tmp_path / "test.csv").write_text("\n".join([rows[0], *rows[-40:], "someone,something,3"]) + "\n")
    how = ("--quick", "--seeds", 2, "--figure", 2, "--json", "-o", tmp_path / "out", "--called", "yahoo", *SCALE)
    given = ("--data", tmp_path / "train.csv", "--test", tmp_path / "test.csv")
    found = json.loads(discreet("reproduce", "hybrid", *given, *how).out)
    assert found["data"]["ratings"] == len(rows) and found["data"]["test_given"]  # of two headings one is left out
    assert found["data"]["most_rated"] is None and found["claims"][0]["source"] == "the paper"
    exact = next(case for case in found["cases"] if case["method"] == "no privacy")["numbers"]["plain"]
    assert exact[0] == exact[1]  # the same split
    cut = json.loads(discreet("reproduce", "hybrid", *given, *how, "--most-rated", 5).out)
    assert cut["data"]["items"] == 5 == cut["data"]["most_rated"] and cut["claims"][0]["source"] == "other data"


def test_takes_the_probe_of_netflix(discreet, tmp_path):
    folder = tmp_path / "prize"
    folder.mkdir()
    for film in range(1, 9):
        lines = [f"{user},{(user * film) % 5 + 1},2005-09-06" for user in range(1, 13) if (user + film) % 3]
        (folder / f"mv_{film:07d}.txt").write_text("\n".join([f"{film}:", *lines, ""]))
    how = ("--data", folder, "--test", "probe", "--called", "netflix", "--quick", "--seeds", 1, "--figure", 2, "--json")
    refused = discreet("reproduce", "hybrid", *how, "-o", tmp_path / "out")
    assert refused.code == 2 and "has no file probe.txt" in refused.err
    (folder / "probe.txt").write_text("1:\n1\n3\n2:\n2\n3\n")
    found = json.loads(discreet("reproduce", "hybrid", *how, "-o", tmp_path / "out").out)
    assert found["data"]["test_given"] and found["data"]["ratings"] == 64 and found["data"]["name"] == "netflix"
    assert found["claims"][0]["source"] == "the paper"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--most-rated", 0), "at least 1, got 0"),
        (("--test", "nothing.csv", "--scale", "1:5"), "nothing.csv"),
        (("--figure", 1), "the figures with results are 2, 3, 4, 5, 6, 7, 8, 9, got 1"),
        (("--seeds", 0), "seeds must be at least 1, got 0"),
        (("--data", "ml-10k"), "there is no"),
        (("--from", "none.json"), "none.json is no reproduction"),
        (("--from", "none.json", "--quick"), "--from runs nothing"),
    ],
)
def test_refuses_in_a_sentence(discreet, tmp_path, arguments, sentence):
    outcome = discreet("reproduce", "hybrid", *arguments, "-o", tmp_path / "new")
    assert outcome.code == 2
    assert sentence in outcome.err and outcome.err.count("\n") == 1  # nothing is said to begin before it can
    assert not (tmp_path / "new").exists()


def test_a_paper_is_a_model_by_name(discreet, table, tmp_path):
    folder = tmp_path / "release"
    outcome = discreet("fit", "paper:hybrid-knn:gamma=1", table, *SCALE, "--set", "epsilon=2", "-o", folder, "--json")
    assert json.loads(outcome.out)["model"] == "paper:hybrid-knn"
    assert json.loads(outcome.out)["guarantee"].startswith("Claimed, not proven: epsilon 2")
    assert dc.Release.load(folder).model == dc.papers.HybridKNN(gamma=1, epsilon=2)
    assert "paper:hybrid-knn" in discreet("show", folder).out
    evaluated = discreet(
        "evaluate", "bias", "paper:hybrid-knn:epsilon=none", table, *SCALE, "--test", 0.2, "--metrics", "rmse", "--json"
    )
    assert [row["model"] for row in json.loads(evaluated.out)["rows"]] == ["bias", "paper:hybrid-knn:epsilon=none"]
    assert "paper:hybrid-knn" in discreet("models").out
    refused = discreet("fit", "paper:hybrid-knn", table, *SCALE, "--epsilon", 1, "-o", folder)
    assert refused.code == 2 and "HybridKNN" in refused.err
    assert "did you mean 'paper:hybrid-knn'" in discreet("fit", "paper:hybrid", table, *SCALE, "-o", folder).err


def test_a_limit_on_a_paper_is_refused_with_the_way_to_its_claim(discreet, table, tmp_path):
    outcome = discreet("fit", "paper:hybrid-knn", table, *SCALE, "--epsilon", 2, "-o", tmp_path / "release")
    assert outcome.code == 2 and "write --set epsilon=2 for the claim" in outcome.err
    how = ("--set", "epsilon=2", "--set", "gamma=1", "-o", tmp_path / "release")
    assert "epsilon 2 for one rating" in discreet("fit", "paper:hybrid-knn", table, *SCALE, *how).out


def test_a_paper_with_several_systems(discreet, table, tmp_path):
    how = ("--quick", "--seeds", 1, "--figure", 4, "--json", "--called", "ml-100k", "-o", tmp_path / "out")
    found = json.loads(discreet("reproduce", "neighbourhood", "--data", table, *SCALE, *how).out)
    assert found["figures"] == [4] and set(found["reproduces"]) == {"constant", "cosine"}
    refused = discreet("fit", "paper:dpsgd-pnbm:neighbours=5000", table, *SCALE, "-o", tmp_path / "release")
    assert refused.code != 0 and "neighbours may be at most" in refused.err
    fitted = discreet(
        "fit", "paper:dpps-pnbm:iterations=2", table, *SCALE, "--set", "epsilon=2", "-o", tmp_path / "release"
    )
    assert fitted.code == 0
    assert dc.Release.load(tmp_path / "release").model == dc.papers.DPPSPNBM(iterations=2, epsilon=2)


def test_tables_are_chosen_by_number_and_facts_of_users_are_read(discreet, table, tmp_path):
    for paper, number, says in (
        ("hybrid", 1, "no tables with results"),
        ("dp-vae", 4, "the tables with results are 5"),
    ):
        outcome = discreet("reproduce", paper, "--table", number, "-o", tmp_path)
        assert outcome.code == 2 and says in outcome.err
    users = tmp_path / "users.csv"
    users.write_text("user,age\nsomebody,very old\n")
    outcome = discreet("reproduce", "dp-vae", "--data", table, *SCALE, "--users", users, "--table", 9, "-o", tmp_path)
    assert outcome.code == 2 and "row 2: the age is not a whole number" in outcome.err and "very old" not in outcome.err
