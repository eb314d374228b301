"""How many merges and distances k-Ward and kWR need on one attribute."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import comb

import numpy as np

from microveil.numerics.grouping.ward import divided, empty_line, merge_neighbours
from microveil.typing import FloatArray


@dataclass(frozen=True)
class Effort:
    """What k-Ward costs on one attribute: merges, and distances when none is stored.

    Every merge looks at all pairs of groups (k-Ward), or at neighbours only (its diagonal version).
    """

    merges: int
    all_pairs: int
    neighbours: int


def k_ward_effort(values: FloatArray, k: int) -> Effort:
    """The effort of k-Ward with neighbours merging, over all its levels.

    >>> k_ward_effort(np.array([1.0, 2, 4, 10, 11, 13, 20, 21, 30, 34]), 3)
    Effort(merges=3, all_pairs=31, neighbours=12)
    """
    return _effort(_levels(np.sort(values), k))


def recursive_k_ward_effort(values: FloatArray, k: int, threshold: float | None = None, parts: int = 2) -> Effort:
    """The same for kWR: the sum over the parts it makes."""
    ordered = np.sort(values)
    pieces, _ = divided(ordered, k, threshold, parts)
    return _effort([level for start, end in pieces for level in _levels(ordered[start:end], k)])


def _effort(levels: list[tuple[int, int]]) -> Effort:
    """From m groups one merge takes m (m - 1) / 2 distances, or m - 1; summed up they are binomial coefficients."""
    return Effort(
        sum(first - last for first, last in levels),
        sum(comb(first + 1, 3) - comb(last + 1, 3) for first, last in levels),
        sum(comb(first, 2) - comb(last, 2) for first, last in levels),
    )


def _levels(ordered: FloatArray, k: int) -> list[tuple[int, int]]:
    """With how many groups each run of k-Ward among neighbours begins and ends: the first one and those it repeats."""
    line = empty_line(len(ordered))
    levels = []
    waiting = [(0, len(ordered))]
    while waiting:
        start, end = waiting.pop()
        if end - start < 2 * k:
            continue
        if ordered[start] == ordered[end - 1]:  # the first group eats all but the last k
            groups = [start, end - k]
        else:
            merge_neighbours(ordered, start, end, k, line)
            groups = [start]
            while (following := int(line.behind[groups[-1]])) < end:
                groups.append(following)
        levels.append((end - start - 2 * k + 2, len(groups)))
        waiting += pairwise([*groups, end])
    return levels
