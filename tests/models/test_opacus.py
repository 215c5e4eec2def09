"""Checked against Opacus, where it is installed: the same clipped sum of a small network, and the same accounting."""

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    opacus = pytest.importorskip("opacus")

import discreet as dc  # noqa: E402
from discreet.kernels.autoencoder import Sizes  # noqa: E402
from discreet.kernels.clipped_gradients import Rows, clipped_sum  # noqa: E402
from discreet.privacy.accounting import epsilon_of  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


def dense_and_rows(users: int, items: int):
    rng = np.random.default_rng(1)
    rated = rng.random((users, items)) < 0.3
    rated[:, 0] = True
    user, item = np.nonzero(rated)
    lengths = rated.sum(axis=1)
    rows = Rows(np.concatenate([[0], np.cumsum(lengths)]), item, (lengths**-0.5)[user], (1 / lengths)[user])
    inputs, targets = (torch.zeros((users, items), dtype=torch.float64) for _ in range(2))
    inputs[user, item], targets[user, item] = torch.tensor(rows.inputs), torch.tensor(rows.targets)
    return inputs, targets, rows


def test_the_clipped_sum_is_that_of_opacus():
    from opacus.grad_sample import GradSampleModule
    from opacus.optimizers import DPOptimizer

    sizes, clip = Sizes(items=25, hidden=0, latent=4, variational=False), 0.35
    inputs, targets, rows = dense_and_rows(150, 25)
    start = sizes.start(3)
    first, last = torch.nn.Linear(25, 4).double(), torch.nn.Linear(4, 25).double()
    with torch.no_grad():
        first.weight.copy_(torch.tensor(start["input_weights"].T)), first.bias.copy_(torch.tensor(start["input_bias"]))
        last.weight.copy_(torch.tensor(start["output_weights"])), last.bias.copy_(torch.tensor(start["output_bias"]))
    model = GradSampleModule(torch.nn.Sequential(first, torch.nn.Tanh(), last), loss_reduction="sum")
    inner = torch.optim.SGD(model.parameters(), lr=1.0)
    optimizer = DPOptimizer(
        inner, noise_multiplier=0.0, max_grad_norm=clip, expected_batch_size=1, loss_reduction="sum"
    )
    (-(targets * torch.log_softmax(model(inputs), dim=1)).sum()).backward()
    optimizer.clip_and_accumulate()
    theirs = [parameter.summed_grad for parameter in model.parameters()]
    weights = {name: torch.tensor(array, dtype=torch.float64) for name, array in start.items()}
    found, within = clipped_sum(sizes, weights, rows, clip)
    names = ("input_weights", "input_bias", "output_weights", "output_bias")
    for name, their in zip(names, theirs, strict=True):
        own = found[name].T if name == "input_weights" else found[name]
        torch.testing.assert_close(own * clip, their, rtol=1e-4, atol=1e-6)  # Opacus adds 1e-6 to every length
    assert 0 < within < 150


@pytest.mark.parametrize(("noise", "rate", "steps"), [(1.0, 0.01, 1000), (2.0, 0.02, 1000), (4.0, 0.2, 50)])
def test_the_accounting_is_that_of_opacus(noise, rate, steps):
    from opacus.accountants import PRVAccountant

    accountant = PRVAccountant()
    accountant.history = [(noise, rate, steps)]
    theirs = accountant.get_epsilon(1e-6, eps_error=0.005)
    spend = dc.privacy.Spend(
        what="steps", mechanism="gaussian", norm="l2", sensitivity=1, scale=noise, sampling_rate=rate, times=steps
    )
    assert epsilon_of([spend], 1e-6) == pytest.approx(theirs, rel=0.02)
