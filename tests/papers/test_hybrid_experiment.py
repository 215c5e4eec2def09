"""The experiments end to end on made-up ratings, and every verdict on numbers that are made up to hold or to fail."""

from dataclasses import replace

import numpy as np
import pytest

import discreet as dc
from discreet.errors import InputError
from discreet.papers.hybrid_knn import figures, verdicts
from discreet.papers.hybrid_knn.algorithm import FORMS
from discreet.papers.hybrid_knn.experiment import FIGURES, SOUND, Case, Grid, Outcome, Timing, run

QUICK = Grid.quick()


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    return run(dc.synthetic(users=150, items=60, ratings=4000, seed=1), seeds=2, grid=QUICK)


def made_up(error, seeds: int = 2, grid: Grid = QUICK) -> Outcome:
    """RMSEs by a formula of the case and the form, a little different in every repetition."""
    errors = {
        case: {form: [error(case, form) + 1e-4 * seed for seed in range(seeds)] for form in FORMS}
        for case in grid.cases(FIGURES)
    }
    timings = (Timing(500, 1700, 50_000, 0.2), Timing(1000, 1700, 100_000, 0.4))
    return Outcome(data="made up", seeds=seeds, grid=grid, figures=FIGURES, errors=errors, timings=timings)


def as_the_paper_says(case: Case, form: str) -> float:
    """No privacy .9; a little more with gamma, much more below epsilon 1; the averages a little worse."""
    noise = 0.0 if case.epsilon is None else 0.001 if case.epsilon >= 1 else 0.08
    if case.method == "DP on RP":
        noise = 0.0
    # Somewhere, a perturbation of the least kind helps.
    helps = 0.05 if case.method == "hybrid" and case.gamma == QUICK.gammas[0] and case.epsilon == 10 else 0.0
    return 0.9 + 0.01 * case.gamma + noise - helps + (0.02 if form == "average" else 0.0)


def upside_down(case: Case, form: str) -> float:
    """Everything the other way round."""
    if case.epsilon is None:
        return (1.5 if case.method == "RP" else 1.0) - 0.05 * case.gamma
    steps = np.log10(case.epsilon / 0.1)  # 0, 1, 2
    error = 2.0 - 0.3 * steps - 0.05 * case.gamma + (0.0 if form == "average" else 0.2)
    if case.method == "hybrid":
        error = 3.0 + 0.3 * steps - 0.05 * case.gamma
    if case.method == "DP on RP":
        error += 2.0 if case.gamma == QUICK.gammas[0] else 0.0
    return error


def test_runs_every_figure(outcome):
    assert set(outcome.errors) == set(QUICK.cases(FIGURES))
    for case, forms in outcome.errors.items():
        assert set(forms) == ({"average"} if case.method in SOUND else set(FORMS))
        assert all(len(errors) == 2 and np.isfinite(errors).all() for errors in forms.values())
    assert [timing.users for timing in outcome.timings] == [75, 150]


def test_is_repeatable():
    ratings = dc.synthetic(users=60, items=30, ratings=900, seed=1)
    first, second = (run(ratings, seeds=1, figures=[9], grid=QUICK).errors for _ in range(2))
    assert first == second


def test_a_figure_runs_what_it_needs_and_no_more():
    assert {case.method for case in QUICK.cases([2])} == {"no privacy", "RP"}
    assert {case.method for case in QUICK.cases([9])} == {"hybrid", "DP on RP"}
    assert len(Grid().cases(FIGURES)) == len(set(Grid().cases(FIGURES)))


def test_refuses_what_there_is_not():
    ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    with pytest.raises(InputError, match="2 to 9"):
        run(ratings, figures=[1])
    with pytest.raises(InputError, match="seeds must be at least 1"):
        run(ratings, seeds=0)


def test_draws_every_figure(outcome, tmp_path):
    drawn = figures.pictures(outcome)
    assert [picture.name for picture in drawn] == [f"figure-{figure}" for figure in FIGURES]
    for picture in drawn:
        assert "<svg" in picture.svg()
        assert "RMSE" in picture.alt or "seconds" in picture.alt
    drawn[0].save(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_table_has_a_row_for_every_case(outcome):
    columns, rows = figures.table(outcome)
    assert len(rows) == len(outcome.errors)
    assert all(len(row) == len(columns) for row in rows)


def test_every_claim_can_reproduce():
    found = verdicts.verdicts(made_up(as_the_paper_says))
    assert len(found) == len(verdicts.JUDGES)
    assert [str(verdict) for verdict in found if not verdict.reproduces] == []


def test_every_claim_can_fail():
    slow = replace(made_up(upside_down), timings=(Timing(1000, 1700, 100_000, 100.0),))
    assert [str(verdict) for verdict in verdicts.verdicts(slow) if verdict.reproduces] == []


def test_flat_says_from_where():
    grid = Grid()
    outcome = made_up(
        lambda case, form: 1.0 + (0.05 if case.epsilon is not None and case.epsilon < 2 else 0), grid=grid
    )
    verdict = verdicts.flat_beyond_one(outcome, "plain")
    assert not verdict.reproduces
    assert "from epsilon 2 on" in verdict.numbers


def test_luck_is_no_win():
    """A hybrid that is better in one repetition and worse in the other is not better."""
    outcome = made_up(lambda case, form: 1.0)
    case = Case("hybrid", QUICK.gammas[0], 1.0)
    errors = dict(outcome.errors) | {case: {form: [0.9, 1.05] for form in FORMS}}
    assert not verdicts.sometimes_better_than_dp(replace(outcome, errors=errors), "plain").reproduces
    errors[case] = {form: [0.9, 0.9001] for form in FORMS}
    assert verdicts.sometimes_better_than_dp(replace(outcome, errors=errors), "plain").reproduces


def test_is_plain_data(outcome):
    described = outcome.to_json()
    assert described["seeds"] == 2 and len(described["cases"]) == len(outcome.errors)
    assert all(
        set(verdict.to_json()) == {"figure", "claim", "reproduces", "numbers"} for verdict in verdicts.verdicts(outcome)
    )
