"""The paper's figures 1, 2, 7 and 8, as far as they are about S1.

Fig. 1 and 7 are of 100 movies of Netflix, Fig. 2 and 8 of MovieLens 100K; all are drawn of the data at hand. The
paper's numbers are in pictures without values; what stands beside ours is what its text says.
"""

from collections.abc import Sequence

from discreet.papers.frame.cases import Case, Grid
from discreet.papers.frame.figures import Axis, Curve, Figure
from discreet.papers.objective_perturbation.claims import s1
from discreet.papers.objective_perturbation.experiment import ALL, CHANGED, FIXED, HELD_OUT, MF

READINGS = {
    "literal": "with M = W",
    "mean": "with row means",
    "ball": "row means, U in the unit ball",
    "exact": "row means, exact V",
    "exact ball": "exact V, U in the unit ball",
    "laplace": "row means, Laplace noise",
    "rating": "rating by rating",
    "shrunk": "the same, noise over W",
    "home": "row means, at home",
    "constant": "always the mean",
    "bias": "ours: averages",
}
"""What pages call them."""
DRAWN = ("literal", "mean", "ball", "rating", "shrunk")
ERROR = Axis("error", "size of the error")


def figures(grid: Grid) -> Sequence[Figure]:
    """In order; Fig. 1 and 2, and 7 and 8, have the same cases."""
    epsilons, counts, sizes = grid["epsilon"], grid["iterations"], grid["error"]
    fixed = FIXED if FIXED in epsilons else epsilons[0]
    baseline = Curve([Case("MF", error=size) for size in sizes], "mean")
    increases = [Case("increase", epsilon=epsilon, iterations=ALL) for epsilon in epsilons]
    means = [s1(epsilon, ALL) for epsilon in epsilons]
    held_out = [HELD_OUT, *(Case("held out", epsilon=epsilon) for epsilon in (*epsilons, *grid["more"]))]
    early = [s1(epsilons[0], counts[0], error=size) for size in sizes]
    late = [s1(epsilons[-1], counts[-2], error=size) for size in sizes]

    def errors(number: int, said: str) -> list[Figure]:
        def curve(epsilon: float, count: float) -> Curve:
            return Curve([s1(epsilon, count, error=size) for size in sizes], "mean")

        return [
            Figure(
                number,
                f"errors of training ratings, epsilon {fixed:g}",
                f"Share of errors up to a size, row means. The paper: {said}",
                {"no noise": baseline, **{f"{count:g} iterations": curve(fixed, count) for count in counts}},
                ERROR,
                "share of training ratings",
                part="a",
                also=[*early, *late, CHANGED],
            ),
            Figure(
                number,
                f"errors of training ratings, {ALL} iterations",
                f"Share of errors up to a size, row means. The paper: {said}",
                {"no noise": baseline, **{f"epsilon {epsilon:g}": curve(epsilon, ALL) for epsilon in epsilons}},
                ERROR,
                "share of training ratings",
                part="b",
            ),
        ]

    def increase(number: int, said: str) -> Figure:
        return Figure(
            number,
            "what noise adds to the mean error of training ratings",
            f"Stars over epsilon, {ALL} iterations. The paper: {said}",
            {READINGS[reading]: Curve(increases, reading) for reading in DRAWN},
            Axis("epsilon", "epsilon (claimed)"),
            "increase of the mean error",
            also=[MF, *means, *held_out],
        )

    return [
        *errors(1, "on Netflix noise is negligible for epsilon of 0.15 and more after 70 iterations."),
        *errors(2, "on MovieLens S1 is extremely close to the baseline after 40 iterations, even with epsilon 0.05."),
        increase(7, "on Netflix less than 0.03 at epsilon 0.15."),
        increase(8, "on MovieLens slightly below 0."),
    ]
