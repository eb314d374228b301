"""DTW barycentres: the curve that many series are warped into at the least cost.

Every series is warped into the average, each point of the average becomes the mean of the points that were compared
with it, and again, while the cost falls, as in Petitjean, Ketterlin and Gançarski (2011). The cost never rises: each
point's mean is the best value for the paths at hand, and the next paths are the best for the means. What is found
depends on the beginning; it is made from the mean at each time and from the member that costs the others least, and the
better one is taken. So nothing is drawn, and as members are taken in the order of their values, the order of the
records plays no part.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from microveil.numerics.core.compiled import kernel, over_chunks
from microveil.numerics.grouping.groups import means_by_group
from microveil.numerics.series.curves import curves
from microveil.numerics.series.dtw import cost_below, costs, path_through
from microveil.progress import Progress, silent
from microveil.typing import FloatArray, IntArray


class Barycentre(NamedTuple):
    """A curve, what it costs to warp all series into it, and what the mean at each time would have cost."""

    curve: FloatArray
    cost: float
    cost_of_mean: float


def barycentre(series: FloatArray, rounds: int = 30, band: int | None = None) -> Barycentre:
    """The barycentre of series (n, T), NaN where a cell is missing: a curve with the times at which any series has one.

    >>> found = barycentre(np.array([[0.0, 9.0, 0.0, 0.0], [0.0, 0.0, 9.0, 0.0]]))
    >>> found.curve.tolist(), found.cost, found.cost_of_mean
    ([0.0, 0.0, 9.0, 0.0], 0.0, 81.0)
    """
    labels = np.zeros(len(series), dtype=np.int64)
    made, cost, before = _averaged(series, labels, rounds, band, silent, "")
    return Barycentre(made[0], float(cost[0]), float(before[0]))


def barycentres_by_group(
    series: FloatArray,
    labels: IntArray,
    rounds: int = 30,
    band: int | None = None,
    progress: Progress = silent,
    label: str = "averaging series",
) -> FloatArray:
    """For each record the barycentre of its group, (n, T); NaN at times at which no member has a cell."""
    made, _, _ = _averaged(series, labels, rounds, band, progress, label)
    return np.asarray(made[np.unique(labels, return_inverse=True)[1].reshape(-1)])


def _averaged(
    series: FloatArray, labels: IntArray, rounds: int, band: int | None, progress: Progress, label: str
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The barycentres of all groups, in the order of their labels, with their costs and those of the means."""
    by_value = np.lexsort(np.where(np.isnan(series), np.inf, series).T[::-1])
    order = by_value[np.argsort(labels[by_value], kind="stable")]
    members, of = series[order], labels[order]
    starts = np.append(np.flatnonzero(np.diff(of, prepend=-1)), len(of))
    means = means_by_group(members, of)[starts[:-1]]
    packed = curves(members)
    cells, lengths = packed.cells[0], packed.lengths[0]
    width = series.shape[1] if band is None else band

    def work(start: int, end: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        return _barycentres(cells, lengths, starts[start : end + 1], means[start:end], rounds, width)

    groups = len(starts) - 1
    found = over_chunks(work, groups, max(1, min(256, groups // 16)), progress, label)
    made, cost, before = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return made, cost, before


@kernel
def _barycentres(
    cells: FloatArray, lengths: IntArray, starts: IntArray, means: FloatArray, rounds: int, band: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    groups = len(means)
    made, cost, before = means.copy(), np.zeros(groups), np.zeros(groups)
    for g in range(groups):
        held = np.flatnonzero(~np.isnan(means[g]))
        if len(held) == 0:
            continue
        begin, end = starts[g], starts[g + 1]
        best, cost[g], before[g] = _improved(cells, lengths, begin, end, means[g][held], rounds, band)
        central = _medoid(cells, lengths, begin, end, len(held), band)
        if central >= 0:
            other, other_cost, _ = _improved(cells, lengths, begin, end, cells[central, : len(held)], rounds, band)
            if other_cost <= cost[g]:
                best, cost[g] = other, other_cost
        for j in range(len(held)):
            made[g, held[j]] = best[j]
    return made, cost, before


@kernel
def _improved(
    cells: FloatArray, lengths: IntArray, begin: int, end: int, average: FloatArray, rounds: int, band: int
) -> tuple[FloatArray, float, float]:
    """An average after some rounds, at most so many, what it costs, and what it cost before."""
    best = average.copy()
    before, average = _warped(cells, lengths, begin, end, best, band)
    cost = before
    for _ in range(rounds):
        found, following = _warped(cells, lengths, begin, end, average, band)
        if found >= cost:
            break
        best, cost, average = average, found, following
    return best, cost, before


@kernel
def _medoid(cells: FloatArray, lengths: IntArray, begin: int, end: int, length: int, band: int) -> int:
    """The series of so many points that costs the others least, of equals the first; -1 if none has so many."""
    best, least = -1, np.inf
    row = np.empty(cells.shape[1] + 1)
    for member in range(begin, end):
        if lengths[member] != length:
            continue
        total = 0.0
        for other in range(begin, end):
            if other != member and lengths[other] > 0:
                total += cost_below(cells[member, :length], cells[other, : lengths[other]], band, np.inf, row)
        if total < least:
            best, least = member, total
    return best


@kernel
def _warped(
    cells: FloatArray, lengths: IntArray, start: int, end: int, average: FloatArray, band: int
) -> tuple[float, FloatArray]:
    """What it costs to warp some series into an average, and the means of what its points were compared with."""
    total = 0.0
    sums, counts = np.zeros(len(average)), np.zeros(len(average))
    for member in range(start, end):
        if lengths[member] == 0:
            continue
        series = cells[member, : lengths[member]]
        table = costs(series, average, band)
        total += table[-1, -1]
        for step in path_through(table):
            sums[step[1]] += series[step[0]]
            counts[step[1]] += 1.0
    return total, sums / counts
