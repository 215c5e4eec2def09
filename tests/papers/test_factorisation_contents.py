"""The tables of everything in both papers name everything in them. The lists here were read off the papers, by hand."""

import re
from pathlib import Path

import pytest

import discreet as dc
from discreet.papers.frame.contents import missing
from discreet.papers.names import PAPERS, kinds
from discreet.papers.objective_perturbation import claims as objective
from discreet.papers.personalised import claims as personalised

RULES = Path(__file__).parents[2] / "docs/papers/rules.md"

NUMBERED = {
    "objective-perturbation": [
        *(f"Eq. ({number})" for number in range(1, 14)),
        "Definition 1",
        "Theorem 1",
        "Theorem 2",
        "Lemma 1",
        *(f"Fig. {number}" for number in range(1, 11)),
    ],
    "personalised": [
        *(f"Eq. ({number})" for number in range(1, 17)),
        *(f"Definition {number}" for number in (1, 2, 3, 5)),
        "Theorem 4",
        "Theorem 6",
        "Remark 7",
        "Algorithm 1",
        "Algorithm 2",
        *(f"Table {number}" for number in range(1, 5)),
        *(f"Fig. {number}" for number in range(1, 6)),
    ],
}
SAID = {
    "objective-perturbation": [
        "acceptable side effects",
        "limited side effects",
        "increases with the iteration number and the privacy budget",
        "negligible when epsilon >= 0.15",
        "below 0.03",
        "just after 40 iterations",
        "slightly deceases",
        "escape from local optimums",
        "little side effects",
        "feasible when the central server is untrusted",
    ],
    "personalised": [
        "much better than the DP-PMF scheme",
        "performs well on protecting",
        "increases approximately linearly",
        "much smaller than that of DP-PMF",
        "always around 1.0",
        "gives worse prediction",
        "overlap each other",
        "achieve 70%",
        "decreases approximately linearly",
        "among [0.94, 0.97]",
        "almost flat",
        "slight influence",
        "best choice of sampling threshold",
        "quite small",
        "around 2.2%",
        "outperforms the DP-PMF scheme",
        "prevent more noise interference",
    ],
}


@pytest.mark.parametrize("name", NUMBERED)
def test_it_names_everything_that_has_a_number_and_nothing_else(name):
    kinds = r"(Eq|Definition|Theorem|Lemma|Remark|Fig|Algorithm|Table)\b"
    found = [entry.place for entry in PAPERS[name].load().contents if re.match(kinds, entry.place)]
    assert sorted(found) == sorted(NUMBERED[name])


@pytest.mark.parametrize("name", SAID)
def test_it_names_every_claim_in_its_own_words(name):
    said = [entry.says for entry in PAPERS[name].load().contents if entry.says.startswith('"')]
    assert [words for words in SAID[name] if not any(words in text for text in said)] == []
    assert [text for text in said if not any(words in text for words in SAID[name])] == []


@pytest.mark.parametrize("name", NUMBERED)
def test_what_it_names_is_there_and_every_claim_is_in_it(name):
    listed = PAPERS[name]
    paper = listed.load()
    assert missing(paper.contents, listed.folder, paper.claims(paper.grid)) == []
    judged = {claim.text for claim in paper.claims(paper.grid) if not claim.ours}
    assert judged <= {text for entry in paper.contents for text in entry.claims}


def test_the_rules_have_every_word_that_is_judged():
    """The limits on the page are those of the code."""
    rules = RULES.read_text(encoding="utf-8")
    for words in (
        f"| acceptable, close, little, small, limited | up to {objective.ACCEPTABLE:.0%} |",
        f"| negligible, extremely close | up to {objective.NEGLIGIBLE:.0%} |",
        f"| much, sharply | by more than what counts as close: {personalised.MUCH:.0%} |",
        f"| about linear | nowhere further from the best straight line than {personalised.LINEAR:.0%} of its range |",
        f"| slight, quite small | up to {personalised.SMALL:.0%} |",
        f"| almost flat, overlap | within {personalised.FLAT:.0%} |",
        "| around, about | within a quarter |",
    ):
        assert words.replace("%", " %") in rules
    assert personalised.AROUND == 0.25


def test_a_paper_may_have_several_systems():
    assert PAPERS["personalised"].models == ("paper:personalised", "paper:dp-pmf")
    assert kinds()["paper:dp-pmf"] is dc.papers.DPPMF and kinds()["paper:personalised"] is dc.papers.PDPPMF
    assert kinds()["paper:objective-perturbation"] is dc.papers.ObjectivePerturbedMF
