"""DP-PMF and PDP-PMF as a paper: what the frame runs, judges, draws and documents."""

import math

from discreet.pages.curves import Rows
from discreet.papers.frame.cases import Case, Grid
from discreet.papers.frame.contents import read_contents, read_notes
from discreet.papers.frame.outcome import Outcome, with_half_width
from discreet.papers.frame.paper import Paper
from discreet.papers.personalised.claims import RUN_ON, claims
from discreet.papers.personalised.experiment import DP, FULL, GROUPS, PMF, QUICK, Repetition, personal
from discreet.papers.personalised.figures import READINGS, figures
from discreet.papers.personalised.levels import Levels
from discreet.papers.personalised.privacy import composed, one_rater, sampled_sides

CLIPPED = ("letter", "listing", "theorem")
BEYOND = 10.0
"""Spreads of the item with a rating, beyond which its number is hardly ever."""


def worth(outcome: Outcome) -> Rows:
    """What an epsilon is worth for an item with one rating, and what sampling makes of a level."""
    mean = Levels().mean
    rows = []
    for epsilon in (0.1, 0.2, mean, 1.0):
        there, gone = one_rater(epsilon)
        below, above = sampled_sides(min(epsilon, mean), mean)
        odds = math.exp(-BEYOND), math.exp(-BEYOND * there / gone)
        rows.append([f"{epsilon:g}", *(f"{one:.2g}" for one in odds), f"{below:.3f}", f"{above:.3f}"])
    return Rows(
        title="What a level is worth",
        columns=("level claimed", "rating there", "rating not there", "sampling: at least", "at most"),
        rows=rows,
        text="An item with one rating, u = 1, λ .01, d = 1, U constant, the exact minimiser: the odds that the "
        f"published number is larger than {BEYOND:g} times its spread with the rating; they may differ by e^ε, and "
        "differ as much whatever ε is. Then what sampling at the default threshold, the mean level, would make of the "
        "level over a base that did what it claims (Theorem 6): logarithms of odds, at least and at most.",
    )


def fresh(outcome: Outcome) -> Rows:
    """What new noise in every step costs."""
    return Rows(
        title="New noise in every step",
        columns=("step times curvature", "loss, in claimed epsilons"),
        rows=[[f"{product:g}", f"{composed(1.0, product, 50):.3g}"] for product in (0.001, 0.01, 0.1, 0.5)],
        text="Of a changed value after 50 steps of Algorithm 2, U constant and the start no data, in one dimension. As "
        "it starts at item factors that were trained without noise, there is no number at all.",
    )


def clipped(outcome: Outcome) -> Rows:
    """What clipping predictions to the scale decides."""
    cases = [case for case in (PMF, DP, personal(GROUPS[0])) if case in outcome.numbers]

    def written(case: Case, reading: str) -> str:
        mean, half = with_half_width(outcome.at(case, reading).values)
        return f"{mean:.3f} ± {half:.3f}" if mean < 10 else f"{mean:.0f} ± {half:.0f}"

    readings = [name for reading in CLIPPED for name in (reading, f"{reading} unclipped")]
    return Rows(
        title="Clipped, and not",
        columns=("method", *(READINGS[reading] for reading in readings)),
        rows=[[case.method, *(written(case, name) for name in readings)] for case in cases],
        text="RMSE of predictions that are clipped to the scale of 1 to 5, as everywhere else on this page, and of the "
        "same ones as they are. The paper does not say which it has. Means over the folds, ± half their 95 % interval.",
    )


def tables(outcome: Outcome) -> list[Rows]:
    """What is clipped only where it was run."""
    return [worth(outcome), fresh(outcome), *([clipped(outcome)] if PMF in outcome.numbers else [])]


def shown(grid: Grid) -> list[Case]:
    """All but the shares of errors."""
    by_middle = [personal(share, middle) for share in GROUPS for middle in grid["middle"]]
    return [PMF, DP, *(personal(share) for share in grid["conservative"]), *by_middle]


PAPER = Paper(
    name="personalised",
    title="A privacy level for every rating",
    citation="Zhang, Liu, Chen and Zhong, Probabilistic matrix factorization with personalized differential privacy, "
    "2018",
    summary="DP-PMF publishes item factors that minimise an objective with a random linear term. PDP-PMF first keeps "
    "every rating as often as its own privacy level allows, and runs DP-PMF on what is kept.",
    run_on=RUN_ON,
    grid=FULL,
    quick=QUICK,
    seeds=10,
    quick_seeds=2,
    repetition=Repetition,
    readings=READINGS,
    judged=("letter", "listing", "theorem", "free", "projected", "fixed"),
    counted=("letter", "listing", "theorem"),
    contents=read_contents(__package__),
    claims=claims,
    figures=figures,
    tables=tables,
    shown=shown,
    aside=tuple(f"{reading} unclipped" for reading in CLIPPED),
    pictured=("figure-2", "figure-5-b"),
    notes=read_notes(__package__),
)
