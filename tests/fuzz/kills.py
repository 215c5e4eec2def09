"""``kill -9`` and failing writes at every file and database event of a fit, over SQLite and PostgreSQL.

    python tests/fuzz/kills.py              every point of every scenario, and a table of what was found
    python tests/fuzz/kills.py --only 40    a seeded sample of so many for each kind

A scenario runs in a forked process in which everything that writes counts events: opening a file to write, each write,
sync, rename, new folder, removal, and each statement and commit of the database. At event n the process is killed with
SIGKILL, or the call fails with "No space left on device", an I/O error, or an error of the database. Then the next
command is run, and what is left is judged: no release that nobody finds, none that is not booked, nothing left over,
no more spent than the limit, and an old release never lost.
"""

import argparse
import errno
import importlib
import importlib.util
import io
import itertools
import json
import os
import random
import shutil
import signal
import sqlite3
import sys
import tempfile
import traceback
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

if __name__ == "__main__":  # before anything is loaded
    os.environ.update(NUMBA_NUM_THREADS="1", OMP_NUM_THREADS="1", POLARS_MAX_THREADS="1")

LIMIT, EPSILON, DATA = 2.0, 0.5, "films"
NO_SERVER = 77
KINDS = ("kill", "full disk", "broken disk")


@dataclass(frozen=True)
class Scenario:
    """What is done, and whether a release is there before."""

    name: str
    replace: bool = False
    run_id: str | None = None
    private: bool = True
    declares: bool = False


SCENARIOS = (
    Scenario("fit"),
    Scenario("fit --replace", replace=True),
    Scenario("fit --run-id", run_id="nightly"),
    Scenario("fit without privacy", private=False),
    Scenario("budget --epsilon", declares=True),
)


@dataclass(frozen=True)
class Trial:
    """What came of one point: in words, empty where all is well."""

    scenario: str
    database: str
    kind: str
    point: int
    answer: str
    fault: str


# ── Events ──


class Events:
    """Counts what writes, below one folder; at the chosen event the process dies or the call fails."""

    def __init__(self, root, at, kind):
        self.root, self.at, self.kind = str(root), at, kind
        self.count = 0

    def happen(self, what, error=OSError):
        """One event, just before it takes place."""
        self.count += 1
        if self.count != self.at:
            return
        if self.kind == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        number = errno.ENOSPC if self.kind == "full disk" else errno.EIO
        raise OSError(number, os.strerror(number)) if error is OSError else error(f"{what}: disk I/O error")

    def happen_in(self, statement, error):
        """A statement of a database is one, unless it only reads."""
        if statement.split()[0] not in ("SELECT", "PRAGMA", "SET"):
            self.happen(statement.split()[0], error)

    def about(self, path):
        return isinstance(path, str | bytes | os.PathLike) and os.fsdecode(path).startswith(self.root)


def watch(events):
    """Let everything in this process that writes count as an event. There is no way back: only in a forked process."""

    def watched(function, places):
        def call(*arguments, **named):
            if any(events.about(arguments[place]) for place in places if place < len(arguments)):
                events.happen(function.__name__)
            return function(*arguments, **named)

        return call

    for name, places in {"mkdir": (0,), "rename": (0, 1), "replace": (0, 1), "rmdir": (0,), "unlink": (0,),
                         "remove": (0,), "link": (0, 1)}.items():  # fmt: skip
        setattr(os, name, watched(getattr(os, name), places))
    fsync, descriptor_open = os.fsync, os.open

    def counted_fsync(descriptor):
        events.happen("fsync")
        return fsync(descriptor)

    def counted_open(path, flags, *arguments, **named):
        if flags & os.O_CREAT and events.about(path):
            events.happen("open")
        return descriptor_open(path, flags, *arguments, **named)

    os.fsync, os.open = counted_fsync, counted_open
    _watch_files(events)
    _watch_sqlite(events)
    _watch_postgres(events)
    from discreet.releases import places

    exchange = places.exchange

    def counted_exchange(*arguments):
        events.happen("exchange")
        return exchange(*arguments)

    places.exchange = counted_exchange


def _watch_files(events):
    opened = io.open

    class Writer(io.BufferedWriter):
        def write(self, content):
            events.happen("write")
            return super().write(content)

    class Both(io.BufferedRandom):
        def write(self, content):
            events.happen("write")
            return super().write(content)

    def open_counted(file, mode="r", *arguments, **named):
        if not (set(mode) & set("wxa+")) or not events.about(file):
            return opened(file, mode, *arguments, **named)
        events.happen("open")
        raw = io.FileIO(file, mode.replace("b", "").replace("t", ""))
        buffered = Both(raw) if "+" in mode else Writer(raw)
        return buffered if "b" in mode else io.TextIOWrapper(buffered)

    import builtins

    io.open = builtins.open = open_counted


def _watch_sqlite(events):
    connect = sqlite3.connect

    class Connection(sqlite3.Connection):
        def execute(self, statement, *arguments):
            events.happen_in(statement, sqlite3.OperationalError)
            return super().execute(statement, *arguments)

    sqlite3.connect = lambda *arguments, **named: connect(*arguments, factory=Connection, **named)


def _watch_postgres(events):
    try:
        import psycopg
    except ImportError:
        return
    execute, commit = psycopg.Connection.execute, psycopg.Connection.commit

    def counted_execute(self, statement, *arguments, **named):
        events.happen_in(statement, psycopg.OperationalError)
        return execute(self, statement, *arguments, **named)

    def counted_commit(self):
        events.happen("commit", psycopg.OperationalError)
        commit(self)

    psycopg.Connection.execute, psycopg.Connection.commit = counted_execute, counted_commit


# ── One trial ──


class Bench:
    """A folder and a budget to try in."""

    def __init__(self, root, server=None):
        import discreet as dc

        self.server, self.root = server, Path(root)
        self.database = "sqlite" if server is None else "postgresql"
        self.ratings = dc.synthetic(users=40, items=20, ratings=300, seed=1)
        self.url = ""
        self._warm_up()

    def _warm_up(self):
        """Import here what a fit imports, once for all children. Nothing is computed: threads do not survive a fork."""
        self.fresh()
        reading, writing = os.pipe()
        if os.fork() == 0:
            known = set(sys.modules)
            for scenario in (SCENARIOS[0], Scenario("exact", private=False, replace=True)):
                self.run(scenario)
            os.write(writing, "\n".join(set(sys.modules) - known).encode())
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            modules = pipe.read().split()
        os.wait()
        for module in modules:
            with suppress(ImportError):  # some are made on the way, and are no modules of their own
                importlib.import_module(module)

    @property
    def place(self):
        return self.root / "out" / "release"

    def fresh(self):
        """An empty folder, and a budget with a limit."""
        shutil.rmtree(self.root, ignore_errors=True)
        (self.root / "out").mkdir(parents=True)
        (self.root / "kept").mkdir()
        self.url = str(self.root / "kept" / "budget.sqlite") if self.server is None else self.server.emptied()

    def run(self, scenario):
        """What a command does."""
        import discreet as dc
        from discreet.fitting.fit_and_save import fit_and_save

        budget = dc.Budget(self.url)
        if scenario.declares:
            budget.declare(DATA, LIMIT / 2)
            return
        terms = dc.Terms(epsilon=EPSILON) if scenario.private else dc.Terms()
        fit_and_save(
            dc.Popularity(), self.ratings, self.place, data=DATA, account=DATA, terms=terms, budget=budget,
            replace=scenario.replace, run_id=scenario.run_id, warn=lambda _: None,
        )  # fmt: skip

    def in_child(self, scenario, events=None):
        """Run it in a process of its own; ``killed``, or how it ended, and how many events there were."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            answer = "done"
            try:
                import logging

                logging.disable()
                if events is not None:
                    watch(events)
                self.run(scenario)
            except BaseException as error:
                from discreet.errors import DiscreetError

                known = isinstance(error, DiscreetError) and "\n" not in str(error)
                answer = f"refused: {error}" if known else "traceback: " + traceback.format_exc()
            try:
                os.write(writing, json.dumps([answer, 0 if events is None else events.count]).encode())
            finally:
                os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            content = pipe.read()
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            return "killed", 0
        answer, count = json.loads(content)
        return answer, count


def prepare(bench, scenario):
    """What was there before: a limit, and where one is replaced a release."""
    import discreet as dc

    bench.fresh()
    if scenario.private:
        dc.Budget(bench.url).declare(DATA, LIMIT)
    if scenario.replace:
        answer, _ = bench.in_child(Scenario("before"))
        assert answer == "done", answer


def count_events(bench, scenario):
    """How many points there are."""
    prepare(bench, scenario)
    answer, count = bench.in_child(scenario, Events(bench.root, 0, "kill"))
    assert answer == "done", answer
    fault = judged(bench, scenario)
    assert not fault, fault
    return count


def attempt(bench, scenario, kind, point):
    """Kill or fail at one point, run the next command, and judge."""
    prepare(bench, scenario)
    answer, _ = bench.in_child(scenario, Events(bench.root, point, kind))
    fault = "" if kind == "kill" or not answer.startswith("traceback") else answer
    fault = fault or _right_after(bench, scenario)
    before = _lines(bench)
    again, _ = bench.in_child(Scenario("next", run_id=scenario.run_id, private=scenario.private,
                                       declares=scenario.declares))  # fmt: skip
    fault = fault or ("" if not again.startswith("traceback") else f"next: {again}")
    fault = fault or judged(bench, scenario, before)
    return Trial(scenario.name, bench.database, kind, point, answer.partition("\n")[0], fault)


def _right_after(bench, scenario):
    """Before anything was put in order: where a release was to be replaced, one is there, and whole."""
    if not scenario.replace:
        return ""
    try:
        _checksum(bench.place)
    except Exception as error:
        return f"lost: no whole release is there right after ({error})"
    return ""


def judged(bench, scenario, before=()):
    """What is wrong after the next command, in words; empty where nothing is."""
    import discreet as dc

    account = dc.Budget(bench.url).account(DATA)
    kept = {path.name for path in (bench.root / "kept").iterdir()}
    left = kept - {"budget.sqlite", "budget.sqlite.key"}
    left |= {path.name for path in (bench.root / "out").iterdir()} - {"release"}
    if left:
        return f"left over: {sorted(left)}"
    if scenario.declares:
        return "" if account.epsilon == LIMIT / 2 else f"the limit is {account.epsilon}"
    if scenario.private and account.spent > LIMIT + 1e-9:
        return f"overspent: {account.spent}"
    if not {line.id for line in before} <= {line.id for line in account.spendings}:
        return "a line of the budget is lost"
    try:
        checksum = _checksum(bench.place)
    except Exception as error:
        return f"stranded: no whole release is there ({error})"
    released = [line.arrays for line in account.spendings if line.state == "released"]
    if checksum not in released:
        return "not booked: the release is not that of a released line"
    if any(line.arrays is not None and line.state == "reserved" for line in account.spendings):
        return "stranded: a line says that its release was about to appear, and it is not there"
    most = {None: 2, "nightly": 1}[scenario.run_id] + scenario.replace
    if len(account.spendings) > most:
        return f"paid {len(account.spendings)} times"
    return ""


def _checksum(place):
    import discreet as dc
    from discreet.releases.storage import load, read_card

    assert dc
    load(place)  # without putting anything in order
    return read_card(place)["arrays_sha256"]


def _lines(bench):
    import discreet as dc

    return dc.Budget(bench.url).account(DATA).spendings


# ── Many of them ──


def trials(bench, only=None, seed=0, kinds=KINDS):
    """Every point of every scenario and kind, or a seeded sample of ``only`` for each kind."""
    for kind in kinds:
        points = [(scenario, point) for scenario in SCENARIOS for point in range(1, count_of(bench, scenario) + 1)]
        if only is not None and only < len(points):
            points = random.Random(f"{seed} {kind} {bench.database}").sample(points, only)
        for scenario, point in points:
            yield attempt(bench, scenario, kind, point)


def count_of(bench, scenario, known={}):  # noqa: B006 (remembered)
    """As counted once."""
    key = (bench.database, scenario)
    if key not in known:
        known[key] = count_events(bench, scenario)
    return known[key]


def _forget_recovery():
    """As if nobody looked at what killed processes leave."""
    from discreet.fitting import spending
    from discreet.releases import places

    spending.recover = places.settle = lambda *_: None


@contextmanager
def postgres(wanted=True):
    """A server of our own; None where none is wanted or installed."""
    place = Path(__file__).parents[1] / "privacy" / "conftest.py"
    spec = importlib.util.spec_from_file_location("server_for_kills", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    programs = module._programs() if wanted else None
    if programs is None:
        yield None
        return
    folder = Path(tempfile.mkdtemp(prefix="discreet-", dir="/tmp"))
    server = module.Server(programs, folder)
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", type=int, help="so many points for each kind and database, drawn with the seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--database", choices=["sqlite", "postgresql"])
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--without-recovery", action="store_true", help="put nothing in order: this must be noticed")
    chosen = parser.parse_args()
    if chosen.without_recovery:
        _forget_recovery()
    kinds = KINDS if chosen.kind is None else (chosen.kind,)
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # processes are killed here, not machines
    tried, bad, found = Counter(), Counter(), []
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the server is stopped
    with (
        postgres(chosen.database != "sqlite") as server,
        tempfile.TemporaryDirectory(prefix="discreet-kills-", dir=memory) as root,
    ):
        servers = {"sqlite": [None], "postgresql": [server]}.get(chosen.database, [None, server])
        if server is None and chosen.database == "postgresql":
            print("no PostgreSQL server is installed")
            return NO_SERVER
        benches = [Bench(Path(root) / "bench", one) for one in dict.fromkeys(servers)]
        for trial in itertools.chain(*(trials(bench, chosen.only, chosen.seed, kinds) for bench in benches)):
            key = (trial.database, trial.scenario, trial.kind)
            tried[key] += 1
            bad[key] += bool(trial.fault)
            if sum(tried.values()) % 50 == 0:
                print(f"{sum(tried.values())} points …", file=sys.stderr, flush=True)
            if trial.fault:
                found.append(trial)
                print(trial, flush=True)
    print("| database | kind | scenarios | points | faults |\n|---|---|---|---|---|")
    for database, kind in dict.fromkeys((database, kind) for database, _, kind in tried):
        own = [key for key in tried if key[0] == database and key[2] == kind]
        counts = (sum(tried[key] for key in own), sum(bad[key] for key in own))
        print(f"| {database} | {kind} | {', '.join(key[1] for key in own)} | {counts[0]} | {counts[1]} |")
    print(f"{sum(tried.values())} points, {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
