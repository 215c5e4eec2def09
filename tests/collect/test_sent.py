"""The count of reports that stays at home: complete, atomic, and without a rating in it."""

import json
import stat
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import discreet as dc
from discreet.collect.client import make_report
from discreet.collect.sent import Sent, SentReports, count_report, record_of, sent_reports
from discreet.data.report import UserReport
from discreet.data.reports import read_reports
from discreet.errors import DataError, InputError

SCALE = dc.Scale(1, 5)
MECHANISM = dc.collect.RandomisedResponse(epsilon=2.0)


@pytest.fixture
def history(tmp_path):
    path = tmp_path / "history.csv"
    path.write_text("title,rating\nAlien (1979),5\nHeat (1995),2\n")
    return path


def make(history, name="report.json", mechanism=MECHANISM, **options):
    return make_report(history, mechanism, history.with_name(name), scale=SCALE, **options)


def test_every_report_is_counted_with_what_it_cost(history):
    assert len(sent_reports(history)) == 0
    first = make(history)
    second = make(history, "other.json", dc.collect.Piecewise(epsilon=0.5), again=True)
    sent = sent_reports(history)
    assert sent == second.sent
    assert [(one.mechanism, one.epsilon, one.id) for one in sent.reports] == [
        ("response", 2.0, first.report.id),
        ("piecewise", 0.5, second.report.id),
    ]
    assert sent.epsilon == 2.5 and str(sent) == "2 reports, which together cost epsilon 2.5 for one rating"
    made = make(history, "third.json", dc.collect.UniformNoise(gamma=1.0), again=True)
    assert made.sent.epsilon is None and str(made.sent) == "3 reports, for which no epsilon is finite"


def test_the_record_holds_no_rating_and_no_item(history):
    make(history)
    text = record_of(history).read_text()
    assert set(json.loads(text)) == {"format", "version", "reports"}
    assert set(json.loads(text)["reports"][0]) == {"time", "mechanism", "epsilon", "id"}
    assert "Alien" not in text and str(history.parent) not in text
    assert stat.S_IMODE(record_of(history).stat().st_mode) == 0o600


def test_a_reader_of_reports_does_not_take_it_for_one(history):
    make(history)
    found = read_reports(history.parent)
    assert (found.ratings.n_users, found.rejected) == (1, ())


def test_a_second_one_is_refused_before_anything_is_written(history):
    make(history)
    before = record_of(history).read_bytes()
    with pytest.raises(InputError, match=r"would make 2 reports, which together cost epsilon 4 .* again=True"):
        make(history, "other.json")
    with pytest.raises(InputError, match="send it rather than a second report"):
        make(history)
    assert record_of(history).read_bytes() == before
    assert not history.with_name("other.json").exists()


def test_a_link_to_the_ratings_is_the_same_ratings(history, tmp_path):
    make(history)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "mine.csv").symlink_to(history)
    with pytest.raises(InputError, match="would make 2 reports"):
        make(tmp_path / "elsewhere" / "mine.csv", "report.json")


def test_seeded_noise_bounds_nothing(history):
    report = MECHANISM.perturb(dc.History.of(dc.Catalogue.of(["a"], SCALE), {"a": 5}), dc.Randomness(seed=1))
    assert count_report(history, report).epsilon is None


def test_whoever_is_stopped_before_the_report_is_written_has_counted_it(history, monkeypatch):
    def stop(*_arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(UserReport, "save", stop)
        with pytest.raises(KeyboardInterrupt):
            make(history)
    assert not history.with_name("report.json").exists()
    assert len(sent_reports(history)) == 1
    with pytest.raises(InputError, match="would make 2 reports"):
        make(history)


def test_no_report_without_the_count(history, monkeypatch):
    def refuse(*_arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", refuse)
    with pytest.raises(InputError, match="No space left on device; nothing was written"):
        make(history)
    assert sorted(path.name for path in history.parent.iterdir()) == ["history.csv"]


def test_bad_ratings_leave_no_trace(history):
    history.write_text("title,rating\nAlien (1979),4.5\n")
    with pytest.raises(InputError, match="not one of the levels"):
        make(history)
    assert sorted(path.name for path in history.parent.iterdir()) == ["history.csv"]


@pytest.mark.parametrize("again", [False, True])
def test_of_many_at_once_one_is_the_first(history, again):
    """Locks belong to open files, so threads wait for each other as processes do."""
    start = threading.Barrier(8)

    def one(number: int) -> bool:
        start.wait()
        try:
            make(history, f"{number}.json", again=again)
        except InputError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        made = sum(pool.map(one, range(8)))
    assert made == len(sent_reports(history)) == len(list(history.parent.glob("*.json"))) == (8 if again else 1)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "3",
        '{"format": "discreet sent reports", "version": 2, "reports": []}',
        '{"format": "discreet sent reports", "version": 1, "reports": [{}]}',
        '{"format": "discreet sent reports", "version": 1, "reports": [[1, 2]]}',
        '{"format": "discreet sent reports", "version": 1, "reports": '
        '[{"time": "", "mechanism": "response", "epsilon": -1, "id": ""}]}',
    ],
)
def test_a_damaged_record_does_not_count_from_nothing(history, text):
    record_of(history).write_text(text)
    with pytest.raises(DataError, match=r"is damaged, so it is not known how many .* nothing was written"):
        make(history, again=True)
    assert record_of(history).read_text() == text and not history.with_name("report.json").exists()


def test_what_they_cost_together():
    one = Sent(time="", mechanism="response", epsilon=0.1, id="")
    assert SentReports((one,) * 10).epsilon == 1.0
    assert SentReports().epsilon == 0.0
