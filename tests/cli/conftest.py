"""The command run in this process, and a small table of ratings to run it on."""

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import discreet as dc
from discreet.cli.app import app


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def own_budget(tmp_path_factory, monkeypatch) -> Path:
    """No test spends from the budget of whoever runs it."""
    path = tmp_path_factory.mktemp("budget") / "budget.sqlite"
    monkeypatch.setenv("DISCREET_BUDGET", str(path))
    return path


@pytest.fixture
def discreet(capsys, monkeypatch) -> Callable[..., Outcome]:
    """Run ``discreet`` with these arguments; quicker than a process of its own."""
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: object) -> Outcome:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            app([str(argument) for argument in arguments], prog_name="discreet")
        out, err = capsys.readouterr()
        return Outcome(int(ended.value.code or 0), out, err)

    return run


@pytest.fixture(scope="session")
def table(tmp_path_factory) -> Path:
    """Ratings that nobody gave, as the kind of file that people have."""
    ratings = dc.synthetic(users=60, items=40, ratings=900, seed=1)
    path = tmp_path_factory.mktemp("data") / "ratings.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["user", "item", "rating"])
        users, items = ratings.users.names[ratings.user_index], ratings.catalogue.items.names[ratings.item_index]
        writer.writerows(zip(users, items, ratings.values.tolist(), strict=True))
    return path


@pytest.fixture(scope="session")
def items(table) -> Path:
    """The public items of that table: privacy needs a list that was not read off the ratings."""
    path = table.with_name("items.csv")
    items = dc.synthetic(users=60, items=40, ratings=900, seed=1).catalogue.items.names.tolist()
    path.write_text("\n".join(["item", *items, ""]))
    return path


@pytest.fixture(scope="session")
def release(tmp_path_factory) -> Path:
    """A saved release with titles."""
    folder = tmp_path_factory.mktemp("releases") / "bias"
    dc.Bias().fit(dc.NoPrivacy(dc.synthetic(users=60, items=40, ratings=900, seed=1))).save(folder)
    return folder
