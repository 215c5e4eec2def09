"""The paper's figures 3 to 10, as far as they are about S2 and S3.

Odd ones are of 100 movies of Netflix, even ones of MovieLens 100K (7 and 8 likewise); all are drawn of the data at
hand. The paper's numbers are in pictures without values; what stands beside ours is what its text says.
"""

from collections.abc import Sequence

from discreet.papers.frame.cases import Case, Grid
from discreet.papers.frame.figures import Axis, Curve, Figure
from discreet.papers.untrusted.claims import COSTS, at_epsilon, increase, joining, leaving, s2, sized
from discreet.papers.untrusted.experiment import ALL, CONSTANT, FIXED, HELD_OUT, MF, NOISE_ALONE, s3

READINGS = {
    "whole": "with M = W, which learns nothing",
    "mean": "with row means",
    "ball": "with U in the unit ball",
    "shrunk": "row means, noise over W",
    "home": "unit ball, at home",
    "constant": "always the mean",
    "bias": "ours: averages",
}
"""What pages call them."""
DRAWN = {"whole": "M = W", "ball": "U in the unit ball", "shrunk": "noise over W"}
"""What is drawn, and what legends have room for. Row means with a free U overflow wherever there is noise."""
SHOWN = "ball"
ERROR = Axis("error", "size of the error")


def figures(grid: Grid) -> Sequence[Figure]:
    """In order; those of the two data sets have the same cases."""
    epsilons, counts, sizes = grid["epsilon"], grid["iterations"], grid["error"]
    online, rounds = grid["online_epsilon"], grid["rounds"]
    fixed, dynamic_fixed, last = FIXED if FIXED in epsilons else epsilons[0], at_epsilon(grid), rounds[-1]
    churned = grid["churn_rounds"][0]
    static = [s2(epsilon, ALL) for epsilon in epsilons]
    dynamic = [s3(last, epsilon) for epsilon in online]
    also_static = [
        MF,
        CONSTANT,
        NOISE_ALONE,
        *static,
        *map(increase, static),
        *(Case("S1", epsilon=epsilon, iterations=ALL) for epsilon in epsilons),
        HELD_OUT,
        *(Case("held out", epsilon=epsilon) for epsilon in epsilons),
    ]
    also_dynamic = [
        MF,
        CONSTANT,
        *dynamic,
        *map(increase, dynamic),
        s3(last),
        *(s3(count, dynamic_fixed) for count in rounds),
        *COSTS,
    ]

    def shares(case: Case, reading: str = SHOWN) -> Curve:
        return Curve([sized(case, size) for size in sizes], reading)

    controls = {"no noise": shares(MF), "ours: always the mean": shares(CONSTANT)}

    def of_static(number: int, said: str) -> list[Figure]:
        by_count = {f"{count:g} iterations": shares(s2(fixed, count)) for count in counts}
        by_epsilon = {f"epsilon {epsilon:g}": shares(s2(epsilon, ALL)) for epsilon in epsilons}
        also = [sized(case, size) for case in static for size in sizes]
        return [
            _errors(
                number,
                "a",
                f"errors of training ratings in S2, epsilon {fixed:g}",
                said,
                {**controls, **by_count},
                also,
            ),
            _errors(
                number,
                "b",
                f"errors of training ratings in S2, {ALL} iterations",
                said,
                {**controls, **by_epsilon},
                also_static,
            ),
        ]

    def of_dynamic(number: int, said: str) -> list[Figure]:
        without = {
            "no noise": shares(MF),
            "S3 without noise": shares(s3(last)),
            "ours: always the mean": shares(CONSTANT),
        }
        by_count = {f"{count:,.0f} rounds": shares(s3(count, dynamic_fixed)) for count in rounds}
        by_epsilon = {f"epsilon {epsilon:g}": shares(s3(last, epsilon)) for epsilon in online}
        return [
            _errors(
                number,
                "a",
                f"errors of training ratings in S3, epsilon {dynamic_fixed:g}",
                said,
                {**without, **by_count},
                also_dynamic,
            ),
            _errors(
                number,
                "b",
                f"errors of training ratings in S3, {last:,.0f} rounds",
                said,
                {**without, **by_epsilon},
                also_dynamic,
            ),
        ]

    def increases(number: int, said_static: str, said_dynamic: str) -> list[Figure]:
        return [
            _increase(
                number,
                "a",
                f"what S2 adds to the mean error, {ALL} iterations",
                said_static,
                static,
                "epsilon",
                also_static,
            ),
            _increase(
                number,
                "b",
                f"what S3 adds to the mean error, {last:,.0f} rounds",
                said_dynamic,
                dynamic,
                "epsilon",
                also_dynamic,
            ),
        ]

    def churn(number: int, said: str) -> list[Figure]:
        return [
            _increase(
                number,
                "a",
                f"what S3 adds in {churned:,.0f} rounds, by how likely users join",
                said,
                joining(grid),
                "joins",
                [MF],
            ),
            _increase(
                number,
                "b",
                f"what S3 adds in {churned:,.0f} rounds, by how likely users leave",
                said,
                leaving(grid),
                "leaves",
                [MF],
            ),
        ]

    return [
        *of_static(3, "on Netflix S2 is very close to S1."),
        *of_static(4, "on MovieLens S2 is very close to S1."),
        *of_dynamic(5, "on Netflix extremely close to the baseline at epsilon 0.8."),
        *of_dynamic(6, "on MovieLens indistinguishable from the baseline, for epsilon of 0.05 and more."),
        *increases(7, "on Netflix around 0.14 at epsilon 0.15.", "on Netflix below 0.1 at epsilon 0.8."),
        *increases(8, "on MovieLens near 0.", "on MovieLens indistinguishable from the baseline."),
        *churn(9, "on Netflix more joining lowers it, leaving hardly matters."),
        *churn(10, "on MovieLens more joining lowers it, leaving matters less."),
    ]


def _errors(number: int, part: str, title: str, said: str, curves: dict[str, Curve], also: Sequence[Case]) -> Figure:
    return Figure(
        number,
        title,
        f"Share of errors up to a size; row means, U in the unit ball. The paper: {said}",
        curves,
        ERROR,
        "share of training ratings",
        part=part,
        also=also,
    )


def _increase(
    number: int, part: str, title: str, said: str, cases: Sequence[Case], over: str, also: Sequence[Case]
) -> Figure:
    names = {"epsilon": "epsilon (claimed)", "joins": "probability to join", "leaves": "probability to leave"}
    return Figure(
        number,
        title,
        f"Stars above the baseline without noise. The paper: {said}",
        {name: Curve([increase(case) for case in cases], reading) for reading, name in DRAWN.items()},
        Axis(over, names[over]),
        "increase of the mean error",
        part=part,
        also=[*cases, *also],
    )
