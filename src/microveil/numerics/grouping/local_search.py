"""Lowering the loss of a partition by iterated local search, with every group kept within k and 2k-1 records.

First a descent: every record takes the step that lowers the loss most, of those in `exchanges`, until none is left.
Then kicks: groups around a record, one with much loss more often than others, are disturbed by a few exchanges and
descend from there; what does not pay is taken back, but now and then kept at first, so that the search leaves poor
local optima.

The whole file has one graph of neighbours. A long file is searched in regions of near groups side by side, which fit
into the processor's cache; they are cut anew in every round, elsewhere, and the graph leads across all their borders
sooner or later. A short file is one region, searched several times from other kicks; the best are searched on. Nothing
depends on the number of threads, as every region and every run has random numbers of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from microveil.numerics.core.compiled import over_chunks, threads
from microveil.numerics.grouping.centroid_groups import split_large
from microveil.numerics.grouping.exchanges import (
    TRIED,
    Groups,
    Region,
    ShortArray,
    descend_queue,
    kick_and_mend,
    wait_for_all,
)
from microveil.numerics.grouping.groups import group_centres
from microveil.progress import Part, Progress, parts, silent
from microveil.typing import FloatArray, IntArray

_LARGEST_REGION = 5_000
_NEIGHBOURS_OF_SHORT, _NEIGHBOURS_OF_LONG = (30, 60), (16, 24)  # the fewest and the most
# in a long file a neighbour may be farther by this share than the one it stands for, which takes a sixth of the time
_INEXACT = 1.0
_RUNS, _FINALISTS = 4, 2
_FEW_STEPS = 2_000  # for each record: with fewer, one run finds more than several
_FEWEST_ROUNDS, _MOST_ROUNDS = 4, 50
_STEPS_OF_A_ROUND = 2_000  # for each record, once there are more rounds than the fewest
_FEWEST_SLICES, _STEPS_OF_A_SLICE = 10, 5_000_000  # of a run, for progress, cancelling and the time
# temperatures, in units of the loss per record: of a run, and of one that goes on with what another has found
_WARM, _COOL, _COLD = 0.3, 0.1, 0.003
_CUTS = (1 / 2, 1 / 3, 2 / 3, 2 / 5, 3 / 5)  # where the rounds cut, so that no border is one for long
_ENDLESS = np.iinfo(np.int64).max
_ROUNDING = 1e-12  # of the sum of squares: less is no gain
# What `best` spends by itself, in steps: at most so many for each record and for the whole file, but no fewer for each
# record than the last. A step was measured to take about a tenth of a microsecond of one processor.
_MOST_STEPS_BY_DEFAULT, _STEPS_BY_DEFAULT, _FEWEST_STEPS_BY_DEFAULT = 200_000, 250_000_000, 500
_STEPS_OF_A_SECOND = 10_000_000


def default_steps(records: int, runs: int = 1) -> int:
    """How many steps for each record `best` tries by default, where so many runs share the time.

    >>> [default_steps(n) for n in (1000, 10_000, 1_000_000, 10_000_000)]
    [200000, 25000, 500, 500]
    """
    shared = _STEPS_BY_DEFAULT // (max(1, records) * max(1, runs))
    return min(_MOST_STEPS_BY_DEFAULT, max(_FEWEST_STEPS_BY_DEFAULT, shared))


def steps_within(seconds: float, records: int) -> int:
    """How many steps for each record may be tried in so many seconds on all processors; the clock decides in the end.

    >>> steps_within(0.0, 10)
    1
    """
    return max(1, int(seconds * threads() * _STEPS_OF_A_SECOND / max(1, records)))


def polish_groups(
    columns: FloatArray,
    labels: IntArray,
    k: int,
    steps: int,
    rng: np.random.Generator,
    progress: Progress,
    *,
    seconds: float | None = None,
    largest_region: int = _LARGEST_REGION,
) -> IntArray:
    """A partition with at most the loss of the one given and groups of k to 2k-1 records.

    Some `steps` are tried in all after a descent. With `seconds` the search also ends once so many have passed, and
    what it has found by then depends on how fast the machine is.
    """
    start = split_large(np.ascontiguousarray(columns), numbered(labels), k)
    if start.max() == 0 or loss_within(columns, start) == 0:
        progress(1.0, "polishing")
        return start
    ends = np.inf if seconds is None else time.monotonic() + seconds
    order, near = neighbour_graph(columns, k, long=len(columns) > largest_region)
    search = _Search(np.ascontiguousarray(columns[order]), near, k, rng, max(largest_region, 4 * k), ends)
    made = np.empty_like(start)
    made[order] = search.improved(start[order], steps, progress)
    progress(1.0, "polishing")
    return min((start, numbered(made)), key=lambda found: loss_within(columns, found))


def numbered(labels: IntArray) -> IntArray:
    """The labels as 0, 1, ..., in the order in which they first occur."""
    _, first, of_record = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[of_record.reshape(-1)]


def loss_within(columns: FloatArray, labels: IntArray) -> float:
    """The sum of squared distances to the group means."""
    return float(((columns - group_centres(columns, labels, int(labels.max()) + 1)[labels]) ** 2).sum())


def neighbour_graph(columns: FloatArray, k: int, *, long: bool) -> tuple[IntArray, ShortArray]:
    """The records in an order in which near ones stand together, and the neighbours of each by their places in it.

    In a long file these are few, and only almost the nearest.
    """
    from scipy.spatial import cKDTree

    order = np.asarray(cKDTree(columns).indices, dtype=np.int64)
    fewest, most = _NEIGHBOURS_OF_LONG if long else _NEIGHBOURS_OF_SHORT
    count = min(most, max(fewest, (2 if long else 6) * k))
    return order, nearest_neighbours(columns[order], count, _INEXACT if long else 0.0)


def nearest_neighbours(columns: FloatArray, count: int, inexact: float = 0.0) -> ShortArray:
    """The nearest other records of every record, nearest first; each at most `inexact` times farther than it should."""
    from scipy.spatial import cKDTree

    count = min(count, len(columns) - 1)
    tree = cKDTree(columns)

    def near(begin: int, end: int) -> ShortArray:
        found = tree.query(columns[begin:end], k=count + 1, eps=inexact)[1]
        # with many equal records a record need not be first among its own neighbours
        own = found == np.arange(begin, end)[:, None]
        own[~own.any(axis=1), -1] = True
        return np.ascontiguousarray(found[~own].reshape(end - begin, count), dtype=np.int32)

    return np.concatenate(over_chunks(near, len(columns), 1 << 14, silent, "polishing"))


class _Search:
    """The search in one file, whose records stand in the order of the graph."""

    def __init__(
        self,
        columns: FloatArray,
        near: ShortArray,
        k: int,
        rng: np.random.Generator,
        largest: int,
        ends: float,
    ) -> None:
        self.columns, self.near, self.k, self.rng, self.largest, self.ends = columns, near, k, rng, largest, ends
        self.unit = 0.0  # the loss per record after the descent
        self.least = _ROUNDING * max(float((columns**2).sum()), np.finfo(float).tiny)

    @property
    def _is_late(self) -> bool:
        return time.monotonic() >= self.ends

    def improved(self, labels: IntArray, steps: int, progress: Progress) -> IntArray:
        made = self._descended(numbered(labels))
        self.unit = loss_within(self.columns, made) / len(self.columns)
        progress(0.1, "polishing")
        if steps == 0 or self.unit == 0.0:
            return made
        kicked = self._restarted if len(made) <= self.largest else self._kicked_by_regions
        return kicked(made, steps, Part(progress, 0.1, 1.0))

    def _descended(self, labels: IntArray) -> IntArray:
        """Down to where no step pays: in regions first, then across their borders."""
        groups = Groups.of(self.columns, labels, self.k)
        if len(labels) > self.largest:
            regions = regions_of_groups(self.columns, labels, self.largest, _CUTS[0])
            self._over_regions(groups, regions, self._descend, silent)
        self._descend(groups, self._whole(groups), np.arange(len(labels)))
        return groups.labels.astype(np.int64)

    def _descend(self, groups: Groups, region: Region, rows: IntArray) -> None:
        wait_for_all(groups, region, rows)
        descend_queue(self.columns, groups, self.k, self.near, region, self.least, _ENDLESS, _ENDLESS)

    def _restarted(self, start: IntArray, steps: int, progress: Progress) -> IntArray:
        """Several runs take half of the steps, and the best of them go on with the other half."""
        if steps < _FEW_STEPS * len(start):
            return min([start, *self._runs([start], steps, _COOL, progress)], key=self._lost)
        found = self._runs([start] * _RUNS, steps // 2, _WARM, Part(progress, 0.0, 0.5))
        found = sorted([start, *found], key=self._lost)
        found += self._runs(found[:_FINALISTS], steps - steps // 2, _COOL, Part(progress, 0.5, 1.0))
        return min(found, key=self._lost)

    def _lost(self, labels: IntArray) -> float:
        return loss_within(self.columns, labels)

    def _runs(self, starts: list[IntArray], steps: int, heat: float, progress: Progress) -> list[IntArray]:
        """One result for each start; the steps are shared alike."""
        seeds = self.rng.integers(1, 2**63, size=len(starts), dtype=np.uint64)
        states = []
        for labels, seed in zip(starts, seeds, strict=True):
            groups = Groups.of(self.columns, numbered(labels), self.k)
            picks = _picks(self._lost_with_groups(labels), np.arange(len(labels)), int(seed))
            states.append((groups, self._whole(groups, seed), picks))
        slices = max(_FEWEST_SLICES, steps // (len(starts) * _STEPS_OF_A_SLICE))
        temperatures, share = self._temperatures(heat, slices), steps // (len(starts) * slices)
        for number, part in enumerate(parts(progress, slices)):
            if self._is_late:
                break
            hot, cold = temperatures[number], temperatures[number + 1]

            def run(one: int, _: int, hot: float = hot, cold: float = cold) -> None:
                groups, region, picks = states[one]
                self._kick(groups, region, picks, share, hot, cold)

            over_chunks(run, len(starts), 1, part, "polishing")
        return [self._descended(groups.labels.astype(np.int64)) for groups, _, _ in states]

    def _kicked_by_regions(self, start: IntArray, steps: int, progress: Progress) -> IntArray:
        """In every round each region by itself, with more of the steps where more of the loss lies."""
        made = start
        rounds = max(_FEWEST_ROUNDS, min(_MOST_ROUNDS, steps // (_STEPS_OF_A_ROUND * len(start))))
        temperatures = self._temperatures(_COOL, rounds)
        for number, part in enumerate(parts(progress, rounds)):
            if self._is_late:
                break
            made = self._kicked_once(numbered(made), number, temperatures[number : number + 2], steps // rounds, part)
        return min((start, self._descended(numbered(made))), key=self._lost)

    def _kicked_once(
        self, labels: IntArray, number: int, temperatures: FloatArray, steps: int, progress: Progress
    ) -> IntArray:
        groups, lost = Groups.of(self.columns, labels, self.k), self._lost_with_groups(labels)
        regions = regions_of_groups(self.columns, labels, self.largest, _CUTS[(number + 1) % len(_CUTS)])

        def kick(groups: Groups, region: Region, rows: IntArray) -> None:
            if self._is_late:
                return
            share = steps * (0.3 * len(rows) / len(lost) + 0.7 * lost[rows].sum() / lost.sum())
            picks = _picks(lost, rows, int(region.state[0]))
            self._kick(groups, region, picks, int(share), temperatures[0], temperatures[1])

        self._over_regions(groups, regions, kick, progress)
        return groups.labels.astype(np.int64)

    def _kick(self, groups: Groups, region: Region, picks: ShortArray, steps: int, hot: float, cold: float) -> None:
        enough = int(region.counts[TRIED]) + steps
        kick_and_mend(
            self.columns, groups, self.k, self.near, region, picks, enough, hot, cold, self.least, 2 + self.k // 2
        )

    def _temperatures(self, heat: float, slices: int) -> FloatArray:
        return np.asarray(self.unit * heat * (_COLD / heat) ** (np.arange(slices + 1) / slices))

    def _lost_with_groups(self, labels: IntArray) -> FloatArray:
        """For each record the loss of its group."""
        means = group_centres(self.columns, labels, int(labels.max()) + 1)
        squares = ((self.columns - means[labels]) ** 2).sum(axis=1)
        return np.asarray(np.bincount(labels, weights=squares)[labels])

    def _whole(self, groups: Groups, seed: int = 1) -> Region:
        everywhere = np.zeros(len(groups.labels), dtype=np.int32)
        return Region.of(
            everywhere, 0, len(groups.labels), np.flatnonzero(groups.sizes == 0), len(groups.sizes), self.k, seed
        )

    def _over_regions(
        self,
        groups: Groups,
        regions: list[IntArray],
        work: Callable[[Groups, Region, IntArray], None],
        progress: Progress,
    ) -> None:
        """Do this in every region; numbers of groups that are free go to the regions that have records for more."""
        of_record = np.empty(len(groups.labels), dtype=np.int32)
        for number, rows in enumerate(regions):
            of_record[rows] = number
        held = np.array([len(np.unique(groups.labels[rows])) for rows in regions])
        wanted = np.maximum(np.array([len(rows) for rows in regions]) // self.k - held, 0)
        free = np.split(np.flatnonzero(groups.sizes == 0), np.cumsum(wanted))
        seeds = self.rng.integers(1, 2**63, size=len(regions), dtype=np.uint64)

        def one(number: int, _: int) -> None:
            rows, own = regions[number], free[number]
            room = int(held[number]) + len(own)
            work(groups, Region.of(of_record, number, len(rows), own, room, self.k, seeds[number]), rows)

        over_chunks(one, len(regions), 1, progress, "polishing")


def _picks(lost: FloatArray, rows: IntArray, seed: int) -> ShortArray:
    """Records to kick, those of groups with much loss more often."""
    shares = 0.3 / len(rows) + 0.7 * lost[rows] / max(float(lost[rows].sum()), np.finfo(float).tiny)
    drawn = np.random.default_rng(seed).choice(rows, size=8 * len(rows), p=shares / shares.sum())
    return drawn.astype(np.int32)


def regions_of_groups(columns: FloatArray, labels: IntArray, largest: int, cut: float) -> list[IntArray]:
    """The records in regions of whole groups that lie near each other, at most `largest` where groups allow it.

    A region is cut where this share of its groups lies below, along the attribute in which their means differ most.
    """
    sizes = np.bincount(labels)
    means = group_centres(columns, labels, len(sizes))
    of_group = np.empty(len(sizes), dtype=np.int64)
    waiting, used = [np.arange(len(sizes))], 0
    while waiting:
        groups = waiting.pop()
        if sizes[groups].sum() <= largest or len(groups) < 2:
            of_group[groups] = used
            used += 1
            continue
        widest = int(np.argmax(np.var(means[groups], axis=0)))
        order = groups[np.argsort(means[groups, widest], kind="stable")]
        below = min(max(1, round(cut * len(order))), len(order) - 1)
        waiting += [order[below:], order[:below]]
    order = np.argsort(of_group[labels], kind="stable")
    return np.split(order, np.cumsum(np.bincount(of_group[labels], minlength=used))[:-1])
