"""The paper's claims about S1, and our own questions. What "negligible" means it does not say: the limits are ours."""

from collections.abc import Callable, Sequence

import numpy as np

from discreet.papers.frame import judges
from discreet.papers.frame.cases import Case, Grid
from discreet.papers.frame.claims import Claim, RunOn, Seen
from discreet.papers.frame.judges import Finding
from discreet.papers.objective_perturbation.experiment import ALL, CHANGED, FIXED, HELD_OUT, MF, WORKED_OUT

ACCEPTABLE = 0.10
"""A loss of this share of the mean error counts as acceptable, limited and little."""
NEGLIGIBLE = 0.01
"""A loss of this share counts as negligible, and as extremely close."""
INCREASE = 0.03
"""The mean error that noise costs on Netflix, as published."""
SLACK = 0.002
"""A share of errors, or stars, that may go the wrong way between two settings, beside what chance explains."""
BLOW_UP = 10.0
"""A mean error of so many times the baseline's: nothing of the ratings is left."""
WITHIN = 1.0
"""The size of an error at which shares are compared."""
MOVIELENS, NETFLIX = ("ml-100k",), ("netflix",)
RUN_ON = (
    RunOn(
        name="ml-100k", sizes="943 users' ratings of 1,682 movies", test="none: errors are those of training ratings"
    ),
    RunOn(
        name="netflix",
        sizes="191,668 users' ratings of 100 movies, drawn at random",
        test="none: errors are those of training ratings",
        clash="which movies is not said; other choices are said to make no difference",
    ),
)


def s1(epsilon: float, iterations: float, **others: float) -> Case:
    """The mean training error of S1, or with ``error`` the share of errors up to a size."""
    return Case("S1", epsilon=epsilon, iterations=iterations, **others)


def claims(grid: Grid) -> Sequence[Claim]:
    """In the order of the figures."""
    epsilons, counts = grid["epsilon"], grid["iterations"]
    fixed = FIXED if FIXED in epsilons else epsilons[0]
    over_epsilon = [s1(epsilon, ALL) for epsilon in epsilons]
    increases = [Case("increase", epsilon=epsilon, iterations=ALL) for epsilon in epsilons]
    held_out = [Case("held out", epsilon=epsilon) for epsilon in epsilons]
    middle = counts[-2]

    def share_rises(cases: Sequence[Case]) -> Callable[[Seen], Finding]:
        return lambda seen: judges.rises(seen(cases), slack=SLACK)

    def near_baseline(epsilon: float, iterations: float) -> Callable[[Seen], Finding]:
        def judge(seen: Seen) -> Finding:
            gaps = {}
            for size in grid["error"]:
                (own,), (base,) = seen([s1(epsilon, iterations, error=size)]), seen([Case("MF", error=size)])
                gaps[size] = base.mean - own.mean
            size = max(gaps, key=lambda one: abs(gaps[one]))
            return Finding(
                gaps[size] <= NEGLIGIBLE,
                f"a share of {gaps[size]:.3f} fewer errors up to {size:g} than the baseline, and {NEGLIGIBLE:g} is the "
                "limit",
            )

        return judge

    def little(seen: Seen) -> Finding:
        return judges.close(seen(over_epsilon), seen([MF] * len(over_epsilon)), within=ACCEPTABLE)

    def largest(seen: Seen, limit: float, at: Sequence[Case]) -> Finding:
        worst = max(seen(at), key=lambda one: one.mean)
        return Finding(worst.mean <= limit, f"{worst.mean:+.3f} at {worst.case.setting}, and {limit:g} is the limit")

    def blows_up(seen: Seen) -> Finding:
        (own,), (base,) = seen(over_epsilon[-1:]), seen([MF])
        times = float(np.mean(own.values / base.values))
        return Finding(times >= BLOW_UP, f"{own.mean:.2f} stars against {base.mean:.2f}: {times:.1f} times")

    def leaks(seen: Seen) -> Finding:
        (found,) = seen([CHANGED])
        worst = float(np.abs(found.values).max())
        return Finding(
            worst > CHANGED["epsilon"],
            f"the log-likelihood of V moves by up to {worst:.3g} in {len(found.values)} trials, "
            f"where {CHANGED['epsilon']:g} is claimed",
        )

    def beats(reading: str) -> Callable[[Seen], Finding]:
        def judge(seen: Seen) -> Finding:
            other = seen([HELD_OUT] * len(held_out), reading) if reading == "constant" else seen(held_out, reading)
            return judges.better(seen(held_out), other)

        return judge

    at1, at2 = "5, Fig. 1, 2", "5, Fig. 2"
    by_count = [s1(fixed, count, error=WITHIN) for count in counts]
    by_epsilon = [s1(epsilon, ALL, error=WITHIN) for epsilon in epsilons]
    return [
        Claim(
            1,
            "on Netflix noise is negligible for epsilon .15 after 70 iterations",
            near_baseline(epsilons[-1], middle),
            data=NETFLIX,
            at="5, Fig. 1",
        ),
        Claim(
            2,
            "precision increases with the number of iterations",
            share_rises(by_count),
            at=at1,
            not_for={"literal": "that objective is solved and not stepped towards"},
        ),
        Claim(2, "precision increases with epsilon", share_rises(by_epsilon), at=at1),
        Claim(
            2,
            "with epsilon .05 it is extremely close to the baseline after 40 iterations",
            near_baseline(epsilons[0], counts[0]),
            data=MOVIELENS,
            at=at2,
        ),
        Claim(2, "one changed rating moves the odds of V by more than epsilon", leaks, ours=True, readings=WORKED_OUT),
        Claim(
            7,
            "on Netflix the mean error grows by less than .03 for epsilon .15",
            lambda seen: largest(seen, INCREASE, increases[-1:]),
            data=NETFLIX,
            at="5, Fig. 7(a)",
        ),
        Claim(8, "noise costs little: the mean error of training ratings hardly grows", little, at="Abstract; 1; 6"),
        Claim(
            8,
            "the mean error even decreases slightly",
            lambda seen: largest(seen, 0.0, increases),
            data=MOVIELENS,
            at="5, Fig. 8",
        ),
        Claim(8, f"the mean error at the largest epsilon is {BLOW_UP:g} times the baseline's", blows_up, ours=True),
        Claim(8, "held-out ratings are predicted better than by always saying the mean", beats("constant"), ours=True),
        Claim(
            8,
            "held-out ratings are predicted better than by averages with the same epsilon, proven (`bias`)",
            beats("bias"),
            ours=True,
        ),
    ]
