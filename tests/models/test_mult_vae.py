"""The autoencoders without privacy: sizes, gradients, fold-in, early stopping, and scoring without torch."""

import numpy as np
import pytest

import discreet as dc
from discreet.kernels.autoencoder import Batch, Sizes, for_scoring, run, scores_of
from discreet.kernels.autoencoder_training import Training, train, unit_rows
from discreet.models.mult_vae import MultVAE
from discreet.types import no_progress

torch = pytest.importorskip("torch")

NETWORKS = [
    Sizes(items=30, hidden=hidden, latent=5, variational=variational)
    for hidden in (0, 7)
    for variational in (True, False)
]
every_network = pytest.mark.parametrize("sizes", NETWORKS, ids=lambda sizes: f"{sizes.hidden}-{sizes.variational}")


def rows(users: int, items: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Users with 0 to 8 items each; the second has none."""
    rng = np.random.default_rng(seed)
    own = [np.sort(rng.choice(items, n, replace=False)) for n in rng.integers(1, 9, users)]
    own[1] = own[1][:0]
    return np.concatenate([[0], np.cumsum([len(row) for row in own])]), np.concatenate(own)


def example(sizes: Sizes, seed: int = 1) -> tuple[dict, Batch, dict]:
    indptr, items = rows(6, sizes.items, seed)
    batch = Batch.of(indptr, items, unit_rows(indptr, len(items)), np.ones(len(items)) / 3, dtype="float64")
    weights = {name: torch.tensor(array, dtype=torch.float64) for name, array in sizes.start(seed).items()}
    generator = torch.Generator().manual_seed(seed)
    e, at, spread = torch.randn((3, 6, sizes.latent), generator=generator, dtype=torch.float64)
    return weights, batch, {"noise": e, "prior": (at, spread.exp()), "beta": 0.3}


def explicit(sizes: Sizes, weights: dict, batch: Batch, how: dict) -> tuple:
    """Losses and gradients user by user, by automatic differentiation of the dense network."""
    inputs = torch.zeros((batch.n_users, sizes.items), dtype=torch.float64)
    targets = inputs.clone()
    inputs[batch.users, batch.items], targets[batch.users, batch.items] = batch.inputs, batch.targets
    losses, gradients = [], []
    for user in range(batch.n_users):
        w = {name: tensor.clone().requires_grad_() for name, tensor in weights.items()}
        code, divergence = inputs[user] @ w["input_weights"] + w["input_bias"], 0.0
        if sizes.hidden:
            code = torch.tanh(code) @ w["code_weights"].T + w["code_bias"]
        if sizes.variational:
            mean, logs = code[: sizes.latent], code[sizes.latent :]
            one = torch.distributions.Normal(mean, (0.5 * logs).exp())
            other = torch.distributions.Normal(how["prior"][0][user], how["prior"][1][user].sqrt())
            divergence = torch.distributions.kl_divergence(one, other).sum()
            code = mean + one.stddev * how["noise"][user]
        else:
            code = torch.tanh(code)
        if sizes.hidden:
            code = torch.tanh(code @ w["expand_weights"].T + w["expand_bias"])
        logits = code @ w["output_weights"].T + w["output_bias"]
        loss = -(targets[user] * torch.log_softmax(logits, 0)).sum() + how["beta"] * divergence
        loss.backward()
        losses.append(loss.detach())
        gradients.append(torch.cat([w[name].grad.ravel() for name in sizes.shapes]))
    return torch.stack(losses), torch.stack(gradients)


@pytest.mark.parametrize(
    ("items", "hidden", "latent", "parameters"),
    [(1682, 80, 20, 275_802), (26_744, 100, 30, 5_384_804), (17_770, 100, 50, 3_587_070)],
)
def test_the_sizes_of_the_paper(items, hidden, latent, parameters):
    assert Sizes(items=items, hidden=hidden, latent=latent).parameters == parameters


@every_network
def test_gradients_are_those_of_automatic_differentiation(sizes):
    weights, batch, how = example(sizes)
    passed = run(sizes, weights, batch, **how)
    losses, gradients = explicit(sizes, weights, batch, how)
    torch.testing.assert_close(passed.losses, losses, rtol=0, atol=1e-10)
    torch.testing.assert_close(passed.norms(), gradients.norm(dim=1), rtol=0, atol=1e-10)
    factors = torch.tensor([1.0, 0.5, 0.0, 2.0, 0.1, 0.7], dtype=torch.float64)
    found = passed.gradients(factors)
    flat = torch.cat([found[name].ravel() for name in sizes.shapes])
    torch.testing.assert_close(flat, factors @ gradients, rtol=0, atol=1e-10)


@every_network
def test_scores_without_torch_are_those_of_the_network(sizes):
    weights, batch, _ = example(sizes)
    arrays = for_scoring(sizes, {name: tensor.numpy() for name, tensor in weights.items()})
    dense = np.zeros((batch.n_users, sizes.items))
    dense[batch.users, batch.items] = batch.inputs
    scores = scores_of(arrays, dense @ arrays["input_weights"], variational=sizes.variational)
    passed = run(sizes, weights, batch, beta=0.0)
    share = np.exp(scores - scores.max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    expected = passed.layers["output"][1].clone()
    expected[batch.users, batch.items] += batch.targets
    np.testing.assert_allclose(share * batch.mass.numpy()[:, None], expected.numpy(), atol=1e-6)


def test_a_flat_vector_is_split_as_it_was_joined():
    sizes = NETWORKS[2]
    arrays = sizes.start(3)
    for name, array in sizes.split(sizes.flat(arrays)).items():
        np.testing.assert_array_equal(array, arrays[name])


def test_training_stops_early_and_keeps_the_best_epoch():
    ratings = dc.synthetic(users=120, items=40, ratings=1500, seed=1)
    epochs: list[int] = []
    how = Training(epochs=500, batch=20, learning_rate=0.05, validation=0.2, patience=3)
    sizes = Sizes(items=40, hidden=8, latent=4)
    train(ratings.indptr, ratings.item_index, sizes, how, lambda done, total, what: epochs.append(done))
    assert 3 < len(epochs) < 500


def test_the_same_seed_gives_the_same_weights():
    ratings = dc.synthetic(users=60, items=30, ratings=700, seed=1)
    sizes, how = Sizes(items=30, hidden=6, latent=3), Training(epochs=3, batch=16, seed=4)
    one, other = (train(ratings.indptr, ratings.item_index, sizes, how, no_progress) for _ in range(2))
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name])


def test_it_learns_more_than_popularity():
    ratings = dc.synthetic(users=800, items=100, ratings=24_000, seed=1)
    split = next(dc.evaluation.EachUser(seed=1).splits(ratings))
    found = {}
    for model in (MultVAE(hidden=32, latent=16, epochs=60), dc.models.AutoEncoder(latent=32, epochs=60)):
        release = model.fit(split.train)
        found[type(model)] = dc.evaluate(release, split.train, split.test, mask=split.mask, metrics=["ndcg@10"])
    popular = dc.Popularity().fit(dc.NoPrivacy(split.train))
    base = dc.evaluate(popular, split.train, split.test, mask=split.mask, metrics=["ndcg@10"])
    assert all(result["ndcg@10"] > base["ndcg@10"] + 0.01 for result in found.values())


def test_the_release_holds_what_scoring_needs_and_no_more():
    ratings = dc.synthetic(users=40, items=30, ratings=500, seed=1)
    release = MultVAE(hidden=8, latent=4, epochs=1).fit(ratings)
    assert release.arrays["code_weights"].shape == (4, 8)
    assert release.guarantee.proven is None
