"""Clipped sums as a GPU makes them, here by torch on the processor: those of the other kernel."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from discreet.kernels.autoencoder import Sizes  # noqa: E402
from discreet.kernels.clipped_gradients import Rows, add_clipped_rows, clipped_sum  # noqa: E402
from discreet.kernels.gpu_gradients import GraphedSum, block_for, flat_sums  # noqa: E402

NETWORKS = [
    Sizes(items=50, hidden=7, latent=3),
    Sizes(items=50, hidden=0, latent=4),
    Sizes(items=50, hidden=6, latent=4, variational=False),
]


def rows_of(users, latent, seed=0):
    rng = np.random.default_rng(seed)
    own = [np.sort(rng.choice(50, rng.integers(0, 20), replace=False)) for _ in range(users)]
    indptr = np.concatenate([[0], np.cumsum([len(items) for items in own])])
    items = np.concatenate(own)
    return Rows(indptr, items, rng.random(len(items)), rng.random(len(items)), rng.standard_normal((users, latent)))


def on(device, sizes):
    return {name: torch.tensor(array, device=device) for name, array in sizes.start(1).items()}


@pytest.mark.parametrize("device", ["cpu", *(["cuda"] if torch.cuda.is_available() else [])])
@pytest.mark.parametrize("sizes", NETWORKS)
@pytest.mark.parametrize("fixed", [(), ("output_bias",), ("input_weights", "output_weights")])
def test_the_sums_are_those_of_the_other_kernel(sizes, fixed, device):
    rows = rows_of(300, sizes.latent)
    wanted, within = clipped_sum(sizes, on("cpu", sizes), rows, 0.5, beta=0.1, precision="double", fixed=fixed)
    flat, sums = flat_sums(sizes, fixed, device, extra=1)
    found = add_clipped_rows(sizes, on(device, sizes), rows, 0.5, sums, beta=0.1, scale=0.5, block=128)
    assert abs(int(found) - within) <= 1 and flat.dtype == torch.float64 and flat[-1] == 0
    for name, sum_ in wanted.items():
        torch.testing.assert_close(sums[name].cpu(), 0.5 * sum_, rtol=0, atol=2e-4)


def test_a_block_is_enough_for_nearly_every_sample():
    for users in (300, 2048, 5000):
        assert users + 4 * users**0.5 <= block_for(users) < users + 5 * users**0.5 + 64
    assert block_for(1) == 256


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_graph_plays_what_it_was_captured_for():
    sizes = NETWORKS[0]
    graphed, weights = GraphedSum(sizes, (), 128, 4000, beta=0.1), on("cuda", sizes)
    for seed, clip in ((1, 0.5), (2, 0.1), (3, 2.0)):  # each time other rows, of which some were longer before
        rows = rows_of(100 - 20 * seed, sizes.latent, seed)
        flat, sums = flat_sums(sizes, (), "cuda")
        batch, noise = rows.block(0, "cuda", "float32", 128)
        add_clipped_rows(sizes, weights, rows, clip, sums, beta=0.1, block=128)
        torch.testing.assert_close(graphed.play(weights, batch, noise, clip), flat, rtol=0, atol=1e-6)
