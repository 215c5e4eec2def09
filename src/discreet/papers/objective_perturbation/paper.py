"""Objective perturbation as a paper: what the frame runs, judges, draws and documents."""

import math

import numpy as np

from discreet.pages.curves import Rows
from discreet.papers.frame.cases import Case, Grid
from discreet.papers.frame.contents import read_contents, read_notes
from discreet.papers.frame.outcome import Outcome
from discreet.papers.frame.paper import Paper
from discreet.papers.objective_perturbation.claims import RUN_ON, claims, s1
from discreet.papers.objective_perturbation.experiment import (
    ALL,
    CHANGED,
    FULL,
    HELD_OUT,
    MF,
    QUICK,
    WORKED_OUT,
    Repetition,
)
from discreet.papers.objective_perturbation.figures import READINGS, figures
from discreet.papers.objective_perturbation.privacy import counter_example, distance_of_all, noise_scale, one_rater

WIDTH, FACTORS, PENALTY = 4.0, 50, 0.001


def noise(outcome: Outcome) -> Rows:
    """How long the noise is, and what it hides."""
    rows = []
    for epsilon in (0.05, 0.1, 0.15, 1.0):
        calm, changed = counter_example(epsilon, PENALTY, WIDTH)
        there, gone = one_rater(epsilon, PENALTY, WIDTH, 5.0)
        rows.append(
            [
                f"{epsilon:g}",
                f"{FACTORS * noise_scale(epsilon, WIDTH, 'radial', FACTORS):,.0f}",
                f"{math.sqrt(2 * FACTORS) * noise_scale(epsilon, WIDTH, 'laplace', FACTORS):,.0f}",
                f"{math.tanh(epsilon / 2):.3f}",
                f"{distance_of_all(calm, changed):.2f}",
                f"{there.distance(gone):.3f}",
            ]
        )
    return Rows(
        title="Noise, and what it hides",
        columns=(
            "epsilon claimed",
            "length of the noise",
            "and of Lemma 1's",
            "distance allowed",
            "one user with ten items",
            "item with one rating",
        ),
        rows=rows,
        text="The mean length of η_j for d 50 and ratings of 1 to 5 (of Lemma 1: root mean square), where 2 b_j of an "
        "item with 60 ratings has a length of about 400. Then statistical distances between what is published of two "
        "neighbours: what epsilon allows; d 1 and one user with ten items, of whose ratings one changes; an item whose "
        "only rating is there or not, even with a constant U.",
    )


def changed(outcome: Outcome) -> Rows:
    """What one changed rating does to the odds of a published V."""
    rows = []
    for reading in WORKED_OUT:
        found = outcome.at(CHANGED, reading).values
        rows.append([READINGS[reading], f"{np.mean(found):.3g}", f"{np.abs(found).max():.3g}"])
    return Rows(
        title="One rating changed",
        columns=("reading", "mean", "largest size"),
        rows=rows,
        text="ln p(V) less ln p'(V) of a published V, worked out, where one rating gets the other end of the scale and "
        f"U is trained again from the same start: one rating in each repetition. Claimed is {CHANGED['epsilon']:g} at "
        "most.",
    )


def tables(outcome: Outcome) -> list[Rows]:
    """The second only where it was run."""
    return [noise(outcome), *([changed(outcome)] if CHANGED in outcome.numbers else [])]


def shown(grid: Grid) -> list[Case]:
    """All but the shares of errors."""
    means = [s1(epsilon, ALL) for epsilon in grid["epsilon"]]
    held_out = [Case("held out", epsilon=epsilon) for epsilon in (*grid["epsilon"], *grid["more"])]
    return [MF, *means, HELD_OUT, *held_out]


PAPER = Paper(
    name="objective-perturbation",
    title="A noisy objective for item factors",
    citation="Hua, Xia and Zhong, Differentially private matrix factorization, IJCAI 2015",
    summary="A trusted recommender factorises the ratings, keeps the user factors, and publishes item factors that "
    "minimise an objective with a random linear term. (Its untrusted recommender, S2 and S3, is `untrusted`.)",
    run_on=RUN_ON,
    grid=FULL,
    quick=QUICK,
    seeds=5,
    quick_seeds=2,
    repetition=Repetition,
    readings=READINGS,
    judged=("literal", "mean", "ball", "exact", "exact ball", "laplace", "rating", "shrunk"),
    counted=("literal", "mean"),
    contents=read_contents(__package__),
    claims=claims,
    figures=figures,
    tables=tables,
    shown=shown,
    pictured=("figure-2-b", "figure-8"),
    metric="MF and S1: mean absolute error of training ratings in stars; held out: RMSE of clipped predictions",
    notes=read_notes(__package__),
)
