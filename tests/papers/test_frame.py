"""The frame, by a toy paper that goes through all of it; the hybrid's own tests are about the hybrid."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.cli import reproduce
from discreet.cli.app import app
from discreet.errors import InputError
from discreet.papers.frame import repetitions
from discreet.papers.frame.cases import Case, Grid
from discreet.papers.frame.claims import Claim, count, judge_all
from discreet.papers.frame.judges import Finding
from discreet.papers.frame.outcome import Outcome
from discreet.papers.frame.repetitions import Kept, fingerprint, run
from discreet.papers.frame.reproduction import Reproduction, read_reproduction
from discreet.papers.frame.sets import Sets
from discreet.papers.names import PAPERS, Listed
from discreet.releases.published import Published

from . import toy_paper
from .toy_paper import EXACT, PAPER, QUICK, NoisyMeans, Repetition

RATINGS = dc.synthetic(users=120, items=30, ratings=2500, seed=1)


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    return run(PAPER, RATINGS, data="made up", seeds=3, grid=QUICK)


def numbers(outcome: Outcome) -> dict:
    return {case: dict(readings) for case, readings in outcome.numbers.items()}


class StoppedError(Exception):
    """As an interruption would."""


def stop_after(monkeypatch, count: int) -> list[tuple[int, Case]]:
    """Let so many cases be measured, and list them."""
    measured: list[tuple[int, Case]] = []
    measure = Repetition.measure

    def limited(self, case):
        if len(measured) == count:
            raise StoppedError
        measured.append((self.seed, case))
        return measure(self, case)

    monkeypatch.setattr(Repetition, "measure", limited)
    return measured


# ── Cases and repetitions ──


def test_a_run_has_every_case_in_every_repetition(outcome):
    assert list(outcome.numbers) == [EXACT, *QUICK.cases("noise", "epsilon")]
    assert all(len(found) == 3 for readings in outcome.numbers.values() for found in readings.values())
    assert (outcome.data.users, outcome.data.items, outcome.data.ratings) == (120, 30, 2500)


def test_goes_on_where_it_was_stopped(tmp_path, monkeypatch, outcome):
    """Three cases, three repetitions: stopped after 4 and again after 7, nothing is measured twice."""
    done = []
    for more in (4, 3):
        with monkeypatch.context() as patched:
            measured = stop_after(patched, more)
            with pytest.raises(StoppedError):
                run(PAPER, RATINGS, seeds=3, grid=QUICK, folder=tmp_path)
            done += measured
    with monkeypatch.context() as patched:
        measured = stop_after(patched, 100)
        again = run(PAPER, RATINGS, seeds=3, grid=QUICK, folder=tmp_path)
    assert len(done) == len(set(done)) == 7 and len(measured) == 2
    assert numbers(again) == numbers(outcome)


def test_more_repetitions_keep_the_old_ones(tmp_path, monkeypatch):
    run(PAPER, RATINGS, seeds=1, grid=QUICK, folder=tmp_path)
    measured = stop_after(monkeypatch, 100)
    run(PAPER, RATINGS, seeds=2, grid=QUICK, folder=tmp_path)
    assert {seed for seed, _ in measured} == {2}


def test_stale_numbers_are_never_mixed_in(tmp_path, monkeypatch):
    """Other ratings, another grid, other code: each has its own fingerprint, and a file of its own."""
    known = {fingerprint(PAPER, Sets(RATINGS), QUICK)}
    other = dc.synthetic(users=120, items=30, ratings=2500, seed=2)
    for ratings, grid in ((other, QUICK), (RATINGS, PAPER.grid)):
        known.add(fingerprint(PAPER, Sets(ratings), grid))
    known.add(fingerprint(PAPER, Sets(RATINGS, other), QUICK))  # a given test set
    sources = list(repetitions._sources(PAPER))
    changed = tmp_path / "changed.py"
    changed.write_bytes(sources[-1].read_bytes() + b"# one more line\n")
    monkeypatch.setattr(repetitions, "_sources", lambda paper: [*sources[:-1], changed])
    known.add(fingerprint(PAPER, Sets(RATINGS), QUICK))
    assert len(known) == 5
    case = Case("noise", epsilon=1.0)
    for about in known:
        kept = Kept(tmp_path / "kept", about)
        assert kept.get(1, case) is None
        kept.put(1, case, {"means": 0.5})
        kept.write()
    assert len(list((tmp_path / "kept").iterdir())) == 5


def test_the_fingerprint_covers_what_makes_numbers_and_only_that():
    names = {str(path) for path in repetitions._sources(PAPERS["hybrid"].load())}
    own = {name.rsplit("/", 1)[1] for name in names if "hybrid_knn" in name}
    assert {"algorithm.py", "sound.py", "experiment.py", "privacy.py"} <= own
    assert not own & {"claims.py", "figures.py", "paper.py"}
    assert any(name.endswith("kernels/gram.py") for name in names) and not any("/cli/" in name for name in names)


def test_a_file_that_is_none_or_about_something_else_is_not_read(tmp_path):
    case = Case("noise", epsilon=1.0)
    for text in ("[]", "{", json.dumps({"about": "another", "numbers": {"1": {repr(case): {"means": 0.1}}}})):
        (tmp_path / "one.json").write_text(text)
        assert Kept(tmp_path, "one").get(1, case) is None


def test_settings_are_in_the_order_of_the_grid():
    grid = Grid(gamma=(1, 2), epsilon=(3,))
    assert grid.cases("both", "epsilon", gamma=1) == [Case("both", gamma=1, epsilon=3)]
    assert [case.setting for case in grid.cases("both", "gamma", "epsilon")][1] == "gamma 2 and epsilon 3"


@pytest.mark.parametrize(("given", "sentence"), [({"seeds": 0}, "at least 1"), ({"figures": [2]}, "are 1, got 2")])
def test_refuses_what_there_is_not(given, sentence):
    with pytest.raises(InputError, match=sentence):
        run(PAPER, RATINGS, **given)


# ── Claims ──


def test_the_toy_is_judged(outcome):
    judged = judge_all(PAPER.claims(outcome.grid), outcome, PAPER.judged, PAPER.run_on)
    assert [(one.source, one.first.reproduces) for one in judged] == [
        ("the paper", True),
        ("the paper", False),
        ("other data", None),
        ("ours", True),
    ]
    assert count(judged, "means") == (1, 2)
    assert judged[2].first.numbers.startswith("the paper says it of netflix, not of made up; here: ")


def test_a_claim_about_other_data_is_judged_there(outcome):
    there = replace(outcome, data=replace(outcome.data, name="netflix"))
    judged = judge_all(PAPER.claims(there.grid), there, PAPER.judged, PAPER.run_on)
    assert judged[2].source == "the paper" and judged[2].first.reproduces is not None
    assert count(judged, "means")[1] == 3


@pytest.mark.parametrize("changed", [{"name": "ml-1m"}, {"most_rated": 20}])
def test_on_data_that_the_paper_never_had_nothing_of_it_is_counted(outcome, changed):
    other = replace(outcome, data=replace(outcome.data, **changed))
    judged = judge_all(PAPER.claims(other.grid), other, PAPER.judged, PAPER.run_on)
    assert [one.source for one in judged] == ["other data"] * 3 + ["ours"]
    assert all(one.first.reproduces is None for one in judged[:3]) and count(judged, "means") == (0, 0)
    said = f"the paper says it of made up, made-up.csv and netflix, not of {other.data.title}; here: "
    assert judged[0].first.numbers.startswith(said)


def test_data_that_are_cut_as_the_paper_did_are_the_papers(outcome):
    cut = replace(outcome, data=replace(outcome.data, most_rated=20))
    run_on = [replace(PAPER.run_on[0], most_rated=20)]
    assert judge_all(PAPER.claims(cut.grid), cut, PAPER.judged, run_on)[0].source == "the paper"
    assert cut.data.title == "made up (20 most rated items)"


def test_every_reading_that_counts_is_counted(outcome):
    """The middle of the scale is as good for every epsilon: it does not fall, and costs nothing."""
    paper = replace(PAPER, judged=("means", "middle"), counted=("means", "middle"))
    found = Reproduction(paper, outcome)
    assert found.to_json()["reproduces"] == {"means": {"claims": 1, "of": 2}, "middle": {"claims": 1, "of": 2}}
    assert "**1 of 2 claims reproduce noisy means and 1 of 2 the middle** on made up" in found.document()
    assert re.search(r"\| noisy means: .*; the middle: ", found.document())


def test_what_cannot_be_judged_says_why_and_does_not_count(outcome):
    claims = [
        Claim(1, "nothing was run", lambda seen: None),
        Claim(1, "has no counterpart", lambda seen: Finding(True, ""), not_for={"means": "because"}),
        Claim(2, "another figure", lambda seen: Finding(True, "")),
    ]
    judged = judge_all(claims, outcome, ["means"], PAPER.run_on)
    assert [one.first.reproduces for one in judged] == [None, None]
    assert [one.first.numbers for one in judged] == ["nothing was run that it is about", "because"]
    assert count(judged, "means") == (0, 0)


# ── What is written ──


def test_a_reproduction_comes_back_as_it_was(tmp_path, outcome):
    found = Reproduction(PAPER, outcome)
    found.write(tmp_path)
    again = read_reproduction(PAPER, tmp_path / "results.json")
    assert again.to_json() == found.to_json()
    assert again.document() == found.document()
    assert {path.name for path in tmp_path.iterdir()} == {"page.html", "results.json", "figure-1.png"}


def test_a_reproduction_of_another_paper_is_refused(tmp_path, outcome):
    Reproduction(PAPER, outcome).write_document(tmp_path)
    with pytest.raises(InputError, match="is a reproduction of toy, not of other"):
        read_reproduction(replace(PAPER, name="other"), tmp_path / "toy.json")
    (tmp_path / "none.json").write_text("[]")
    for name in ("none.json", "missing.json"):
        with pytest.raises(InputError, match="reproduction"):
            read_reproduction(PAPER, tmp_path / name)


def test_the_documentation_has_the_verdicts_the_picture_and_the_notes(tmp_path, outcome):
    page = Reproduction(PAPER, outcome).write_document(tmp_path).read_text(encoding="utf-8")
    assert "**1 of 2 claims reproduce** on made up" in page
    assert "| Fig. 1 | RMSE falls as epsilon grows | ✓ |" in page and "| Fig. 1 | noise costs nothing | ✗ |" in page
    assert "| Fig. 1 | it works on Netflix | \N{EN DASH} |" in page
    assert "Few ratings need much noise." in page
    for target in re.findall(r"\]\(([^)]+)\)", page):
        assert (tmp_path / target).exists()


# ── On the command line ──


@pytest.fixture
def listed(monkeypatch):
    """The toy as one more line of the table of papers."""

    class Toy(Listed):
        def load(self):
            return PAPER  # it is no folder of the package

    monkeypatch.setattr(reproduce.app, "registered_commands", list(reproduce.app.registered_commands))
    reproduce.add_paper("toy", Toy("toy_paper", "NoisyMeans", "Noisy means."))


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "made-up.csv"
    rows = zip(RATINGS.user_index, RATINGS.item_index, RATINGS.values, strict=True)
    path.write_text("\n".join(["user,item,rating", *(f"{user},{item},{value}" for user, item, value in rows), ""]))
    return path


def test_the_toy_is_named_on_the_command_line(listed, table, tmp_path, monkeypatch, capsys):
    def discreet(*words):
        with pytest.raises(SystemExit) as ended:
            app([str(word) for word in words], prog_name="discreet")
        assert int(ended.value.code or 0) == 0
        return capsys.readouterr().out

    out, how = tmp_path / "out", ("--data", table, "--scale", "1:5", "--quick")
    with monkeypatch.context() as patched:
        stop_after(patched, 4)
        with pytest.raises(StoppedError):
            app(["reproduce", "toy", *map(str, how), "-o", str(out)], prog_name="discreet")
    capsys.readouterr()
    measured = stop_after(monkeypatch, 100)
    printed = discreet("reproduce", "toy", *how, "-o", out, "--document", tmp_path / "docs")
    assert len(measured) == 2  # of six, after four
    assert "1 of 2 claims reproduce on made-up.csv" in printed and "✗ does not" in printed
    stored = json.loads((out / "results.json").read_text())
    assert stored["reproduces"] == {"means": {"claims": 1, "of": 2}}
    page, picture = (tmp_path / f"docs/toy-made-up.csv{ending}" for ending in (".md", "-figure-1.png"))
    assert page.exists() and picture.exists()  # not the first data that the paper was run on: a page of their own
    # From the stored numbers alone, the same again.
    again = json.loads(discreet("reproduce", "toy", "--from", out / "results.json", "-o", tmp_path / "again", "--json"))
    assert again["claims"] == stored["claims"] and len(measured) == 2
    assert "Noisy means." in discreet("reproduce", "--help")


def test_a_paper_is_short():
    assert len(Path(toy_paper.__file__).read_text(encoding="utf-8").splitlines()) <= 150


def test_the_toy_is_a_published_system():
    model = NoisyMeans(epsilon=2.0)
    assert isinstance(model, Published)
    assert model.fit(RATINGS).guarantee.claimed.epsilon == 2.0 and model.fit(RATINGS).guarantee.proven is None
    _, looks = model.observe(RATINGS, dc.Randomness(1))
    assert [look.scale for look in looks] == [toy_paper.sensitivity(RATINGS) / 2]
    assert np.allclose(NoisyMeans(epsilon=None).fit(RATINGS).arrays["mean"], toy_paper.exact_means(RATINGS))
