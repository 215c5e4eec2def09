"""A sweep of ALS without privacy by torch: users' own factors, and what they say of every item.

The sums of :func:`discreet.kernels.statistics.normal_equation_sums`, up to rounding: batches of Gram matrices are
products of matrices, batches of small systems are solved by Cholesky's method.
"""

from collections.abc import Iterable
from typing import Any

from discreet.extras import load_extra
from discreet.kernels.gpu_pairs import Columns, best_device, on_device
from discreet.kernels.gpu_rows import blocks
from discreet.types import Doubles, Floats

BYTES = 1 << 31
"""Of the largest matrix of a block; on a GPU with less memory fewer."""
MEMORY_SHARE = 24
"""It takes at most one part in so many of a GPU's memory."""
USERS = 1 << 17
"""Users that are copied at once."""


def als_sums(
    parts: Iterable[Columns], design: Floats, offsets: Floats, penalties: Floats, faint: float, mean: float,
    biased: bool, device: str | None = None,
) -> Doubles:  # fmt: skip
    """One row for each item: the packed triangle of Σ z zᵀ, Σ t z and how many users there were.

    Parameters
    ----------
    parts
        Where the ratings of every user start, their items and values.
    design, offsets
        Rows of the items, and what is taken off their ratings, in users' own fits.
    penalties, faint
        The part of the ridge penalty that grows with the number of ratings, and that which does not.
    mean, biased
        What is taken off a rating in t; and whether the last coefficient is the user's bias, taken off too.
    """
    sweep = _Sweep(design, offsets, penalties, faint, mean, biased, best_device() if device is None else device)
    for columns in on_device(parts, sweep.device, USERS):
        sweep.add(*columns)
    return sweep.total()


class _Sweep:
    def __init__(
        self, design: Floats, offsets: Floats, penalties: Floats, faint: float, mean: float, biased: bool, device: str
    ) -> None:
        torch = load_extra("torch", "torch", "an engine of torch")
        self.device, self.mean, self.biased, self.d = device, mean, biased, design.shape[1]

        def there(array: Any) -> Any:
            return torch.tensor(array, device=device)

        nothing = torch.zeros((1, self.d), device=device)
        self._design = torch.cat([there(design), nothing])
        self._offsets, self._penalties = torch.cat([there(offsets), nothing[0, :1]]), there(penalties)
        self._faint = faint * torch.eye(self.d, device=device)
        self.sums = torch.zeros((len(design), self.d, self.d + 1), dtype=torch.float64, device=device)
        self.counts = torch.zeros(len(design), dtype=torch.float64, device=device)
        self._bytes = BYTES
        if device.startswith("cuda"):
            self._bytes = min(BYTES, torch.cuda.mem_get_info()[1] // MEMORY_SHARE)

    def total(self) -> Doubles:
        torch = load_extra("torch", "torch", "an engine of torch")
        rows, columns = torch.tril_indices(self.d, self.d, device=self.device)
        found: Doubles = (
            torch.cat([self.sums[:, rows, columns], self.sums[:, :, self.d], self.counts[:, None]], dim=1).cpu().numpy()
        )
        return found

    def add(self, indptr: Any, items: Any, values: Any) -> None:
        torch = load_extra("torch", "torch", "an engine of torch")
        if len(items) == 0:
            return
        lengths = indptr[1:] - indptr[:-1]
        items = torch.cat([items.long(), torch.full((1,), len(self._design) - 1, device=self.device)])
        values = torch.cat([values, torch.zeros(1, device=self.device)])
        targets = values - self._offsets[items]
        targets[-1] = 0
        own = torch.zeros((len(lengths) + 1, self.d), device=self.device)
        cells, past = self._bytes // (4 * (self.d + 1)), len(items) - 1
        for block in blocks(indptr, cells, max(1, cells // self.d), past=past):
            if block.places.shape[1] == 0:
                continue
            rows = self._design[items[block.places]]
            grams = torch.bmm(rows.mT, rows) + self._faint
            grams += torch.diag(self._penalties) * lengths[block.rows, None, None]
            factor, _ = torch.linalg.cholesky_ex(grams)
            own[block.rows] = torch.cholesky_solve(rows.mT @ targets[block.places][:, :, None], factor)[:, :, 0]
        users = torch.arange(len(lengths), device=self.device)
        users = torch.repeat_interleave(users, lengths, output_size=past)
        left = values[:past] - self.mean
        if self.biased:
            left = left - own[users, -1]
            own[:-1, -1] = 1
        place, order = torch.sort(items[:past].to(torch.int32))
        every = torch.arange(len(self.counts) + 1, device=self.device, dtype=torch.int32)
        starts = torch.searchsorted(place, every)
        of_item = starts[1:] - starts[:-1]
        users = torch.cat([users[order], torch.full((1,), len(own) - 1, device=self.device)])
        left = torch.cat([left[order], left[:1] * 0])
        for block in blocks(starts, cells, max(1, cells // self.d), past=past):
            if block.places.shape[1] == 0:
                continue
            z = own[users[block.places]]
            both = torch.cat([z, left[block.places][:, :, None]], dim=2)
            self.sums[block.rows] += torch.bmm(z.mT, both)
        self.counts += of_item
