"""The hybrid as a paper: what the frame runs, judges, draws and documents."""

from typing import Any

from discreet.data.catalogue import Scale
from discreet.pages.curves import Rows
from discreet.papers.frame.cases import Case, Grid
from discreet.papers.frame.contents import read_contents, read_notes
from discreet.papers.frame.outcome import Outcome, with_half_width
from discreet.papers.frame.paper import Paper
from discreet.papers.hybrid_knn.claims import RUN_ON, claims
from discreet.papers.hybrid_knn.experiment import CLIPPED_AND_NOT, FIXED, FULL, NONE, QUICK, Repetition, reports_of
from discreet.papers.hybrid_knn.figures import READINGS, figures
from discreet.papers.hybrid_knn.privacy import corrected_epsilon
from discreet.papers.hybrid_knn.sound import epsilon_of


def worth(outcome: Outcome) -> Rows:
    """What a claimed epsilon of 1 is worth, for every gamma."""
    scale = Scale(1, 5)
    there, changed = {"ignores_perturbation": True}, {"relation": "replace"}
    hows: list[dict[str, Any]] = [
        {},
        {"literal": True},
        {"ratings_of_a_user": 100},
        there,
        changed,
        {**there, **changed},
    ]
    return Rows(
        title="What epsilon 1 is worth",
        columns=(
            "gamma",
            "averages clamped",
            "and to the letter",
            "as published, 100 ratings: up to",
            "clamped, ignoring RP",
            "value changes only",
            "and ignoring RP",
        ),
        rows=[
            [f"{gamma:g}", *(f"{corrected_epsilon(1.0, gamma, scale=scale, **how):.3g}" for how in hows)]
            for gamma in (0.0, *outcome.grid["gamma"])
        ],
        text="What the published noise really bounds for one rating of 1 to 5 where 1 is claimed, if the dampings are "
        "public. For a rating that is there or not: with averages clamped to the scale, the same for the centring of "
        "the text, and as published, up to so much for a user with 100 ratings; then for DP that ignores RP. For a "
        "rating that only changes its value: the hybrid, and DP that ignores RP. That one proves a larger epsilon than "
        "the hybrid (Theorem 4), but not (4 + 2 gamma)/4 times as large, as the theorem has it.",
    )


def sent(outcome: Outcome) -> Rows:
    """What is sent for each gamma, by the paper's users and by ours."""
    rows = []
    for gamma in outcome.grid["gamma"]:
        reports = reports_of(gamma, outcome.data)
        risk, noisy, hard = reports.risk(reports.of_the_paper), reports.as_noisy, reports.as_hard_to_guess
        rows.append(
            [
                f"{gamma:g}",
                f"{reports.variance_of(reports.of_the_paper) ** 0.5:.2f}",
                f"{risk.accuracy:.0%}",
                f"{risk.certain:.0%}",
                f"{epsilon_of(noisy):.2f} ({noisy.name})",
                f"{reports.risk(noisy).accuracy:.0%}",
                "none" if hard is None else f"{epsilon_of(hard):.2f} ({hard.name})",
                "·" if hard is None else f"{reports.variance_of(hard) ** 0.5:.2f}",
            ]
        )
    ours = "ours, as noisy: epsilon", "guessed right", "ours, as hard to guess: epsilon", "deviation"
    return Rows(
        title="What is sent for a gamma",
        columns=("gamma", "RP: deviation", "guessed right", "for certain", *ours),
        rows=rows,
        text="Uniform noise bounds no epsilon; ours does, for the value of a rating. Guessed right: by the best "
        "attack, knowing how often each rating is given. As noisy: the least epsilon of randomised response and of the "
        "piecewise mechanism at which reports vary as much about ratings. As hard to guess: the one that varies least "
        "of those from which no more is guessed right; none where RP gives everything away.",
    )


def clipped(outcome: Outcome) -> Rows:
    """What clipping predictions to the scale decides."""
    cases = [case for case in (NONE, *outcome.grid.cases("DP", "epsilon")) if case in outcome.numbers]

    def written(case: Case, reading: str) -> str:
        mean, half = with_half_width(outcome.at(case, reading).values)
        return f"{mean:.3f} ± {half:.3f}" if mean < 10 else f"{mean:.0f} ± {half:.0f}"

    readings = [name for reading in CLIPPED_AND_NOT for name in (reading, f"{reading} unclipped")]
    return Rows(
        title="Clipped, and not",
        columns=("setting", *(READINGS[reading] for reading in readings)),
        rows=[[case.setting, *(written(case, name) for name in readings)] for case in cases],
        text="RMSE of predictions that are clipped to the scale of 1 to 5, as everywhere else on this page, and of the "
        "same ones as they are. The paper does not say which it has. Means over the repetitions, ± half their 95 % "
        "interval.",
    )


def shown(grid: Grid) -> list[Case]:
    """All but most of the hybrid and of its running time."""
    fixed = (case for method in ("hybrid", "DP on RP") for case in grid.cases(method, "gamma", epsilon=FIXED))
    return [NONE, *grid.cases("RP", "gamma"), *grid.cases("DP", "epsilon"), *fixed]


def tables(outcome: Outcome) -> list[Rows]:
    """What is clipped only where it was run."""
    return [worth(outcome), sent(outcome), *([clipped(outcome)] if NONE in outcome.numbers else [])]


PAPER = Paper(
    name="hybrid",
    title="Perturbation at home plus noise",
    citation="DASFAA 2017, LNCS 10177, 576 to 591",
    summary="Users add uniform noise within ±gamma to their ratings before they send them (RP). The recommender "
    "publishes averages and an item covariance with Laplace noise (DP), its sensitivities raised for the perturbation; "
    "kNN predicts. Ours, with a proven epsilon, stands beside it.",
    run_on=RUN_ON,
    grid=FULL,
    quick=QUICK,
    repetition=Repetition,
    readings=READINGS,
    judged=("letter", "letter plain", "plain", "ratio", "joint", "shrunk", "damped", "sent"),
    counted=("letter", "plain"),
    contents=read_contents(__package__),
    claims=claims,
    figures=figures,
    tables=tables,
    shown=shown,
    aside=("plain unclipped", "letter unclipped", "GAvg", "Cov", "letter Cov"),
    pictured=("figure-3",),
    metric="RMSE, and seconds where a method is called so",
    notes=read_notes(__package__),
)
