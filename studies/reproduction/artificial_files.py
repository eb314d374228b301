"""Files that the sources made up: drawn from a dependence tree, or on a circle and a sphere.

Fayyoumi (2008), chapter 6; Nin (2008), sections 3.1.2 and 3.1.3.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from microveil.microdata import Microdata
from microveil.typing import FloatArray, IntArray

# --- files drawn from a tree --------------------------------------------------------------------------------------


def random_tables(parents: Sequence[int], size: int, rng: np.random.Generator) -> list[FloatArray]:
    """For the root a random probability vector over so many intervals, for each child one for each of its parent's."""
    return [
        rng.dirichlet(np.ones(size), size=1 if parent < 0 else size) if size > 1 else np.ones((1, 1))
        for parent in parents
    ]


def draw_codes(
    parents: Sequence[int], tables: Sequence[FloatArray], records: int, rng: np.random.Generator
) -> IntArray:
    """Draw records along a tree. A node's parent comes before it, the root's is -1; row l of a node's table is its
    distribution where its parent is in interval l."""
    codes = np.zeros((records, len(parents)), dtype=np.int64)
    for node, parent in enumerate(parents):
        if parent >= node:
            raise ValueError(f"node {node} comes before its parent {parent}")
        bounds = np.cumsum(np.atleast_2d(tables[node]), axis=1)[:, :-1]
        row = codes[:, parent] if parent >= 0 else np.zeros(records, dtype=np.int64)
        codes[:, node] = (rng.random(records)[:, None] >= bounds[row]).sum(axis=1)
    return codes


def draw_values(codes: IntArray, width: int, rng: np.random.Generator) -> FloatArray:
    """Whole numbers, uniform inside their intervals: 1 to `width` for the first, and so on."""
    return (codes * width + rng.integers(1, width, size=codes.shape, endpoint=True)).astype(np.float64)


# --- the circle and the sphere ------------------------------------------------------------------------------------

_COSINES = np.cos(np.array([1, 3, 5, 7, 9]) * np.pi / 20)
_SINES = _COSINES[::-1]  # the angles lie evenly in the quarter circle


def circle_file() -> Microdata:
    """Twenty points of a circle: a1 and a3 are x, a2 and a4 are y."""
    signs = np.array([(s, t) for s in (1, -1) for t in (1, -1)])
    points = np.column_stack([_COSINES, _SINES])
    return _repeated((points[:, None, :] * signs).reshape(-1, 2), 2)


def sphere_file() -> Microdata:
    """Two hundred points of a sphere: a1, a4 and a7 are x, a2, a5 and a8 are y, a3, a6 and a9 are z."""
    signs = np.array([(s, t, u) for s in (1, -1) for t in (1, -1) for u in (1, -1)])
    points = np.array(
        [
            (c * x, c * y, z)
            for c, z in zip(_COSINES, _SINES, strict=True)
            for x, y in zip(_COSINES, _SINES, strict=True)
        ]
    )
    return _repeated((points[:, None, :] * signs).reshape(-1, 3), 3)


def _repeated(points: FloatArray, times: int) -> Microdata:
    cells = np.tile(points, times)
    return Microdata.of({f"a{j + 1}": cells[:, j] for j in range(cells.shape[1])})
