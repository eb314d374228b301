"""Grouping records that have missing cells, so that a published mean always stands for at least k records.

Records with the same pattern of missing cells are grouped among themselves. Patterns that fewer than k records share
are pooled; for distances a missing cell then counts as the attribute's mean. A missing cell is published as it was. A
present cell is suppressed where its group does not have k of them: otherwise the mean would stand for fewer than k
people. Where missing is a state of its own, a group whose members are not all present, or all missing for the same
reason, is emptied on that attribute, missing codes included: otherwise a value or a code would single someone out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from microveil.masking.microaggregation.aggregators import group_counts
from microveil.masking.notes import CELLS_SUPPRESSED, Note
from microveil.masking.partition import Partition
from microveil.microdata.microdata import PRESENT, SYSTEM_MISSING
from microveil.numerics.grouping.groups import pooled
from microveil.typing import BoolArray, IntArray


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
    return pooled(Partition.of(pattern.reshape(-1)).groups, k)


def cells_to_suppress(present: BoolArray, partition: Partition, k: int, *, missing_matches: bool) -> BoolArray:
    """Which present cells of one attribute may not be published; `missing_matches`: a missing cell is a wildcard."""
    having = group_counts(present, partition)
    needed = k if missing_matches else partition.sizes[partition.labels]
    return present & (having < needed)


def cells_to_empty(states: npt.NDArray[np.uint8], partition: Partition, k: int, *, missing_matches: bool) -> BoolArray:
    """Which cells of one attribute, values and missing codes, may not be published, by their missing states.

    Where a missing cell is a wildcard its code gives nothing away and stays.

    >>> states, one_group = np.array([0, 0, 2, 1], dtype=np.uint8), Partition.of(np.zeros(4, dtype=np.int64))
    >>> cells_to_empty(states, one_group, 2, missing_matches=True).tolist()
    [False, False, False, False]
    >>> cells_to_empty(states, one_group, 2, missing_matches=False).tolist()
    [True, True, True, False]
    """
    if missing_matches:
        return cells_to_suppress(states == PRESENT, partition, k, missing_matches=True)
    labels = partition.labels
    of_one = np.empty(len(partition), dtype=states.dtype)
    of_one[labels] = states
    mixed = np.bincount(labels, weights=states != of_one[labels]) > 0
    return np.asarray(mixed[labels] & (states != SYSTEM_MISSING))


@dataclass(frozen=True)
class Emptied:
    """How many cells were emptied because of missing values, and how many of them held a missing code."""

    cells: int = 0
    codes: int = 0

    def and_of(self, emptied: BoolArray, states: npt.NDArray[np.uint8]) -> Emptied:
        return Emptied(self.cells + int(emptied.sum()), self.codes + int((emptied & (states != PRESENT)).sum()))

    @property
    def notes(self) -> tuple[Note, ...]:
        return (CELLS_SUPPRESSED(cells=self.cells, codes=self.codes),) if self.cells else ()
