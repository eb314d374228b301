"""A balanced tree of cuts at medians, built from a sample, by which every record finds its leaf alone (Bentley, 1975).

Where a record goes depends on its own values only, so the records of a long table can be sent to their leaves in any
order and by anyone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from microveil.numerics.core.compiled import kernel
from microveil.typing import FloatArray, IntArray

_LEAF = -1  # in place of the column of a cut


@dataclass(frozen=True)
class MedianTree:
    """Nodes by number, the root first: the column of the cut, the largest value that goes below, and both next nodes.

    A leaf has no column, and its own number in place of the node below.
    """

    column: IntArray
    cut: FloatArray
    below: IntArray
    above: IntArray

    @classmethod
    def of(
        cls, sample: FloatArray, largest: int, usual: int | None = None, first: tuple[int, float] | None = None
    ) -> MedianTree:
        """Cut the records of a sample until no leaf has more than `largest` of them.

        Cuts are near the median of the column in which they separate the records most. Where only the first so many
        columns are the `usual` ones, the others are for records that are alike in these. The `first` cut can be given.

        >>> MedianTree.of(np.array([[1.0], [2.0], [8.0], [9.0]]), 2).leaf_of(np.array([[8.5], [0.0]])).tolist()
        [1, 0]
        """
        usual = sample.shape[1] if usual is None else usual
        nodes: list[tuple[int, float, int, int]] = []
        leaves = 0
        waiting = [(np.arange(len(sample)), -1, True)]  # the rows of a node, the node before it, and on which side
        while waiting:
            rows, before, is_below = waiting.pop()
            number = len(nodes)
            if before >= 0:
                column, value, below, above = nodes[before]
                nodes[before] = (column, value, number, above) if is_below else (column, value, below, number)
            cut = (
                first
                if first and not nodes
                else _best_cut(sample[rows], largest, usual)
                if len(rows) > largest
                else None
            )
            if cut is None:
                nodes.append((_LEAF, 0.0, leaves, 0))
                leaves += 1
                continue
            nodes.append((*cut, 0, 0))
            goes_below = sample[rows, cut[0]] <= cut[1]
            waiting += [(rows[~goes_below], number, False), (rows[goes_below], number, True)]
        columns, cuts, nodes_below, nodes_above = zip(*nodes, strict=True)
        return cls(np.array(columns), np.array(cuts, dtype=np.float64), np.array(nodes_below), np.array(nodes_above))

    @property
    def leaves(self) -> int:
        return int((self.column == _LEAF).sum())

    def uses(self, column: int) -> bool:
        """Whether records are cut in a column anywhere."""
        return bool((self.column == column).any())

    def leaf_of(self, columns: FloatArray) -> IntArray:
        """The number of each record's leaf."""
        return _leaf_of(np.ascontiguousarray(columns), self.column, self.cut, self.below, self.above)

    def joined(self, sizes: IntArray, least: int) -> list[tuple[int, ...]]:
        """Leaves as blocks of at least so many records, if there are so many: a smaller one joins the one at its side.

        >>> tree = MedianTree.of(np.array([[1.0], [2.0], [3.0], [4.0]]), 1)
        >>> tree.joined(np.array([5, 1, 5, 5]), 2)
        [(0, 1), (2,), (3,)]
        """
        made: dict[int, list[tuple[int, ...]]] = {}

        def is_small(blocks: list[tuple[int, ...]]) -> bool:
            return len(blocks) == 1 and int(sizes[list(blocks[0])].sum()) < least

        for node in reversed(range(len(self.column))):  # what comes after a node is numbered later
            if self.column[node] == _LEAF:
                made[node] = [(int(self.below[node]),)]
                continue
            below, above = made.pop(int(self.below[node])), made.pop(int(self.above[node]))
            if is_small(below) or is_small(above):
                made[node] = [*below[:-1], below[-1] + above[0], *above[1:]]
            else:
                made[node] = below + above
        return made[0]


def _best_cut(rows: FloatArray, largest: int, usual: int) -> tuple[int, float] | None:
    """The column and the value of a cut; none where all records are alike."""
    leaves = -(-len(rows) // largest)
    below = len(rows) * (leaves // 2) / leaves  # the median, unless there have to be an odd number of leaves
    for columns in (range(usual), range(usual, rows.shape[1])):
        found = [(*_cut_near(rows[:, column], below), column) for column in columns]
        separated, value, column = max(found, key=lambda one: one[0], default=(0.0, 0.0, 0))
        if separated > 0:
            return column, value
    return None


def _cut_near(values: FloatArray, wanted: float) -> tuple[float, float]:
    """How much a cut of a column separates, as a variance, and where it is: with about so many records below it."""
    rank = int(np.ceil(wanted)) - 1
    cut = np.partition(values, rank)[rank]
    lower, upto = int((values < cut).sum()), int((values <= cut).sum())
    if upto == len(values) or (lower and wanted - lower < upto - wanted):
        cut, upto = np.max(values, where=values < cut, initial=-np.inf), lower
    if upto == 0:
        return 0.0, 0.0
    below = values <= cut
    share = upto / len(values)
    return share * (1.0 - share) * float(values[~below].mean() - values[below].mean()) ** 2, float(cut)


@kernel
def _leaf_of(columns: FloatArray, column: IntArray, cut: FloatArray, below: IntArray, above: IntArray) -> IntArray:
    leaves = np.empty(len(columns), dtype=np.int64)
    for record in range(len(columns)):
        node = 0
        while column[node] >= 0:
            node = below[node] if columns[record, column[node]] <= cut[node] else above[node]
        leaves[record] = below[node]
    return leaves
