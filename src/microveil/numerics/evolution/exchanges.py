"""Two files exchange the cells between two points, row by row: which cells these are, and the exchange itself."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from microveil.numerics.core.compiled import kernel
from microveil.numerics.core.random_bits import StateArray, whole
from microveil.typing import IntArray

CellArray = npt.NDArray[Any]  # numbers or category codes


@kernel
def cut_points(cells: int, symmetric: bool, random: StateArray) -> tuple[int, int]:
    """The first and the last cell that are exchanged."""
    first = whole(random, cells)
    if not symmetric:
        return first, first + whole(random, cells - first)
    last = whole(random, cells)
    return min(first, last), max(first, last)


@kernel
def exchanged_of(r: int, d: int, first: int, last: int) -> tuple[int, int]:
    """The first and the last attribute that a record exchanges."""
    return max(0, first - r * d), min(d - 1, last - r * d)


@kernel
def exchange_cells(
    cells: CellArray,
    chances: IntArray,
    one: int,
    other: int,
    first: int,
    last: int,
    into_one: bool,
    into_other: bool,
) -> None:
    """Write the cells and chances of the children that were accepted; the chances of records that were exchanged in
    part are in the spare slots."""
    if not (into_one or into_other):
        return
    d, child = cells.shape[2], len(cells) - 2
    for r in range(first // d, last // d + 1):
        low, high = exchanged_of(r, d, first, last)
        for j in range(low, high + 1):
            mine, theirs = cells[one, r, j], cells[other, r, j]
            if into_one:
                cells[one, r, j] = theirs
            if into_other:
                cells[other, r, j] = mine
        whole_row = low == 0 and high == d - 1
        to_one = chances[other, r] if whole_row else chances[child, r]
        to_other = chances[one, r] if whole_row else chances[child + 1, r]
        if into_one:
            chances[one, r] = to_one
        if into_other:
            chances[other, r] = to_other
