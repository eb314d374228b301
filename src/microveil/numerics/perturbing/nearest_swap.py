"""Which rows are recognised by nearest distance, and exchanging them with their nearest neighbours."""

from __future__ import annotations

import numpy as np

from microveil.numerics.core.compiled import kernel, threads
from microveil.numerics.neighbours.mixed_distance import SQUARED, Table, Terms
from microveil.numerics.neighbours.nearest import link
from microveil.progress import Progress
from microveil.typing import BoolArray, FloatArray, IntArray

_CANDIDATES = 16
_ROUNDING = 1e-12


def recognised(original: FloatArray, masked: FloatArray, progress: Progress, label: str) -> BoolArray:
    """Whether row i of the masked table is the nearest, or as near as the nearest, to row i of the original.

    Complete rows are looked up in a tree of the complete masked rows. A row with missing cells (NaN) is compared with
    all rows on the cells both have, scaled up for the others.
    """
    from scipy.spatial import cKDTree

    used = ~np.isnan(original).all(axis=0) & ~np.isnan(masked).all(axis=0)
    original, masked = original[:, used], masked[:, used]
    complete = np.flatnonzero(~np.isnan(original).any(axis=1) & ~np.isnan(masked).any(axis=1))
    found = np.zeros(len(original), dtype=np.bool_)
    if complete.size and used.any():
        nearest, _ = cKDTree(masked[complete]).query(original[complete], workers=threads())
        own = np.sqrt(np.square(original[complete] - masked[complete]).sum(axis=1))
        largest = max(1.0, float(np.abs(original[complete]).max()), float(np.abs(masked[complete]).max()))
        found[complete] = own <= nearest + _ROUNDING * largest
    rest = np.setdiff1d(np.arange(len(original)), complete)
    if rest.size and used.any():
        columns = original.shape[1]
        nothing = np.zeros(columns)
        terms = Terms(np.full(columns, SQUARED), nothing, nothing, np.ones(columns, dtype=np.bool_), nothing)
        found[rest] = link(_table(original), _table(masked), terms, rest, progress, label).own
    return found


def _table(rows: FloatArray) -> Table:
    missing = np.ascontiguousarray(np.isnan(rows).T)
    return Table(np.where(missing, 0.0, rows.T), missing.astype(np.uint8))


def exchange(rows: FloatArray, wanted: BoolArray, groups: list[IntArray]) -> IntArray:
    """For each row the number of the row it gets: every wanted row is exchanged with the nearest of its group.

    The nearest is one that differs, and that has been exchanged with no other yet; where there is none left, one that
    has. The wanted rows choose in their order. Within a group all rows lack the same cells; a group whose rows are
    all alike stays as it is.

    >>> rows = np.array([[1.0], [2.0], [7.0], [9.0]])
    >>> exchange(rows, np.array([True, False, False, True]), [np.arange(4)]).tolist()
    [1, 0, 3, 2]
    """
    order = np.arange(len(rows))
    for members in groups:
        if len(members) < 2:
            continue
        cells = rows[members]
        cells = np.ascontiguousarray(cells[:, ~np.isnan(cells[0])])
        if cells.shape[1]:
            order[members] = members[_exchanged(cells, wanted[members])]
    return order


def _exchanged(cells: FloatArray, wanted: BoolArray) -> IntArray:
    from scipy.spatial import cKDTree

    order = np.arange(len(cells))
    free, waiting = np.ones(len(cells), dtype=np.bool_), np.flatnonzero(wanted)
    taken = _CANDIDATES
    while waiting.size:
        partners = np.flatnonzero(free)
        asked = min(taken, len(partners))
        _, near = cKDTree(cells[partners]).query(cells[waiting], k=np.arange(1, asked + 1), workers=threads())
        settled = _pair_off(cells, waiting, partners[near], free, order)
        waiting = waiting[free[waiting]]
        if settled == 0 and asked == len(partners):
            break
        taken = _CANDIDATES if settled else 4 * taken
    if waiting.size:
        _join_cycles(cells, waiting, order)
    return order


@kernel
def _pair_off(cells: FloatArray, waiting: IntArray, near: IntArray, free: BoolArray, order: IntArray) -> int:
    """Give each waiting row in turn the first of its neighbours that is free and differs; how many found one."""
    settled = 0
    for w in range(len(waiting)):
        row = waiting[w]
        if not free[row]:
            continue
        for other in near[w]:
            if free[other] and other != row and (cells[other] != cells[row]).any():
                order[row], order[other] = other, row
                free[row] = free[other] = False
                settled += 1
                break
    return settled


def _join_cycles(cells: FloatArray, waiting: IntArray, order: IntArray) -> None:
    """Rows without a free partner are exchanged with the nearest row that differs: nobody gets its own back."""
    for row in waiting:
        if order[row] != row:
            continue  # another waiting row has taken it as partner
        apart = np.square(cells - cells[row]).sum(axis=1)
        apart[apart == 0] = np.inf
        other = int(np.argmin(apart))
        if np.isfinite(apart[other]):
            order[row], order[other] = order[other], order[row]
