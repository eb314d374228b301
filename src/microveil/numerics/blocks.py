"""Dividing records into blocks of similar ones."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def similar_blocks(columns: FloatArray, largest: int, smallest: int = 1) -> list[IntArray]:
    """Divide records at the median of the attribute with the widest spread until no block exceeds `largest`.

    No block gets fewer than `smallest` records. Record numbers within a block ascend.
    """
    ready: list[IntArray] = []
    waiting = [np.arange(len(columns))]
    while waiting:
        rows = waiting.pop()
        if len(rows) <= largest or len(rows) < 2 * smallest:
            ready.append(rows)
            continue
        widest = int(np.argmax(np.ptp(columns[rows], axis=0)))
        half = len(rows) // 2
        order = rows[np.argsort(columns[rows, widest], kind="stable")]
        waiting += [np.sort(order[half:]), np.sort(order[:half])]
    return ready
