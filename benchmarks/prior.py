"""What a prior is worth, what a wrong one costs, and what many nights are together.

    python benchmarks/prior.py                 MovieLens 1M without privacy as the prior of MovieLens 100K
    python benchmarks/prior.py --nights        ten nights at a tenth of μ² each, against one with all of it

Users are hidden, delta is 1e-6. RMSE on 20 % of all ratings held out, NDCG@100 on a tenth of each user's ratings; mean
over the seeds. A shuffled prior has its items exchanged at random: it says nothing true. The noise of nights is secret
and fresh; they end with 1 if ten nights are worse than one by more than the spread over splits explains, for item sums
alone or for the default.
"""

import argparse
import sys

import numpy as np
from scipy.stats import t as student

import discreet as dc
from discreet.evaluation.measuring import measure
from discreet.privacy.gaussian import epsilon_of_mu, mu_of
from discreet.releases.priors import with_prior

DELTA = 1e-6


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--nights", action="store_true")
    parser.add_argument("--data", default="ml-100k")
    parser.add_argument("--prior", default="ml-1m")
    parser.add_argument("--epsilons", default="0.1,0.3,1,5")
    options = parser.parse_args()
    ratings = dc.load(options.data)
    splits = [
        (ratings.split(0.2, seed), ratings.split_each_user((0.9, 0.1), seed))
        for seed in range(options.first, options.first + options.seeds)
    ]
    if options.nights:
        return min(nights(splits), 1)
    prior = dc.Almanac().fit(dc.NoPrivacy(dc.load(options.prior)))
    wrong = shuffled(prior)
    print(f"{'epsilon':>8} {'prior':>10} {'RMSE':>8} {'NDCG@100':>9}")
    for epsilon in map(float, options.epsilons.split(",")):
        for name, release in (("none", None), (options.prior, prior), ("shuffled", wrong)):
            found = [
                scores(train, test, other, held, epsilon, release, options.first + number)
                for number, ((train, test), (other, held)) in enumerate(splits)
            ]
            errors, ranks = np.mean(found, axis=0)
            print(f"{epsilon:8g} {name:>10} {errors:8.4f} {ranks:9.4f}", flush=True)
    return 0


def scores(train, test, other, held, epsilon, prior, seed):
    """RMSE on one split, and NDCG@100 on another."""
    errors = measure(fitted(train, epsilon, prior, seed), train, test, None, ["rmse"]).estimates["rmse"].mean
    ranks = measure(fitted(other, epsilon, prior, seed), other, held, None, ["ndcg@100"]).estimates["ndcg@100"].mean
    return errors, ranks


def fitted(train, epsilon, prior, seed=None):
    """With a seed the noise is the same for every prior, so that differences are due to the prior alone."""
    known = train if prior is None else with_prior(train, prior)
    ledger = dc.Ledger(epsilon, DELTA, dc.User())
    population = dc.TrustedServer(known, ledger, randomness=dc.Randomness(seed))
    return dc.Almanac().fit(population)


def shuffled(prior):
    """The same release with its items exchanged at random."""
    order = np.random.default_rng(0).permutation(len(prior.catalogue))
    catalogue = prior.catalogue
    exchanged = dc.Catalogue.of(
        [catalogue.items[int(place)] for place in order],
        catalogue.scale,
        titles=[str(catalogue.titles[int(place)]) for place in order],
        declared=True,
    )
    return dc.Release(prior.model, dict(prior.arrays), exchanged, prior.guarantee)


def nights(splits, many=10, epsilon=1.0) -> int:
    """Each night a fit with the release of the night before as its prior; how often ten are worse than one."""
    each = epsilon_of_mu(mu_of(epsilon, DELTA) / np.sqrt(many), DELTA)
    print(f"{'epsilon':>24} {'RMSE':>8} {'NDCG@100':>9}")
    rows = {}
    for title, own, fits in (
        (f"one night, {epsilon:g}", epsilon, 1),
        (f"{many} nights, {each:.3f} each", each, many),
        (f"one night, {each:.3f}", each, 1),
    ):
        found = []
        for (train, test), (other, held) in splits:
            errors = measure(chained(train, own, fits), train, test, None, ["rmse"])
            ranks = measure(chained(other, own, fits), other, held, None, ["ndcg@100"])
            found.append((errors.estimates["rmse"].mean, ranks.estimates["ndcg@100"].mean))
        rows[title] = np.array(found)
        print(f"{title:>24} {rows[title][:, 0].mean():8.4f} {rows[title][:, 1].mean():9.4f}", flush=True)
    one, ten, _ = rows.values()
    difference = ten - one
    margin = student.ppf(0.975, len(one) - 1) * difference.std(axis=0, ddof=1) / np.sqrt(len(one))
    words = "".join(f" {mean:+.4f} ± {more:.4f}" for mean, more in zip(difference.mean(axis=0), margin, strict=True))
    print(f"{'ten less one':>24}{words} (95%)\n", flush=True)
    return int((difference.mean(axis=0) * (1, -1) > margin).any())


def chained(train, epsilon, many):
    release = None
    for _ in range(many):
        release = fitted(train, epsilon, release)
    return release


if __name__ == "__main__":
    sys.exit(main())
