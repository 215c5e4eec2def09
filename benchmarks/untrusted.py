"""How long a round of the published S2 and S3 takes, simulated for everyone at once, at the paper's sizes and more.

One thread, seconds of CPU. The first argument is how many rounds are timed; data sets that are not here are left out.
"""

import sys
import time

import discreet as dc
from discreet.errors import DiscreetError
from discreet.papers.untrusted.algorithm import UntrustedMF
from discreet.papers.untrusted.simulation import Simulation
from discreet.privacy.randomness import Randomness

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 5


def data():
    yield "Netflix's shape, made up", dc.synthetic(users=191_668, items=100, ratings=1_917_000, seed=1), 1000
    for name in ("ml-100k", "ml-1m"):
        try:
            yield name, dc.load(name), 100
        except DiscreetError:
            print(f"{name} is not here")


def main() -> None:
    print("| data | users | ratings | S2, s a round | S3, s a round |\n" + "|---" * 5 + "|")
    for name, ratings, at_most in data():
        seconds = []
        for scenario in ("static", "dynamic"):
            model = UntrustedMF(
                epsilon=0.1, scenario=scenario, user_norm="projected", at_most=at_most, iterations=ROUNDS + 1
            )
            rounds = Simulation(model, ratings, Randomness(1)).rounds()
            next(rounds)  # compiles
            start = time.process_time()
            for _ in rounds:
                pass
            seconds.append((time.process_time() - start) / ROUNDS)
        print(f"| {name} | {ratings.n_users:,} | {len(ratings):,} | {seconds[0]:.3f} | {seconds[1]:.4f} |", flush=True)


if __name__ == "__main__":
    main()
