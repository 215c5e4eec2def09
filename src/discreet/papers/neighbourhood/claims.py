"""The paper's claims, and our own questions. What "promising" or "quickly" means it does not say: the limits are ours.

Every claim is judged to the letter from both starts, and as the released code has it.
"""

from collections.abc import Callable, Sequence

import numpy as np

from discreet.papers.frame import judges
from discreet.papers.frame.cases import Case, Grid
from discreet.papers.frame.claims import Claim, RunOn, Seen
from discreet.papers.frame.judges import Finding
from discreet.papers.frame.outcome import Sample
from discreet.papers.neighbourhood.experiment import AT, CAP
from discreet.papers.neighbourhood.figures import AUDIT, descent, sampling
from discreet.papers.neighbourhood.privacy import furthest_change

CLOSE = 0.10
"""A loss of this share of RMSE counts as little: "promising", "accurate", "does not lose much"."""
FLAT = 0.02
"""Within this share of RMSE counts as flat."""
RAPID = 3.0
"""Accuracy drops quickly below an epsilon if it loses this many times as much there as above, and more than is flat."""
LARGE, GOOD = 20.0, 1.0
"""Epsilons from which DPSGD-MF, and DPSGD-PNBM, are said to be accurate."""
AVERAGE = 0.1
"""Epsilon of an average rating from which DPPS is said to be accurate."""
ONCE = ("constant",)
"""For what does not depend on the reading."""
SAME = {"all": "before any neighbour is cut off: the same as with a constant start"}
SIZES = {"all": "the number of neighbours is what varies"}
LEAST = 10.0
"""C, as read off Fig. 2."""
RUN_ON = (
    RunOn(
        name="ml-100k",
        sizes="100K ratings of 1682 movies by 943 users",
        test="5-fold cross validation",
        clash='"users who have more than 20 ratings": the data have users with exactly 20, who are kept here',
    ),
    RunOn(
        name="ml-1m",
        sizes="1 million ratings of 3952 movies by 6040 users",
        test="5-fold cross validation",
        clash="3952 is the highest number of a movie; 3706 have ratings",
    ),
)


def claims(grid: Grid) -> Sequence[Claim]:
    """In the order of the figures."""
    dpsgd, dpps, sizes = descent(grid), sampling(grid), grid.cases("neighbours", "neighbours")
    good = [case for case in dpsgd if case["epsilon"] >= GOOD]
    large = [case for case in dpsgd if case["epsilon"] >= LARGE]
    small = [case for case in dpsgd if case["epsilon"] < LARGE]
    accurate = [case for case in dpps if case["epsilon"] >= AVERAGE]
    smallest = grid.cases("sums", "limit")
    changes = grid.cases("changed rating", "ratings")
    shared = [case["epsilon"] for case in dpsgd if Case("DPPS", epsilon=case["epsilon"]) in dpps]

    def map_of(seen: Seen) -> str:
        """The same without noise, from the same start; a constant one beside the code."""
        return "MAP cosine" if seen.reading == "cosine" else "MAP"

    def close_to_map(cases: Sequence[Case]) -> Callable[[Seen], Finding | None]:
        return lambda seen: _close(seen(cases), seen(cases, map_of(seen)))

    def beats(cases: Sequence[Case], other: str, own: str | None = None) -> Callable[[Seen], Finding | None]:
        return lambda seen: _better(seen(cases, own), seen(cases, other))

    def no_less(seen: Seen) -> Finding | None:
        line = [found for found in seen(smallest) if found.case["limit"] <= LEAST]
        if not line:
            return None
        last = line[-1]
        return Finding(last.mean == 0, f"{last.mean:.2%} of all lie below {last.case['limit']:g}")

    def falls_quickly(seen: Seen) -> Finding | None:
        line = seen(dpsgd, "MF")
        if not any(found.case["epsilon"] == LARGE for found in line):
            return None
        return judges.steeper(line, over="epsilon", below=LARGE, times=RAPID, least=FLAT)

    def few_are_best(seen: Seen) -> Finding | None:
        return _both(seen, lambda line: _best(line) < line[-1].case["neighbours"], _where_best)

    def less_sensitive(seen: Seen) -> Finding | None:
        rivals = min(_spread(seen(sizes, name)) for name in ("COS", "PCC"))
        found = _both(seen, lambda line: _spread(line) < rivals, lambda line: f"{_spread(line):.3f}")
        return Finding(found.holds, f"{found.numbers} from best to worst; of COS and PCC the lesser {rivals:.3f}")

    def _both(seen: Seen, holds: Callable[[list[Sample]], bool], said: Callable[[list[Sample]], str]) -> Finding:
        lines = {"DPSGD": seen(sizes), "DPPS": seen(sizes, f"DPPS {seen.reading}")}
        return Finding(
            all(holds(line) for line in lines.values()),
            ", ".join(f"{name} {said(line)}" for name, line in lines.items()),
        )

    def near_one(seen: Seen) -> Finding | None:
        found = [*seen([Case("DPSGD", epsilon=AT)]), *seen([Case("DPPS", epsilon=AT)])]
        if len(found) < 2:
            return None
        beside = [one for case in found for one in seen([case.case], map_of(seen))]
        return _close(found, beside)

    def sampling_wins(seen: Seen) -> Finding | None:
        lines = (seen(Case(method, epsilon=epsilon) for epsilon in shared) for method in ("DPPS", "DPSGD"))
        return _better(*lines)

    def flat_in_epsilon(seen: Seen) -> Finding:
        line = seen(dpps)
        apart = max(found.mean for found in line) - min(found.mean for found in line)
        return Finding(apart <= FLAT * line[0].mean, f"{apart:.4f} apart over all epsilons")

    def within_the_bound(seen: Seen) -> Finding | None:
        line = [*seen(changes), *seen(changes, f"{seen.reading}, public means"), *seen(changes, "worst pair")]
        if not line:
            return None
        most = max(line, key=lambda found: found.mean)
        own = max(found.mean for found in seen(changes))
        allowed = furthest_change(int(most.case["ratings"]), features_clamped=True)
        return Finding(
            most.mean <= 1,
            f"up to {own:.1f} times for users of the data, {most.mean:,.0f} times for a constructed one with "
            f"{most.case['ratings']:g} ratings; at most {allowed:,.0f} times",
        )

    def shows_no_more(seen: Seen) -> Finding | None:
        names = ("item means", "cosine start", "constant start", "no clamp", "one step")
        found = {name: seen([AUDIT], f"audit: {name}") for name in names}
        if not all(found.values()):
            return None
        numbers = {name: line[0].mean for name, line in found.items()}
        listed = ", ".join(f"{name} {shown:.2f}" for name, shown in numbers.items())
        return Finding(max(numbers.values()) <= 1, f"epsilon shown at least, where 1 is claimed: {listed}")

    def near_the_constant(cases: Sequence[Case], reading: str) -> Callable[[Seen], Finding | None]:
        def judge(seen: Seen) -> Finding | None:
            line = [found for found in seen(cases, reading) if found.case["epsilon"] <= 5]
            return judges.near_one(
                [
                    Sample(one.case, one.values / constant.values)
                    for one, constant in zip(line, seen([one.case for one in line], "global mean"), strict=True)
                ],
                within=FLAT,
            )

        return judge

    return [
        Claim(2, f"with beta 10, what is divided by is never below {LEAST:g}", no_less, at="3, Fig. 2", not_for=SAME),
        Claim(
            2,
            "one changed rating moves the gradient by no more than its noise is made for",
            within_the_bound,
            ours=True,
            at="Eq. (6)",
            not_for=SAME,
        ),
        Claim(2, "attacks show no more than is claimed", shows_no_more, at="Theorem 1", ours=True, readings=ONCE),
        Claim(
            3,
            "DPSGD-MF does not lose much accuracy for epsilon of 20 or more",
            lambda seen: _close(seen(large, "MF"), seen(large, "MF exact")),
            at="5.2, Fig. 3",
        ),
        Claim(3, "DPSGD-MF is then more accurate than COS", beats(large, "COS", "MF"), at="5.2, Fig. 3"),
        Claim(3, "DPSGD-MF is then more accurate than PCC", beats(large, "PCC", "MF"), at="5.2, Fig. 3"),
        Claim(3, "the accuracy of DPSGD-MF drops quickly below epsilon 20", falls_quickly, at="5.2, Fig. 3"),
        Claim(3, "DPSGD-PNBM is promising for epsilon of 1 or more", close_to_map(good), at="5.2, Fig. 3"),
        Claim(3, "DPSGD-PNBM is more accurate than COS for epsilon of 1 or more", beats(good, "COS"), at="5.2, Fig. 3"),
        Claim(3, "DPSGD-PNBM is more accurate than PCC for epsilon of 1 or more", beats(good, "PCC"), at="5.2, Fig. 3"),
        Claim(
            3,
            "DPSGD-PNBM is more accurate than DPSGD-MF below epsilon 20",
            lambda seen: _better(seen(small), seen(small, "MF")),
            at="Abstract, 5.3",
        ),
        Claim(
            3,
            "DPSGD-MF is more accurate than DPSGD-PNBM for epsilon of 20 or more",
            lambda seen: _better(seen(large, "MF"), seen(large)),
            at="1.1, 5.3",
        ),
        Claim(
            3,
            "DPSGD-PNBM is more accurate than private item and user means with the same epsilon, proven",
            beats(dpsgd, "private means"),
            ours=True,
        ),
        Claim(
            3,
            "DPSGD-PNBM is more accurate than its own noise for epsilon of 1 or more",
            beats(good, "noise only"),
            ours=True,
        ),
        Claim(
            3,
            "DPSGD-MF is within 2 % of the constant predictor up to epsilon 5",
            near_the_constant(dpsgd, "MF"),
            ours=True,
            readings=ONCE,
        ),
        Claim(
            3,
            "DPSGD-MF, centred, is within 2 % of the constant predictor up to epsilon 5",
            near_the_constant(dpsgd, "MF centred"),
            ours=True,
            readings=ONCE,
        ),
        Claim(4, f"DPPS-PNBM is accurate from {AVERAGE:g} x {CAP} on", close_to_map(accurate), at="5.2, Fig. 4"),
        Claim(
            4,
            f"DPPS-MF is accurate from {AVERAGE:g} x {CAP} on",
            lambda seen: _close(seen(accurate, "MF"), seen(accurate, "MF exact")),
            at="5.2, Fig. 4",
        ),
        Claim(4, "DPPS-PNBM is then more accurate than COS", beats(accurate, "COS"), at="5.2, Fig. 4"),
        Claim(4, "DPPS-PNBM is then more accurate than PCC", beats(accurate, "PCC"), at="5.2, Fig. 4"),
        Claim(4, "DPPS-PNBM is more accurate than DPPS-MF", beats(dpps, "MF"), at="Abstract, 5.3"),
        Claim(4, "DPPS-PNBM depends on epsilon", lambda seen: _not(flat_in_epsilon(seen)), ours=True),
        Claim(
            4,
            "DPPS-PNBM is more accurate than private item and user means for a user",
            beats(dpps, "private means"),
            ours=True,
        ),
        Claim(
            4,
            "DPPS-MF is within 2 % of the constant predictor up to epsilon 5",
            near_the_constant(dpps, "MF"),
            ours=True,
            readings=ONCE,
        ),
        Claim(5, "both are most accurate with few neighbours", few_are_best, at="5.2, Fig. 5", not_for=SIZES),
        Claim(
            5,
            "both are less sensitive to the number of neighbours than COS and PCC",
            less_sensitive,
            at="5.2, Fig. 5",
            not_for=SIZES,
        ),
        Claim(6, "both are quite accurate at epsilon 1", near_one, at="5.2, Fig. 6"),
        Claim(6, "with the same guarantee DPPS-PNBM is more accurate", sampling_wins, at="Abstract, 5.2, Fig. 6"),
    ]


def _close(line: Sequence[Sample], beside: Sequence[Sample]) -> Finding | None:
    return judges.close(line, beside, within=CLOSE) if line else None


def _better(line: Sequence[Sample], than: Sequence[Sample]) -> Finding | None:
    return judges.better(line, than) if line else None


def _not(finding: Finding) -> Finding:
    return Finding(not finding.holds, finding.numbers)


def _best(line: Sequence[Sample]) -> float:
    return min(line, key=lambda found: found.mean).case["neighbours"]


def _where_best(line: Sequence[Sample]) -> str:
    return f"best with {_best(line):g}"


def _spread(line: Sequence[Sample]) -> float:
    return float(np.ptp([found.mean for found in line]))
