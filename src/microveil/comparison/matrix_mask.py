"""A release as a matrix mask: V' = A V B + C, with A over records, B over attributes, and C what is added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from microveil.comparison.pairs import Pair
from microveil.errors import DataError
from microveil.masking.partition import Partition
from microveil.masking.release import Release
from microveil.numerics.grouping.groups import means_by_group
from microveil.typing import FloatArray


@dataclass(frozen=True)
class MatrixMask:
    """One attribute's release as V' = A V B + C: A (sparse, records by records), B and C.

    V is the attribute's column of numbers, or for categories the table of indicators, a column for each category.
    """

    A: Any
    B: FloatArray
    C: FloatArray

    def apply(self, V: FloatArray) -> FloatArray:
        """A V B + C."""
        return np.asarray(self.A @ V @ self.B + self.C)


def to_matrix_mask(original: Any, release: Release, attributes: Sequence[str] | None = None) -> dict[str, MatrixMask]:
    """Each released attribute in the matrix form, by what the release tells and shows about how it was masked.

    - Grouped records: A averages within the groups, and C is what is published beside the mean: nothing, with means.
    - Categories drawn by a transition matrix: B is that matrix, and C, of expectation 0, what the draws made of it.
    - The same values in other records: A permutes the records, and C is 0.
    - Anything else: A and B change nothing, and C is the noise.

    Attributes with missing cells have no such form and are refused.

    >>> from microveil.masking.microaggregation.mdav import MDAV
    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [20.0, 22.0, 41.0, 43.0]})
    >>> mask = to_matrix_mask(people, MDAV(k=2).mask(people))["age"]
    >>> mask.A.toarray().tolist()[0], mask.C.tolist()
    ([0.5, 0.5, 0.0, 0.0], [[0.0], [0.0], [0.0], [0.0]])
    """
    pair = Pair.of(original, release, attributes)
    masks = {}
    for name in pair.attributes:
        if name in pair.recoded:
            raise DataError(f"attribute '{name}' is released as another kind, so its masking has no matrix form")
        if pair.original.missing_states(name).any() or pair.masked.missing_states(name).any():
            raise DataError(f"attribute '{name}' has missing cells, so its masking has no matrix form")
        before, after = indicators(pair, name) if pair.original[name].is_categorical else _single_columns(pair, name)
        partition = next((p for block, p in release.partitions.items() if name in block), None)
        masks[name] = _matrix_mask(before, after, partition, release.matrices.get((name,)))
    return masks


def indicators(pair: Pair, name: str) -> tuple[FloatArray, FloatArray]:
    """A categorical attribute before and after as tables of indicators, a column for each category of its domain."""
    before, after = pair.categories(name)
    unit = np.eye(len(before.domain))
    return unit[before.codes], unit[after.codes]


def _single_columns(pair: Pair, name: str) -> tuple[FloatArray, FloatArray]:
    before, after = pair.numbers(name)
    return before.values[:, None], after.values[:, None]


def _matrix_mask(
    before: FloatArray, after: FloatArray, partition: Partition | None, transition: FloatArray | None
) -> MatrixMask:
    from scipy import sparse

    n, width = before.shape
    nothing, same = np.zeros_like(before), np.eye(width)
    if transition is not None and transition.shape == same.shape:
        return MatrixMask(sparse.identity(n, format="csr"), transition, after - before @ transition)
    if partition is not None:
        member = sparse.csr_matrix((np.ones(n), (np.arange(n), partition.labels)))
        averaging = member @ sparse.diags(1.0 / partition.sizes) @ member.T
        beside = after - means_by_group(before, partition.labels)
        return MatrixMask(averaging.tocsr(), same, np.where(np.abs(beside) > 1e-12 * np.abs(after), beside, 0.0))
    here, there = np.lexsort(before.T), np.lexsort(after.T)
    if np.array_equal(before[here], after[there]):
        moved = np.empty(n, dtype=np.int64)
        moved[there] = here
        return MatrixMask(sparse.csr_matrix((np.ones(n), (np.arange(n), moved))), same, nothing)
    return MatrixMask(sparse.identity(n, format="csr"), same, after - before)
