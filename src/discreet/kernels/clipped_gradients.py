"""Sums of clipped gradients of the network, a block of users at a time.

Users are taken in blocks of ``BLOCK`` rows, the last one filled up with empty rows, so every product has the same
shape whoever takes part. Memory is that of one block and of the sum, whatever the number of users.
:mod:`discreet.models.sums.network_gradient` proves how far one user moves the sum, rounding included.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.kernels.autoencoder import Batch, Passed, Sizes, by_item, load_torch, run
from discreet.kernels.gpu_gradients import add_clipped, flat_sums

BLOCK = 128
GPU_BLOCK = 2048
"""A GPU wants larger blocks; its sums are never in single precision (:mod:`discreet.kernels.gpu_gradients`)."""
Precision = Literal["single", "mixed", "double"]
"""Of the passes and of the sum over users: both single; single and double; both double."""
ROUNDING = 2.0**-24


def rounding_of(users: int) -> float:
    """How much further one user may move a sum in single precision over up to so many users, relative to the clip.

    In a block a cell of the last layer is a sum of ``BLOCK`` products, and the sums of blocks are added one by one. So
    its error is at most γ Σ_u |c_u δ_ui a_uj| with γ = (BLOCK + blocks + 2) · 2⁻²⁴, the whole sum's in L2 at most
    γ · users · clip, and neighbouring sums may both be off. All other layers are added up in double precision.

    >>> round(rounding_of(500), 4)
    0.0081
    """
    blocks = -(-users // BLOCK)
    return 2 * users * (BLOCK + blocks + 2) * ROUNDING * 1.01


@dataclass(frozen=True, eq=False)
class Rows:
    """Sparse rows of users: what goes in, what is to be foreseen, and the noise of the code."""

    indptr: NDArray[Any]
    items: NDArray[Any]
    inputs: NDArray[Any]
    targets: NDArray[Any]
    noise: NDArray[Any] | None = None

    def block(self, first: int, device: str, dtype: str, size: int = BLOCK) -> tuple[Batch, Any]:
        """``size`` rows from ``first`` on, and their noise; rows that there are not are empty."""
        torch, last = load_torch(), min(first + size, len(self.indptr) - 1)
        own = np.full(size + 1, self.indptr[last])
        own[: last - first] = self.indptr[first:last]
        part = slice(int(self.indptr[first]), int(self.indptr[last]))
        batch = Batch.of(own, self.items[part], self.inputs[part], self.targets[part], device=device, dtype=dtype)
        if self.noise is None:
            return batch, None
        noise = np.zeros((size, self.noise.shape[1]))
        noise[: last - first] = self.noise[first:last]
        return batch, torch.as_tensor(noise, device=device, dtype=getattr(torch, dtype))


def clipped_sum(
    sizes: Sizes,
    weights: dict[str, Any],
    rows: Rows,
    clip: float,
    *,
    beta: float = 0.0,
    precision: Precision = "double",
    fixed: tuple[str, ...] = (),
    block: int = GPU_BLOCK,
) -> tuple[dict[str, Any], int]:
    """Σ_u g_u min(1/clip, 1/‖g_u‖) over the users with ratings, and how many of them were not clipped.

    ``weights`` are tensors on the device that is to compute; ``fixed`` names those that have no gradient: they count
    nothing in ‖g_u‖. ``block`` is how many rows a GPU takes at once. The sums are tensors of doubles.
    """
    torch = load_torch()
    device = weights["output_bias"].device
    if device.type != "cpu" and precision != "double":
        _, sums = flat_sums(sizes, fixed, device)
        return sums, int(add_clipped_rows(sizes, weights, rows, clip, sums, beta=beta, block=block))
    size = BLOCK if device.type == "cpu" else block
    kind = torch.float32 if precision == "single" else torch.float64
    passes = "float64" if precision == "double" else "float32"
    weights = {name: weight.to(getattr(torch, passes)) for name, weight in weights.items()}
    users = len(rows.indptr) - 1
    last = torch.zeros((sizes.items, sizes.shapes["output_weights"][1] + 1), dtype=kind, device=device)
    first_layer = torch.zeros((users, sizes.shapes["input_bias"][0]), dtype=torch.float64, device=device)
    total: dict[str, Any] = {}
    within: Any = 0
    for first in range(0, users, size):
        batch, noise = rows.block(first, str(device), passes, size)
        passed = run(sizes, weights, batch, beta=beta, noise=noise)
        there = batch.mass > 0
        norms = passed.norms(fixed)
        factors = torch.where(there, 1 / norms.clamp(min=clip), 0.0)
        within = within + (there & (norms <= clip)).sum()
        _add_last(torch, passed, factors.to(kind), last)
        own = passed.layers["input"][1].double() * factors[:, None]
        first_layer[first : first + size] = own[: users - first]
        for name, found in passed.between(factors).items():
            total[name] = total[name] + found if name in total else found
    total["input_bias"] = first_layer.sum(dim=0)
    if "input_weights" not in fixed:
        whole = Batch.of(rows.indptr, rows.items, rows.inputs, rows.targets, device=str(device), dtype="float64")
        total["input_weights"] = by_item(torch, whole, first_layer, sizes.items)
    total["output_weights"], total["output_bias"] = last[:, :-1], last[:, -1]
    return {name: total[name].double() for name in sizes.shapes if name not in fixed}, int(within)


def add_clipped_rows(
    sizes: Sizes,
    weights: dict[str, Any],
    rows: Rows,
    clip: float,
    sums: dict[str, Any],
    *,
    beta: float = 0.0,
    scale: float = 1.0,
    block: int = GPU_BLOCK,
) -> Any:
    """Add the clipped gradients of all rows to sums on their device, block by block; how many were not clipped."""
    torch = load_torch()
    device = weights["output_bias"].device
    weights = {name: weight.to(torch.float32) for name, weight in weights.items()}
    within = torch.zeros((), dtype=torch.int64, device=device)
    for first in range(0, len(rows.indptr) - 1, block):
        batch, noise = rows.block(first, str(device), "float32", block)
        within += add_clipped(sizes, weights, batch, noise, clip, sums, beta=beta, scale=scale)
    return within


def _add_last(torch: Any, passed: Passed, factors: Any, total: Any) -> None:
    inputs, delta = passed.layers["output"]
    own = torch.cat([inputs, torch.ones_like(inputs[:, :1])], dim=1).to(total.dtype) * factors[:, None]
    total.addmm_(delta.to(total.dtype).T, own)


def rows_stand_alone(sizes: Sizes, weights: dict[str, Any], block: int = GPU_BLOCK) -> bool:
    """Whether a row of a block comes out the same to the last bit wherever it stands and whoever stands beside it.

    Tried on random rows: products by libraries usually have this property, and none promises it.
    """
    torch, rng = load_torch(), np.random.default_rng(0)
    device = weights["output_bias"].device
    kept = {name: weight.to(torch.float32) for name, weight in weights.items()}
    size = BLOCK if device.type == "cpu" else block
    lengths = rng.integers(1, min(200, sizes.items) + 1, size)
    own = [np.sort(rng.choice(sizes.items, n, replace=False)) for n in lengths]
    order = rng.permutation(size)
    half = order[: size // 2]
    found = []
    for users in (np.arange(size), order, half):
        indptr = np.concatenate([[0], np.cumsum(lengths[users])])
        items = np.concatenate([own[user] for user in users])
        rows = Rows(indptr, items, np.repeat(lengths[users] ** -0.5, lengths[users]), np.ones(len(items)))
        passed = run(sizes, kept, rows.block(0, str(device), "float32", size)[0], beta=0.1)
        found.append((users, passed))
    first = found[0][1]
    for users, passed in found[1:]:
        for name, (inputs, delta) in passed.layers.items():
            before, after = first.layers[name], (inputs, delta)
            for one, other in zip(before, after, strict=True):
                if one is not None and not torch.equal(one[users], other[: len(users)]):
                    return False
    return True
