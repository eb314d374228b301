"""The levels to which an attribute can be generalised: codes, labels and the share of its domain that each covers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from microveil.masking.coarsening.coarse import Coarse, refuse_unlisted, valid_categories
from microveil.microdata import Microdata
from microveil.microdata.hierarchy import Hierarchy, Intervals, node_text
from microveil.microdata.proposals import propose_hierarchy
from microveil.typing import FloatArray, IntArray


@dataclass(frozen=True)
class AttributeLevels:
    """An attribute whose values have a code at each level of its hierarchy.

    `codes` are those of the records at level 0. `table` has a row for each level, with the code of every code of level
    0, and `shares` the share of the domain that it covers, 0 for a single value and 1 for all. The last columns of both
    are the states of missing cells, which stay as they are. `ends` are those of intervals.
    """

    name: str
    codes: IntArray
    table: IntArray
    shares: FloatArray
    labels: tuple[tuple[str, ...], ...]
    ends: tuple[FloatArray | None, ...]
    proposed: bool

    @property
    def levels(self) -> int:
        """Number of levels, the values themselves included."""
        return len(self.table)

    def coarse(self, level: int) -> Coarse:
        """The values of the records at a level; -1 for a missing cell."""
        at = self.table[level][self.codes]
        return Coarse(np.where(at < len(self.labels[level]), at, -1), self.labels[level], self.ends[level])


def levels_of(data: Microdata, name: str) -> AttributeLevels:
    """The levels of an attribute, by its hierarchy or by one that its values suggest."""
    hierarchy = propose_hierarchy(data, name)
    states = data.missing_states(name).astype(np.int64)
    if isinstance(hierarchy, Intervals):
        codes, table, shares, labels, ends = _by_intervals(data, name, hierarchy)
    else:
        codes, table, shares, labels, ends = _by_hierarchy(data, name, hierarchy)
    kinds, rank = np.unique(states[codes < 0], return_inverse=True)
    codes = codes.copy()
    codes[codes < 0] = table.shape[1] + rank.reshape(-1)
    missing = np.array([[len(names) + kind for kind in range(len(kinds))] for names in labels], dtype=np.int64)
    table = np.hstack([table, missing.reshape(len(labels), len(kinds))])
    shares = np.hstack([shares, np.zeros((len(labels), len(kinds)))])
    return AttributeLevels(name, codes, table, shares, labels, ends, data[name].hierarchy is None)


Parts = tuple[IntArray, IntArray, FloatArray, tuple[tuple[str, ...], ...], tuple[FloatArray | None, ...]]


def _by_hierarchy(data: Microdata, name: str, hierarchy: Hierarchy) -> Parts:
    leaves = hierarchy.categories(0)
    if data[name].kind == "numeric":
        numbers = data.numbers(name)
        codes = hierarchy.positions_of_numbers(numbers.values, 0)
        refuse_unlisted(data, name, codes, numbers.present)
    else:
        column = valid_categories(data, name)
        codes = np.append(hierarchy.positions(column.domain, 0), -1)[column.codes]
        refuse_unlisted(data, name, codes, column.present)
    table = np.array([hierarchy.positions(leaves, level) for level in range(hierarchy.levels)])
    covered = np.array([np.bincount(row)[row] for row in table])
    shares = (covered - 1) / max(1, len(leaves) - 1)
    labels = tuple(hierarchy.categories(level) for level in range(hierarchy.levels))
    return codes, table, shares, labels, (None,) * len(labels)


def _by_intervals(data: Microdata, name: str, intervals: Intervals) -> Parts:
    values = data.numbers(name).values
    present = ~np.isnan(values)
    distinct, found = np.unique(values[present], return_inverse=True)
    codes = np.full(len(values), -1, dtype=np.int64)
    codes[present] = found.reshape(-1)
    low, high = data[name].range or (distinct.min(initial=np.inf), distinct.max(initial=-np.inf))
    table, shares = [np.arange(len(distinct))], [np.zeros(len(distinct))]
    labels, ends = [tuple(map(node_text, distinct))], [np.empty((0, 2))]
    for level in range(1, intervals.levels):
        cuts = np.array(intervals.cuts[level - 1])
        at = intervals.positions_of_numbers(distinct, level)
        bounds = np.column_stack([[np.nan, *cuts], [*cuts, np.nan]])
        inside = np.clip(np.column_stack([[-np.inf, *cuts], [*cuts, np.inf]]), low, high)
        table.append(at)
        shares.append(((inside[:, 1] - inside[:, 0]) / (high - low) if high > low else np.zeros(len(inside)))[at])
        labels.append(intervals.categories(level))
        ends.append(bounds)
    return codes, np.array(table), np.array(shares), tuple(labels), tuple(ends)
