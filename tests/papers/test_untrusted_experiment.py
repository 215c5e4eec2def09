"""The paper on made-up ratings, every claim on numbers that are made up to hold or to fail, and its contents."""

import re
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.data.catalogue import Scale
from discreet.papers.frame.cases import Case
from discreet.papers.frame.claims import judge_all
from discreet.papers.frame.contents import missing
from discreet.papers.frame.outcome import Data, Outcome
from discreet.papers.frame.repetitions import run
from discreet.papers.frame.reproduction import Reproduction
from discreet.papers.frame.sets import Sets
from discreet.papers.names import PAPERS
from discreet.papers.untrusted import claims
from discreet.papers.untrusted.costs import measured
from discreet.papers.untrusted.experiment import MF, OVERFLOW, Repetition, s3

RATINGS = dc.synthetic(users=60, items=30, ratings=1200, seed=1)
PAPER = PAPERS["untrusted"].load()
DATA = Data(name="ml-100k", users=943, items=1682, ratings=100_000, scale=Scale(1, 5), counts={1: 6, 5: 21})
NUMBERED = [
    *(f"Eq. ({number})" for number in range(1, 14)),
    "Definition 1",
    "Theorem 1",
    "Theorem 2",
    "Lemma 1",
    *(f"Fig. {number}" for number in range(1, 11)),
]
SAID = [
    "acceptable side effects",
    "limited side effects",
    "infeasible for him to remove this noise piece",
    "users can easily monitor",
    "can only harm himself",
    "significantly affected",
    "infeasible for the curious third-party",
    "slightly affected",
    "infer the true value of eta",
    "very close to those of S1",
    "around 0.14",
    "near 0 for MovieLens",
    "extremely close to the baseline after 10000 iterations",
    "below 0.1 when epsilon = 0.8",
    "indistinguishable from the baseline",
    "as the joining probability increases",
    "leaving probability is not so obvious",
    "at most 12KB",
    "at most 5KB",
    "less than 3MB",
    "5.7e-4 ms and 400ms",
    "confined to 5s",
    "little side effects",
    "feasible when the central server is untrusted",
]


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    return run(PAPER, RATINGS, data="ml-100k", seeds=1, grid=PAPER.quick)


def test_every_figure_is_run_drawn_and_judged(outcome):
    assert outcome.figures == PAPER.numbers == tuple(range(3, 11))
    for readings in outcome.numbers.values():
        assert all(len(numbers) == 1 and np.isfinite(numbers).all() for numbers in readings.values())
        assert set(readings) <= set(PAPER.readings)
    found = Reproduction(PAPER, outcome)
    page = found.document()
    assert "Proven epsilon: none" in page and "claims reproduce" in page
    for title in ("What the rounds cost together", "Traffic and time of a round", "Our own questions"):
        assert f"## {title}" in page
    assert {picture.name for picture in found.pictures} >= set(PAPER.pictured)


def test_one_figure_alone_has_all_that_its_claims_are_about():
    found = run(PAPER, RATINGS, data="ml-100k", seeds=1, grid=PAPER.quick, figures=[10])
    judged = Reproduction(PAPER, found).judged
    assert {one.figure for one in judged} == {10}
    assert all(verdict.reproduces is not None for one in judged for verdict in one.verdicts.values())


def test_what_overflows_is_as_wrong_as_can_be_and_runs_share_their_rounds():
    repetition = Repetition(Sets(RATINGS), 1)
    repetition.rounds = (5, 20)
    late = repetition.measure(s3(20, 0.1))
    assert late["mean"] == OVERFLOW and late["ball"] < OVERFLOW
    assert s3(5, 0.1) in repetition._errors  # of the same run
    assert repetition.measure(Case("increase of S3", **dict(s3(5, 0.1).settings)))["ball"] == pytest.approx(
        repetition.measure(s3(5, 0.1))["ball"] - repetition.measure(MF)["ball"]
    )
    assert repetition.measure(s3(20))["shrunk"] == repetition.measure(s3(20))["mean"]


def test_noise_alone_fits_training_ratings_where_users_have_few():
    """Three ratings a user and fifty factors, as in the Netflix data: any V fits, so training errors say nothing."""
    few = dc.synthetic(users=300, items=100, ratings=900, seed=1)
    assert Repetition(Sets(few), 1).measure(Case("noise alone"))["home"] < 0.02


def test_bytes_are_those_of_the_messages():
    """20 items, d 50: 1,000 numbers each for v, ψ, τ̂ and H; 4 bytes for each name."""
    assert measured(Case("download", bytes=4)) == (4 * 4000 + 4 * 2 + 2 * 20 * 4) / 1000
    assert measured(Case("upload", bytes=4)) == (4000 + 4 * 2 + 20 * 4) / 1000
    assert measured(Case("third party sends", bytes=4)) == (4 * 500_000 + 4 + 4 * 1000 + 4 * 10_000) / 1000


def made_up(number) -> Outcome:
    cases = PAPER.cases(PAPER.grid, PAPER.numbers)
    numbers = {case: {reading: [number(case)] for reading in PAPER.readings} for case in cases}
    return Outcome(data=DATA, seeds=1, grid=PAPER.grid, figures=PAPER.numbers, numbers=numbers)


def as_published(case: Case) -> float:
    base = 0.6 - 0.001 * (case.get("joins") or 0)
    if case.method.startswith("increase"):
        return -(case.get("joins") or 0) - 0.01 * (case.get("leaves") or 0)
    if case.method in ("download", "upload", "third party sends"):
        return 4.0
    error = case.get("error")
    return base if error is None else float(1 - np.exp(-error / 0.6))


def upside_down(case: Case) -> float:
    if case.method.startswith("increase"):
        return 10 + 10 * (case.get("joins") or 0) + 99 * (case.get("leaves") or 0)
    if case.method in ("download", "upload", "third party sends"):
        return 4000.0
    worse = {"S2": 30.0, "S3": 40.0, "S1": 1.0}.get(case.method, 0.6)
    error = case.get("error")
    return worse if error is None else float(1 - np.exp(-error / worse))


def test_every_claim_can_hold_and_can_fail():
    held, failed = (
        {
            one.claim: one.first.reproduces
            for one in judge_all(PAPER.claims(PAPER.grid), made_up(number), PAPER.judged, PAPER.run_on)
            if one.source == "the paper"
        }
        for number in (as_published, upside_down)
    )
    assert len(held) == 10
    assert [text for text, verdict in held.items() if not verdict] == []
    assert [text for text, verdict in failed.items() if verdict] == []


def test_what_is_said_of_netflix_is_judged_there():
    found = made_up(as_published)
    netflix = Outcome(
        data=Data(name="netflix", users=9, items=9, ratings=9, scale=Scale(1, 5), counts={}),
        seeds=1,
        grid=found.grid,
        figures=found.figures,
        numbers=found.numbers,
    )
    judged = judge_all(PAPER.claims(PAPER.grid), netflix, PAPER.judged, PAPER.run_on)
    assert sum(one.source == "the paper" for one in judged) == 14


def test_the_rules_have_every_word_that_is_judged():
    """The limits on the page are those of the code."""
    rules = (Path(__file__).parents[2] / "docs/papers/rules.md").read_text(encoding="utf-8")
    assert f"| indistinguishable | up to {claims.NEGLIGIBLE:.0%} |".replace("%", " %") in rules
    assert f"| very close | within {claims.ACCEPTABLE:.0%} |".replace("%", " %") in rules
    assert claims.INCREASE == 0.03 and "| up to .03 stars" in rules and claims.AROUND == 0.25


def test_the_table_names_everything_in_the_paper():
    kinds = r"(Eq|Definition|Theorem|Lemma|Fig)\b"
    found = [entry.place for entry in PAPER.contents if re.match(kinds, entry.place)]
    assert sorted(found) == sorted(NUMBERED)
    said = [entry.says for entry in PAPER.contents if entry.says.startswith('"')]
    assert [words for words in SAID if not any(words in text for text in said)] == []
    assert [text for text in said if not any(words in text for words in SAID)] == []
    judging = PAPER.claims(PAPER.grid)
    assert missing(PAPER.contents, "untrusted", judging) == []
    judged = {claim.text for claim in judging if not claim.ours}
    assert judged <= {text for entry in PAPER.contents for text in entry.claims}
