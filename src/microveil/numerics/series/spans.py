"""Where series begin and end, series of equal length taken together, and series cut into parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from microveil.errors import ParameterError
from microveil.typing import BoolArray, FloatArray, IntArray


class Spans(NamedTuple):
    """For each series the columns of its first and of its last present cell; (0, -1) without any."""

    first: IntArray
    last: IntArray

    @classmethod
    def of(cls, present: BoolArray) -> Spans:
        some = present.any(axis=1)
        first = np.where(some, np.argmax(present, axis=1), 0)
        last = np.where(some, present.shape[1] - 1 - np.argmax(present[:, ::-1], axis=1), -1)
        return cls(first.astype(np.int64), last.astype(np.int64))

    @property
    def lengths(self) -> IntArray:
        """The number of time points from the first to the last."""
        return np.asarray(self.last - self.first + 1)


def filled(values: FloatArray, positions: FloatArray, spans: Spans) -> FloatArray:
    """Every series complete from the first to the last time point of its span, and missing elsewhere: gaps lie on the
    straight line between their neighbours, and an end that is missing has the value of the nearest present cell. A
    series without any cell stays missing.

    >>> spans = Spans.of(np.array([[False, True, True, True, True]]))
    >>> filled(np.array([[np.nan, 1.0, np.nan, 4.0, np.nan]]), np.array([0.0, 1.0, 2.0, 4.0, 5.0]), spans).tolist()
    [[nan, 1.0, 2.0, 4.0, 4.0]]
    """
    present = ~np.isnan(values)
    at = np.arange(values.shape[1])
    inside = (at >= spans.first[:, None]) & (at <= spans.last[:, None])
    made = np.where(inside, values, np.nan)
    for row in np.flatnonzero((inside & ~present).any(axis=1) & present.any(axis=1)):
        held, wanted = present[row], inside[row]
        made[row, wanted] = np.interp(positions[wanted], positions[held], values[row, held])
    return made


def split(values: FloatArray, parts: int) -> list[FloatArray]:
    """Every series cut into so many parts, one after the other in time; the first are longer by one point where the
    length is no multiple of their number. `np.hstack` puts them together again.

    >>> [part.tolist() for part in split(np.array([[1.0, 2.0, 3.0, 4.0, 5.0]]), 2)]
    [[[1.0, 2.0, 3.0]], [[4.0, 5.0]]]
    """
    if not 1 <= parts <= values.shape[1]:
        raise ParameterError(f"parts = {parts} is not allowed; a series of {values.shape[1]} points has 1 to as many")
    return [np.ascontiguousarray(part) for part in np.array_split(values, parts, axis=1)]


def of_equal_spans(values: FloatArray) -> Iterator[tuple[IntArray, slice]]:
    """The rows that begin and end at the same time points, and these time points; series without a cell are left
    out."""
    if not len(values):
        return
    spans = Spans.of(~np.isnan(values))
    bounds, number = np.unique(np.column_stack(spans), axis=0, return_inverse=True)
    rows_of = np.split(np.argsort(number.reshape(-1), kind="stable"), np.cumsum(np.bincount(number.reshape(-1)))[:-1])
    for (first, last), rows in zip(bounds.tolist(), rows_of, strict=True):
        if last >= first:
            yield rows, slice(first, last + 1)
