"""Time stamps as positions: numbers, dates, times and texts that show their order, in units of the usual spacing."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from microveil.microdata.ordered import is_text, numbers_in
from microveil.microdata.orders import in_order
from microveil.typing import FloatArray

_MONTH = re.compile(r"(\d{4})[-/.](\d{2})")
_QUARTER = re.compile(r"(\d{4})[- ]?[qQ]([1-4])")
_WEEK = re.compile(r"(\d{4})-?[wW](\d{2})")
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?")
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
_DAY, _TIME, _ZONE = r"\d{4}-\d{2}-\d{2}", r"[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?", r"(?:Z|[-+]\d{2}:?\d{2})"
_STAMP = re.compile(f"{_DAY}(?:{_TIME}{_ZONE}?)?")
_ZONED = re.compile(f"{_DAY}{_TIME}{_ZONE}")
_READABLE = "numbers, dates, 2024-05, 2024-Q2, 2024-W07, 08:30 and 2024-05-31 08:30 can be"
_SAFE_DAY = 28  # every month has it


def positions_of(times: pa.Array) -> FloatArray | None:
    """When each of some distinct times is, counted from the first in units of the usual spacing; None where the times
    do not say.

    Dates on the same day of their months count in months, so that months are equally long. Times with a zone are
    compared as instants.

    >>> positions_of(pa.array(["2024-01", "2024-02", "2024-03", "2024-05"])).tolist()
    [0.0, 1.0, 2.0, 4.0]
    >>> positions_of(pa.array([10, 30, 20])).tolist()
    [0.0, 2.0, 1.0]
    >>> positions_of(pa.array(["red", "green"])) is None
    True
    """
    found = instants_of(times)
    return None if found is None or len(np.unique(found)) < len(found) else in_usual_spacing(found)


def instants_of(times: pa.Array) -> FloatArray | None:
    """When each of some times is, in some unit; None where the times do not say."""
    if not len(times) or times.null_count:
        return None
    found = _counted(times)
    return found if found is not None and np.isfinite(found).all() else None


def in_usual_spacing(instants: FloatArray) -> FloatArray:
    """Distinct instants counted from the first, in units of the usual spacing."""
    spacing = np.diff(np.sort(instants))
    usual = float(np.median(spacing)) if len(spacing) else 1.0
    return np.asarray((instants - instants.min()) / usual)


def why_unreadable(times: pa.Array) -> str:
    """What is to be said of times that have no order that is known."""
    texts = [str(text).strip() for text in times.to_pylist()] if is_text(times.type) else []
    stamps = sum(_STAMP.fullmatch(text) is not None for text in texts)
    zoned = sum(_ZONED.fullmatch(text) is not None for text in texts)
    if 0 < zoned < stamps == len(texts):
        return f"have a time zone in {zoned:,} of {len(texts):,} distinct times only; give all of them one, or none"
    odd = f"cannot be read in one way: {len(texts) - stamps:,} of {len(texts):,} distinct ones are no time stamps"
    return f"{odd if stamps else 'have no order that is known'}; {_READABLE}"


def _counted(times: pa.Array) -> FloatArray | None:
    if is_text(times.type):
        return _of_texts([str(text).strip() for text in times.to_pylist()])
    if pa.types.is_date(times.type) or pa.types.is_timestamp(times.type):
        months = _in_months(times)
        return months if months is not None else numbers_in(times)
    return numbers_in(times)


def _in_months(times: pa.Array) -> FloatArray | None:
    """Dates in months since the year 0, where all are on the same day of their months and at the same time."""
    zone = getattr(times.type, "tz", None)
    local = pc.local_timestamp(times) if zone else times
    days = pc.day(local).to_numpy(zero_copy_only=False)
    if (days != days[0]).any() or days[0] > _SAFE_DAY or len(days) < 2:
        return None
    if pa.types.is_timestamp(local.type):
        clock = pc.subtract(local, pc.floor_temporal(local, unit="day")).cast(pa.int64()).to_numpy()
        if (clock != clock[0]).any():
            return None
    years, months = (part(local).to_numpy(zero_copy_only=False) for part in (pc.year, pc.month))
    counted = 12.0 * years + months
    return counted if len(np.unique(counted)) == len(counted) else None


def _of_texts(texts: list[str]) -> FloatArray | None:
    if all(map(_NUMBER.fullmatch, texts)):
        return np.array([float(text) for text in texts])
    for form, units in ((_MONTH, 12), (_QUARTER, 4), (_WEEK, 0)):
        matches = [form.fullmatch(text) for text in texts]
        if all(matches):
            pairs = [(int(match[1]), int(match[2])) for match in matches if match is not None]
            if units:
                return np.array([units * year + part for year, part in pairs], dtype=np.float64)
            return _weeks(pairs)
    clocks = [_CLOCK.fullmatch(text) for text in texts]
    if all(clocks):
        return np.array([3600 * int(c[1]) + 60 * int(c[2]) + int(c[3] or 0) for c in clocks if c], dtype=np.float64)
    if all(map(_STAMP.fullmatch, texts)):
        return _of_stamps(texts)
    order = in_order(texts)
    if order is None:
        return None
    at = {text: float(i) for i, text in enumerate(order)}
    return np.array([at[text] for text in texts])


def _weeks(pairs: list[tuple[int, int]]) -> FloatArray | None:
    try:
        return np.array([datetime.fromisocalendar(year, week, 1).toordinal() / 7 for year, week in pairs])
    except ValueError:
        return None


def _of_stamps(texts: list[str]) -> FloatArray | None:
    """Dates and time stamps; with a zone they are instants, and either all or none have one."""
    try:
        read = [datetime.fromisoformat(text) for text in texts]
    except ValueError:  # the 31st of February
        return None
    zoned = [stamp.tzinfo is not None for stamp in read]
    if any(zoned) != all(zoned):
        return None
    if all(zoned):
        return np.array([stamp.timestamp() for stamp in read])
    naive = pa.array(read, type=pa.timestamp("us"))
    months = _in_months(naive)
    return months if months is not None else np.array([stamp.replace(tzinfo=UTC).timestamp() for stamp in read])
