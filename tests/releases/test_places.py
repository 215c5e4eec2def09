"""What cannot be written is refused before anything is paid, and a release is replaced whole or not at all."""

import errno
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import discreet as dc
from discreet.errors import InputError
from discreet.fitting.fit_and_save import fit_and_save
from discreet.fitting.recovering import recover
from discreet.privacy.budget import Reservation
from discreet.releases import places
from discreet.releases.places import claimed, scratch_of, settle
from discreet.releases.storage import read_card

RATINGS = dc.synthetic(users=40, items=20, ratings=300, seed=1)


@pytest.fixture
def budget(tmp_path):
    (tmp_path / "kept").mkdir()
    budget = dc.Budget(tmp_path / "kept" / "budget.sqlite")
    budget.declare("films", epsilon=2.0)
    return budget


@pytest.fixture
def out(tmp_path):
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


def fit(budget, folder, **more):
    asked = {"data": "films", "account": "films", "terms": dc.Terms(epsilon=0.25), "budget": budget}
    return fit_and_save(dc.Popularity(), RATINGS, folder, **asked, **more)


def refused(budget, folder, words, **more):
    with pytest.raises(InputError) as found:
        fit(budget, folder, **more)
    assert words in str(found.value) and "\n" not in str(found.value)
    assert "nothing was written or spent" in str(found.value)
    assert all(line.state == "released" for line in budget.account("films").spendings)


# ── Pay only for what can be delivered ──


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (".", "cannot be the folder of a release"),
        ("..", "cannot be the folder of a release"),
        ("/", "cannot be the folder of a release"),
        ("", "cannot be the folder of a release"),
        ("new/..", "cannot be the folder of a release"),
        ("dangling", "is a link to nowhere, which is not there"),
        ("circle", "is a link to circle, which is not there"),
        ("circle/release", "cannot write to"),
        ("x" * 300, "File name too long"),
        ("letter.txt", "exists and is not a release"),
        ("letter.txt/release", "letter.txt is not a folder"),
        ("full", "exists and is not a release"),
    ],
)
def test_a_place_that_cannot_be_is_refused_before_paying(budget, out, monkeypatch, name, words):
    monkeypatch.chdir(out)
    Path("letter.txt").write_text("dear")
    Path("full").mkdir()
    Path("full/letter.txt").write_text("dear")
    Path("dangling").symlink_to("nowhere")
    Path("circle").symlink_to("circle")
    before = sorted(Path().iterdir())
    refused(budget, name, words)
    assert sorted(Path().iterdir()) == before and budget.account("films").spendings == ()


def test_the_folder_one_is_in_is_refused(budget, out, monkeypatch):
    monkeypatch.chdir(out)
    refused(budget, out, "is the folder you are in")


def test_a_mount_point_is_refused(budget):
    found = next((place for place in map(Path, ("/dev/shm", "/proc", "/sys")) if place.is_mount()), None)
    if found is None:
        pytest.skip("no mount point is known here")
    refused(budget, found, "is a mount point, and cannot be renamed: name a folder inside it")


def test_a_name_as_long_as_the_system_takes_is_fine(budget, out):
    fit(budget, out / ("x" * 255))
    assert [path.name for path in out.iterdir()] == ["x" * 255]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EACCES])
@pytest.mark.parametrize("call", ["mkdir", "rename", "fsync"])
def test_what_the_system_refuses_is_found_before_paying(budget, out, monkeypatch, call, number):
    original = getattr(os, call)

    def fail(*arguments, **named):
        if call == "fsync" or str(out) in str(arguments[0]):
            raise OSError(number, os.strerror(number))
        return original(*arguments, **named)

    budget.key()
    monkeypatch.setattr(os, call, fail)
    refused(budget, out / "new" / "release", os.strerror(number))
    monkeypatch.undo()
    assert list(out.iterdir()) == [] and budget.account("films").spendings == ()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_refused(budget, out):
    out.chmod(0o555)
    refused(budget, out / "release", "Permission denied")
    out.chmod(0o755)


def test_an_empty_folder_stays_what_it_was_and_is_filled(budget, out):
    folder = out / "release"
    folder.mkdir(mode=0o700)
    number = folder.stat().st_ino
    with claimed(folder):
        assert folder.stat().st_ino == number
    fit(budget, folder)
    assert dc.Release.load(folder).guarantee.proven is not None


def test_parents_are_made_and_removed_again_if_nothing_came_of_it(out):
    with pytest.raises(KeyError), claimed(out / "a" / "b" / "release"):
        raise KeyError
    assert list(out.iterdir()) == []


def test_a_link_is_followed_and_stays(budget, out):
    (out / "real").mkdir()
    (out / "link").symlink_to("real")
    fit(budget, out / "link")
    assert (out / "link").is_symlink() and (out / "real" / "card.json").exists()
    refused(budget, out / "link", "holds a private release that was paid for (epsilon 0.25)")
    refused(budget, out / "real", "holds a private release that was paid for (epsilon 0.25)")
    before = read_card(out / "real")["arrays_sha256"]
    fit(budget, out / "link", replace=True)
    assert (out / "link").is_symlink() and read_card(out / "real")["arrays_sha256"] != before
    assert sorted(path.name for path in out.iterdir()) == ["link", "real"]


@pytest.mark.parametrize("scale", [(-1e308, 1e308), (0, 1e300), (-1e10, 0), (0, 1e-320), (1e8, 1e8 + 1)])
def test_a_scale_whose_sums_overflow_is_refused(scale):
    with pytest.raises(InputError, match=r"the rating scale .* (goes too far|is too narrow)"):
        dc.Scale(*scale)


@pytest.mark.parametrize("scale", [(-1e9, 1e9), (0, 1e9), (-1e-3, 1e-3), (1, 5), (0.5, 5)])
def test_other_scales_are_fine(scale):
    assert dc.Scale(*scale).width > 0


# ── Replacing ──


def test_nothing_is_replaced_without_a_word(out):
    release = dc.Popularity().fit(dc.NoPrivacy(RATINGS))
    release.save(out / "release")
    with pytest.raises(InputError, match="holds a release: name another folder, or replace it with --replace; nothing"):
        release.save(out / "release")
    release.save(out / "release", replace=True)
    assert [path.name for path in out.iterdir()] == ["release"]


FITTING = """
import sys
import discreet as dc
from discreet.errors import InputError
from discreet.fitting.fit_and_save import fit_and_save
ratings = dc.synthetic(users=40, items=20, ratings=300, seed=1)
budget, folder = sys.argv[1:]
print("ready", flush=True)
sys.stdin.readline()
try:
    fit_and_save(dc.Popularity(), ratings, folder, data="films", account="films", terms=dc.Terms(epsilon=0.25),
                 budget=dc.Budget(budget))
    print("done")
except InputError as error:
    print("refused", error)
"""


def test_of_six_fits_into_one_folder_one_pays(budget, out):
    command = [sys.executable, "-c", FITTING, budget.place, str(out / "release")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    runs = [subprocess.Popen(command, **pipes) for _ in range(6)]
    assert [run.stdout.readline() for run in runs] == ["ready\n"] * 6
    for run in runs:
        run.stdin.write("go\n")
        run.stdin.flush()
    answers = [run.communicate()[0] for run in runs]
    assert sorted(answer.split()[0] for answer in answers) == ["done"] + ["refused"] * 5
    told = ("another run is writing to", "holds a private release that was paid for")
    assert all(any(words in answer for words in told) for answer in answers if answer != "done\n"), answers
    [line] = budget.account("films").spendings
    assert (line.state, line.arrays) == ("released", read_card(out / "release")["arrays_sha256"])
    assert [path.name for path in out.iterdir()] == ["release"]


def test_of_two_threads_one_has_the_place(out):
    answers = []

    def ask():
        try:
            with claimed(out / "release"):
                answers.append("mine")
        except InputError:
            answers.append("refused")

    with claimed(out / "release"):
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
    assert answers == ["refused"]
    ask()
    assert answers == ["refused", "mine"]


@pytest.mark.parametrize("exchanges", [True, False])
def test_readers_find_a_release_at_every_step_of_a_replacement(budget, out, monkeypatch, exchanges):
    """With an exchange by the system; without one there is a moment without, and a kill in it is made good."""
    if not exchanges:
        monkeypatch.setattr(places, "exchange", lambda *_: False)
    folder = out / "release"
    fit(budget, folder)
    fit(budget, folder, replace=True)
    assert len(budget.account("films").spendings) == 2 and [path.name for path in out.iterdir()] == ["release"]
    original, moves = Path.rename, []

    def fail(self, target):
        moves.append(self)
        if Path(target) == folder and self.name.startswith("replace-"):
            raise OSError(errno.EIO, "Input/output error")
        return original(self, target)

    before = read_card(folder)["arrays_sha256"]
    monkeypatch.setattr(Path, "rename", fail)
    if exchanges:
        monkeypatch.setattr(places, "exchange", lambda ready, _: fail(ready, folder))
    with pytest.raises(InputError, match=r"cannot write the release to .*: Input/output error; it is complete"):
        fit(budget, folder, replace=True)
    assert read_card(folder)["arrays_sha256"] == before and moves  # the old one is back
    monkeypatch.undo()
    dc.Release.load(folder)  # the next command moves the new one, which was paid for
    last = budget.account("films").spendings[-1]
    assert last.state == "reserved" and last.arrays == read_card(folder)["arrays_sha256"] != before
    recover(budget)
    assert budget.account("films").spendings[-1].state == "released"
    assert [path.name for path in out.iterdir()] == ["release"]


def test_a_budget_finds_what_a_killed_run_left(budget, out):
    """Whoever was killed between the note in the budget and the folder: the budget alone says that it belongs there."""
    folder = out / "release"
    fit(budget, folder)
    arrays = read_card(folder)["arrays_sha256"]
    scratch = scratch_of(folder)
    scratch.mkdir(mode=0o700)
    folder.rename(scratch / places._paying("new", budget.place))
    with budget._writing() as connection:
        connection.run("UPDATE discreet_spendings SET released_at = NULL")
    settle(folder)  # without a budget nothing can be decided, and not by another either
    recover(dc.Budget(out.parent / "kept" / "other.sqlite"), folder)
    assert not folder.exists()
    recover(budget)
    assert read_card(folder)["arrays_sha256"] == arrays and not scratch.exists()
    assert [line.state for line in budget.account("films").spendings] == ["released"]


def test_what_somebody_else_put_beside_a_release_is_not_moved(budget, out):
    folder = out / "release"
    fit(budget, folder)
    before = read_card(folder)["arrays_sha256"]
    scratch_of(folder).mkdir(mode=0o755)
    settle(folder, places.Booked(budget.place, set()))
    assert scratch_of(folder).exists() and read_card(folder)["arrays_sha256"] == before


def test_who_may_read_a_release_is_decided_by_the_umask(out):
    release = dc.Popularity().fit(dc.NoPrivacy(RATINGS))
    for mask, folder_mode, file_mode in ((0o022, 0o755, 0o644), (0o027, 0o750, 0o640), (0o077, 0o700, 0o600)):
        before = os.umask(mask)
        try:
            release.save(out / "release", replace=True)
        finally:
            os.umask(before)
        assert stat.S_IMODE((out / "release").stat().st_mode) == folder_mode
        assert {stat.S_IMODE(path.stat().st_mode) for path in (out / "release").iterdir()} == {file_mode}


def test_a_release_is_on_the_disk_before_it_is_noted(budget, out, monkeypatch):
    seen = []
    fsync, rename = os.fsync, Path.rename

    def synced(descriptor):
        seen.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        fsync(descriptor)

    def renamed(self, target):
        seen.append(f"rename {Path(target).name}")
        return rename(self, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "rename", renamed)
    released = Reservation.released

    def note(self):
        seen.append("released")
        released(self)

    monkeypatch.setattr(Reservation, "released", note)
    fit(budget, out / "release")
    appears, noted = seen.index("rename release", seen.index("rename release") + 1), seen.index("released")
    before = {Path(place).name for place in seen[:appears]}
    assert {"card.json", places._paying("new", budget.place), scratch_of(out / "release").name} <= before
    assert str(out) in seen[appears:noted]
