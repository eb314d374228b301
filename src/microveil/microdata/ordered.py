"""Ordered values as numbers and back: decimals, dates, times and durations are masked like numbers and return in their
own type.

A date counts in days since 1970-01-01, a time stamp in seconds since then, a time of day in seconds since midnight, a
duration in seconds, a period of pandas in periods. Text is read so too if all of it is dates such as 2024-05-31, or
time stamps such as 2024-05-31 08:30:00. A masked value is rounded to the nearest the column can show: a decimal to its
places; a time stamp, time or duration to the coarsest of day, hour, minute, second, millisecond, microsecond and
nanosecond that all values of the original column are whole multiples of. A value that a method left as it was returns
exactly.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from microveil.typing import BoolArray, FloatArray

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_STEPS = (86_400 * 10**9, 3_600 * 10**9, 60 * 10**9, 10**9, 10**6, 10**3, 1)  # in nanoseconds
_DAY = 86_400
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31
_LARGEST_COUNT = 2**63 - 2**11  # what a double can be below the largest of 64 bits
_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_STAMPS = {" ": _DATE[:-1] + r" [0-9]{2}:[0-9]{2}:[0-9]{2}$", "T": _DATE[:-1] + r"T[0-9]{2}:[0-9]{2}:[0-9]{2}$"}


def is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def is_ordered(kind: pa.DataType) -> bool:
    """Whether values of this type are numbers or can count as such; text has to be looked at."""
    return is_number(kind) or _is_counted(kind)


def _is_counted(kind: pa.DataType) -> bool:
    tests = (pa.types.is_date, pa.types.is_timestamp, pa.types.is_time, pa.types.is_duration)
    return any(test(kind) for test in tests) or _is_period(kind)


def _is_period(kind: pa.DataType) -> bool:
    return getattr(kind, "extension_name", "") == "pandas.period"


def numbers_in(column: pa.Array) -> FloatArray | None:
    """The values as numbers, NaN where a cell is empty; None for a column without numbers or ordered values."""
    kind = column.type
    if is_number(kind):
        return np.array(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    counted = dates_in(column)[0] if is_text(kind) else column
    if counted is None or not _is_counted(counted.type):
        return None
    counts = np.array(_counts(counted).cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)
    return counts / _per_unit(counted.type)


def cells_from(values: FloatArray, empty: BoolArray, like: pa.Array) -> pa.Array:
    """Numbers as cells of the type of another column, in which unchanged values are what they were.

    Whole numbers have no place for a mean, so theirs come back as floating-point numbers; so do decimals with more
    digits than their type has room for.
    """
    kind = like.type
    if pa.types.is_floating(kind):
        return pa.array(values, mask=empty).cast(kind, safe=False)
    if pa.types.is_decimal(kind):
        made = _decimals(values, empty, kind)
    elif is_text(kind):
        dates, separator = dates_in(like)
        assert dates is not None
        return _as_text(cells_from(values, empty, dates), separator).cast(kind)
    elif _is_counted(kind):
        made = _counted(values, empty, like)
    else:
        return pa.array(values, mask=empty)
    held = numbers_in(like)
    same = np.asarray(values == held) & ~empty
    if made.type != kind or not same.any():
        return made
    if _is_period(kind):
        return pa.ExtensionArray.from_storage(kind, pc.if_else(pa.array(same), like.storage, made.storage))
    return pc.if_else(pa.array(same), like, made)


def dates_in(column: pa.Array) -> tuple[pa.Array | None, str]:
    """Text as dates or time stamps with what stands between day and time, if all of it is of one such form."""
    present = column.drop_null()
    if not len(present):
        return None, ""
    try:
        if pc.all(pc.match_substring_regex(present, _DATE)).as_py():
            return column.cast(pa.string()).cast(pa.date32()), ""
        for separator, form in _STAMPS.items():
            if pc.all(pc.match_substring_regex(present, form)).as_py():
                return column.cast(pa.string()).cast(pa.timestamp("s")), separator
    except pa.ArrowInvalid:  # the 31st of February
        pass
    return None, ""


def _as_text(dates: pa.Array, separator: str) -> pa.Array:
    text = dates.cast(pa.string())
    return text if separator != "T" else pc.replace_substring(text, " ", "T", max_replacements=1)


def _per_unit(kind: pa.DataType) -> int:
    """How many of the counts of a type make one of our units: a day, a period or a second."""
    return 1 if pa.types.is_date(kind) or _is_period(kind) else _PER_SECOND[kind.unit]


def _counts(column: pa.Array) -> pa.Array:
    """The whole numbers that dates, times and the like are stored as."""
    kind = column.type
    if _is_period(kind):
        return column.storage
    if pa.types.is_date(kind):
        return column.cast(pa.date32()).cast(pa.int32()).cast(pa.int64())
    return column.cast(pa.int32()).cast(pa.int64()) if pa.types.is_time32(kind) else column.cast(pa.int64())


def _counted(values: FloatArray, empty: BoolArray, like: pa.Array) -> pa.Array:
    kind = like.type
    per_unit, step = _per_unit(kind), _step(like)
    low, high = _limits(kind, per_unit, step)
    wanted = np.where(empty, 0.0, values) * per_unit / step
    counts = np.clip(np.rint(wanted), np.ceil(low / step), np.floor(high / step)).astype(np.int64) * step
    stored = pa.array(counts, mask=empty)
    if _is_period(kind):
        return pa.ExtensionArray.from_storage(kind, stored)
    if pa.types.is_date(kind):
        return stored.cast(pa.int32()).cast(pa.date32()).cast(kind)
    return stored.cast(pa.int32()).cast(kind) if pa.types.is_time32(kind) else stored.cast(kind)


def _step(like: pa.Array) -> int:
    """The coarsest step that all values of a column are whole multiples of, in its own counts."""
    kind = like.type
    if pa.types.is_date(kind) or _is_period(kind):
        return 1
    counts = _counts(like).drop_null().to_numpy(zero_copy_only=False)
    in_counts = [step * _per_unit(kind) // 10**9 for step in _STEPS]
    return next((step for step in in_counts if step > 1 and not (counts % step).any()), 1)


def _limits(kind: pa.DataType, per_unit: int, step: int) -> tuple[float, float]:
    """The smallest and largest count that other libraries can still show."""
    if pa.types.is_date(kind):
        return _FIRST_DAY, _LAST_DAY
    if pa.types.is_time(kind):
        return 0, _DAY * per_unit - step
    if pa.types.is_timestamp(kind) and kind.unit != "ns":
        return _FIRST_DAY * _DAY * per_unit, ((_LAST_DAY + 1) * _DAY - 1) * per_unit
    if pa.types.is_duration(kind) or pa.types.is_timestamp(kind):
        return -_LARGEST_COUNT, _LARGEST_COUNT
    return -(2**31), 2**31


def _decimals(values: FloatArray, empty: BoolArray, kind: Any) -> pa.Array:
    """Rounded to the places of the type; floating-point numbers where one has too many digits for it."""
    quantum = Decimal(1).scaleb(-kind.scale)
    distinct, where = np.unique(np.where(empty, 0.0, values), return_inverse=True)
    try:
        rounded = pa.array([Decimal(repr(float(value))).quantize(quantum) for value in distinct], type=kind)
    except (pa.ArrowInvalid, ArithmeticError):
        return pa.array(values, mask=empty)
    return rounded.take(pa.array(where.reshape(-1), mask=empty))
