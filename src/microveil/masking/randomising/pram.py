"""PRAM: the post-randomisation method for categorical attributes."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from microveil.errors import DataError
from microveil.masking.base import Masked, Method
from microveil.microdata import Categories, Microdata
from microveil.microdata.schema import CATEGORICAL
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress, parts
from microveil.randomness import Streams

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
_MOST_CATEGORIES = 5000


def frequency_matrix(frequencies: npt.ArrayLike, p: float) -> FloatArray:
    """Transition matrix whose diagonal is p and whose rows favour rare categories: row k goes to l != k with

        (1 - p) (T - t_k - t_l) / ((L - 2) (T - t_k)),    T the sum of the frequencies t of the L categories.

    >>> frequency_matrix([2, 1, 1], 0.8).round(3).tolist()
    [[0.8, 0.1, 0.1], [0.067, 0.8, 0.133], [0.067, 0.133, 0.8]]
    """
    t = np.asarray(frequencies, dtype=np.float64)
    size, total = len(t), t.sum()
    if size == 1:
        return np.ones((1, 1))
    left = total - t
    if size == 2:
        matrix = np.full((2, 2), 1.0 - p)
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            matrix = (1.0 - p) * (left[:, None] - t[None, :]) / ((size - 2) * left[:, None])
        # all records in one category: nothing to weigh by, so the others share alike
        matrix[left == 0] = (1.0 - p) / (size - 1)
    np.fill_diagonal(matrix, p)
    return matrix


def draw_categories(codes: IntArray, matrix: FloatArray, rng: np.random.Generator) -> IntArray:
    """For every record a category drawn from the row of its own; code -1 (missing) stays."""
    draws = rng.random(len(codes))
    drawn = codes.copy()
    cumulative = np.cumsum(matrix, axis=1)
    for row in range(len(matrix)):
        records = np.flatnonzero(codes == row)
        # the last category with any probability also takes what rounding leaves over
        last = int(np.flatnonzero(matrix[row] > 0)[-1])
        drawn[records] = np.minimum(np.searchsorted(cumulative[row], draws[records], side="right"), last)
    return drawn


@parameterised
class PRAM(Method):
    """Each record publishes a category drawn from the row of a transition matrix that belongs to its true category.

    The matrix keeps a category with probability p and otherwise prefers rare ones; each attribute is drawn by itself.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"sex": ["f", "m", "f", "f"]})
    >>> PRAM(p=1.0).mask(people, seed=1).frame["sex"].to_pylist()
    ['f', 'm', 'f', 'f']
    """

    name: ClassVar[str] = "pram"
    family: ClassVar[str] = "randomising"
    summary: ClassVar[str] = "categories are exchanged at random by a known transition matrix"
    kinds: ClassVar[tuple[str, ...]] = CATEGORICAL
    missing: ClassVar[str] = (
        "a category like the others where missing is a category of its own; otherwise missing cells stay as they are"
    )
    source: ClassVar[str] = "Gouweleeuw, Kooiman, Willenborg and de Wolf (1998); specification 05, PM-01 and PM-02"

    p: float = parameter(0.8, help="probability that a category stays as it is", ge=0, le=1)

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        columns, matrices = {}, {}
        for name, part in zip(attributes, parts(progress, len(attributes)), strict=True):
            column = data.categories(name)
            if len(column.domain) > _MOST_CATEGORIES:
                raise DataError(
                    f"attribute '{name}' has {len(column.domain):,} categories, and pram's matrix has room for "
                    f"{_MOST_CATEGORIES:,}; recode it first"
                )
            if column.domain:
                matrices[name] = frequency_matrix(column.frequencies, self.p)
                drawn = draw_categories(column.codes, matrices[name], streams.generator(name))
                column = Categories(name, drawn, column.domain)
            columns[name] = data.category_column(column)
            part(1.0, f"{self.name}: {name}")
        return Masked(columns, matrices=matrices)
