"""One-to-one assignments of least cost; where several are optimal, their even mixture.

A solver that gets two lists returns one best assignment, and where several are equally good the order of the lists
decides which: on two files in the same order it returns the diagonal. Here equal records are taken together as one
kind, and over all best assignments the mixture of greatest entropy is given, which is unique.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from microveil.numerics.core.compiled import kernel
from microveil.numerics.core.ordering import find_pairs
from microveil.progress import Progress, parts
from microveil.typing import BoolArray, FloatArray, IntArray

_ROUNDING = 1e-9  # costs that differ by less, relative to the greatest, are equal
_SWEEPS = 2000
_EVEN = 1e-11
_STRETCHES = 64


@dataclass(frozen=True)
class Mixture:
    """The chance that a record equal to distinct record `rows[e]` of one file is assigned to a given record that equals
    distinct record `columns[e]` of the other."""

    rows: IntArray
    columns: IntArray
    chance: FloatArray

    def of_pairs(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """The chances of pairs of distinct records."""
        at = find_pairs((self.rows, self.columns), (rows, columns))
        return np.where(at >= 0, self.chance[at], 0.0)


def even_assignment(cost: FloatArray, supply: IntArray, demand: IntArray, progress: Progress, label: str) -> Mixture:
    """Assign records of kinds that occur `supply` times to as many of kinds that occur `demand` times, at least cost.

    Every kind occurs at least once. A pair of infinite cost is assigned only where there is no way around it, and then
    has chance 0.

    >>> from microveil.progress import silent
    >>> two, ties = np.array([1, 1]), np.array([[0.0, 0.0], [0.0, 0.0]])
    >>> even_assignment(ties, two, two, silent, "").chance.tolist()
    [0.5, 0.5, 0.5, 0.5]
    """
    finite = np.isfinite(cost)
    greatest = float(cost.max(initial=0.0, where=finite))
    passable = np.where(finite, cost, 4 * greatest + 1.0)
    first, second = parts(progress, 2)
    flow, row_price, column_price, *_ = _least_cost(passable, supply, demand, first, label)
    rows, columns = _tight(passable, row_price, column_price, _ROUNDING * max(1.0, greatest))
    used = _in_some_best(rows, columns, flow)
    rows, columns = rows[used], columns[used]
    chance = _even(rows, columns, supply, demand)
    second(1.0, label)
    return Mixture(rows, columns, np.where(finite[rows, columns], chance, 0.0))


class _Flow(NamedTuple):
    """What is assigned between the distinct records (by column and row), prices under which no pair costs less than its
    two prices together, and what is left of each row and column."""

    flow: npt.NDArray[np.int32]
    row_price: FloatArray
    column_price: FloatArray
    left: IntArray
    unassigned: IntArray


def _least_cost(cost: FloatArray, supply: IntArray, demand: IntArray, progress: Progress, label: str) -> _Flow:
    """A best flow, of which nothing is left."""
    row_price = cost.min(axis=1)
    column_price = (cost - row_price[:, None]).min(axis=0)
    flow = np.zeros((cost.shape[1], cost.shape[0]), dtype=np.int32)
    state = _Flow(flow, row_price, column_price, supply.astype(np.int64), demand.astype(np.int64))
    _fill_free_pairs(cost, state)
    bounds = np.linspace(0, len(supply), min(_STRETCHES, len(supply)) + 1).astype(np.int64)
    for start, end, part in zip(bounds[:-1], bounds[1:], parts(progress, len(bounds) - 1), strict=True):
        _assign_rows(cost, state, start, end)
        part(1.0, label)
    return state


@kernel
def _fill_free_pairs(cost: FloatArray, state: _Flow) -> None:
    """A start: pairs that cost no more than their prices."""
    flow, row_price, column_price, left, unassigned = state
    for a in range(cost.shape[0]):
        for b in range(cost.shape[1]):
            if left[a] == 0:
                break
            if unassigned[b] > 0 and cost[a, b] - row_price[a] - column_price[b] <= 0.0:
                moved = min(left[a], unassigned[b])
                flow[b, a] += moved
                left[a] -= moved
                unassigned[b] -= moved


@kernel
def _assign_rows(cost: FloatArray, state: _Flow, start: int, end: int) -> None:
    """Send what is left of these rows along shortest paths, on which others may be moved on (Edmonds and Karp)."""
    flow, row_price, column_price, left, unassigned = state
    rows, columns = cost.shape
    distance, from_row, done = np.empty(columns), np.empty(columns, dtype=np.int64), np.empty(columns, dtype=np.bool_)
    row_distance, from_column = np.empty(rows), np.empty(rows, dtype=np.int64)
    seen = np.empty(rows, dtype=np.bool_)
    for a in range(start, end):
        while left[a] > 0:
            done[:] = False
            seen[:] = False
            seen[a] = True
            row_distance[a], from_column[a] = 0.0, -1
            for b in range(columns):
                distance[b] = max(0.0, cost[a, b] - row_price[a] - column_price[b])
                from_row[b] = a
            while True:
                nearest, reached = -1, np.inf
                for b in range(columns):
                    if not done[b] and (distance[b] < reached or nearest < 0):
                        nearest, reached = b, distance[b]
                done[nearest] = True
                if unassigned[nearest] > 0:
                    break
                for other in range(rows):
                    if flow[nearest, other] > 0 and not seen[other]:
                        seen[other] = True
                        row_distance[other], from_column[other] = reached, nearest
                        for b in range(columns):
                            if not done[b]:
                                longer = reached + max(0.0, cost[other, b] - row_price[other] - column_price[b])
                                if longer < distance[b]:
                                    distance[b], from_row[b] = longer, other
            for other in range(rows):
                if seen[other]:
                    row_price[other] += reached - row_distance[other]
            for b in range(columns):
                if done[b]:
                    column_price[b] -= reached - distance[b]
            moved, b = min(left[a], unassigned[nearest]), nearest
            while from_row[b] != a:
                row = from_row[b]
                b = from_column[row]
                moved = min(moved, flow[b, row])
            left[a] -= moved
            unassigned[nearest] -= moved
            b = nearest
            while True:
                row = from_row[b]
                flow[b, row] += moved
                if row == a:
                    break
                b = from_column[row]
                flow[b, row] -= moved


def _tight(
    cost: FloatArray, row_price: FloatArray, column_price: FloatArray, rounding: float
) -> tuple[IntArray, IntArray]:
    """The pairs that cost exactly their prices: every best assignment consists of such pairs only."""
    rows, columns = [], []
    for start in range(0, len(cost), 256):
        end = start + 256
        over = cost[start:end] - row_price[start:end, None] - column_price
        a, b = np.nonzero(over <= rounding)
        rows.append(a + start)
        columns.append(b)
    return np.concatenate(rows).astype(np.int64), np.concatenate(columns).astype(np.int64)


def _in_some_best(rows: IntArray, columns: IntArray, flow: npt.NDArray[np.int32]) -> BoolArray:
    """Which of the tight pairs are in a best assignment: those on a round trip by which the flow can be changed."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    size = flow.shape[1] + flow.shape[0]
    back_columns, back_rows = np.nonzero(flow)
    heads = np.concatenate([rows, back_columns + flow.shape[1]])
    tails = np.concatenate([columns + flow.shape[1], back_rows])
    graph = coo_array((np.ones(len(heads), dtype=np.int8), (heads, tails)), shape=(size, size))
    _, component = connected_components(graph, directed=True, connection="strong")
    return np.asarray(component[rows] == component[columns + flow.shape[1]])


def _even(rows: IntArray, columns: IntArray, supply: IntArray, demand: IntArray) -> FloatArray:
    """The mixture of greatest entropy on these pairs: products of a row and a column factor (Sinkhorn)."""
    row_factor, column_factor = np.ones(len(supply)), np.ones(len(demand))
    row_supply, column_demand = supply[rows].astype(np.float64), demand[columns].astype(np.float64)
    for _ in range(_SWEEPS):
        sums = np.bincount(rows, column_demand * column_factor[columns], minlength=len(supply))
        moved = np.abs(sums * row_factor - 1.0).max()
        row_factor = 1.0 / sums
        column_factor = 1.0 / np.bincount(columns, row_supply * row_factor[rows], minlength=len(demand))
        if moved < _EVEN:
            break
    return np.asarray(row_factor[rows] * column_factor[columns])
