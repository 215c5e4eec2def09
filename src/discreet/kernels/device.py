"""The few questions that are asked of torch outside of the kernels."""

from importlib.util import find_spec
from typing import Any

import numpy as np

from discreet.extras import load_extra
from discreet.types import AnyArray


def has_cuda() -> bool:
    """Whether torch sees a GPU."""
    return bool(load_extra("torch", "torch", "a GPU").cuda.is_available())


def has_triton() -> bool:
    """Whether kernels for a GPU can be compiled."""
    return find_spec("triton") is not None


def all_finite(tensor: Any) -> bool:
    """Whether every number is finite; waits for the device."""
    return bool(load_extra("torch", "torch", "a GPU").isfinite(tensor).all())


def as_tensor(array: AnyArray, device: str) -> Any:
    """A copy of an array in double precision on a device."""
    return load_extra("torch", "torch", "a GPU").tensor(np.asarray(array, dtype=np.float64), device=device)


def root(tensor: Any) -> Any:
    """The square root of doubles, rounded correctly: torch itself may be a bit off on a processor.

    >>> import torch
    >>> float(root(torch.tensor([4.0])))
    2.0
    """
    if tensor.is_cuda:
        return tensor.sqrt()
    return load_extra("torch", "torch", "an engine of torch").from_numpy(np.sqrt(tensor.numpy()))
