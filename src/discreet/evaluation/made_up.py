"""What another epsilon would buy, tried on made-up ratings: no rating of anybody is read for it.

The ratings are synthetic, as many users as are announced (at most :data:`MOST_USERS`: beyond that fewer users with less
noise stand in for them, users × μ being what counts), about as many items, and 60 ratings for each user, which is an
assumption: how many there really are is private.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import numpy as np

from discreet.data.catalogue import Catalogue, Scale
from discreet.data.features import item_features
from discreet.data.loading import without_ratings
from discreet.data.ratings import Ratings
from discreet.data.synthetic import synthetic
from discreet.evaluation.measuring import measure
from discreet.fitting.fit_on import fit_on
from discreet.populations.terms import Terms
from discreet.privacy.gaussian import epsilon_of_mu, mu_of
from discreet.privacy.ledger import LARGEST_EPSILON, SMALLEST_EPSILON
from discreet.releases.choices import TERMS
from discreet.releases.contents import patterns_in
from discreet.types import Progress, no_progress

MOST_USERS, MOST_ITEMS, PER_USER = 2000, 1700, 60
STEPS = (0.1, 0.3, 1.0, 3.0, 10.0)
"""Epsilons that are tried, in those that were asked for."""


@dataclass(frozen=True)
class Trial:
    """What one epsilon buys on made-up ratings: None where it cannot be measured.

    ``gains`` are what an almanac's plan is expected to gain by each term of its objective, in nats for each held-out
    rating; none of other models, and without privacy.
    """

    epsilon: float | None
    rmse: float | None
    ndcg: float | None
    patterns: int
    gains: dict[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def trials_on_made_up_data(
    model: Any,
    catalogue: Catalogue,
    terms: Terms,
    audience: int,
    progress: Progress = no_progress,
    steps: Sequence[float] = STEPS,
) -> list[Trial]:
    """Fit the model with smaller and larger epsilons, and without privacy, on ratings that nobody gave."""
    assert terms.epsilon is not None
    ratings, ratio = made_up_like(catalogue, audience)
    train, test = ratings.split_each_user((0.8, 0.2), seed=1)
    if any(each.name == "audience" for each in fields(model)):
        model = replace(model, audience=ratings.n_users)
    epsilons = (terms.epsilon * step for step in steps)
    asked = [*(epsilon for epsilon in epsilons if SMALLEST_EPSILON <= epsilon <= LARGEST_EPSILON), None]
    found = []
    for number, epsilon in enumerate(asked):
        progress(number, len(asked), "trying epsilons on made-up ratings")
        tried = Terms() if epsilon is None else replace(terms, epsilon=_as_if(epsilon, terms, ratio))
        release = fit_on(model, train, tried)
        measured = measure(release, train, test, None, ["rmse", "ndcg@100"]).estimates
        factors = [array for name, array in release.arrays.items() if name.endswith("factors") and array.ndim == 2]
        found.append(
            Trial(
                epsilon,
                measured["rmse"].mean if "rmse" in measured else None,
                measured["ndcg@100"].mean,
                max((patterns_in(array)[0] for array in factors), default=0),
                dict(zip(TERMS, (plan[:, 0] - plan[:, 1]).round(4).tolist(), strict=True))
                if (plan := release.arrays.get("plan")) is not None
                else {},
            )
        )
    progress(len(asked), len(asked), "trying epsilons on made-up ratings")
    return found


def begins_in(trials: Sequence[Trial], terms: Terms, audience: int) -> tuple[str, ...]:
    """From which of the epsilons that were tried patterns stand out, and with how many users the one asked for does.

    >>> made_up = [Trial(0.1, None, 0.1, 0), Trial(1.0, None, 0.2, 3), Trial(None, None, 0.3, 9)]
    >>> begins_in(made_up, Terms(epsilon=0.1), 500)[1]
    'With epsilon 0.1 about 5,000 users would be needed for that.'
    """
    found = [trial.epsilon for trial in trials if trial.epsilon is not None and trial.patterns > 0]
    if not found or terms.epsilon is None:
        return ("On made-up ratings no patterns stand out at any of these epsilons.",)
    first = min(found)
    sentences = [f"On made-up ratings patterns begin to stand out at about epsilon {first:g} with {audience:,} users."]
    if first > terms.epsilon:
        delta = terms.ledger().delta
        ratio = first / terms.epsilon if delta == 0 else mu_of(first, delta) / mu_of(terms.epsilon, delta)
        users = audience * (ratio**2 if terms.trusted == "devices" else ratio)
        sentences.append(
            f"With epsilon {terms.epsilon:g} about {float(f'{users:.2g}'):,.0f} users would be needed for that."
        )
    return tuple(sentences)


def made_up_like(catalogue: Catalogue, audience: int) -> tuple[Ratings, float]:
    """Synthetic ratings of about as many items, and how many announced users each of theirs stands for.

    >>> import discreet as dc
    >>> ratings, ratio = made_up_like(dc.load("synthetic").catalogue, 20_000)
    >>> ratings.n_users, ratio
    (2000, 10.0)
    """
    users, items = min(max(audience, 30), MOST_USERS), min(max(len(catalogue), 20), MOST_ITEMS)
    scale = Scale(1, 5) if catalogue.scale.implicit else catalogue.scale
    count = users * max(10, min(PER_USER, items // 3))
    ratings = synthetic(
        users=users, items=items, ratings=count, seed=1, scale=scale, step=scale.width / 4, like="movielens"
    )
    if item_features(catalogue).shape[1] == 0:
        bare = replace(
            ratings.catalogue, genres=(), item_genres=np.zeros((items, 0), bool), years=np.zeros(items, np.int16)
        )
        ratings = replace(ratings, catalogue=bare)
    return without_ratings(ratings) if catalogue.scale.implicit else ratings, audience / users


def _as_if(epsilon: float, terms: Terms, ratio: float) -> float:
    """The epsilon whose noise beside these users is what ``epsilon`` is beside ``ratio`` times as many.

    Where a ledger takes none so large, the largest: then there is next to no noise.
    """
    delta = replace(terms, epsilon=epsilon).ledger().delta
    if delta == 0 or terms.trusted == "devices":
        found = epsilon * (math.sqrt(ratio) if terms.trusted == "devices" else ratio)
    else:
        found = epsilon_of_mu(mu_of(epsilon, delta) * ratio, delta)
    return min(found, LARGEST_EPSILON)
