"""The course of a series, whatever its level and scale, and which series of two tables have the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from microveil.numerics.series.normalising import normalised
from microveil.typing import BoolArray, FloatArray, IntArray

_SAME = 0.999  # correlation from which on two series have the same course
_AXES = 8  # in which near courses are looked for
_CANDIDATES = 4
_FEWEST = 4  # points without which many series have the same course


class MatchedCourses(NamedTuple):
    """For each series of the second table the one of the first with its course, as far as there is one left; and the
    share of series whose course is that of another."""

    order: IntArray
    displaced: float


def courses(variables: Sequence[FloatArray]) -> FloatArray:
    """The series of several variables side by side, each with mean 0 and, all together, with length 1; 0 where a value
    is missing or a series constant."""
    columns = np.hstack([np.nan_to_num(normalised(values, "series")) for values in variables])
    length = np.sqrt((columns**2).sum(axis=1, keepdims=True))
    return np.asarray(columns / np.where(length > 0, length, 1.0))


def matched_courses(before: FloatArray, after: FloatArray) -> MatchedCourses | None:
    """The series of both tables matched by their courses, where most series of the second have the course of another of
    the first and not of their own; None elsewhere.

    >>> first = np.array([[1.0, 2.0, 3.0, 9.0], [5.0, 3.0, 3.0, 1.0], [0.0, 4.0, 4.0, 0.0], [2.0, 0.0, 1.0, 2.0]])
    >>> matched_courses(courses([first]), courses([10 * first[[2, 0, 3, 1]] + 7])).order.tolist()
    [2, 0, 3, 1]
    >>> matched_courses(courses([first]), courses([10 * first + 7])) is None
    True
    """
    if before.shape != after.shape or before.shape[1] < _FEWEST:
        return None
    own = _alike(before, after)
    nearest, similarity = _nearest(before, after)
    displaced = (similarity[:, 0] >= _SAME) & (own < _SAME)
    if displaced.mean() <= 0.5:
        return None
    return MatchedCourses(_one_to_one(nearest, similarity), float(displaced.mean()))


def _alike(one: FloatArray, other: FloatArray) -> FloatArray:
    return np.asarray((one * other).sum(axis=1))


def _nearest(before: FloatArray, after: FloatArray) -> tuple[IntArray, FloatArray]:
    """For each course of the second table some near ones of the first, the most similar first, and how similar."""
    from scipy.spatial import cKDTree

    axes = np.random.default_rng(0).standard_normal((before.shape[1], _AXES))  # equal courses are equal on any axis
    found = min(_CANDIDATES, len(before))
    _, rows = cKDTree(before @ axes).query(after @ axes, k=found)
    rows = np.asarray(rows, dtype=np.int64).reshape(len(after), found)
    similarity = np.stack([_alike(before[rows[:, c]], after) for c in range(found)], axis=1)
    best = np.argsort(-similarity, axis=1, kind="stable")
    return np.take_along_axis(rows, best, axis=1), np.take_along_axis(similarity, best, axis=1)


def _one_to_one(nearest: IntArray, similarity: FloatArray) -> IntArray:
    """Every series of the first table once: the most similar pairs first, the rest in the order of the tables."""
    records = len(nearest)
    order = np.full(records, -1, dtype=np.int64)
    taken: BoolArray = np.zeros(records, dtype=np.bool_)
    for pair in np.argsort(-similarity, axis=None, kind="stable").tolist():
        row, candidate = divmod(pair, nearest.shape[1])
        if order[row] < 0 and not taken[nearest[row, candidate]]:
            order[row] = nearest[row, candidate]
            taken[nearest[row, candidate]] = True
    order[order < 0] = np.flatnonzero(~taken)
    return order
