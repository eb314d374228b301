"""The cells of an attribute in two tables as numbers that are equal where the cells are."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from microveil.microdata.microdata import as_categories
from microveil.microdata.schema import category_key
from microveil.typing import FloatArray, IntArray


def common_codes(before: pa.Array, after: pa.Array) -> tuple[IntArray, IntArray]:
    """The cells of both columns numbered 0, 1, ... by what they hold; -1 where empty.

    >>> [codes.tolist() for codes in common_codes(pa.array(["a", "b", None]), pa.array(["b", "c", "b"]))]
    [[0, 1, -1], [1, 2, 1]]
    """
    if is_number(before) and is_number(after):
        values = np.concatenate([as_floats(before), as_floats(after)])
        present = ~np.isnan(values)
        codes = np.full(len(values), -1, dtype=np.int64)
        codes[present] = np.unique(values[present], return_inverse=True)[1].reshape(-1)
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
    encoded = pc.dictionary_encode(as_categories(column), null_encoding="mask")
    held = encoded.dictionary.to_pylist()
    number = np.array([*(numbers.setdefault(category_key(value), len(numbers)) for value in held), -1], dtype=np.int64)
    return np.asarray(number[encoded.indices.fill_null(len(held)).to_numpy(zero_copy_only=False)])
