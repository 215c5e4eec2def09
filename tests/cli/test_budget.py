"""The budget on the command line: what is shown, what is refused, and what that costs (nothing)."""

import json
import re

import pytest

import discreet as dc
from discreet.fitting.accounts import account_name

SCALE = ("--scale", "1:5")


@pytest.fixture
def fit(discreet, table, items, tmp_path):
    def run(*options, model="popularity", output="release"):
        return discreet(
            "fit",
            model,
            table,
            *SCALE,
            "--items",
            items,
            "--items-public",
            "-o",
            tmp_path / output,
            "--replace",
            *options,
        )

    return run


def shown(discreet, data, *options):
    outcome = discreet("budget", data, *options, "--json")
    assert outcome.code == 0, outcome.err
    return json.loads(outcome.out)


def test_shows_what_was_spent_on_what_and_what_is_left(discreet, fit, table, own_budget):
    assert discreet("budget", table, "--epsilon", "2").code == 0
    outcome = fit("--epsilon", "0.5")
    assert outcome.code == 0
    assert (
        f"It is booked on the budget of {table}: of epsilon 2 there is left epsilon 1.5 for one more fit like the "
        "last; 3 fits of that size; see `discreet budget`.\n"
    ) in outcome.out
    assert fit("--epsilon", "1", "--json", "--set", "item_damping=2", model="bias").code == 0
    text = discreet("budget", table).out
    assert re.search(r"\n *\d{4}-\d\d-\d\d \d\d:\d\d:\d\d +Popularity", text)
    for words in (str(table), "epsilon 2 for one rating, present or absent", "epsilon 1.5", "epsilon 0.5"):
        assert words in text
    assert str(own_budget) in text and text.count("released") == 2
    assert "Bias(item_damping=2.0, user_damping=5.0)" in text and "Popularity()" in text
    document = shown(discreet, table)
    assert document["limit"] == {"epsilon": 2, "delta": 0}
    assert document["spent"][0]["epsilon"] == pytest.approx(1.5)
    assert document["spent"][0]["remaining"] == pytest.approx(0.5)
    assert [line["state"] for line in document["spendings"]] == ["released", "released"]
    assert document["kept_in"] == str(own_budget)


def test_an_exhausted_budget_refuses_before_anything_is_computed(discreet, fit, table, tmp_path, monkeypatch):
    discreet("budget", table, "--epsilon", "1")
    assert fit("--epsilon", "0.75").code == 0
    before = shown(discreet, table)

    def look(*_arguments):
        raise AssertionError("a rating was looked at")

    monkeypatch.setattr("discreet.populations.local.LocalDevices.sum", look)
    monkeypatch.setattr("discreet.populations.trusted.TrustedServer.sum", look)
    outcome = fit("--epsilon", "0.5", output="more")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        f"discreet: Popularity() asks for epsilon 0.5 of {table}, where 0.25 of 1 is left: "
        "together that comes to 1.25, 0.25 over the limit; nothing was computed or spent\n"
    )
    assert shown(discreet, table) == before
    assert not (tmp_path / "more").exists()


def test_what_rounding_leaves_of_a_limit_is_nothing(discreet, fit, table, own_budget):
    """1 - (0.1 + 0.9) is a little more than 0 where noise is made for each, and that little buys no fit."""
    discreet("budget", table, "--epsilon", "1")
    for number, epsilon in enumerate((0.1, 0.9)):
        outcome = fit("--epsilon", epsilon, output=f"release-{number}")
        assert outcome.code == 0, outcome.err
    assert dc.Budget(own_budget).account(str(table)).one_more().epsilon > 0  # which was printed
    assert "of epsilon 1 there is left nothing;" in outcome.out
    text = discreet("budget", table, "--nights", 3).out
    assert "e-1" not in text and "Nothing is left for 3 more nights." in text
    document = shown(discreet, table)
    assert (document["one_more"]["epsilon"], document["spent"][0]["remaining"]) == (0, 0)


def test_without_privacy_no_limit_is_kept(discreet, fit, table, tmp_path):
    discreet("budget", table, "--epsilon", "1")
    for options in ((), ("--epsilon", "0.5", "--noise-seed", "1")):
        outcome = fit(*options)
        assert (outcome.code, outcome.out) == (2, "")
        assert outcome.err == (
            f"discreet: {table} has a limit of epsilon 1, and Popularity() without privacy "
            "would overspend any limit; nothing was computed or spent\n"
        )
    assert not (tmp_path / "release").exists()
    assert shown(discreet, table)["spendings"] == []


def test_without_a_limit_spending_is_shown_and_not_refused(discreet, fit, table):
    assert "no limit was declared" in fit("--epsilon", "1").out
    assert fit("--epsilon", "2", "--unit", "user").code == 0
    text = discreet("budget", table).out
    assert "none declared: spending is recorded, and nothing is refused" in text
    spent = {part["unit"]["name"]: part["epsilon"] for part in shown(discreet, table)["spent"]}
    assert spent["user"] is None and spent["rating"] > 1 + 2 * 2  # a release for users costs a rating twice
    assert f"epsilon {spent['rating']:.4g}, delta 1e-06 for one rating, present or absent" in text
    assert "not bounded for all ratings of one user, present or absent" in " ".join(text.split())
    outcome = discreet("budget", table, "--epsilon", "9", "--unit", "user")
    assert outcome.code == 2 and "was spent for another unit before" in outcome.err
    assert discreet("budget", table, "--epsilon", "9", "--delta", "1e-6").code == 0


@pytest.mark.parametrize("options", [(), ("--epsilon", "1", "--noise-seed", "1")])
def test_a_release_without_privacy_is_booked_and_no_limit_can_follow(discreet, fit, table, options):
    fitted = fit(*options)
    assert f"on the budget of {table}: a release without privacy is out, so no limit can be kept any more" in fitted.out
    outcome = discreet("budget", table, "--epsilon", "1")
    assert (outcome.code, outcome.out) == (2, "")
    seeded = ", with noise from a seed" if options else ""
    assert outcome.err.startswith(f"discreet: {table} was released without privacy before (Popularity(){seeded}, 20")
    assert outcome.err.endswith("): what it tells is bounded by no epsilon, so no limit can be kept any more\n")
    text = discreet("budget", table).out
    assert "everything: a release without privacy was written" in text and "no privacy" in text
    assert "epsilon 1 " not in text and " left" not in text
    document = shown(discreet, table)
    assert document["released_without_privacy"] and document["limit"] is None
    assert document["spent"] == [{"unit": None, "epsilon": None, "delta": 0, "remaining": None}]
    assert [(line["private"], line["epsilon"], line["state"]) for line in document["spendings"]] == [
        (False, None, "released")
    ]


def test_private_fits_after_exact_ones_are_booked_and_change_nothing(discreet, fit, table):
    assert fit().code == 0
    assert "a release without privacy is out" in fit("--epsilon", "1", output="other").out
    document = shown(discreet, table)
    assert [line["private"] for line in document["spendings"]] == [False, True]
    assert document["spent"][0]["epsilon"] is None and document["spendings"][1]["total"] is None


def test_what_was_not_written_is_not_out(discreet, fit, table, monkeypatch):
    def fail(*_arguments, **_named):
        raise KeyboardInterrupt

    monkeypatch.setattr("discreet.models.popularity.Popularity.fit", fail)
    assert fit().code == 130
    assert shown(discreet, table, "--epsilon", "1")["limit"] == {"epsilon": 1, "delta": 0}


def test_a_fit_tells_machines_what_is_left(discreet, fit, table, own_budget):
    assert discreet("budget", table, "--epsilon", "2").code == 0
    budget = json.loads(fit("--epsilon", "0.5", "--json").out)["budget"]
    assert budget["data"] == str(table) and budget["kept_in"] == str(own_budget)
    assert budget["limit"]["epsilon"] == 2 and budget["spent"][0]["remaining"] == pytest.approx(1.5)


def test_a_list_of_items_that_nobody_calls_public_promises_nothing(discreet, table, items, tmp_path):
    how = ("fit", "popularity", table, *SCALE, "--epsilon", "1", "-o", tmp_path / "release")
    outcome = discreet(*how, "--items", items)
    assert outcome.code == 2 and "with --items-public" in outcome.err
    outcome = discreet(*how, "--items-public")
    assert outcome.code == 2 and "--items-public goes with --items FILE" in outcome.err


def test_a_list_of_items_that_was_read_off_the_ratings_promises_nothing(discreet, table, tmp_path):
    outcome = discreet("fit", "popularity", table, *SCALE, "--epsilon", "1", "-o", tmp_path / "release")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(
        "discreet: with these data --epsilon would promise nothing: nobody declared the list of items public"
    )
    assert "--items FILE names, with --items-public" in outcome.err and outcome.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == [] and shown(discreet, table)["spendings"] == []


def test_a_limit_for_users(discreet, fit, table):
    assert shown(discreet, table, "--epsilon", "1", "--unit", "user")["limit"] == {"epsilon": 1, "delta": 1e-6}
    assert fit("--epsilon", "1").code == 2  # for one rating only
    assert fit("--epsilon", "1", "--unit", "user").code == 0
    assert fit("--epsilon", "0.01", "--unit", "user").code == 2


def test_a_data_set_that_nothing_is_known_of(discreet, own_budget):
    text = discreet("budget", "ml-100k").out
    assert "nothing" in text and "none declared" in text
    assert not own_budget.exists()


def test_what_cannot_be_is_refused_in_one_sentence(discreet, table, tmp_path, own_budget):
    (tmp_path / "letter.txt").write_text("dear budget, " * 100)
    down = f"postgresql://me:secret@/data?host={tmp_path}"
    requests = {
        ("ml-100x",): "there is no data set 'ml-100x'; did you mean 'ml-100k'",
        (tmp_path / "none.csv",): f"there is no file or folder {tmp_path}/none.csv",
        (table, "--epsilon", "0"): "epsilon must be positive and finite, got 0.0",
        (table, "--epsilon", "nan"): "epsilon must be positive and finite, got nan",
        (table, "--epsilon", "1", "--delta", "1"): "delta must lie in [0, 1), got 1.0",
        (table, "--epsilon", "1", "--unit", "household"): "--unit must be rating or user, got 'household'",
        (table, "--unit", "user"): "--delta and --unit go with --epsilon, the limit",
        (table, "--url", "mysql://me:secret@host/x"): "a budget is kept in SQLite or PostgreSQL, not in mysql",
        (table, "--url", "postgresql://me:secret@host:x/x"): "the URL of the budget cannot be read",
        (table, "--url", tmp_path / "letter.txt"): f"the budget in {tmp_path}/letter.txt cannot be used: file is not a",
        (table, "--url", down): "the budget in postgresql://me:***@/data?host=",
        (table, "--url", down, "--epsilon", "1"): "the budget in postgresql://me:***@/data?host=",
    }
    for arguments, sentence in requests.items():
        outcome = discreet("budget", *arguments)
        assert (outcome.code, outcome.out) == (2, ""), arguments
        assert outcome.err.startswith(f"discreet: {sentence}"), outcome.err
        assert outcome.err.count("\n") == 1 and "secret" not in outcome.err
    assert not own_budget.exists()


def test_a_fit_whose_budget_is_down_computes_nothing(fit, tmp_path):
    down = f"postgresql://me:secret@/data?host={tmp_path}"
    for options in (("--epsilon", "1"), ()):
        outcome = fit("--budget", down, *options)
        assert (outcome.code, outcome.out) == (2, "")
        assert outcome.err.startswith("discreet: the budget in postgresql://me:***@/data?host=")
        assert outcome.err.endswith("; nothing was spent\n") and outcome.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_another_budget_can_be_named(discreet, fit, table, tmp_path):
    assert fit("--epsilon", "1", "--budget", tmp_path / "other.sqlite").code == 0
    assert shown(discreet, table)["spendings"] == []
    assert len(shown(discreet, table, "--url", tmp_path / "other.sqlite")["spendings"]) == 1


def test_data_has_one_name_however_it_is_written(tmp_path, monkeypatch):
    monkeypatch.setenv("DISCREET_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    ratings = dc.synthetic(users=5, items=5, ratings=20, seed=1)
    folder = tmp_path / "ml-100k"
    folder.mkdir()
    lines = zip(ratings.user_index, ratings.item_index, ratings.values, strict=True)
    (folder / "u.data").write_text("".join(f"{user}\t{item}\t{value:g}\t1\n" for user, item, value in lines))
    (folder / "u.item").write_text("")
    (tmp_path / "mine.csv").write_text("user,item,rating\n")
    (tmp_path / "link.csv").symlink_to(tmp_path / "mine.csv")
    assert account_name("synthetic") == "synthetic"
    for data in ("ml-100k", "./ml-100k", folder, folder / "u.data", tmp_path / "x" / ".." / "ml-100k"):
        assert account_name(str(data)) == "ml-100k", data
    for data in ("mine.csv", "./mine.csv", tmp_path / "mine.csv", "link.csv"):
        assert account_name(str(data)) == str(tmp_path / "mine.csv"), data


def test_a_name_that_only_the_budget_knows(discreet, own_budget):
    dc.Budget(own_budget).declare("warehouse", epsilon=3.0)
    assert shown(discreet, "warehouse")["limit"]["epsilon"] == 3
