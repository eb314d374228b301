"""Records divided into groups."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from microveil.errors import DataError
from microveil.numerics.core.ordering import numbered_by_first
from microveil.typing import IntArray


@dataclass(frozen=True)
class Partition:
    """Which group each record is in. Groups are numbered 0, 1, ... in the order of their first records.

    >>> Partition.of([7, 7, 2, 7, 2]).sizes.tolist()
    [3, 2]
    """

    labels: IntArray

    @classmethod
    def of(cls, labels: npt.ArrayLike) -> Partition:
        """From any labels, renumbered."""
        given = np.asarray(labels)
        if given.ndim != 1:
            raise DataError("a partition needs one label for each record")
        renumbered = numbered_by_first(given)
        renumbered.flags.writeable = False
        return cls(renumbered)

    def __len__(self) -> int:
        """The number of groups."""
        return len(self.sizes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Partition) and np.array_equal(self.labels, other.labels)

    def __hash__(self) -> int:
        return hash(self.labels.tobytes())

    @cached_property
    def sizes(self) -> IntArray:
        return np.bincount(self.labels).astype(np.int64)

    @property
    def smallest(self) -> int:
        """The size of the smallest group: the k that was really reached."""
        return int(self.sizes.min()) if len(self.sizes) else 0

    @property
    def groups(self) -> list[IntArray]:
        """The record numbers of each group, ascending."""
        order = np.argsort(self.labels, kind="stable")
        return np.split(order, np.cumsum(self.sizes)[:-1])

    def __repr__(self) -> str:
        return f"Partition({len(self.labels):,} records, {len(self):,} groups, the smallest of {self.smallest})"
