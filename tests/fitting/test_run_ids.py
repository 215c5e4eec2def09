"""A run with a name is paid once and published once, whoever dies and however many try at the same time."""

import subprocess
import sys
from pathlib import Path

import pytest

import discreet as dc
from discreet.errors import BudgetError, InputError, OverspentError
from discreet.releases.storage import read_card

AGAIN = Path(__file__).with_name("run_again.py")
RATINGS = dc.synthetic(users=50, items=30, ratings=600, seed=1)


@pytest.fixture
def budget(tmp_path):
    budget = dc.Budget(tmp_path / "budget.sqlite")
    budget.declare("films", epsilon=1.0)
    return budget


def start(tmp_path, where="nowhere", folder="release"):
    command = [sys.executable, str(AGAIN), str(tmp_path / "budget.sqlite"), str(tmp_path / folder), where]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def killed(tmp_path, where):
    """Start the run, and ``kill -9`` it where it was told to wait."""
    with start(tmp_path, where) as process:
        assert process.stdout.readline() == "there\n"
        process.kill()


def run(tmp_path, model=None, folder="release", epsilon=1.0, run_id="nightly"):
    server = dc.TrustedServer(
        RATINGS, dc.Ledger(epsilon), account="films", budget=dc.Budget(tmp_path / "budget.sqlite")
    )
    return dc.spend_and_release(model or dc.Popularity(), server, tmp_path / folder, run_id=run_id)


def checksum(tmp_path, folder="release"):
    return read_card(tmp_path / folder)["arrays_sha256"]


@pytest.mark.parametrize("where", ["fit", "published"])
def test_who_was_killed_goes_on_and_pays_nothing_more(budget, tmp_path, where):
    killed(tmp_path, where)
    assert not (tmp_path / "release").exists() and budget.account("films").spent == pytest.approx(1.0)
    run(tmp_path)
    [line] = budget.account("films").spendings
    assert line.state == "released" and line.arrays == checksum(tmp_path)
    assert dc.Release.load(tmp_path / "release").guarantee.proven.epsilon == pytest.approx(1.0)


def test_of_many_who_try_at_once_one_publishes(budget, tmp_path):
    folders = [f"release-{number}" for number in range(4)]
    processes = [start(tmp_path, folder=folder) for folder in folders]
    answers = [process.communicate()[0].split(maxsplit=1) for process in processes]
    [line] = budget.account("films").spendings
    assert {answer for answer, _ in answers} <= {"done", "refused"}
    assert [answer for answer, _ in answers].count("done") == 1
    written = [folder for folder in folders if (tmp_path / folder).exists()]
    assert [checksum(tmp_path, folder) for folder in written] == [line.arrays]


def test_who_was_overtaken_publishes_nothing(tmp_path, monkeypatch):
    budget = dc.Budget(tmp_path / "budget.sqlite")
    budget.declare("films", epsilon=2.0)
    original, first = dc.TrustedServer.sum, []

    def overtaken(self, contribution, share=1.0):
        if not first:
            first.append(True)
            run(tmp_path, folder="other")  # somebody else starts the same run, draws and pays anew, and finishes it
        return original(self, contribution, share)

    monkeypatch.setattr(dc.TrustedServer, "sum", overtaken)
    with pytest.raises(BudgetError, match="another process has taken this run over"):
        run(tmp_path)
    assert not (tmp_path / "release").exists()
    assert [line.arrays for line in budget.account("films").spendings] == [None, checksum(tmp_path, "other")]
    assert [place.name for place in tmp_path.iterdir() if place.name.startswith(".")] == []


def test_a_release_that_is_lost_is_not_drawn_again(budget, tmp_path):
    run(tmp_path)
    with pytest.raises(InputError, match=r"the run nightly was released before, and .*elsewhere does not hold that"):
        run(tmp_path, folder="elsewhere")
    assert not (tmp_path / "elsewhere").exists()
    before = checksum(tmp_path)
    run(tmp_path)
    assert checksum(tmp_path) == before and len(budget.account("films").spendings) == 1


def test_another_fit_under_the_same_name_is_refused(budget, tmp_path):
    run(tmp_path, epsilon=0.5)
    for model, epsilon in ((dc.Bias(), 0.5), (dc.Popularity(), 0.25)):
        with pytest.raises(InputError, match="the run nightly was booked for something else"):
            run(tmp_path, model, "other", epsilon)
    assert len(budget.account("films").spendings) == 1


def test_every_sum_of_a_program_has_a_line_of_its_own(budget):
    """It may have been chosen after the answers before it, so they do not count as planned together."""
    server = dc.TrustedServer(RATINGS, dc.Ledger(0.8), share=0.5, account="films", budget=budget)
    for sums in (1, 2):
        release = dc.Popularity().fit(server)
        lines = budget.account("films").spendings
        assert len(lines) == sums and tuple(spend for line in lines for spend in line.spends) == server.spends
        assert release.spends == server.spends
        assert lines[-1].epsilon == pytest.approx(0.4) and lines[-1].total == pytest.approx(0.4 * sums)
        assert lines[-1].state == "reserved"
    other = dc.TrustedServer(RATINGS, dc.Ledger(0.3), account="films", budget=budget)
    with pytest.raises(OverspentError, match=r"asks for epsilon 0\.3 of films, where 0\.2 of 1 is left"):
        dc.Popularity().fit(other)
    assert other.spends == () and len(budget.account("films").spendings) == 2
