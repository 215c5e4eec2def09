"""What half floats or bytes cost: a release in single precision and as a device reads it, on made-up histories."""

from dataclasses import dataclass

import numpy as np

from discreet.data.labels import Labels
from discreet.data.ratings import Ratings
from discreet.doors import checked
from discreet.releases.recommendations import best_items
from discreet.releases.release import Release
from discreet.releases.scorer import Scorer
from discreet.web.file_format import FileArrays, Precision
from discreet.web.forms import form_of

HISTORIES, LONGEST, K = 200, 50, 20


@dataclass(frozen=True, kw_only=True)
class PrecisionLoss:
    """How far scores, predicted ratings and lists are from those in single precision.

    Parameters
    ----------
    score
        The largest difference of two scores, in standard deviations of a user's scores.
    rating
        The largest difference of two predicted ratings, in points of the scale; None for a model that only ranks.
    equal_lists
        The share of users whose 20 best items are the same in the same order.
    kept_items
        The share of these items that are still among the 20 best.
    """

    score: float
    rating: float | None
    equal_lists: float
    kept_items: float

    def __str__(self) -> str:
        rating = "" if self.rating is None else f", of predicted ratings {self.rating:.2g} points"
        return (
            f"largest difference of scores {self.score:.2g} of their standard deviation{rating}; the same {K} best "
            f"items for {self.equal_lists:.0%} of {HISTORIES} made-up histories, and {self.kept_items:.1%} of the items"
        )


@checked
def precision_loss(release: Release, precision: Precision) -> PrecisionLoss:
    """Measure it on made-up histories: random items, random ratings. No user's ratings are needed.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=200, items=100, ratings=5000, seed=1)
    >>> loss = precision_loss(dc.ALS(factors=8).fit(dc.NoPrivacy(ratings)), "float16")
    >>> 0 < loss.rating < 0.01, loss.kept_items > 0.9
    (True, True)
    """
    reduced = Scorer(release.model, release.catalogue, form_of(release, FileArrays(precision)).prepared)
    return loss_between(release.scorer(), reduced)


def loss_between(exact: Scorer, reduced: Scorer) -> PrecisionLoss:
    """The loss of one scorer against another of the same model."""
    histories = made_up_histories(exact)
    scores, other = exact.scores(histories), reduced.scores(histories)
    spread = np.maximum(scores.std(axis=1, keepdims=True), 1e-12)
    best, others = best_items(scores, [histories], K), best_items(other, [histories], K)
    kept = [
        len(set(one[one >= 0]) & set(two)) / max(1, (one >= 0).sum()) for one, two in zip(best, others, strict=True)
    ]
    rating = None
    if exact.predicts_ratings:
        users = np.repeat(np.arange(histories.n_users), best.shape[1])[best.ravel() >= 0]
        items = best.ravel()[best.ravel() >= 0]
        one, two = exact.predict(histories, users, items), reduced.predict(histories, users, items)
        rating = float(np.abs(one - two).max(initial=0))
    return PrecisionLoss(
        score=float((np.abs(scores - other) / spread).max()),
        rating=rating,
        equal_lists=float((best == others).all(axis=1).mean()),
        kept_items=float(np.mean(kept)),
    )


def made_up_histories(scorer: Scorer, count: int = HISTORIES, seed: int = 0) -> Ratings:
    """Histories of nobody: up to 50 random items each, the first of none, with random whole steps of the scale."""
    rng, catalogue = np.random.default_rng(seed), scorer.catalogue
    size, scale = len(catalogue), catalogue.scale
    users, items = [], []
    for user in range(count):
        own = rng.choice(size, min(user % (LONGEST + 1), max(size - 1, 0)), replace=False)
        items.append(np.sort(own))
        users.append(np.full(len(own), user))
    item = np.concatenate(items).astype(np.int32)
    steps = rng.integers(0, 5, len(item)) / 4
    values = scale.low + (scale.high - scale.low) * steps
    labels = Labels.of([f"made up {user}" for user in range(count)], what="user")
    return Ratings.of_columns(catalogue, labels, np.concatenate(users).astype(np.int32), item, values)
