"""The paper's network, with every user's gradient at hand: how long it is, and sums of them with weights.

x is a user's row, 1 where an item was rated, x̂ = x/‖x‖, n how many there are, K latent dimensions, h hidden units:

    a = tanh(x̂ A + α)      (m, ℓ) = a B + β      z = m + e^{ℓ/2} e,  e ~ N(0, I)      c = tanh(z C + γ)      y = c D + δ
    loss = −Σ_i x_i log softmax(y)_i + weight · ½ Σ_j [log v_j − ℓ_j + (e^{ℓ_j} + (m_j − p_j)²)/v_j − 1]

with N(p, v) the user's prior. The autoencoder has no ℓ, no e and no divergence. A layer's gradient for one user is the
outer product of its input and of the gradient at its output, so its length is the product of two lengths; nothing of
the size of users times parameters is ever held.

Sizes recovered from the paper's numbers of parameters, h(2I + 3K + 2) + 2K + I: 275,802 with h 80, K 20 and 1,682
items; 5,384,804 with h 100, K 30 and 26,744; 3,587,070 with h 100, K 50 and 17,770.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.models.home.user_prior import UserPriors
from discreet.types import AnyArray, Doubles, Floats

LAYERS = ("encoder_in", "encoder_out", "decoder_in", "decoder_out")


@dataclass(frozen=True)
class Network:
    """Sizes; ``variational`` for the paper's, else the plain autoencoder.

    >>> [Network(items, hidden, latent).count for items, hidden, latent in
    ...  ((1682, 80, 20), (26744, 100, 30), (17770, 100, 50))]
    [275802, 5384804, 3587070]
    """

    items: int
    hidden: int = 80
    latent: int = 20
    variational: bool = True

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of every array, in order: weights, and the constants of the same layer."""
        codes = self.latent * (2 if self.variational else 1)
        sizes = [(self.items, self.hidden), (self.hidden, codes), (self.latent, self.hidden), (self.hidden, self.items)]
        shapes: dict[str, tuple[int, ...]] = {}
        for name, (rows, columns) in zip(LAYERS, sizes, strict=True):
            shapes |= {name: (rows, columns), f"{name}_bias": (columns,)}
        return shapes

    @property
    def count(self) -> int:
        """How many parameters."""
        return int(sum(np.prod(shape) for shape in self.shapes.values()))

    def views(self, flat: AnyArray) -> dict[str, AnyArray]:
        """The arrays in one vector of all parameters, without a copy."""
        found, start = {}, 0
        for name, shape in self.shapes.items():
            size = int(np.prod(shape))
            found[name] = flat[start : start + size].reshape(shape)
            start += size
        return found

    def start(self, seed: int) -> Floats:
        """Weights after Glorot, constants 0."""
        flat = np.zeros(self.count, dtype=np.float32)
        rng = np.random.default_rng(seed)
        for name, array in self.views(flat).items():
            if array.ndim == 2:
                array[...] = rng.normal(0, np.sqrt(2 / sum(self.shapes[name])), array.shape)
        return flat

    # ── One batch ──

    def encode(self, weights: dict[str, AnyArray], inputs: AnyArray) -> tuple[AnyArray, AnyArray]:
        """a, and what it becomes: (m, ℓ), or the code of an autoencoder."""
        first = np.tanh(inputs @ weights["encoder_in"] + weights["encoder_in_bias"])
        return first, first @ weights["encoder_out"] + weights["encoder_out_bias"]

    def decode(self, weights: dict[str, AnyArray], codes: AnyArray) -> tuple[AnyArray, AnyArray]:
        """c and y."""
        third = np.tanh(codes @ weights["decoder_in"] + weights["decoder_in_bias"])
        return third, third @ weights["decoder_out"] + weights["decoder_out_bias"]

    def gradients(
        self,
        weights: dict[str, AnyArray],
        rows: AnyArray,
        noise: AnyArray,
        priors: UserPriors,
        divergence: float,
    ) -> "Gradients":
        """Of the loss of each user; ``noise`` is e, and ``divergence`` the weight of the second term."""
        length = np.maximum(np.sqrt(rows.sum(axis=1, keepdims=True)), 1)
        inputs = rows / length
        first, codes = self.encode(weights, inputs)
        if self.variational:
            middle, log_variance = codes[:, : self.latent], np.clip(codes[:, self.latent :], -20, 20)
            spread = np.exp(log_variance / 2)
            code = middle + spread * noise
        else:
            code = codes
        third, scores = self.decode(weights, code)
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        last = rows.sum(axis=1, keepdims=True) * (scores / scores.sum(axis=1, keepdims=True)) - rows
        third_slope = (last @ weights["decoder_out"].T) * (1 - third**2)
        at_code = third_slope @ weights["decoder_in"].T
        if self.variational:
            to_middle = at_code + divergence * (middle - priors.means) / priors.variances
            to_log = at_code * noise * spread / 2 + divergence / 2 * (spread**2 / priors.variances - 1)
            at_code = np.concatenate([to_middle, to_log], axis=1)
        first_slope = (at_code @ weights["encoder_out"].T) * (1 - first**2)
        layers = (inputs, first_slope), (first, at_code), (code, third_slope), (third, last)
        return Gradients(self, layers)


@dataclass(frozen=True, eq=False)
class Gradients:
    """Of several users: for each layer its input, and the gradient at its output."""

    network: Network
    layers: tuple[tuple[AnyArray, AnyArray], ...]

    @cached_property
    def norms(self) -> Doubles:
        """‖g_k‖ over all parameters together."""
        squares = [
            (_squares(inputs) + 1) * _squares(slopes)  # the 1 is the constant's input
            for inputs, slopes in self.layers
        ]
        return np.asarray(np.sqrt(np.sum(squares, axis=0)))

    @cached_property
    def sums(self) -> Doubles:
        """|g_k|₁, the sum of absolute values."""
        parts = [(_absolute(inputs) + 1) * _absolute(slopes) for inputs, slopes in self.layers]
        return np.asarray(np.sum(parts, axis=0))

    def total(self, weights: AnyArray, out: AnyArray) -> None:
        """Σ_k w_k g_k, written into a vector of all parameters."""
        scale, changes = np.asarray(weights, dtype=out.dtype)[:, None], self.network.views(out)
        for name, (inputs, slopes) in zip(LAYERS, self.layers, strict=True):
            scaled = scale * slopes
            np.matmul(inputs.T, scaled, out=changes[name])
            changes[f"{name}_bias"][...] = scaled.sum(axis=0)


def _squares(rows: AnyArray) -> Doubles:
    return np.asarray(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))


def _absolute(rows: AnyArray) -> Doubles:
    return np.asarray(np.abs(rows).sum(axis=1, dtype=np.float64))
