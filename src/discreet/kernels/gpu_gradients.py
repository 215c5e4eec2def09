"""Sums of clipped gradients where a GPU computes: passes in single precision, sums over users in double precision.

The same sums as :mod:`discreet.kernels.clipped_gradients`. The δ of the last layer, its length and its doubles come out
of one kernel, and the sum over users is one product of doubles, which tensor cores do as fast as others do singles. No
number leaves the device.
"""

import math
from typing import Any

from discreet.kernels.autoencoder import Batch, Sizes, by_item, load_torch, run

LEAST_BLOCK, MOST_BLOCK, EVEN = 256, 8192, 64


def block_for(users: int) -> int:
    """Rows of a block where a step has about so many users, a public number: one block is enough nearly always.

    >>> block_for(2048), block_for(100_000)
    (2240, 8192)
    """
    wanted = users + 4 * math.sqrt(users)
    return int(min(max(math.ceil(wanted / EVEN) * EVEN, LEAST_BLOCK), MOST_BLOCK))


def flat_sums(sizes: Sizes, fixed: tuple[str, ...], device: Any, extra: int = 0) -> tuple[Any, dict[str, Any]]:
    """Zeros in double precision for all weights that are learned, one after the other, and views of them by name.

    ``extra`` cells follow.
    """
    torch = load_torch()
    learned = {name: shape for name, shape in sizes.shapes.items() if name not in fixed}
    flat = torch.zeros(sum(math.prod(shape) for shape in learned.values()) + extra, dtype=torch.float64, device=device)
    views, first = {}, 0
    for name, shape in learned.items():
        views[name] = flat[first : first + math.prod(shape)].view(shape)
        first += math.prod(shape)
    return flat, views


def add_clipped(
    sizes: Sizes,
    weights: dict[str, Any],
    batch: Batch,
    noise: Any,
    clip: float,
    sums: dict[str, Any],
    *,
    beta: float = 0.0,
    scale: float = 1.0,
    alone: bool = False,
) -> Any:
    """Add ``scale`` Σ_u g_u min(1/clip, 1/‖g_u‖) to the sums, and return how many users were not clipped, as a tensor.

    Names that are not in ``sums`` have no gradient. ``alone`` to overwrite the sums instead.
    """

    def put(name: str, found: Any) -> None:
        if name not in sums:
            return
        if alone:
            sums[name].copy_(found)
        else:
            sums[name].add_(found)

    torch = load_torch()
    fixed = tuple(name for name in sizes.shapes if name not in sums)
    passed = run(sizes, weights, batch, beta=beta, noise=noise, exact=True)
    there, norms = batch.mass > 0, passed.norms(fixed)
    factors = torch.where(there, scale / norms.clamp(min=clip), 0.0)
    inputs, delta = passed.layers["output"]
    doubles = delta.double() if passed.last_doubles is None else passed.last_doubles
    own = torch.cat([inputs.double() * factors[:, None], factors[:, None]], dim=1)
    last = own.T @ doubles  # of weights and bias at once: the doubles are read once
    put("output_weights", last[:-1].T)
    put("output_bias", last[-1])
    first = passed.layers["input"][1].double() * factors[:, None]
    put("input_bias", first.sum(dim=0))
    if "input_weights" in sums:
        put("input_weights", by_item(torch, batch, first, sizes.items))
    for name, found in passed.between(factors).items():
        put(name, found)
    return (there & (norms <= clip)).sum()


class GraphedSum:
    """Clipped sums over blocks of one shape, captured once as a graph of the GPU's work and played for every block.

    A step of some thousand users is over before a processor has given its hundred orders; played, it is one order.
    Whatever changes from step to step is copied into memory of its own. Ratings beyond ``ratings`` do not fit.

    Parameters
    ----------
    sizes, fixed
        The network, and the names of weights that are not learned.
    users, ratings
        How many rows a block has, and how many ratings at most.
    beta, scale
        As for :func:`add_clipped`.
    plain
        Whether gradients are added up as they are, in single precision: without privacy.
    weights
        Tensors on the GPU that stay where they are, if there are such.
    """

    def __init__(
        self,
        sizes: Sizes,
        fixed: tuple[str, ...],
        users: int,
        ratings: int,
        *,
        beta: float,
        scale: float = 1.0,
        plain: bool = False,
        weights: dict[str, Any] | None = None,
    ) -> None:
        torch, device = load_torch(), "cuda"
        self.sizes, self.users, self.ratings, self._filled = sizes, users, ratings, 0
        self.weights = weights or {
            name: torch.zeros(shape, dtype=torch.float32, device=device) for name, shape in sizes.shapes.items()
        }
        whole = {"dtype": torch.int64, "device": device}
        self.batch = Batch(
            torch.zeros(users + 1, **whole),
            torch.full((ratings,), sizes.items, **whole),  # one past the last: sorted behind all others
            torch.zeros(ratings, **whole),
            torch.zeros(ratings, device=device),
            torch.zeros(ratings, device=device),
            torch.zeros(users, device=device),
        )
        self.noise = torch.zeros((users, sizes.latent), device=device) if sizes.variational else None
        self.clip = torch.ones((), dtype=torch.float64, device=device)
        self.flat, self.sums = flat_sums(sizes, fixed, device)

        def plainly() -> Any:
            passed = run(sizes, self.weights, self.batch, beta=beta, noise=self.noise)
            found = passed.gradients(torch.full((users,), scale, device=device))
            return torch.cat([found[name].ravel() for name in self.sums])

        def work() -> Any:
            known = self.weights, self.batch, self.noise, self.clip, self.sums
            return add_clipped(sizes, *known, beta=beta, scale=scale, alone=True)

        if plain:
            self.within = None
            self.flat, self._graph = captured(plainly)
        else:
            self.within, self._graph = captured(work)

    def play(self, weights: dict[str, Any], batch: Batch, noise: Any, clip: float) -> Any:
        """The flat sum over a batch of this shape. It is overwritten by the next."""
        if weights is not self.weights:
            load_torch()._foreach_copy_(list(self.weights.values()), [weights[name] for name in self.weights])
        count, before = int(batch.items.shape[0]), self._filled
        for own, given in zip(
            (self.batch.items, self.batch.users, self.batch.inputs, self.batch.targets),
            (batch.items, batch.users, batch.inputs, batch.targets),
            strict=True,
        ):
            own[:count].copy_(given)
        if count < before:
            self.batch.items[count:before] = self.sizes.items
            self.batch.inputs[count:before] = 0
        self._filled = count
        self.batch.offsets.copy_(batch.offsets)
        self.batch.mass.copy_(batch.mass)
        if self.noise is not None:
            self.noise.copy_(noise)
        self.clip.fill_(clip)
        self._graph.replay()
        return self.flat


def captured(work: Any) -> tuple[Any, Any]:
    """What a work gives, and the graph that does it again in the same memory."""
    torch = load_torch()
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):  # compiles and chooses kernels
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = work()
    return found, graph
