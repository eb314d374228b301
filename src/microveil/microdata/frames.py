"""The border to pandas, polars and pyarrow: columns leave as Arrow arrays and return in the frame's own type."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from microveil.errors import DataError, brief, shortened
from microveil.microdata.schema import category_key

Frame = nw.DataFrame[Any]
_WHAT_TO_CALL = {
    "Series": "; a series is one column, which its to_frame() makes a table",
    "LazyFrame": "; its collect() makes the table",
    "RecordBatch": "; pyarrow.Table.from_batches([...]) makes it a table",
    "str": "; read(path) reads a file",
    "PosixPath": "; read(path) reads a file",
    "WindowsPath": "; read(path) reads a file",
    "ndarray": "; give its columns names, as in {'age': matrix[:, 0]}",
}
# what the libraries raise where a column has no form in Arrow
_NO_ARROW = (pa.ArrowException, nw.exceptions.NarwhalsError, TypeError, ValueError, OverflowError, AttributeError)
_LARGEST_TEXT = 2**31 - 1  # bytes that plain Arrow text can hold in one piece


def open_frame(table: Any) -> Frame:
    """Take a pandas, polars or pyarrow table (or a mapping of columns) without ever changing it."""
    if isinstance(table, nw.DataFrame):
        frame: Frame = table
    elif isinstance(table, Mapping):
        _check_names(list(table))
        try:
            columns = {name: _column_of(cells) for name, cells in table.items()}
            frame = nw.from_native(pa.table(columns), eager_only=True)
        except _NO_ARROW:
            raise DataError(f"these columns do not make a table: {_what_is_wrong(table)}") from None
    else:
        _check_names(_native_names(table))
        try:
            frame = nw.from_native(table, eager_only=True)
        except (TypeError, nw.exceptions.NarwhalsError):
            raise DataError(
                "a table must be a pandas, polars or pyarrow frame or a mapping of columns, "
                f"not {type(table).__name__}{_WHAT_TO_CALL.get(type(table).__name__, '')}"
            ) from None
    _check_names(frame.columns)
    return own_frame(frame)


def _native_names(table: Any) -> Sequence[Any]:
    """The column names before any library has looked at them: repeated ones fail differently in each."""
    if isinstance(table, pa.Table):
        return list(table.column_names)
    is_pandas = type(table).__module__.split(".")[0] == "pandas" and type(table).__name__ == "DataFrame"
    return list(table.columns) if is_pandas else []


def _check_names(names: Sequence[Any]) -> None:
    seen: dict[str, int] = {}
    for position, name in enumerate(names, start=1):
        if not isinstance(name, str):
            raise DataError(f"column names must be text, but column {position} is named {brief(name)}; rename it")
        if not name.strip():
            raise DataError(f"column {position} has no name; give it one")
        if name in seen:
            raise DataError(
                f"two columns (number {seen[name]} and {position}) are named '{shortened(name)}'; rename one of them"
            )
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
    column = _to_arrow(frame, name)
    if column is None:
        raise DataError(
            f"column '{shortened(name)}' holds {_words_of_dtype(frame, name)}; "
            "to use it, make its values all numbers, all dates or all text"
        )
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


def _to_arrow(frame: Frame, name: str) -> Any:
    """A column as its library gives it to Arrow; None where it has no form there."""
    series = frame[name]
    if _has_intervals(frame, name):
        cells = series.to_native()
        return pa.array(cells.astype(object).map(str).where(cells.notna(), None), type=pa.string())
    try:
        # objects of polars are nothing but addresses in memory
        return series.to_arrow() if not _has_addresses(frame, name) else _of_long_numbers(series.to_list())
    except _NO_ARROW:
        return _of_long_numbers(series.to_list())


def _has_addresses(frame: Frame, name: str) -> bool:
    return frame.implementation.is_polars() and isinstance(frame.schema[name], nw.Object)


def _has_intervals(frame: Frame, name: str) -> bool:
    """Whether it is a column of pandas that holds intervals, such as `pandas.cut` makes."""
    if not frame.implementation.is_pandas():
        return False
    import pandas as pd

    dtype = frame.to_native()[name].dtype
    return isinstance(getattr(dtype, "categories", None), pd.IntervalIndex) or isinstance(dtype, pd.IntervalDtype)


def ordered_intervals(frame: Frame, name: str) -> tuple[str, ...]:
    """The texts of ordered intervals in their order; none of any other column."""
    if not _has_intervals(frame, name):
        return ()
    dtype = frame.to_native()[name].dtype
    return tuple(map(str, dtype.categories)) if getattr(dtype, "ordered", False) else ()


def _column_of(cells: Any) -> Any:
    """One column of a mapping."""
    try:
        return cells if isinstance(cells, pa.ChunkedArray) else pa.array(cells)
    except OverflowError:
        return _of_long_numbers(list(cells))


def _of_long_numbers(cells: list[Any]) -> pa.Array | None:
    """Whole numbers beyond 64 bits as decimals, if that is what a column holds."""
    cells = [None if isinstance(cell, float) and math.isnan(cell) else cell for cell in cells]
    present = [cell for cell in cells if cell is not None]
    if not all(isinstance(cell, int) and not isinstance(cell, bool) and abs(cell) < 10**76 for cell in present):
        return None
    if all(-(2**63) <= cell < 2**63 for cell in present):
        return pa.array(cells, type=pa.int64())
    return pa.array([None if cell is None else Decimal(int(cell)) for cell in cells], type=pa.decimal256(76, 0))


def _words_of_dtype(frame: Frame, name: str) -> str:
    """What a column without a form in Arrow holds."""
    native = frame[name].to_native().dtype
    return "values of several types" if str(native).lower() == "object" else f"values of type {native}"


def type_words(kind: pa.DataType) -> str:
    """What a column holds, as a user would call it."""
    tests: tuple[tuple[str, Callable[[pa.DataType], bool]], ...] = (
        ("text", lambda kind: bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))),
        ("truth values", pa.types.is_boolean),
        ("dates or times", pa.types.is_temporal),
        ("raw bytes", holds_raw_bytes),
        ("lists, records or the like", pa.types.is_nested),
    )
    return next((words for words, fits in tests if fits(kind)), str(kind))


def holds_raw_bytes(kind: pa.DataType) -> bool:
    """Whether the cells of a column of this type are bytes without a meaning that is known here."""
    tests = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary, pa.types.is_binary_view)
    return any(test(kind) for test in tests)


def distinct_values(frame: Frame, name: str) -> int:
    """How many distinct values a column has, missing ones not counted; lists and the like count by their form."""
    column = frame[name].drop_nulls()
    try:
        return int(column.n_unique())
    except Exception:  # each library has its own errors for values it cannot compare
        return len(set(map(repr, column.to_list())))


def with_arrow_columns(frame: Frame, columns: Mapping[str, pa.Array]) -> Frame:
    """The frame with some columns replaced, each back in its former type where the new values allow it."""
    if not columns:
        return frame
    if frame.implementation.is_pandas():
        return _with_pandas_columns(frame, columns)
    series = [_of_long_cells(frame, name, column) for name, column in columns.items() if _is_long(frame, name, column)]
    columns = {name: column for name, column in columns.items() if not _is_long(frame, name, column)}
    replaced = nw.DataFrame.from_arrow(pa.table(dict(columns)), backend=frame.implementation)
    for name, column in columns.items():
        before, after = frame[name].dtype, replaced[name]
        fits = _keeps_values(before, column.type) and not _outside(before, column)
        known = not isinstance(before, nw.Unknown)  # a type that only its own library knows is there already
        series.append(_cast(after, before) if fits and known and before != after.dtype else after)
    return frame.with_columns(*series)


def _is_long(frame: Frame, name: str, column: pa.Array) -> bool:
    """Whether a column holds whole numbers beyond 64 bits that its library does not know as decimals."""
    is_arrow = frame.implementation.is_pyarrow()
    return bool(pa.types.is_decimal256(column.type)) and not is_arrow and frame.schema[name] != nw.Decimal


def _of_long_cells(frame: Frame, name: str, column: pa.Array) -> nw.Series[Any]:
    cells = [None if cell is None else int(cell) for cell in column.to_pylist()]
    return nw.new_series(name, cells, frame.schema[name], backend=frame.implementation)


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
        return dtype == nw.Decimal and bool(pa.types.is_decimal(arrow_type))
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
        if _is_long(frame, name, column):
            cells = [None if cell is None else int(cell) for cell in column.to_pylist()]
            new[name] = type(native[name])(cells, index=native.index, dtype=object)
            continue
        series = column.to_pandas().copy()  # Arrow's memory is read-only, the caller's frame is not
        series.index = native.index
        if _has_intervals(frame, name):
            new[name] = _as_intervals(series, native[name])
            continue
        if series.dtype != native[name].dtype and _fits_pandas(frame[name].dtype, native[name].dtype, column):
            series = series.astype(native[name].dtype)
        new[name] = series
    return nw.from_native(native.assign(**new), eager_only=True)


def _as_intervals(texts: Any, before: Any) -> Any:
    """Texts as the intervals of a former column; as text where one is none of these."""
    intervals = getattr(before.dtype, "categories", before.dropna().unique())
    by_text = {str(interval): interval for interval in intervals}
    if not set(texts.dropna()) <= set(by_text):
        return texts
    return texts.map(by_text).astype(before.dtype)


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
        except _NO_ARROW:
            return f"'{shortened(str(name))}' must hold numbers only or texts only"
    return "they differ in length" if len(lengths) > 1 else "give names and lists of equal length"
