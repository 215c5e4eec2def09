"""Every paper has a page in the documentation, and the page is what the frame makes of the stored numbers."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from discreet.papers.frame.pages import document_name, document_of
from discreet.papers.frame.reproduction import read_reproduction
from discreet.papers.hybrid_knn import claims
from discreet.papers.names import PAPERS

DOCS = Path(__file__).parents[2] / "docs"
every_paper = pytest.mark.parametrize("name", PAPERS)
every_run = pytest.mark.parametrize("path", sorted(DOCS.glob("papers/*.json")), ids=lambda path: path.stem)


def reproduced(path):
    return read_reproduction(PAPERS[json.loads(path.read_text(encoding="utf-8"))["paper"]].load(), path)


@every_run
def test_the_page_is_what_the_numbers_say(path):
    page = path.with_suffix(".md")
    written = page.read_text(encoding="utf-8")
    assert written == reproduced(path).document(), f"write it again: the first line of {page.name} says how"


@every_run
def test_the_stored_verdicts_are_those_of_today(path):
    assert json.loads(path.read_text(encoding="utf-8")) == reproduced(path).to_json()


def test_the_paper_s_other_data_have_a_page_of_their_own():
    found = reproduced(DOCS / "papers/neighbourhood.json")
    other = replace(found.outcome, data=replace(found.outcome.data, name="ml-1m"))
    assert (document_name(found.paper, found.outcome), document_name(found.paper, other)) == (
        "neighbourhood",
        "neighbourhood-ml-1m",
    )
    assert "--data ml-1m" in document_of(found.paper, other, found.judged)


@every_paper
def test_the_index_names_every_paper(name):
    index = (DOCS / "papers.md").read_text(encoding="utf-8")
    assert f"(papers/{name}.md)" in index and all(model in index for model in PAPERS[name].models)


def test_the_rules_are_linked_and_have_every_word_that_is_judged():
    """The limits on the page are those of the code."""
    for page, link in (("papers.md", "(papers/rules.md)"), ("../CONTRIBUTING.md", "(docs/papers/rules.md)")):
        assert link in (DOCS / page).read_text(encoding="utf-8")
    rules = (DOCS / "papers/rules.md").read_text(encoding="utf-8")
    for words in (
        f"| acceptable, close, little, small, limited | up to {claims.ACCEPTABLE:.0%} |".replace("%", " %"),
        f"| approaches a constant | steps get no larger, and the last is up to {claims.FLAT:.0%} |".replace("%", " %"),
        f"| flat | within {claims.FLAT:.0%} of the last |".replace("%", " %"),
        f"| nothing is lost | up to {claims.NOTHING:.0%} |".replace("%", " %"),
        "| rapidly | three times as much",
    ):
        assert words in rules
    assert claims.RAPID == 3


@every_paper
def test_what_is_stored_is_the_whole_grid_as_often_as_the_paper_says(name):
    paper = PAPERS[name].load()
    outcome = read_reproduction(paper, DOCS / f"papers/{name}.json").outcome
    assert outcome.seeds == paper.seeds and outcome.grid == paper.grid and outcome.figures == paper.numbers
