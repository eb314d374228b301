"""Dividing records by which of their cells are missing.

Records with the same pattern of missing cells are grouped among themselves. Patterns that fewer than k records share
are pooled; for distances a missing cell then counts as the attribute's mean.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from microveil.masking.partition import Partition
from microveil.numerics.grouping.groups import pooled
from microveil.typing import BoolArray, IntArray


def rows_by_pattern(states: npt.NDArray[np.uint8], k: int, apart: BoolArray | None = None) -> list[IntArray]:
    """Divide records by their pattern of missing states into parts of at least k records.

    Where missing is no wildcard (`apart`, for each attribute), a released missing cell tells records apart; rare
    patterns are then pooled with others that have the same states there, as long as these make k records.
    """
    if not states.any():
        return [np.arange(len(states))]
    if apart is None or not apart.any() or apart.all():
        return _pooled_patterns(states, k)
    return [rows[part] for rows in _pooled_patterns(states[:, apart], k) for part in _pooled_patterns(states[rows], k)]


def _pooled_patterns(states: npt.NDArray[np.uint8], k: int) -> list[IntArray]:
    _, pattern = np.unique(states, axis=0, return_inverse=True)
    return pooled(Partition.of(pattern.reshape(-1)).groups, k)
