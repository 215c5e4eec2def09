"""Every paper has a page in the documentation, and the page is what the frame makes of the stored numbers."""

import json
from pathlib import Path

import pytest

from discreet.papers.frame.reproduction import read_reproduction
from discreet.papers.hybrid_knn import claims
from discreet.papers.names import PAPERS

DOCS = Path(__file__).parents[2] / "docs"
every_paper = pytest.mark.parametrize("name", PAPERS)


@every_paper
def test_the_page_is_what_the_numbers_say(name):
    found = read_reproduction(PAPERS[name].load(), DOCS / f"papers/{name}.json")
    written = (DOCS / f"papers/{name}.md").read_text(encoding="utf-8")
    assert written == found.document(), f"write it again: the first line of docs/papers/{name}.md says how"


@every_paper
def test_the_stored_verdicts_are_those_of_today(name):
    path = DOCS / f"papers/{name}.json"
    assert json.loads(path.read_text(encoding="utf-8")) == read_reproduction(PAPERS[name].load(), path).to_json()


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
