"""How well autoencoders rank, without privacy and with it, beside popularity and Almanac.

    python benchmarks/vae_accuracy.py ml-100k ml-1m liked synthetic almanac        all tables, or some of them

Seeds are others than those that settings were chosen on (100 and above). NDCG@100 and Recall@20, items of the history
and of the validation part masked. Noise is seeded, so that the tables come out the same again: nothing is released.
"""

import sys
import time

import numpy as np

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
            ("Almanac", dc.Almanac()),
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


def on_almanac(name: str, audience: int, epsilon: float, share: float, steps: int, learning_rate: float) -> None:
    """An autoencoder on top of Almanac: logits = Almanac's scores + the network's, both paid from one budget.

    The steps are those of PrivateVAE with ``share`` of the budget, Almanac has the rest; dense, as small data allow.
    """
    import torch

    from discreet.privacy.gaussian import mu_of

    split = next(dc.evaluation.EachUser(seed=1).splits(dc.load(name)))
    train, rng, latent, clip = split.train, np.random.default_rng(1), 8, 0.05
    releases = [
        dc.Almanac().fit(
            dc.TrustedServer(train, dc.Ledger(epsilon, 1e-6, dc.User()), randomness=dc.Randomness(seed=1), share=part)
        )
        for part in (1.0, 1 - share)
    ]
    base = torch.tensor(releases[1].scores(train))
    marks = torch.tensor(train.csr.astype(bool).toarray().astype(np.float32))
    lengths = marks.sum(dim=1, keepdim=True).clamp(min=1)
    weights = [torch.tensor(rng.normal(0, 0.1, (train.n_items, latent)), dtype=torch.float32) for _ in range(2)]
    adam = torch.optim.Adam(weights, lr=learning_rate, betas=(0.9, 0.99))
    sigma = steps**0.5 / (mu_of(epsilon, 1e-6) * share**0.5)

    def code() -> torch.Tensor:
        return torch.tanh(marks / lengths.sqrt() @ weights[0])

    for _ in range(steps):
        own = code()
        delta = torch.softmax(own @ weights[1].T + base, dim=1) - marks / lengths
        back = (delta @ weights[1]) * (1 - own * own)
        norms = (delta.square().sum(1) * own.square().sum(1) + back.square().sum(1)).sqrt().clamp(min=clip)[:, None]
        sums = (marks / lengths.sqrt()).T @ (back / norms), delta.T @ (own / norms)
        for weight, total in zip(weights, sums, strict=True):
            noise = torch.tensor(rng.normal(0, sigma, total.shape), dtype=torch.float32)
            weight.grad = (total + noise) / train.n_users
        adam.step()
    ranked = [_ndcg(scores, split) for scores in (releases[0].scores(train), base.numpy())]
    ranked.append(_ndcg((code() @ weights[1].T + base).numpy(), split))
    cells = " | ".join(f"{value:.3f}" for value in ranked)
    print(f"| {name} | {epsilon:g} | {share:g} | {steps} | {cells} |", flush=True)


def _ndcg(scores: np.ndarray, split: object, k: int = 100) -> float:
    scores = np.array(scores)
    for seen in (split.train, split.mask):
        scores[seen.user_index, seen.item_index] = -np.inf
    top = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    hidden = np.zeros(scores.shape, dtype=bool)
    hidden[split.test.user_index, split.test.item_index] = True
    discounts = 1 / np.log2(np.arange(2, k + 2))
    wanted = hidden.sum(axis=1)
    ideal = np.concatenate([[0], np.cumsum(discounts)])[np.minimum(wanted, k)]
    gains = np.take_along_axis(hidden, top, 1) @ discounts
    return float((gains[wanted > 0] / ideal[wanted > 0]).mean())


def almanac() -> None:
    print("\nAn autoencoder on top of Almanac: NDCG@100 of Almanac with all, with its share, and with steps on top\n")
    print(
        "| data | epsilon | share of steps | steps | Almanac, all | Almanac, its share | with steps |\n"
        + "|---" * 7
        + "|"
    )
    for epsilon in (3.0, 10.0):
        on_almanac("ml-100k", 943, epsilon, 0.5, 25, 0.04)
        on_almanac("ml-100k", 943, epsilon, 0.2, 10, 0.04)
    on_almanac("ml-1m", 6000, 10.0, 0.5, 40, 0.03)


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["ml-100k", "ml-1m", "liked", "synthetic", "almanac"]
    if "ml-100k" in wanted:
        movielens("ml-100k", 943)
    if "ml-1m" in wanted:
        movielens("ml-1m", 6000, references=False)
    if "liked" in wanted:
        liked()
    if "synthetic" in wanted:
        synthetic()
    if "almanac" in wanted:
        almanac()
