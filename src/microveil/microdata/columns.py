"""The attributes of a pair of tables as one matrix each, whatever their kinds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from microveil.microdata.distances import category_distance
from microveil.microdata.pairs import Pair
from microveil.numerics.standard import Scaling

if TYPE_CHECKING:
    from microveil.numerics.boxes import Cells

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Metric = Literal["euclidean", "manhattan"]
Scale = Literal["separate", "joint"]


@dataclass(frozen=True)
class Columns:
    """The attributes before and after masking, in rows: numbers or places in a domain; NaN is missing."""

    before: FloatArray
    after: FloatArray
    kinds: tuple[str, ...]
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, pair: Pair, attributes: Sequence[str]) -> Columns:
        sides: tuple[list[FloatArray], list[FloatArray]] = ([], [])
        sizes = []
        for name in attributes:
            columns = _numbers(pair, name) if pair.original[name].kind == "numeric" else _codes(pair, name)
            for side, column, data in zip(sides, columns[:2], (pair.original, pair.masked), strict=True):
                side.append(np.where(data.missing_states(name) > 0, np.nan, column))
            sizes.append(columns[2])
        kinds = tuple(pair.original[name].kind for name in attributes)
        return cls(np.stack(sides[0]), np.stack(sides[1]), kinds, tuple(sizes))

    def cells(
        self, metric: Metric, scale: Scale, sources: IntArray, direction: Literal["original", "masked"] = "original"
    ) -> Cells:
        """What distances are taken on, from these records of one file to all of the other."""
        from microveil.numerics.boxes import Cells
        from microveil.numerics.nearest import ABSOLUTE, CATEGORY, SQUARED

        numeric = np.array([kind == "numeric" for kind in self.kinds])
        scalings = [Scaling.of(side.T) for side in (self.before, self.before if scale == "joint" else self.after)]
        before, after = (
            np.where(numeric[:, None], scaling.apply(side.T).T, side)
            for scaling, side in zip(scalings, (self.before, self.after), strict=True)
        )
        distances = [category_distance(kind, size) for kind, size in zip(self.kinds, self.sizes, strict=True)]
        form = np.where(numeric, SQUARED if metric == "euclidean" else ABSOLUTE, CATEGORY)
        start, slope = np.array([d.start for d in distances]), np.array([d.slope for d in distances])
        one, other = (before, after) if direction == "original" else (after, before)
        return Cells(one[:, sources], other, form, start, slope)


def _numbers(pair: Pair, name: str) -> tuple[FloatArray, FloatArray, int]:
    before, after = pair.numbers(name)
    return before.values, after.values, 0


def _codes(pair: Pair, name: str) -> tuple[FloatArray, FloatArray, int]:
    before, after = pair.categories(name)
    return before.codes.astype(np.float64), after.codes.astype(np.float64), len(before.domain)
