"""How alike two partitions of the same rows are: Rand, Jaccard and Wallace, from counts of pairs of rows."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from microveil.numerics.counting.distinct_rows import number_rows
from microveil.typing import IntArray


@dataclass(frozen=True)
class PairCounts:
    """Pairs of rows that are `together` in both partitions (r), only in the first (s), only in the second (t), or
    `apart` in both (u)."""

    together: int
    only_first: int
    only_second: int
    apart: int

    @classmethod
    def of(cls, first: IntArray, second: IntArray) -> PairCounts:
        """From the label of each row in both.

        >>> PairCounts.of(np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 1, 1, 2, 2]))
        PairCounts(together=2, only_first=4, only_second=1, apart=8)
        """
        cells, _ = number_rows([first, second])
        both, one, other = (_pairs(np.bincount(labels)) for labels in (cells, first, second))
        return cls(both, one - both, other - both, _pairs(np.array([len(first)])) - one - other + both)

    @property
    def rand(self) -> float:
        """(r + u) / (r + s + t + u)."""
        total = self.together + self.only_first + self.only_second + self.apart
        return (self.together + self.apart) / total if total else 1.0

    @property
    def jaccard(self) -> float:
        """r / (r + s + t); 1 where no pair is together in either, for then the partitions are the same."""
        joined = self.together + self.only_first + self.only_second
        return self.together / joined if joined else 1.0

    @property
    def wallace(self) -> float:
        """r / sqrt((r + s) (r + t)), the geometric mean of Wallace's two coefficients (Fowlkes and Mallows)."""
        first, second = self.together + self.only_first, self.together + self.only_second
        if first == 0 or second == 0:
            return float(first == second)
        return self.together / sqrt(first * second)


def _pairs(sizes: IntArray) -> int:
    return int((sizes * (sizes - 1) // 2).sum())
