"""How well everyone's own ratings foresee each other, by ridge regressions with several penalties.

For a user with rows v_i and targets t_i, and for each penalty P (a diagonal), with A = Σ_i v_i v_iᵀ + P and a its
solution for Σ_i t_i v_i, the error at rating i of the fit to all the others is known without fitting anew:

    e_i  =  (t_i − v_iᵀ a) / (1 − v_iᵀ A⁻¹ v_i)  +  t_i h_i / (1 − h_i)

The second part leaves the rating out of its item's expectation, too: h_i is how far that follows a single rating.

Sums are in one order and no product is fused, so a user's errors are the same to the last bit wherever they are made:
torch takes all users one rating, and one column, further at a time.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from discreet.kernels.compiling import njit, prange
from discreet.kernels.device import has_triton
from discreet.kernels.gpu_pairs import Columns, best_device, load_torch, on_device
from discreet.kernels.gpu_sweeps import eliminated
from discreet.kernels.own_fits import eliminate
from discreet.types import Booleans, Doubles, Floats, Indices, Offsets

LEAST_PIVOT = 1e-12
"""Of a matrix that only rounding made singular."""
GOLDEN = 0x9E3779B97F4A7C15
BYTES = 1 << 31
"""Of the matrices of users that torch takes at once."""
AHEAD = 64
"""Ratings of each user that torch gathers at once."""


@njit(cache=True)
def _one_in(items: Indices, count: int) -> bool:
    """Whether a user with these items is one in so many: by a hash of the items, whatever their order."""
    mixed = np.uint64(0)
    for item in items:
        own = np.uint64(item + 1) * np.uint64(GOLDEN)
        own ^= own >> np.uint64(29)
        mixed += own * own
    return bool((mixed >> np.uint64(32)) % np.uint64(count) == 0)


@njit(cache=True)
def one_user_in(indptr: Offsets, items: Indices, count: int) -> Booleans:
    """Which users are asked where one in so many is."""
    found = np.zeros(len(indptr) - 1, dtype=np.bool_)
    for u in range(len(found)):
        found[u] = _one_in(items[indptr[u] : indptr[u + 1]], count)
    return found


@njit(cache=True, parallel=True)
def left_out_errors(
    indptr: Offsets,
    items: Indices,
    values: Floats,
    base: Doubles,
    rows: Doubles,
    roots: Doubles,
    followed: Doubles,
    penalties: Doubles,
    most: int,
    one_in: int,
) -> Doubles:
    """For each user and each row of ``penalties`` the sum over ratings of e_i²/root_i², users by penalties.

    Rows are those of items times their roots; targets are values less the base, times the root;
    ``followed`` is h / (1 − h) of each item. Of users with more than
    ``most`` ratings so many at most are left out in turn, evenly spread, and count for all. One user in so many is
    asked; the others have zeros.

    >>> one = np.ones((1, 1))
    >>> data = np.array([0, 2], dtype=np.int64), np.zeros(2, dtype=np.int32), np.array([1, 3], dtype=np.float32)
    >>> left_out_errors(*data, 0 * one[0], one, one[0], 0 * one[0], one, 9, 1).round(9).tolist()  # 1 − 3/2 and 3 − 1/2
    [[6.5]]
    """
    users, d, count = len(indptr) - 1, rows.shape[1], len(penalties)
    found = np.zeros((users, count))
    for u in prange(users):
        first, last = indptr[u], indptr[u + 1]
        if first == last or (one_in > 1 and not _one_in(items[first:last], one_in)):
            continue
        left_out = np.arange(first, last, -(-(last - first) // most))
        gram, wide, inverse = np.zeros((d, d)), np.empty((d, d + 1 + len(left_out))), np.empty(d)
        moment = np.zeros(d)
        for at in range(first, last):
            i = items[at]
            row, target = rows[i], (np.float64(values[at]) - base[i]) * roots[i]
            for a in range(d):
                moment[a] += target * row[a]
                x, cells = row[a], gram[a]
                for b in range(a, d):
                    cells[b] += x * row[b]
        for g in range(count):
            for a in range(d):
                wide[a, a:d] = gram[a, a:]
                wide[a, a] += penalties[g, a]
                wide[a, d] = moment[a]
                for j in range(len(left_out)):
                    wide[a, d + 1 + j] = rows[items[left_out[j]], a]
            eliminate(wide, inverse, LEAST_PIVOT)
            expected, leverages = np.zeros(len(left_out)), np.zeros(len(left_out))
            for a in range(d):
                x, cells = wide[a, d], wide[a, d + 1 :]
                for j in range(len(left_out)):
                    expected[j] += x * cells[j]
                    leverages[j] += cells[j] * cells[j]
            total = 0.0
            for j in range(len(left_out)):
                at = left_out[j]
                i = items[at]
                target = (np.float64(values[at]) - base[i]) * roots[i]
                error = (target - expected[j]) / max(1 - leverages[j], LEAST_PIVOT)
                error = (error + target * followed[i]) / roots[i]
                total += error * error
            found[u, g] = total * (last - first) / len(left_out)
    return found


def left_out_errors_by_torch(
    parts: Iterable[Columns], base: Doubles, rows: Doubles, roots: Doubles, followed: Doubles, penalties: Doubles,
    most: int, one_in: int, device: str | None = None,
) -> Iterator[Doubles]:  # fmt: skip
    """The same errors of those who are asked, some users after others, in any order."""
    torch, device = load_torch(), best_device() if device is None else device
    arrays = base, rows, roots, followed, penalties
    base, rows, roots, followed, penalties = (torch.tensor(array, device=device) for array in arrays)
    asked: list[tuple[Any, Any, Any]] = []
    for indptr, items, values in on_device(parts, device):
        lengths, items = indptr[1:] - indptr[:-1], items.long()
        chosen = lengths > 0
        if one_in > 1:
            own = (items + 1) * (GOLDEN - 2**64)  # whole numbers of 64 bits overflow alike, whether they have a sign
            own ^= (own >> 29) & (2**35 - 1)
            sums = torch.nn.functional.pad(torch.cumsum(own * own, 0), (1, 0))
            chosen &= (((sums[indptr[1:]] - sums[indptr[:-1]]) >> 32) & (2**32 - 1)) % one_in == 0
        there = torch.repeat_interleave(chosen, lengths, output_size=len(items))
        asked.append((lengths[chosen], items[there], values[there]))
    lengths, items, values = (torch.cat(column) for column in zip(*asked, strict=True))
    starts = torch.cumsum(lengths, 0) - lengths
    lengths, order = torch.sort(lengths, descending=True, stable=True)
    starts, targets = starts[order], (values.double() - base[items]) * roots[items]
    wide = torch.cat([rows[items], targets[:, None]], dim=1)
    at_once = max(1, BYTES // (8 * rows.shape[1] * (rows.shape[1] + 1 + most)))
    for first in range(0, len(lengths), at_once):
        own = slice(first, first + at_once)
        gram = _grams(torch, wide, starts[own], lengths[own])
        step = -(-lengths[own] // most)
        along = torch.arange(most, device=device)[:, None] * step
        there = along < lengths[own]
        at = torch.where(there, starts[own] + along, 0)
        sides = torch.where(there, wide[at, :-1].permute(2, 0, 1), 0.0)
        about = sides, targets[at], roots[items[at]], followed[items[at]], there
        found = [_errors(torch, gram, penalty, *about) for penalty in penalties]
        errors: Doubles = (torch.stack(found, 1) * lengths[own, None] / there.sum(dim=0)[:, None]).cpu().numpy()
        yield errors


def _grams(torch: Any, wide: Any, starts: Any, lengths: Any) -> Any:
    """Σ v (v, t)ᵀ of every user, users last, the longest first: one rating after the other."""
    d = wide.shape[1] - 1
    if wide.is_cuda and has_triton():
        from discreet.kernels.sweeps_triton import ordered_grams

        return ordered_grams(wide, starts, lengths)
    found = torch.zeros((d, d + 1, len(starts)), dtype=wide.dtype, device=wide.device)
    ends = np.searchsorted(-lengths.cpu().numpy(), -np.arange(int(lengths[0])))
    for first in range(0, len(ends), AHEAD):
        along = torch.arange(first, min(first + AHEAD, len(ends)), device=wide.device)
        places = (starts[: ends[first]] + along[:, None]).clamp_(max=len(wide) - 1)
        for users, own in zip(ends[first:].tolist(), wide[places].transpose(1, 2), strict=False):
            own = own[:, :users]
            found[:, :, :users] += own[:d, None] * own
    return found


def _errors(
    torch: Any, gram: Any, penalty: Any, sides: Any, targets: Any, roots: Any, followed: Any, there: Any
) -> Any:
    """The sum of squares for one penalty, of every user."""
    matrix = torch.cat([gram, sides], dim=1)
    d = len(matrix)
    for k in range(d):
        matrix[k, k] += penalty[k]
    eliminated(torch, matrix, LEAST_PIVOT)
    expected, leverages = torch.zeros_like(targets), torch.zeros_like(targets)
    for own in matrix:
        expected += own[d] * own[d + 1 :]
        leverages += own[d + 1 :] * own[d + 1 :]
    errors = (targets - expected) / (1 - leverages).clamp_(min=LEAST_PIVOT)
    errors = (errors + targets * followed) / roots
    total = torch.zeros_like(errors[0])
    for square in torch.where(there, errors * errors, 0.0):
        total += square
    return total
