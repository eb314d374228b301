"""Regions of a sparse system of equations: columns near a column, and the equations between the columns of regions."""

from __future__ import annotations

import numpy as np

from microveil.numerics.core.compiled import kernel
from microveil.typing import BoolArray, FloatArray, IntArray


@kernel
def near(
    row_starts: IntArray, row_columns: IntArray, column_starts: IntArray, column_rows: IntArray,
    allowed: BoolArray, start: int, most: int, seen_columns: IntArray, seen_rows: IntArray, mark: int,
) -> IntArray:  # fmt: skip
    """The allowed columns nearest to one of them, itself first, as steps through equations go; about `most` of them.

    `seen_columns` and `seen_rows` hold marks of former calls, none of which was `mark`.
    """
    found = np.empty(most, dtype=np.int64)
    found[0] = start
    seen_columns[start] = mark
    count, place = 1, 0
    while place < count and count < most:
        column = found[place]
        place += 1
        for entry in range(column_starts[column], column_starts[column + 1]):
            row = column_rows[entry]
            if seen_rows[row] == mark:
                continue
            seen_rows[row] = mark
            for other in range(row_starts[row], row_starts[row + 1]):
                neighbour = row_columns[other]
                if allowed[neighbour] and seen_columns[neighbour] != mark and count < most:
                    seen_columns[neighbour] = mark
                    found[count] = neighbour
                    count += 1
    return found[:count]


@kernel
def side_by_side(
    column_starts: IntArray, column_rows: IntArray, values: FloatArray, rows: int, starts: IntArray, columns: IntArray
) -> tuple[IntArray, IntArray, FloatArray, IntArray, IntArray]:
    """The equations of several regions as one block matrix, by columns.

    Region i has `columns[starts[i] : starts[i + 1]]`. Returns starts, row numbers and values of the block matrix, the
    number of each of its rows in the whole system, and where the rows of each region start.
    """
    entries = 0
    for column in columns:
        entries += column_starts[column + 1] - column_starts[column]
    block_starts = np.zeros(len(columns) + 1, dtype=np.int64)
    block_rows, block_values = np.empty(entries, dtype=np.int64), np.empty(entries)
    origin = np.empty(entries, dtype=np.int64)
    row_starts = np.zeros(len(starts), dtype=np.int64)
    place, region_of = np.zeros(rows, dtype=np.int64), np.full(rows, -1, dtype=np.int64)
    used, made = 0, 0
    for region in range(len(starts) - 1):
        for position in range(starts[region], starts[region + 1]):
            column = columns[position]
            for entry in range(column_starts[column], column_starts[column + 1]):
                row = column_rows[entry]
                if region_of[row] != region:
                    region_of[row], place[row] = region, made
                    origin[made] = row
                    made += 1
                block_rows[used], block_values[used] = place[row], values[entry]
                used += 1
            block_starts[position + 1] = used
        row_starts[region + 1] = made
    return block_starts, block_rows, block_values, origin[:made], row_starts
