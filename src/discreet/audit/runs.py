"""The audit in many runs: the same mechanism, again and again, on two data sets that differ in one canary."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from discreet.audit.attack import DIGITS, Adversary, canary_cells, differing_cells, fisher_direction, flat, numeric
from discreet.audit.bounds import (
    Bound,
    Cut,
    Interval,
    apply_bound,
    best_cut,
    epsilon_bound,
    greatest_bound,
    mu_bound,
    mu_interval,
)
from discreet.audit.canaries import Pair, pairs_for
from discreet.audit.results import Audit
from discreet.audit.setting import Audited, MakePopulation, Seen, check_confidence, exercised, faults_of, mu_of
from discreet.data.ratings import Ratings
from discreet.errors import InputError
from discreet.models.tuning import looked
from discreet.populations.terms import Terms
from discreet.privacy.randomness import Randomness
from discreet.privacy.spend import Spend
from discreet.types import AnyArray, Doubles, Progress, no_progress

Attacks = Literal["all", "release"]
Sides = tuple[Doubles, Doubles]
"""Scores without and with the canary."""
LIKELIHOOD = "likelihood of the looks"
EVEN_ODDS = Cut(0.0, above=True, for_present=True)
FEWEST_RUNS, EXPLORING = 40, 80
MOST_KEPT = 8_000_000
"""Released numbers of one side that are held in memory at once."""
CAUTION = 0.02
"""Choices are made by bounds that are wrong this much less often: of many candidates one is always lucky."""
NEARLY_AS_GOOD = 1.5
"""A learned attack is judged instead of the likelihood only if it was better by this factor when it was chosen."""


def audit_by_runs(
    model: Any,
    ratings: Ratings,
    terms: Terms,
    *,
    runs: int = 4000,
    confidence: float = 0.95,
    attacks: Attacks = "all",
    randomness: Randomness | None = None,
    make_population: MakePopulation | None = None,
    name: str = "",
    data: str = "",
    progress: Progress = no_progress,
) -> Audit:
    """Run a model many times on two neighbouring data sets and bound epsilon by how well they can be told apart.

    A few runs are made to choose a canary. The others are divided: a quarter to learn attacks on, a quarter to choose
    an attack and its threshold, one half to judge it. What is chosen never depends on the runs that are judged, so the
    bound is valid whatever is chosen.

    Parameters
    ----------
    model, ratings, terms
        What is audited, on which data and on what terms. A canary is added to the data. With ``trust="devices"`` one
        device is audited, whose message the recommender sees, and the data only lend their catalogue.
    runs
        On each side.
    confidence
        With which the bounds hold.
    attacks
        ``release`` for an adversary who sees the released arrays only, and not the sums that they were made from.
    randomness
        Where the noise of all runs comes from. A seeded one makes the audit repeatable; its releases are thrown away.
    make_population
        Asks someone else than the terms say: how a test plants a bug.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> audit = audit_by_runs(dc.Popularity(), ratings, dc.Terms(epsilon=1.0), runs=400, randomness=dc.Randomness(1))
    >>> 0.3 < audit.epsilon_low <= 1.0, audit.accuses
    (True, False)
    """
    ratings = looked(ratings, "audit", [model])
    check_confidence(confidence)
    randomness = Randomness() if randomness is None else randomness
    audited = Audited(model, terms, randomness, make_population)
    if runs < FEWEST_RUNS:
        raise InputError(f"an audit needs at least {FEWEST_RUNS} runs on each side, got {runs}")
    pairs = pairs_for(ratings, terms.unit_name, device=terms.trusted == "devices")
    first, limit = audited.run(pairs[0].present), audited.limit
    proven, mu_proven = audited.proven(first), mu_of(first.spends)
    check_enough_runs(runs, confidence, limit.delta, proven.epsilon if proven else limit.epsilon, mu_proven)
    adversary, seen = choose_canary(audited, pairs, max(EXPLORING, runs // 16), attacks, progress)
    scores, ratios = _run(audited, adversary, runs, attacks, progress)
    mixed = any(spend.mechanism != "gaussian" for spend in first.spends)
    unseen = mu_proven is None or (mixed and attacks == "release")
    verdict = judge(scores, runs // 4, limit.delta, confidence, None if unseen else ratios, mixed=mixed)
    return Audit(
        model=name or type(model).__name__,
        data=data,
        unit=terms.unit_name,
        trust=terms.trusted,
        method="runs",
        trials=runs,
        confidence=confidence,
        epsilon_low=verdict.epsilon,
        limit=limit,
        proven=proven,
        claimed=seen.release.guarantee.claimed,
        mu=verdict.mu,
        mu_proven=mu_proven,
        epsilon_of_mu=None if verdict.mu is None or mixed else epsilon_of_mu(verdict.mu.low, limit.delta),
        canary=adversary.pair.what,
        exercised=exercised(seen, adversary, limit.delta),
        attack=verdict.attack,
        faults=faults_of(seen, adversary),
        absent=verdict.absent,
        present=verdict.present,
        threshold=verdict.cut.threshold,
    )


def choose_canary(
    audited: Audited, pairs: list[Pair], runs: int, attacks: Attacks, progress: Progress = no_progress
) -> tuple[Adversary, Seen]:
    """The canary that moves the looks of this model furthest, unless a few runs show another far more clearly.

    These runs are not judged, so whatever they make us choose, the bounds hold.
    """
    seen = [audited.run(pair.present) for pair in pairs]
    adversaries = [Adversary(pair) for pair in pairs]
    strengths = [adversary.strength(each.looks) for adversary, each in zip(adversaries, seen, strict=True)]
    order = sorted(range(len(pairs)), key=lambda place: -round(strengths[place], 6))
    bound = epsilon_bound(0.0, CAUTION * 0.05)
    best, shown = order[0], -1.0
    for done, place in enumerate(order):
        scores, _ = _run(audited, adversaries[place], runs, attacks, no_progress)
        found = max(best_cut(absent, present, bound)[1] for absent, present in scores.values())
        if shown < 0 or found > 1.5 * shown + 0.5:
            best, shown = place, found
        progress(done + 1, len(order), "looking for the worst canary")
    return adversaries[best], seen[best]


def _run(
    audited: Audited, adversary: Adversary, runs: int, attacks: Attacks, progress: Progress
) -> tuple[dict[str, Sides], Sides]:
    """Scores of every attack on the runs after the first quarter, where it was learned; and likelihood ratios of all.

    These are of the looks with Gaussian noise, from which μ is measured.
    """
    learned, half = runs // 4, runs // 8
    likelihood, gaussian = np.zeros((2, runs)), np.zeros((2, runs))
    looked: tuple[list[Doubles], list[Doubles]] = ([], [])
    released: tuple[list[Doubles], list[Doubles]] = ([], [])
    size: int | None = None
    cells: AnyArray = np.zeros(0, dtype=np.int64)
    for run in range(runs):
        if run == half:  # from here on only the cells that seem to tell something are kept
            told = differing_cells(np.stack(released[0]), np.stack(released[1]))
            cells = np.union1d(cells[cells < released[0][0].size], told)
            released = ([], [])
        for side, data in enumerate((adversary.pair.absent, adversary.pair.present)):
            seen = audited.run(data)
            arrays = numeric(seen.release.arrays)
            if size is None:
                cells = canary_cells(arrays, adversary.pair)
            numbers = flat(arrays, size)
            size = len(numbers)
            if run >= half:
                released[side].append(numbers[cells])
            elif run < max(MOST_KEPT // size, 8):
                released[side].append(numbers)
            if attacks == "all":
                likelihood[side, run], gaussian[side, run] = adversary.likelihoods(seen.looks)
                looked[side].append(adversary.features(seen.looks))
        progress(run + 1, runs, "running on both sides")
    scores: dict[str, Sides] = {}
    if attacks == "all":
        scores[LIKELIHOOD] = likelihood[0, learned:], likelihood[1, learned:]
        scores |= _discriminate("learned from the looks", looked, learned)
    scores |= _discriminate("learned from the release", released, learned - half)
    if not scores:  # nothing that was released ever differed
        scores["learned from the release"] = np.zeros(runs - learned), np.zeros(runs - learned)
    return scores, (gaussian[0], gaussian[1])


def _discriminate(name: str, rows: tuple[list[Doubles], list[Doubles]], learned: int) -> dict[str, Sides]:
    """Learn a direction on the first rows, and score the others; nothing where there is nothing to learn from."""
    lengths = {len(row) for side in rows for row in side}
    if len(lengths) != 1 or lengths == {0}:
        return {}
    absent, present = np.stack(rows[0]), np.stack(rows[1])
    direction = fisher_direction(absent[:learned], present[:learned])
    middle = (absent[:learned].mean(axis=0) + present[:learned].mean(axis=0)) / 2
    scores = [np.round((side[learned:] - middle) @ direction, DIGITS) for side in (absent, present)]
    return {name: (scores[0], scores[1])}


@dataclass(frozen=True, eq=False)
class Verdict:
    """Which attack was judged, where it cut (for μ, where that was measured), and the bounds that follow."""

    attack: str
    cut: Cut
    epsilon: float
    mu: Interval | None
    absent: Doubles
    present: Doubles


def judge(
    scores: Mapping[str, Sides],
    chosen_on: int,
    delta: float,
    confidence: float,
    ratios: Sides | None = None,
    *,
    mixed: bool = False,
) -> Verdict:
    """Choose an attack and its threshold on the first scores of each side, and bound epsilon by the others.

    For Gaussian noise give the log-likelihood ``ratios`` of all runs: half of the risk then goes to bounds on μ, in two
    equal parts. One is for the likelihood with the threshold 0, for which nothing was chosen, so that all runs count;
    it is reported unless a learned attack was better, which is judged with the other part on the runs that are left.
    Where other noise is ``mixed`` in, what was learned tells of that too, and μ is always that of the ratios.

    >>> rng = np.random.default_rng(1)
    >>> noise = rng.laplace(size=(2, 4000))  # the scores are the sums themselves, which the canary moves by 1
    >>> verdict = judge({"sum": (noise[0], noise[1] + 1)}, 2000, 0.0, 0.95)
    >>> 0.8 < verdict.epsilon < 1
    True
    """
    risk = (1 - confidence) / (1 if ratios is None else 2)
    epsilons, mus = epsilon_bound(delta, CAUTION * risk), mu_bound(CAUTION * risk)
    attack, greatest = "", -1.0
    for name, (absent, present) in scores.items():
        _, found = best_cut(absent[:chosen_on], present[:chosen_on], epsilons if ratios is None or mixed else mus)
        if not attack or found > greatest * NEARLY_AS_GOOD:
            attack, greatest = name, found
    absent, present = scores[attack]
    before, after = (absent[:chosen_on], present[:chosen_on]), (absent[chosen_on:], present[chosen_on:])
    cut, _ = best_cut(*before, epsilons)
    middle, mu = cut, None
    if ratios is not None:
        by_ratios = attack == LIKELIHOOD or mixed
        judged, middle = (ratios, EVEN_ODDS) if by_ratios else (after, best_cut(*before, mus)[0])
        many, few = middle.many_and_few(*judged)
        mu = mu_interval(middle.hits(many), middle.hits(few), len(many), risk / 2)
    return Verdict(attack, middle, apply_bound(cut, *after, epsilon_bound(delta, risk)), mu, *after)


def check_enough_runs(runs: int, confidence: float, delta: float, epsilon: float, mu: float | None) -> None:
    """Raise where even an attack that is always right could not refute what is promised: an audit must be able to fail.

    >>> check_enough_runs(100, 0.95, 0.0, 5.0, None)
    Traceback (most recent call last):
    discreet.errors.InputError: with 100 runs on each side an audit can show an epsilon of 2.57 at most, \
and 5 is to be tested: run at least 1103
    """
    risk = (1 - confidence) / (1 if mu is None else 8)  # of the lower end of the interval that judge gives
    bound: Bound = epsilon_bound(delta, risk) if mu is None else mu_bound(risk)
    name, promised = ("epsilon", epsilon) if mu is None else ("mu", mu)

    def enough(judged: int) -> bool:
        return greatest_bound(judged, bound) > promised

    judged = runs - 2 * (runs // 4)
    if enough(judged):
        return
    most = judged
    while not enough(most):
        most *= 2
        if most > 2**40:
            raise InputError(f"no number of runs can refute {name} {promised:.4g} at delta {delta:g}")
    least = judged
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (least, middle) if enough(middle) else (middle, most)
    raise InputError(
        f"with {runs} runs on each side an audit can show {'an' if name == 'epsilon' else 'a'} {name} of "
        f"{greatest_bound(judged, bound):.3g} at most, and {promised:.4g} is to be tested: run at least {2 * most + 3}"
    )


def epsilon_of_mu(mu: float, delta: float) -> float | None:
    """The epsilon at ``delta`` of Gaussian noise with this μ; None where delta is 0, and no epsilon would do."""
    from discreet.privacy.accounting import epsilon_of

    if delta == 0 or not math.isfinite(mu):
        return None
    if mu <= 0:
        return 0.0
    return epsilon_of([Spend(what="mu", mechanism="gaussian", norm="l2", sensitivity=mu, scale=1.0)], delta)
