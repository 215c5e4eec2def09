"""A PostgreSQL server of our own, for the tests that need a real one."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest


class Server:
    """A throw-away cluster that listens on a socket in its own folder, so that no port can be taken."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self.programs, self.folder = programs, folder
        self.account: dict[str, object] = {}
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            names = {entry.pw_name for entry in pwd.getpwall()}
            user = "postgres" if "postgres" in names else "nobody"
            self.account = {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []}
            shutil.chown(folder, user)
        initdb = ("initdb", "--pgdata", "data", "--username", "tester", "--auth", "trust", "--locale", "C", "--no-sync")
        subprocess.run(self._command(*initdb), cwd=folder, check=True, stdout=subprocess.DEVNULL, **self.account)
        self.start()

    def start(self) -> None:
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(self.folder),
            "max_connections": "150",
            "shared_buffers": "16MB",
            "fsync": "off",  # processes are killed here, not machines
            # Not the default of PostgreSQL, but one that people set, and under which a careless budget overspends.
            "default_transaction_isolation": "repeatable read",
        }
        options = [f"--{name}={value}" for name, value in settings.items()]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                self._command("postgres", "-D", "data", *options),
                cwd=self.folder, stdout=log, stderr=log, **self.account,
            )  # fmt: skip
        self._run("SELECT 1", patience=60)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGQUIT)  # at once; what it leaves is thrown away
        self.process.wait()

    def crash(self) -> None:
        """As ``kill -9`` does, and start again as soon as the last of its processes has noticed."""
        self.process.kill()
        self.process.wait()
        self.start()

    def emptied(self) -> str:
        """The URL of its database, after everything in it was thrown away."""
        self._run("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
        return f"postgresql://tester@/postgres?host={self.folder}"

    def _run(self, statement: str, patience: float = 0) -> None:
        import psycopg

        deadline = time.monotonic() + patience
        while True:
            try:
                with psycopg.connect(
                    host=str(self.folder), user="tester", dbname="postgres", autocommit=True
                ) as connection:
                    connection.execute(statement)
                return
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise AssertionError((self.folder / "log").read_text()) from None
                if self.process.poll() is not None:  # the processes of a crashed server are not all gone yet
                    return self.start()
                time.sleep(0.05)

    def _command(self, program: str, *arguments: str) -> list[str]:
        return [str(self.programs / program), *arguments]


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A running server; a test that needs one is skipped where none is installed, except on CI."""
    programs = _programs()
    if programs is None:
        if os.environ.get("DISCREET_TEST_POSTGRES") == "1":
            pytest.fail("DISCREET_TEST_POSTGRES is 1, but no PostgreSQL server is installed")
        pytest.skip("no PostgreSQL server is installed (Debian: apt install postgresql)")
    folder = Path(tempfile.mkdtemp(prefix="discreet-", dir="/tmp"))  # short: the path of a socket has to be
    server = Server(programs, folder)
    yield server
    server.stop()
    shutil.rmtree(folder)


def _programs() -> Path | None:
    found = shutil.which("postgres")
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: float(path.parts[-3]))
    candidates = ([Path(found).resolve()] if found else []) + versions[::-1]
    return next((path.parent for path in candidates if (path.parent / "initdb").exists()), None)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where to keep an empty budget: once in SQLite, once in PostgreSQL."""
    if request.param == "sqlite":
        return str(tmp_path / "budget.sqlite")
    server: Server = request.getfixturevalue("postgres")
    return server.emptied()
