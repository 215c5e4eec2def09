"""All parties as processes on loopback, over TLS; servers and users are killed at random moments, and started again."""

import asyncio
import csv
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.parties import requests
from discreet.parties.calling import Caller, DeclinedError, until_reached
from discreet.parties.certificates import make_certificate
from discreet.parties.credentials import make_key, make_tokens, read_tokens
from discreet.parties.folder import Kept
from discreet.parties.third_party import RECORD, SEED_MESSAGE
from discreet.parties.user import Feed, Terms, UserSession
from discreet.populations import untrusted
from discreet.populations.remote import ModelCopy

from .given_noise import given_noise

USERS, VANISHING = 50, 2
RATINGS = dc.synthetic(users=USERS + VANISHING, items=25, ratings=700, seed=3)
MODEL = dc.CovarianceKNN(audience=100_000, covariance_share=0.5, items=12)
EPSILON, DELTA = 20.0, 1e-5
GROUPS = {"stayers": range(32), "first": range(32, 38), "second": range(38, 44), "third": range(44, 49)}
"""Users by program: a third of them are in those that are killed. The last one is the test's own, and answers last."""
LONG = 300.0
"""Seconds after which something hangs. Nothing is timed otherwise."""


def free_port():
    """Below the ports that are given to clients, so that nobody takes it between two starts of a server."""
    while True:
        port = 20_000 + int.from_bytes(os.urandom(2), "little") % 10_000
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return port


def write_history(path, place):
    path.parent.mkdir(parents=True, exist_ok=True)
    history, names = RATINGS.history_at(place), RATINGS.catalogue.items.names
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["item", "rating"])
        rows.writerows([names[item], float(value)] for item, value in zip(history.items, history.values, strict=True))


class Programs:
    """The commands, and the processes that run them."""

    def __init__(self, root: Path):
        self.root, self.running = root, {}
        self.ports = {"recommender": free_port(), "third-party": free_port()}
        make_key(root / "key")
        make_tokens(root, USERS + VANISHING)
        self.tokens = read_tokens(root / "tokens.txt", USERS + VANISHING)
        self.trusted = {name: make_certificate(root / name)[0] for name in self.ports}
        catalogue = RATINGS.catalogue
        with (root / "items.csv").open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["item", "title", "genres", "year"])
            for place, name in enumerate(catalogue.items.names):
                genres = [catalogue.genres[at] for at in np.flatnonzero(catalogue.item_genres[place])]
                rows.writerow([name, catalogue.titles[place], "|".join(genres), int(catalogue.years[place])])
        for name, places in GROUPS.items():
            for place in places:
                write_history(root / name / f"somebody-{place:02d}.csv", place)
            lines = [self.tokens[place].hex() for place in places]
            (root / f"{name}.tokens").write_text("\n".join(lines))

    def url(self, name):
        return f"https://127.0.0.1:{self.ports[name]}"

    def command(self, name):
        if name in GROUPS:
            trust = [word for server, path in self.trusted.items() for word in (f"--trust-{server}", path)]
            servers = ["--recommender", self.url("recommender"), "--third-party", self.url("third-party")]
            own = ["--histories", self.root / name, "--token", self.root / f"{name}.tokens"]
            return ["user", *servers, *own, *trust, "--state", self.root / f"{name}-state", "--budget", EPSILON]
        folder = self.root / name
        common = ["--listen", f"127.0.0.1:{self.ports[name]}", "--key", self.root / "key", "--state", folder / "state"]
        common += ["--certificate", folder / "certificate.pem", "--certificate-key", folder / "key.pem"]
        if name == "third-party":
            return [name, *common, "--enrolled", self.root / "enrolled.txt"]
        terms = ["--epsilon", EPSILON, "--delta", DELTA, "--users-at-least", USERS, "--wait", 0]
        model = ["--model", "covariance-knn", "--audience", MODEL.audience]
        model += ["--set", "covariance_share=0.5", "--set", "items=12"]
        items = ["--catalogue", self.root / "items.csv", "--scale", "1:5", "-o", self.root / "release"]
        return [
            name,
            *common,
            *terms,
            *model,
            *items,
            "--third-party",
            self.url("third-party"),
            "--trust",
            self.trusted["third-party"],
        ]

    def start(self, name):
        words = [
            sys.executable,
            str(Path(__file__).with_name("given_noise.py")),
            "party",
            *map(str, self.command(name)),
        ]
        words += ["--delta", str(DELTA)] if name in GROUPS else []
        paths = os.pathsep.join([str(Path(dc.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
        with (self.root / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(
                words, stdout=log, stderr=log, env=os.environ | {"PYTHONPATH": paths, "NUMBA_NUM_THREADS": "1"}
            )

    def kill_and_start(self, name):
        self.running[name].send_signal(signal.SIGKILL)
        self.running[name].wait(LONG)
        self.start(name)

    def logs(self):
        return {path.stem: path.read_text(errors="replace") for path in sorted(self.root.glob("*.log"))}

    def end(self):
        for process in self.running.values():
            if process.poll() is None:
                process.kill()
            process.wait(LONG)

    # ── What can be seen from outside ──

    def journal(self, known=()):
        """The seeds of a round that is not among those that are known."""
        found = [path for path in (self.root / "third-party/state").glob("seeds-*") if path.name not in known]
        return found[0] if found else None

    def until(self, condition):
        end = time.monotonic() + LONG
        while not (found := condition()):
            assert time.monotonic() < end, self.logs()
            for name, process in self.running.items():
                ended = process.poll()
                assert ended is None or (ended == 0 and name != "third-party"), (name, ended, self.logs()[name])
            time.sleep(0.005)
        return found


@pytest.fixture
def programs(tmp_path):
    made = Programs(tmp_path)
    yield made
    made.end()


class Own:
    """Users whom the test holds in its hand: the last one, and those who vanish after their seed."""

    def __init__(self, programs):
        self.programs = programs

    async def callers(self):
        trusted = self.programs.trusted
        return (
            Caller(self.programs.url("recommender"), "recommender", trust=[trusted["recommender"]]),
            Caller(self.programs.url("third-party"), "third party", trust=[trusted["third-party"]]),
        )

    async def take_part(self, number, place, *, vanish):
        """Answer the question of a round; or send the seed of the mask and no more."""
        recommender, third_party = await self.callers()
        async with recommender, third_party:
            feed = Feed(recommender, LONG)
            offer, catalogue = await feed.start()
            items, values = RATINGS.history_at(place).items, RATINGS.history_at(place).values
            session = UserSession(
                Kept(self.programs.root / f"own-{place}"),
                "",
                dc.History(catalogue, items, values),
                ModelCopy(MODEL, catalogue, offer),
                Terms(epsilon=EPSILON, delta=DELTA),
                self.programs.tokens[place],
                recommender,
                third_party,
            )
            while len(feed.told) <= number:
                news = await feed.next()
                if news.question is None or news.question.label.round != number:
                    continue
                if vanish:
                    asked = session._device.next(feed.told)
                    seed = session._machine.answer(news.question, asked.question, asked.values).to_bytes()
                    headers = {"authorization": f"Bearer {session._token.hex()}"}

                    async def send(seed=seed, headers=headers):
                        return await third_party.post(requests.SEED, seed, SEED_MESSAGE, headers)

                    await until_reached(send, LONG)
                    return
                try:
                    await session.answer(news.boot, news.question, feed.told)
                    return
                except DeclinedError:  # the recommender is starting again
                    feed.again()
                    await asyncio.sleep(0.05)


def undisturbed(monkeypatch):
    """The release of a run of the same fifty users in which nothing happens."""
    roles = {}

    def noise(spend, step, count, randomness):
        roles[spend.what] = "recommender" if spend.what in roles else "third-party"
        return given_noise(roles[spend.what], spend.what, count)

    monkeypatch.setattr(untrusted, "draw_noise", noise)
    ledger = dc.Ledger(EPSILON, DELTA, dc.User())
    everyone = RATINGS.select_users(np.arange(USERS))
    return MODEL.fit(untrusted.UntrustedServer(everyone, ledger, minimum_group=USERS))


def test_kills_and_restarts_change_nothing_in_the_release(programs, monkeypatch):
    rng = np.random.default_rng(7)
    victims = [[(int(rng.integers(0, 30)), name) for name in ("recommender", "third-party")] for _ in range(2)]
    for name in ("first", "second", "third"):
        victims[int(rng.integers(2))].append((int(rng.integers(0, 40)), name))
    for name in ("third-party", "recommender", *GROUPS):
        programs.start(name)
    own, known = Own(programs), set()
    for number in range(2):
        journal = programs.until(lambda: programs.journal(known))
        known.add(journal.name)
        for seeds, name in sorted(victims[number]):
            programs.until(lambda journal=journal, seeds=seeds: journal.stat().st_size >= seeds * RECORD)
            programs.kill_and_start(name)
        # All others may be there or on their way: without this last one the round cannot be closed.
        asyncio.run(own.take_part(number, USERS + number, vanish=True))
        asyncio.run(own.take_part(number, USERS - 1, vanish=False))
        programs.until(lambda number=number: (programs.root / f"recommender/state/told-{number:06d}").exists())
    assert programs.running["recommender"].wait(LONG) == 0, programs.logs()["recommender"]
    release = dc.Release.load(programs.root / "release")
    assert release.guarantee.proven.epsilon <= EPSILON
    expected = undisturbed(monkeypatch)
    assert release.arrays.keys() == expected.arrays.keys()
    for name in expected.arrays:
        assert release.arrays[name].tobytes() == expected.arrays[name].tobytes(), name
    third_party = programs.running["third-party"]
    third_party.send_signal(signal.SIGINT)
    assert third_party.wait(LONG) == 130
    assert not list((programs.root / "third-party/state").glob("seeds-*"))
    for name in GROUPS:  # many users, one file
        assert sorted(path.name for path in (programs.root / f"{name}-state").iterdir()) == ["lock", "users.sqlite"]
    said = "\n".join(programs.logs().values())
    assert "somebody" not in said and "Traceback" not in said
    assert not any(token.hex() in said for token in programs.tokens)


def test_ctrl_c_is_clean_and_a_second_recommender_is_refused(programs):
    programs.start("recommender")  # without a third party it waits for one
    programs.until(lambda: "listens on" in programs.logs()["recommender"])
    words = [sys.executable, "-m", "discreet", "party", *map(str, programs.command("recommender"))]
    second = subprocess.run(words, capture_output=True, text=True, timeout=LONG, check=False)
    assert second.returncode == 2
    assert second.stderr.splitlines()[-1].startswith("discreet: another recommender runs with the state in ")
    programs.start("first")
    programs.until(lambda: "CovarianceKNN" in programs.logs()["first"])
    for name in ("first", "recommender"):
        programs.running[name].send_signal(signal.SIGINT)
        assert programs.running[name].wait(LONG) == 130, programs.logs()[name]
        assert "Traceback" not in programs.logs()[name] and "Error" not in programs.logs()[name]
