"""The table of everything in the paper names everything in the paper. The list here was read off it, by hand."""

import re

import pytest

from discreet.papers.frame.claims import Claim
from discreet.papers.frame.contents import Entry, missing, table_of
from discreet.papers.hybrid_knn.paper import PAPER

EQUATIONS = (1, 2)
DEFINITIONS = (1,)
THEOREMS = (1, 2, 3, 4)
FIGURES = (1, 2, 3, 4, 5, 6, 7, 8, 9)
ALGORITHMS = TABLES = ()  # it has none
FORMULAS = {  # without numbers
    "2.1": ["GAvg", "r'", "UAvg", "IAvg", "beta", "Cov", "kNN"],
    "2.2": ["composability", "sensitivity", "Laplace mechanism"],
    "2.3": ["disguise"],
    "3.1": ["GAvg", "IAvg", "UAvg", "clamp", "Cov"],
    "3.2": ["sensitivities", "GAvg*", "Cov*"],
    "4.1": ["RMSE", "data", "settings", "repetitions"],
}
CLAIMS = {
    "Abstract": [
        "limited effect on recommendation accuracy",
        "well controlled based on the sensitivity analysis",
        "acceptable recommendation accuracy loss",
        "sometimes achieves better privacy without sacrificing accuracy",
    ],
    "1.2": [
        "no one can infer any single user's data",
        "limited effect",
        "well controlled",
        "acceptable",
        "sometimes achieves better privacy",
        "feasible",
    ],
    "3.2": ["stronger privacy protection than DP"],
    "4.2.1": ["decreases on all three datasets"],
    "4.2.2": ["decreases rapidly", "approaches to a constant", "contributes little"],
    "4.2.3": [
        "overall trend of DP remains the same",
        "larger gamma often leads to less accuracy",
        "gamma = 0.5 is more accurate than",
        "in most cases the combination of DP and RP makes recommendation less accurate",
        "sometimes outperforms DP only, especially when gamma is small",
        "acceptable on MovieLens and Netflix",
        "not satisfactory on Yahoo",
        "similar rating distribution",
        "overall trend of RP remains the same",
        "smaller epsilon is more likely to make the recommendation less accurate",
        "for MovieLens dataset, the combination of RP and DP makes recommendation less accurate, but in an acceptable",
        "for any combination of gamma and epsilon",
        "still unsatisfactory on Yahoo",
    ],
    "4.2.4": [
        "running time increases when the rating matrix becomes large",
        "only needs 33 s",
        "less than 2.5 h",
        "mainly comes from DP",
        "same computation complexity as DP",
        "stronger privacy protection than DP",
    ],
    "4.2.5": [
        "better performance than the hybrid",
        "sufficient privacy guarantee",
        "difference of the two methods is small",
    ],
    "4.2.6": ["acceptable", "without sacrificing accuracy", "does not affect their original trend"],
    "5": ["limited effect", "well controlled", "no one can infer", "feasible"],
}
NUMBERED = [
    *(f"Eq. ({number})" for number in EQUATIONS),
    *(f"Definition {number}" for number in DEFINITIONS),
    *(f"Theorem {number}" for number in THEOREMS),
    *(f"Fig. {number}" for number in FIGURES),
]


def test_it_names_everything_that_has_a_number_and_nothing_else():
    numbered = [
        entry.place
        for entry in PAPER.contents
        if re.match(r"(Eq|Definition|Theorem|Fig|Algorithm|Table)\b", entry.place)
    ]
    assert sorted(numbered) == sorted(NUMBERED)


@pytest.mark.parametrize("section", FORMULAS)
def test_it_names_every_formula_without_a_number(section):
    found = [entry.place.split(", ", 1)[1] for entry in PAPER.contents if entry.place.startswith(f"{section}, ")]
    assert sorted(found) == sorted(FORMULAS[section])


@pytest.mark.parametrize("place", CLAIMS)
def test_it_names_every_claim_in_its_own_words(place):
    said = [entry.says for entry in PAPER.contents if place in entry.place.split("; ") and entry.says.startswith('"')]
    assert [words for words in CLAIMS[place] if not any(words in text for text in said)] == []
    assert [text for text in said if not any(words in text for words in CLAIMS[place])] == []


def test_what_it_names_is_there():
    assert missing(PAPER.contents, "hybrid_knn", PAPER.claims(PAPER.grid)) == []


def test_every_claim_of_the_paper_that_is_judged_is_in_the_table():
    judged = {claim.text for claim in PAPER.claims(PAPER.grid) if not claim.ours}
    assert judged <= {text for entry in PAPER.contents for text in entry.claims}


def test_a_wrong_name_is_noticed():
    wrong = [
        Entry("1", "gone", ["algorithm.nothing"]),
        Entry("2", "gone", ["nowhere.nothing"]),
        Entry("3", "renamed", claims=["it is so"]),
        Entry("4", "forgotten"),
        Entry("5", "there", ["algorithm.PerturbedStatistics.dampings"], ["it was so"]),
    ]
    found = missing(wrong, "hybrid_knn", [Claim(2, "it was so", lambda seen: None)])
    assert found == ["1: algorithm.nothing", "2: nowhere.nothing", "3: it is so", "4: neither a place nor a reason"]
    assert table_of(wrong).rows[4] == ["5", "there", "algorithm.PerturbedStatistics.dampings; verdict: it was so"]
