"""A small random generator for kernels whose work is cut into slices: its whole state is one number."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from microveil.numerics.core.compiled import kernel
from microveil.numerics.core.splitmix import INCREMENT, finished

StateArray = npt.NDArray[np.uint64]
_finished = kernel(finished)


@kernel
def _next(state: StateArray) -> np.uint64:
    """The next 64 random bits (splitmix64)."""
    state[0] += INCREMENT
    return np.uint64(_finished(state[0]))


@kernel
def fraction(state: StateArray) -> float:
    """A number in [0, 1)."""
    return float(_next(state) >> np.uint64(11)) * 2.0**-53


@kernel
def whole(state: StateArray, below: int) -> int:
    """A whole number from 0 to `below` - 1."""
    return int(fraction(state) * below)
