"""The border to pandas, polars and pyarrow: columns leave as Arrow arrays and return in the frame's own type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from microveil.errors import DataError
from microveil.microdata.schema import category_key

Frame = nw.DataFrame[Any]
_LARGEST_TEXT = 2**31 - 1  # bytes that plain Arrow text can hold in one piece


def open_frame(table: Any) -> Frame:
    """Take a pandas, polars or pyarrow table (or a mapping of columns) without ever changing it."""
    if isinstance(table, nw.DataFrame):
        frame: Frame = table
    elif isinstance(table, Mapping):
        try:
            frame = nw.from_native(pa.table(dict(table)), eager_only=True)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError, ValueError):
            raise DataError(f"these columns do not make a table: {_what_is_wrong(table)}") from None
    else:
        _check_names(_native_names(table))
        try:
            frame = nw.from_native(table, eager_only=True)
        except TypeError:
            raise DataError(
                f"a table must be a pandas, polars or pyarrow frame or a mapping of columns, not {type(table).__name__}"
            ) from None
    _check_names(frame.columns)
    return own_frame(frame)


def _native_names(table: Any) -> Sequence[Any]:
    """The column names before any library has looked at them: repeated ones fail differently in each."""
    if isinstance(table, pa.Table):
        return list(table.column_names)
    return list(table.columns) if type(table).__module__.split(".")[0] == "pandas" else []


def _check_names(names: Sequence[Any]) -> None:
    seen: dict[str, int] = {}
    for position, name in enumerate(names, start=1):
        if not isinstance(name, str):
            raise DataError(f"column names must be text, but column {position} is named {name!r}; rename it")
        if not name.strip():
            raise DataError(f"column {position} has no name; give it one")
        if name in seen:
            raise DataError(f"two columns (number {seen[name]} and {position}) are named '{name}'; rename one of them")
        seen[name] = position


def own_frame(frame: Frame) -> Frame:
    """A frame that changes made elsewhere do not reach: pandas frames are the only ones that change in place."""
    if not frame.implementation.is_pandas():
        return frame
    import pandas as pd

    copy_on_write = int(pd.__version__.split(".")[0]) >= 3
    return nw.from_native(frame.to_native().copy(deep=not copy_on_write), eager_only=True)


def arrow_column(frame: Frame, name: str) -> pa.Array:
    """One column as one Arrow array; dictionary-encoded text comes out as text, NaN of pandas as null."""
    try:
        column = frame[name].to_arrow()
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        raise DataError(f"column '{name}' holds values of several types; make them all numbers or all text") from None
    if pa.types.is_string(column.type) and column.nbytes > _LARGEST_TEXT:
        column = column.cast(pa.large_string())
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if isinstance(column, pa.ChunkedArray):  # a chunked array without chunks
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], type=column.type)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_large_string(column.type) or pa.types.is_string_view(column.type):
        column = column.cast(pa.large_string())
    return column


def with_arrow_columns(frame: Frame, columns: Mapping[str, pa.Array]) -> Frame:
    """The frame with some columns replaced, each back in its former type where the new values allow it."""
    if not columns:
        return frame
    if frame.implementation.is_pandas():
        return _with_pandas_columns(frame, columns)
    replaced = nw.DataFrame.from_arrow(pa.table(dict(columns)), backend=frame.implementation)
    series = []
    for name, column in columns.items():
        before, after = frame[name].dtype, replaced[name]
        fits = _keeps_values(before, column.type) and not _outside(before, column)
        series.append(_cast(after, before) if fits and before != after.dtype else after)
    return frame.with_columns(*series)


def _cast(series: nw.Series[Any], dtype: Any) -> nw.Series[Any]:
    """In the former type, unless the library has no way there."""
    try:
        return series.cast(dtype)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, nw.exceptions.NarwhalsError, TypeError):
        return series


def _keeps_values(dtype: Any, arrow_type: pa.DataType) -> bool:
    """Whether values of this Arrow type stay what they are in the frame's dtype: labels do not become truth values."""
    if dtype.is_float():
        return bool(pa.types.is_floating(arrow_type))
    if dtype.is_integer():
        return bool(pa.types.is_integer(arrow_type))
    if dtype.is_numeric():
        return False
    if dtype.is_temporal():
        return bool(pa.types.is_temporal(arrow_type))
    if dtype == nw.Boolean:
        return bool(pa.types.is_boolean(arrow_type))
    if isinstance(dtype, nw.String | nw.Categorical | nw.Enum):
        return bool(pa.types.is_string(arrow_type) or pa.types.is_large_string(arrow_type))
    return not dtype.is_nested()


def _outside(dtype: Any, column: pa.Array) -> bool:
    """Whether some text is none of the categories that the dtype is made for."""
    if not isinstance(dtype, nw.Enum):
        return False
    return not set(pc.unique(column.drop_null()).to_pylist()) <= set(dtype.categories)


def _with_pandas_columns(frame: Frame, columns: Mapping[str, pa.Array]) -> Frame:
    native = frame.to_native()
    new = {}
    for name, column in columns.items():
        series = column.to_pandas().copy()  # Arrow's memory is read-only, the caller's frame is not
        series.index = native.index
        if series.dtype != native[name].dtype and _fits_pandas(frame[name].dtype, native[name].dtype, column):
            series = series.astype(native[name].dtype)
        new[name] = series
    return nw.from_native(native.assign(**new), eager_only=True)


def _fits_pandas(dtype: Any, own: Any, column: pa.Array) -> bool:
    import pandas as pd

    if isinstance(own, pd.CategoricalDtype):  # its categories may be anything, and what is none of them would be lost
        known = {category_key(category) for category in own.categories}
        return {category_key(value) for value in pc.unique(column.drop_null()).to_pylist()} <= known
    # numpy's whole numbers and truth values have no room for an empty cell
    has_room = not (column.null_count and own.kind in "iub" and isinstance(own, np.dtype))
    return has_room and _keeps_values(dtype, column.type)


def _what_is_wrong(columns: Mapping[Any, Any]) -> str:
    """Which column cannot be one, or that they differ in length; Arrow's own words would repeat cells."""
    lengths = set()
    for name, cells in columns.items():
        try:
            lengths.add(len(pa.array(cells)))
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError, ValueError):
            return f"'{name}' must hold numbers only or texts only"
    return "they differ in length" if len(lengths) > 1 else "give names and lists of equal length"
