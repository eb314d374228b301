"""Dividing records into chunks of similar ones, after the blocking of Solanas et al. (2006)."""

from __future__ import annotations

import numpy as np

from microveil.typing import FloatArray, IntArray


def similar_chunks(columns: FloatArray, largest: int, smallest: int = 1, axes: int = 1) -> list[IntArray]:
    """Divide records at the medians of the attributes with the widest spread until no chunk exceeds `largest`.

    With `axes` = d every division is made at the medians of d attributes at once, into 2^d boxes; of these boxes one
    with fewer than `smallest` records joins the nearest. No chunk gets fewer than `smallest` records. Record numbers
    within a chunk ascend.

    >>> corners = np.array([[0.0, 0.0], [9.0, 9.0], [0.0, 9.0], [9.0, 0.0]])
    >>> [chunk.tolist() for chunk in similar_chunks(corners, 1, axes=2)]
    [[0], [2], [3], [1]]
    """
    ready: list[IntArray] = []
    waiting = [np.arange(len(columns))]
    while waiting:
        rows = waiting.pop()
        if len(rows) <= largest or len(rows) < 2 * smallest:
            ready.append(rows)
            continue
        boxes = _boxes(columns[rows], axes, smallest) if axes > 1 else []
        if len(boxes) < 2:  # one axis, or boxes so small that all would join
            boxes = _boxes(columns[rows], 1, smallest)
        waiting += [rows[box] for box in reversed(boxes)]
    return ready


def _boxes(columns: FloatArray, axes: int, smallest: int) -> list[IntArray]:
    """The halves below and above the medians of the widest attributes, crossed; small ones joined to the nearest."""
    n = len(columns)
    widest = np.argsort(-np.ptp(columns, axis=0), kind="stable")[:axes]
    number = np.zeros(n, dtype=np.int64)
    for column in widest:
        above = np.zeros(n, dtype=np.int64)
        above[np.argsort(columns[:, column], kind="stable")[n // 2 :]] = 1
        number = 2 * number + above
    boxes = [np.flatnonzero(number == box) for box in np.unique(number)]
    while len(boxes) > 1 and min(map(len, boxes)) < smallest:
        centres = np.array([columns[np.ix_(box, widest)].mean(axis=0) for box in boxes])
        least = min(range(len(boxes)), key=lambda i: len(boxes[i]))
        away = np.square(centres - centres[least]).sum(axis=1)
        away[least] = np.inf
        nearest = int(np.argmin(away))
        boxes[nearest] = np.sort(np.concatenate([boxes[nearest], boxes[least]]))
        del boxes[least]
    return boxes
