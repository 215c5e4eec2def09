"""The untrusted recommender as a paper: what the frame runs, judges, draws and documents."""

from discreet.pages.curves import Rows
from discreet.papers.frame.cases import Case, Grid
from discreet.papers.frame.contents import read_contents, read_notes
from discreet.papers.frame.outcome import Outcome
from discreet.papers.frame.paper import Paper
from discreet.papers.objective_perturbation.claims import RUN_ON
from discreet.papers.untrusted.claims import COSTS, claims, joining, leaving, s2
from discreet.papers.untrusted.experiment import (
    ALL,
    CONSTANT,
    FULL,
    HELD_OUT,
    MF,
    NOISE_ALONE,
    QUICK,
    Repetition,
    s3,
)
from discreet.papers.untrusted.figures import READINGS, figures
from discreet.papers.untrusted.privacy import DELTA, composed, honest_mu, honest_total, participations

FACTORS, ITEMS_OF_A_USER = 50, 65
SAID = {
    "download": "at most 12 KB",
    "upload": "at most 5 KB",
    "third party sends": "less than 3 MB",
    "third party": "400 ms",
    "client": "5.7e-4 ms",
}


def totals(outcome: Outcome) -> Rows:
    """What the rounds cost together."""
    rows = []
    runs = (
        ("S2, 100 rounds", 0.05, 100),
        ("S2, 100 rounds", 0.1, 100),
        ("S2, 100 rounds", 0.15, 100),
        ("S3, MovieLens", 0.05, round(participations(10_000, 100, 943))),
        ("S3, MovieLens", 0.1, round(participations(10_000, 100, 943))),
        ("S3, Netflix", 0.8, round(participations(10_000, 1000, 191_668))),
    )
    for name, epsilon, count in runs:
        honest = honest_mu(epsilon, FACTORS, count)
        rows.append(
            [
                name,
                f"{epsilon:g}",
                f"{count:,}",
                f"{composed(epsilon, count, 0.0):.3g}",
                f"{composed(epsilon, count):.3g}",
                f"{honest_total(honest):.3g}",
                f"{honest_total(honest, sensitivity=2.0, items=ITEMS_OF_A_USER):.3g}",
            ]
        )
    return Rows(
        title="What the rounds cost together",
        columns=(
            "run",
            "epsilon claimed",
            "rounds of a user",
            "one item, pure",
            f"one item, delta {DELTA:g}",
            "to an honest recommender",
            f"{ITEMS_OF_A_USER} items, clipped",
        ),
        rows=rows,
        text="Idealised, in the paper's favour: a changed rating moves one item, by the 2Δ that the proof allows, and "
        "users' vectors stay. Pure losses add up; the next column is the best that composition gives. The recommender "
        "knows H, so to it the noise is Gaussian (median over honest H). In truth a rating moves all of a user's "
        f"items, even with residuals clipped to Δ by twice as much: {ITEMS_OF_A_USER} items is the median user of "
        "MovieLens 100K. A recommender that is not honest reads ratings off: see `discreet attack untrusted`.",
    )


def costs(outcome: Outcome) -> Rows:
    """Traffic and time beside the paper's."""
    rows = []
    for case in COSTS:
        found = outcome.at(case, "mean").values.min()
        word = case.get("bytes")
        unit = "KB" if word is not None else "ms"
        what = case.method if word is None else f"{case.method}, words of {word:g} bytes"
        rows.append([what, f"{found:,.4g} {unit}", SAID[case.method]])
    return Rows(
        title="Traffic and time of a round",
        columns=("what", "here", "the paper"),
        rows=rows,
        text="S3: a user with 20 rated items and d 50; 1,000 users, 10,000 items at the third party's. The download "
        "has the item's vector, the mask, a piece of the fixed noise, and the H of the fresh noise, each 20 by 50 "
        "numbers: 12 KB are the first three in 4 bytes each. Times are the least of a few, in one thread of the "
        "machine that made this page; the client's has noise and masks in it.",
    )


def tables(outcome: Outcome) -> list[Rows]:
    """The second only where it was run."""
    return [totals(outcome), *([costs(outcome)] if COSTS[0] in outcome.numbers else [])]


def shown(grid: Grid) -> list[Case]:
    """All but the shares of errors and the costs."""
    last = grid["rounds"][-1]
    dynamic = [s3(count, epsilon) for epsilon in grid["online_epsilon"] for count in grid["rounds"]]
    cases = [
        MF,
        CONSTANT,
        NOISE_ALONE,
        *(Case("S1", epsilon=epsilon, iterations=ALL) for epsilon in grid["epsilon"]),
        *(s2(epsilon, ALL) for epsilon in grid["epsilon"]),
        s3(last),
        *dynamic,
        *joining(grid),
        *leaving(grid),
        HELD_OUT,
        *(Case("held out", epsilon=epsilon) for epsilon in grid["epsilon"]),
    ]
    return list(dict.fromkeys(cases))


PAPER = Paper(
    name="untrusted",
    title="An untrusted recommender, and a third party",
    citation="Hua, Xia and Zhong, Differentially private matrix factorization, IJCAI 2015",
    summary="Ratings stay with the users, who send noisy, masked gradients of the item factors; a third party adds "
    "them up, the recommender takes the masks away. In S2 all users are there in every round, in S3 they come and go.",
    run_on=RUN_ON,
    grid=FULL,
    quick=QUICK,
    seeds=1,
    quick_seeds=2,
    repetition=Repetition,
    readings=READINGS,
    judged=("whole", "mean", "ball", "shrunk"),
    counted=("whole", "mean", "ball"),
    contents=read_contents(__package__),
    claims=claims,
    figures=figures,
    tables=tables,
    shown=shown,
    pictured=("figure-4-b", "figure-8-b"),
    metric="MF, S1, S2 and S3: mean absolute error of training ratings in stars, 1,000,000 for a run that overflowed; "
    "held out: RMSE of clipped predictions",
    notes=read_notes(__package__),
)
