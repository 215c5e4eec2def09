"""The paper's claims about S2 and S3, and our own questions. Limits for its words are those of S1."""

from collections.abc import Callable, Sequence

import numpy as np

from discreet.papers.frame import judges
from discreet.papers.frame.cases import Case, Grid
from discreet.papers.frame.claims import Claim, Seen
from discreet.papers.frame.judges import Finding
from discreet.papers.frame.outcome import ratios
from discreet.papers.objective_perturbation.claims import ACCEPTABLE, INCREASE, MOVIELENS, NEGLIGIBLE, NETFLIX, SLACK
from discreet.papers.untrusted.experiment import (
    ALL,
    CONSTANT,
    FIXED,
    HELD_OUT,
    LEAVES,
    MF,
    NOISE_ALONE,
    OTHER,
    s3,
)

AROUND = 0.25
"""A number that is around another is within this share of it."""
S2_NETFLIX, S3_NETFLIX = 0.14, 0.10
"""Mean increases on Netflix, as published."""
DOWN, UP, BACK, PARTY, CLIENT = 12.0, 5.0, 3000.0, 400.0, 5.7e-4
"""Kilobytes to a user, from a user, and to the recommender; milliseconds at the third party's and at a user's."""


def s2(epsilon: float, iterations: float, **others: float) -> Case:
    """The mean training error of S2, or with ``error`` the share of errors up to a size."""
    return Case("S2", epsilon=epsilon, iterations=iterations, **others)


def sized(case: Case, size: float) -> Case:
    """The share of errors up to a size."""
    return Case(case.method, **dict(case.settings), error=size)


def increase(case: Case) -> Case:
    """What a mean error is above the baseline."""
    return Case(f"increase of {case.method}", **dict(case.settings))


def at_epsilon(grid: Grid) -> float:
    """The epsilon of S3 where other things vary."""
    return FIXED if FIXED in grid["online_epsilon"] else grid["online_epsilon"][0]


def joining(grid: Grid) -> list[Case]:
    """Fig. 9 and 10, a: after fewer rounds than the paper's 10,000."""
    return [s3(grid["churn_rounds"][0], at_epsilon(grid), joins, LEAVES) for joins in grid["joins"]]


def leaving(grid: Grid) -> list[Case]:
    """Fig. 9 and 10, b."""
    return [s3(grid["churn_rounds"][0], at_epsilon(grid), OTHER, leaves) for leaves in grid["leaves"]]


def claims(grid: Grid) -> Sequence[Claim]:
    """In the order of the figures."""
    epsilons, online, last = grid["epsilon"], grid["online_epsilon"], grid["rounds"][-1]
    static = [s2(epsilon, ALL) for epsilon in epsilons]
    trusted = [Case("S1", epsilon=epsilon, iterations=ALL) for epsilon in epsilons]
    dynamic = [s3(last, epsilon) for epsilon in online]
    held_out = [Case("held out", epsilon=epsilon) for epsilon in epsilons]

    def near_baseline(cases: Sequence[Case]) -> Callable[[Seen], Finding]:
        def judge(seen: Seen) -> Finding:
            gaps = {}
            for case in cases:
                for size in grid["error"]:
                    (own,), (base,) = seen([sized(case, size)]), seen([Case("MF", error=size)])
                    gaps[case, size] = base.mean - own.mean
            (case, size) = max(gaps, key=lambda one: gaps[one])
            return Finding(
                gaps[case, size] <= NEGLIGIBLE,
                f"a share of {gaps[case, size]:.3f} fewer errors up to {size:g} than the baseline at {case.setting}, "
                f"and {NEGLIGIBLE:g} is the limit",
            )

        return judge

    def as_in_s1(seen: Seen) -> Finding:
        return judges.near_one(ratios(seen(static), seen(trusted)), within=ACCEPTABLE)

    def largest(cases: Sequence[Case], limit: float) -> Callable[[Seen], Finding]:
        def judge(seen: Seen) -> Finding:
            worst = max(seen([increase(case) for case in cases]), key=lambda one: one.mean)
            return Finding(
                worst.mean <= limit, f"{worst.mean:+.3f} at {worst.case.setting}, and {limit:g} is the limit"
            )

        return judge

    def around(case: Case, number: float) -> Callable[[Seen], Finding]:
        def judge(seen: Seen) -> Finding:
            (found,) = seen([increase(case)])
            holds = abs(found.mean - number) <= AROUND * number
            return Finding(holds, f"{found.mean:+.3f}, and {number:g} within a quarter is the limit")

        return judge

    def little(cases: Sequence[Case]) -> Callable[[Seen], Finding]:
        return lambda seen: judges.close(seen(cases), seen([MF] * len(cases)), within=ACCEPTABLE)

    def joining_helps(seen: Seen) -> Finding:
        return judges.falls(seen([increase(case) for case in joining(grid)]), slack=SLACK)

    def leaving_matters_less(seen: Seen) -> Finding:
        join, leave = (
            [found.mean for found in seen([increase(case) for case in cases])]
            for cases in (joining(grid), leaving(grid))
        )
        return Finding(
            bool(np.ptp(leave) < np.ptp(join)),
            f"a range of {np.ptp(leave):.3f} over leaving, {np.ptp(join):.3f} over joining",
        )

    def at_most(case: Case, limit: float, unit: str) -> Callable[[Seen], Finding]:
        return lambda seen: judges.at_most(seen([case])[0], limit=limit, unit=unit)

    def learns(seen: Seen) -> Finding:
        return judges.better(seen([MF]), seen([CONSTANT]))

    def beats(cases: Sequence[Case]) -> Callable[[Seen], Finding]:
        return lambda seen: judges.better(seen(cases), seen([CONSTANT] * len(cases)))

    def noise_fits(seen: Seen) -> Finding:
        (noise,), (own,) = seen([NOISE_ALONE], "home"), seen(static[-1:], "home")
        return Finding(
            noise.mean <= own.mean * (1 + ACCEPTABLE),
            f"a mean training error of {noise.mean:.3f} stars with noise alone, {own.mean:.3f} with the V of S2",
        )

    def held_out_beats(reading: str) -> Callable[[Seen], Finding]:
        def judge(seen: Seen) -> Finding:
            other = seen([HELD_OUT] * len(held_out), reading) if reading == "constant" else seen(held_out, reading)
            return judges.better(seen(held_out), other)

        return judge

    return [
        Claim(3, "S2 is very close to S1", as_in_s1, at="5, Fig. 3, 4"),
        Claim(
            4,
            "the mean error of S2 grows by about 0 for epsilon .15",
            largest(static[-1:], INCREASE),
            data=MOVIELENS,
            at="5, Fig. 8(a)",
        ),
        Claim(
            4, "S2 costs little: the mean error of training ratings hardly grows", little(static), at="Abstract; 1; 6"
        ),
        Claim(4, "without noise the model predicts better than always saying the mean", learns, ours=True),
        Claim(4, "S2 predicts its training ratings better than always saying the mean", beats(static), ours=True),
        Claim(
            4,
            "where users fit their own vectors, a V of noise alone does as well on training ratings",
            noise_fits,
            ours=True,
            readings=("home",),
        ),
        Claim(
            4,
            "held-out ratings are predicted better than by always saying the mean",
            held_out_beats("constant"),
            ours=True,
        ),
        Claim(
            4,
            "held-out ratings are predicted better than by averages with the same epsilon, proven (`bias`)",
            held_out_beats("bias"),
            ours=True,
        ),
        Claim(
            5,
            "with epsilon .8 S3 is extremely close to the baseline after 10,000 iterations",
            near_baseline([s3(last, online[-1])]),
            data=NETFLIX,
            at="5, Fig. 5",
        ),
        Claim(
            5,
            "without noise, users who come and go affect precision slightly",
            lambda seen: judges.close(seen([s3(last)]), seen([MF]), within=ACCEPTABLE),
            data=NETFLIX,
            at="4.3",
        ),
        Claim(
            6,
            "S3 is indistinguishable from the baseline after 10,000 iterations for epsilon of .05 and more",
            near_baseline(dynamic),
            data=MOVIELENS,
            at="5, Fig. 6",
        ),
        Claim(
            6, "S3 costs little: the mean error of training ratings hardly grows", little(dynamic), at="Abstract; 1; 6"
        ),
        Claim(
            6,
            "a user with 20 rated items downloads at most 12 KB in an iteration",
            at_most(Case("download", bytes=4), DOWN, " KB"),
            at="5, communication",
        ),
        Claim(
            6,
            "and uploads at most 5 KB",
            at_most(Case("upload", bytes=4), UP, " KB"),
            at="5, communication",
        ),
        Claim(
            6,
            "the third party sends less than 3 MB for 10,000 items",
            at_most(Case("third party sends", bytes=4), BACK, " KB"),
            at="5, communication",
        ),
        Claim(
            6,
            "the third party takes about 400 ms for an iteration with 1,000 users",
            at_most(Case("third party"), PARTY, " ms"),
            data=NETFLIX,
            at="5, communication",
        ),
        Claim(
            6,
            "a client takes about 5.7e-4 ms",
            at_most(Case("client"), CLIENT, " ms"),
            data=NETFLIX,
            at="5, communication",
        ),
        Claim(
            7,
            "on Netflix the mean error of S2 grows by around .14 for epsilon .15",
            around(static[-1], S2_NETFLIX),
            data=NETFLIX,
            at="5, Fig. 7(a)",
        ),
        Claim(
            7,
            "on Netflix the mean error of S3 grows by less than .1 for epsilon .8",
            largest([s3(last, online[-1])], S3_NETFLIX),
            data=NETFLIX,
            at="5, Fig. 7(b)",
        ),
        Claim(10, "the more likely users join, the smaller the mean error", joining_helps, at="5, Fig. 9, 10"),
        Claim(10, "how likely they leave matters less", leaving_matters_less, at="5, Fig. 9, 10"),
    ]


COSTS = (
    *(Case(name, bytes=word) for name in ("download", "upload", "third party sends") for word in (4.0, 8.0)),
    Case("third party"),
    Case("client"),
)
"""Bytes and times, which do not depend on the data."""
