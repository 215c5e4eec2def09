"""Training the network of :mod:`~discreet.kernels.autoencoder` without privacy: Adam, annealing and early stopping."""

import copy
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.kernels.autoencoder import Arrays, Batch, Sizes, best_device, for_scoring, load_torch, run, scores_of
from discreet.types import AnyArray, Indices, Offsets

VALIDATION_RANKS = 100
HELD_OUT = 0.2
"""The share of a validation user's ratings that must be foreseen from the others."""


@dataclass(frozen=True, kw_only=True)
class Training:
    """How it is trained.

    Parameters
    ----------
    epochs, batch
        Passes over the users at most, and users a step.
    learning_rate
        Of Adam.
    beta, annealing
        Weight of the KL term, and over which share of the steps it grows to it from 0.
    dropout
        The share of the inputs that is left out at random.
    decay
        How strongly weights are pulled to 0 (L2, in the loss of a user).
    validation, patience
        Share of the users that nothing is learned from; and after how many epochs without a better NDCG@100 of theirs
        training stops. The best epoch is kept. 0 for neither.
    seed
        Of everything random.
    """

    epochs: int = 100
    batch: int = 100
    learning_rate: float = 1e-3
    beta: float = 0.2
    annealing: float = 0.2
    dropout: float = 0.5
    decay: float = 0.0
    validation: float = 0.0
    patience: int = 0
    seed: int = 0


def unit_rows(indptr: Offsets, size: int) -> NDArray[np.float64]:
    """Each rating's input where a row of n ones has length 1: 1/√n."""
    lengths = np.diff(indptr)
    return np.repeat(1 / np.sqrt(np.maximum(lengths, 1)), lengths)[:size]


def train(
    indptr: Offsets,
    items: Indices,
    sizes: Sizes,
    how: Training,
    progress: Callable[[int, int, str], None],
    *,
    start: Arrays | None = None,
    device: str | None = None,
) -> Arrays:
    """Learn from who rated what; ``start`` are weights to begin with."""
    torch = load_torch()
    device = best_device() if device is None else device
    rng = np.random.default_rng(how.seed)
    arrays = sizes.start(how.seed) if start is None else start
    weights = {name: torch.tensor(arrays[name], device=device) for name in sizes.shapes}
    adam = torch.optim.Adam(list(weights.values()), lr=how.learning_rate, fused=True)
    users = rng.permutation(len(indptr) - 1)
    held = users[: round(how.validation * len(users))] if how.patience else users[:0]
    users = users[len(held) :]
    judge = _Judge.of(sizes, indptr, items, held, rng) if len(held) else None
    best, best_score, waited, steps = None, -1.0, 0, 0
    annealed = how.annealing * how.epochs * -(-len(users) // how.batch)
    for epoch in range(how.epochs):
        order = rng.permutation(users)
        for first in range(0, len(order), how.batch):
            some = order[first : first + how.batch]
            steps += 1
            beta = how.beta * min(1.0, steps / annealed) if annealed > 0 else how.beta
            batch = _batch(indptr, items, some, how.dropout, rng, device)
            noise = rng.standard_normal((len(some), sizes.latent), dtype=np.float32) if sizes.variational else None
            drawn = None if noise is None else torch.as_tensor(noise, device=device)
            passed = run(sizes, weights, batch, beta=beta, noise=drawn)
            found = passed.gradients(torch.full((len(some),), 1 / len(some), device=device))
            for name, weight in weights.items():
                weight.grad = found[name] + how.decay * weight if how.decay else found[name]
            adam.step()
        progress(epoch + 1, how.epochs, "epochs")
        if judge is not None:
            score = judge.ndcg(_copied(weights))
            if score > best_score:
                best, best_score, waited = copy.deepcopy(_copied(weights)), score, 0
            else:
                waited += 1
                if waited >= how.patience:
                    break
    return _copied(weights) if best is None else best


def _batch(
    indptr: Offsets, items: Indices, users: AnyArray, dropout: float, rng: np.random.Generator, device: str
) -> Batch:
    own, rated = rows_of(indptr, items, users)
    inputs = unit_rows(own, len(rated))
    if dropout:
        inputs = inputs * (rng.random(len(rated)) >= dropout) / (1 - dropout)
    return Batch.of(own, rated, inputs, np.ones(len(rated)), device=device)


def rows_of(indptr: Offsets, items: Indices, users: AnyArray) -> tuple[Offsets, Indices]:
    """The rows of some users, one after the other."""
    lengths = np.diff(indptr)[users]
    own = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    places = np.arange(own[-1]) + np.repeat(indptr[:-1][users] - own[:-1], lengths)
    return own, items[places]


def _copied(weights: dict[str, object]) -> Arrays:
    return {name: weight.cpu().numpy().copy() for name, weight in weights.items()}  # type: ignore[attr-defined]


@dataclass(frozen=True, eq=False)
class _Judge:
    """Validation users: what is seen of them, and what must be foreseen."""

    sizes: Sizes
    indptr: Offsets
    seen: Indices
    user: AnyArray
    hidden: Indices

    @classmethod
    def of(cls, sizes: Sizes, indptr: Offsets, items: Indices, users: AnyArray, rng: np.random.Generator) -> "_Judge":
        own, rated = rows_of(indptr, items, users)
        user = np.repeat(np.arange(len(users)), np.diff(own))
        away = rng.random(len(rated)) < HELD_OUT
        lengths = np.bincount(user[~away], minlength=len(users))
        return cls(sizes, np.concatenate([[0], np.cumsum(lengths)]), rated[~away], user[away], rated[away])

    def ndcg(self, arrays: Arrays) -> float:
        """NDCG@100 over the users of whom something is hidden."""
        import scipy.sparse as sp

        users, size, kept = len(self.indptr) - 1, self.sizes.items, for_scoring(self.sizes, arrays)
        data = unit_rows(self.indptr, len(self.seen)).astype(np.float32)
        rows = sp.csr_array((data, self.seen, self.indptr), shape=(users, size))
        total, counted = 0.0, 0
        for first in range(0, users, 500):
            some = rows[first : first + 500]
            scores = scores_of(kept, some @ kept["input_weights"], variational=self.sizes.variational)
            scores[some.nonzero()] = -np.inf
            ranks = min(VALIDATION_RANKS, size)
            top = np.argpartition(-scores, ranks - 1, axis=1)[:, :ranks]
            top = np.take_along_axis(top, np.argsort(-np.take_along_axis(scores, top, 1), axis=1), 1)
            here = (self.user >= first) & (self.user < first + len(scores))
            hidden = np.zeros(scores.shape, dtype=np.bool_)
            hidden[self.user[here] - first, self.hidden[here]] = True
            discounts = 1 / np.log2(np.arange(2, ranks + 2))
            gains = np.take_along_axis(hidden, top, 1) @ discounts
            wanted = hidden.sum(axis=1)
            ideal = np.concatenate([[0], np.cumsum(discounts)])[np.minimum(wanted, ranks)]
            total += float((gains[wanted > 0] / ideal[wanted > 0]).sum())
            counted += int((wanted > 0).sum())
        return total / max(counted, 1)
