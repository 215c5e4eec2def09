"""The paper's claims, each judged by the numbers that came out.

A verdict says whether a claim holds on these ratings, and with which numbers. What "flat" or "acceptable" means the
paper does not say; the limits below are ours. Every claim is judged for the paper's publication, in any of its forms,
and for ours (the reading ``sent``) where something of ours stands beside it. What the two are worth beside each other
is in :func:`comparisons`.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from discreet.papers.hybrid_knn.algorithm import FORMS
from discreet.papers.hybrid_knn.experiment import Case, Outcome, Reading

FLAT = 0.02
"""An RMSE within this share of the one at the largest epsilon counts as constant."""
ACCEPTABLE = 0.10
"""A loss of this share of RMSE counts as acceptable, and as close."""
RAPID = 3.0
"""Accuracy falls rapidly below epsilon 1 if it loses this many times as much there as above."""
SLACK = 0.002
"""RMSE that may go the wrong way between two neighbouring settings, beside what chance explains."""
SECONDS_PUBLISHED = 33.0
NOT_IGNORED = "a report that is there or not moves the sums by its own scale: noise for that of ratings proves nothing"
"""Why nothing sound ignores the perturbation."""


@dataclass(frozen=True)
class Verdict:
    """One claim, whether it holds here, and the numbers.

    ``claim`` is in our words; ``figure`` is where the paper shows it. ``reproduces`` is None where nothing can be run
    that the claim is about, and ``numbers`` then says why.
    """

    figure: int
    claim: str
    reproduces: bool | None
    numbers: str

    def __str__(self) -> str:
        return f"Fig. {self.figure}: {self.claim}: {self.word} ({self.numbers})"

    @property
    def word(self) -> str:
        """The verdict in a word or two."""
        return "·" if self.reproduces is None else "reproduces" if self.reproduces else "does not"

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def verdicts(outcome: Outcome, form: Reading = "plain") -> list[Verdict]:
    """Every claim that the outcome has the numbers for, in the order of the figures.

    >>> import discreet as dc
    >>> from discreet.papers.hybrid_knn.experiment import Grid, run
    >>> ratings = dc.synthetic(users=100, items=50, ratings=2000, seed=1)
    >>> outcome = run(ratings, seeds=1, figures=[2], grid=Grid(gammas=(0.5, 3.5)))
    >>> [verdict.claim for verdict in verdicts(outcome)]
    ['RMSE rises with gamma', 'RP is close to no privacy at all']
    """
    return [judge(outcome, form) for figure, judge in JUDGES if figure in outcome.figures]


def rises_with_gamma(outcome: Outcome, form: Reading) -> Verdict:
    """Fig. 2."""
    cases = [Case("RP", gamma) for gamma in outcome.grid.gammas]
    return Verdict(2, "RMSE rises with gamma", _rises(outcome, cases, form), _values(outcome, cases, form))


def rp_is_close(outcome: Outcome, form: Reading) -> Verdict:
    """Fig. 2, and the conclusion."""
    return _close(2, "RP", outcome, [Case("RP", gamma) for gamma in outcome.grid.gammas], form)


def falls_rapidly_below_one(outcome: Outcome, form: Reading) -> Verdict:
    """Fig. 3."""
    least, one, most = (
        Case("DP", 0.0, epsilon) for epsilon in (outcome.grid.epsilons[0], 1.0, outcome.grid.epsilons[-1])
    )
    below, above = outcome.difference(least, one, form)[0], outcome.difference(one, most, form)[0]
    return Verdict(
        3,
        "accuracy falls rapidly below epsilon 1",
        below > RAPID * max(above, 0.0),
        f"from epsilon 1 to {least.epsilon:g} RMSE rises by {below:.3f}, from {most.epsilon:g} to 1 by {above:.3f}",
    )


def flat_beyond_one(outcome: Outcome, form: Reading) -> Verdict:
    """Fig. 3."""
    epsilons = outcome.grid.epsilons
    errors = [outcome.rmse(Case("DP", 0.0, epsilon), form) for epsilon in epsilons]
    from_there_on = [
        all(abs(error / errors[-1] - 1) <= FLAT for error in errors[place:]) for place in range(len(epsilons))
    ]
    start = epsilons[from_there_on.index(True)]
    return Verdict(
        3,
        "accuracy is flat beyond epsilon 1",
        start <= 1,
        f"within {FLAT:.0%} of the last from epsilon {start:g} on: "
        + ", ".join(f"{error:.3f} at {epsilon:g}" for epsilon, error in zip(epsilons, errors, strict=True)),
    )


def dp_is_close(outcome: Outcome, form: Reading) -> Verdict:
    """Fig. 3, and the conclusion; for epsilon of 1 or more."""
    return _close(
        3, "DP", outcome, [Case("DP", 0.0, epsilon) for epsilon in outcome.grid.epsilons if epsilon >= 1], form
    )


def covariance_helps(outcome: Outcome, form: Reading) -> Verdict:
    """Fig. 3, where the kNN is run on the noisy covariance: it should add something to its own averages."""
    cases = [Case("DP", 0.0, epsilon) for epsilon in outcome.grid.epsilons]
    averages = cases if form != "sent" else [Case("sound averages", 0.0, case.epsilon) for case in cases]
    gains = [
        outcome.rmse(alone, "average") - outcome.rmse(case, form) for alone, case in zip(averages, cases, strict=True)
    ]
    return Verdict(
        3,
        "kNN on the noisy covariance predicts better than the noisy averages alone",
        all(gain > SLACK for gain in gains),
        ", ".join(f"{gain:+.3f} at epsilon {case.epsilon:g}" for gain, case in zip(gains, cases, strict=True)),
    )


def dp_trend_stays(outcome: Outcome, form: Reading) -> Verdict:
    """Fig. 4."""
    kept = [
        gamma
        for gamma in outcome.grid.gammas
        if _rises(outcome, [Case("hybrid", gamma, epsilon) for epsilon in reversed(outcome.grid.epsilons)], form)
    ]
    return Verdict(
        4,
        "whatever gamma is, RMSE falls as epsilon grows",
        len(kept) == len(outcome.grid.gammas),
        f"for {len(kept)} of {len(outcome.grid.gammas)} gammas",
    )


def larger_gamma_is_worse(outcome: Outcome, form: Reading) -> Verdict:
    """Fig. 4."""
    low, high = outcome.grid.gammas[0], outcome.grid.gammas[-1]
    gaps = [
        outcome.difference(Case("hybrid", high, epsilon), Case("hybrid", low, epsilon), form)[0]
        for epsilon in outcome.grid.epsilons
    ]
    return Verdict(
        4,
        f"DP plus RP with gamma {low:g} is more accurate than with {high:g}",
        all(gap > 0 for gap in gaps),
        f"by {min(gaps):.3f} to {max(gaps):.3f} RMSE over the epsilons",
    )


def sometimes_better_than_dp(outcome: Outcome, form: Reading) -> Verdict:
    """Fig. 5; the paper saw it on Netflix, not on MovieLens."""
    return _sometimes_better(5, "DP", outcome, lambda case: Case("DP", 0.0, case.epsilon), form)


def acceptable_beside_dp(outcome: Outcome, form: Reading) -> Verdict:
    """Fig. 5."""
    return _acceptable(5, "DP", outcome, lambda case: Case("DP", 0.0, case.epsilon), form)


def rp_trend_stays(outcome: Outcome, form: Reading) -> Verdict:
    """Fig. 6."""
    kept = [
        epsilon
        for epsilon in outcome.grid.epsilons
        if _rises(outcome, [Case("hybrid", gamma, epsilon) for gamma in outcome.grid.gammas], form)
    ]
    return Verdict(
        6,
        "whatever epsilon is, RMSE rises with gamma",
        len(kept) == len(outcome.grid.epsilons),
        f"for {len(kept)} of {len(outcome.grid.epsilons)} epsilons",
    )


def sometimes_better_than_rp(outcome: Outcome, form: Reading) -> Verdict:
    """Fig. 7; the paper saw no loss for any combination on Netflix, and some on MovieLens."""
    return _sometimes_better(7, "RP", outcome, lambda case: Case("RP", case.gamma), form)


def acceptable_beside_rp(outcome: Outcome, form: Reading) -> Verdict:
    """Fig. 7."""
    return _acceptable(7, "RP", outcome, lambda case: Case("RP", case.gamma), form)


def time_grows_and_is_acceptable(outcome: Outcome, form: Reading) -> Verdict:
    """Fig. 8: 33 s for the matrix of MovieLens."""
    times = [(timing, timing.sound_seconds if form == "sent" else timing.seconds) for timing in outcome.timings]
    return Verdict(
        8,
        f"the hybrid runs within {SECONDS_PUBLISHED:.0f} s on a matrix of about 1000 by 1700",
        times[-1][1] <= SECONDS_PUBLISHED,
        ", ".join(f"{timing.users:,} by {timing.items:,}: {seconds:.2f} s" for timing, seconds in times),
    )


def ignoring_rp_is_more_accurate(outcome: Outcome, form: Reading) -> Verdict:
    """Fig. 9."""
    claim = f"at epsilon {outcome.grid.fixed_epsilon:g}, DP that ignores RP is more accurate than the hybrid"
    if form == "sent":
        return Verdict(9, claim, None, NOT_IGNORED)
    gaps = _ignoring(outcome, form)
    return Verdict(
        9,
        claim,
        all(gap > 0 for gap in gaps),
        ", ".join(f"{gap:+.3f} at gamma {gamma:g}" for gap, gamma in zip(gaps, outcome.grid.gammas, strict=True)),
    )


def ignoring_rp_differs_little(outcome: Outcome, form: Reading) -> Verdict:
    """Fig. 9."""
    epsilon = outcome.grid.fixed_epsilon
    if form == "sent":
        return Verdict(9, "the RMSE difference of the two is small", None, NOT_IGNORED)
    shares = [
        outcome.ratio(Case("hybrid", gamma, epsilon), Case("DP on RP", gamma, epsilon), form) - 1
        for gamma in outcome.grid.gammas
    ]
    return Verdict(
        9,
        "the RMSE difference of the two is small",
        max(shares) <= ACCEPTABLE,
        f"the hybrid's RMSE is {min(shares):+.1%} to {max(shares):+.1%} beside it (small: up to {ACCEPTABLE:.0%})",
    )


JUDGES: Sequence[tuple[int, Callable[[Outcome, Reading], Verdict]]] = (
    (2, rises_with_gamma),
    (2, rp_is_close),
    (3, falls_rapidly_below_one),
    (3, flat_beyond_one),
    (3, dp_is_close),
    (3, covariance_helps),
    (4, dp_trend_stays),
    (4, larger_gamma_is_worse),
    (5, sometimes_better_than_dp),
    (5, acceptable_beside_dp),
    (6, rp_trend_stays),
    (7, sometimes_better_than_rp),
    (7, acceptable_beside_rp),
    (8, time_grows_and_is_acceptable),
    (9, ignoring_rp_is_more_accurate),
    (9, ignoring_rp_differs_little),
)


# ── Ours beside the paper ──


def comparisons(outcome: Outcome) -> list[Verdict]:
    """For every figure whether ours, proven, is more accurate than what the paper claims, read in its best form.

    >>> import discreet as dc
    >>> from discreet.papers.hybrid_knn.experiment import Grid, run
    >>> ratings = dc.synthetic(users=100, items=50, ratings=2000, seed=1)
    >>> outcome = run(ratings, seeds=1, figures=[2], grid=Grid(gammas=(0.5, 3.5)))
    >>> [verdict.claim for verdict in comparisons(outcome)]
    ['private reports, as noisy as RP, are more accurate than RP', 'those that are as hard to guess from are, too']
    """
    grid = outcome.grid
    perturbed = [Case("RP", gamma) for gamma in grid.gammas]
    noisy = [Case("DP", 0.0, epsilon) for epsilon in grid.epsilons]
    both = [Case("hybrid", gamma, epsilon) for gamma in grid.gammas for epsilon in grid.epsilons]
    fixed = [Case("hybrid", gamma, grid.fixed_epsilon) for gamma in grid.gammas]
    ignoring = [Case("DP on RP", gamma, grid.fixed_epsilon) for gamma in grid.gammas]
    guess = [Case("sound reports, as hard to guess", gamma) for gamma in grid.gammas]
    found = []
    if 2 in outcome.figures:
        found.append(_better(2, "private reports, as noisy as RP, are more accurate than RP", outcome, perturbed))
        there = [(ours, rp) for ours, rp in zip(guess, perturbed, strict=True) if outcome.has(ours)]
        if there:
            claim = "those that are as hard to guess from are, too"
            found.append(_better(2, claim, outcome, [rp for _, rp in there], [ours for ours, _ in there]))
    if 3 in outcome.figures:
        found.append(_better(3, "proven noise is more accurate than claimed noise", outcome, noisy))
    if {4, 5, 6, 7} & set(outcome.figures):
        first = min({4, 5, 6, 7} & set(outcome.figures))
        found.append(
            _better(first, "private reports with proven noise are more accurate than the hybrid", outcome, both)
        )
    if 8 in outcome.figures:
        last = outcome.timings[-1]
        numbers = f"{last.sound_seconds:.2f} s and {last.seconds:.2f} s for {last.users:,} by {last.items:,}"
        found.append(Verdict(8, "ours takes no more time", last.sound_seconds <= last.seconds, numbers))
    if 9 in outcome.figures:
        ours = [case.beside for case in fixed]
        claim = f"at epsilon {grid.fixed_epsilon:g} ours is more accurate than DP that ignores RP"
        found.append(_better(9, claim, outcome, ignoring, [case for case in ours if case is not None]))
    return found


def _better(
    figure: int, claim: str, outcome: Outcome, theirs: Sequence[Case], ours: Sequence[Case] | None = None
) -> Verdict:
    """In all settings, against the form that suits the paper best in each."""
    mine = [case.beside for case in theirs] if ours is None else ours
    gaps = []
    for own, other in zip(mine, theirs, strict=True):
        assert own is not None
        gaps.append(min(outcome.rmse(other, form) for form in FORMS) - outcome.rmse(own, "sent"))
    better = sum(gap > 0 for gap in gaps)
    return Verdict(
        figure,
        claim,
        better == len(gaps),
        f"in {better} of {len(gaps)} settings, by {min(gaps):+.3f} to {max(gaps):+.3f} RMSE, beside its best form",
    )


def _rises(outcome: Outcome, cases: Sequence[Case], form: Reading) -> bool:
    """Whether RMSE rises from the first to the last, and nowhere falls by more than chance."""
    steps = [outcome.difference(later, earlier, form) for earlier, later in pairwise(cases)]
    return outcome.difference(cases[-1], cases[0], form)[0] > 0 and all(
        step >= -chance - SLACK for step, chance in steps
    )


def _values(outcome: Outcome, cases: Sequence[Case], form: Reading) -> str:
    return ", ".join(f"{outcome.rmse(case, form):.3f} at {case.gamma:g}" for case in cases)


def _close(figure: int, method: str, outcome: Outcome, cases: Sequence[Case], form: Reading) -> Verdict:
    shares = [outcome.ratio(case, Case("no privacy"), form) - 1 for case in cases]
    where = " for epsilon of 1 or more" if method == "DP" else ""
    return Verdict(
        figure,
        f"{method} is close to no privacy at all{where}",
        max(shares) <= ACCEPTABLE,
        f"RMSE {min(shares):+.1%} to {max(shares):+.1%} beside {outcome.rmse(Case('no privacy'), form):.3f} "
        f"(close: up to {ACCEPTABLE:.0%})",
    )


def _ratios(outcome: Outcome, beside: Callable[[Case], Case], form: Reading) -> dict[Case, float]:
    cases = [Case("hybrid", gamma, epsilon) for gamma in outcome.grid.gammas for epsilon in outcome.grid.epsilons]
    return {case: outcome.ratio(case, beside(case), form) for case in cases}


def _sometimes_better(
    figure: int, method: str, outcome: Outcome, beside: Callable[[Case], Case], form: Reading
) -> Verdict:
    ratios = _ratios(outcome, beside, form)
    better = []
    for case in ratios:
        gap, chance = outcome.difference(beside(case), case, form)
        if gap > 2 * chance + SLACK:  # twice, because there are many settings to be lucky in
            better.append(case)
    best = min(ratios, key=lambda case: ratios[case])
    return Verdict(
        figure,
        f"the hybrid is sometimes more accurate than {method} alone",
        bool(better),
        f"in {len(better)} of {len(ratios)} settings; the lowest ratio of RMSE is {ratios[best]:.3f}, "
        f"at gamma {best.gamma:g} and epsilon {best.epsilon:g}",
    )


def _acceptable(figure: int, method: str, outcome: Outcome, beside: Callable[[Case], Case], form: Reading) -> Verdict:
    ratios = _ratios(outcome, beside, form)
    within = sum(ratio <= 1 + ACCEPTABLE for ratio in ratios.values())
    worst = max(ratios, key=lambda case: ratios[case])
    return Verdict(
        figure,
        f"what the hybrid loses beside {method} alone is acceptable",
        within == len(ratios),
        f"within {ACCEPTABLE:.0%} in {within} of {len(ratios)} settings; the highest ratio of RMSE is "
        f"{ratios[worst]:.3f}, at gamma {worst.gamma:g} and epsilon {worst.epsilon:g}",
    )


def _ignoring(outcome: Outcome, form: Reading) -> list[float]:
    epsilon = outcome.grid.fixed_epsilon
    return [
        outcome.difference(Case("hybrid", gamma, epsilon), Case("DP on RP", gamma, epsilon), form)[0]
        for gamma in outcome.grid.gammas
    ]
