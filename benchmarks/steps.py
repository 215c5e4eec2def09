"""What sampled steps cost planned together and one by one, how long planning takes, and how fast steps are drawn.

Ends with 1 if the ledger is more than 2 % off dp-accounting's own accountant, or below it.
"""

import sys
import time
from dataclasses import replace

import numpy as np

import discreet as dc
from discreet.privacy.accounting import epsilon_of
from discreet.privacy.composition import composed_epsilon

DELTA = 1e-6


def figure() -> None:
    once = dc.privacy.Spend(what="step", mechanism="gaussian", norm="l2", sensitivity=1, scale=1.0, sampling_rate=0.01)
    alone, together = 50 * epsilon_of([once], DELTA / 50), composed_epsilon([replace(once, times=50)], DELTA)
    print(f"50 steps, rate .01, noise 1, delta 1e-6: one by one epsilon {alone:.1f}, planned together {together:.2f}")


def oracle(spend: dc.privacy.Spend) -> float:
    import dp_accounting
    from dp_accounting.pld import PLDAccountant

    accountant = PLDAccountant()
    noise = dp_accounting.GaussianDpEvent(spend.noise_multiplier)
    accountant.compose(dp_accounting.PoissonSampledDpEvent(spend.sampling_rate, noise), spend.times)
    return float(accountant.get_epsilon(DELTA))


def planned() -> bool:
    ratings = dc.synthetic(users=100, items=20, ratings=1000, seed=1)
    print(
        "| steps | rate | epsilon | noise multiplier | ledger | dp-accounting | seconds to plan |\n" + "|---" * 7 + "|"
    )
    fine = True
    for count, rate, epsilon in (
        (1000, 0.01, 0.1),
        (1000, 0.01, 1.0),
        (1000, 0.01, 10.0),
        (200, 0.1, 1.0),
        (10_000, 0.001, 1.0),
    ):
        bounds = (dc.Bound("user", "l2", 1.0),)
        asked = dc.populations.Steps(name="steps", shape=(), bounds=bounds, count=count, sampling_rate=rate)
        server, start = dc.TrustedServer(ratings, dc.Ledger(epsilon, DELTA, dc.User())), time.perf_counter()
        spend = server.calibrate(asked).spend
        seconds, booked, truth = time.perf_counter() - start, composed_epsilon([spend], DELTA), oracle(spend)
        fine &= -1e-3 <= booked / truth - 1 < 0.02
        found = f"{spend.noise_multiplier:.3f} | {booked:.4f} | {truth:.4f} | {seconds:.1f}"
        print(f"| {count:,} | {rate} | {epsilon} | {found} |")
    return fine


def speed() -> None:
    ratings = dc.synthetic(users=100_000, items=5000, ratings=10_000_000, seed=1)
    asked = dc.populations.Steps(
        name="counts", shape=(5000,), bounds=(dc.Bound("user", "l2", 1.0),), count=200, sampling_rate=0.01
    )

    def counts(part: dc.Ratings) -> np.ndarray:
        own = np.sqrt(np.diff(part.indptr))[part.user_index]
        return np.bincount(part.item_index, weights=1 / own, minlength=5000)

    drawn = dc.TrustedServer(ratings, dc.Ledger(1.0, DELTA, dc.User())).steps(asked)
    drawn.sum(asked.contribution(counts))  # compiles
    start = time.perf_counter()
    for _ in range(100):
        drawn.sum(asked.contribution(counts))
    print(f"10 million ratings, 1 % of 100,000 users a step: {(time.perf_counter() - start) * 10:.1f} ms a step")


if __name__ == "__main__":
    figure()
    fine = planned()
    speed()
    sys.exit(0 if fine else 1)
