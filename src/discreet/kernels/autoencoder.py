"""The network of the autoencoders: forward and backward pass, and the length of every user's own gradient.

    items → hidden → code → hidden → items      tanh between; with ``hidden`` 0:  items → code → items
    variational:  code = (m, log s²),  z = m + s ⊙ e        otherwise  z = tanh(code)

    loss of a user  =  − Σ_i t_i log softmax(logits)_i  +  β KL(N(m, s²) ‖ prior)

Input rows are sparse: they are never spread out, forwards or backwards. The gradient of one user in a layer
y = W a + b is δ aᵀ for W and δ for b, so

    ‖g_u‖²  =  Σ_layers ‖δ_u‖² (‖a_u‖² + 1)           exact, without any gradient of a single user
    Σ_u c_u g_u  =  Σ_u δ_u (c_u a_u)ᵀ                 one product a layer, whatever the weights c_u are

and a step that clips every user costs one pass over the δ of the last layer more than one that does not.

Everything is plain arithmetic on torch tensors, on the processor or a GPU, without automatic differentiation. This file
needs numpy and torch alone.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

try:
    from discreet.extras import load_extra
except ImportError:  # the file is used on its own
    load_extra = None  # type: ignore[assignment]

Arrays = dict[str, NDArray[Any]]

NARROW = 512
"""Rows up to this width are cheap to square in double precision."""


def load_torch() -> Any:
    """Torch, or a sentence that says how to install it."""
    if load_extra is None:
        import torch

        return torch
    return load_extra("torch", "torch", "an autoencoder")


def best_device() -> str:
    """A GPU where there is one."""
    return "cuda" if load_torch().cuda.is_available() else "cpu"


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How large the layers are.

    Parameters
    ----------
    items, hidden, latent
        Length of the input, of both hidden layers (0 for none) and of the code.
    variational
        Whether the encoder gives a mean and a variance.

    Examples
    --------
    >>> Sizes(items=1682, hidden=80, latent=20).parameters
    275802
    >>> Sizes(items=1682, hidden=0, latent=50, variational=False).parameters
    169932
    """

    items: int
    hidden: int
    latent: int
    variational: bool = True

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """All weights by name; those of items have one row an item."""
        code = self.latent * (2 if self.variational else 1)
        if self.hidden == 0:
            return {
                "input_weights": (self.items, code),
                "input_bias": (code,),
                "output_weights": (self.items, self.latent),
                "output_bias": (self.items,),
            }
        return {
            "input_weights": (self.items, self.hidden),
            "input_bias": (self.hidden,),
            "code_weights": (code, self.hidden),
            "code_bias": (code,),
            "expand_weights": (self.hidden, self.latent),
            "expand_bias": (self.hidden,),
            "output_weights": (self.items, self.hidden),
            "output_bias": (self.items,),
        }

    @property
    def parameters(self) -> int:
        """How many numbers are learned."""
        return sum(int(np.prod(shape)) for shape in self.shapes.values())

    def start(self, seed: int) -> Arrays:
        """Random weights of the usual spread (Glorot), and biases of 0."""
        rng, arrays = np.random.default_rng(seed), {}
        for name, shape in self.shapes.items():
            spread = (2 / sum(shape)) ** 0.5 if len(shape) == 2 else 0.0
            arrays[name] = (rng.standard_normal(shape) * spread).astype(np.float32)
        return arrays

    def flat(self, arrays: Arrays) -> NDArray[Any]:
        """All weights one after the other."""
        return np.concatenate([np.ravel(arrays[name]) for name in self.shapes])

    def split(self, flat: Any) -> dict[str, Any]:
        """Views of a flat vector, array or tensor, as weights."""
        found, first = {}, 0
        for name, shape in self.shapes.items():
            size = int(np.prod(shape))
            found[name] = flat[first : first + size].reshape(shape)
            first += size
        return found


@dataclass(frozen=True, eq=False)
class Batch:
    """Sparse rows of some users on a device, in both orders.

    ``inputs`` go into the network and ``targets`` are what it is to foresee; ``mass`` is each user's sum of targets.
    """

    offsets: Any
    items: Any
    users: Any
    inputs: Any
    targets: Any
    mass: Any

    @classmethod
    def of(
        cls,
        indptr: NDArray[Any],
        items: NDArray[Any],
        inputs: NDArray[Any],
        targets: NDArray[Any],
        *,
        device: str = "cpu",
        dtype: str = "float32",
    ) -> "Batch":
        """From rows one after the other."""
        torch = load_torch()
        kind, lengths = getattr(torch, dtype), np.diff(indptr)
        users = np.repeat(np.arange(len(lengths)), lengths)
        mass = np.bincount(users, weights=targets, minlength=len(lengths))

        def there(array: NDArray[Any], of: Any) -> Any:
            return torch.tensor(array, device=device, dtype=of)

        return cls(
            there(np.asarray(indptr) - indptr[0], torch.int64),
            there(items, torch.int64),
            there(users, torch.int64),
            there(inputs, kind),
            there(targets, kind),
            there(mass, kind),
        )

    @property
    def n_users(self) -> int:
        """How many users there are."""
        return int(self.offsets.shape[0]) - 1


@dataclass(frozen=True, eq=False)
class Passed:
    """What a forward and backward pass leaves: for each layer its input a and its δ, and every user's loss."""

    sizes: Sizes
    batch: Batch
    layers: dict[str, tuple[Any, Any]]
    losses: Any
    last_squares: Any = None
    """‖δ‖² of the last layer, in doubles, and δ in doubles, where the pass was ``exact`` and on a GPU."""
    last_doubles: Any = None

    def norms(self, fixed: tuple[str, ...] = ()) -> Any:
        """The length of each user's gradient over all weights together, but for those that are ``fixed``.

        Rounded up: single precision adds n squares with a relative error of at most n · 2⁻²⁴, which is added.
        """
        torch = load_torch()
        batch = self.batch
        if batch.inputs.device.type == "cuda":
            from discreet.kernels.bags_triton import squares_of_users

            return squares_of_users(self.layers, batch, self.last_squares, fixed).sqrt()
        squares = torch.zeros(batch.n_users, dtype=torch.float64, device=batch.inputs.device)
        for name, (inputs, delta) in self.layers.items():
            long = torch.zeros_like(squares)
            if f"{name}_weights" in fixed:
                pass
            elif name == "input":
                long.index_add_(0, batch.users, batch.inputs.double() ** 2)
            else:
                long = _squares(torch, inputs)
            own = self.last_squares if name == "output" and self.last_squares is not None else _squares(torch, delta)
            squares += own * (long + (f"{name}_bias" not in fixed))
        return squares.sqrt()

    def gradients(self, factors: Any) -> dict[str, Any]:
        """Σ_u c_u g_u for the factors c."""
        torch, (_, delta) = load_torch(), self.layers["input"]
        factors = factors.to(delta.dtype)
        own = delta * factors[:, None]
        found = {"input_weights": by_item(torch, self.batch, own, self.sizes.items), "input_bias": own.sum(dim=0)}
        for name in ("code", "expand", "output"):
            if name in self.layers:
                found[f"{name}_weights"], found[f"{name}_bias"] = self._product(name, factors)
        return found

    def between(self, factors: Any) -> dict[str, Any]:
        """The same in double precision, of the small layers between input and output alone."""
        found = {}
        for name in ("code", "expand"):
            if name in self.layers:
                found[f"{name}_weights"], found[f"{name}_bias"] = self._product(name, factors.double())
        return found

    def _product(self, name: str, factors: Any) -> tuple[Any, Any]:
        inputs, delta = self.layers[name]
        delta = delta.to(factors.dtype)
        return delta.T @ (inputs.to(delta.dtype) * factors[:, None]), factors @ delta  # the smaller side is weighted


def run(
    sizes: Sizes,
    weights: dict[str, Any],
    batch: Batch,
    *,
    beta: float = 1.0,
    noise: Any = None,
    prior: tuple[Any, Any] | None = None,
    exact: bool = False,
) -> Passed:
    """Forward and backward.

    Parameters
    ----------
    sizes, weights, batch
        The network, its weights as tensors by name, and the users.
    beta
        Weight of the KL term, where the network is variational.
    noise
        The e above, users by latent; None for z = m.
    prior
        Mean and variance of each user's prior, users by latent; None for the standard normal one.
    exact
        Whether δ of the last layer and its length are wanted in double precision too: on a GPU they are made with it.
    """
    torch = load_torch()
    layers: dict[str, tuple[Any, Any]] = {}
    rows = _bags(weights["input_weights"], batch.items, batch.inputs, batch.offsets)
    rows += weights["input_bias"]
    first = rows.tanh_() if sizes.hidden else rows
    code = first @ weights["code_weights"].T + weights["code_bias"] if sizes.hidden else first
    if sizes.variational:
        mean, spread = code[:, : sizes.latent], code[:, sizes.latent :]
        deviation = (0.5 * spread).exp()
        z = mean if noise is None else mean + deviation * noise
    else:
        z = code.tanh()
    last = (z @ weights["expand_weights"].T + weights["expand_bias"]).tanh_() if sizes.hidden else z
    logits = torch.addmm(weights["output_bias"], last, weights["output_weights"].T)

    delta, losses, squares, doubles = _last_layer(torch, logits, batch, exact)
    layers["output"] = (last, delta)
    back = delta @ weights["output_weights"]
    if sizes.hidden:
        back *= 1 - last * last
        layers["expand"] = (z, back)
        back = back @ weights["expand_weights"]
    if sizes.variational:
        at, variance = (0.0, 1.0) if prior is None else prior
        apart, own = (mean - at) / variance, deviation * deviation / variance
        losses += 0.5 * beta * (own + apart * (mean - at) - 1 - own.log()).sum(dim=1)
        of_spread = 0.5 * beta * (own - 1)
        if noise is not None:
            of_spread = of_spread + 0.5 * back * noise * deviation
        back = torch.cat([back + beta * apart, of_spread], dim=1)
    else:
        back = back * (1 - z * z)
    if sizes.hidden:
        layers["code"] = (first, back)
        back = (back @ weights["code_weights"]) * (1 - first * first)
    layers["input"] = (None, back)
    return Passed(sizes, batch, layers, losses, squares, doubles)


def _last_layer(torch: Any, logits: Any, batch: Batch, exact: bool) -> tuple[Any, Any, Any, Any]:
    """δ of the last layer, in the memory of the logits, and every user's loss; on a GPU in one pass."""
    if logits.device.type == "cuda" and logits.dtype == torch.float32 and batch.targets.dtype == torch.float32:
        from discreet.kernels.softmax_triton import last_layer

        return last_layer(logits, batch, exact=exact)
    cells = batch.users * logits.shape[1] + batch.items
    at_targets = logits.view(-1)[cells]
    top = logits.max(dim=1, keepdim=True).values
    delta = logits.sub_(top).exp_()
    total = delta.sum(dim=1, keepdim=True)
    surprise = (top + total.log())[:, 0][batch.users] - at_targets
    losses = torch.zeros_like(batch.mass).index_add_(0, batch.users, batch.targets * surprise)
    delta *= batch.mass[:, None] / total
    delta.view(-1)[cells] -= batch.targets
    return delta, losses, None, None


def _squares(torch: Any, rows: Any) -> Any:
    """The squared length of each row; of wide rows in their own precision, as a copy in doubles would take long."""
    if rows.device.type == "cuda":  # one kernel, which adds up doubles
        return torch.linalg.vector_norm(rows, dim=1, dtype=torch.float64).square_()
    if rows.dtype == torch.float64 or rows.shape[1] <= NARROW:
        return rows.double().square().sum(dim=1)
    return torch.linalg.vector_norm(rows, dim=1).double().square() * (1 + 2.0 * rows.shape[1] * 2.0**-24)


def by_item(torch: Any, batch: Batch, rows: Any, items: int) -> Any:
    """Σ_u x_ui rows_u for every item: a sum over the users who rated it, in a fixed order."""
    sorted_items, order = torch.sort(batch.items, stable=True)
    offsets = torch.searchsorted(sorted_items, torch.arange(items + 1, device=sorted_items.device))
    return _bags(rows, batch.users[order], batch.inputs[order].to(rows.dtype), offsets)


def _bags(rows: Any, index: Any, weights: Any, offsets: Any) -> Any:
    """Σ weight · row over each bag."""
    if rows.device.type == "cuda":
        from discreet.kernels.bags_triton import bag_sums

        return bag_sums(rows, index, weights, offsets)
    from torch.nn.functional import embedding_bag

    return embedding_bag(
        index, rows, offsets, mode="sum", per_sample_weights=weights.to(rows.dtype), include_last_offset=True
    )


def scores_of(arrays: Arrays, sums: NDArray[Any], *, variational: bool) -> NDArray[np.float32]:
    """Logits in numpy, from each user's sum of input weights; of a variational network at the mean of the code."""
    rows = sums + arrays["input_bias"]
    if "code_weights" in arrays:
        rows = np.tanh(rows) @ arrays["code_weights"].T + arrays["code_bias"]
    code = rows if variational else np.tanh(rows)
    if "expand_weights" in arrays:
        code = np.tanh(code @ arrays["expand_weights"].T + arrays["expand_bias"])
    return np.asarray(code @ arrays["output_weights"].T + arrays["output_bias"], dtype=np.float32)


def for_scoring(sizes: Sizes, arrays: Arrays) -> Arrays:
    """The weights that scoring needs: of a variational network without those of the variance."""
    if not sizes.variational:
        return dict(arrays)
    found, kept = dict(arrays), sizes.latent
    if sizes.hidden:
        found["code_weights"], found["code_bias"] = arrays["code_weights"][:kept], arrays["code_bias"][:kept]
    else:
        found["input_weights"] = np.ascontiguousarray(arrays["input_weights"][:, :kept])
        found["input_bias"] = arrays["input_bias"][:kept]
    return found
