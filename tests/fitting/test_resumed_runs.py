"""A run with a name that was interrupted goes on from what was drawn: every answer is drawn once, and paid once."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.errors import InputError
from discreet.populations.answer_file import AnswerFile, at_hand
from discreet.releases.releasable import CHECKED

RATINGS = dc.synthetic(users=200, items=30, ratings=3000, seed=1)


@pytest.fixture
def counted(monkeypatch):
    """How many noisy totals were computed."""
    found, noisy = [], dc.TrustedServer._noisy

    def counting(self, contribution, ratings, noise):
        found.append(contribution.name)
        return noisy(self, contribution, ratings, noise)

    monkeypatch.setattr(dc.TrustedServer, "_noisy", counting)
    return found


def run(root, model, stop_at=None, folder="release", run_id="nightly"):
    budget = dc.Budget(str(root / "budget.sqlite"))
    server = dc.TrustedServer(RATINGS, dc.Ledger(10.0, 1e-6, dc.User()), account="films", budget=budget)

    def progress(done, total, what):
        if done == stop_at and "steps" in what:
            raise KeyboardInterrupt

    release = dc.spend_and_release(model, server, root / folder, run_id=run_id, check_replay=True, progress=progress)
    return release, budget


def answers_in(folder):
    """The files of answers of runs that were stopped."""
    return [path for path in folder.iterdir() if path.name.startswith(".discreet-run")]


def vae(**changes):
    pytest.importorskip("torch")
    return dc.models.PrivateVAE(**({"audience": 200, "latent": 2, "steps": 12} | changes))


def test_an_interrupted_run_goes_on_and_pays_once(tmp_path, counted, monkeypatch, caplog):
    written, add = [], AnswerFile.add
    monkeypatch.setattr(
        AnswerFile, "add", lambda self, question, answer: (written.append(answer.copy()), add(self, question, answer))
    )
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, vae(), stop_at=7)
    assert len(counted) == len(written) == 1 + 7 and "goes on from what was drawn" in caplog.text
    [path] = answers_in(tmp_path)
    assert path.stat().st_mode & 0o777 == 0o600
    before = [*written]
    release, budget = run(tmp_path, vae())
    assert counted[8:] == ["how often each item was rated"] + 5 * ["gradients of an autoencoder"]
    assert len(written) == 8 + 5 and CHECKED in release.guarantee.notes
    (line,) = budget.account("films").spendings  # one line, paid once
    assert line.released_at is not None and not path.exists()
    # The popularity of the release is the first one: the second was thrown away.
    again = vae()._start(vae().plan(dc.NoPrivacy(RATINGS)).sizes, before[0])["output_bias"]
    assert np.corrcoef(again, release.arrays["output_bias"])[0, 1] > 0.999


def test_a_torn_answer_is_drawn_again(tmp_path, counted, monkeypatch):
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(AnswerFile, "close", lambda self, keep=True: None)  # as if killed
        run(tmp_path, vae(), stop_at=7)
    [path] = answers_in(tmp_path)
    os.truncate(path, path.stat().st_size - 5)
    counted.clear()
    _, budget = run(tmp_path, vae())
    assert len(counted) == 1 + 6 and len(budget.account("films").spendings) == 1


def test_only_the_same_run_goes_on(tmp_path, counted):
    """Another name is another spend; another folder pays anew, and another model is refused."""
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, vae(), stop_at=7)
    counted.clear()
    run(tmp_path, vae(), run_id="other", folder="other")
    assert len(counted) == 13
    with pytest.raises(dc.DiscreetError):
        run(tmp_path, vae(clip=0.1))


def test_without_a_name_nothing_is_kept(tmp_path, counted):
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, vae(), stop_at=7, run_id=None)
    assert not answers_in(tmp_path)


def test_a_published_run_is_found_and_its_answers_are_removed(tmp_path, counted, monkeypatch):
    with monkeypatch.context() as patched:  # as if killed right after the release appeared
        patched.setattr(AnswerFile, "remove", lambda self: False)
        run(tmp_path, dc.Popularity())
    [path] = answers_in(tmp_path)
    counted.clear()
    run(tmp_path, dc.Popularity())
    assert not counted and not path.exists()


def test_a_file_that_somebody_else_could_write_is_refused(tmp_path):
    path = tmp_path / "answers-0"
    (tmp_path / "elsewhere").write_bytes(b"")
    path.symlink_to(tmp_path / "elsewhere")
    for opened in (AnswerFile, at_hand):
        with pytest.raises(InputError, match="cannot keep the answers"):
            opened(tmp_path / "answers")
    path.unlink()
    path.write_bytes(b"")
    path.chmod(0o666)
    for opened in (AnswerFile, at_hand):
        with pytest.raises(InputError, match="not yours alone"):
            opened(tmp_path / "answers")


def test_answers_of_other_questions(tmp_path):
    file = AnswerFile(tmp_path / "first")
    file.add(("sum", "a"), np.arange(3.0))
    file.add(("sum", "b"), np.arange(2.0))
    file.close()
    again = AnswerFile(tmp_path / "second", begun=at_hand(tmp_path / "first"))
    assert again.next(("sum", "a")).tolist() == [0, 1, 2]
    with pytest.raises(InputError, match="other questions"):
        again.next(("sum", "c"))


def test_more_answers_than_are_kept(tmp_path):
    """Whoever does not keep all of them keeps none: what is drawn again is paid again."""
    small = AnswerFile(tmp_path / "small", most_bytes=200)
    small.add(("sum", "a"), np.arange(3.0))
    assert small.kept and small.path.exists()
    small.add(("sum", "b"), np.arange(30.0))
    small.add(("sum", "c"), np.arange(1.0))
    assert not small.kept and not any(tmp_path.iterdir())


KILLED = """
import os, signal, sys
from discreet.cli import main
from discreet.populations.answer_file import AnswerFile
left, add = [int(sys.argv.pop(1))], AnswerFile.add
def adding(self, question, answer):
    add(self, question, answer)
    left[0] -= 1
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)
AnswerFile.add = adding
main()
"""
"""The command, which kills itself after so many answers."""


def test_kill_9_on_the_command_line_and_the_same_command_again(tmp_path):
    """`discreet fit private-vae … --run-id` is killed in the middle of its steps, twice, and started again."""
    pytest.importorskip("torch")
    data, items, names = tmp_path / "ratings.csv", tmp_path / "items.csv", RATINGS.catalogue.items.names
    rated = zip(RATINGS.user_index, RATINGS.item_index, RATINGS.values, strict=True)
    rows = [f"u{user},{names[item]},{value:g}" for user, item, value in rated]
    data.write_text("\n".join(["user,item,rating", *rows]))
    items.write_text("\n".join(["item", *names]))
    words = ["fit", "private-vae", str(data), "--items", str(items), "--items-public", "--scale", "1:5"]
    words += ["--epsilon", "10", "--unit", "user", "--audience", "200", "--set", "steps=12", "--set", "latent=2"]
    words += ["--run-id", "nightly", "-o", str(tmp_path / "release"), "--tuned-on", "nothing"]
    words += ["--budget", str(tmp_path / "budget.sqlite"), "--account", "films"]
    paths = os.pathsep.join([str(Path(dc.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    sizes = []
    for answers, ending in (("5", -signal.SIGKILL), ("4", -signal.SIGKILL), ("5", 0)):
        # The third time four answers are missing: the fifth never comes, and nothing is killed.
        done = subprocess.run(
            [sys.executable, "-c", KILLED, answers, *words],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == ending, done.stderr
        sizes.append(sum(path.stat().st_size for path in answers_in(tmp_path)))
    assert 0 < sizes[0] < sizes[1] and sizes[2] == 0
    (line,) = dc.Budget(str(tmp_path / "budget.sqlite")).account("films").spendings
    assert line.released_at is not None
