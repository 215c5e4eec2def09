"""A run with a name whose answers are lost or damaged draws others, and so it pays again."""

import errno
import os
import shutil
from dataclasses import dataclass

import pytest

import discreet as dc
from discreet.errors import InputError, OverspentError
from discreet.models.sums.item_statistics import item_counts
from discreet.populations.answer_file import AnswerFile

RATINGS = dc.synthetic(users=50, items=30, ratings=600, seed=1)


@dataclass(frozen=True)
class SaysWhatItSaw:
    """Fails with a sentence that follows from the noise."""

    def fit(self, population, progress=None):
        counts = population.sum(item_counts(len(population.catalogue)))
        if counts.any():  # it was no rehearsal
            raise InputError(f"of the first item there are {counts[0]} ratings")
        return dc.Release.of(self, population, {"counts": counts})

    def score(self, release, histories):
        raise NotImplementedError


@pytest.fixture
def budget(tmp_path):
    budget = dc.Budget(tmp_path / "budget.sqlite")
    budget.declare("films", epsilon=2.0)
    return budget


def told(tmp_path, budget, folder="release", model=None, ratings=RATINGS):
    server = dc.TrustedServer(ratings, dc.Ledger(1.0), account="films", budget=budget)
    with pytest.raises(InputError, match="of the first item") as error:
        dc.spend_and_release(model or SaysWhatItSaw(), server, tmp_path / folder, run_id="nightly")
    return str(error.value)


def answers(tmp_path):
    return [path for path in tmp_path.iterdir() if path.name.startswith(".discreet-run-")]


def test_with_its_answers_a_run_says_the_same_again_and_pays_once(tmp_path, budget):
    assert len({told(tmp_path, budget) for _ in range(3)}) == 1
    assert len(budget.account("films").spendings) == 1 and len(answers(tmp_path)) == 1


@pytest.mark.parametrize("way", ["removed", "another folder", "another parent", "other items"])
def test_answers_that_are_lost_are_paid_again(door, tmp_path, budget, caplog, way):
    sentences, folder, ratings = [told(tmp_path, budget)], "release", RATINGS
    if way == "removed":
        answers(tmp_path)[0].unlink()
    elif way == "another folder":
        folder = "other"
    elif way == "another parent":
        folder = "elsewhere/release"
    else:
        ratings = dc.synthetic(users=50, items=29, ratings=600, seed=1)
    caplog.clear()
    sentences.append(told(tmp_path, budget, folder, ratings=ratings))
    lines = budget.account("films").spendings
    door(
        "the run was paid once: epsilon 1",
        f"{len(set(sentences))} draws were seen: epsilon 2",
        f"{len(lines)} lines; {caplog.messages[0]}",
    )
    assert len(set(sentences)) == len(lines) == 2 and budget.account("films").spent == pytest.approx(2.0)
    assert "pays again" in caplog.messages[0]
    assert told(tmp_path, budget, folder, ratings=ratings) == sentences[1]  # from here on it has its answers again
    for path in answers(tmp_path) + answers(tmp_path / "elsewhere" if way == "another parent" else tmp_path):
        path.unlink(missing_ok=True)
    server = dc.TrustedServer(ratings, dc.Ledger(1.0), account="films", budget=budget)
    with pytest.raises(OverspentError):
        dc.spend_and_release(SaysWhatItSaw(), server, tmp_path / folder, run_id="nightly")
    assert answers(tmp_path) == [] and len(budget.account("films").spendings) == 2


def damage(path, way):
    """Half of it, nothing, or all of it with one bit that is another."""
    content = path.read_bytes()
    at = {"first bit": 0, "size": 35, "number": 80, "last bit": len(content) - 1}.get(way)
    if at is not None:
        path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
    else:
        path.write_bytes(content[: {"emptied": 0, "half": len(content) // 2, "last byte": -1}[way]])


@pytest.mark.parametrize("way", ["emptied", "half", "last byte", "first bit", "size", "number", "last bit"])
def test_answers_that_are_damaged_are_paid_again(door, tmp_path, budget, caplog, way):
    sentences = [told(tmp_path, budget)]
    damage(*answers(tmp_path), way)
    caplog.clear()
    sentences.append(told(tmp_path, budget))
    lines = budget.account("films").spendings
    door(
        "the run was paid once: epsilon 1",
        f"{way}: {len(set(sentences))} draws were seen: epsilon 2",
        f"{len(lines)} lines; {caplog.messages[0]}",
    )
    assert len(set(sentences)) == len(lines) == 2 and "pays again" in caplog.messages[0]
    assert told(tmp_path, budget) == sentences[1] and len(answers(tmp_path)) == 1
    damage(*answers(tmp_path), way)
    server = dc.TrustedServer(RATINGS, dc.Ledger(1.0), account="films", budget=budget)
    with pytest.raises(OverspentError):
        dc.spend_and_release(SaysWhatItSaw(), server, tmp_path / "release", run_id="nightly")


@pytest.mark.parametrize("way", ["last byte", "half", "first bit", "size", "number", "last bit"])
def test_after_a_kill_answers_may_end_within_one_and_nowhere_else_be_wrong(tmp_path, budget, monkeypatch, way):
    """Nobody saw what a killed process drew last; all that was seen before it was killed has to be there."""
    first = told(tmp_path, budget)
    with monkeypatch.context() as patched:
        patched.setattr(AnswerFile, "close", lambda self, keep=True: None)  # killed when it went on
        assert told(tmp_path, budget) == first
    damage(*answers(tmp_path), way)
    assert told(tmp_path, budget) != first and len(budget.account("films").spendings) == 2

    budget.declare("new", epsilon=2.0)

    def killed_at_once(account="new"):
        server = dc.TrustedServer(RATINGS, dc.Ledger(1.0), account=account, budget=budget)
        with pytest.raises(InputError, match="of the first item"):
            dc.spend_and_release(SaysWhatItSaw(), server, tmp_path / "other", run_id="other")

    known = set(answers(tmp_path))
    with monkeypatch.context() as patched:
        patched.setattr(AnswerFile, "close", lambda self, keep=True: None)
        killed_at_once()
    [path] = set(answers(tmp_path)) - known
    damage(path, way)
    killed_at_once()
    torn = way in ("last byte", "half")
    assert len(budget.account("new").spendings) == (1 if torn else 2)


def test_a_copy_that_was_made_before_an_answer_was_drawn_pays_again(door, tmp_path, budget, monkeypatch):
    """A backup of the folder, say: to it the run looks as if it had been killed, but somebody saw how it ended."""
    here, there, honest = tmp_path / "here", tmp_path / "there", AnswerFile.add
    here.mkdir()

    def copied(self, question, answer):
        shutil.copytree(here, there)
        honest(self, question, answer)

    with monkeypatch.context() as patched:
        patched.setattr(AnswerFile, "add", copied)
        sentences = [told(here, budget)]
    assert len(answers(there)) == 1
    sentences.append(told(there, budget))
    lines = budget.account("films").spendings
    door("the run was paid once: epsilon 1", "a copy drew again what was seen: epsilon 2", f"{len(lines)} lines")
    assert len(set(sentences)) == len(lines) == 2
    assert told(there, budget) == sentences[1] and len(budget.account("films").spendings) == 2


def test_of_two_copies_of_answers_one_goes_on(door, tmp_path, budget):
    """Each would draw what is still missing."""

    class StoppedError(Exception):
        pass

    @dataclass(frozen=True)
    class Twice:
        def fit(self, population, progress=None):
            first = population.sum(item_counts(len(population.catalogue)), share=0.5)
            if first.any() and stopped:
                raise StoppedError
            second = population.sum(item_counts(len(population.catalogue)), share=0.5)
            if second.any():
                raise InputError(f"first {first[0]}, then {second[0]} ratings")
            return dc.Release.of(self, population, {"counts": first + second})

        def score(self, release, histories):
            raise NotImplementedError

    def fit(place):
        server = dc.TrustedServer(RATINGS, dc.Ledger(1.0), account="films", budget=budget)
        dc.spend_and_release(Twice(), server, place / "release", run_id="nightly")

    places, stopped = (tmp_path / "here", tmp_path / "there"), True
    places[0].mkdir()
    for _ in range(2):  # the second time it goes on, and is stopped again
        with pytest.raises(StoppedError):
            fit(places[0])
    assert len(answers(places[0])) == len(budget.account("films").spendings) == 1
    shutil.copytree(*places)
    stopped, said = False, []
    for place in (*places, *places[1:]):
        with pytest.raises(InputError, match="first") as error:
            fit(place)
        said.append(str(error.value))
    door(
        "the run was paid once: epsilon 1",
        "a copy of the answers so far went on as well: what was missing was drawn twice",
        f"{len(budget.account('films').spendings)} lines",
    )
    assert len(set(said)) == 2 and said[1] == said[2]
    assert len(budget.account("films").spendings) == 2 and len(answers(places[0])) == len(answers(places[1])) == 1


def test_answers_that_cannot_be_written_down_are_paid_again(tmp_path, budget, monkeypatch, caplog):
    """They are lost before anything follows from them."""

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", full)
        first = told(tmp_path, budget)
    assert answers(tmp_path) == [] and "stays spent" in caplog.text
    assert told(tmp_path, budget) != first and len(budget.account("films").spendings) == 2


def test_another_model_under_the_name_takes_no_answers_away(tmp_path, budget):
    first = told(tmp_path, budget)
    server = dc.TrustedServer(RATINGS, dc.Ledger(1.0), account="films", budget=budget)
    with pytest.raises(InputError, match="something else"):
        dc.spend_and_release(dc.Popularity(), server, tmp_path / "release", run_id="nightly")
    assert told(tmp_path, budget) == first and len(budget.account("films").spendings) == 1


@pytest.mark.parametrize("way", ["removed", "emptied"])
def test_looks_that_are_chosen_on_the_way_are_paid_again_with_the_first(tmp_path, way):
    ratings = dc.synthetic(users=400, items=60, ratings=8000, seed=1)
    budget = dc.Budget(tmp_path / "budget.sqlite")
    budget.declare("films", epsilon=3.0, delta=1e-6)

    class StoppedError(Exception):
        pass

    def fit(stop_at=None):
        def progress(done, steps, what):
            if done == stop_at:
                raise StoppedError

        server = dc.TrustedServer(ratings, dc.Ledger(1.0, 1e-6), account="films", budget=budget)
        return dc.spend_and_release(dc.Almanac(), server, tmp_path / "release", run_id="nightly", progress=progress)

    with pytest.raises(StoppedError):
        fit(stop_at=2)
    lost = budget.account("films").spendings
    answers(tmp_path)[0].unlink() if way == "removed" else damage(*answers(tmp_path), way)
    with pytest.raises(StoppedError):
        fit(stop_at=2)
    released = fit()
    lines = budget.account("films").spendings
    assert [line.spends for line in lines[: len(lost)]] == [line.spends for line in lost]
    again = [spend for line in lines[len(lost) :] for spend in line.spends]
    if any(spend.mechanism == "gaussian" for line in lost for spend in line.spends):
        # So is all that follows: about one try in twenty.
        assert [spend.what for spend in again] == ["looks that are chosen by the answers before them"]
    else:
        assert again == list(released.spends)
    assert all(line.state == "released" for line in lines[len(lost) :]) and answers(tmp_path) == []
