"""How well autoencoders rank, without privacy and with it, beside popularity and Almanac.

    python benchmarks/vae_accuracy.py ml-100k ml-1m synthetic        all tables, or one of them

Seeds are others than those that settings were chosen on (100 and above). NDCG@100 and Recall@20, items of the history
and of the validation part masked. Noise is seeded, so that the tables come out the same again: nothing is released.
"""

import sys
import time

import discreet as dc
from discreet.fitting.fit_on import fit_on

METRICS = ["ndcg@100", "recall@20"]


def row(name: str, model: object, split: object, terms: dc.Terms) -> float:
    start = time.perf_counter()
    release = fit_on(model, split.train, terms)
    seconds = time.perf_counter() - start
    found = dc.evaluate(release, split.histories, split.test, mask=split.mask, metrics=METRICS)
    print(f"| {name} | {found['ndcg@100']:.3f} | {found['recall@20']:.3f} | {seconds:.0f} |", flush=True)
    return float(found["ndcg@100"])


def head(title: str) -> None:
    print(f"\n{title}\n\n| model | NDCG@100 | Recall@20 | s |\n|---|---|---|---|", flush=True)


def private(epsilon: float) -> dc.Terms:
    return dc.Terms(epsilon=epsilon, delta=1e-6, unit="user", noise_seed=1)


def movielens(name: str, audience: int, references: bool = True) -> None:
    ratings = dc.load(name)
    split = next(dc.evaluation.EachUser(seed=1).splits(ratings))
    if references:
        head(f"{name}, 8:1:1 of each user, no privacy")
        row("popularity", dc.Popularity(), split, dc.Terms())
        row("MultVAE, 200, 64", dc.models.MultVAE(), split, dc.Terms())
        row("AutoEncoder, 200", dc.models.AutoEncoder(), split, dc.Terms())
        row("EASE", dc.EASE(), split, dc.Terms())
    head(f"{name}, 8:1:1 of each user, delta 1e-6, unit user")
    for epsilon in (1.0, 3.0, 10.0):
        for label, model in (
            ("popularity", dc.Popularity()),
            ("PrivateVAE", dc.models.PrivateVAE(audience=audience)),
            ("Almanac", dc.Almanac(audience=audience)),
        ):
            row(f"epsilon {epsilon:g}, {label}", model, split, private(epsilon))


def liked() -> None:
    ratings = dc.load("ml-1m")
    ratings = ratings.select(ratings.values >= 4)
    split = next(dc.evaluation.HeldOutUsers(test=0.1, seed=1).splits(ratings))
    head("ml-1m, ratings of 4 and above, a tenth of the users unknown, 80 % of their ratings as history")
    row("MultVAE, 200, 64", dc.models.MultVAE(), split, dc.Terms())


def synthetic() -> None:
    ratings = dc.synthetic(users=100_000, items=500, ratings=5_000_000, seed=5)
    split = next(dc.evaluation.HeldOutUsers(test=0.02, seed=1).splits(ratings))
    head("synthetic, 100,000 users, 500 items, 5 million ratings, 2 % of the users unknown")
    row("popularity, no privacy", dc.Popularity(), split, dc.Terms())
    exact = row("AutoEncoder, no privacy", dc.models.AutoEncoder(latent=16, epochs=5, patience=0), split, dc.Terms())
    for epsilon in (1.0, 2.0):
        found = row(f"PrivateVAE, epsilon {epsilon:g}", dc.models.PrivateVAE(audience=100_000), split, private(epsilon))
        print(f"  {found / exact:.2f} of the NDCG without privacy", flush=True)


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["ml-100k", "ml-1m", "liked", "synthetic"]
    if "ml-100k" in wanted:
        movielens("ml-100k", 943)
    if "ml-1m" in wanted:
        movielens("ml-1m", 6000, references=False)
    if "liked" in wanted:
        liked()
    if "synthetic" in wanted:
        synthetic()
