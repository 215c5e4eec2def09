"""Noisy sums that stay on a GPU: neither the sum nor its noise is copied to the processor and back.

The law is that of :meth:`~discreet.populations.calibration.CalibratedNoise.add_noise`: the total is rounded to the
lattice and the same integers of the same key are added, so it is post-processing alone that goes on elsewhere.
"""

import sys
from typing import Any

import numpy as np

from discreet.data.ratings import Ratings
from discreet.kernels.device import all_finite, as_tensor, has_cuda
from discreet.populations.calibration import CalibratedNoise
from discreet.populations.contribution import Contribution
from discreet.populations.guarded import finite_total, or_say
from discreet.populations.population import InParts
from discreet.privacy.randomness import Randomness


def has_gpu() -> bool:
    """Whether torch is in use already and sees a GPU: nobody who does not use it waits for it."""
    return "torch" in sys.modules and has_cuda()


def noisy_on_device(
    contribution: Contribution, ratings: InParts | None, noise: CalibratedNoise, randomness: Randomness,
    device: str = "cuda",
) -> Any:  # fmt: skip
    """The noisy total of a contribution as a tensor of doubles on a device."""
    assert contribution.on_device is not None
    begun = noise.begin_on_device(int(np.prod(contribution.shape)), randomness, device)
    said = f"{contribution.name!r} could not be computed, and what was booked for it stays spent"
    total = or_say(said, contribution.on_device)(ratings) if isinstance(ratings, Ratings) else None
    if total is None or not all_finite(total):  # nobody; or as on the processor, cell by cell and user by user
        total = as_tensor(finite_total(contribution, ratings), device)
    return begun.add_to(total)
