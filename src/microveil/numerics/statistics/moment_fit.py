"""Rows moved until the moments of their table are those of another, while no row comes closer to its original."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from microveil.numerics.choices import MomentKind
from microveil.numerics.counting.distinct_rows import number_values
from microveil.numerics.statistics.scaling import Scaling
from microveil.progress import Progress
from microveil.typing import BoolArray, FloatArray, IntArray

_LEAST = 0.01  # in deviations: a smaller moment is compared with this, since relative changes of nothing mean nothing
_MEMORY = 12  # steps that L-BFGS remembers


@dataclass(frozen=True)
class Fit:
    """The rows moved, and the discrepancy of their moments before and after."""

    rows: FloatArray
    before: float
    after: float


@dataclass(frozen=True)
class _Moments:
    """Means and second moments to be reached, in deviations of the original, over the cells present."""

    present: BoolArray
    offset: FloatArray
    means: FloatArray
    seconds: FloatArray
    kind: MomentKind

    @classmethod
    def of(cls, cells: FloatArray, present: BoolArray, offset: FloatArray, kind: MomentKind) -> _Moments:
        bare = cls(present, offset, np.zeros(0), np.zeros((0, 0)), kind)
        _, means, seconds = bare.measured(cells)
        return cls(present, offset, means, seconds, kind)

    def measured(self, cells: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The cells as they enter the second moments, the means, and the second moments."""
        shifted = self.only_present(cells + self.offset)
        means = shifted.sum(axis=0) / self.held
        entering = shifted if self.kind == "raw" else self.only_present(shifted - means)
        return entering, means, np.asarray(entering.T @ entering / self.both)

    def only_present(self, cells: FloatArray) -> FloatArray:
        """The cells, and 0 where one is missing."""
        return cells if self.complete else np.where(self.present, cells, 0.0)

    @cached_property
    def complete(self) -> bool:
        return bool(self.present.all())

    @cached_property
    def held(self) -> FloatArray:
        return np.asarray(np.maximum(self.present.sum(axis=0), 1.0))

    @cached_property
    def both(self) -> FloatArray:
        present = self.present.astype(np.float64)
        return np.asarray(np.maximum(present.T @ present, 1.0))


class _Discrepancy:
    """The sum of squared relative differences of means and of second moments, each pair once, and its gradient."""

    def __init__(self, target: _Moments) -> None:
        self.target = target
        self.of_means = 1.0 / np.square(np.maximum(np.abs(target.means), _LEAST))
        each_once = np.where(np.eye(len(target.means)) > 0, 1.0, 0.5)
        self.of_seconds = each_once / np.square(np.maximum(np.abs(target.seconds), _LEAST))

    def __call__(self, cells: FloatArray) -> tuple[float, FloatArray]:
        target = self.target
        entering, means, seconds = target.measured(cells)
        off_means, off_seconds = means - target.means, seconds - target.seconds
        value = (self.of_means * off_means**2).sum() + (self.of_seconds * off_seconds**2).sum()
        slope = 4.0 * entering @ (self.of_seconds * off_seconds / target.both)
        level = 2.0 * self.of_means * off_means / target.held
        if target.kind == "central":
            level -= target.only_present(slope).sum(axis=0) / target.held
        slope += level
        return float(value), target.only_present(slope)


class _Outside:
    """The region that points may move in: each at least as far from its centre as it was."""

    def __init__(self, centres: FloatArray, points: FloatArray) -> None:
        self.centres, self.start = centres, points
        self.radius = np.sqrt(np.square(points - centres).sum(axis=1))

    def pushed(self, points: FloatArray) -> tuple[FloatArray, BoolArray, FloatArray]:
        """Points that came too close set back on their spheres, which they are, and how far they had come."""
        apart = points - self.centres
        distance = np.sqrt(np.square(apart).sum(axis=1))
        inside = distance < self.radius
        if not inside.any():
            return points, inside, distance
        pushed = points.copy()
        reach = np.where(distance > 0, distance, 1.0)
        pushed[inside] = self.centres[inside] + apart[inside] * (self.radius / reach)[inside, None]
        at_centre = inside & (distance == 0)
        pushed[at_centre] = self.start[at_centre]
        return pushed, inside, reach

    def slope(self, slope: FloatArray, points: FloatArray, inside: BoolArray, distance: FloatArray) -> FloatArray:
        """The gradient with respect to the points before they were pushed: along the sphere where they were."""
        if not inside.any():
            return slope
        slope = slope.copy()
        outward = (points[inside] - self.centres[inside]) / distance[inside, None]
        along = slope[inside] - outward * (outward * slope[inside]).sum(axis=1, keepdims=True)
        slope[inside] = along * (self.radius[inside] / distance[inside])[:, None]
        return slope


@dataclass(frozen=True)
class _Points:
    """Rows that move together: the point of each row, and a row of each point."""

    of_row: IntArray
    first: IntArray

    @classmethod
    def of(cls, rows: FloatArray, *, together: bool) -> _Points:
        own = np.arange(len(rows))
        if not together:
            return cls(own, own)
        return cls(*number_values(rows.T))

    def sums(self, rows: FloatArray) -> FloatArray:
        """The sum of the rows of each point."""
        if len(self.first) == len(self.of_row):
            return np.asarray(rows[self.first])
        return np.column_stack([np.bincount(self.of_row, weights=column) for column in rows.T])

    def means(self, rows: FloatArray) -> FloatArray:
        return np.asarray(self.sums(rows) / np.bincount(self.of_row)[:, None])


def fit_moments(
    original: FloatArray,
    masked: FloatArray,
    limits: tuple[FloatArray, FloatArray],
    kind: MomentKind,
    tolerance: float,
    iterations: int,
    progress: Progress,
    label: str,
    *,
    together: bool,
) -> Fit:
    """Move the masked rows by L-BFGS until their moments are the original's, up to the tolerance.

    No row comes closer to its original than it was, in deviations of the original and over the cells present in both.
    With `together`, rows that are alike move as one, and not closer to the mean of their originals; so their mean
    square distance does not fall.

    Columns that are constant or missing throughout in the original stay as they are. Values stay within the limits of
    their columns; rows that these would bring closer stay as they were. Never worse than at the start.
    """
    scaling = Scaling.of(original)
    used = scaling.deviation > 0
    present = ~np.isnan(masked[:, used]) & ~np.isnan(original[:, used])
    if not used.any() or not present.any():
        return Fit(masked.copy(), 0.0, 0.0)
    mean, deviation = scaling.mean[used], scaling.deviation[used]
    own = np.where(present, (original[:, used] - mean) / deviation, 0.0)
    start = np.where(present, (masked[:, used] - mean) / deviation, 0.0)
    low, high = ((limit[used] - mean) / deviation for limit in limits)
    points = _Points.of(np.column_stack([start, present]), together=together)
    discrepancy = _Discrepancy(_Moments.of(own, present, mean / deviation, kind))
    outside = _Outside(points.means(own), start[points.first])
    before, _ = discrepancy(start)
    found = _minimised(discrepancy, outside, points, tolerance, iterations, progress, label)
    found = np.where(present[points.first], np.clip(found, low, high), outside.start)
    closer = np.square(found - outside.centres).sum(axis=1) < np.square(outside.radius) * (1.0 - 1e-9)
    found[closer] = outside.start[closer]
    moved = found[points.of_row]
    after, _ = discrepancy(moved)
    if not after < before:
        return Fit(masked.copy(), before, before)
    rows = masked.copy()
    # cells that did not move keep their digits
    rows[:, used] = np.where(moved != start, moved * deviation + mean, masked[:, used])
    return Fit(rows, before, after)


def _minimised(
    discrepancy: _Discrepancy,
    outside: _Outside,
    points: _Points,
    tolerance: float,
    iterations: int,
    progress: Progress,
    label: str,
) -> FloatArray:
    """The points where the discrepancy of their rows, seen through the pushing back, is least."""
    from scipy.optimize import minimize

    n, shape = len(points.of_row), outside.start.shape

    def seen(flat: FloatArray) -> tuple[float, FloatArray]:
        at = flat.reshape(shape)
        pushed, inside, distance = outside.pushed(at)
        value, slope = discrepancy(pushed[points.of_row])
        # times n: otherwise slopes are of the order 1/n, and the search would end before it began
        return n * value, n * outside.slope(points.sums(slope), at, inside, distance).reshape(-1)

    done = 0

    def watch(intermediate_result: Any) -> None:
        nonlocal done
        done += 1
        progress(done / iterations, label)
        if intermediate_result.fun < n * tolerance:
            raise StopIteration

    if discrepancy(outside.start[points.of_row])[0] < tolerance:
        return outside.start
    options = {"maxiter": iterations, "maxcor": _MEMORY, "ftol": 0.0, "gtol": 0.0, "maxfun": 2 * iterations}
    found = minimize(seen, outside.start.reshape(-1), jac=True, method="L-BFGS-B", callback=watch, options=options)
    return outside.pushed(found.x.reshape(shape))[0]
