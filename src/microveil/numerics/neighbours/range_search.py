"""Targets inside a box around each source, and the nearest of them.

A box has, for each attribute, a range of positions in the order of the targets' values; so it is two whole numbers for
an attribute, whatever the values are, and equal values can be kept together.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from microveil.numerics.core.compiled import kernel, over_chunks
from microveil.numerics.core.ordering import in_order, positions_in
from microveil.numerics.neighbours.mixed_distance import SQUARED, term
from microveil.progress import Progress
from microveil.typing import BoolArray, FloatArray, IntArray

PositionArray = npt.NDArray[np.int32]


_STRETCH = 8192  # targets compared in one go: their counts stay in the processor's nearest cache
Settings = tuple[PositionArray, PositionArray, PositionArray, PositionArray, BoolArray, int, bool]
Measures = tuple[FloatArray, FloatArray, IntArray, FloatArray, FloatArray, float]


@dataclass(frozen=True)
class Order:
    """The values of a column in ascending order, and the position of each record in it; -1 where it has no value."""

    values: FloatArray
    positions: PositionArray

    @classmethod
    def of(cls, column: FloatArray) -> Order:
        order = in_order(column)
        positions = np.full(len(column), -1, dtype=np.int32)
        positions[order] = np.arange(len(order), dtype=np.int32)
        return cls(column[order], positions)

    def between(self, low: FloatArray, high: FloatArray) -> tuple[IntArray, IntArray]:
        """The range of positions of the values from `low` to `high`, both included."""
        return np.searchsorted(self.values, low, "left"), np.searchsorted(self.values, high, "right")


@dataclass(frozen=True)
class Boxes:
    """Attributes in rows: `positions[j, t]` of target t, and the range `low[j, q] <= position < high[j, q]` of source
    q.

    A target without a position (-1) lies in every range. `excluded[j, q]` is a target that is outside in spite of its
    position, or -1.
    """

    positions: PositionArray
    low: PositionArray
    high: PositionArray
    excluded: PositionArray

    @classmethod
    def of(
        cls, orders: list[Order], ranges: list[tuple[IntArray, IntArray]], excluded: list[PositionArray] | None = None
    ) -> Boxes:
        low, high = (np.stack([r[side] for r in ranges]).astype(np.int32) for side in (0, 1))
        out = np.full(low.shape, -1, dtype=np.int32) if excluded is None else np.stack(excluded)
        return cls(np.stack([order.positions for order in orders]), low, high, out)

    def at(self, sources: IntArray) -> Boxes:
        """The boxes of some of the sources."""
        return Boxes(self.positions, self.low[:, sources], self.high[:, sources], self.excluded[:, sources])

    def also(self, group: IntArray, sources: IntArray) -> Boxes:
        """With one more attribute: a source sees only the targets that have its group."""
        order = Order.of(group.astype(np.float64))
        low, high = order.between(*(2 * (group[sources].astype(np.float64),)))
        more: list[IntArray | PositionArray] = [order.positions, low, high, np.full(len(sources), -1)]
        rows = zip((self.positions, self.low, self.high, self.excluded), more, strict=True)
        return Boxes(*(np.vstack([row, added.astype(np.int32)]) for row, added in rows))


@dataclass(frozen=True)
class Cells:
    """What distances are taken on, attributes in rows; NaN is left out and the rest scaled up.

    An attribute adds its squared difference, its absolute difference, or `start + slope * |difference|` unless 0.
    """

    sources: FloatArray
    targets: FloatArray
    form: IntArray
    start: FloatArray
    slope: FloatArray

    def at(self, sources: IntArray) -> Cells:
        """The cells of some of the sources."""
        return replace(self, sources=self.sources[:, sources])


@dataclass(frozen=True)
class Inside:
    """For each source: how many targets are candidates and whether its own is one; of the nearest candidates how many
    there are, the first one, and whether its own is one."""

    candidates: IntArray
    own: BoolArray
    ties: IntArray
    first: IntArray
    nearest: BoolArray

    def replaced(self, sources: IntArray, others: Inside) -> Inside:
        """With what was found for some of the sources in another way."""
        made = {field.name: getattr(self, field.name).copy() for field in fields(self)}
        for name, column in made.items():
            column[sources] = getattr(others, name)
        return Inside(**made)


def link_inside(boxes: Boxes, cells: Cells, own: IntArray, every: bool, progress: Progress, label: str) -> Inside:
    """For each source the nearest of its candidates; target `own[q]` is the one that belongs to source q.

    The candidates are the targets inside the range of every attribute, or else those inside the most ranges.
    """
    order, settings = _settings(boxes, every)
    sources, targets = np.ascontiguousarray(cells.sources.T), np.ascontiguousarray(cells.targets[:, order].T)
    tolerance = 1e-12 * max(1.0, _largest(cells.sources), _largest(cells.targets))
    measures = (sources, targets, cells.form, cells.start, cells.slope, tolerance)
    position_of = positions_in(order)

    def work(start: int, end: int) -> tuple[IntArray, BoolArray, IntArray, IntArray, BoolArray]:
        return _nearest_inside(settings, measures, order, position_of[own[start:end]], start)

    found = over_chunks(work, len(own), max(1, min(512, len(own) // 16)), progress, label)
    return Inside(*(np.concatenate(part) for part in zip(*found, strict=True)))


def list_inside(boxes: Boxes, candidates: IntArray, progress: Progress, label: str) -> tuple[IntArray, IntArray]:
    """All targets inside the ranges of every attribute, source after source, and where each source's begin."""
    order, settings = _settings(boxes, True)
    begins = np.concatenate([[0], np.cumsum(candidates)])

    def work(start: int, end: int) -> PositionArray:
        return _listed_inside(settings, start, end, int(begins[end] - begins[start]))

    listed = over_chunks(work, len(candidates), max(1, min(512, len(candidates) // 16)), progress, label)
    return begins, order[np.concatenate(listed)]


def _largest(cells: FloatArray) -> float:
    return float(np.max(np.abs(cells), where=~np.isnan(cells), initial=0.0))


def _settings(boxes: Boxes, every: bool) -> tuple[IntArray, Settings]:
    """The targets in the order of the attribute with the narrowest ranges: when all must hold, only these are seen."""
    n = boxes.positions.shape[1]
    gaps: BoolArray = np.any(boxes.positions < 0, axis=1)
    lead, order = -1, np.arange(n)
    if every and not gaps.all():
        widths = (boxes.high.astype(np.int64) - boxes.low).sum(axis=1)
        lead = int(np.argmin(np.where(gaps, np.iinfo(np.int64).max, widths)))
        order = np.argsort(boxes.positions[lead], kind="stable")
    position_of = np.empty(n + 1, dtype=np.int32)
    position_of[order] = np.arange(n, dtype=np.int32)
    position_of[-1] = -1
    positions = np.ascontiguousarray(boxes.positions[:, order])
    return order.astype(np.int64), (positions, boxes.low, boxes.high, position_of[boxes.excluded], gaps, lead, every)


@kernel
def _nearest_inside(
    settings: Settings, measures: Measures, order: IntArray, own: IntArray, start: int
) -> tuple[IntArray, BoolArray, IntArray, IntArray, BoolArray]:
    """The candidates of sources from `start` on, as many as have an own target here."""
    size, n = len(own), settings[0].shape[1]
    sources, targets, form, base, slope, tolerance = measures
    squared = (form == SQUARED).any()
    candidates, ties = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    first = np.full(size, -1, dtype=np.int64)
    is_own, is_nearest = np.zeros(size, dtype=np.bool_), np.zeros(size, dtype=np.bool_)
    counts, members, distances = np.empty(n, dtype=np.int16), np.empty(n, dtype=np.int32), np.empty(n)
    for s in range(size):
        found = _members(settings, start + s, counts, members)
        candidates[s] = found
        best, of_own = np.inf, np.inf
        for c in range(found):
            t = members[c]
            distances[c] = _distance(sources, start + s, targets, t, form, base, slope)
            best = min(best, distances[c])
            if t == own[s]:
                is_own[s], of_own = True, distances[c]
        if best == np.inf:
            continue  # no candidate, or none that has anything in common with the source
        border = (np.sqrt(best) + tolerance) ** 2 if squared else best + tolerance
        is_nearest[s] = of_own <= border
        for c in range(found):
            if distances[c] <= border:
                ties[s] += 1
                t = order[members[c]]
                if first[s] < 0 or t < first[s]:
                    first[s] = t
    return candidates, is_own, ties, first, is_nearest


@kernel
def _listed_inside(settings: Settings, start: int, end: int, total: int) -> PositionArray:
    n = settings[0].shape[1]
    counts, members = np.empty(n, dtype=np.int16), np.empty(n, dtype=np.int32)
    listed = np.empty(total, dtype=np.int32)
    done = 0
    for q in range(start, end):
        found = _members(settings, q, counts, members)
        listed[done : done + found] = members[:found]
        done += found
    return listed


@kernel
def _members(settings: Settings, q: int, counts: npt.NDArray[np.int16], members: PositionArray) -> int:
    """Write the candidates of a source; return how many there are."""
    positions, low, high, excluded, gaps, lead, every = settings
    d, n = positions.shape
    begin, end = (low[lead, q], high[lead, q]) if lead >= 0 else (0, n)
    needed = d - 1 if lead >= 0 else d
    if end <= begin:
        return 0
    most = needed if every else 0
    for first in range(begin, end, _STRETCH):
        last = min(end, first + _STRETCH)
        here = counts[first:last]
        here[:] = 0
        for j in range(d):
            if j != lead:
                _add_inside(here, positions[j, first:last], low[j, q], high[j, q], gaps[j])
    for j in range(d):
        t = excluded[j, q]
        if begin <= t < end:
            counts[t] -= 1
    if not every:
        for t in range(begin, end):
            most = max(most, counts[t])
    found = 0
    for t in range(begin, end):
        if counts[t] == most:
            members[found] = t
            found += 1
    return found


@kernel
def _add_inside(counts: npt.NDArray[np.int16], positions: PositionArray, low: int, high: int, gaps: bool) -> None:
    """One more for every target whose position is in the range. Without branches, for the vector units."""
    width = np.uint32(max(0, high - low))
    for i in range(len(counts)):
        counts[i] += np.uint32(positions[i] - low) < width
    if gaps:
        for i in range(len(counts)):
            counts[i] += positions[i] < 0  # ranges begin at 0 or above, so this is no position inside one


@kernel
def _distance(
    sources: FloatArray, q: int, targets: FloatArray, t: int, form: IntArray, start: FloatArray, slope: FloatArray
) -> float:
    """From source q to target t, both in rows; infinite where they have no attribute in common."""
    d = sources.shape[1]
    total, shared = 0.0, 0
    for j in range(d):
        difference = abs(sources[q, j] - targets[t, j])
        if np.isnan(difference):
            continue
        shared += 1
        total += term(sources[q, j], targets[t, j], form[j], start[j], slope[j])
    return total * (d / shared) if shared > 0 else np.inf
