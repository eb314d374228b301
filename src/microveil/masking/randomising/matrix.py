"""Matrix masking, the general form V' = A V B + C, and other releases written in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from microveil.errors import ParameterError
from microveil.masking.base import Masked, Method
from microveil.masking.columns import columns_of
from microveil.masking.randomising.noise import independent_noise, standard_normals
from microveil.microdata import Microdata
from microveil.numerics.statistics.moments import covariance_root
from microveil.numerics.statistics.scaling import Scaling
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress
from microveil.randomness import Streams
from microveil.typing import FloatArray


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
    source: ClassVar[str] = "Duncan and Pearson (1991), Cox (1994); Fayyoumi (2008), section 2.5.1, Eq. 2.1"

    mixing: tuple[tuple[float, ...], ...] | None = parameter(
        default=None, help="B: a row for each attribute in, a column for each attribute out; unset: nothing is mixed"
    )
    shift: tuple[float, ...] | None = parameter(default=None, help="what is added to each attribute; unset: nothing")
    covariance: tuple[tuple[float, ...], ...] | None = parameter(
        default=None, help="covariance of the noise, in the data's units; unset: alpha decides"
    )
    alpha: float = parameter(
        default=0.1, help="without a covariance: variance of the noise, as a share of the attribute's", ge=0, le=1e6
    )

    @property
    def is_joint(self) -> bool:
        return self.mixing is not None or self.covariance is not None

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        values = data.matrix(attributes)
        size = len(attributes)
        mixed = values
        if self.mixing is not None:
            mixing = _square("mixing", self.mixing, size)
            mixed = np.where(np.isnan(values), Scaling.of(values).mean, values) @ mixing
            mixed = np.where(np.isnan(values), np.nan, mixed)
        drawn = standard_normals(data, attributes, streams, progress, self.name)
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
