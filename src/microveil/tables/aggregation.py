"""From records to cells: values, contributors and their largest contributions, at all levels of all dimensions.

Each level of each dimension is a pass over the records, so that the largest contributors of a total are found among all
of its records. Records of one holding are one contributor.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from microveil.progress import Progress, silent
from microveil.tables.structure import Structure, cell_keys, everything, with_ancestors
from microveil.tables.tree import Tree
from microveil.typing import BoolArray, FloatArray, IntArray

KeyArray = npt.NDArray[np.uint64]
NOBODY = -1
COLUMNS = ("values", "contributors", "largest", "consents", "exposed", "waived", "absolute", "single")


@dataclass(frozen=True)
class Cells:
    """What is known of each cell of one table, or of linked tables together."""

    structure: Structure
    values: FloatArray
    contributors: IntArray
    largest: FloatArray  # contributions without their sign, a column each, the largest first; 0 where there are no more
    consents: BoolArray  # whether these contributors consent to be disclosed
    exposed: FloatArray  # the largest contribution of one who does not consent
    waived: BoolArray  # whether all contributors consent
    absolute: FloatArray  # the contributions added without their signs
    single: IntArray  # who the only contributor is, as a number; -1 where there are none or several
    used: tuple[tuple[int, ...], ...]  # the dimensions of each table
    is_count: bool
    keys: KeyArray | None = None  # sums of record keys, modulo 2^64

    def __len__(self) -> int:
        return len(self.structure)

    def of_table(self, table: int) -> IntArray:
        """The cells of one of the linked tables."""
        others = [d for d in range(len(self.structure.trees)) if d not in self.used[table]]
        return np.flatnonzero((self.structure.codes[:, others] == 0).all(axis=1)).astype(np.int64)

    def take(self, cells: IntArray) -> Cells:
        """Only these cells, in this order."""
        taken = {name: getattr(self, name)[cells] for name in COLUMNS}
        keys = None if self.keys is None else self.keys[cells]
        codes = Structure(self.structure.trees, self.structure.codes[cells])
        return replace(self, structure=codes, keys=keys, **taken)


@dataclass(frozen=True)
class Records:
    """What each record brings into a table: its category in each dimension, as a leaf of the tree, and its value."""

    codes: IntArray
    values: FloatArray
    weights: FloatArray
    holdings: IntArray
    consents: BoolArray
    keys: KeyArray | None = None


def tabulate(
    trees: Sequence[Tree],
    used: Sequence[tuple[int, ...]],
    records: Records,
    *,
    is_count: bool,
    tops: int,
    progress: Progress = silent,
) -> Cells:
    """The cells of one table for each list of dimensions in `used`, those in common once."""
    steps = sorted({step for dims in used for step in _levels(trees, dims)})
    parts = []
    for number, step in enumerate(steps):
        progress(number / len(steps), "adding up the records")
        parts.append(_of_level(trees, step, records, tops, is_count))
    codes = np.concatenate([part.structure.codes for part in parts])
    order = np.argsort(cell_keys(trees, codes), kind="stable").astype(np.int64)
    together: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in COLUMNS}
    made = Cells(
        Structure(tuple(trees), codes),
        **together,
        used=tuple(used),
        is_count=is_count,
        keys=None if records.keys is None else np.concatenate([p.keys for p in parts if p.keys is not None]),
    )
    return made.take(order)


def _levels(trees: Sequence[Tree], dims: Sequence[int]) -> list[tuple[int, ...]]:
    depths = (range(trees[d].ancestors.shape[1] if d in dims else 1) for d in range(len(trees)))
    return list(itertools.product(*depths))


def _of_level(trees: Sequence[Tree], step: Sequence[int], records: Records, tops: int, is_count: bool) -> Cells:
    """The cells that lie so deep in each dimension."""
    codes = np.column_stack([tree.ancestors[records.codes[:, d], step[d]] for d, tree in enumerate(trees)])
    inside = np.flatnonzero((codes >= 0).all(axis=1))
    found, first, cell = np.unique(cell_keys(trees, codes[inside]), return_index=True, return_inverse=True)
    count = len(found)
    contributions, weights = records.values[inside], records.weights[inside]
    values = np.bincount(cell, weights=contributions * weights, minlength=count).astype(np.float64)
    pair = np.stack([cell, records.holdings[inside]])
    (owner, holder), which = _pairs(pair)
    sizes = np.abs(np.bincount(which, weights=contributions, minlength=len(owner)))
    consenting = np.ones(len(owner), dtype=bool)
    np.logical_and.at(consenting, which, records.consents[inside])
    contributors = np.bincount(owner, minlength=count).astype(np.int64)
    single = np.full(count, NOBODY, dtype=np.int64)
    single[owner] = holder
    single[contributors != 1] = NOBODY
    largest, consents = _tops(owner, sizes, consenting, count, tops)
    exposed = np.zeros(count)
    np.maximum.at(exposed, owner[~consenting], sizes[~consenting])
    waived = np.ones(count, dtype=bool)
    np.logical_and.at(waived, owner, consenting)
    weighted = np.bincount(cell, weights=np.abs(contributions) * weights, minlength=count)
    keys = None
    if records.keys is not None:
        keys = np.zeros(count, dtype=np.uint64)
        np.add.at(keys, cell, records.keys[inside])
    structure = Structure(tuple(trees), codes[inside][first])
    return Cells(
        *(structure, values, contributors, largest, consents, exposed, waived, weighted.astype(np.float64), single),
        used=(),
        is_count=is_count,
        keys=keys,
    )


def _pairs(pair: IntArray) -> tuple[tuple[IntArray, IntArray], IntArray]:
    """The distinct pairs of a cell and a contributor, and which of them each record is."""
    order = np.lexsort((pair[1], pair[0]))
    ordered = pair[:, order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (ordered[:, 1:] != ordered[:, :-1]).any(axis=0)
    which = np.empty(len(order), dtype=np.int64)
    which[order] = np.cumsum(new) - 1
    return (ordered[0, new], ordered[1, new]), which


def _tops(
    owner: IntArray, sizes: FloatArray, consenting: BoolArray, count: int, tops: int
) -> tuple[FloatArray, BoolArray]:
    """The largest contributions of each cell, with the consents of those who make them; who does not consent first."""
    order = np.lexsort((consenting, -sizes, owner))
    starts = np.searchsorted(owner[order], np.arange(count))
    rank = np.arange(len(order)) - starts[owner[order]]
    largest, consents = np.zeros((count, tops)), np.ones((count, tops), dtype=bool)
    among = rank < tops
    largest[owner[order][among], rank[among]] = sizes[order][among]
    consents[owner[order][among], rank[among]] = consenting[order][among]
    return largest, consents


def with_empty_cells(cells: Cells) -> Cells:
    """The same with the cells that have no contributors, which otherwise are zeros that everyone knows."""
    trees = cells.structure.trees
    every = np.concatenate([everything(trees, dims) for dims in cells.used])
    _, first = np.unique(cell_keys(trees, every), return_index=True)
    return spread(cells, every[first])


def spread(cells: Cells, codes: IntArray) -> Cells:
    """The cells at these places, in this order; a place without a cell is an empty one."""
    at = cells.structure.find(codes)
    made = cells.take(np.where(at >= 0, at, 0))
    empty = at < 0
    made.values[empty] = made.absolute[empty] = made.exposed[empty] = 0.0
    made.contributors[empty], made.single[empty] = 0, NOBODY
    made.largest[empty], made.consents[empty], made.waived[empty] = 0.0, True, True
    if made.keys is not None:
        made.keys[empty] = 0
    return replace(made, structure=Structure(cells.structure.trees, codes))


def completed(cells: Cells) -> Cells:
    """Cells that were given, with every total above them that lacks computed from the finest cells, and checked."""
    given = cells.structure
    codes = with_ancestors(given.trees, given.codes)
    whole = spread(cells, codes)
    lacking = np.flatnonzero(given.find(codes) < 0)
    if lacking.size:
        inner = np.flatnonzero(given.is_inner)
        above = whole.structure
        wanted = np.zeros(len(whole), dtype=bool)
        wanted[lacking] = True
        for step in itertools.product(*(range(tree.ancestors.shape[1]) for tree in given.trees)):
            moved = np.column_stack([t.ancestors[given.codes[inner, d], step[d]] for d, t in enumerate(given.trees)])
            inside = (moved >= 0).all(axis=1)
            target, source = above.find(moved[inside]), inner[inside]
            into = wanted[target]
            target, source = target[into], source[into]
            for name in ("values", "contributors", "absolute"):
                np.add.at(getattr(whole, name), target, getattr(cells, name)[source])
            np.maximum.at(whole.exposed, target, cells.exposed[source])
            np.logical_and.at(whole.waived, target, cells.waived[source])
            _merge_tops(whole, cells, target, source)
    whole.structure.check_additive(whole.values)
    return replace(whole, single=same_contributors(whole.structure, whole.contributors))


def same_contributors(structure: Structure, contributors: IntArray) -> IntArray:
    """A number for the contributor of every cell that has only one, where nobody says who that is.

    A total with one contributor has the one of the cell below it; of cells side by side each has another.
    """
    alone = contributors == 1
    edges = []
    for dimension in range(len(structure.trees)):
        above = structure.parent(dimension)
        linked = np.flatnonzero((above >= 0) & alone)
        linked = linked[alone[above[linked]]]
        edges.append(np.stack([linked, above[linked]]))
    ends = np.concatenate(edges, axis=1) if edges else np.zeros((2, 0), dtype=np.int64)
    size = len(structure)
    graph = sp.coo_array((np.ones(ends.shape[1]), (ends[0], ends[1])), shape=(size, size))
    labels = connected_components(graph, directed=False)[1]
    return np.where(alone, labels, NOBODY).astype(np.int64)


def _merge_tops(whole: Cells, cells: Cells, target: IntArray, source: IntArray) -> None:
    """The largest contributions of a total are among those of the cells below it."""
    tops = cells.largest.shape[1]
    owner, sizes = np.repeat(target, tops), cells.largest[source].ravel()
    if not len(owner):
        return
    among, cell = np.unique(owner, return_inverse=True)
    whole.largest[among], whole.consents[among] = _tops(cell, sizes, cells.consents[source].ravel(), len(among), tops)
