"""Who takes part in a round: everyone, or of those who are online at most so many."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from discreet.types import Booleans, Indices

if TYPE_CHECKING:
    from discreet.papers.untrusted.algorithm import UntrustedMF


def attendance(model: "UntrustedMF", users: int) -> Iterator[Indices]:
    """The users of round 1, 2, …, in order; without end.

    >>> from discreet.papers.untrusted.algorithm import UntrustedMF
    >>> len(next(attendance(UntrustedMF(), 5))), len(next(attendance(UntrustedMF(scenario="dynamic", at_most=3), 500)))
    (5, 3)
    """
    everyone = np.arange(users, dtype=np.int32)
    if model.scenario == "static":
        while True:
            yield everyone
    rng = np.random.default_rng((model.seed, 2))
    online = rng.random(users) < model.online_at_start
    while True:
        there = everyone[online]
        if len(there) > model.at_most:
            there = np.sort(rng.choice(there, size=model.at_most, replace=False))
        yield there
        online = next_online(model, online, rng)


def next_online(model: "UntrustedMF", online: Booleans, rng: np.random.Generator) -> Booleans:
    """After a round: who is away joins, who is there leaves, each by chance."""
    drawn = rng.random(len(online))
    return np.where(online, drawn >= model.leaves, drawn < model.joins)
