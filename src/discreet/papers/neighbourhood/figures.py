"""The paper's figures with numbers, 2 to 6, drawn again with the controls among their lines."""

from collections.abc import Sequence

from discreet.papers.frame.cases import Case, Grid
from discreet.papers.frame.figures import Axis, Curve, Figure
from discreet.papers.neighbourhood.experiment import AT

READINGS = {
    "constant": "from a constant start",
    "cosine": "from a cosine start",
    "all": "constant, all neighbours",
    "code": "released code",
    "MF": "MF",
    "MF centred": "MF, centred",
    "private means": "private means",
    "noise only": "noise only",
    "no step": "no step at all",
    "DPPS constant": "DPPS, from a constant start",
    "DPPS cosine": "DPPS, from a cosine start",
    "DPPS code": "DPPS, released code",
    "S 1": "item + user mean, S 1",
    "S random": "random S",
    "COS": "COS",
    "PCC": "PCC",
    "bias": "item + user means, damped",
    "item mean": "item mean",
    "global mean": "global mean",
    "MAP": "MAP, constant start",
    "MAP cosine": "MAP, cosine start",
    "MF exact": "MF, no noise",
    "constant, public means": "constant start, means public",
    "cosine, public means": "cosine start, means public",
    "code, public means": "released code, means public",
    "worst pair": "constructed pair",
    "step": "DPPS: a user, in deviations",
    "step of the code": "DPPS, released code: a user, in deviations",
    "audit: item means": "shown by item means",
    "audit: cosine start": "shown by a cosine start",
    "audit: constant start": "shown by a constant start",
    "audit: no clamp": "shown by the released code",
    "audit: one step": "shown by one step",
}
"""What pages call them."""
LETTER = ("constant", "cosine")
LEARNED = (*LETTER, "all", "code")
EPSILON = Axis("epsilon", "epsilon (log scale)", log=True)
AVERAGE = Axis("epsilon", "epsilon of a user / 200 (log scale)", log=True)
AUDIT = Case("audit")


def descent(grid: Grid) -> list[Case]:
    """DPSGD over epsilon."""
    return grid.cases("DPSGD", "epsilon")


def sampling(grid: Grid) -> list[Case]:
    """DPPS over epsilon for an average rating."""
    return [Case("DPPS", epsilon=average) for average in grid["average"]]


def figures(grid: Grid) -> Sequence[Figure]:
    """In order. Lines that begin with "ours" are controls: the paper has none of them."""
    dpsgd, dpps, sizes = descent(grid), sampling(grid), grid.cases("neighbours", "neighbours")

    def lines(cases: Sequence[Case], *readings: str, before: str = "") -> dict[str, Curve]:
        return {f"{before}{READINGS[reading]}": Curve(cases, reading) for reading in readings}

    return [
        Figure(
            2,
            "what similarities are divided by",
            "The share of ratings (u, i) whose |S_i| I_u at the start, with beta 10, is below a limit. The paper: the "
            "least is about 10, so C is 10. It does not say at which start.",
            lines(grid.cases("sums", "limit"), "constant", "cosine", "code"),
            Axis("limit", "limit (log scale)", log=True),
            "share below",
            also=(*grid.cases("changed rating", "ratings"), AUDIT),
        ),
        Figure(
            3,
            "gradient descent with noise",
            "RMSE over the claimed epsilon, for the value of a rating. The paper: DPSGD-PNBM is promising from 1 "
            "on and better than COS and PCC, DPSGD-MF from 20 on. Controls: exact means; means with as much *proven* "
            "epsilon; the same steps on no ratings at all (noise only); a random S.",
            {
                **lines(dpsgd, *LEARNED, "MF", "MF centred", "COS", "PCC"),
                **lines(dpsgd, "private means", "S 1", "noise only", "S random", before="ours: "),
            },
            EPSILON,
            "RMSE",
        ),
        Figure(
            4,
            "posterior sampling",
            "RMSE over the claimed epsilon of a user, divided by 200 as in the paper; its last value is 4B, where the "
            "sample is not tempered at all. The paper: both are accurate from 0.1 on. Controls: the same start and not "
            "a single step; means with a proven epsilon for a user, of at most 20.",
            {
                **lines(dpps, *LEARNED, "MF", "MF centred", "COS", "PCC"),
                **lines(dpps, "private means", "S 1", "no step", "S random", before="ours: "),
            },
            AVERAGE,
            "RMSE",
        ),
        Figure(
            5,
            "neighbour size",
            f"RMSE over how many neighbours an item keeps, epsilon {AT:g} ({AT:g} x 200 for a user). The paper: both "
            "are best with few, and less sensitive to the number than COS and PCC.",
            {
                **lines(sizes, "constant", "cosine", "code", before="DPSGD, "),
                **lines(sizes, "DPPS constant", "DPPS cosine", "DPPS code", "COS", "PCC"),
                **lines(sizes, "S 1", "S random", before="ours: "),
            },
            Axis("neighbours", "neighbours of an item"),
            "RMSE",
        ),
        Figure(
            6,
            "descent beside sampling",
            "RMSE over epsilon: of a rating for DPSGD-PNBM, of a user divided by 200 for DPPS-PNBM, which the paper "
            "takes for the same guarantee. A user's epsilon does not turn into one of a rating by division.",
            {
                **lines(dpsgd, *LETTER, "code", before="DPSGD, "),
                **lines(dpps, *LETTER, "code", before="DPPS, "),
                **lines(dpsgd, "private means", "S 1", before="ours: "),
            },
            EPSILON,
            "RMSE",
        ),
    ]
