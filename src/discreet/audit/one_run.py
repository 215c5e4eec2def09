"""The audit in one run: many canaries at once, each there or not by a coin of its own."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.audit.attack import Read, if_sampled
from discreet.audit.bounds import guessing_bound
from discreet.audit.canaries import canaries_for, single_ratings_for, with_chosen
from discreet.audit.exact import Exact
from discreet.audit.noise import SHARE, Noise
from discreet.audit.recording import Look
from discreet.audit.results import Audit
from discreet.audit.setting import Audited, MakePopulation, check_confidence, sure_faults
from discreet.data.ratings import Ratings
from discreet.doors import checked
from discreet.errors import InputError
from discreet.populations.population import exact_total
from discreet.populations.terms import Terms
from discreet.privacy.randomness import Randomness
from discreet.releases.tuning import looked
from discreet.types import AnyArray, Booleans, Doubles, Progress, no_progress

SHARES = (1.0, 0.5, 0.25, 0.1)
"""Of the canaries to guess, the clearest first. All four are tried, and each has a quarter of the risk."""


@checked
def audit_in_one_run(
    model: Any,
    ratings: Ratings,
    terms: Terms,
    *,
    canaries: int = 1000,
    confidence: float = 0.99,
    randomness: Randomness | None = None,
    seed: int | None = None,
    make_population: MakePopulation | None = None,
    name: str = "",
    data: str = "",
    progress: Progress = no_progress,
) -> Audit:
    """Fit once with many canaries, guess which of them took part, and bound epsilon by how many guesses are right.

    For data on which a fit takes long. The bound and its proof are in :mod:`discreet.audit.bounds`. Guesses are made
    from the noisy sums that the model asked for, whose noise is tested too; that nothing else
    got into the release is checked by replay.

    Parameters
    ----------
    model, ratings, terms
        What is audited, on which data and on what terms.
    canaries
        How many made-up users, or users with one made-up rating; best no more than there are items.
    confidence
        With which the bound holds.
    randomness
        Where the noise comes from.
    seed
        Decides the coins; None for ones that cannot be repeated.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=300, ratings=600, seed=1)
    >>> terms = dc.Terms(epsilon=1.0)
    >>> audit = audit_in_one_run(dc.Popularity(), ratings, terms, canaries=300, randomness=dc.Randomness(1), seed=1)
    >>> 0 < audit.epsilon_low <= 1.0, audit.accuses
    (True, False)
    """
    ratings = looked(ratings, "audit", [model])
    check_confidence(confidence)
    randomness = Randomness() if randomness is None else randomness
    audited = Audited(model, terms, randomness, make_population)
    limit = audited.limit
    check_enough_canaries(canaries, confidence, limit.delta, limit.epsilon)
    added = single_ratings_for(ratings, canaries) if terms.unit_name == "rating" else canaries_for(ratings, canaries)
    chosen = np.random.default_rng(seed).random(canaries) < 0.5
    progress(0, 2, "fitting with canaries")
    used = with_chosen(ratings, added, chosen, terms.unit_name)
    seen = audited.run(used, replay=True)
    progress(1, 2, "guessing who took part")
    nobody = np.zeros(canaries, dtype=np.bool_)
    background = with_chosen(ratings, added, nobody, terms.unit_name)
    scores, faults = canary_scores(seen.looks, background, added, seen.cap)
    epsilon, right, guesses = guess(scores, chosen, limit.delta, 1 - (1 - confidence) * (1 - SHARE))
    noise, exact, middle = Noise(), Exact(), used.n_users // 2
    reads: list[Read] = []
    halves = used.select_users(np.arange(middle)), used.select_users(np.arange(middle, used.n_users))
    for look in seen.looks:
        total, *apart = (exact_total(look.contribution, some) for some in (used, *halves))
        exact.see_totals(look, apart[0], total, apart[1])  # a sum over users is the sum of both halves
        # What is left is noise; of a look at a sample the total is not known, and its noise is not tested.
        reads.append(Read(look, total, np.zeros_like(total)))
    noise.see(0, reads)
    progress(2, 2, "guessing who took part")
    return Audit(
        model=name or type(model).__name__,
        data=data,
        unit=terms.unit_name,
        trust=terms.trusted,
        method="one run",
        trials=canaries,
        confidence=confidence,
        epsilon_low=epsilon,
        limit=limit,
        proven=audited.proven(seen),
        claimed=seen.release.guarantee.claimed,
        canary="a made-up user" if terms.unit_name == "user" else "one made-up rating, by a user without others",
        attack="likelihood of the noisy sums",
        faults=(*sure_faults(audited, seen), *seen.faults, *faults, *exact.sentences()),
        noise=tuple(noise.faults((1 - confidence) * SHARE)),
        absent=scores[~chosen],
        present=scores[chosen],
        guesses=(right, guesses),
    )


def canary_scores(
    looks: Sequence[Look], background: Ratings, canaries: Ratings, cap: int | None = None
) -> tuple[Doubles, tuple[str, ...]]:
    """How much the looks speak for each canary: its log-likelihood ratio, the other canaries taken as half there.

    And what is wrong for certain, because a canary moves a look beyond its bound.
    """
    scores = np.zeros(canaries.n_users)
    exact = Exact(cap=cap)
    for look in looks:
        if look.law == "other":
            continue
        cells, moved, owner = _moves(look, canaries)
        exact.see_size(
            look.spends,
            l1=float(np.bincount(owner, weights=np.abs(moved), minlength=1).max()),
            l2=float(np.sqrt(np.bincount(owner, weights=moved**2, minlength=1).max())),
            ratings=int(np.diff(canaries.indptr).max()),
        )
        base, rate = exact_total(look.contribution, background), look.sampling_rate
        rest = (look.answer - rate * base).ravel()
        rest -= rate * np.bincount(cells, weights=moved, minlength=rest.size) / 2
        there, half = rest[cells], moved / 2
        if look.law == "gaussian":
            parts = 2 * there * half / look.scale**2
        else:
            parts = (np.abs(there + half) - np.abs(there - half)) / look.scale
        scores += if_sampled(np.bincount(owner, weights=parts, minlength=canaries.n_users), rate)
    return scores, tuple(exact.sentences())


def _moves(look: Look, canaries: Ratings) -> tuple[AnyArray, Doubles, AnyArray]:
    """Which cells each canary moves and how far: cells, moves, and whose they are."""
    cells, moved = [], []
    for place in range(canaries.n_users):
        own = canaries.select_users(np.array([place]))
        empty = own.select(np.zeros(len(own), dtype=np.bool_))
        move = (exact_total(look.contribution, own) - exact_total(look.contribution, empty)).ravel()
        cells.append(np.flatnonzero(move))
        moved.append(move[cells[-1]])
    owner = np.repeat(np.arange(canaries.n_users), [len(own) for own in cells])
    return np.concatenate(cells), np.concatenate(moved), owner


def guess(scores: Doubles, chosen: Booleans, delta: float, confidence: float) -> tuple[float, int, int]:
    """The best bound on epsilon over several numbers of guesses, and how many of these were right.

    The highest scores are guessed to be there, as many of the lowest not to be.

    >>> guess(np.array([5.0] * 50 + [-5.0] * 50), np.arange(100) < 50, 0.0, 0.95)[1:]
    (100, 100)
    """
    order, canaries = np.argsort(scores, kind="stable"), len(scores)
    risk = (1 - confidence) / len(SHARES)
    best = (-1.0, 0, 0)
    for share in SHARES:
        each = max(1, round(canaries * share) // 2)
        right = int(np.count_nonzero(chosen[order[-each:]]) + np.count_nonzero(~chosen[order[:each]]))
        bound = guessing_bound(right, 2 * each, canaries, delta, risk)
        if bound > best[0]:
            best = bound, right, 2 * each
    return best


def check_enough_canaries(canaries: int, confidence: float, delta: float, epsilon: float) -> None:
    """Raise where even guesses that are all right could not refute epsilon: an audit must be able to fail.

    >>> check_enough_canaries(10, 0.95, 0.0, 1.0)
    Traceback (most recent call last):
    discreet.errors.InputError: with 10 canaries an audit can show an epsilon of 0.598 at most, and 1 is to be tested: \
use at least 14
    """
    if canaries < 2:
        raise InputError(f"an audit in one run needs at least 2 canaries, got {canaries}")
    risk = (1 - confidence) / len(SHARES)
    if canaries * delta >= risk:
        raise InputError(
            f"{canaries} canaries times delta {delta:g} use up the confidence of {confidence:g}: use fewer canaries, "
            "or a smaller delta"
        )

    def most(number: int) -> float:
        guesses = 2 * (number // 2)
        return guessing_bound(guesses, guesses, number, delta, risk)

    if most(canaries) > epsilon:
        return
    needed = canaries
    while most(needed) <= epsilon:
        needed = max(needed + 1, int(needed * 1.01))
        if needed * delta >= risk or needed > 10_000_000:
            raise InputError(f"no number of canaries can refute epsilon {epsilon:g} at delta {delta:g} in one run")
    raise InputError(
        f"with {canaries} canaries an audit can show an epsilon of {most(canaries):.3g} at most, and {epsilon:g} is to "
        f"be tested: use at least {needed}"
    )
