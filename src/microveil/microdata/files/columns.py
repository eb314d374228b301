"""Columns converted for files whose format does not have Arrow's types, and back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from microveil.errors import FileError

EXACT_IN_DOUBLE = 2**53
# with these a spreadsheet takes a text for a formula, or for something to carry out
FORMULA_MARKS = ("=", "+", "-", "@", "\t", "\r")
FORMULA = r"[-=+@\t\r]"


def text_of(column: pa.Array, name: str, path: Path) -> pa.Array:
    """Any column as text: numbers in the shortest form that gives them back, dates in ISO form, NaN as missing."""
    if pa.types.is_string(column.type):
        return column
    if pa.types.is_floating(column.type):
        column = without_nan(column)
    try:
        return column.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise FileError(path, f"a column of {column.type} cannot be written to this format", column=name) from None


def without_nan(column: pa.Array) -> pa.Array:
    """NaN is a missing number."""
    undefined = pc.is_nan(column)
    if not pc.any(undefined, min_count=0).as_py():
        return column
    return pc.if_else(undefined.fill_null(False), pa.scalar(None, column.type), column)


def whole_if_possible(column: pa.Array) -> pa.Array:
    """Doubles as whole numbers if all of them are; formats that know only doubles store codes and counts so."""
    column = without_nan(column)
    values = column.drop_null().to_numpy(zero_copy_only=False)
    if not len(values) or not (np.abs(values) < EXACT_IN_DOUBLE).all() or (np.floor(values) != values).any():
        return column
    return column.cast(pa.int64())


def doubles_of(column: pa.Array, name: str, path: Path) -> pa.Array:
    """A numeric column as doubles, for formats that have no other numbers; refused where that would change it."""
    if pa.types.is_floating(column.type):
        return without_nan(column.cast(pa.float64()))
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    try:
        return column.cast(pa.float64())
    except pa.ArrowInvalid:
        raise FileError(
            path, "whole numbers beyond 2^53 do not fit this format; use .csv or .parquet", column=name
        ) from None


def is_numeric(column: pa.Array) -> bool:
    kind = column.type
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_null(kind)
        or pa.types.is_decimal(kind)
    )
