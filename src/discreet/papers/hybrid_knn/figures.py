"""The paper's figures 2 to 9, and ours beside them.

The paper's own numbers are in pictures without values, so what stands beside ours is what its text says about them. Its
Fig. 5 and 7 do not name their axes; here they are those of Fig. 4 and 6, which they are ratios of.
"""

from collections.abc import Sequence

from discreet.papers.frame.cases import Case, Grid
from discreet.papers.frame.figures import Axis, Curve, Figure
from discreet.papers.hybrid_knn.algorithm import FORMS
from discreet.papers.hybrid_knn.experiment import FIXED, LETTER, NONE, TIMED

GAMMA, OURS_GAMMA = Axis("gamma", "gamma of the perturbation"), Axis("gamma", "gamma of equal noise")
EPSILON = Axis("epsilon", "epsilon (claimed, log scale)", log=True)
OURS_EPSILON = Axis("epsilon", "epsilon (proven, log scale)", log=True)
READINGS = {
    "letter": "to the letter",
    "letter plain": "literal centring",
    "average": "averages alone",
    "plain": "corrected",
    "ratio": "ratio as it is",
    "joint": "joint weights",
    "shrunk": "shrunk kNN",
    "damped": "damped kNN",
    "sent": "ours",
    "home": "ours, at home",
    "bias": "ours: averages",
    "guess": "ours: as hard to guess",
    "guess home": "ours: as hard to guess, at home",
    "plain unclipped": "corrected, not clipped",
    "letter unclipped": "to the letter, not clipped",
    "GAvg": "GAvg",
    "Cov": "what is left of Cov",
    "letter Cov": "what is left of Cov, to the letter",
    "collect": "at home",
    "publish": "publication",
}
"""What pages call them. *Corrected* is plain kNN, *literal centring* too; *to the letter* has the ratio as it is."""
EQUAL = ("equal", 1.0)
DRAWN = "plain"
"""The form in which a figure is drawn that has lines for something else."""


def figures(grid: Grid) -> Sequence[Figure]:
    """In order; where ours has as many lines as the paper, it has a picture of its own."""
    rp, dp, times = grid.cases("RP", "gamma"), grid.cases("DP", "epsilon"), grid.cases("seconds", "share")
    fixed, ignoring = (grid.cases(method, "gamma", epsilon=FIXED) for method in ("hybrid", "DP on RP"))
    none = ("no privacy", Curve([NONE], DRAWN))

    def in_forms(some: Sequence[Case], ours: dict[str, str]) -> dict[str, Curve]:
        """A line for each form, and for readings of ours."""
        names = {READINGS[form]: form for form in (*LETTER, *FORMS)}
        names |= {f"ours: {name}": reading for name, reading in ours.items()}
        return {name: Curve(some, reading) for name, reading in names.items()}

    def by(setting: str, reading: str, alone: Sequence[Case], name: str = "") -> dict[str, Curve]:
        """A line of the hybrid for each value of a setting: below the one without it, or each in that one."""
        other = "epsilon" if setting == "gamma" else "gamma"
        beside = () if name else alone
        curves = {name: Curve(alone, reading)} if name else {}
        for value in grid[setting]:
            cases = grid.cases("hybrid", other, **{setting: value})
            curves[f"{setting} {value:g}"] = Curve(cases, reading, beside)
        return curves

    return [
        Figure(
            2,
            "perturbation alone",
            "RMSE over gamma, without noise. The paper: accuracy falls as gamma grows, on all data sets. The line "
            "across is no privacy at all, with plain kNN. Ours has as much noise and a proven epsilon for the value of "
            "a rating, where RP has none; at home it predicts from true ratings. The last line is for reports from "
            "which no more is guessed right than from RP's.",
            in_forms(rp, {"private reports": "sent", "at home": "home", "as hard to guess": "guess"}),
            GAMMA,
            "RMSE",
            level=none,
        ),
        Figure(
            3,
            "noise alone",
            "RMSE over epsilon. The paper: accuracy falls rapidly below epsilon 1 and approaches a constant beyond. "
            "What is ours has the same epsilon, proven for one rating (Bias with delta 0, CovarianceKNN with 1e-6); "
            "what is the paper's only claims it.",
            in_forms(dp, {"averages": "bias", "covariances": "sent"}),
            EPSILON,
            "RMSE",
            level=none,
        ),
        Figure(
            4,
            "what perturbation does to noise",
            "RMSE of the hybrid over epsilon, corrected, plain kNN. The paper: the trend of DP stays whatever gamma "
            "is, a larger gamma is often less accurate, and on Netflix the two together are sometimes better.",
            by("gamma", DRAWN, dp, "DP alone"),
            EPSILON,
            "RMSE",
        ),
        Figure(
            4,
            "private reports, and noise",
            "RMSE over epsilon of covariances of private reports, as noisy as RP with this gamma, predicted from the "
            "reports. Proven: epsilon (delta 1e-6) that a rating is there, and for its value that of the reports.",
            by("gamma", "sent", dp, "noise alone"),
            OURS_EPSILON,
            "RMSE",
            part="ours",
        ),
        Figure(
            5,
            "hybrid beside noise alone",
            "RMSE of the hybrid in that of DP, plain kNN; below 1 the hybrid is better. The paper: sometimes below 1 "
            "on Netflix with a small gamma; the loss on MovieLens is acceptable.",
            by("gamma", DRAWN, dp),
            EPSILON,
            "RMSE ratio, hybrid to DP",
            level=EQUAL,
        ),
        Figure(
            5,
            "reports and noise beside noise alone",
            "RMSE of ours with private reports in that without: what hiding values from the recommender costs.",
            by("gamma", "sent", dp),
            OURS_EPSILON,
            "RMSE ratio, both to noise",
            level=EQUAL,
            part="ours",
        ),
        Figure(
            6,
            "what noise does to perturbation",
            "RMSE of the hybrid over gamma, plain kNN. The paper: the trend of RP stays whatever epsilon is, and a "
            "smaller epsilon tends to be less accurate.",
            by("epsilon", DRAWN, rp, "RP alone"),
            GAMMA,
            "RMSE",
        ),
        Figure(
            6,
            "private reports, and noise",
            "The numbers of Fig. 4, ours, over the gamma whose noise the reports have.",
            by("epsilon", "sent", rp, "reports alone"),
            OURS_GAMMA,
            "RMSE",
            part="ours",
        ),
        Figure(
            7,
            "hybrid beside perturbation alone",
            "RMSE of the hybrid in that of RP, plain kNN; below 1 the hybrid is better. The paper: nothing is lost on "
            "Netflix for any setting, and an acceptable amount on MovieLens.",
            by("epsilon", DRAWN, rp),
            GAMMA,
            "RMSE ratio, hybrid to RP",
            level=EQUAL,
        ),
        Figure(
            7,
            "reports and noise beside reports alone",
            "RMSE of ours with noise in that of private reports without: what hiding from everyone else that a rating "
            "is there costs. Below 1 where noise keeps covariances from being asked for that reports have drowned.",
            by("epsilon", "sent", rp),
            OURS_GAMMA,
            "RMSE ratio, both to reports",
            level=EQUAL,
            part="ours",
        ),
        Figure(
            8,
            "running time",
            f"Seconds on this machine, from ratings to predictions, for the first users and all items; ours at epsilon "
            f"{TIMED[1]:g}, where it asks for covariances if it ever does. The paper: 33 s for the matrix of MovieLens "
            "(about 1000 by 1700) on a server at 2.2 GHz, less than 2.5 hours for 380,000 by 500.",
            {"hybrid, end to end": Curve(times, DRAWN), "ours: end to end": Curve(times, "sent")},
            Axis("share", "share of the users"),
            "seconds",
            also=grid.cases("made up", "users"),
        ),
        Figure(
            9,
            "noise that knows of the perturbation, or not",
            f"RMSE over gamma on perturbed ratings, epsilon {FIXED:g}, plain kNN. The paper: DP that ignores RP is "
            "more accurate, by little, and less private (Theorem 4). It is: its noise proves a larger epsilon, though "
            "by less than the theorem says. Of ours there is one kind: what it proves is the epsilon that it is given.",
            {
                "hybrid": Curve(fixed, DRAWN),
                "DP that ignores RP": Curve(ignoring, DRAWN),
                "ours: reports and noise": Curve(fixed, "sent"),
                "ours: at home": Curve(fixed, "home"),
            },
            GAMMA,
            "RMSE",
        ),
    ]
