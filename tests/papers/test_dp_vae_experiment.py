"""The experiments on made-up ratings, the tables theirs beside ours, and every claim on made-up numbers."""

import re
from dataclasses import replace

import numpy as np
import pytest

import discreet as dc
from discreet.data.catalogue import Scale
from discreet.errors import InputError
from discreet.papers.dp_vae.baselines import BASELINES, nearest_users
from discreet.papers.dp_vae.experiment import FACTORS, METRICS, NETWORKS, Repetition, measured, ranked
from discreet.papers.dp_vae.printed import LEVELS, MODELS, OTHERS, printed
from discreet.papers.frame.cases import Case
from discreet.papers.frame.claims import judge_all
from discreet.papers.frame.contents import missing
from discreet.papers.frame.outcome import Data, Outcome
from discreet.papers.frame.reproduction import Reproduction
from discreet.papers.frame.sets import Sets
from discreet.papers.names import PAPERS, kinds

PAPER = PAPERS["dp-vae"].load()
RATINGS = dc.synthetic(users=50, items=120, ratings=2000, seed=1)
DATA = Data(name="ml-100k", users=943, items=1682, ratings=100_000, scale=Scale(1, 5), counts={1: 6, 5: 21})
NUMBERED = [
    *(f"Eq. ({number})" for number in range(1, 23)),
    *(f"Definition {number}" for number in (1, 2, 3)),
    "Lemma 1",
    *(f"Theorem {number}" for number in (1, 2, 3, 4)),
    *(f"Algorithm {number}" for number in (1, 2, 3)),
    *(f"Table {number}" for number in range(1, 12)),
    *(f"Fig. {number}" for number in (1, 2, 3)),
]


# ── What is run ──


def test_every_case_of_every_table_and_figure_has_a_method():
    cases = PAPER.cases(PAPER.grid, PAPER.numbers)
    assert PAPER.numbers == (3, 5, 6, 7, 8, 9, 10, 11)
    assert {case.method for case in cases} == {*BASELINES, *NETWORKS, *FACTORS}
    assert len(cases) == len(set(cases))


@pytest.mark.parametrize("method", ["KNN", "popularity", "random", "popularity, proven"])
def test_a_method_is_read_in_every_way(method):
    repetition = Repetition(Sets(RATINGS), 1)
    for kind, rank in METRICS:
        found = repetition.measure(measured(method, kind, rank))
        assert set(found) == {"masked", "unmasked", "training", "users"}
        assert all(0 <= value <= 1 for value in found.values())


def test_networks_and_factors_run_on_small_data(monkeypatch):
    """All with tiny settings; what is diverged or at chance is still a ranking."""
    pytest.importorskip("dp_accounting")
    small = {"epochs": 2, "hidden": 8, "latent": 4}
    for name, settings in NETWORKS.items():
        monkeypatch.setitem(NETWORKS, name, settings | small)
    repetition = Repetition(Sets(RATINGS), 1)
    for name in NETWORKS:
        assert np.isfinite(list(repetition.measure(measured(name, "ndcg", 100.0)).values())).all()
    found = repetition.measure(measured("VAE", "recall", 20.0, built=1.0))
    assert set(found) == {"masked", "unmasked", "training"}


def test_repetitions_are_the_same_again():
    cases = [measured("popularity, proven", "ndcg", 100.0), measured("KNN", "recall", 20.0)]
    once, again = (Repetition(Sets(RATINGS), 7) for _ in range(2))
    assert [once.measure(case) for case in cases] == [again.measure(case) for case in cases]


def test_training_items_are_found_again_only_where_they_count():
    """A ranking that puts everybody's training items first is perfect in one reading, and useless in another."""
    train, _, test = RATINGS.split_each_user((0.8, 0.1, 0.1), 1)
    scores = np.zeros((50, 120), dtype=np.float32)
    scores[train.user_index, train.item_index] = 1
    counted, _ = ranked(scores, [], RATINGS)
    alone, _ = ranked(scores, [], test)
    assert counted[:, :20].all() and not alone[:, :20].any()


def test_nearest_users_against_the_formula_one_by_one():
    ratings = dc.synthetic(users=12, items=15, ratings=90, seed=2)
    found = nearest_users(ratings, ratings)
    dense = ratings.csr.toarray()
    for user, item in ((0, 0), (3, 7), (11, 14), (5, 2)):
        votes = []
        for other in range(12):
            both = (dense[user] > 0) & (dense[other] > 0)
            if other != user and dense[other, item] > 0 and both.any():
                weight = 1 / (1 + np.mean((dense[user, both] - dense[other, both]) ** 2))
                votes.append((weight, dense[other, item]))
        expected = sum(w * r for w, r in votes) / sum(w for w, _ in votes) if votes else 3.0
        assert found[user, item] == pytest.approx(expected, rel=1e-4)


# ── What is printed ──


def test_the_tables_are_as_printed():
    assert MODELS["DP-VAE"] == (0.41, 0.53, 0.52) and MODELS["LightFM"] == (0.25, 0.18, 0.28)
    assert LEVELS[0.3] == (0.28, 0.20, 0.22) and OTHERS["AE, their clip"] == (0.28, 0.38, 0.41)
    by_number = {table.number: table for table in printed(PAPER.grid)}
    assert sorted(by_number) == [5, 6, 7, 8, 9, 10, 11]
    (row,) = [row for row in by_number[6].rows if row.method == "VAE, priors" and row.metric == "Recall@20"]
    assert row.printed == {"ml-100k": 0.62, "ml-20m": 0.55, "netflix": 0.68}


def test_tables_and_figures_are_chosen_by_their_numbers():
    assert PAPER.figures_to_draw((), (8,)) == (8,) and PAPER.figures_to_draw((3,), (11,)) == (3, 11)
    assert PAPER.numbers_to_run((3, 8)) == (3, 8) and PAPER.figures_to_draw() == PAPER.numbers
    with pytest.raises(InputError, match="the tables with results are 5, 6, 7, 8, 9, 10, 11, got 4"):
        PAPER.figures_to_draw((), (4,))
    with pytest.raises(InputError, match="the figures with results are 3, got 8"):
        PAPER.figures_to_draw((8,))
    with pytest.raises(InputError, match="no tables with results, got 1"):
        PAPERS["personalised"].load().figures_to_draw((), (1,))


# ── Claims ──


def made_up(value) -> Outcome:
    """An outcome in which every case has the number that ``value`` says, in all readings."""
    cases = PAPER.cases(PAPER.grid, PAPER.numbers)
    numbers = {case: {name: [value(case)] * 2 for name in PAPER.readings} for case in cases}
    return Outcome(data=DATA, seeds=2, grid=PAPER.grid, figures=PAPER.numbers, numbers=numbers)


def as_printed(case: Case) -> float:
    """What the paper prints, and for all else something that its words allow."""
    place = {"ndcg": 0, "recall": 1}["ndcg" if case.get("ndcg") else "recall"]
    rank = case.get("ndcg") or case["recall"]
    for table in (6, 7, 8, 10, 11):
        for row in next(one for one in printed(PAPER.grid) if one.number == table).rows:
            if row.case == case and "ml-100k" in row.printed:
                return row.printed["ml-100k"]
    if case.method in ("KNN", "SVD") and place == 0 and rank == 10:
        return 0.45
    if case.method == "random":
        return 0.03
    if case.method == "DP-VAE":
        return 0.41 + (0.01 if place else 0)
    return {"VAE": 0.43, "VAE, priors": 0.44}.get(case.method, 0.2) + (0.02 if case.get("built") else 0)


def verdicts(outcome):
    judged = judge_all(PAPER.claims(PAPER.grid), outcome, PAPER.judged, PAPER.run_on)
    return {one.claim: (one.source, one.verdicts["masked"].reproduces) for one in judged}


def test_the_printed_numbers_bear_out_the_paper_s_claims():
    found = verdicts(made_up(as_printed))
    own = {claim: held for claim, (source, held) in found.items() if source == "the paper"}
    assert [claim for claim, held in own.items() if not held] == []
    assert len(own) == 13
    other = [claim for claim, (source, held) in found.items() if source == "other data" and held is None]
    assert len(other) == 2


def test_numbers_that_are_all_the_same_bear_out_nothing():
    found = verdicts(made_up(lambda case: 0.03))
    assert not any(held for source, held in found.values() if source == "the paper")


def test_what_was_not_run_is_not_judged():
    """Of one table alone, claims that need another are left open."""
    whole = made_up(as_printed)
    cases = set(PAPER.cases(PAPER.grid, (10,)))
    part = replace(whole, figures=(10,), numbers={case: of for case, of in whole.numbers.items() if case in cases})
    found = verdicts(part)
    assert found["at an epsilon of 0.5 DP-VAE is much better than all models but VAE"][1] is None
    assert found["a larger epsilon gives a better model"][1] is True


def test_the_page_has_the_tables_and_the_pictures():
    found = Reproduction(PAPER, made_up(as_printed))
    page = found.document()
    for title in ("Table 8: all models", "Table 10: over the largest level", "What Optimal_Clip tells"):
        assert f"## {title}" in page
    assert "| DP-VAE | NDCG@100 | 0.41 | 0.410 ± 0.000 |" in page
    assert "The paper has these numbers for ml-20m, netflix alone." in page
    assert {picture.name for picture in found.pictures} >= set(PAPER.pictured)


# ── Everything in the paper ──


def test_it_names_everything_that_has_a_number_and_nothing_else():
    pattern = r"(Eq|Definition|Theorem|Lemma|Fig|Algorithm|Table)\b"
    found = [entry.place for entry in PAPER.contents if re.match(pattern, entry.place)]
    assert sorted(found) == sorted(NUMBERED)


def test_what_it_names_is_there_and_every_claim_is_in_it():
    assert missing(PAPER.contents, "dp_vae", PAPER.claims(PAPER.grid)) == []
    judged = {claim.text for claim in PAPER.claims(PAPER.grid) if not claim.ours}
    assert judged <= {text for entry in PAPER.contents for text in entry.claims}


def test_it_is_a_model():
    assert kinds()["paper:dp-vae"] is dc.papers.DPVAE
