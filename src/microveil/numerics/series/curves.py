"""Series of any length as kernels take them: the points that are there, packed to the left."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from microveil.typing import FloatArray, IntArray


class Curves(NamedTuple):
    """Records of one or several series: `cells` by series, record and point; `lengths` by series and record.

    Cells beyond the length of a series are 0.
    """

    cells: FloatArray
    lengths: IntArray

    @property
    def records(self) -> int:
        return int(self.cells.shape[1])

    def at(self, rows: IntArray | slice) -> Curves:
        return Curves(np.ascontiguousarray(self.cells[:, rows]), np.ascontiguousarray(self.lengths[:, rows]))

    @property
    def flat(self) -> FloatArray:
        """One row a record: the lengths of its series, then their cells."""
        return np.hstack([self.lengths.T.astype(np.float64), *self.cells])


def curves(*variables: FloatArray) -> Curves:
    """The present points of one or several variables, each (n, T) with NaN where a cell is missing.

    >>> curves(np.array([[np.nan, 1.0, 2.0], [3.0, 4.0, 5.0]])).lengths.tolist()
    [[2, 3]]
    """
    records, longest = len(variables[0]), max(1, *(values.shape[1] for values in variables))
    cells = np.zeros((len(variables), records, longest))
    lengths = np.zeros((len(variables), records), dtype=np.int64)
    for v, values in enumerate(variables):
        present = ~np.isnan(values)
        lengths[v] = present.sum(axis=1)
        cells[v][np.arange(longest) < lengths[v][:, None]] = values[present] + 0.0  # -0 and 0 are one
    return Curves(cells, lengths)


def distinct(given: Curves) -> tuple[Curves, IntArray]:
    """The different records, in an order that does not depend on theirs, and which of them each record is."""
    _, first, inverse = np.unique(given.flat, axis=0, return_index=True, return_inverse=True)
    return given.at(first), inverse.reshape(-1)
