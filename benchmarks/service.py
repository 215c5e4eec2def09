"""What the service holds out on loopback: requests a second, their times, memory over a long run, swaps under load.

A release of MovieLens 1M (Almanac, epsilon 1 for a user; or made-up ratings of the same size), two worker processes,
and one process that asks: raw sockets that stay open, histories of 50 items, 10 items back with their reasons.

- **throughput**: as fast as it goes; at least 500 requests a second;
- **times**: at half of 500 requests a second; the 99th percentile is at most 50 ms;
- **memory**: of both workers over 100,000 requests; flat is at most 5% more at the end than after the first tenth;
- **swaps**: the release is exchanged 20 times under load, and no request fails.

Ends with 1 if any of these is missed. ``--quick`` makes 5,000 requests of 100,000. On a machine that others use too the
processor seconds of a request say more than the clock: both are printed, and the load.
"""

import argparse
import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import discreet as dc

SOURCE = Path(dc.__file__).parents[1]
RATE, MILLISECONDS, GROWTH, SWAPS = 500, 50.0, 1.05, 20
K, LENGTH = 10, 50


def fitted(data: str) -> dc.Release:
    """The release that is served."""
    synthetic = data == "synthetic"
    ratings = dc.synthetic(users=6040, items=3883, ratings=1_000_209, seed=1) if synthetic else dc.load(data)
    ledger = dc.Ledger(epsilon=1.0, delta=1e-6, unit=dc.User())
    return dc.Almanac(purpose="both").fit(dc.TrustedServer(ratings, ledger))


def questions(release: dc.Release, count: int = 500) -> list[bytes]:
    """Requests as they go over the wire; the items of a history are drawn by their noisy counts."""
    rng = np.random.default_rng(1)
    weights = np.maximum(release.arrays["counts"], 1.0).astype(np.float64)
    catalogue, scale = release.catalogue, release.catalogue.scale
    asked = []
    for _ in range(count):
        items = rng.choice(len(catalogue), LENGTH, replace=False, p=weights / weights.sum())
        ratings = rng.integers(int(np.ceil(scale.low)), int(scale.high) + 1, LENGTH)
        history = {catalogue.items[int(item)]: int(rating) for item, rating in zip(items, ratings, strict=True)}
        body = json.dumps({"history": history, "k": K}).encode()
        head = b"POST /recommend HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
        asked.append(head % len(body) + body)
    return asked


class Client(asyncio.Protocol):
    """One connection that stays open: writes a question, and reads to the end of its answer."""

    def __init__(self) -> None:
        self.buffer, self.answered = b"", None

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.buffer += data
        head, found, body = self.buffer.partition(b"\r\n\r\n")
        if not found:
            return
        length = int(re.search(rb"content-length: (\d+)", head)[1])
        if len(body) >= length and self.answered is not None and not self.answered.done():
            self.buffer = b""
            self.answered.set_result((head[:12] == b"HTTP/1.1 200", body))

    def connection_lost(self, exc):
        if self.answered is not None and not self.answered.done():
            self.answered.set_result((False, b""))

    async def ask(self, question: bytes) -> bool:
        self.answered = asyncio.get_running_loop().create_future()
        self.transport.write(question)
        fine, _ = await self.answered
        return fine


async def load(port: int, asked: list[bytes], count: int, connections: int, rate: float | None = None):
    """Ask ``count`` times: seconds of each answer, how many failed, and seconds of it all."""
    loop = asyncio.get_running_loop()
    clients = [(await loop.create_connection(Client, "127.0.0.1", port))[1] for _ in range(connections)]
    numbers, times, failed = iter(range(count)), [], 0
    began = loop.time()

    async def run(client: Client) -> None:
        nonlocal failed
        for number in numbers:
            due = loop.time()
            if rate is not None:  # from the time it was due: a slow answer does not put off the clock
                due = began + number / rate
                await asyncio.sleep(max(0.0, due - loop.time()))
            failed += not await client.ask(asked[number % len(asked)])
            times.append(loop.time() - due)

    await asyncio.gather(*map(run, clients))
    seconds = loop.time() - began
    for client in clients:
        client.transport.close()
    return np.array(times), failed, seconds


class Service:
    """``discreet serve`` as a process."""

    def __init__(self, release: Path, workers: int) -> None:
        command = [sys.executable, "-m", "discreet", "serve", release, "--port", "0", "--workers", str(workers)]
        command += ["--rate", "0", "--no-access-log", "--no-page", "--watch", "0.2"]
        environment = os.environ | {"PYTHONPATH": str(SOURCE)}
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
        line = self.process.stderr.readline()
        self.port = int(line.rpartition(":")[2])

    def metrics(self) -> str:
        import urllib.request

        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics") as answer:
            return answer.read().decode()

    def number(self, name: str) -> float:
        return float(re.search(rf"^{name} (\S+)$", self.metrics(), flags=re.MULTILINE)[1])

    def workers(self) -> list[int]:
        command = ["ps", "-ww", "-o", "pid=,args=", "--ppid", str(self.process.pid)]
        found = subprocess.run(command, capture_output=True, text=True)
        return [int(line.split()[0]) for line in found.stdout.splitlines() if "spawn_main" in line]

    def memory(self) -> float:
        """MB of all workers."""
        pages = sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in self.workers())
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def processor_seconds(self) -> float:
        fields = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in self.workers()]
        return sum(int(own[11]) + int(own[12]) for own in fields) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)


def exchange(link: Path, target: Path) -> None:
    """Point the link elsewhere in one step."""
    fresh = link.with_name("fresh")
    fresh.symlink_to(target)
    fresh.rename(link)


async def swaps_under_load(service: Service, asked: list[bytes], link: Path, releases: list[Path]) -> tuple[int, int]:
    """Exchange the release while requests run: how many were made, and how many failed."""
    made = failed = 0
    done = asyncio.Event()

    async def keep_asking() -> None:
        nonlocal made, failed
        while not done.is_set():
            times, wrong, _ = await load(service.port, asked, 200, 8, RATE / 2)
            made, failed = made + len(times), failed + wrong

    asking = asyncio.create_task(keep_asking())
    for number in range(1, SWAPS + 1):
        exchange(link, releases[number % 2])
        while await asyncio.to_thread(service.number, "discreet_release_swaps_total") < 2 * number:
            await asyncio.sleep(0.05)
    done.set()
    await asking
    return made, failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="ml-1m", help="a data set, or 'synthetic'")
    parser.add_argument("--release", type=Path, help="a release that is there already")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--quick", action="store_true", help="5,000 requests rather than 100,000")
    given = parser.parse_args()
    count, missed = 5_000 if given.quick else 100_000, 0

    def say(what: str, found: str, fine: bool) -> None:
        nonlocal missed
        missed += not fine
        print(f"| {what} | {found} | {'yes' if fine else 'MISSED'} |", flush=True)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        release = dc.Release.load(given.release) if given.release else fitted(given.data)
        for number in range(2):
            release.save(folder / f"release-{number}")
        link = folder / "current"
        link.symlink_to(folder / "release-0")
        asked = questions(release)
        service = Service(link, given.workers)
        print(f"{release}; {given.workers} workers; load of the machine before: {os.getloadavg()[0]:.1f}\n")
        print("| what | found | reached |\n|---|---|---|")
        try:
            asyncio.run(load(service.port, asked, 500, given.connections))  # everything has been used once
            before = service.processor_seconds()
            times, failed, seconds = asyncio.run(load(service.port, asked, 5_000, given.connections))
            each = 1000 * (service.processor_seconds() - before) / len(times)
            rate = len(times) / seconds
            words = f"{rate:.0f} requests/s, {each:.2f} ms of a processor each, {failed} failed"
            say(f"throughput, at least {RATE} requests/s", words, rate >= RATE and failed == 0)
            times, failed, _ = asyncio.run(load(service.port, asked, 5_000, given.connections, RATE / 2))
            median, late = (1000 * float(np.quantile(times, share)) for share in (0.5, 0.99))
            words = f"median {median:.1f} ms, 99% within {late:.1f} ms, {failed} failed"
            fine = late <= MILLISECONDS and failed == 0
            say(f"times at {RATE // 2} requests/s, 99% within {MILLISECONDS:.0f} ms", words, fine)
            asyncio.run(load(service.port, asked, count // 10, given.connections))
            first = service.memory()
            _, failed, _ = asyncio.run(load(service.port, asked, count - count // 10, given.connections))
            last = service.memory()
            words = f"{first:.0f} MB, then {last:.0f} MB, {failed} failed"
            say(f"memory over {count:,} requests, flat", words, last <= GROWTH * first and not failed)
            releases = [folder / "release-0", folder / "release-1"]
            made, failed = asyncio.run(swaps_under_load(service, asked, link, releases))
            say(f"{SWAPS} swaps under load, no failure", f"{made:,} requests, {failed} failed", failed == 0)
        finally:
            service.stop()
            shutil.rmtree(folder, ignore_errors=True)
    print(f"\nload of the machine after: {os.getloadavg()[0]:.1f}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
