"""What a population does behind its noise: it is asked so loudly that the noise is next to nothing.

A population adds noise for the bound that a question declares, whatever the total is. So a question that says 2¹⁸ times
as much under the same bound is answered with 2⁻¹⁸ of the noise, and a few answers show what else is done to a total.

1. *How far a unit moves an answer*, the statistic and the population together; certain, since the noise is taken to be
   as large as it is once in 10²⁰ times. Of a look at a sample the canary is alone in the data: what is answered is then
   its own move, or nothing.
2. *Who is in a sample.* Every user of a small data set says a digit of their own, so each answer says who was in it.
   What is no sum over some of the users is a fault. Else being in a sample must be a coin with the odds that the
   ledger has, anew for each user, step and fit. Exact binomial tests, of all users and of each alone: how often anyone
   is in; how often two fits, two steps and two users agree, at every distance; how often a user's number of samples,
   and a sample's number of users, is the likeliest.
3. *The noise of the steps* is what is left of these answers, and tested by :mod:`discreet.audit.noise`.

The tests of 2 and 3 together accuse a right mechanism with at most the risk that is given (Bonferroni).
"""

import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import bdtr, bdtrc

from discreet.audit.attack import Read
from discreet.audit.canaries import Rows, joined, users_of
from discreet.audit.exact import LARGE
from discreet.audit.noise import Noise
from discreet.audit.recording import Look
from discreet.data.ratings import Ratings
from discreet.populations.contribution import Contribution
from discreet.populations.population import Population
from discreet.privacy.spend import Spend
from discreet.types import AnyArray, Booleans, Doubles

LOUD, DIGIT = 2.0**18, 2.0**12
"""How much louder a question is said, and how loud a digit is: a sum of digits should fit wherever sums are."""
TAIL = 40.0
"""Deviations that no noise reaches, Laplace's neither."""
DIGITS = 12
"""Users who share a cell: they say 1, 2, 4, …"""
OTHERS, FITS, STEPS = 12, 32, 32
"""Users beside the canaries whose samples are looked at, fits, and steps of each."""
MOST_CELLS = 4_000_000
"""Of all answers together."""


@dataclass(eq=False)
class Probe:
    """Asks fresh populations, each once, what a fit asked."""

    population_of: Callable[[Ratings], Population]
    faults: dict[str, None] = field(default_factory=dict)
    noise: dict[str, None] = field(default_factory=dict)

    def ask(self, look: Look, asked: Contribution, ratings: Ratings, times: int = 1) -> tuple[list[Doubles], Spend]:
        """So many answers of one population, in the place of a look, and the line that was booked for them."""
        population = self.population_of(ratings)
        if look.steps is not None:
            steps = population.steps(look.steps, look.share)
            answers = [steps.sum(asked) for _ in range(min(times, look.steps.count))]
        else:
            answers = [population.sum(asked, look.share)]
        return answers, population.spends[-1]

    def see_moves(self, looks: Iterable[Look], pairs: Iterable[tuple[Ratings, Ratings]]) -> None:
        """How far the canaries move the answers."""
        looks = [look for look in looks if look.spends and look.law != "other" and look.answer.size <= LARGE]
        for (absent, present), look in itertools.product(pairs, looks):
            asked, factor = _louder(look)
            sampled = look.sampling_rate < 1
            if sampled and present.n_users > 1:
                continue
            noise = 2 * TAIL * look.scale
            try:
                answers, spend = self.ask(look, asked, present, STEPS if sampled else 1)
                before = [np.zeros_like(answers[0])] if sampled else self.ask(look, asked, absent)[0]
                moved = [np.maximum(np.abs(answer - before[0]) - noise, 0.0) / factor for answer in answers]
                sizes = [float(each.sum() if spend.norm == "l1" else np.sqrt((each**2).sum())) for each in moved]
                if max(sizes) <= spend.sensitivity:
                    continue
                again = before if sampled else self.ask(look, asked, absent)[0]
            except Exception:  # it needs more users, or refuses what is so loud
                continue
            # Else it draws more than noise, say which ratings of a user it keeps: then others move an answer, too.
            if bool((np.abs(again[0] - before[0]) <= noise).all()):
                self.faults[
                    f"a canary moves the answer to {look.contribution.name!r} by more than the "
                    f"{spend.sensitivity:.4g} in {spend.norm} that its noise is made for"
                ] = None

    def see_samples(self, looks: Iterable[Look], ratings: Ratings, risk: float) -> None:
        """Who is in the samples of steps, and the noise of these."""
        looks = [look for look in looks if look.sampling_rate < 1 and look.spends and look.answer.size <= LARGE]
        lines = {look.contribution.name: look for look in looks}
        ledger = getattr(self.population_of(ratings), "ledger", None) if lines else None
        if getattr(ledger, "levels", None):  # whoever chose one is in a sample with a weight, or less often
            return
        for look in lines.values():
            size = max(1, math.prod(look.contribution.shape))
            among = _among(ratings, min(OTHERS + 6, size * DIGITS))
            most = max(4, math.isqrt(MOST_CELLS // size))
            present, noise = [], Noise()
            for _ in range(min(FITS, most)):
                asked, read = _told(look, among)
                try:
                    answers, spend = self.ask(look, asked, among, min(STEPS, most))
                except Exception:  # it needs more users, or refuses what is so loud
                    return
                found = [read(answer) for answer in answers]
                if any(digits is None for digits, _ in found):
                    self.faults[
                        f"an answer to {look.contribution.name!r} is not the sum over a sample of the users"
                    ] = None
                    return
                present.append([digits for digits, _ in found])
                noise.see(0, [_left(look, spend, left) for _, left in found])
            self.noise.update(dict.fromkeys(noise.faults(risk / 2 / len(lines))))
            heard = np.array(present, dtype=np.bool_)
            if not heard.any():  # nobody is heard where everybody is clipped at the bound, as devices do it
                continue
            odds = coin_odds(heard, look.spends[0].sampling_rate)
            if odds < risk / 2 / len(lines):
                self.noise[
                    f"who is in the samples of {look.contribution.name!r} is not decided by fresh coins, as the ledger "
                    "says"
                ] = None


def _louder(look: Look) -> tuple[Contribution, float]:
    """The question of a look, said so much louder, and how much."""
    asked, finish = look.contribution, look.contribution.finish
    factor = LOUD * max(1.0, look.spends[0].noise_multiplier)
    plain = replace(asked, on_torch=None, over_parts=None, on_device=None)
    if finish is None:
        return replace(plain, total=lambda ratings: factor * np.asarray(asked.total(ratings))), factor
    return replace(plain, finish=lambda total: factor * np.asarray(finish(total))), factor


def _among(ratings: Ratings, users: int) -> Ratings:
    """Some users, and canaries with one rating, two, three, many and all."""
    size = len(ratings.catalogue)
    rows: list[Rows] = [
        [(item, ratings.catalogue.scale.high) for item in range(min(count, size))] for count in (1, 1, 2, 3, 20, size)
    ]
    others = ratings.select_users(np.arange(min(OTHERS, ratings.n_users)))
    together = joined(others, users_of(ratings.catalogue, rows))
    return together.select_users(np.arange(max(0, together.n_users - users), together.n_users))


def _told(look: Look, among: Ratings) -> tuple[Contribution, Callable[[Doubles], tuple[Booleans | None, Doubles]]]:
    """A question to which everybody says a digit of their own, and how to read who did, and the noise, in an answer."""
    shape, size = look.contribution.shape, max(1, math.prod(look.contribution.shape))
    users = np.arange(among.n_users)
    unit = DIGIT * max(look.spends[0].sensitivity, look.scale)
    cell, digit = users % size, 2.0 ** (users // size)
    place = {name: number for number, name in enumerate(among.users.names.tolist())}

    def total(ratings: Ratings) -> Doubles:
        who = np.array([place[name] for name in ratings.users.names.tolist() if name in place], dtype=np.int64)
        return np.asarray(unit * np.bincount(cell[who], weights=digit[who], minlength=size).reshape(shape))

    def read(answer: Doubles) -> tuple[Booleans | None, Doubles]:
        said = np.rint(answer.ravel() / unit)
        left = answer.ravel() - unit * said
        there = said[cell].astype(np.int64) // digit.astype(np.int64) % 2 == 1
        again = np.bincount(cell, weights=digit * there, minlength=size)
        fits = not said.any() or (np.array_equal(again, said) and bool(np.abs(left).max() <= TAIL * look.scale))
        return (there if fits else None), left.reshape(shape)

    return replace(look.contribution, total=total, on_device=None, on_torch=None, over_parts=None, finish=None), read


def _left(look: Look, spend: Spend, left: Doubles) -> Read:
    """The noise of a step, as if nobody had been asked."""
    nobody = np.zeros_like(left)
    return Read(
        replace(look, answer=left, sampling_rate=1.0, spends=(replace(spend, sampling_rate=1.0, times=1),)),
        nobody,
        nobody,
    )


def coin_odds(present: Booleans, rate: float) -> float:
    """Of fits by steps by users, true for whoever is in: the odds, at most, of so odd a pattern if these are coins.

    >>> coins = np.random.default_rng(1).random((32, 6, 18)) < 0.3
    >>> coin_odds(coins, 0.3) > 0.01, coin_odds(coins, 0.4) < 1e-6
    (True, True)
    """
    found, agree = [], rate**2 + (1 - rate) ** 2
    for users in (present, *(present[..., [user]] for user in range(present.shape[-1]))):
        found.append(_binomial_odds(users, rate))
        for axis, runs in enumerate(users.shape):
            along = np.moveaxis(users, axis, 0)
            for apart in range(1, runs):
                before = np.flatnonzero(np.arange(runs - apart) // apart % 2 == 0)  # no coin is in two comparisons
                found.append(_binomial_odds(along[before] == along[before + apart], agree))
            counts, likeliest = along.sum(axis=0), math.floor((runs + 1) * rate)
            odds = bdtr(likeliest, runs, rate) - (bdtr(likeliest - 1, runs, rate) if likeliest else 0.0)
            found.append(_binomial_odds(counts == likeliest, float(odds)))
    return min(1.0, len(found) * min(found))


def _binomial_odds(hits: AnyArray, rate: float) -> float:
    """The odds of so few or so many hits, on either side."""
    count, trials = int(np.count_nonzero(hits)), hits.size
    if trials == 0:
        return 1.0
    few = float(bdtr(count, trials, rate))
    many = float(bdtrc(count - 1, trials, rate)) if count else 1.0
    return min(1.0, 2 * min(few, many))
