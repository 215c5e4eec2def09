"""The gradient of an autoencoder as a bounded sum over users: what noisy training asks for in each step.

With g_u the gradient of user u's loss over all weights together (:mod:`~discreet.kernels.autoencoder`), a user with
ratings adds to a step

    ( a · g_u min(1/C, 1/‖g_u‖),   b if ‖g_u‖ ≤ C and −b otherwise ),     a² + b² = 1

where C is the clip of this step. A user without ratings adds nothing. The last cell says which share of the users was
not clipped, so that the next C can be chosen by it; with a clip that stays, b is 0 and there is no such cell.

**Sensitivity.** One user, present or absent: 1. One rating, present or absent or of another value; or one user replaced
by another: 2. Times 1 + the rounding of :func:`~discreet.kernels.clipped_gradients.rounding_of` in single precision.

*Proof.* Weights and C are public or were released before. What is drawn at random for a user (which items are left out,
the noise of the code) is a function of the user's own tag and items and of the step, so g_u is a function of u's tag
and ratings. The first part is a vector of length at most a, the second one of length b: together at most 1. A user who
comes or goes moves the sum by one such vector, any other neighbour replaces one by another. ∎

*Rounding.* ‖g_u‖ = (Σ_layers ‖δ‖² (‖a‖² + 1))^½ is made of the same numbers as the sum and rounded up. A block of rows
always has the same shape, and where rows do not come out the same wherever they stand
(:func:`~discreet.kernels.clipped_gradients.rows_stand_alone`) everything is computed in double precision. Steps over
more users than were planned for are added up in double precision: single precision is proven for so many alone. What
neighbours differ in by the rounding of doubles is far within ``FLOAT_MARGIN`` of the populations.

**Sampled users.** Everything of u's is in one vector, so a step over a sample of users is what
:mod:`discreet.populations.steps` proves cheaper, for users who are present or absent.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from discreet.data.ratings import Ratings
from discreet.kernels.autoencoder import Arrays, Sizes, best_device, load_torch
from discreet.kernels.clipped_gradients import (
    GPU_BLOCK,
    Precision,
    Rows,
    add_clipped_rows,
    clipped_sum,
    rounding_of,
    rows_stand_alone,
)
from discreet.kernels.gpu_gradients import block_for, flat_sums
from discreet.populations.bounded import tags_of
from discreet.populations.contribution import Contribution
from discreet.populations.steps import Steps
from discreet.privacy import bounding
from discreet.privacy.unit import Bound
from discreet.types import AnyArray, Doubles

MOST_ROUNDING = 0.05
"""With more than this, single precision would cost more noise than double precision costs time."""


@dataclass(frozen=True, eq=False)
class NetworkGradient:
    """What is asked for in each step.

    Parameters
    ----------
    sizes
        Of the network.
    steps, sampling_rate
        How many steps, each over which share of the users.
    users
        About how many users are in a step at most. Public.
    dropout, beta
        Share of the inputs that is left out, and weight of the KL term.
    counted
        b above.
    fixed
        Names of weights that are not learned.
    """

    sizes: Sizes
    steps: int
    sampling_rate: float = 1.0
    users: int = 0
    dropout: float = 0.0
    beta: float = 0.0
    counted: float = 0.0
    fixed: tuple[str, ...] = ()

    @property
    def learned(self) -> dict[str, tuple[int, ...]]:
        """The weights that are learned, by name."""
        return {name: shape for name, shape in self.sizes.shapes.items() if name not in self.fixed}

    @property
    def parameters(self) -> int:
        """How many numbers are learned."""
        return sum(int(np.prod(shape)) for shape in self.learned.values())

    @cached_property
    def precision(self) -> Precision:
        """Double unless rows stand alone; of the sum single where that costs little noise."""
        if not _stand_alone(self.sizes, self.block):
            return "double"
        little = self.users > 0 and rounding_of(self.users) <= MOST_ROUNDING and best_device() == "cpu"
        return "single" if little else "mixed"

    @property
    def block(self) -> int:
        """How many rows a GPU takes at once: of about so many users as a step has, which is public."""
        return block_for(self.users) if self.users else GPU_BLOCK

    @property
    def stays_on_device(self) -> bool:
        """Whether sums are made on a GPU, and could be answered there."""
        return best_device() != "cpu" and self.precision != "double"

    @property
    def asked(self) -> Steps:
        """All steps together, for a population."""
        bound = 1 + (rounding_of(self.users) if self.precision == "single" else 0.0)
        bounds = Bound("user", "l2", bound, replace=2 * bound), Bound("rating", "l2", 2 * bound, replace=2 * bound)
        shape = (self.parameters + (1 if self.counted else 0),)
        name = "gradients of an autoencoder"
        return Steps(name=name, shape=shape, bounds=bounds, count=self.steps, sampling_rate=self.sampling_rate)

    def contribution(self, weights: Arrays, clip: float, step: int) -> Contribution:
        """The question of one step, at these weights."""
        asked = self.asked
        scale = (1 - self.counted**2) ** 0.5

        def total(ratings: Ratings) -> Doubles:
            flat = np.zeros(asked.shape)
            lengths = np.diff(ratings.indptr)
            if not lengths.any():
                return flat
            torch, device = load_torch(), best_device()
            known = {name: torch.as_tensor(np.array(array), device=device) for name, array in weights.items()}
            rows = self._rows(ratings, step)
            too_many = self.precision == "single" and ratings.n_users > self.users
            sums, within = clipped_sum(
                self.sizes,
                known,
                rows,
                clip,
                beta=self.beta,
                precision="mixed" if too_many else self.precision,
                fixed=self.fixed,
                block=self.block,
            )
            first = 0
            for name in self.learned:
                found = sums[name].cpu().numpy().ravel()
                np.multiply(found, scale, out=flat[first : first + len(found)])
                first += len(found)
            if self.counted:
                flat[-1] = self.counted * (2 * within - np.count_nonzero(lengths))
            return flat

        def on_device(ratings: Ratings) -> Any:
            torch, device = load_torch(), best_device()
            flat, sums = flat_sums(self.sizes, self.fixed, device, extra=1 if self.counted else 0)
            lengths = np.diff(ratings.indptr)
            known = {name: torch.as_tensor(array, device=device) for name, array in weights.items()}
            rows = self._rows(ratings, step)
            within = add_clipped_rows(
                self.sizes, known, rows, clip, sums, beta=self.beta, scale=scale, block=self.block
            )
            if self.counted:
                flat[-1] = self.counted * (2 * within - int(np.count_nonzero(lengths)))
            return flat

        return asked.contribution(total, on_device if self.stays_on_device else None)

    def _rows(self, ratings: Ratings, step: int) -> Rows:
        lengths = np.diff(ratings.indptr)
        inputs = np.repeat(1 / np.sqrt(np.maximum(lengths, 1)), lengths)
        targets = np.repeat(1 / np.maximum(lengths, 1), lengths)
        tags = np.asarray(tags_of(ratings)).astype(np.uint64)
        if self.dropout:
            places = np.repeat(tags, lengths) ^ mixed(ratings.item_index.astype(np.uint64))
            inputs = inputs * (uniform(places, step, 0) >= self.dropout) / (1 - self.dropout)
        noise = normal(tags, step, self.sizes.latent) if self.sizes.variational else None
        return Rows(ratings.indptr, ratings.item_index, inputs, targets, noise)


@lru_cache(maxsize=64)
def _stand_alone(sizes: Sizes, block: int) -> bool:
    torch, device = load_torch(), best_device()
    weights = {name: torch.tensor(array, device=device) for name, array in sizes.start(0).items()}
    return rows_stand_alone(sizes, weights, block)


# ── Chance that belongs to one user and one step. It hides nothing: it only has to be the user's own. ──


def mixed(words: AnyArray) -> AnyArray:
    """Well mixed 64-bit words, of these (splitmix64)."""
    with np.errstate(over="ignore"):
        return bounding.mixed(words + np.uint64(0x9E3779B97F4A7C15))


def uniform(places: AnyArray, step: int, number: int) -> Doubles:
    """A number in [0, 1) for every place, another one for every step and number."""
    words = mixed(mixed(places) ^ mixed(np.array([step * 4096 + number], dtype=np.uint64)))
    return np.asarray((words >> np.uint64(11)) * 2.0**-53)


def normal(tags: AnyArray, step: int, count: int) -> Doubles:
    """Standard normal numbers, ``count`` for every tag."""
    radius = [np.sqrt(-2 * np.log1p(-uniform(tags, step, 1 + 2 * number))) for number in range(count)]
    angle = [2 * np.pi * uniform(tags, step, 2 + 2 * number) for number in range(count)]
    return np.stack([length * np.cos(turn) for length, turn in zip(radius, angle, strict=True)], axis=1)
