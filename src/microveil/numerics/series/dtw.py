"""Dynamic time warping: the least sum of squared differences over all ways of walking along two series at once.

A warping path leads from the first points of both series to their last ones; with every step it goes on by one point in
one series (a vertical step in the first, a horizontal one in the second) or in both. Paths can be kept in a band around
the diagonal as in Sakoe and Chiba (1978): for series of n and m points between the diagonal through the first points
and that through the last, and so many points to either side of these. Or they can be limited in how often they stay at
a point: then the state of a path is where it is, the direction of its last step and how many steps in this direction it
made. Nin (2008), section 2.2.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from microveil.errors import DataError, ParameterError
from microveil.numerics.core.compiled import kernel
from microveil.typing import FloatArray, IntArray

_UNLIMITED = -1
_DIAGONAL, _HORIZONTAL, _VERTICAL = 0, 1, 2  # steps


@dataclass(frozen=True)
class RunLengths:
    """How many horizontal and vertical steps a path makes at a point: at least, and at most (None: any number).

    A horizontal run is what a path makes between leaving one point of the first series and leaving the next: with at
    least h steps each point of the first series is compared with at least h + 1 of the second. Of the two least numbers
    one is 0, for with a step in one direction a path leaves a point of the other series.

    >>> RunLengths.at_most(2)
    RunLengths(least_horizontal=0, most_horizontal=2, least_vertical=0, most_vertical=2)
    """

    least_horizontal: int = 0
    most_horizontal: int | None = None
    least_vertical: int = 0
    most_vertical: int | None = None

    def __post_init__(self) -> None:
        for least, most in (
            (self.least_horizontal, self.most_horizontal),
            (self.least_vertical, self.most_vertical),
        ):
            if least < 0 or (most is not None and most < least):
                raise ParameterError(
                    f"runs of {least} to {most} steps are not allowed; lengths are 0 or more and ascend"
                )

    @classmethod
    def at_most(cls, steps: int) -> RunLengths:
        """At most so many consecutive steps in either direction; 0 leaves the diagonal alone."""
        return cls(0, steps, 0, steps)

    @property
    def limits(self) -> tuple[int, int, int, int]:
        most = [_UNLIMITED if m is None else m for m in (self.most_horizontal, self.most_vertical)]
        return self.least_horizontal, most[0], self.least_vertical, most[1]


class WarpingPath(NamedTuple):
    """The cost of the best path, and the points of both series that it compares, (steps + 1, 2), from the first on."""

    cost: float
    points: IntArray


def dtw(x: FloatArray, y: FloatArray, band: int | None = None, runs: RunLengths | None = None) -> float:
    """The cost of the best warping path, a sum of squares without a root; infinite where no path is allowed.

    Missing points are left out.

    >>> dtw(np.array([1.0, 2.0, 3.0, 6.0, 7.0, 8.0, 9.0]), np.array([2.0, 6.5, 8.5]))
    3.0
    >>> dtw(np.zeros(3), np.ones(2), runs=RunLengths.at_most(0))
    inf
    """
    one, other = _present(x), _present(y)
    if runs is None:
        return float(cost_below(one, other, reach(band, one, other), np.inf, np.empty(len(other) + 1)))
    return float(_least_state(_state_costs(one, other, reach(band, one, other), runs.limits, 2), len(one), runs)[0])


def warping_path(x: FloatArray, y: FloatArray, band: int | None = None, runs: RunLengths | None = None) -> WarpingPath:
    """The best warping path. Of equally good ones it is the one that is nearest to diagonal at its end.

    >>> warping_path(np.array([0.0, 0.0, 5.0]), np.array([0.0, 5.0])).points.tolist()
    [[0, 0], [1, 0], [2, 1]]
    """
    one, other = _present(x), _present(y)
    if runs is None:
        table = costs(one, other, reach(band, one, other))
        cost = float(table[-1, -1])
        points = path_through(table) if np.isfinite(cost) else np.empty((0, 2), dtype=np.int64)
        return WarpingPath(cost, points)
    table = _state_costs(one, other, reach(band, one, other), runs.limits, len(one))
    cost, state = _least_state(table, len(one), runs)
    if not np.isfinite(cost):
        return WarpingPath(cost, np.empty((0, 2), dtype=np.int64))
    return WarpingPath(cost, _path_of_states(table, state, runs.limits))


def _present(series: FloatArray) -> FloatArray:
    """The points of a series that are there; at least one must be."""
    found = np.ascontiguousarray(series[~np.isnan(series)], dtype=np.float64)
    if len(found) == 0:
        raise DataError("a series without any value cannot be warped")
    return found


def reach(band: int | None, one: FloatArray, other: FloatArray) -> int:
    """The width of the band as kernels take it: wide enough for any path where there is none."""
    if band is not None and band < 0:
        raise ParameterError(f"band = {band} is not allowed; it must be greater than or equal to 0")
    return max(len(one), len(other)) if band is None else band


@kernel
def cost_below(x: FloatArray, y: FloatArray, band: int, limit: float, row: FloatArray) -> float:
    """The cost of the best path in the band, or infinite as soon as it must exceed the limit.

    `row` is room for a number more than y has points.
    """
    n, m = len(x), len(y)
    below, above = band + max(0, n - m), band + max(0, m - n)
    row[: m + 1] = np.inf
    row[0] = 0.0
    for i in range(n):
        begin, end = max(0, i - below), min(m, i + above + 1)
        at, diagonal, left, least = x[i], row[begin], np.inf, np.inf
        row[begin] = np.inf
        for j in range(begin, end):
            up = row[j + 1]
            best = diagonal if diagonal < up else up
            best = left if left < best else best
            difference = at - y[j]
            left = best + difference * difference
            least = left if left < least else least
            diagonal = up
            row[j + 1] = left
        if least > limit:
            return np.inf
    reached: float = row[m]
    return reached


@kernel
def costs(x: FloatArray, y: FloatArray, band: int) -> FloatArray:
    """The costs of the best paths to every pair of points, (n, m)."""
    n, m = len(x), len(y)
    below, above = band + max(0, n - m), band + max(0, m - n)
    table = np.full((n, m), np.inf)
    for i in range(n):
        for j in range(max(0, i - below), min(m, i + above + 1)):
            best = 0.0 if i == 0 and j == 0 else np.inf
            if i > 0 and j > 0:
                best = min(best, table[i - 1, j - 1])
            if i > 0:
                best = min(best, table[i - 1, j])
            if j > 0:
                best = min(best, table[i, j - 1])
            table[i, j] = best + (x[i] - y[j]) ** 2
    return table


@kernel
def path_through(table: FloatArray) -> IntArray:
    """The points of the best path, back from the end: diagonally where that is as good as any other step."""
    i, j = table.shape[0] - 1, table.shape[1] - 1
    steps = np.empty(i + j, dtype=np.int64)
    made = 0
    while i > 0 or j > 0:
        diagonal = table[i - 1, j - 1] if i > 0 and j > 0 else np.inf
        up = table[i - 1, j] if i > 0 else np.inf
        left = table[i, j - 1] if j > 0 else np.inf
        step = _DIAGONAL if diagonal <= up and diagonal <= left else _VERTICAL if up <= left else _HORIZONTAL
        steps[made] = step
        made += 1
        i, j = _before(i, j, step)
    return _points(steps[:made])


@kernel
def _before(i: int, j: int, step: int) -> tuple[int, int]:
    """The point that a step begins at."""
    return i if step == _HORIZONTAL else i - 1, j if step == _VERTICAL else j - 1


@kernel
def _points(steps: IntArray) -> IntArray:
    """The points of a path whose last step is the first of these."""
    points = np.zeros((len(steps) + 1, 2), dtype=np.int64)
    for point in range(1, len(points)):
        step = steps[len(steps) - point]
        points[point, 0] = points[point - 1, 0] + (step != _HORIZONTAL)
        points[point, 1] = points[point - 1, 1] + (step != _VERTICAL)
    return points


# --- limited runs --------------------------------------------------------------------------------------------------
# State 0: the last step was diagonal, or there was none. States 1 to R: so many horizontal steps, the last of them for
# that many or more where there is no upper limit. The states after these: so many vertical steps.


@kernel
def _counted(least: int, most: int) -> int:
    """Up to how many steps of a run are told apart."""
    return most if most >= 0 else max(least, 1)


@kernel
def _may_leave(state: int, horizontal: int, least_horizontal: int, least_vertical: int) -> tuple[bool, bool]:
    """Whether a path in this state has made enough steps to leave the point of the first and of the second series."""
    in_row = state if state <= horizontal else 0
    in_column = state - horizontal if state > horizontal else 0
    return in_row >= least_horizontal, in_column >= least_vertical


@kernel
def _state_costs(x: FloatArray, y: FloatArray, band: int, limits: tuple[int, int, int, int], kept: int) -> FloatArray:
    """The costs of the best paths by point of x, point of y and state; of the points of x the last `kept` are kept,
    point i in row i modulo `kept`."""
    least_h, most_h, least_v, most_v = limits
    n, m = len(x), len(y)
    horizontal, vertical = _counted(least_h, most_h), _counted(least_v, most_v)
    states = 1 + horizontal + vertical
    below, above = band + max(0, n - m), band + max(0, m - n)
    table = np.full((kept, m, states), np.inf)
    for i in range(n):
        row, before = i % kept, (i - 1) % kept
        table[row] = np.inf
        for j in range(max(0, i - below), min(m, i + above + 1)):
            here = table[row, j]
            if i == 0 and j == 0:
                here[0] = 0.0
            for s in range(states):
                leaves_row, leaves_column = _may_leave(s, horizontal, least_h, least_v)
                if i > 0 and j > 0 and leaves_row and leaves_column:
                    here[0] = min(here[0], table[before, j - 1, s])
                if j > 0 and leaves_column and horizontal > 0:
                    run = s + 1 if s <= horizontal else 1
                    if run > horizontal and most_h < 0:
                        run = horizontal
                    if run <= horizontal:
                        here[run] = min(here[run], table[row, j - 1, s])
                if i > 0 and leaves_row and vertical > 0:
                    run = s - horizontal + 1 if s > horizontal else 1
                    if run > vertical and most_v < 0:
                        run = vertical
                    if run <= vertical:
                        here[horizontal + run] = min(here[horizontal + run], table[before, j, s])
            here += (x[i] - y[j]) ** 2
    return table


def _least_state(table: FloatArray, n: int, runs: RunLengths) -> tuple[float, int]:
    """The least cost at the end of both series, and the state that has it."""
    least_h, most_h, least_v, _ = runs.limits
    horizontal = _counted(least_h, most_h)
    ends = table[(n - 1) % len(table), -1].copy()
    for state in range(len(ends)):
        if not all(_may_leave(state, horizontal, least_h, least_v)):
            ends[state] = np.inf
    state = int(np.argmin(ends))
    return float(ends[state]), state


@kernel
def _path_of_states(table: FloatArray, state: int, limits: tuple[int, int, int, int]) -> IntArray:
    """The points of the best path that ends in a state."""
    least_h, most_h, least_v, most_v = limits
    horizontal, vertical = _counted(least_h, most_h), _counted(least_v, most_v)
    i, j = table.shape[0] - 1, table.shape[1] - 1
    steps = np.empty(i + j, dtype=np.int64)
    made = 0
    while i > 0 or j > 0:
        step = _DIAGONAL if state == 0 else _HORIZONTAL if state <= horizontal else _VERTICAL
        steps[made] = step
        made += 1
        i, j = _before(i, j, step)
        best, best_cost = -1, np.inf
        for s in range(table.shape[2]):
            leaves_row, leaves_column = _may_leave(s, horizontal, least_h, least_v)
            if (step != _HORIZONTAL and not leaves_row) or (step != _VERTICAL and not leaves_column):
                continue
            if step == _HORIZONTAL:
                run = s + 1 if s <= horizontal else 1
                if (horizontal if run > horizontal and most_h < 0 else run) != state:
                    continue
            if step == _VERTICAL:
                run = s - horizontal + 1 if s > horizontal else 1
                if (vertical if run > vertical and most_v < 0 else run) != state - horizontal:
                    continue
            if table[i, j, s] < best_cost:
                best, best_cost = s, table[i, j, s]
        state = best
    return _points(steps[:made])
