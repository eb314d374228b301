"""Grouping records that have missing cells, so that a published mean always stands for at least k records.

Records with the same pattern of missing cells are grouped among themselves. Patterns that fewer than k records share
are pooled; for distances a missing cell then counts as the attribute's mean. A missing cell is published as it was. A
present cell is suppressed where its group does not have k of them, or, when missing is a state of its own, where any
member of its group lacks it: otherwise the mean would stand for fewer than k people, or the pattern would single
someone out.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from microveil.masking.microaggregation.aggregators import group_counts
from microveil.masking.partition import Partition

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


def blocks_by_pattern(states: npt.NDArray[np.uint8], k: int, apart: BoolArray | None = None) -> list[IntArray]:
    """Divide records by their pattern of missing states into blocks of at least k records.

    Where missing is no wildcard (`apart`, for each attribute), a released missing cell tells records apart; rare
    patterns are then pooled with others that have the same states there, as long as these make k records.
    """
    if not states.any():
        return [np.arange(len(states))]
    if apart is None or not apart.any() or apart.all():
        return _blocks(states, k)
    return [rows[block] for rows in _blocks(states[:, apart], k) for block in _blocks(states[rows], k)]


def _blocks(states: npt.NDArray[np.uint8], k: int) -> list[IntArray]:
    _, pattern = np.unique(states, axis=0, return_inverse=True)
    by_pattern = Partition.of(pattern.reshape(-1)).groups
    blocks = [records for records in by_pattern if len(records) >= k]
    rare = [records for records in by_pattern if len(records) < k]
    if not rare:
        return blocks
    pool = np.sort(np.concatenate(rare))
    if len(pool) >= k or not blocks:
        return [*blocks, pool]
    largest = max(range(len(blocks)), key=lambda b: len(blocks[b]))
    blocks[largest] = np.sort(np.concatenate([blocks[largest], pool]))
    return blocks


def cells_to_suppress(present: BoolArray, partition: Partition, k: int, *, missing_matches: bool) -> BoolArray:
    """Which present cells of one attribute may not be published; `missing_matches`: a missing cell is a wildcard."""
    having = group_counts(present, partition)
    needed = k if missing_matches else partition.sizes[partition.labels]
    return present & (having < needed)
