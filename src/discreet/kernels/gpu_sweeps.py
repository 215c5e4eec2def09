"""A sweep of private ALS by torch: the sums of :mod:`discreet.kernels.own_fits`, bit by bit.

A block of users at a time: their Gram matrices are products of whole numbers in doubles, which are exact; Cholesky's
method takes all users of the block one column further with every step; what is said of items is then added up, on a
GPU by one kernel (:mod:`discreet.kernels.sweeps_triton`). Every product, root, quotient and difference is an operation
of its own, rounded as on the processor.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from discreet.extras import load_extra
from discreet.kernels.device import has_triton, root
from discreet.kernels.gpu_pairs import Columns, best_device, on_device
from discreet.kernels.gpu_rows import Block, blocks
from discreet.kernels.own_fits import LENGTH, MOST_OWN, OWN_UNIT, SHARE_UNIT, SweepQuestion
from discreet.kernels.statistics import LATTICE
from discreet.types import Doubles

BYTES = 1 << 31
"""Of the largest matrix of a block, of which there are a few; on a GPU with less memory fewer."""
MEMORY_SHARE = 24
"""It takes at most one part in so many of a GPU's memory."""
STRIP = 8
"""Rows of a triangle that are taken further at once, with all columns from the first of them on."""


def sweep_total(question: SweepQuestion, parts: Iterable[Columns], device: str | None = None) -> Doubles:
    """What users say of every listed item, added up over all parts, which may have a column of what is kept."""
    sweep = Sweep(question, best_device() if device is None else device)
    for columns in on_device(parts, sweep.device):
        sweep.add(*columns)
    return sweep.total()


class Sweep:
    """The sums so far."""

    def __init__(self, question: SweepQuestion, device: str) -> None:
        torch = load_extra("torch", "torch", "an engine of torch")
        self.question, self.device = question, device

        def there(array: Any) -> Any:
            return torch.tensor(array, device=device)

        fitted, plain = question.fitted.rows, question.plain.rows
        between = np.zeros((len(fitted), 1))  # where t comes to stand
        rows = np.concatenate([fitted, between, plain], axis=1)
        self._rows = there(np.concatenate([rows, np.zeros((1, rows.shape[1]))]))  # the last for no item
        self._centre, self._roots, self._base = there(question.centre), there(question.roots), there(question.base)
        self._position, self._weights = there(question.position).long(), there(question.weights)
        self._scales = there(question.square_scales)
        self._lower = torch.tril_indices(question.factors + 1, question.factors + 1, device=device)
        self.d, self.f = fitted.shape[1], question.factors + 1
        cells = len(question.square_scales) + self.f
        self.sums = torch.zeros((len(question.weights), cells), dtype=torch.float64, device=device)
        self._bytes = BYTES
        self._fused = device.startswith("cuda") and has_triton()
        if device.startswith("cuda"):
            self._bytes = min(BYTES, torch.cuda.mem_get_info()[1] // MEMORY_SHARE)
        self.operations = 0
        """Of products of matrices and eliminations so far; a product and its addition count 2."""
        self.bytes_moved = 0
        """At least: every matrix is written and read once."""

    def total(self) -> Doubles:
        """The sums, out of the steps that :func:`discreet.kernels.statistics.add_bounded_statistics` counts."""
        found: Doubles = (self.sums / LATTICE).cpu().numpy()
        return found

    def add(self, indptr: Any, items: Any, values: Any, kept: Any = None) -> None:
        """Add users: where the ratings of each start, their items and values, and which of them are kept."""
        torch = load_extra("torch", "torch", "an engine of torch")
        if len(items) == 0:
            return
        items = items.long()
        place = self._position[items]
        kept = (place >= 0) if kept is None else (place >= 0) & kept
        wide, users = self._rows.shape[1], len(indptr) - 1
        values = values.double()
        # One more of each, for places past the last rating: no item, and nothing to say.
        of_fit = (values - self._centre[items]) * self._roots[items] * (1 / self.question.target_unit)
        most = 2.0**self.question.bits
        of_fit = torch.nan_to_num(torch.round(of_fit).clamp_(-most, most), nan=0.0)
        left = values - self._base[items]
        c = torch.where(kept, self._weights[place.clamp(min=0)], 0.0)
        more = (_longer(torch, items, len(self._rows) - 1), *(_longer(torch, x, 0) for x in (of_fit, left, c * c)))
        targets = torch.zeros(len(items) + 1, dtype=torch.float64, device=self.device)
        answers = torch.zeros((users + 1, self.sums.shape[1]), dtype=torch.float64, device=self.device)
        at_once = max(1, self._bytes // (8 * (self.d + 1) ** 2))
        for first in range(0, users, at_once):
            own = slice(first, min(first + at_once, users))
            grams = torch.zeros((own.stop - first, self.d + 1, self.d + 1), dtype=torch.float64, device=self.device)
            starts = indptr[first : own.stop + 1]
            taken = list(blocks(starts, self._bytes // (8 * wide), at_once, past=len(items)))
            for block in taken:
                self._gather(torch, block, more[0], more[1], grams)
            z, cells, known = self._fit(torch, grams.permute(1, 2, 0).contiguous()[: self.d])
            del grams
            of_squares, of_factors = _in_order(cells * cells), _in_order(z * z)
            weights = torch.zeros_like(of_squares)
            for block in taken:
                self._weigh(torch, block, more, (of_squares, of_factors, known), targets, weights)
            answers[own] = torch.cat([cells * weights, z]).T
        self._add_up(torch, indptr, place, kept, targets, answers)

    def _gather(self, torch: Any, block: Block, items: Any, of_fit: Any, grams: Any) -> None:
        """Σ (v, t)(v, t)ᵀ of every user of a block: exact, as these are whole numbers."""
        users, longest = block.places.shape
        if longest:
            rows = self._rows[items[block.places], : self.d + 1]
            rows[:, :, self.d] = of_fit[block.places]
            grams[block.rows] = torch.bmm(rows.transpose(1, 2), rows)
        self.operations += 2 * users * longest * (self.d + 1) ** 2
        self.bytes_moved += 16 * users * (longest + self.d + 1) * (self.d + 1)

    def _weigh(self, torch: Any, block: Block, columns: Any, own: Any, targets: Any, weights: Any) -> None:
        """Fill in what users of a block weigh, and w y of their ratings."""
        question, (items, _, left, squared), (of_squares, of_factors, known) = self.question, columns, own
        if block.places.shape[1] == 0:
            return
        rows = self._rows[items[block.places], self.d + 1 :]
        expected = torch.bmm(rows, known[:, block.rows].T[:, :, None])[:, :, 0] * (question.plain.unit * OWN_UNIT)
        y = torch.nan_to_num((left[block.places] - expected).clamp_(-question.clip, question.clip), nan=0.0)
        share = (y * y * of_factors[block.rows, None] + of_squares[block.rows, None]) * squared[block.places]
        largest = share.amax(dim=1)
        whole = torch.ceil(share / torch.where(largest > 0, largest, 1.0)[:, None] / SHARE_UNIT).sum(dim=1)
        length = root(largest * (whole * SHARE_UNIT))
        weight = torch.where(whole > 0, LENGTH / torch.where(whole > 0, length, 1.0), 0.0)
        weights[block.rows] = weight
        targets[block.places] = y * weight[:, None]
        self.operations += 2 * rows.numel()
        self.bytes_moved += 16 * rows.numel() + 100 * y.numel()

    def _fit(self, torch: Any, matrix: Any) -> tuple[Any, Any, Any]:
        """z, κ M and the other coefficients of users, which are the last dimension."""
        question, d, f = self.question, self.d, self.f
        penalty = question.whole_penalty
        for k in range(d):
            matrix[k, k] += penalty
        inverse = eliminated(torch, matrix, penalty / 2)
        found, right = torch.empty_like(inverse), matrix[:, d]
        for k in range(d - 1, -1, -1):
            found[k] = right[k] * inverse[k]
            right[:k] -= matrix[:k, k] * found[k]
        found = torch.round(found * question.own_scale)
        found = torch.nan_to_num(found, nan=0.0, posinf=0.0, neginf=0.0).clamp_(-MOST_OWN, MOST_OWN)
        first = d - f + 1
        turned = torch.zeros((f - 1, f - 1, matrix.shape[2]), dtype=torch.float64, device=self.device)
        for k in range(f - 1):
            turned[k, k] = 1.0
        for k in range(f - 1):
            turned[k] *= inverse[first + k]
            turned[k + 1 :] -= matrix[first + k, first + k + 1 : d, None] * turned[k]
        corner = torch.zeros((f - 1, f - 1, matrix.shape[2]), dtype=torch.float64, device=self.device)
        for row in turned:
            corner += row[:, None] * row
        z = torch.cat([torch.full_like(found[:1], question.constant), found[first:] * OWN_UNIT])
        upper, lower = self._lower
        cells, inner = z[upper] * z[lower], lower > 0
        unknown = corner[upper[inner] - 1, lower[inner] - 1] * penalty
        unknown = torch.nan_to_num(unknown, nan=0.0, posinf=0.0, neginf=0.0)
        cells[inner] = cells[inner] + unknown * question.covariance_weight
        self.operations += matrix.shape[2] * d**3 // 3
        self.bytes_moved += 32 * matrix.shape[2] * d**3 // 3
        return z, cells * self._scales[:, None], found[:first]

    def _add_up(self, torch: Any, indptr: Any, place: Any, kept: Any, targets: Any, answers: Any) -> None:
        """Add what is said of items; sums of whole numbers, exact in any order."""
        users = torch.repeat_interleave(
            torch.arange(len(indptr) - 1, device=self.device), indptr[1:] - indptr[:-1], output_size=len(place)
        )
        here = torch.nonzero(kept)[:, 0]
        packed, scales = len(self._scales), self._weights * LATTICE
        self.operations += 3 * len(here) * self.sums.shape[1]
        self.bytes_moved += 8 * len(here) * self.sums.shape[1]
        if self._fused:
            from discreet.kernels.sweeps_triton import add_said_of_items

            place, order = torch.sort(place[here].to(torch.int32))
            here = here[order]
            starts = torch.searchsorted(place, torch.arange(len(self.sums) + 1, device=self.device, dtype=torch.int32))
            add_said_of_items(self.sums, starts, users[here], targets[here], answers, scales, packed)
            return
        for own in torch.split(here, max(1, self._bytes // (8 * self.sums.shape[1]))):
            said, scale = answers[users[own]], scales[place[own], None]
            said[:, :packed] *= scale
            said[:, packed:] *= targets[own, None] * scale
            self.sums.index_add_(0, place[own], said.trunc_())


def eliminated(torch: Any, matrix: Any, least: float) -> Any:
    """:func:`discreet.kernels.own_fits.eliminate` for all users, who are the last dimension; 1/√ of every pivot."""
    d = len(matrix)
    inverse = torch.empty_like(matrix[:, 0])
    for k in range(d):
        pivot = matrix[k, k]
        inverse[k] = 1 / root(torch.where(pivot > least, pivot, least))
        matrix[k, k + 1 :] *= inverse[k]
        for top in range(k + 1, d, STRIP):
            own = matrix[k, top:]
            matrix[top : min(top + STRIP, d), top:] -= own[: min(STRIP, d - top), None] * own
    return inverse


def _longer(torch: Any, column: Any, value: Any) -> Any:
    return torch.cat([column, torch.full_like(column[:1], value)])


def _in_order(terms: Any) -> Any:
    """The sum over the first dimension, one after the other."""
    total = terms[0] * 0 if len(terms) else terms.sum(dim=0)
    for term in terms:
        total = total + term
    return total
