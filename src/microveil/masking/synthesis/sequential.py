"""The tree model: each column is drawn from the leaves of a tree grown on the columns before it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from microveil.masking.synthesis.columns import Column, Drawn, Smoothing
from microveil.numerics.core.compiled import over_chunks
from microveil.numerics.statistics.conditional_trees import BinArray, Cuts, Tree, grow, leaves_of, nominal_bins
from microveil.progress import Part, Progress, parts
from microveil.randomness import Streams
from microveil.typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class TreeModel:
    """Fewest records of a leaf, what a cut must gain, and whether numbers are smoothed."""

    leaf: int
    evidence: float
    smooth: bool
    label: str

    def draw(
        self, columns: list[Column], given: list[Column], streams: Streams, progress: Progress
    ) -> dict[str, Drawn]:
        """Synthetic columns, drawn one after the other."""
        known = [_binned(column)[0] for column in given]
        known += [column.states for column in columns if column.missing_stays and column.states.any()]
        nominal = [not column.ordered for column in given] + [True] * (len(known) - len(given))
        binned = [_binned(column) for column in columns]
        bins = np.stack([*known, *(own for own, _ in binned)])
        is_nominal = np.array([*nominal, *(not column.ordered for column in columns)])
        trees = self._grow(columns, bins, is_nominal, len(known), Part(progress, 0.0, 0.7))
        drawn_bins = bins.copy()
        drawn: dict[str, Drawn] = {}
        for j, part in enumerate(parts(Part(progress, 0.7, 1.0), len(columns))):
            column, before = columns[j], drawn_bins[: len(known) + j]
            drawn[column.name] = self._draw_column(column, trees[j], before, streams.generator(column.name))
            cuts = binned[j][1]
            if cuts is None:
                drawn_bins[len(known) + j] = binned[j][0][drawn[column.name].donors]
            else:
                drawn_bins[len(known) + j] = cuts.bins(drawn[column.name].numbers(column))
            part(1.0, f"{self.label}: {column.name}")
        return drawn

    def _grow(
        self, columns: list[Column], bins: BinArray, nominal: BoolArray, known: int, progress: Progress
    ) -> list[list[Tree]]:
        """The trees of each column: one for which way it is missing, if any, and one for its values."""
        jobs: list[tuple[int, FloatArray | IntArray, IntArray]] = []
        for j, column in enumerate(columns):
            everywhere, present = np.arange(len(column.values)), np.flatnonzero(column.present)
            if column.ordered:
                if len(present) < len(everywhere) and not column.missing_stays:
                    jobs.append((j, column.states.astype(np.int64), everywhere))
                jobs.append((j, column.values, present))
            else:
                jobs.append((j, column.codes, present if column.missing_stays else everywhere))

        def work(start: int, end: int) -> Tree:
            j, target, rows = jobs[start]
            before = known + j
            return grow(bins[:before], nominal[:before], target, rows, leaf=self.leaf, evidence=self.evidence)

        grown = over_chunks(work, len(jobs), 1, progress, f"{self.label}: growing trees")
        return [
            [tree for (owner, _, _), tree in zip(jobs, grown, strict=True) if owner == j] for j in range(len(columns))
        ]

    def _draw_column(self, column: Column, trees: list[Tree], before: BinArray, rng: np.random.Generator) -> Drawn:
        """For each record a donor from its leaf; a record whose missing cell stays is its own."""
        donors = np.arange(len(column.values))
        to_draw = column.present if column.missing_stays else np.ones(len(donors), dtype=np.bool_)
        if len(trees) == 2:
            donors = trees[0].rows[_positions(trees[0], before, rng)[0]]
            to_draw = column.present[donors]
        records = np.flatnonzero(to_draw)
        positions, start, end = _positions(trees[-1], before[:, records], rng)
        donors[records] = trees[-1].rows[positions]
        if column.kind != "numeric" or not self.smooth:
            return Drawn(donors)
        values = np.full(len(donors), np.nan)
        values[records] = Smoothing(column, self.leaf)(trees[-1].rows, positions, start, end, rng)
        return Drawn(donors, values)


def _binned(column: Column) -> tuple[BinArray, Cuts | None]:
    """The bins of a column, and where it is cut if it is ordered."""
    if not column.ordered:
        return nominal_bins(column.codes), None
    cuts = Cuts.of(column.values)
    return cuts.bins(column.values), cuts


def _positions(tree: Tree, bins: BinArray, rng: np.random.Generator) -> tuple[IntArray, IntArray, IntArray]:
    """For each record a position drawn among the rows of its leaf, and where these begin and end."""
    leaves = leaves_of(tree, np.ascontiguousarray(bins))
    start, end = tree.start[leaves], tree.end[leaves]
    return start + (rng.random(len(leaves)) * (end - start)).astype(np.int64), start, end
