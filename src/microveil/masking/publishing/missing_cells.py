"""Which cells a group may not publish because of missing values, so that a mean always stands for at least k records.

A missing cell is published as it was. A present cell is suppressed where its group does not have k of them: otherwise
the mean would stand for fewer than k people. Where missing is a state of its own, a group whose members are not all
present, or all missing for the same reason, is emptied on that attribute, missing codes included: otherwise a value or
a code would single someone out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from microveil.masking.notes import CELLS_SUPPRESSED, Note
from microveil.masking.partition import Partition
from microveil.microdata.microdata import PRESENT, SYSTEM_MISSING
from microveil.typing import BoolArray, IntArray


def group_counts(present: BoolArray, partition: Partition) -> IntArray:
    """For each record how many members of its group have the cell."""
    return np.bincount(partition.labels, weights=present)[partition.labels].astype(np.int64)


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

    @classmethod
    def of(cls, emptied: BoolArray, states: npt.NDArray[np.uint8]) -> Emptied:
        return cls(int(emptied.sum()), int((emptied & (states != PRESENT)).sum()))

    def __add__(self, other: Emptied) -> Emptied:
        return Emptied(self.cells + other.cells, self.codes + other.codes)

    @property
    def notes(self) -> tuple[Note, ...]:
        return (CELLS_SUPPRESSED(cells=self.cells, codes=self.codes),) if self.cells else ()
