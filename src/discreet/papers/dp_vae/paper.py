"""DP-VAE as a paper: what the frame runs, judges, draws and documents."""

from discreet.pages.curves import Rows
from discreet.papers.dp_vae.claims import RUN_ON, claims
from discreet.papers.dp_vae.experiment import FULL, QUICK, Repetition, measured
from discreet.papers.dp_vae.figures import READINGS, figures
from discreet.papers.dp_vae.printed import MODELS, OURS, printed
from discreet.papers.dp_vae.privacy import (
    PARAMETERS,
    composed,
    delta_of_scales,
    divergence_of_scales,
    one_step,
    prior_epsilon,
    scale_told_apart,
    slopes_of_error,
)
from discreet.papers.frame.cases import Case, Grid
from discreet.papers.frame.contents import read_contents, read_notes
from discreet.papers.frame.outcome import Outcome
from discreet.papers.frame.paper import Paper

STEPS = 30
"""How often a user takes part on MovieLens 100K: once an epoch."""


def worth(outcome: Outcome) -> Rows:
    """What a level is worth if the bound is constant and whoever collects gradients is not trusted."""
    rows = []
    for level in (0.3, 0.5, 1.0, 1.5):
        losses = (one_step(level, 1.25e-5), composed(level, STEPS), composed(level, STEPS, sensitivity=2))
        rows.append([f"{level:g}", *(f"{loss:.2f}" for loss in (*losses, prior_epsilon(level, 20)))])
    return Rows(
        title="What a level is worth with a constant bound",
        columns=("level claimed", "one step", "30 steps", "30 steps, a sample replaced", "priors, 20 dimensions"),
        rows=rows,
        text="Epsilon at delta 1.25e-5 for whoever sees the noisy gradients of users; of the priors if one fact moves "
        "all 40 numbers as far as the theorem allows one. With Optimal_Clip there is no number: see the next table.",
    )


def shouted(outcome: Outcome) -> Rows:
    """What noise of a secret scale tells."""
    ratios = (1.001, 1.01, 1.02, 2.0)
    rows = [
        [
            f"{ratio:g}",
            f"{divergence_of_scales(ratio):.3g}",
            f"{delta_of_scales(10, ratio):.3f}",
            f"{scale_told_apart(1.0, ratio, PARAMETERS):.3g}",
        ]
        for ratio in ratios
    ]
    rises, falls = slopes_of_error()
    return Rows(
        title="What Optimal_Clip tells",
        columns=("S changes by a factor", "divergence, nats", "delta at epsilon 10", "spreads apart"),
        rows=rows,
        text=f"One sample changes S, and S scales noise on {PARAMETERS:,} weights. The last column is the attack: one "
        "number, the mean square of the noisy gradient, in units of its own spread. And S is no optimum: a unit more "
        f"of it adds {rises:,.0f} of noise to H, and takes away at most {falls:,.0f} of clipping.",
    )


def shown(grid: Grid) -> list[Case]:
    """NDCG of everything in Table 8."""
    return [measured(name, "ndcg", 100.0) for name in (*MODELS, *OURS)]


PAPER = Paper(
    name="dp-vae",
    title="An autoencoder with a privacy level for every user",
    citation="Fang, Du and Wu, Differentially private recommender system with variational autoencoders, "
    "Knowledge-Based Systems 250, 2022",
    summary="DP-VAE trains a variational autoencoder with noise on each user's gradient, a clipping bound searched "
    "for in each batch, and priors from what users say of themselves.",
    run_on=RUN_ON,
    grid=FULL,
    quick=QUICK,
    seeds=3,
    quick_seeds=1,
    repetition=Repetition,
    readings=READINGS,
    judged=("masked", "training", "users"),
    counted=("masked", "training"),
    contents=read_contents(__package__),
    claims=claims,
    figures=figures,
    printed=printed,
    tables=lambda outcome: [worth(outcome), shouted(outcome)],
    shown=shown,
    aside=(),
    pictured=("figure-3", "figure-3-training"),
    metric="NDCG@100",
    notes=read_notes(__package__),
)
