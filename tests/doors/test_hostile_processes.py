"""Forks, interrupts, the umask and the environment: nothing hangs, dies silently or prints a traceback."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

FORKED = """
import os, sys
import discreet as dc
ratings = dc.synthetic(users=60, items=30, ratings=600, seed=1)
frame = ratings.to_frame()
dc.from_frame(frame, scale=(1, 5))
release = dc.Cosine().fit(dc.NoPrivacy(ratings))
release.recommend_many(ratings, k=2)
child = os.fork()
if child == 0:
    try:
        {work}
    except dc.DiscreetError as error:
        print(error)
        sys.stdout.flush()
        os._exit(7)
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def run(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NUMBA_NUM_THREADS": "2", **variables}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=120)


@pytest.mark.parametrize("work", ["dc.from_frame(frame, scale=(1, 5))", "release.recommend_many(ratings, k=2)"])
def test_a_forked_child_says_spawn_where_threads_are_needed(work):
    done = run(FORKED.format(work=work))
    assert done.returncode == 7 and "spawn" in done.stdout, done.stdout + done.stderr


def test_a_forked_child_may_do_what_needs_no_threads():
    done = run(FORKED.format(work="assert len(release.recommend(ratings.history_at(0), k=3)) == 3"))
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_child_that_was_forked_before_works():
    code = """
import os, sys
import discreet as dc
import discreet.data.tables
child = os.fork()
if child == 0:
    ratings = dc.synthetic(users=60, items=30, ratings=600, seed=1)
    dc.from_frame(ratings.to_frame(), scale=(1, 5))
    dc.Cosine().fit(dc.NoPrivacy(ratings))
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = run(code)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("variable", "value"), [("POLARS_MAX_THREADS", "0"), ("NUMBA_NUM_THREADS", "0"), ("NUMBA_NUM_THREADS", "-1")]
)
def test_a_number_of_threads_that_cannot_be_started_is_refused(variable, value):
    code = """
import discreet as dc
try:
    ratings = dc.synthetic(users=60, items=30, ratings=600, seed=1)
    dc.from_frame(ratings.to_frame(), scale=(1, 5))
    dc.Cosine().fit(dc.NoPrivacy(ratings))
except dc.InputError as error:
    print(error)
"""
    done = run(code, **{variable: value})
    assert done.returncode == 0 and f"the variable {variable} must be a number of threads" in done.stdout, done.stderr


def test_interrupts_while_loading_are_quiet():
    """The interpreter's own start, before our first line, cannot be answered for: it is waited for."""
    code = "import sys; print('on', flush=True); sys.argv[0] = 'discreet'; from discreet.cli import main; main()"
    for delay in (0.0, 0.02, 0.05, 0.1, 0.2, 0.4):
        command = [sys.executable, "-c", f"import time\n{code}"]
        process = subprocess.Popen([*command, "models"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stdout is not None and process.stdout.readline() == "on\n"
        time.sleep(0.02 + delay)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        assert process.returncode in (0, 130) and "Traceback" not in said, (delay, process.returncode, said)


def test_an_interrupt_inside_an_import_comes_a_moment_later():
    """Callbacks of the import machinery print what is raised in them, and go on."""
    code = """if True:
        import signal, time
        from discreet.cli import _interrupt
        signal.signal(signal.SIGINT, _interrupt)
        inside = "signal.raise_signal(signal.SIGINT)\\nprint('went on')"
        exec(compile(inside, "<frozen importlib._bootstrap>", "exec"))
        try:
            time.sleep(60)
        except KeyboardInterrupt:
            print("and ended")
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=50)
    assert done.stdout.split("\n")[:2] == ["went on", "and ended"] and done.stderr == ""


def test_failures_as_json_are_one_document(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text("user,item,rating\nann,tea,9\n")
    words = ["fit", "bias", str(path), "--scale", "1:5", "-o", str(tmp_path / "out"), "--json"]
    done = subprocess.run([sys.executable, "-m", "discreet", *words], capture_output=True, text=True, timeout=120)
    assert done.returncode == 2 and done.stdout == ""
    failure = json.loads(done.stderr)
    assert failure == {
        "kind": "DataError",
        "sentence": f"{path}, row 2: the rating is outside the declared scale 1 to 5",
        "place": f"{path}, row 2",
    }


def test_the_umask_decides_who_may_read(tmp_path):
    code = f"""
import os, pathlib
os.umask(0o077)
import discreet as dc
from discreet.files import write_whole
folder = pathlib.Path({str(tmp_path)!r})
dc.Bias().fit(dc.NoPrivacy(dc.synthetic(users=9, items=8, ratings=30, seed=1))).save(folder / "release")
write_whole(folder / "page.html", b"hello")
print(*(oct(path.stat().st_mode & 0o077) for path in sorted(folder.rglob("*"))))
"""
    done = run(code)
    assert done.returncode == 0 and set(done.stdout.split()) == {"0o0"}, done.stdout + done.stderr
