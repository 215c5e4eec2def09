"""A budget that lasts for many nights, runs that happen once, and reports that are deleted."""

import json
from datetime import UTC, datetime

import pytest

import discreet as dc
from discreet.cli import nights
from discreet.cli.nights import run_name
from discreet.privacy.spend import Spend


@pytest.mark.parametrize("limit", [(1e-6, "user"), (0.0, "rating")])
@pytest.mark.parametrize("fits", [1, 2, 30])
def test_so_many_nights_of_that_size_are_allowed_and_larger_ones_are_not(tmp_path, limit, fits):
    """What ``each_of`` says is booked night by night, as a job would; one per cent more does not last."""
    delta, unit = limit[0], dc.User() if limit[1] == "user" else dc.Rating()
    mechanism, norm = ("gaussian", "l2") if delta else ("laplace", "l1")

    def book(budget, factor):
        each = budget.account("films").each_of(fits)
        look = Spend(what="a look", mechanism=mechanism, norm=norm, sensitivity=1, scale=1)
        if mechanism == "laplace":
            scale = 1 / (each * factor)
        else:
            from discreet.privacy.composition import composed_epsilon
            from discreet.privacy.searching import least_noise

            def cost(noise):
                return composed_epsilon([Spend(**{**look.to_json(), "scale": noise})], delta) / (each * factor)

            scale = least_noise(cost, tolerance=1e-7)
        for night in range(fits):
            plan = dc.Ledger(epsilon=100.0, delta=delta, unit=unit)
            plan.charge(Spend(**{**look.to_json(), "scale": scale}))
            budget.reserve("films", plan, f"night {night}").released()

    for name, factor in (("enough", 1 - 1e-5), ("more", 1.01)):
        budget = dc.Budget(tmp_path / f"{name}{fits}.sqlite")
        budget.declare("films", 2.0, delta, unit)
        if factor < 1:
            book(budget, factor)
        else:
            with pytest.raises(dc.OverspentError):
                book(budget, factor)


def test_how_many_nights(discreet, table, items, tmp_path):
    source = (table, "--scale", "1:5", "--items", items, "--items-public")
    limit = ("--account", "films", "--epsilon", 4, "--unit", "user")
    assert "10 more fits of one look each may cost epsilon 1." in discreet("budget", *limit, "--nights", 10).out
    private = ("--epsilon", 1, "--unit", "user", "--account", "films")
    assert discreet("fit", "popularity", *source, *private, "-o", tmp_path / "release").code == 0
    shown = discreet("budget", "--account", "films", "--nights", 30)
    assert "fits of that size" in shown.out and "30 more fits like the last may cost epsilon 0." in shown.out
    found = json.loads(discreet("budget", "--account", "films", "--nights", 30, "--json").out)["nights"]
    assert found["count"] == 30 and 4 / 30 < found["epsilon"] < 1  # more than division would give
    assert "Without a limit" in discreet("budget", "--account", "others", "--nights", 3).out
    assert discreet("budget", "--account", "films", "--nights", 0).code == 2


def test_a_night_that_is_tried_again_is_paid_once(discreet, table, items, tmp_path, monkeypatch):
    monkeypatch.setattr(nights, "_now", lambda: datetime(2027, 3, 5, tzinfo=UTC))
    command = (
        "fit", "popularity", table, "--scale", "1:5", "--items", items, "--items-public", "--epsilon", 1,
        "-o", tmp_path / "release", "--account", "films", "--once-per", "month", "--replace",
    )  # fmt: skip
    assert discreet(*command).code == 0
    content = (tmp_path / "release" / "card.json").read_bytes()
    again = discreet(*command)
    assert "was released before" in again.out and "nothing spent" in again.out
    assert (tmp_path / "release" / "card.json").read_bytes() == content
    account = json.loads(discreet("budget", "--account", "films", "--json").out)
    assert [line["run_id"] for line in account["spendings"]] == ["2027-03"]


def test_runs_are_named_by_the_calendar():
    newyear = datetime(2027, 1, 1, 3, tzinfo=UTC)
    assert [run_name(None, period, newyear) for period in ("day", "week", "month")] == [
        "2027-01-01", "2026-W53", "2027-01",
    ]  # fmt: skip
    assert run_name("mine", None) == "mine" and run_name(None, None) is None
    for wrong in (("mine", "day"), (None, "hour")):
        with pytest.raises(dc.InputError):
            run_name(*wrong)


@pytest.fixture
def reports(tmp_path):
    ratings = dc.synthetic(users=4, items=30, ratings=40, seed=1)
    (tmp_path / "reports").mkdir()
    made = []
    for user in range(4):
        report = dc.collect.RandomisedResponse(epsilon=2.0).perturb(ratings.history_at(user), dc.Randomness())
        report.save(tmp_path / "reports" / f"{user}.json")
        made.append(report)
    return tmp_path / "reports", made


def test_a_report_is_deleted_by_its_identifier(discreet, reports, tmp_path):
    folder, made = reports
    (folder / "again.json").write_text((folder / "2.json").read_text())
    (folder / "broken.json").write_text((folder / "2.json").read_text()[:200])  # cut off behind its identifier
    before = dc.data.read_reports(folder).digest
    outcome = discreet("reports", "delete", folder, made[2].id)
    assert outcome.code == 0 and "3 reports were deleted" in outcome.out and "booked anew" in outcome.out
    assert sorted(path.name for path in folder.iterdir()) == ["0.json", "1.json", "3.json"]
    assert dc.data.read_reports(folder).digest != before
    assert discreet("reports", "delete", folder, made[2].id).code == 2  # there is none any more


def test_a_report_is_deleted_by_the_users_own_copy(discreet, reports, tmp_path):
    folder, made = reports
    made[1].save(tmp_path / "mine.json")
    assert json.loads(discreet("reports", "delete", folder, "--report", tmp_path / "mine.json", "--json").out) == {
        "folder": str(folder),
        "deleted": 1,
    }
    assert not (folder / "1.json").exists() and len(list(folder.iterdir())) == 3


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["../x"], "32 hexadecimal digits"),
        ([], "either by its ID or by --report FILE"),
        (["0" * 32], "holds no report with this id"),
    ],
)
def test_what_is_wrong_with_a_deletion(discreet, reports, words, sentence):
    outcome = discreet("reports", "delete", reports[0], *words)
    assert outcome.code == 2 and sentence in outcome.err and len(list(reports[0].iterdir())) == 4
