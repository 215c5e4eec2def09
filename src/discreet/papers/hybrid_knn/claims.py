"""The paper's claims, and our own questions. What "flat" or "acceptable" means it does not say: the limits are ours.

Every claim is judged for the paper's publication, in any of its forms, and for ours (the reading ``sent``).
"""

from collections.abc import Sequence

from discreet.papers.frame import judges
from discreet.papers.frame.cases import Case, Grid
from discreet.papers.frame.claims import Claim, Seen
from discreet.papers.frame.judges import Finding
from discreet.papers.hybrid_knn.algorithm import FORMS
from discreet.papers.hybrid_knn.experiment import FIXED, NONE

FLAT = 0.02
"""An RMSE within this share of the one at the largest epsilon counts as constant."""
ACCEPTABLE = 0.10
"""A loss of this share of RMSE counts as acceptable, close and small."""
RAPID = 3.0
"""Accuracy falls rapidly below epsilon 1 if it loses this many times as much there as above."""
SLACK = 0.002
"""RMSE that may go the wrong way between two neighbouring settings, beside what chance explains."""
SECONDS = 33.0
"""As published for the matrix of MovieLens."""
NETFLIX, MOVIELENS = ("netflix",), ("ml-100k",)
NOT_IGNORED = "a report that is there or not moves the sums by its own scale: noise for that of ratings proves nothing"
"""Why nothing sound ignores the perturbation."""


def claims(grid: Grid) -> Sequence[Claim]:
    """In the order of the figures."""
    gammas, epsilons, times = grid["gamma"], grid["epsilon"], grid.cases("seconds", "share")
    rp, dp, both = grid.cases("RP", "gamma"), grid.cases("DP", "epsilon"), grid.cases("hybrid", "gamma", "epsilon")
    fixed, ignoring = (grid.cases(method, "gamma", epsilon=FIXED) for method in ("hybrid", "DP on RP"))
    with_gamma = {gamma: grid.cases("hybrid", "epsilon", gamma=gamma) for gamma in gammas}
    with_epsilon = {epsilon: grid.cases("hybrid", "gamma", epsilon=epsilon) for epsilon in epsilons}
    dp_of_both = [Case("DP", epsilon=case["epsilon"]) for case in both]
    rp_of_both = [Case("RP", gamma=case["gamma"]) for case in both]
    far = [case for case in dp if case["epsilon"] >= 1]

    def by_gamma(seen: Seen) -> Finding:
        found = {f"{gamma:g}": judges.falls(seen(with_gamma[gamma]), slack=SLACK) for gamma in gammas}
        return judges.all_of(found, "gammas")

    def by_epsilon(seen: Seen) -> Finding:
        found = {f"{epsilon:g}": judges.rises(seen(with_epsilon[epsilon]), slack=SLACK) for epsilon in epsilons}
        return judges.all_of(found, "epsilons")

    def within(seen: Seen, some: Sequence[Case], beside: Sequence[Case]) -> Finding:
        return judges.close(seen(some), seen(beside), within=ACCEPTABLE)

    def covariance_helps(seen: Seen) -> Finding:
        return judges.better(seen(dp), seen(dp, "bias" if seen.reading == "sent" else "average"), by=SLACK)

    def in_time(seen: Seen) -> Finding:
        return judges.at_most(seen(times, "sent" if seen.reading == "sent" else "plain")[-1], limit=SECONDS, unit=" s")

    def ours(figure: int, text: str, own: Sequence[Case], theirs: Sequence[Case], reading: str = "sent") -> Claim:
        """Whether ours beats the form that suits the paper best, setting by setting."""

        def judge(seen: Seen) -> Finding | None:
            pairs = [pair for pair in zip(own, theirs, strict=True) if seen.outcome.has(pair[0], reading)]
            best = seen.outcome.best([other for _, other in pairs], FORMS)
            return judges.better(seen((mine for mine, _ in pairs), reading), best) if pairs else None

        return Claim(figure, text, judge, ours=True, readings=["sent"])

    def less_accurate(figure: int, name: str, alone: Sequence[Case]) -> Claim:
        text = f"the hybrid is less accurate than {name} alone in most settings"
        return Claim(figure, text, lambda seen: judges.mostly_worse(seen(both), seen(alone)), data=MOVIELENS)

    def sometimes_better(figure: int, name: str, alone: Sequence[Case]) -> Claim:
        text = f"the hybrid is sometimes more accurate than {name} alone"
        return Claim(
            figure, text, lambda seen: judges.better_somewhere(seen(both), seen(alone), slack=SLACK), data=NETFLIX
        )

    def acceptable(figure: int, name: str, alone: Sequence[Case]) -> Claim:
        return Claim(
            figure, f"what the hybrid loses beside {name} alone is acceptable", lambda seen: within(seen, both, alone)
        )

    return [
        Claim(2, "RMSE rises with gamma", lambda seen: judges.rises(seen(rp), slack=SLACK)),
        Claim(2, "RP is close to no privacy at all", lambda seen: within(seen, rp, [NONE] * len(rp)), ours=True),
        ours(2, "private reports, as noisy as RP, are more accurate than RP", rp, rp),
        ours(2, "those that are as hard to guess from are, too", rp, rp, "guess"),
        Claim(
            3,
            "accuracy falls rapidly below epsilon 1",
            lambda seen: judges.steeper(seen(dp), over="epsilon", below=1.0, times=RAPID),
        ),
        Claim(
            3,
            "accuracy is flat beyond epsilon 1",
            lambda seen: judges.flat(seen(dp), over="epsilon", beyond=1.0, within=FLAT),
        ),
        Claim(
            3,
            "DP is close to no privacy at all for epsilon of 1 or more",
            lambda seen: within(seen, far, [NONE] * len(far)),
            ours=True,
        ),
        Claim(3, "kNN on the noisy covariance beats the noisy averages alone", covariance_helps, ours=True),
        ours(3, "proven noise is more accurate than claimed noise", dp, dp),
        Claim(4, "whatever gamma is, RMSE falls as epsilon grows", by_gamma),
        Claim(
            4,
            f"DP plus RP with gamma {gammas[0]:g} is more accurate than with {gammas[-1]:g}",
            lambda seen: judges.better(seen(with_gamma[gammas[0]]), seen(with_gamma[gammas[-1]])),
        ),
        ours(4, "private reports with proven noise are more accurate than the hybrid", both, both),
        less_accurate(5, "DP", dp_of_both),
        sometimes_better(5, "DP", dp_of_both),
        acceptable(5, "DP", dp_of_both),
        Claim(6, "whatever epsilon is, RMSE rises with gamma", by_epsilon),
        Claim(
            6,
            f"epsilon {epsilons[0]:g} is less accurate than {epsilons[-1]:g}",
            lambda seen: judges.better(seen(with_epsilon[epsilons[-1]]), seen(with_epsilon[epsilons[0]])),
        ),
        less_accurate(7, "RP", rp_of_both),
        sometimes_better(7, "RP", rp_of_both),
        acceptable(7, "RP", rp_of_both),
        Claim(8, f"the hybrid runs within {SECONDS:.0f} s on a matrix of about 1000 by 1700", in_time, data=MOVIELENS),
        Claim(
            8,
            "ours takes no more time",
            lambda seen: judges.better(seen(times[-1:], "sent"), seen(times[-1:], "plain")),
            ours=True,
            readings=["sent"],
        ),
        Claim(
            9,
            f"at epsilon {FIXED:g}, DP that ignores RP is more accurate than the hybrid",
            lambda seen: judges.better(seen(ignoring), seen(fixed)),
            not_for={"sent": NOT_IGNORED},
        ),
        Claim(
            9,
            "the RMSE difference of the two is small",
            lambda seen: within(seen, fixed, ignoring),
            not_for={"sent": NOT_IGNORED},
        ),
        ours(9, f"at epsilon {FIXED:g} ours is more accurate than DP that ignores RP", fixed, ignoring),
    ]
