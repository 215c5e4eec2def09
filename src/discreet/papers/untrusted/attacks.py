"""``discreet attack untrusted``: the published protocol and the sound one, each under the same attacks, as one table.

The published one is attacked by recommenders of :mod:`~discreet.papers.untrusted.curious`, the sound one by those of
:mod:`~discreet.papers.untrusted.sound`. A rating counts as recovered if it is off by less than half a star.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.data.ratings import Ratings
from discreet.errors import require
from discreet.papers.untrusted.algorithm import UntrustedMF
from discreet.papers.untrusted.curious import Attacker, Guess, ManyUsers, NoExponentials, NoFreshNoise
from discreet.papers.untrusted.parties import Recommender
from discreet.papers.untrusted.sound import ROUNDS, SoundRun
from discreet.types import Indices, Progress, no_progress

HALF = 0.5
"""A rating that is off by less is recovered."""
GROUP = 100
"""Users of a round, and the least that the sound protocol takes."""


@dataclass(frozen=True, kw_only=True)
class Attacked:
    """What came of one attack.

    Parameters
    ----------
    protocol
        ``published`` or ``sound``.
    attack, how
        What the recommender tries, and what it sends for it.
    ratings, recovered
        Of how many it tried to learn the value, and of how many it did.
    error, largest
        How far off it is, in stars.
    refused
        The sentence with which a user or the third party refuses; empty where nobody does.
    """

    protocol: str
    attack: str
    how: str
    ratings: int = 0
    recovered: int = 0
    error: float | None = None
    largest: float | None = None
    refused: str = ""

    @property
    def succeeds(self) -> bool:
        """Whether most of the ratings were recovered."""
        return self.ratings > 0 and self.recovered > 0.9 * self.ratings

    @property
    def outcome(self) -> str:
        """In words."""
        if self.refused:
            return f"refused: {self.refused}"
        share = self.recovered / max(self.ratings, 1)
        return f"{self.recovered:,} of {self.ratings:,} ratings recovered ({share:.0%})"

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {**vars(self), "succeeds": self.succeeds}


@dataclass(frozen=True, kw_only=True)
class Attacks:
    """All of them."""

    data: str
    victims: int
    epsilon: float
    guessed: float
    """The share of ratings that is right if the most frequent one is said of all."""
    rows: Sequence[Attacked]

    def sentences(self) -> list[str]:
        """What they say together."""
        published = [row for row in self.rows if row.protocol == "published" and row.attack != HONEST]
        broken, of = sum(row.succeeds for row in published), len(published)
        sound = [row for row in self.rows if row.protocol == "sound"]
        refused, seen = sum(bool(row.refused) for row in sound), sum(row.succeeds for row in sound)
        return [
            f"The published protocol claims epsilon {self.epsilon:g}; {broken} of {of} attacks read ratings off.",
            f"Of {len(sound)} attacks on the sound protocol {refused} are refused, and {seen} of the others succeed: "
            "what is left to see is the noise that the guarantee promises.",
            f"Saying the most frequent rating of all is right for {self.guessed:.0%}.",
        ]

    @property
    def holds(self) -> bool:
        """Whether the sound protocol stood, and the published one fell."""
        fell = any(row.succeeds for row in self.rows if row.protocol == "published")
        return fell and not any(row.succeeds for row in self.rows if row.protocol == "sound")

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "data": self.data,
            "victims": self.victims,
            "epsilon": self.epsilon,
            "guessed": self.guessed,
            "attacks": [row.to_json() for row in self.rows],
            "sentences": self.sentences(),
        }


HONEST = "none: an honest recommender"


def attack(
    ratings: Ratings,
    *,
    victims: int = 20,
    epsilon: float = 0.1,
    seed: int | None = None,
    data: str = "ratings",
    progress: Progress = no_progress,
) -> Attacks:
    """Run every attack on both protocols. ``seed`` chooses the victims, and makes the noise repeatable."""
    require(victims >= 1, f"victims must be at least 1, got {victims}")
    least = GROUP + victims
    require(ratings.n_users >= least, f"these attacks need at least {least} users: groups of {GROUP}, and the victims")
    order = np.random.default_rng(seed).permutation(ratings.n_users).astype(np.int32)
    chosen, others = order[:victims], np.sort(order[victims : victims + GROUP - 1])
    plan = [*_published(ratings, epsilon, seed, chosen, others), *_sound(ratings, seed, chosen, others)]
    rows = []
    for place, run in enumerate(plan):
        progress(place, len(plan), "attacks")
        rows.append(run())
    progress(1, 1, "done")
    counts = np.unique(ratings.values, return_counts=True)[1]
    return Attacks(data=data, victims=victims, epsilon=epsilon, guessed=float(counts.max() / counts.sum()), rows=rows)


def _published(
    ratings: Ratings, epsilon: float, seed: int | None, chosen: Indices, others: Indices
) -> Iterator[Callable[[], Attacked]]:
    """Each is run when it is called."""
    static, dynamic = (UntrustedMF(epsilon=epsilon, scenario=scenario) for scenario in ("static", "dynamic"))

    def each(
        name: str, how: str, kind: type[Recommender], guess: Callable[[Attacker, int], Guess]
    ) -> Callable[[], Attacked]:
        def run() -> Attacked:
            attacker = Attacker(dynamic, ratings, kind, seed=seed)
            return _found("published", name, how, [guess(attacker, int(user)) for user in chosen])

        return run

    def one_raters() -> Attacked:
        guess = Attacker(static, ratings, NoExponentials, seed=seed).items_with_one_rater()
        return _found("published", "H = 0", "S2, everyone is there: items that one user rated", [guess])

    yield each(
        "difference of rounds",
        "S3, honest H for the fixed noise and 0 for the fresh: what is fixed cancels",
        NoFreshNoise,
        lambda attacker, user: attacker.difference_of_rounds(user),
    )
    yield one_raters
    yield each(
        "group of one",
        "S3, honest H, but a huge k is told",
        ManyUsers,
        lambda attacker, user: attacker.group_of_one(user),
    )
    yield each(
        "G and G without the user",
        f"S3, groups of {GROUP} and {GROUP - 1} users, a huge k is told",
        ManyUsers,
        lambda attacker, user: attacker.two_groups(user, others),
    )
    yield each(
        HONEST, "S3, group of one with honest H and k", Recommender, lambda attacker, user: attacker.group_of_one(user)
    )


def _sound(ratings: Ratings, seed: int | None, chosen: Indices, others: Indices) -> Iterator[Callable[[], Attacked]]:
    victim = int(chosen[0])
    group = np.concatenate([[victim], others])

    def refused(name: str, how: str, act: Callable[[SoundRun], str]) -> Callable[[], Attacked]:
        def run() -> Attacked:
            return Attacked(protocol="sound", attack=name, how=how, refused=act(SoundRun(ratings, group, seed=seed)))

        return run

    def left() -> Attacked:
        guesses = []
        for user in chosen:
            run = SoundRun(ratings, np.concatenate([[int(user)], others]), seed=seed)
            guesses.append(run.best_guess(int(user)))
        how = f"{ROUNDS} rounds, {GROUP} users of whom all but one tell what they sent"
        return _found("sound", "difference of rounds", how, guesses)

    yield left
    yield refused("H = 0", "a question with a millionth of the noise", SoundRun.smaller_noise)
    yield refused("group of one", "an offer with sums over 2 users", SoundRun.small_groups_offered)
    yield refused("group of one", "the mask of one user is asked for", SoundRun.group_of_one)
    yield refused("group of one", "a population of one user, `UntrustedServer`", SoundRun.population_of_one)
    yield refused("G and G without the user", "a round is closed twice", SoundRun.two_groups)
    yield refused("items one by one", "a question about one item", SoundRun.some_items)
    yield refused("more rounds", "one more than was agreed to", SoundRun.too_many_rounds)


def _found(protocol: str, name: str, how: str, guesses: Sequence[Guess]) -> Attacked:
    errors = np.concatenate([guess.errors for guess in guesses]) if guesses else np.zeros(0)
    return Attacked(
        protocol=protocol,
        attack=name,
        how=how,
        ratings=len(errors),
        recovered=int((errors < HALF).sum()),
        error=float(errors.mean()) if len(errors) else None,
        largest=float(errors.max(initial=0)) if len(errors) else None,
    )
