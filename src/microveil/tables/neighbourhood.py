"""Regions of a table around a cell, small enough for a linear program of their own.

A box has some categories of each dimension: those beside the cell's own and, below a total, some down to the finest.
Every corner of a box that is in the table belongs to it, so that a deviation can go around in it and leave the margins
as they are, which it rarely can among cells that are merely near. Where those beside a category have too little room
for that, a box that climbs has the groups above it and beside these, too.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from microveil.tables.problem import Problem
from microveil.typing import BoolArray, FloatArray, IntArray

_LARGEST_BOX = 20_000


class Neighbourhood:
    """Finds boxes around columns of a problem, through cells that can carry a deviation and cost little."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.structure = problem, problem.structure
        self.room = np.minimum(problem.upper, -problem.lower)

    @cached_property
    def _cell(self) -> IntArray:
        """A cell of each column: of those that are always equal the finest."""
        cell = np.zeros(len(self.problem), dtype=np.int64)
        cell[self.problem.column] = np.arange(len(self.problem.column))  # finer cells come later
        return cell

    @cached_property
    def _children(self) -> list[list[IntArray]]:
        made = []
        for tree in self.structure.trees:
            order = np.argsort(tree.parents, kind="stable")
            ends = np.searchsorted(tree.parents[order], np.arange(-1, len(tree.nodes) + 1))
            made.append([order[ends[node + 1] : ends[node + 2]] for node in range(len(tree.nodes))])
        return made

    def box(
        self, column: int, level: float, price: FloatArray, width: int, among: BoolArray | None = None, *,
        climbs: bool = False,
    ) -> IntArray:  # fmt: skip
        """The columns of a box around one, with at most so many categories beside its own in each dimension.

        Categories are taken whose cell can deviate by the level, at the least price; with `among` only such columns. A
        box that `climbs` has all categories above its own, with so many beside each.
        """
        code = self.structure.codes[self._cell[column]]
        nodes = [self._nodes(code, d, level, price, width, among, climbs) for d in range(len(code))]
        while np.prod([float(len(some)) for some in nodes]) > _LARGEST_BOX:
            longest = max(range(len(nodes)), key=lambda d: len(nodes[d]))
            nodes[longest] = nodes[longest][: max(1, len(nodes[longest]) // 2)]
        corners = np.stack([axis.ravel() for axis in np.meshgrid(*nodes, indexing="ij")], axis=1)
        found = self.structure.find(corners)
        columns = np.unique(self.problem.column[found[found >= 0]])
        return columns if among is None else columns[among[columns]]

    def _nodes(
        self, code: IntArray, dimension: int, level: float, price: FloatArray, width: int, among: BoolArray | None,
        climbs: bool,
    ) -> IntArray:  # fmt: skip
        tree, node = self.structure.trees[dimension], int(code[dimension])
        chosen = [node]
        while node:
            above = int(tree.parents[node])
            beside = self._children[dimension][above]
            chosen += self._best(code, dimension, beside[beside != node], level, price, width, among)
            if not climbs:
                break
            chosen.append(above)
            node = above
        level_below = chosen
        while level_below:
            below = [
                self._best(code, dimension, self._children[dimension][one], level, price, max(1, width // 3), among)
                for one in level_below
            ]
            level_below = [one for some in below for one in some][: 3 * width]
            chosen = [*chosen, *level_below]
        return np.array(list(dict.fromkeys(chosen)), dtype=np.int64)

    def _best(
        self, code: IntArray, dimension: int, nodes: IntArray, level: float, price: FloatArray, width: int,
        among: BoolArray | None,
    ) -> list[int]:  # fmt: skip
        """The nodes whose cells, otherwise at the same place, serve best."""
        if not len(nodes):
            return []
        places = np.tile(code, (len(nodes), 1))
        places[:, dimension] = nodes
        found = self.structure.find(places)
        there = found >= 0
        columns = self.problem.column[found[there]]
        nodes = nodes[there]
        if among is not None:
            nodes, columns = nodes[among[columns]], columns[among[columns]]
        order = np.lexsort((price[columns], self.room[columns] < level))
        return [int(node) for node in nodes[order][:width]]
