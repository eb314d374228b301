"""The cells of an attribute in two tables as numbers that are equal where the cells are."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from microveil.microdata.microdata import encoded
from microveil.microdata.schema import category_key
from microveil.typing import FloatArray, IntArray


def common_codes(before: pa.Array, after: pa.Array, rounding: float = 0.0) -> tuple[IntArray, IntArray]:
    """The cells of both columns numbered 0, 1, ... by what they hold; -1 where empty.

    With `rounding`, neighbouring numbers are equal that differ by no more than this share of the largest or of the
    range of all.

    >>> [codes.tolist() for codes in common_codes(pa.array(["a", "b", None]), pa.array(["b", "c", "b"]))]
    [[0, 1, -1], [1, 2, 1]]
    """
    if is_number(before) and is_number(after):
        values = np.concatenate([as_floats(before), as_floats(after)])
        present = ~np.isnan(values)
        codes = np.full(len(values), -1, dtype=np.int64)
        distinct, which = np.unique(values[present], return_inverse=True)
        number = np.arange(len(distinct))
        if rounding and len(distinct):
            border = rounding * max(np.ptp(distinct), np.abs(distinct).max())
            number = np.cumsum(np.diff(distinct, prepend=distinct[0]) > border)
        codes[present] = number[which.reshape(-1)]
        return codes[: len(before)], codes[len(before) :]
    numbers: dict[object, int] = {}
    return numbered(before, numbers), numbered(after, numbers)


def is_number(column: pa.Array) -> bool:
    """Whether the cells of a column are numbers."""
    return bool(
        pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_decimal(column.type)
    )


def as_floats(column: pa.Array) -> FloatArray:
    """A column of numbers, NaN where empty."""
    return np.array(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)


def numbered(column: pa.Array, numbers: dict[object, int]) -> IntArray:
    """The cells of a column by the numbers that earlier columns have given out, and new ones; -1 where empty."""
    held, codes = encoded(column)
    number = np.array([*(numbers.setdefault(category_key(value), len(numbers)) for value in held), -1], dtype=np.int64)
    return np.asarray(number[codes])
