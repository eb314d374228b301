"""MDAV with the records in small leaves of similar ones: the same partition, faster on long files.

The sums behind the centre do not depend on the order of the records (`exact_sums`); so even ties that only rounding
decides fall as in the kernel of `mdav`. A program that adds the records up in plain double precision may decide such
ties otherwise. The leaves and the searches in them are those of `leaves`; with several threads, most searches are made
ahead (`mdav_ahead`).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from microveil.numerics.core.compiled import kernel, threads
from microveil.numerics.grouping.leaves import (
    MANY_CELLS,
    Leaves,
    close_around,
    farthest_from,
    farthest_from_centre,
    over_leaves,
)
from microveil.numerics.grouping.mdav_ahead import Ahead
from microveil.progress import Progress
from microveil.typing import FloatArray, IntArray

_SEED_PAIRS_PER_CALL = 256
_MANY_GROUPS = 4000  # with fewer, those of the next rounds often overlap, and a second thread saves nothing (measured)


def grouped_in_leaves(columns: FloatArray, k: int, enough: int, progress: Progress, label: str) -> IntArray:
    """Group the rows of an (n, d) matrix while `enough` of them are left; the rest is the last group."""
    columns = np.ascontiguousarray(columns, dtype=np.float64)
    labels = np.full(len(columns), -1, dtype=np.int64)
    n, d = columns.shape
    helpers = threads() - 1 if columns.size >= MANY_CELLS and n >= _MANY_GROUPS * k else 0
    with ThreadPoolExecutor(max_workers=max(1, helpers)) as pool:  # starts no thread before it has work
        ahead = Ahead(labels, k, enough, pool, helpers) if helpers else None

        def some(leaves: Leaves, size: int, groups: int) -> tuple[int, int]:
            pairs = _SEED_PAIRS_PER_CALL
            if ahead is not None and size * d >= MANY_CELLS:
                size, groups, pairs = ahead.group_some(leaves, size, groups, pairs)
            return _group_some(leaves, labels, size, groups, k, enough, pairs)

        left, groups = over_leaves(columns, enough, some, progress, label)
    labels[left] = groups
    progress(1.0, label)
    return labels


@kernel
def _group_some(
    leaves: Leaves, labels: IntArray, size: int, groups: int, k: int, enough: int, pairs: int
) -> tuple[int, int]:
    """Up to `pairs` rounds: two groups a round, or one where too few records are left for a second."""
    members, near = np.empty(k, dtype=np.int64), np.empty(k)
    spent = 0
    for _ in range(pairs):
        if size < enough:
            break
        first, tried = farthest_from_centre(leaves, size, spent >= size)
        spent = 0 if tried < 0 else spent + tried
        size = close_around(leaves, labels, first, members, near, size, groups)
        groups += 1
        if size < enough:
            break  # the second seed of the pair is not used
        second = farthest_from(leaves, first)
        size = close_around(leaves, labels, second, members, near, size, groups)
        groups += 1
    return size, groups
