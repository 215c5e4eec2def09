"""What a prior is worth, what a wrong one costs, and what many nights are together.

    python benchmarks/prior.py                 MovieLens 1M without privacy as the prior of MovieLens 100K
    python benchmarks/prior.py --nights        ten nights at a tenth of μ² each, against one with all of it

Users are hidden, delta is 1e-6. RMSE on 20 % of all ratings held out, NDCG@100 on a tenth of each user's ratings; mean
over the seeds. A shuffled prior has its items exchanged at random: it says nothing true.
"""

import argparse

import numpy as np

import discreet as dc
from discreet.evaluation.measuring import measure
from discreet.privacy.gaussian import epsilon_of_mu, mu_of
from discreet.releases.priors import with_prior

DELTA = 1e-6


def main() -> None:
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
        nights(splits)
        return
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


def scores(train, test, other, held, epsilon, prior, seed):
    """RMSE on one split, and NDCG@100 on another."""
    errors = measure(fitted(train, epsilon, prior, seed), train, test, None, ["rmse"]).estimates["rmse"].mean
    ranks = measure(fitted(other, epsilon, prior, seed), other, held, None, ["ndcg@100"]).estimates["ndcg@100"].mean
    return errors, ranks


def fitted(train, epsilon, prior, seed=None, **settings):
    """With a seed the noise is the same for every prior, so that differences are due to the prior alone."""
    known = train if prior is None else with_prior(train, prior)
    ledger = dc.Ledger(epsilon, DELTA, dc.User())
    population = dc.TrustedServer(known, ledger, randomness=dc.Randomness(seed))
    return dc.Almanac(audience=train.n_users, **settings).fit(population)


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


def nights(splits) -> None:
    """Each night a fit with the release of the night before as its prior, of item sums alone."""
    print(f"{'':>24} {'RMSE':>8} {'NDCG@100':>9}")
    epsilon, many = 1.0, 10
    each = epsilon_of_mu(mu_of(epsilon, DELTA) / np.sqrt(many), DELTA)
    for name, one in (
        (f"one night, epsilon {epsilon:g}", lambda train: fitted(train, epsilon, None, pair_share=0)),
        (f"ten, epsilon {each:.3f} each", lambda train: chained(train, each, many)),
        (f"one night, epsilon {each:.3f}", lambda train: fitted(train, each, None, pair_share=0)),
    ):
        found = []
        for (train, test), (other, held) in splits:
            errors = measure(one(train), train, test, None, ["rmse"]).estimates["rmse"].mean
            ranks = measure(one(other), other, held, None, ["ndcg@100"]).estimates["ndcg@100"].mean
            found.append((errors, ranks))
        print(f"{name:>24} {np.mean(found, axis=0)[0]:8.4f} {np.mean(found, axis=0)[1]:9.4f}", flush=True)


def chained(train, epsilon, many):
    release = None
    for _ in range(many):
        release = fitted(train, epsilon, release, pair_share=0)
    return release


if __name__ == "__main__":
    main()
