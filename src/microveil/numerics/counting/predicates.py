"""How many records of a table fulfil a predicate: each of some columns within a distance of a given value."""

from __future__ import annotations

import numpy as np

from microveil.numerics.core.compiled import kernel, over_chunks
from microveil.progress import Progress
from microveil.typing import FloatArray, IntArray

_CHUNK = 256


def isolated(
    table: FloatArray, centres: FloatArray, reach: FloatArray, columns: IntArray, progress: Progress, label: str
) -> IntArray:
    """For each predicate the one record that fulfils it, -1 where none does and -2 where several do.

    `table[j, i]` is a cell of record i and `centres[j, q]` the middle of predicate q, whose sides are `reach[j]` away;
    only the given columns count. A predicate with a missing middle, or a record with a missing cell, never fits.

    >>> from microveil.progress import silent
    >>> cells = np.array([[1.0, 2.0, 2.5], [0.0, 0.0, 1.0]])
    >>> isolated(cells, cells, np.array([0.6, 0.0]), np.array([0, 1]), silent, "").tolist()
    [0, 1, 2]
    """
    columns = columns[np.argsort([_fitting(table[j], centres[j], reach[j]) for j in columns], kind="stable")]
    chosen, middles, sides = (np.ascontiguousarray(part[columns]) for part in (table, centres, reach))
    order = np.argsort(chosen[0], kind="stable")  # missing cells come last
    chosen = np.ascontiguousarray(chosen[:, order])
    present = int((~np.isnan(chosen[0])).sum())

    def work(start: int, end: int) -> IntArray:
        return _isolated(chosen, present, middles[:, start:end], sides, order)

    return np.concatenate(over_chunks(work, middles.shape[1], _CHUNK, progress, label))


def _fitting(column: FloatArray, centres: FloatArray, reach: float) -> int:
    """How many records fulfil one condition of the predicates, in all: that with the fewest is best tested first."""
    values, middles = (np.sort(side[~np.isnan(side)]) for side in (column, centres))
    begin = np.searchsorted(values, middles - reach, side="left")
    return int((np.searchsorted(values, middles + reach, side="right") - begin).sum())


@kernel
def _isolated(table: FloatArray, present: int, centres: FloatArray, reach: FloatArray, order: IntArray) -> IntArray:
    found = np.full(centres.shape[1], -1, dtype=np.int64)
    first = table[0, :present]
    for q in range(centres.shape[1]):
        if np.isnan(centres[0, q]):
            continue
        begin = np.searchsorted(first, centres[0, q] - reach[0], side="left")
        end = np.searchsorted(first, centres[0, q] + reach[0], side="right")
        for i in range(begin, end):
            fits = True
            for j in range(1, table.shape[0]):
                if not abs(table[j, i] - centres[j, q]) <= reach[j]:
                    fits = False
                    break
            if fits:
                if found[q] >= 0:
                    found[q] = -2
                    break
                found[q] = order[i]
    return found
