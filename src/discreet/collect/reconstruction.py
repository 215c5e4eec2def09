"""What a recommender can guess from perturbed ratings: the attack that every local mechanism is up against.

The attacker knows the mechanism, and how often each rating is given (a public histogram). From a report y
the posterior of rating v is prior(v) · P(y | v) / Σ, and the best guess is the rating with the largest one:
:func:`reconstruct`. How often that guess is right, and how often nothing is left to guess, is computed exactly, since
P(y | v) is constant between the ends of the windows: :func:`risk_of`.

For uniform noise with γ < ½ and whole ratings, at most one rating is possible for each report: the guess is certain.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from discreet.collect.channel import LocalRandomiser
from discreet.data.catalogue import Scale
from discreet.doors import checked
from discreet.errors import require
from discreet.types import AnyArray, Doubles

MOVIELENS: Mapping[float, float] = {1: 6110, 2: 11370, 3: 27145, 4: 34174, 5: 21201}
"""How often each rating occurs in MovieLens 100K: published with the data set, and what an attacker may know."""


@dataclass(frozen=True)
class Risk:
    """How much of a rating a report gives away, on average over ratings and noise.

    Parameters
    ----------
    blind
        How often the best guess without a report is right: the share of the most frequent rating.
    accuracy
        How often the best guess from a report is right.
    certain
        How often a report leaves one rating only.

    Examples
    --------
    >>> from discreet.collect.mechanisms import UniformNoise
    >>> print(risk_of(UniformNoise(gamma=1.5)))
    right about 56% of the ratings (34% without the reports), and certain of 9%
    """

    blind: float
    accuracy: float
    certain: float

    def __str__(self) -> str:
        shares = f"{self.accuracy:.0%} of the ratings ({self.blind:.0%} without the reports)"
        return f"right about {shares}, and certain of {self.certain:.0%}"


@checked
def risk_of(mechanism: LocalRandomiser, prior: Mapping[float, float] = MOVIELENS, scale: Scale | None = None) -> Risk:
    """What the best attack on a mechanism achieves, exactly.

    Parameters
    ----------
    mechanism
        How ratings are perturbed.
    prior
        How often each rating is given, in any unit.
    scale
        The rating scale; from the lowest to the highest rating of ``prior`` if it is not given.
    """
    require(hasattr(mechanism, "channel"), f"mechanism must be one of discreet.collect, got {type(mechanism).__name__}")
    levels, shares, scale = _of_prior(prior, scale)
    channel = mechanism.channel(scale)
    law, secrets = channel.law, channel.secrets(levels)
    # Between two ends of windows the odds are constant: count these runs rather than outputs.
    ends = np.unique(np.concatenate([[0, law.size], secrets, secrets + law.width]))
    starts, lengths = ends[:-1], np.diff(ends)
    joint = shares * np.stack([law.odds(starts, int(secret)) for secret in secrets], axis=1)
    possible = (joint > 0).sum(axis=1)
    return Risk(
        blind=float(shares.max()),
        accuracy=min(1.0, float(lengths @ joint.max(axis=1))),
        certain=min(1.0, float(lengths @ (joint.sum(axis=1) * (possible == 1)))),
    )


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """What the attacker believes after seeing reports.

    Parameters
    ----------
    guesses
        The most likely rating behind each report.
    certainty
        Its posterior probability: 1 where only one rating is possible.
    posterior
        Of every rating (reports × levels).
    """

    guesses: Doubles
    certainty: Doubles
    posterior: Doubles


@checked
def reconstruct(
    mechanism: LocalRandomiser,
    reported: AnyArray,
    prior: Mapping[float, float] = MOVIELENS,
    scale: Scale | None = None,
) -> Reconstruction:
    """Guess the ratings behind reported values.

    Parameters
    ----------
    mechanism
        How they were perturbed; it is written in every report.
    reported
        The values of a report, or of many.
    prior, scale
        As for :func:`risk_of`.

    Examples
    --------
    Noise within 0.4 of a rating hides nothing:

    >>> from discreet.collect.mechanisms import UniformNoise
    >>> reconstruct(UniformNoise(gamma=0.4), np.array([3.812, 1.3])).guesses.tolist()
    [4.0, 1.0]
    """
    require(hasattr(mechanism, "channel"), f"mechanism must be one of discreet.collect, got {type(mechanism).__name__}")
    levels, shares, scale = _of_prior(prior, scale)
    channel = mechanism.channel(scale)
    outputs = channel.outputs(reported)
    odds = np.stack([channel.law.odds(outputs, int(secret)) for secret in channel.secrets(levels)], axis=1)
    joint = shares * odds
    evidence = joint.sum(axis=1, keepdims=True)
    # A value that no rating of the prior can lead to says nothing.
    posterior = np.where(evidence > 0, joint / np.where(evidence > 0, evidence, 1), shares)
    best = posterior.argmax(axis=1)
    return Reconstruction(levels[best], posterior[np.arange(len(best)), best], posterior)


def _of_prior(prior: Mapping[float, float], scale: Scale | None) -> tuple[Doubles, Doubles, Scale]:
    levels = np.array(sorted(prior), dtype=np.float64)
    shares = np.array([prior[level] for level in sorted(prior)], dtype=np.float64)
    require(
        len(levels) >= 2 and bool((shares >= 0).all()) and bool(np.isfinite(shares).all()) and shares.sum() > 0,
        "a prior gives each of at least two ratings a share that is not negative",
    )
    return levels, shares / shares.sum(), Scale(levels[0], levels[-1]) if scale is None else scale
