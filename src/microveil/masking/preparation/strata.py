"""The strata of a file."""

from __future__ import annotations

import numpy as np

from microveil.errors import DataError, ParameterError
from microveil.masking.partition import Partition
from microveil.microdata import Microdata
from microveil.microdata.microdata import count
from microveil.typing import FloatArray, IntArray


def strata_of(data: Microdata, k: int) -> list[IntArray]:
    """The records of each stratum; a stratum with fewer than k records is refused."""
    names = data.schema.having("stratum")
    if not names:
        raise ParameterError("strata = True is not allowed; no attribute has the role stratum")
    codes = [_codes(data, name) for name in names]
    _, inverse = np.unique(np.column_stack(codes), axis=0, return_inverse=True)
    strata = Partition.of(inverse.reshape(-1)).groups
    small = sum(len(rows) < k for rows in strata)
    if small:
        raise DataError(f"{count(small, 'stratum') if small == 1 else f'{small} strata'} have fewer than {k} records")
    return strata


def _codes(data: Microdata, name: str) -> FloatArray:
    if data[name].kind == "numeric":
        return np.nan_to_num(data.numbers(name).values, nan=np.inf)
    return data.categories(name).codes.astype(np.float64)
