# mypy: ignore-errors
# Functions that triton compiles have no types that Python knows, and triton is there only beside a GPU.
"""The last layer of an autoencoder on a GPU: loss, δ and its length in one pass over the logits.

    δ_ui  =  mass_u exp(logit_ui) / Σ_j exp(logit_uj)  −  target_ui

Otherwise every step of it (maximum, exponentials, sum, scaling, length, doubles) reads and writes users × items
numbers. One program has one user: what it computes does not depend on who stands beside.
"""

from typing import Any

import torch
import triton
import triton.language as tl

WIDE = 4096
TARGETS = 128


@triton.jit
def _last_layer(logits, offsets, items, targets, mass, losses, squares, doubles, size,
                EXACT: tl.constexpr, WIDE: tl.constexpr, TARGETS: tl.constexpr):  # fmt: skip
    user = tl.program_id(0).to(tl.int64)
    row = logits + user * size
    lane = tl.arange(0, WIDE)
    highest = tl.full([WIDE], float("-inf"), tl.float32)
    total = tl.zeros([WIDE], tl.float32)
    for first in range(0, size, WIDE):
        own = tl.load(row + first + lane, mask=first + lane < size, other=float("-inf"))
        higher = tl.maximum(highest, own)
        # −∞ minus −∞ has no value: lanes that saw nothing yet count 0.
        total = tl.where(highest == float("-inf"), 0.0, total * tl.exp(highest - higher))
        total += tl.where(own == float("-inf"), 0.0, tl.exp(own - higher))
        highest = higher
    top = tl.max(highest, axis=0)
    whole = tl.sum(tl.where(highest == float("-inf"), 0.0, total * tl.exp(highest - top)), axis=0)
    mine = tl.load(mass + user)
    start, stop = tl.load(offsets + user), tl.load(offsets + user + 1)
    few = tl.arange(0, TARGETS)
    loss = tl.zeros([TARGETS], tl.float32)
    for first in range(start, stop, TARGETS):
        there = first + few < stop
        item = tl.load(items + first + few, mask=there, other=0)
        wanted = tl.load(targets + first + few, mask=there, other=0.0)
        at = tl.load(row + item, mask=there, other=0.0)
        loss += wanted * ((top + tl.log(whole)) - at)
    tl.store(losses + user, tl.sum(loss, axis=0))
    tl.debug_barrier()
    scale = mine / whole
    length = tl.zeros([WIDE], tl.float64)
    for first in range(0, size, WIDE):
        there = first + lane < size
        own = tl.load(row + first + lane, mask=there, other=float("-inf"))
        found = tl.exp(own - top) * scale
        tl.store(row + first + lane, found, mask=there)
        if EXACT:
            exact = found.to(tl.float64)
            length += exact * exact
            tl.store(doubles + user * size + first + lane, exact, mask=there)
    tl.debug_barrier()
    change = tl.zeros([TARGETS], tl.float64)
    for first in range(start, stop, TARGETS):
        there = first + few < stop
        item = tl.load(items + first + few, mask=there, other=0)
        wanted = tl.load(targets + first + few, mask=there, other=0.0)
        at = tl.load(row + item, mask=there, other=0.0)
        rest = at - wanted
        tl.store(row + item, rest, mask=there)
        if EXACT:
            before, after = at.to(tl.float64), rest.to(tl.float64)
            change += after * after - before * before
            tl.store(doubles + user * size + item, after, mask=there)
    if EXACT:
        whole_length = tl.sum(length, axis=0)
        # Doubles err by less than 2⁻³⁷ of what was added up here, so that much is added: lengths are rounded up.
        tl.store(squares + user, whole_length + tl.sum(change, axis=0) + whole_length * 7.3e-12)


def last_layer(logits: Any, batch: Any, *, exact: bool) -> tuple[Any, Any, Any, Any]:
    """δ in the place of the logits and every user's loss; with ``exact`` also ‖δ‖² and δ in doubles."""
    users, size = logits.shape
    losses = torch.empty(users, dtype=logits.dtype, device=logits.device)
    squares = torch.empty(users, dtype=torch.float64, device=logits.device) if exact else losses
    doubles = torch.empty((users, size), dtype=torch.float64, device=logits.device) if exact else losses
    _last_layer[(users,)](
        logits, batch.offsets, batch.items, batch.targets, batch.mass, losses, squares, doubles, size,
        EXACT=exact, WIDE=WIDE, TARGETS=TARGETS, num_warps=8,
    )  # fmt: skip
    return logits, losses, *((squares, doubles) if exact else (None, None))
