"""A toy paper, whole: what it does, its privacy, its grid and its claims. The frame does the rest.

Publish each item's mean rating with Laplace noise, and predict it for everyone. It claims epsilon for one rating, since
a mean of n ratings moves by at most width / n; and it takes n for public.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import discreet as dc
from discreet.audit.recording import Look
from discreet.papers.frame import judges
from discreet.papers.frame.cases import Case, Grid
from discreet.papers.frame.claims import Claim, RunOn
from discreet.papers.frame.figures import Axis, Curve, Figure
from discreet.papers.frame.paper import Paper
from discreet.populations.contribution import Contribution
from discreet.privacy.guarantee import Guarantee, Loss
from discreet.privacy.noise import add_laplace, grid_of
from discreet.privacy.spend import Spend


@dataclass(frozen=True, kw_only=True)
class NoisyMeans:
    """The algorithm: each item's mean rating, with noise."""

    epsilon: float | None = 1.0

    raw_ratings: ClassVar[bool] = True

    def fit(self, ratings, progress=None, *, randomness=None):
        """The means, published."""
        return self.observe(ratings, dc.Randomness() if randomness is None else randomness)[0]

    def observe(self, ratings, randomness):
        """The same, with the one sum that noise was added to."""
        means = exact_means(ratings)
        scale = None if self.epsilon is None else sensitivity(ratings) / self.epsilon
        noisy = means if scale is None else add_laplace(means, scale, grid_of(scale), randomness)
        promise = guarantee(self.epsilon, randomness.is_seeded)
        release = dc.Release(self, {"mean": noisy.astype(np.float32)}, ratings.catalogue, promise)
        if scale is None:
            return release, ()
        spend = Spend(what="means", mechanism="laplace", norm="l1", sensitivity=scale * self.epsilon, scale=scale)
        look = Look(Contribution("means", means.shape, exact_means), noisy, "laplace", scale, (spend,))
        return release, (look,)

    def score(self, release, histories):
        """The same for everyone."""
        return np.tile(release.arrays["mean"], (histories.n_users, 1))

    def predict(self, release, histories, users, items):
        """The item's mean."""
        return release.arrays["mean"][items]


def exact_means(ratings):
    counts = np.bincount(ratings.item_index, minlength=ratings.n_items)
    sums = np.bincount(ratings.item_index, ratings.values, minlength=ratings.n_items)
    middle = (ratings.catalogue.scale.low + ratings.catalogue.scale.high) / 2
    return np.where(counts > 0, sums / np.maximum(counts, 1), middle)


def sensitivity(ratings):
    """Its privacy, as claimed: that of the least rated item's mean."""
    return ratings.catalogue.scale.width / max(1, np.bincount(ratings.item_index, minlength=ratings.n_items).min())


def guarantee(epsilon, seeded):
    if epsilon is None:
        return Guarantee(reason="exact means were released", seeded=seeded)
    reason = "how often each item was rated is taken for public, and decides the noise"
    return Guarantee(
        reason=reason, claimed=Loss(epsilon), unit=dc.Rating(), protects_from=("the public",), seeded=seeded
    )


class Repetition:
    """Its experiment: one split, RMSE."""

    def __init__(self, sets, seed):
        self.seed, (self.train, self.test) = seed, sets.split(test=0.2, seed=seed)

    def measure(self, case: Case) -> Mapping[str, float]:
        release = NoisyMeans(epsilon=case.get("epsilon")).fit(self.train, randomness=dc.Randomness(self.seed))
        guess = release.predict(self.train, self.test.user_index, self.test.item_index)
        middle = np.full(len(self.test), 3.0)
        return {
            name: float(np.sqrt(np.mean((found - self.test.values) ** 2)))
            for name, found in (("means", guess), ("middle", middle))
        }


EXACT = Case("no noise")
FULL, QUICK = Grid(epsilon=(1.0, 3.0, 10.0, 30.0, 100.0)), Grid(epsilon=(1.0, 100.0))


def claims(grid):
    noisy = grid.cases("noise", "epsilon")
    return [
        Claim(1, "RMSE falls as epsilon grows", lambda seen: judges.falls(seen(noisy), slack=0.01)),
        Claim(1, "noise costs nothing", lambda seen: judges.close(seen(noisy[:1]), seen([EXACT]), within=0.01)),
        Claim(
            1, "it works on Netflix", lambda seen: judges.better(seen(noisy), seen(noisy, "middle")), data=["netflix"]
        ),
        Claim(
            1, "means beat the middle", lambda seen: judges.better(seen([EXACT]), seen([EXACT], "middle")), ours=True
        ),
    ]


def figures(grid):
    noisy = grid.cases("noise", "epsilon")
    curves = {"noisy means": Curve(noisy, "means"), "ours: the middle": Curve(noisy, "middle")}
    epsilon = Axis("epsilon", "epsilon (log scale)", log=True)
    return [
        Figure(
            1, "noisy means", "RMSE over epsilon.", curves, epsilon, "RMSE", level=("exact", Curve([EXACT], "means"))
        )
    ]


PAPER = Paper(
    name="toy",
    title="Noisy means",
    citation="Nowhere 2017",
    summary="Publishes item means with noise.",
    run_on=[RunOn(name=name, sizes="few", test="20 %") for name in ("made up", "made-up.csv", "netflix")],
    grid=FULL,
    quick=QUICK,
    seeds=4,
    quick_seeds=2,
    repetition=Repetition,
    readings={"means": "noisy means", "middle": "the middle"},
    judged=("means",),
    claims=claims,
    figures=figures,
    shown=lambda grid: [EXACT, *grid.cases("noise", "epsilon")],
    pictured=("figure-1",),
    notes="## Learned\n\nFew ratings need much noise.",
)
