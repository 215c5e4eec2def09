"""Reports as files: there and back, and everything that may be wrong with one."""

import json
import logging
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.data.report import ReportForm
from discreet.data.reports import read_reports
from discreet.errors import DataError, InputError

SCALE = dc.Scale(1, 5)
TITLES = ["Alien (1979)", "Heat (1995)", "Amélie (2001)"]
CATALOGUE = dc.Catalogue.of(["1", "2", "3"], SCALE, titles=TITLES, declared=True)
MECHANISM = dc.collect.UniformNoise(gamma=1.5)
MECHANISMS = [MECHANISM, dc.collect.RandomisedResponse(epsilon=0.7), dc.collect.Piecewise(epsilon=0.7)]


def report(mechanism=MECHANISM, **ratings: float) -> dc.data.UserReport:
    given = {name.removeprefix("i"): value for name, value in (ratings or {"i1": 4, "i3": 2}).items()}
    return mechanism.perturb(dc.History.of(CATALOGUE, given), dc.Randomness())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three good reports."""
    folder = tmp_path / "reports"
    folder.mkdir()
    for name in "abc":
        report().save(folder / f"{name}.json")
    return folder


def altered(**changes: object) -> dict[str, object]:
    return report().to_json() | changes


# ── There and back ──


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_a_report_survives_the_file(tmp_path, mechanism):
    sent = report(mechanism)
    sent.save(tmp_path / "new" / "report.json")
    read = dc.data.UserReport.load(tmp_path / "new" / "report.json")
    assert (read.id, read.form, read.items, read.guarantee) == (sent.id, sent.form, sent.items, sent.guarantee)
    assert read.values.tolist() == sent.values.tolist()
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["report.json"]


names = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=20)


@given(st.dictionaries(names, st.floats(-0.5, 6.5), max_size=10))
def test_any_title_and_value_survive(tmp_path_factory, entries):
    sent = dc.data.UserReport(MECHANISM.form(SCALE), tuple(entries), np.array(list(entries.values())))
    path = tmp_path_factory.mktemp("report") / "report.json"
    sent.save(path)
    read = dc.data.UserReport.load(path)
    assert dict(zip(read.items, read.values.tolist(), strict=True)) == entries
    assert dc.data.UserReport.from_json(json.loads(json.dumps(sent.to_json()))).items == sent.items


def test_a_report_names_nobody():
    data = report().to_json()
    form = {"mechanism", "seeded", "scale", "reported"}
    assert set(data) == {"format", "version", "id", "guarantee", "entries"} | form
    assert len({report().id for _ in range(100)}) == 100


def test_unwritable(tmp_path):
    with pytest.raises(InputError, match="is a folder"):
        report().save(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="nothing was written"):
        report().save(tmp_path / "file" / "report.json")


# ── A folder ──


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_what_was_reported_is_what_is_read(tmp_path, mechanism):
    sent = [report(mechanism, i1=4, i3=2), report(mechanism, i2=5), report(mechanism, i3=1, i2=3)]
    for number, one in enumerate(sent):
        one.save(tmp_path / f"{number}.json")
    found = read_reports(tmp_path, CATALOGUE)
    assert (found.rejected, found.counts, found.form) == ((), {}, sent[0].form)
    ratings = found.ratings
    assert sorted(ratings.users) == sorted(one.id for one in sent)
    for one in sent:
        history = ratings.history(one.id)  # refuses what is outside the declared scale
        got = {CATALOGUE.items[item]: value for item, value in zip(history.items, history.values, strict=True)}
        assert got == pytest.approx(dict(zip(one.items, one.values.tolist(), strict=True)), rel=1e-6)
    scale, reported = ratings.catalogue.scale, found.form.reported
    assert scale.low <= reported.low < SCALE.low < SCALE.high < reported.high <= scale.high
    assert ratings.catalogue.titles.tolist() == CATALOGUE.titles.tolist()


def test_titles_and_identifiers_mean_the_same_item(tmp_path):
    mixed = dc.data.UserReport(MECHANISM.form(SCALE), ("Heat (1995)", "1"), np.array([1.0, 2.0]))
    mixed.save(tmp_path / "mixed.json")
    ratings = dc.Ratings.from_reports(tmp_path, CATALOGUE)
    assert (ratings.item_index.tolist(), ratings.values.tolist()) == ([0, 1], [2.0, 1.0])


def test_without_a_catalogue_the_items_are_those_that_usable_reports_name(folder):
    report(dc.collect.UniformNoise(gamma=2), i2=5).save(folder / "other.json")
    ratings = dc.Ratings.from_reports(folder)
    assert list(ratings.catalogue.items) == ["1", "3"]
    assert (ratings.n_users, len(ratings)) == (3, 6)


def test_a_report_without_entries_is_a_user(folder):
    dc.data.UserReport(MECHANISM.form(SCALE), (), np.zeros(0)).save(folder / "empty.json")
    ratings = dc.Ratings.from_reports(folder, CATALOGUE)
    assert (ratings.n_users, len(ratings)) == (4, 6)


REJECTED = {
    "unreadable file": "it is cut off or is not JSON",
    "another version": "only version 2 of the format is read, and it has another",
    "malformed": "its id is not 32 hexadecimal digits",
    "another scale": "its ratings were on the scale 0 to 10 and not 1 to 5",
    "another mechanism": "it was perturbed by uniform (gamma 2) and not by uniform (gamma 1.5)",
    "unknown item": "entry 2 names an item that is not in the catalogue",
    "repeated item": "it names one item twice",
    "value outside the perturbed scale": "the value of entry 1 is outside the perturbed scale -0.5 to 6.5",
    "second report of one user": "a.json is a report of the same user",
}


def test_every_bad_report_is_rejected_with_its_reason_and_the_others_are_used(folder):
    first = dc.data.UserReport.load(folder / "a.json")
    bad: dict[str, object] = {
        "another version": altered(version=1),
        "malformed": altered(id="42"),
        "another scale": altered(scale=[0, 10]),
        "another mechanism": report(dc.collect.UniformNoise(gamma=2)).to_json(),
        "unknown item": altered(entries=[{"item": "1", "value": 2}, {"item": "Solaris (1972)", "value": 2}]),
        "repeated item": altered(entries=[{"item": "1", "value": 2}, {"item": "1", "value": 3}]),
        "value outside the perturbed scale": altered(entries=[{"item": "1", "value": 6.6}]),
        "second report of one user": altered(id=first.id),
    }
    for number, data in enumerate(bad.values()):
        (folder / f"x{number}.json").write_text(json.dumps(data))
    (folder / "y.json").write_text((folder / "b.json").read_text()[:-30])
    (folder / "notes.txt").write_text("not a report, and not looked at")
    found = read_reports(folder, CATALOGUE)
    assert {rejected.reason: rejected.sentence for rejected in found.rejected} == REJECTED
    assert found.counts == dict.fromkeys(REJECTED, 1)
    assert found.ratings.n_users == 3
    assert str(found).startswith("3 reports used, 9 rejected (")
    everything = " ".join(map(str, found.rejected))
    assert "Solaris" not in everything  # which items someone rated stays out of messages
    assert first.id not in everything


def test_the_classmethod_logs_what_was_rejected(folder, caplog):
    (folder / "cut.json").write_text("{")
    with caplog.at_level(logging.INFO, logger="discreet"):
        assert dc.Ratings.from_reports(folder, CATALOGUE).n_users == 3
    assert "3 reports used, 1 rejected (1 unreadable file)" in caplog.text
    assert "cut.json was rejected: it is cut off or is not JSON" in caplog.text


def test_a_few_liars_do_not_choose_the_scale(folder):
    """A report that widens the scale for itself is not made like the others."""
    (folder / "0.json").write_text(json.dumps(altered(reported=[-1000, 1000], entries=[{"item": "1", "value": 999}])))
    found = read_reports(folder, CATALOGUE)
    assert [(rejected.file, rejected.reason) for rejected in found.rejected] == [("0.json", "another mechanism")]
    assert found.rejected[0].sentence == "its scales are not those of the other reports"


def test_the_recommender_can_say_what_was_asked_for(folder):
    asked = dc.collect.UniformNoise(gamma=2).form(SCALE)
    report(dc.collect.UniformNoise(gamma=2)).save(folder / "x.json")
    found = read_reports(folder, CATALOGUE, form=asked)
    assert (found.ratings.n_users, found.counts) == (1, {"another mechanism": 3})


def test_copies_of_one_report_count_once(folder):
    (folder / "copy of a.json").write_bytes((folder / "a.json").read_bytes())
    found = read_reports(folder, CATALOGUE)
    assert (found.ratings.n_users, found.counts) == (3, {"second report of one user": 1})


def test_the_names_of_the_files_do_not_matter(folder):
    before = dc.Ratings.from_reports(folder, CATALOGUE)
    (folder / "a.json").rename(folder / "z.json")
    after = dc.Ratings.from_reports(folder, CATALOGUE)
    assert list(before.users) == list(after.users)
    assert before.values.tolist() == after.values.tolist()


def test_nothing_to_use(tmp_path):
    with pytest.raises(DataError, match="is not a folder of reports"):
        read_reports(tmp_path / "nowhere")
    with pytest.raises(DataError, match="there is no \\.json file in it"):
        read_reports(tmp_path)
    (tmp_path / "a.json").write_text("[]")
    with pytest.raises(DataError, match=r"can be used: 1 rejected \(1 malformed\); a\.json was rejected: its"):
        read_reports(tmp_path)


def test_files_that_cannot_be_opened(folder):
    (folder / "folder.json").mkdir()
    (folder / "latin.json").write_bytes(b'{"format": "\xe9"}')
    (folder / "deep.json").write_text("[" * 100_000)
    assert read_reports(folder, CATALOGUE).counts == {"unreadable file": 3}


def test_reports_feed_devices_and_models(folder):
    ratings = dc.Ratings.from_reports(folder, CATALOGUE)
    release = dc.Bias().fit(dc.LocalDevices(ratings, dc.Ledger(epsilon=1.0)))
    assert release.catalogue.scale == dc.Scale(-0.5, 6.5)
    assert len(release.recommend(ratings.history_at(0), k=1)) == 1


def test_load_takes_a_folder_of_reports(folder, tmp_path):
    assert dc.load(folder).n_users == 3
    (tmp_path / "items.csv").write_text("item,title\n1,Alien (1979)\n2,Heat (1995)\n3,Amélie (2001)\n")
    assert dc.load(folder, items=tmp_path / "items.csv", scale=(1, 5)).n_items == 3
    with pytest.raises(InputError, match="need the scale of the ratings"):
        dc.load(folder, items=tmp_path / "items.csv")


# ── Seeded noise ──


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
@pytest.mark.parametrize("randomness", [dc.Randomness(seed=1), dc.Randomness.of_key(bytes(32), "noise")], ids=str)
def test_seeded_noise_is_written_in_the_report_and_read_back(tmp_path, mechanism, randomness):
    sent = mechanism.perturb(dc.History.of(CATALOGUE, {"1": 4}), randomness)
    sent.save(tmp_path / "report.json")
    assert sent.form.seeded and dc.data.UserReport.load(tmp_path / "report.json").form == sent.form
    assert read_reports(tmp_path, CATALOGUE).ratings.perturbed == sent.form


def test_a_seeded_report_is_not_like_the_others(folder):
    MECHANISM.perturb(dc.History.of(CATALOGUE, {"1": 4}), dc.Randomness(seed=1)).save(folder / "x.json")
    found = read_reports(folder, CATALOGUE)
    assert (found.ratings.n_users, found.form.seeded) == (3, False)
    assert [str(rejected) for rejected in found.rejected] == [
        "x.json was rejected: it was perturbed by uniform (gamma 1.5, seeded) and not by uniform (gamma 1.5)"
    ]


# ── Which collection it is ──


def test_a_digest_is_that_of_the_reports_whatever_their_files(folder, tmp_path):
    found = read_reports(folder, CATALOGUE)
    (folder / "a.json").rename(folder / "z.json")
    data = json.loads((folder / "b.json").read_text())
    data["entries"].reverse()  # and in other words to people
    (folder / "b.json").write_text(json.dumps(data | {"guarantee": "none"}))
    (folder / "cut.json").write_text("{")
    again = read_reports(folder)  # without a catalogue they are the same reports
    assert len(found.digest) == 64
    assert again.digest == found.digest == found.ratings.report_digest


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data | {"id": "0" * 32},
        lambda data: data | {"entries": [{"item": "1", "value": 2.0}]},
        lambda data: data | {"entries": [data["entries"][0] | {"value": data["entries"][0]["value"] + 1e-6}]},
        lambda data: data | {"entries": [data["entries"][0] | {"item": "2"}, *data["entries"][1:]]},
    ],
)
def test_whatever_changes_in_a_report_changes_the_digest(folder, change):
    before = read_reports(folder, CATALOGUE).digest
    data = json.loads((folder / "b.json").read_text())
    data["entries"][0]["value"] = 3.0
    (folder / "b.json").write_text(json.dumps(data))
    first = read_reports(folder, CATALOGUE).digest
    (folder / "b.json").write_text(json.dumps(change(data)))
    assert len({before, first, read_reports(folder, CATALOGUE).digest}) == 3


def test_one_report_more_or_less_changes_the_digest(folder):
    three = read_reports(folder, CATALOGUE).digest
    report().save(folder / "d.json")
    four = read_reports(folder, CATALOGUE).digest
    (folder / "d.json").unlink()
    assert three != four and read_reports(folder, CATALOGUE).digest == three


def test_the_digest_stays_with_every_part_of_the_ratings(folder):
    ratings = dc.Ratings.from_reports(folder, CATALOGUE)
    parts = [*ratings.split(0.5, seed=1), *ratings.split_users(1, seed=1), *ratings.parts(), ratings.merge("last")]
    assert {part.report_digest for part in parts} == {ratings.report_digest}
    assert dc.synthetic(users=5, items=8, ratings=20, seed=1).report_digest is None


# ── Malformed in every way ──

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from([10**400, -(10**400), "\0", "1", [1, 5], [-0.5, 6.5]]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["item", "value", "name"]), inner),
    max_leaves=6,
)
GOOD = report().to_json()


@given(st.sampled_from([name for name in GOOD if name != "guarantee"]), values)
def test_a_field_with_anything_in_it_is_accepted_whole_or_refused(tmp_path_factory, name, value):
    folder = tmp_path_factory.mktemp("reports")
    for number in range(2):
        report().save(folder / f"good-{number}.json")
    (folder / "x.json").write_text(json.dumps(GOOD | {name: value}))
    found = read_reports(folder, CATALOGUE)
    assert found.ratings.n_users + len(found.rejected) == 3
    assert found.form == MECHANISM.form(SCALE)
    low, high = found.form.reported.low, found.form.reported.high
    assert ((found.ratings.values >= low) & (found.ratings.values <= high)).all()


@given(st.sampled_from(list(GOOD)))
def test_a_missing_field_is_refused(name):
    data = {key: value for key, value in GOOD.items() if key != name}
    if name == "guarantee":  # it is for people
        assert dc.data.UserReport.from_json(data).guarantee == ""
    else:
        with pytest.raises(DataError, match="not a report that can be used"):
            dc.data.UserReport.from_json(data)


def test_a_file_cut_off_anywhere_is_refused(tmp_path):
    path = tmp_path / "report.json"
    report().save(path)
    content = path.read_bytes()
    for length in range(len(content.rstrip())):
        path.write_bytes(content[:length])
        with pytest.raises(DataError, match=r"it is (cut off or is not JSON|not text in UTF-8)"):
            dc.data.UserReport.load(path)


def test_forms_are_equal_when_they_mean_the_same():
    one = ReportForm("uniform", {"gamma": 1}, SCALE, dc.Scale(0, 6))
    other = ReportForm("uniform", {"gamma": 1.0}, dc.Scale(1.0, 5.0), dc.Scale(0, 6))
    assert one == other
    assert hash(one) == hash(other)
