"""Matrix masking, the general form V' = A V B + C, and other releases written in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from microveil.errors import DataError, ParameterError
from microveil.masking.base import Masked, Method
from microveil.masking.columns import columns_of, numbers_of
from microveil.masking.partition import Partition
from microveil.masking.randomising.noise import independent_noise
from microveil.masking.release import Release
from microveil.microdata import Microdata
from microveil.microdata.pairs import Pair
from microveil.numerics.groups import means_by_group
from microveil.numerics.moments import covariance_root
from microveil.numerics.standard import Scaling
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress, parts
from microveil.randomness import Streams

FloatArray = npt.NDArray[np.float64]


@parameterised
class Matrix(Method):
    """V' = V B + C: the attributes are mixed by the matrix B and displaced by C, a shift and normal noise.

    B has a row for each attribute that goes in and a column for each that comes out; unset, nothing is mixed. The
    noise has the covariance given, or, unset, alpha times the variance of each attribute that comes out, independent in
    every cell. A constant attribute that stays constant gets no noise of that kind. What changes records (A) depends
    on the data and is the work of the other methods; `to_matrix_mask` writes their releases in this form.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"wage": [10.0, 20.0, 30.0], "rent": [1.0, 5.0, 3.0]})
    >>> mixed = Matrix(mixing=[[0.9, 0.0], [0.1, 1.0]], shift=[0.0, 2.0], alpha=0.0).mask(people, seed=1)
    >>> mixed.frame["wage"].to_pylist(), mixed.frame["rent"].to_pylist()
    ([9.1, 18.5, 27.3], [3.0, 7.0, 5.0])
    """

    name: ClassVar[str] = "matrix"
    family: ClassVar[str] = "randomising"
    summary: ClassVar[str] = "matrix masking: attributes are multiplied by a matrix; a shift and noise are added"
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)
    missing: ClassVar[str] = (
        "missing cells and missing codes stay as they are; into other attributes they are mixed with their mean"
    )
    source: ClassVar[str] = "Duncan and Pearson (1991), Cox (1994); specification 01, equation 2.1 (MK-0)"

    mixing: tuple[tuple[float, ...], ...] | None = parameter(
        None, help="B: a row for each attribute in, a column for each attribute out; unset: nothing is mixed"
    )
    shift: tuple[float, ...] | None = parameter(None, help="what is added to each attribute; unset: nothing")
    covariance: tuple[tuple[float, ...], ...] | None = parameter(
        None, help="covariance of the noise, in the data's units; unset: alpha decides"
    )
    alpha: float = parameter(
        0.1, help="without a covariance: variance of the noise, as a share of the attribute's", ge=0, le=1e6
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "joint", self.mixing is not None or self.covariance is not None)

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        values = numbers_of(data, attributes)
        size = len(attributes)
        mixed = values
        if self.mixing is not None:
            mixing = _square("mixing", self.mixing, size)
            mixed = np.where(np.isnan(values), Scaling.of(values).mean, values) @ mixing
            mixed = np.where(np.isnan(values), np.nan, mixed)
        drawn = np.empty_like(values)
        for j, (name, part) in enumerate(zip(attributes, parts(progress, size), strict=True)):
            drawn[:, j] = streams.generator(name).standard_normal(len(values))
            part(0.9, f"{self.name}: {name}")
        return Masked(columns_of(data, attributes, mixed + self._shift(size) + self._noise(mixed, drawn)))

    def _shift(self, size: int) -> FloatArray:
        shift = np.array(self.shift if self.shift is not None else (0.0,) * size)
        if len(shift) != size:
            raise ParameterError(f"matrix: shift has {len(shift)} numbers, but {size} attributes are masked")
        return shift

    def _noise(self, mixed: FloatArray, drawn: FloatArray) -> FloatArray:
        if self.covariance is None:
            return independent_noise(mixed, self.alpha, drawn)
        covariance = _square("covariance", self.covariance, mixed.shape[1])
        lowest = float(np.linalg.eigvalsh((covariance + covariance.T) / 2.0)[0])
        if not np.allclose(covariance, covariance.T) or lowest < -1e-9 * float(np.abs(covariance).max()):
            raise ParameterError("matrix: covariance is not allowed; it must be symmetric without negative eigenvalues")
        return np.asarray(drawn @ covariance_root(covariance))


def _square(name: str, rows: Sequence[Sequence[float]], size: int) -> FloatArray:
    if len(rows) != size or any(len(row) != size for row in rows):
        raise ParameterError(f"matrix: {name} must have {size} rows of {size} numbers, one for each attribute masked")
    return np.array(rows, dtype=np.float64)


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
    - The same values in other places: A permutes the records, and C is 0.
    - Anything else: A and B change nothing, and C is the noise.

    Attributes with missing cells have no such form and are refused.

    >>> from microveil.masking.microaggregation.mdav import MDAV
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
        masks[name] = _matrix_mask(before, after, partition, release.matrices.get(name))
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
