"""The paper's figures 2 to 5. They have no values, so what stands beside ours is what its text says."""

from collections.abc import Sequence

from discreet.papers.frame.cases import Case, Grid
from discreet.papers.frame.figures import Axis, Curve, Figure
from discreet.papers.personalised.experiment import DP, DRAWN, GROUPS, PMF, SWEPT, personal, within

READINGS = {
    "letter": "to the letter",
    "listing": "Algorithm 2, short U",
    "theorem": "Theorem 4",
    "free": "Algorithm 2, U as it is",
    "projected": "Algorithm 2, U projected",
    "fixed": "one noise, 50 steps",
    "home": "Algorithm 2, at home",
    "mean": "always the mean",
    "bias": "ours: averages",
    "letter unclipped": "to the letter, not clipped",
    "listing unclipped": "Algorithm 2, short U, not clipped",
    "theorem unclipped": "Theorem 4, not clipped",
}
"""What pages call them."""
SHOWN = ("letter", "listing", "free", "projected", "fixed", "theorem")
ERROR = Axis("error", "size of the error")


def figures(grid: Grid) -> Sequence[Figure]:
    """In order."""
    by_share = [personal(share) for share in grid["conservative"]]
    swept = [Case("PDP-PMF", **SWEPT, threshold=threshold) for threshold in grid["threshold"]]
    drawn = [Case("PDP-PMF", **SWEPT, threshold=threshold) for threshold in DRAWN if threshold in grid["threshold"]]
    sizes = [size for size in (1.0, 1.5, 2.0) if size in grid["error"]]

    def errors(case: Case, reading: str) -> Curve:
        return Curve([within(case, size) for size in grid["error"]], reading)

    def shares(reading: str, part: str) -> Figure:
        names = {f"PDP-PMF{number}, f_c {share:g}": personal(share) for number, share in enumerate(GROUPS, 1)}
        return Figure(
            3,
            f"errors of test ratings ({READINGS[reading]})",
            "Share of errors up to a size. The paper: more conservative ratings give worse predictions, and on the "
            "larger data sets 70 % of errors are below 1.",
            {name: errors(case, reading) for name, case in (names | {"DP-PMF": DP}).items()},
            ERROR,
            "share of test ratings",
            part=part,
        )

    def by_middle(reading: str, part: str) -> Figure:
        return Figure(
            4,
            f"over epsilon_m ({READINGS[reading]})",
            "RMSE over the level between conservative and moderate ratings. The paper: it falls about linearly, and is "
            "much smaller than that of DP-PMF, the line across.",
            {
                f"PDP-PMF{number}, f_c {share:g}": Curve(
                    [personal(share, middle) for middle in grid["middle"]], reading
                )
                for number, share in enumerate(GROUPS, 1)
            },
            Axis("middle", "epsilon_m"),
            "RMSE",
            level=("DP-PMF", Curve([DP], reading)),
            part=part,
        )

    return [
        Figure(
            2,
            "over the share of conservative ratings",
            "RMSE of PDP-PMF over f_c. The paper: it rises about linearly, and is much smaller than that of DP-PMF. "
            "The line across is DP-PMF at epsilon 0.1 with Algorithm 2 and short U.",
            {READINGS[reading]: Curve(by_share, reading) for reading in SHOWN},
            Axis("conservative", "share of conservative ratings, f_c"),
            "RMSE",
            level=("DP-PMF", Curve([DP], "listing")),
            also=[PMF, DP],
        ),
        shares("listing", ""),
        shares("theorem", "theorem"),
        by_middle("listing", ""),
        by_middle("letter", "letter"),
        Figure(
            5,
            "errors for some thresholds",
            "Share of errors up to a size, Algorithm 2 with short U. The paper: the threshold has a slight influence.",
            {f"t {case['threshold']:g}": errors(case, "listing") for case in drawn},
            ERROR,
            "share of test ratings",
            part="a",
        ),
        Figure(
            5,
            "over the threshold",
            "Share of errors up to 1, 1.5 and 2, Algorithm 2 with short U. The paper: best at about 0.70, 2.2 points "
            "better than at 1.0, and nearly flat above 0.4.",
            {f"up to {size:g}": Curve([within(case, size) for case in swept], "listing") for size in sizes},
            Axis("threshold", "threshold t"),
            "share of test ratings",
            part="b",
        ),
    ]
