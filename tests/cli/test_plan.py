"""``discreet plan`` and ``fit --dry-run``: what would be asked and bought, without spending and without a rating."""

import json

import pytest

import discreet as dc
from discreet.cli.planning import _nights
from discreet.fitting.planning import fits_within, plan_for
from discreet.privacy.spend import Spend

BEFOREHAND = "covariance-knn"
"""It asks the same whatever is answered."""
PRIVATE = ("--epsilon", 1, "--unit", "user")


@pytest.fixture
def declared(items):
    return ("--scale", "1:5", "--items", items, "--items-public", "--audience", 5000)


def test_a_plan_says_what_is_asked_and_what_it_costs(discreet, table, declared):
    on_the_way = discreet("plan", table, *declared, *PRIVATE, "--limit", 4, "--fast")
    assert on_the_way.code == 0 and "as its noisy answers decide" in " ".join(on_the_way.out.split())
    assert "how many users rated how much: 1% of the budget" in on_the_way.out
    outcome = discreet("plan", BEFOREHAND, table, *declared, *PRIVATE, "--limit", 4, "--fast")
    assert outcome.code == 0, outcome.err
    for words in (
        "how often each item was rated",
        "of the budget",
        "A limit of epsilon 4 allows",
        "no rating was read",
    ):
        assert words in outcome.out
    document = json.loads(
        discreet("plan", BEFOREHAND, table, *declared, *PRIVATE, "--limit", 4, "--fast", "--json").out
    )
    assert document["audience"] == 5000 and sum(look["share"] for look in document["looks"]) == pytest.approx(1)


def test_no_rating_is_read_and_nothing_is_booked(discreet, table, declared, tmp_path):
    """The plan of a table whose rows cannot be read is the plan of the table."""
    header = table.read_text().partition("\n")[0]
    broken = tmp_path / table.name
    broken.write_text(header + "\nthis is, not a rating\n")
    plans = [
        json.loads(discreet("plan", data, *declared, *PRIVATE, "--fast", "--json").out) for data in (table, broken)
    ]
    assert plans[0] == plans[1]
    account = json.loads(discreet("budget", table, "--json").out)
    assert account["spendings"] == [] and account["looks"] == []


def test_the_dry_run_is_what_the_fit_then_does(discreet, table, declared, tmp_path):
    data = ("fit", BEFOREHAND, table, *declared, *PRIVATE, "-o", tmp_path / "out")
    dry = discreet(*data, "--dry-run", "--json")
    assert dry.code == 0 and not (tmp_path / "out").exists()
    assert discreet(*data).code == 0
    spends = dc.Release.load(tmp_path / "out").spends
    assert [look["what"] for look in json.loads(dry.out)["looks"]] == [spend.what for spend in spends]


def test_other_epsilons_are_tried_on_made_up_ratings(discreet, table, declared):
    document = json.loads(discreet("plan", "almanac", table, *declared, *PRIVATE, "--json").out)
    rows = document["made_up"]
    assert "On made-up ratings" in document["begins"][0]
    assert [row["epsilon"] for row in rows] == pytest.approx([0.1, 0.3, 1, 3, 10, None])
    assert rows[-1]["rmse"] < rows[0]["rmse"] and rows[-1]["ndcg"] > rows[0]["ndcg"]


def test_a_limit_of_the_budget_is_taken_and_what_was_spent_counts(discreet, table, declared, tmp_path):
    discreet("budget", table, "--epsilon", 4, "--unit", "user")
    fits = []
    for number in range(2):
        fits.append(
            json.loads(discreet("plan", "popularity", table, *declared[:-2], *PRIVATE, "--fast", "--json").out)["fits"]
        )
        assert discreet("fit", "popularity", table, *declared[:-2], *PRIVATE, "-o", tmp_path / str(number)).code == 0
    assert fits[0] == fits[1] + 1


def test_a_limit_that_is_used_up_is_not_said_to_allow_nothing_at_all(discreet, table, declared, tmp_path):
    discreet("budget", table, "--epsilon", 1)
    plan = ("plan", "popularity", table, *declared[:-2], "--fast", "--epsilon")
    assert "A limit of epsilon 1 allows 1 such fit." in discreet(*plan, 1).out
    assert "A limit of epsilon 1 allows no such fit." in discreet(*plan, 2).out
    fit = ("fit", "popularity", table, *declared[:-2], "--epsilon", 0.5, "-o", tmp_path / "half")
    assert discreet(*fit).code == 0
    assert "What is left of a limit of epsilon 1 allows 2 more such fits." in discreet(*plan, 0.25).out
    assert "What is left of a limit of epsilon 1 allows no more such fit." in discreet(*plan, 1).out
    assert "A limit of epsilon 2 allows 2 such fits." in discreet(*plan, 1, "--limit", 2).out


def test_a_plan_counts_what_the_release_is_for_and_what_is_known_already(discreet, table, declared, items, tmp_path):
    ratings = dc.load(table, scale=(1, 5), items=items, items_public=True)
    dc.Almanac().fit(dc.NoPrivacy(ratings)).save(tmp_path / "public")
    more = ("--for", "ranking", "--prior", tmp_path / "public")
    plan = json.loads(discreet("plan", table, *declared, *PRIVATE, *more, "--fast", "--json").out)
    assert "purpose='ranking'" in plan["model"] and "prior" in plan["reason"]
    assert plan["prior"].startswith(f"knows {len(ratings.catalogue)} of")
    dry = discreet("fit", table, *declared, *PRIVATE, *more, "--dry-run", "--json", "-o", tmp_path / "out")
    assert {**json.loads(dry.out), "made_up": [], "begins": []} == {**plan, "begins": []}
    for model, option, sentence in (
        ("bias", more[:2], "leave out --for"),
        ("bias", more[2:], "makes nothing of a prior"),
    ):
        for command in (("plan",), ("fit", "--dry-run", "-o", tmp_path / "out")):
            refused = discreet(command[0], model, table, *declared[:-2], *PRIVATE, *option, *command[1:])
            assert refused.code == 2 and sentence in refused.err


PAIRS = Spend(what="pairs", mechanism="gaussian", norm="l2", sensitivity=1, scale=6.0)


def test_a_plan_says_where_the_next_fit_takes_more_than_its_epsilon():
    """After Gaussian noise of another fit, Laplace noise counts for more."""
    catalogue = dc.synthetic(users=50, items=300, ratings=600, seed=1).catalogue
    terms = dc.Terms(epsilon=1.0, delta=1e-6)
    _, first = plan_for(dc.Bias(), catalogue, terms, 1000, limit=(20.0, 1e-6))
    _, second = plan_for(dc.Bias(), catalogue, terms, 1000, limit=(20.0, 1e-6), spent=[[PAIRS]])
    assert first.next_fit == pytest.approx(1, abs=0.01) and second.next_fit > 1.1
    assert any("takes epsilon" in sentence for sentence in _nights(second))
    assert not any("takes epsilon" in sentence for sentence in _nights(first))


def test_an_almanac_takes_no_more_than_its_epsilon_also_after_gaussian_noise():
    """All of its noise is Gaussian then, so that squares of mu add up; before, what is said holds for either noise."""
    catalogue = dc.synthetic(users=50, items=300, ratings=600, seed=1).catalogue
    for unit in ("rating", "user"):
        terms = dc.Terms(epsilon=1.0, delta=1e-6, unit=unit)
        _, first = plan_for(dc.Almanac(), catalogue, terms, 1000, limit=(20.0, 1e-6))
        _, second = plan_for(dc.Almanac(), catalogue, terms, 1000, limit=(20.0, 1e-6), spent=[[PAIRS]])
        assert first.next_fit == pytest.approx(1, abs=0.01) and second.next_fit < 1.01
        assert first.fits == 20 if unit == "rating" else first.fits > 100
        assert any("at least" in sentence for sentence in _nights(first))


def test_what_cannot_be_planned_is_one_sentence(discreet, table, items, tmp_path):
    for arguments, sentence in (
        ((table, "--scale", "1:5", *PRIVATE), "--items FILE"),
        ((table, "--scale", "1:5", "--items", items, *PRIVATE), "--items-public"),
        (("synthetic",), "give --epsilon"),
        ((tmp_path / "no.csv", *PRIVATE), "there is no data set, file or folder"),
        (
            (table, "--scale", "1:5", "--items", items, "--items-public", "--rating-column", "stars", *PRIVATE),
            "there is no column 'stars'",
        ),
    ):
        refused = discreet("plan", *arguments)
        assert refused.code == 2 and sentence in refused.err and refused.err.count("\n") == 1


def test_how_many_fits():
    ledger = dc.Ledger(1.0, 1e-6, dc.User())
    dc.Popularity().fit(dc.TrustedServer(dc.synthetic(users=50, items=30, ratings=600, seed=1), ledger))
    many = fits_within((4.0, 1e-6), ledger.spends)
    assert 9 <= many <= 14  # Gaussian: the squares of mu add up
    assert fits_within((4.0, 1e-6), ledger.spends, [ledger.spends]) == many - 1


def test_show_says_what_a_release_holds(discreet, tmp_path):
    ratings = dc.synthetic(users=300, items=80, ratings=9000, seed=1)
    dc.Almanac().fit(dc.NoPrivacy(ratings)).save(tmp_path / "exact")
    exact = discreet("show", tmp_path / "exact").out
    assert "of 80 items" in exact and "80 by 40" not in exact
    hidden = dc.Almanac().fit(dc.TrustedServer(ratings, dc.Ledger(0.5, 1e-6, dc.User())))
    hidden.save(tmp_path / "hidden")
    assert "item_factors: none above the noise" in discreet("show", tmp_path / "hidden").out
    assert (
        json.loads(discreet("show", tmp_path / "hidden", "--json").out)["holds"]["taste_factors"]
        == "none above the noise"
    )


def test_a_plan_shows_what_its_parts_are_expected_to_gain(discreet, table, declared):
    asked = ("plan", "almanac", table, *declared, *PRIVATE)
    outcome = discreet(*asked)
    assert outcome.code == 0 and "expected to gain" in outcome.out and "who rates what" in outcome.out
    trials = json.loads(discreet(*asked, "--json").out)["made_up"]
    gains = [sum(trial["gains"].values()) for trial in trials if trial["epsilon"] is not None]
    assert min(gains) >= 0 and max(gains) > 0.01 and trials[-1]["gains"] == {}
    other = json.loads(discreet("plan", "bias", table, *declared, *PRIVATE, "--json").out)["made_up"]
    assert all(trial["gains"] == {} for trial in other)
