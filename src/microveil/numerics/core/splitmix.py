"""The finishing steps of splitmix64, which random numbers of kernels and hashes of contents share."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

Bits = TypeVar("Bits", np.uint64, npt.NDArray[np.uint64])

INCREMENT = np.uint64(0x9E3779B97F4A7C15)


def finished(bits: Bits) -> Bits:
    """Bits of which each depends on all of those given; for one number, or for a whole column at once."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
