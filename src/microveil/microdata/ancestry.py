"""A tree of places, or of the categories of a hierarchy, by its paths: distances by level, and common ancestors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from microveil.errors import ParameterError
from microveil.microdata.hierarchy import Hierarchy
from microveil.typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Ancestry:
    """Nodes by their codes: row i of `paths` has the codes from the root to node i, then -1; `level` grows towards the
    root, whose level is `top`."""

    paths: IntArray
    level: IntArray
    top: int

    @cached_property
    def depth(self) -> IntArray:
        """How many steps each node is below the root."""
        return np.asarray((self.paths >= 0).sum(axis=1) - 1)

    @property
    def root(self) -> int:
        return int(self.paths[0, 0])

    @cached_property
    def parent(self) -> IntArray:
        """The node above each; -1 for the root."""
        above = self.paths[np.arange(len(self.paths)), np.maximum(self.depth - 1, 0)]
        return np.where(self.depth > 0, above, -1)

    def is_within(self, first: IntArray, second: IntArray) -> BoolArray:
        """Whether each second node lies on the path from the first to the root; every node is within itself."""
        return np.asarray(self.paths[first, self.depth[second]] == second)

    def distances(self, first: IntArray, second: IntArray, *, strict: bool = False, eps: float = 0.0) -> FloatArray:
        """The difference of the levels as a share of the highest, if one is on the path from the other to the root,
        else 1 (Marés 2013, Eq. 6.1). It is not a metric.

        `strict` takes the equation as it is printed, where only the second may be on the path of the first. `eps` is
        the distance of two different nodes of one path with the same level, such as a street and its quarter.
        """
        if not 0 <= eps < 1 / self.top:
            raise ParameterError(f"eps = {eps:g} is not allowed; it must be at least 0 and below 1/{self.top}")
        on_a_path = self.is_within(first, second)
        if not strict:
            on_a_path = on_a_path | self.is_within(second, first)
        steps = np.abs(self.level[first] - self.level[second])
        near = np.where((steps == 0) & (first != second), eps, steps / self.top)
        return np.asarray(np.where(on_a_path, near, 1.0))

    def common_ancestors(self, first: IntArray, second: IntArray) -> IntArray:
        """For each first node and its second one the deepest node that holds both."""
        found = np.full(first.shape, self.root, dtype=np.int64)
        for column in self.paths.T:
            found = np.where((column[first] == column[second]) & (column[first] >= 0), column[first], found)
        return found

    def common_ancestors_of_groups(self, codes: IntArray, groups: IntArray) -> IntArray:
        """For each group, numbered from 0 without gaps, the deepest node that holds all of its members."""
        order = np.argsort(groups, kind="stable")
        starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
        paths = self.paths[codes[order]]
        lowest, highest = np.minimum.reduceat(paths, starts), np.maximum.reduceat(paths, starts)
        shared = ((lowest == highest) & (lowest >= 0)).sum(axis=1)
        return np.asarray(lowest[np.arange(len(starts)), shared - 1])


@dataclass(frozen=True, eq=False)
class HierarchyTree(Ancestry):
    """The nodes of a hierarchy as a tree: `labels` are what stands for each in a table.

    >>> cities = Hierarchy.of([("Graz", "South", "*"), ("Linz", "North", "*"), ("Wels", "North", "*")])
    >>> tree = HierarchyTree.of(cities)
    >>> linz, wels, north = (tree.code(label) for label in ("Linz", "Wels", "North"))
    >>> tree.distances(np.array([linz, linz]), np.array([wels, north])).tolist()
    [1.0, 0.5]
    """

    labels: tuple[str, ...]
    own: dict[str, int]

    @classmethod
    def of(cls, hierarchy: Hierarchy) -> HierarchyTree:
        """Every category is the node of its own level on its path: a table can have both Graz and Austria as cells, and
        then Austria is where Graz is.

        Where the coarsest level has several nodes, a root without a label of its own is put above them.
        """
        top = hierarchy.levels - 1
        # a node that is repeated at the next level is the same one
        chains = [
            list(dict.fromkeys(path[level:]))[::-1]
            for path, level in zip(hierarchy.paths, hierarchy.category_levels, strict=True)
        ]
        above = [""] if len({chain[0] for chain in chains}) > 1 else []
        code: dict[str, int] = {}
        rows: list[list[int]] = []
        levels: list[int] = []
        for path, chain in zip(hierarchy.paths, chains, strict=True):
            row: list[int] = []
            for label in (*above, *chain):
                if label not in code:
                    code[label] = len(rows)
                    levels.append(path.index(label) if label else top + 1)
                    rows.append([*row, code[label]])
                row.append(code[label])
        own = {path[0]: code[chain[-1]] for path, chain in zip(hierarchy.paths, chains, strict=True)}
        for path, level in zip(hierarchy.paths, hierarchy.category_levels, strict=True):
            levels[own[path[0]]] = level
        width = max(map(len, rows))
        paths = np.array([row + [-1] * (width - len(row)) for row in rows], dtype=np.int64)
        return cls(paths, np.array(levels, dtype=np.int64), max(1, max(levels)), tuple(code), own)

    def code(self, label: str) -> int:
        """The node that a cell of the table or of a release stands for; -1 for a text that is none."""
        return self._codes.get(label, -1)

    @cached_property
    def _codes(self) -> dict[str, int]:
        return {label: i for i, label in enumerate(self.labels)} | self.own
