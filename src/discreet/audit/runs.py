"""The audit in many runs: the same mechanism, again and again, on two data sets that differ in one canary."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from discreet.audit import learning, setting
from discreet.audit.attack import Adversary, likelihoods
from discreet.audit.bounds import best_cut, epsilon_bound
from discreet.audit.canaries import pairs_for, units_for
from discreet.audit.card import Cards
from discreet.audit.exact import Exact, telling
from discreet.audit.judging import CAUTION, LIKELIHOOD, check_enough_runs, epsilon_of_mu, fewest_runs, judge, more_runs
from discreet.audit.noise import SHARE, Noise
from discreet.audit.probing import Probe
from discreet.audit.results import Audit
from discreet.data.ratings import Ratings
from discreet.doors import checked
from discreet.errors import InputError
from discreet.populations.terms import Terms
from discreet.privacy.randomness import Randomness
from discreet.releases.tuning import looked
from discreet.types import AnyArray, Progress, no_progress

Attacks = Literal["all", "release"]
FEWEST_RUNS, EXPLORING, FINALISTS = 40, 40, 3
"""Runs at least; on how many every canary is tried at least, and how many canaries on twice as many."""
SECONDS, MOST_RUNS, TIMED = 100, 4000, 8
"""How long an audit takes that is not told how many runs to make, so that people need not wait for more than two
minutes; how many it makes at most; and on how many it is timed, the fewest that an attack can be learned from."""
RELEASE = "learned from the release"


@checked
def audit_by_runs(
    model: Any,
    ratings: Ratings,
    terms: Terms,
    *,
    runs: int | None = None,
    confidence: float = 0.99,
    attacks: Attacks = "all",
    randomness: Randomness | None = None,
    make_population: setting.MakePopulation | None = None,
    name: str = "",
    data: str = "",
    progress: Progress = no_progress,
) -> Audit:
    """Run a model many times on two neighbouring data sets and bound epsilon by how well they can be told apart.

    Canaries of every kind are tried on exact totals, and a dozen of them in a few runs to choose one. The other runs
    are divided: a quarter to learn attacks on, a quarter to choose an attack and its threshold, one half to judge it.
    What is chosen never depends on the runs that are judged, so the bound is valid whatever is chosen. The noise of the
    looks is tested as well (:mod:`discreet.audit.noise`), with a thousandth of the risk.

    Parameters
    ----------
    model, ratings, terms
        What is audited, on which data and on what terms. A canary is added to the data. With ``trust="devices"`` one
        device is audited, whose message the recommender sees, and the data only lend their catalogue.
    runs
        On each side; by default as many as are done in about two minutes, at most 4,000, and at least so many that the
        promise could be refuted. How many more would tell more is in ``more`` of the audit.
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
    began = time.monotonic()
    ratings = looked(ratings, "audit", [model])
    setting.check_confidence(confidence)
    randomness = Randomness() if randomness is None else randomness
    audited = setting.Audited(model, terms, randomness, make_population)
    if runs is not None and runs < FEWEST_RUNS:
        raise InputError(f"an audit needs at least {FEWEST_RUNS} runs on each side, got {runs}")
    pairs = pairs_for(ratings, terms.unit_name, device=terms.trusted == "devices")
    first, limit = audited.run(pairs[0].present, replay=True), audited.limit
    proven, mu_proven = audited.proven(first), setting.mu_of(first.spends)
    confident = 1 - (1 - confidence) * (1 - 2 * SHARE)  # the tests of noise and samples have the rest of the risk
    tested = confidence, limit.delta, proven.epsilon if proven else limit.epsilon, mu_proven
    if runs is not None:
        check_enough_runs(runs, *tested)
    exact, probe, units = Exact(cap=first.cap), Probe(audited.population), list(units_for(ratings, terms.unit_name))
    looks = telling(first.looks)
    exact.see_units(looks, units)
    if audited.proves:
        probe.see_moves(looks, [*((pair.absent, pair.present) for pair in pairs), *units])
        probe.see_samples(looks, ratings, (1 - confidence) * SHARE)
    adversaries = [Adversary(pair, exact) for pair in pairs]
    exploring, times = max(EXPLORING, (runs or 0) // 40), len(pairs) + 2 * FINALISTS
    if runs is None:
        progress(0, 1, "seeing how long a fit takes")
        each = seconds_each(audited, adversaries[0], attacks)
        exploring = min(EXPLORING, int(0.4 * (SECONDS - (time.monotonic() - began)) / each / times))
    adversary = choose_canary(audited, adversaries, first, exploring, attacks, progress)
    if runs is None:
        each = seconds_each(audited, adversary, attacks)
        possible = int((SECONDS - (time.monotonic() - began)) / each)
        runs = max(FEWEST_RUNS, fewest_runs(*tested), min(MOST_RUNS, possible))
    timed = time.monotonic()
    observed = observe(audited, adversary, runs, attacks, progress)
    each = (time.monotonic() - timed) / runs
    pure = sum(spend.pure_epsilon for spend in first.spends if spend.mechanism != "gaussian")
    verdict = judge(
        observed.scores, runs // 4, limit.delta, confident, None if mu_proven is None else observed.ratios, pure=pure
    )
    seen = observed.last
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
        epsilon_of_mu=None if verdict.mu is None or pure > 0 else epsilon_of_mu(verdict.mu.low, limit.delta),
        canary=adversary.pair.what,
        exercised=setting.exercised(seen, adversary, limit.delta),
        attack=verdict.attack,
        faults=(
            *setting.sure_faults(audited, seen),
            *first.faults,
            *exact.sentences(),
            *probe.faults,
            *observed.card_faults,
        ),
        noise=(*observed.noise.faults((1 - confidence) * SHARE), *probe.noise),
        absent=verdict.absent,
        present=verdict.present,
        threshold=verdict.cut.threshold,
        seconds=time.monotonic() - began,
        more=more_runs(
            verdict, runs, each * (4 * runs + times * max(EXPLORING, 4 * runs // 40)), limit.delta, confident
        ),
    )


def seconds_each(audited: setting.Audited, adversary: Adversary, attacks: Attacks) -> float:
    """How long a run on both sides takes: the mean of a few that are not judged, after some that may compile."""
    for _ in range(2):
        began = time.monotonic()
        observe(audited, adversary, TIMED, attacks, no_progress)
        if (took := time.monotonic() - began) > SECONDS / 5:  # compiling takes no such time
            break
    return took / TIMED


def choose_canary(
    audited: setting.Audited,
    adversaries: Sequence[Adversary],
    first: setting.Seen,
    exploring: int,
    attacks: Attacks,
    progress: Progress = no_progress,
) -> Adversary:
    """The canary that moves the looks of this model furthest, unless a few runs show another far more clearly.

    Every canary has a few runs, unless there is no time for as many as can be learned from; those that show most have
    more. None of these is judged, so whatever they make us choose, the bounds hold.
    """
    strengths = [adversary.strength(first.looks) for adversary in adversaries]
    order = sorted(range(len(adversaries)), key=lambda place: -round(strengths[place], 6))
    bound = epsilon_bound(0.0, CAUTION * 0.05)
    if exploring < TIMED:
        return adversaries[order[0]]

    def shown(place: int, count: int) -> float:
        scores = observe(audited, adversaries[place], count, attacks, no_progress).scores
        return max(best_cut(absent, present, bound)[1] for absent, present in scores.values())

    found = {}
    for done, place in enumerate(order):
        found[place] = shown(place, exploring)
        progress(done + 1, len(order) + FINALISTS, "looking for the worst canary")
    finalists = sorted(order, key=lambda place: -found[place])[:FINALISTS]  # of equals the one that moves most
    best, most = order[0], found[order[0]]
    for done, place in enumerate(finalists):
        again = shown(place, 2 * exploring)
        if place == best:
            most = max(most, again)
        elif again > 1.5 * most + 0.5:
            best, most = place, again
        progress(len(order) + done + 1, len(order) + FINALISTS, "looking for the worst canary")
    return adversaries[best]


@dataclass(frozen=True, eq=False)
class Observed:
    """What the attacks made of many runs on both sides.

    ``scores`` are of the runs after the first quarter, where attacks were learned; ``ratios`` are log-likelihood ratios
    of all runs, of the looks with Gaussian noise, from which μ is measured.
    """

    scores: dict[str, learning.Sides]
    ratios: learning.Sides
    noise: Noise
    card_faults: list[str]
    last: setting.Seen


def observe(
    audited: setting.Audited, adversary: Adversary, runs: int, attacks: Attacks, progress: Progress
) -> Observed:
    """Run on both sides in turn, and let every attack see every run."""
    pair, learned = adversary.pair, runs // 4
    likelihood, gaussian = np.zeros((2, runs)), np.zeros((2, runs))
    looked, released = learning.Learner("learned from the noisy sums", runs), learning.Learner(RELEASE, runs)
    cards, noise = Cards(), Noise()
    seen: setting.Seen | None = None
    own: AnyArray = np.zeros(0, dtype=np.int64)
    for run in range(runs):
        for side, data in enumerate((pair.absent, pair.present)):
            seen = audited.run(data)
            cards.see(side, seen.release)
            arrays = learning.numeric(seen.release.arrays)
            # Summaries come first: what comes last is cut off where shapes depend on the data.
            head = learning.summaries(arrays)
            if released.size is None:
                own = learning.canary_cells(arrays, pair) + len(head)
            row = learning.resized(np.concatenate([head, learning.flat(arrays)]), released.size)
            released.see(side, run, row, own, partial(learning.curves, row[own]))
            if attacks == "all":
                reads = adversary.read(seen.looks)
                likelihood[side, run], gaussian[side, run] = likelihoods(reads)
                touched = learning.touched_cells(reads)
                answers = learning.flat([read.centred for read in reads], looked.size)
                looked.see(side, run, answers, touched, partial(learning.look_features, reads, answers, touched))
                if audited.proves:
                    noise.see(side, reads)
        progress(run + 1, runs, "running on both sides")
    assert seen is not None
    scores: dict[str, learning.Sides] = {}
    if attacks == "all":
        scores[LIKELIHOOD] = likelihood[0, learned:], likelihood[1, learned:]
        scores |= looked.scores()
    scores |= released.scores()
    scores |= cards.scores(learned)
    if not scores:  # nothing that was released ever differed
        scores[RELEASE] = np.zeros(runs - learned), np.zeros(runs - learned)
    return Observed(scores, (gaussian[0], gaussian[1]), noise, cards.faults(), seen)
