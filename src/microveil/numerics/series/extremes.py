"""Where series have their greatest values, and which series have them at the same time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from microveil.numerics.core.compiled import over_chunks
from microveil.numerics.neighbours.range_search import Inside
from microveil.progress import Progress
from microveil.typing import BoolArray, FloatArray, IntArray

_AT_ONCE = 1 << 20  # pairs of series in a chunk
_ROUNDING = 1e-12  # by how much two equal distances may differ, over the largest number at work


class Peaks(NamedTuple):
    """For each series the times of its greatest value, and the value: no time and NaN where the series has none."""

    at: BoolArray
    size: FloatArray

    @classmethod
    def of(cls, values: FloatArray) -> Peaks:
        """
        >>> found = Peaks.of(np.array([[1.0, 3.0, 3.0], [2.0, np.nan, 0.0]]))
        >>> found.at.tolist(), found.size.tolist()
        ([[False, True, True], [True, False, False]], [3.0, 2.0])
        """
        highest = np.max(values, axis=1, where=~np.isnan(values), initial=-np.inf)
        return cls(np.asarray(values == highest[:, None]), np.where(np.isfinite(highest), highest, np.nan))

    def within(self, near: BoolArray) -> Peaks:
        """The same with all times that are `near` one of those: a row and a column for each time."""
        return Peaks(np.asarray(self.at.astype(np.float32) @ near.astype(np.float32) > 0), self.size)


def link_by_peaks(
    known: Sequence[Peaks], released: Sequence[Peaks], sizes: bool, own: IntArray, progress: Progress, label: str
) -> Inside:
    """For each of the series `own` the released ones whose peaks, one of each kind, share a time with its own.

    Of these candidates the nearest are those whose peaks are of the nearest size; without `sizes` all of them. A series
    without values has no candidates.
    """
    times = [
        (one.at[own].astype(np.float32), np.ascontiguousarray(other.at.T.astype(np.float32)))
        for one, other in zip(known, released, strict=True)
    ]
    records = len(released[0].size)
    heights = [(one.size[own], other.size) for one, other in zip(known, released, strict=True)] if sizes else []
    largest = max((float(np.nanmax(np.abs(side), initial=1.0)) for pair in heights for side in pair), default=1.0)
    tolerance = _ROUNDING * largest

    def found(start: int, end: int) -> tuple[IntArray, BoolArray, IntArray, IntArray, BoolArray]:
        rows, mine = np.arange(end - start), own[start:end]
        inside = np.ones((end - start, records), dtype=np.bool_)
        for one, other in times:
            inside &= one[start:end] @ other > 0
        apart = np.where(inside, 0.0, np.inf)
        for here, there in heights:
            apart += np.nan_to_num(here[start:end, None] - there[None, :]) ** 2
        least = apart.min(axis=1)
        nearest = inside & (apart <= ((np.sqrt(least) + tolerance) ** 2)[:, None])
        first = np.where(nearest.any(axis=1), nearest.argmax(axis=1), -1)
        return inside.sum(axis=1), inside[rows, mine], nearest.sum(axis=1), first, nearest[rows, mine]

    results = over_chunks(found, len(own), max(1, _AT_ONCE // records), progress, label)
    return Inside(*(np.concatenate(parts) for parts in zip(*results, strict=True)))
