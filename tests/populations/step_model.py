"""A tiny model that learns in steps: item means by noisy gradient descent. ``python step_model.py URL`` fits it."""

import sys
from dataclasses import dataclass

import numpy as np

import discreet as dc
from discreet.types import no_progress


@dataclass(frozen=True, kw_only=True)
class Descent:
    """One number for each item, moved towards the users' ratings step by step."""

    count: int = 5
    sampling_rate: float = 0.5
    rate: float = 0.01
    share: float = 1.0
    wait: bool = False

    def asked(self, population):
        return dc.populations.Steps(
            name="gradient of item means",
            shape=(len(population.catalogue),),
            bounds=(dc.Bound("user", "l2", 1.0),),
            count=self.count,
            sampling_rate=self.sampling_rate,
        )

    def fit(self, population, progress=no_progress):
        asked = self.asked(population)
        drawn = population.steps(asked, self.share)
        means = np.zeros(asked.shape)
        for number in range(self.count):
            means = means + self.rate * drawn.sum(asked.contribution(clipped_gradient(means)))
            if self.wait:
                print("step", number, flush=True)
        return dc.Release.of(self, population, {"means": means})

    def score(self, release, histories):
        return np.broadcast_to(release.arrays["means"], (histories.n_users, len(release.catalogue)))


def clipped_gradient(means):
    def total(ratings):
        rows = np.zeros((ratings.n_users, len(means)))
        rows[ratings.user_index, ratings.item_index] = ratings.values - 3 - means[ratings.item_index]
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        return (rows / np.maximum(norms, 1)).sum(axis=0)

    return total


if __name__ == "__main__":
    server = dc.TrustedServer(
        dc.synthetic(users=50, items=10, ratings=200, seed=1),
        dc.Ledger(1.0, 1e-6, dc.User()),
        account="films",
        budget=dc.Budget(sys.argv[1]),
    )
    Descent(count=1_000_000, sampling_rate=1.0, wait=True).fit(server)
