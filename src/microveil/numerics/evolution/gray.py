"""Gray code: numbers that follow each other differ in one bit, so that one flipped bit can be a small step."""

from __future__ import annotations

import numpy as np

from microveil.typing import IntArray

_SHIFTS = (1, 2, 4, 8, 16, 32)


def gray(numbers: IntArray) -> IntArray:
    """The Gray code of whole numbers that are not negative.

    >>> gray(np.array([0, 1, 2, 3, 4])).tolist()
    [0, 1, 3, 2, 6]
    """
    return np.asarray(numbers ^ (numbers >> 1))


def from_gray(codes: IntArray) -> IntArray:
    """The numbers that have these Gray codes.

    >>> from_gray(np.array([0b111000, 0b101000])).tolist()
    [47, 48]
    """
    numbers = np.array(codes, copy=True)
    for shift in _SHIFTS:
        numbers ^= numbers >> shift
    return numbers
