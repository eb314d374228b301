"""A small random generator for kernels whose work is cut into slices: its whole state is one number."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from microveil.numerics.core.compiled import kernel

StateArray = npt.NDArray[np.uint64]


@kernel
def _next(state: StateArray) -> np.uint64:
    """The next 64 random bits (splitmix64)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    bits = state[0]
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.uint64(bits ^ (bits >> np.uint64(31)))


@kernel
def fraction(state: StateArray) -> float:
    """A number in [0, 1)."""
    return float(_next(state) >> np.uint64(11)) * 2.0**-53


@kernel
def whole(state: StateArray, below: int) -> int:
    """A whole number from 0 to `below` - 1."""
    return int(fraction(state) * below)
