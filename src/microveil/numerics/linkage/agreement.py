"""How well pairs of records agree: a level in each attribute, together a pattern; and how often each pattern occurs.

Level 0 is full agreement, every limit that the difference exceeds is one level more, and where one of the cells may be
anything a last level says that nothing is known. A pattern is the number whose digits are the levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from queue import SimpleQueue

import numpy as np
import numpy.typing as npt

from microveil.numerics.core.compiled import kernel, over_chunks, threads
from microveil.numerics.neighbours.mixed_distance import STEP, Settings, Table, Terms, distances_from
from microveil.numerics.neighbours.nearest import distances
from microveil.progress import Progress, silent
from microveil.typing import BoolArray, FloatArray, IntArray

LAID_OUT = 2**22  # patterns that are counted in one table
_PAIRS, _SORTED_PAIRS = 2 * 10**8, 2 * 10**7
_AT_ONCE = 10**6
_CHUNK = 512  # targets whose cells stay in the processor's cache
_LARGEST_PATTERN = 2**53


@dataclass(frozen=True)
class Scheme:
    """The limits of each attribute, ascending; whether a missing cell may be anything; and whether records that do not
    agree fully in it are compared at all."""

    limits: tuple[tuple[float, ...], ...]
    wildcard: BoolArray
    blocking: BoolArray

    def of(self, chosen: Sequence[int]) -> Scheme:
        return Scheme(tuple(self.limits[j] for j in chosen), self.wildcard[list(chosen)], self.blocking[list(chosen)])

    @property
    def levels(self) -> IntArray:
        """How many levels each attribute has, without the last one for what is not known."""
        return np.array([len(limits) + 1 for limits in self.limits])

    @property
    def digits(self) -> IntArray:
        return self.levels + self.wildcard

    @property
    def patterns(self) -> float:
        """How many patterns are possible."""
        return float(np.prod(self.digits.astype(np.float64)))

    @property
    def strides(self) -> FloatArray:
        return np.asarray(np.concatenate([[1.0], np.cumprod(self.digits[:-1].astype(np.float64))]))

    def table(self, table: Table) -> Table:
        """A column for each limit of each attribute."""
        columns = np.repeat(np.arange(len(self.limits)), [len(limits) for limits in self.limits])
        return table.of(columns).contiguous()

    def terms(self, costs: Sequence[FloatArray], lookup: FloatArray | None = None) -> Terms:
        """What each level of each attribute adds to a distance; the sums may be indices into a table."""
        start, slope, wildcard, penalty = [], [], [], []
        for j, (limits, cost) in enumerate(zip(self.limits, costs, strict=True)):
            for level, limit in enumerate(limits):
                step = float(cost[level + 1] - cost[level])
                unknown = float(cost[-1]) if level == 0 else 0.0
                start.append(0.0 if self.blocking[j] else limit)
                slope.append(np.inf if self.blocking[j] else step)
                wildcard.append(bool(self.wildcard[j]))
                penalty.append(unknown if self.wildcard[j] else slope[-1])
        columns = np.array(start), np.array(slope), np.array(wildcard), np.array(penalty)
        return Terms(np.full(len(start), STEP), *columns, table=lookup)

    def pattern_terms(self, lookup: FloatArray | None = None) -> Terms:
        """Sums are patterns, or what a table has at these indices."""
        costs = [stride * np.arange(digits) for stride, digits in zip(self.strides, self.digits, strict=True)]
        return self.terms(costs, lookup)

    def levels_of(self, patterns: IntArray) -> npt.NDArray[np.uint8]:
        """The levels of patterns, a row for each."""
        strides = self.strides.astype(np.int64)
        return ((patterns[:, None] // strides) % self.digits).astype(np.uint8)

    @property
    def fits(self) -> bool:
        """Whether a pattern can be written as an exact number."""
        return self.patterns < _LARGEST_PATTERN


@dataclass(frozen=True)
class Patterns:
    """Patterns that occur, their levels and the number of pairs that have each."""

    numbers: IntArray
    levels: npt.NDArray[np.uint8]
    counts: FloatArray

    def on(self, scheme: Scheme, chosen: Sequence[int]) -> Patterns:
        """The patterns on some of the attributes, with the sums over all others."""
        part = scheme.of(chosen)
        each = self.levels[:, list(chosen)] @ part.strides
        numbers, counts = counted(each.astype(np.int64), self.counts, part.patterns)
        return Patterns(numbers, part.levels_of(numbers), counts)

    def all_possible(self, scheme: Scheme) -> Patterns:
        """The same with the patterns that do not occur."""
        numbers = np.arange(int(scheme.patterns))
        counts = np.zeros(len(numbers))
        counts[self.numbers] = self.counts
        return Patterns(numbers, scheme.levels_of(numbers), counts)


def count_patterns(
    scheme: Scheme,
    sources: Table,
    source_counts: IntArray,
    targets: Table,
    target_counts: IntArray,
    generator: np.random.Generator,
    progress: Progress,
    label: str,
) -> Patterns:
    """Over all pairs of records; where these are too many, over all pairs of some of the sources.

    Records that occur several times are given once with their number.
    """
    rows, width = sources.cells.shape[1], targets.cells.shape[1]
    chosen = np.arange(rows)
    if rows > (most := most_counted(scheme, width)):
        chosen = np.sort(generator.choice(rows, size=most, replace=False))
    laid_sources, laid_targets = scheme.table(sources.at(chosen)), scheme.table(targets)
    count = _counted_in_table if scheme.patterns <= LAID_OUT else _counted_by_sorting
    numbers, counts = count(scheme, laid_sources, source_counts[chosen], laid_targets, target_counts, progress, label)
    return Patterns(numbers, scheme.levels_of(numbers), counts)


def most_counted(scheme: Scheme, targets: int) -> int:
    """How many sources are compared with so many targets."""
    return max(1, (_PAIRS if scheme.patterns <= LAID_OUT else _SORTED_PAIRS) // targets)


def _counted_in_table(
    scheme: Scheme, sources: Table, source_counts: IntArray, targets: Table, target_counts: IntArray,
    progress: Progress, label: str,
) -> tuple[IntArray, FloatArray]:  # fmt: skip
    """A table for each thread: counts are whole numbers, so that their sums do not depend on who adds them."""
    settings = scheme.pattern_terms().between(sources, targets)
    free: SimpleQueue[FloatArray] = SimpleQueue()
    tables = [np.zeros(int(scheme.patterns)) for _ in range(threads())]
    for table in tables:
        free.put(table)

    def work(start: int, end: int) -> None:
        table, part = free.get(), sources.at(slice(start, end))
        _add_pairs(part, source_counts[start:end], targets, target_counts, settings, table)
        free.put(table)

    size, width = sources.cells.shape[1], targets.cells.shape[1]
    over_chunks(work, size, max(1, _AT_ONCE // width), progress, label)
    sums = np.sum(tables, axis=0)
    occurring = np.flatnonzero(sums).astype(np.int64)
    return occurring, sums[occurring]


def _counted_by_sorting(
    scheme: Scheme, sources: Table, source_counts: IntArray, targets: Table, target_counts: IntArray,
    progress: Progress, label: str,
) -> tuple[IntArray, FloatArray]:  # fmt: skip
    """Of more patterns than a table has room for, those that occur."""
    terms, size, step = scheme.pattern_terms(), len(source_counts), max(1, _AT_ONCE // len(target_counts))
    found = []
    for low in range(0, size, step):
        sums = distances(sources.at(slice(low, low + step)), targets, terms, silent, label)
        weights = (source_counts[low : low + step, None] * target_counts).astype(np.float64)
        compared = np.isfinite(sums)
        found.append(counted(sums[compared].astype(np.int64), weights[compared], scheme.patterns))
        progress(min(1.0, (low + step) / size), label)
    numbers, counts = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return counted(numbers, counts, scheme.patterns)


@kernel
def _add_pairs(
    sources: Table,
    source_counts: IntArray,
    targets: Table,
    target_counts: IntArray,
    settings: Settings,
    table: FloatArray,
) -> None:
    """Add every pair of records to the count of its pattern; those that are not compared have none."""
    cells, states = sources
    size = len(target_counts)
    patterns, in_common = np.empty(_CHUNK), np.empty(_CHUNK)
    for begin in range(0, size, _CHUNK):
        end = min(size, begin + _CHUNK)
        for q in range(len(source_counts)):
            found = patterns[: end - begin]
            distances_from((cells[:, q], states[:, q]), targets, begin, settings, found, in_common[: end - begin])
            for i in range(end - begin):
                if found[i] < np.inf:
                    table[int(found[i])] += source_counts[q] * target_counts[begin + i]


def counted(numbers: IntArray, weights: FloatArray, possible: float) -> tuple[IntArray, FloatArray]:
    """The different numbers, and the sum of the weights of each."""
    if possible <= 4 * len(numbers):
        sums = np.bincount(numbers, weights=weights, minlength=1).astype(np.float64)
        occurring = np.flatnonzero(sums).astype(np.int64)
        return occurring, sums[occurring]
    different, inverse = np.unique(numbers, return_inverse=True)
    return different, np.bincount(inverse.reshape(-1), weights=weights, minlength=len(different)).astype(np.float64)
