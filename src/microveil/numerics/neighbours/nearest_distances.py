"""How far records are from the nearest and the second nearest record of a table."""

from __future__ import annotations

import numpy as np

from microveil.numerics.core.compiled import kernel, over_chunks
from microveil.numerics.neighbours.mixed_distance import Settings, Table, Terms, distances_from
from microveil.progress import Progress, silent
from microveil.typing import FloatArray, IntArray

_CHUNK = 512
_QUERIES = 64


def two_nearest(
    sources: Table,
    targets: Table,
    terms: Terms,
    records: IntArray,
    *,
    others: bool = False,
    progress: Progress = silent,
    label: str = "finding neighbours",
) -> FloatArray:
    """For each of the named source records the distances to its two nearest targets; infinite where there is none.

    With `others` the tables are one, and a record is not its own neighbour.
    """
    settings, laid = terms.between(sources, targets), targets.contiguous()

    def work(start: int, end: int) -> FloatArray:
        rows = records[start:end]
        left_out = rows if others else np.full(len(rows), -1)
        return _two_nearest_of(sources.at(rows), laid, settings, left_out)

    return np.concatenate(over_chunks(work, len(records), _QUERIES, progress, label))


@kernel
def _two_nearest_of(sources: Table, targets: Table, settings: Settings, left_out: IntArray) -> FloatArray:
    """Targets are taken in chunks that stay in the processor's cache while all sources pass over them."""
    cells, states = sources
    size = targets.cells.shape[1]
    nearest = np.full((len(left_out), 2), np.inf)
    distances, shared = np.empty(_CHUNK), np.empty(_CHUNK)
    for begin in range(0, size, _CHUNK):
        end = min(size, begin + _CHUNK)
        sums, in_common = distances[: end - begin], shared[: end - begin]
        for q in range(len(left_out)):
            distances_from((cells[:, q], states[:, q]), targets, begin, settings, sums, in_common)
            if begin <= left_out[q] < end:
                sums[left_out[q] - begin] = np.inf
            if sums.min() < nearest[q, 1]:
                for distance in sums:
                    if distance < nearest[q, 0]:
                        nearest[q, 1], nearest[q, 0] = nearest[q, 0], distance
                    elif distance < nearest[q, 1]:
                        nearest[q, 1] = distance
    return nearest
