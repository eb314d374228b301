"""The best node of the lattice of levels, by branch and bound over boxes of nodes.

A box holds the nodes between a lowest and a highest one. Two facts bound what any node of it can keep:

- A record whose class is insufficient at the highest node is so at every node of the box, since its classes there are
  parts of that class, and a part of an insufficient class is insufficient. Such a record keeps nothing.
- A record that is released at some node keeps no more than at the lowest node of the box. Moreover, if its class is
  insufficient at the highest node with one attribute lowered to some level, that attribute has to be above this level
  wherever the record is released: the record needs the next level at least, and keeps no more than at that one.

Both hold for each record and attribute by itself, so the sum of what records keep at the levels that they need is an
upper bound for all nodes of the box. A box is split in two at a level of one attribute: the half below has fewer
records to look at, and in the half above records become equal, so the tables of both become smaller. Boxes are treated
in the order of their bounds: the first whose bound does not exceed the best node found proves that one the best.
Demands that a class may lose with further records are checked at single nodes, and bound boxes only where nothing may
be suppressed.

The idea of searching the lattice of full-domain generalisation with monotonicity is that of Samarati (2001) and of
LeFevre, DeWitt and Ramakrishnan (2005); El Emam et al. (2009) search it for the optimum.
"""

from __future__ import annotations

import heapq
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from math import ceil

import numpy as np
import numpy.typing as npt

from microveil.numerics.core.compiled import kernel, threads
from microveil.numerics.lattice.checking import Demands, Solution, Utility, check
from microveil.numerics.lattice.classes import (
    Levels,
    Records,
    Words,
    joined_by_class,
    kept_at,
    kept_by_rows,
    sums_by_class,
)
from microveil.numerics.lattice.neighbourhood import Neighbourhood
from microveil.progress import Progress, silent
from microveil.typing import BoolArray, FloatArray, IntArray

SmallInts = npt.NDArray[np.int8]
_ROUNDING = 1e-12
_LABEL = "searching the lattice of levels"
_FEW = 4_000  # rows that are not worth a second thread
_SHARE = 0.5  # of the budget of a search without proof that goes into bounds


@dataclass(frozen=True)
class Outcome:
    """The best node found; `bound` is what no node can exceed, and equals its utility where it is `proven` the best.

    `solutions` are all nodes that were checked exactly, the best first; `checked` counts groupings of records.
    """

    best: Solution | None
    proven: bool
    bound: float
    checked: int
    solutions: tuple[Solution, ...]


@dataclass(frozen=True)
class _Box:
    """The nodes from `low` to `high`, the rows that are sufficient at `high`, one for all that are equal at `low`, and
    for each row and attribute the level that it needs.

    `probed` says that these levels are the highest that can be shown; raising `low` alone does not change them.
    """

    low: Levels
    high: Levels
    rows: IntArray
    amounts: FloatArray
    held: Words
    needs: SmallInts
    probed: bool = False


def search(
    records: Records, utility: Utility, demands: Demands, budget: int | None = None, progress: Progress = silent
) -> Outcome:
    """The node whose release keeps most, among those that fulfil the demands.

    With a `budget` of groupings the search may end without a proof; then a part of the budget goes into improving the
    best node found. The same records and budget always give the same outcome.
    """
    searching = _Search(records, utility, demands, budget, progress)
    searching.climb(searching.top)
    bound = searching.branch(1.0 if budget is None else _SHARE)
    proven = bound is None
    if not proven:
        searching.wander()
    best = searching.best
    reached = 0.0 if best is None else best.utility
    ranked = sorted(searching.solutions.values(), key=lambda s: (not s.satisfies, -s.utility, s.levels))
    return Outcome(
        best, proven, reached if bound is None else max(bound, reached), ceil(searching.checked), tuple(ranked)
    )


@dataclass
class _Search:
    """What a search has found so far."""

    records: Records
    utility: Utility
    demands: Demands
    budget: int | None
    progress: Progress
    checked: float = 0
    best: Solution | None = None
    solutions: dict[Levels, Solution] = field(default_factory=dict)
    bounds: dict[Levels, tuple[bool, float]] = field(default_factory=dict)

    @property
    def top(self) -> Levels:
        return tuple(level - 1 for level in self.records.levels)

    def spent(self, share: float = 1.0) -> bool:
        return self.budget is not None and self.checked >= share * self.budget

    def solution(self, levels: Levels) -> Solution:
        """Check a node exactly, once."""
        if levels not in self.solutions:
            self.checked += 1
            found = check(self.records, self.utility, self.demands, levels).solution
            self.solutions[levels] = found
            if found.satisfies and (self.best is None or _rank(found) < _rank(self.best)):
                self.best = found
        return self.solutions[levels]

    def exceeds(self, bound: float) -> bool:
        """Whether so much is more than what the best node keeps."""
        return self.best is None or bound > self.best.utility * (1.0 + _ROUNDING) + _ROUNDING

    # --- improving one node --------------------------------------------------------------------------------------

    def climb(self, levels: Levels) -> Solution:
        """From a node to the best of those that differ by one level of one attribute, until none is better."""
        at = self.solution(levels)
        while not self.spent():
            around = [self.solution(node) for node in self._neighbours(at.levels) if not self.spent()]
            ahead = min(around, key=_rank, default=at)
            if _rank(ahead) >= _rank(at):
                break
            at = ahead
            self.progress(0.1, _LABEL)
        return at

    def _neighbours(self, levels: Levels) -> list[Levels]:
        return [
            _moved(levels, j, level)
            for j, number in enumerate(self.records.levels)
            for level in (levels[j] - 1, levels[j] + 1)
            if 0 <= level < number
        ]

    def wander(self) -> None:
        """Climb again from nodes that differ from the best in a few attributes, until the budget is spent."""
        draws = np.random.Generator(np.random.PCG64(0))  # the same wandering for the same records
        number = np.array(self.records.levels)
        idle = 0
        with ThreadPoolExecutor(max_workers=threads()) as pool:
            while not self.spent() and self.best is not None and idle < _MOST_IDLE:
                start = np.array(self.best.levels)
                changed = draws.choice(len(number), size=min(len(number), int(draws.integers(2, 5))), replace=False)
                start[changed] = draws.integers(0, number[changed])
                before = self.checked
                self.climb_by_moves(tuple(int(level) for level in start), pool)
                idle = idle + 1 if self.checked == before else 0
                self.progress(0.6 + 0.4 * min(1.0, self.checked / (self.budget or 1)), _LABEL)

    def climb_by_moves(self, levels: Levels, pool: ThreadPoolExecutor) -> None:
        """The same climb by the neighbourhoods of nodes, whose passes over the records count as a tenth of a grouping.

        Where more is asked for than numbers of records, a pass tells no more than a bound, and a node is checked
        exactly before the climb goes there.
        """
        around = Neighbourhood(self.records, self.utility, float(self.demands.least[0]), levels)
        at = self._reached(levels, self._moves(around, [(0, levels[0])], pool)[0])
        while not self.spent():
            moves = [
                (j, level)
                for j, number in enumerate(self.records.levels)
                for level in (around.levels[j] - 1, around.levels[j] + 1)
                if 0 <= level < number
            ]
            ahead: tuple[int, int] | None = None
            found = self._moves(around, moves, pool)
            for bound, move in sorted(zip(found, moves, strict=True)):
                if bound >= at:
                    break
                there = self._reached(_moved(around.levels, *move), bound)
                if there < at:
                    at, ahead = there, move
            if ahead is None:
                break
            around = around.at(*ahead)
        if self.best is None or at < (False, -self.best.utility):
            self.solution(around.levels)

    def _moves(
        self, around: Neighbourhood, moves: list[tuple[int, int]], pool: ThreadPoolExecutor
    ) -> list[tuple[bool, float]]:
        """For each move whether too many records are suppressed after it, and minus what is kept at most."""
        nodes = [_moved(around.levels, *move) for move in moves]
        new = [move for move, node in zip(moves, nodes, strict=True) if node not in self.bounds]
        self.checked += _MOVE * len(new)
        _ = around.words, around.kept  # before threads need them
        passes = (map if len(self.records.codes) < _FEW else pool.map)(lambda move: around.moved(*move), new)
        for move, (kept, suppressed) in zip(new, passes, strict=True):
            too_many = suppressed > self.demands.allowed(self.records.number)
            self.bounds[_moved(around.levels, *move)] = too_many, -kept
        return [self.bounds[node] for node in nodes]

    def _reached(self, levels: Levels, bound: tuple[bool, float]) -> tuple[bool, float]:
        """What a node reaches: its bound where only numbers of records are asked for, else by checking it."""
        if self.demands.counts_only:
            return bound
        found = self.solution(levels)
        return not found.satisfies, -found.utility

    # --- bounds --------------------------------------------------------------------------------------------------

    def branch(self, share: float) -> float | None:
        """Treat boxes until the best node is proven, or the share of the budget is spent: then the highest bound."""
        rows = np.arange(len(self.records.codes))
        whole = self._sufficient_at(rows, self.records.amounts, self.records.held, self.top)
        low = (0,) * len(self.top)
        needs = np.zeros((int(whole.sum()), len(low)), dtype=np.int8)
        box = _Box(low, self.top, rows[whole], self.records.amounts[whole], self.records.held[whole], needs)
        queue: list[tuple[float, int, _Box]] = [(-np.inf, 0, box)]
        made = 1
        with ThreadPoolExecutor(max_workers=threads()) as pool:
            while queue:
                bound, _, box = heapq.heappop(queue)
                if not self.exceeds(-bound):
                    return None
                if self.spent(share):
                    return min(1.0, -bound)
                for part, highest in self._split(box, pool):
                    if self.exceeds(highest):
                        heapq.heappush(queue, (-highest, made, part))
                        made += 1
                self.progress(0.1 + 0.5 * (1.0 - 1.0 / (1.0 + made / 100.0)), _LABEL)
        return None

    def _sufficient_at(self, rows: IntArray, amounts: FloatArray, held: Words, levels: Levels) -> BoolArray:
        labels, first = self.records.classes(rows, levels)
        return self.demands.sufficient(labels, len(first), amounts, held)[labels]

    def _split(self, box: _Box, pool: ThreadPoolExecutor) -> list[tuple[_Box, float]]:
        """The two halves of a box with their bounds; none where no node of it can be better than the best."""
        if self._is_hopeless(box):
            return []
        free = [j for j in range(len(box.low)) if box.low[j] < box.high[j]]
        if not free:
            self.solution(box.low)
            return []
        box = box if box.probed else self._probed(box, free, pool)
        kept = self._kept(box)
        if not self.exceeds(float(kept.sum())):
            return []
        self._consider(box)
        below, above = _bounds_of_halves(
            self.records.codes, box.rows, box.amounts[:, 0], box.needs, kept, self.records.starts, self.records.sizes,
            self.utility.cells, np.array(box.low), np.array(box.high),
        )  # fmt: skip
        low, high = self._worth_looking_at(box, below, above)
        if any(a > b for a, b in zip(low, high, strict=True)):
            return []
        if (low, high) != (box.low, box.high):
            return [(self._within(box, low, high), float(kept.sum()))]
        drops = (kept.sum() - below) * (kept.sum() - above)
        j, position = np.unravel_index(int(np.argmax(np.where(np.isnan(drops), -np.inf, drops))), drops.shape)
        level = box.low[j] + int(position)
        return [
            (self._half_below(box, int(j), level), float(below[j, position])),
            (self._within(box, (*box.low[:j], level + 1, *box.low[j + 1 :]), box.high), float(above[j, position])),
        ]

    def _is_hopeless(self, box: _Box) -> bool:
        """Whether too many records are insufficient at every node, or demands fail that hold at no lower node then."""
        number = self.records.number
        if number - box.amounts[:, 0].sum() > self.demands.allowed(number):
            return True
        # sizes of classes are judged by estimates, which may rise or fall with the levels
        none_suppressed = self.demands.allowed(number) < 1.0 and self.demands.of_sizes is None
        return none_suppressed and not self.solution(box.high).satisfies

    def _probed(self, box: _Box, free: list[int], pool: ThreadPoolExecutor) -> _Box:
        """The box with the levels that its rows need, found by lowering one attribute of its highest node at a time."""
        needs = box.needs.copy()
        waiting = [(j, box.low[j]) for j in free]
        while waiting:

            def sufficient(probe: tuple[int, int]) -> BoolArray:
                j, level = probe
                lowered = (*box.high[:j], level, *box.high[j + 1 :])
                return self._sufficient_at(box.rows, box.amounts, box.held, lowered)

            self.checked += len(waiting)
            found = list((map if len(box.rows) < _FEW else pool.map)(sufficient, waiting))
            following = []
            for (j, level), enough in zip(waiting, found, strict=True):
                needs[~enough & (needs[:, j] <= level), j] = level + 1
                if level + 1 < box.high[j] and not enough.all():
                    following.append((j, level + 1))
            waiting = following
        return _Box(box.low, box.high, box.rows, box.amounts, box.held, needs, True)

    def _kept(self, box: _Box) -> FloatArray:
        """What each row keeps at most at any node of the box."""
        records = self.records
        cells = kept_by_rows(records.codes, box.rows, box.needs, records.starts, records.sizes, self.utility.cells)
        least = np.maximum(box.amounts[:, 0], self.demands.least[0])
        return box.amounts[:, 0] * (cells + self.utility.of_sizes(np.minimum(least, records.number)))

    def _consider(self, box: _Box) -> None:
        """Check the highest node of a box where it may be the best."""
        records, counts = self.records, box.amounts[:, 0]
        kept = kept_at(records.codes, box.rows, records.begin(box.high), self.utility.cells)
        least = np.minimum(np.maximum(counts, self.demands.least[0]), records.number)
        if self.exceeds(float((counts * (kept + self.utility.of_sizes(least))).sum())):
            self.solution(box.high)

    def _worth_looking_at(self, box: _Box, below: FloatArray, above: FloatArray) -> tuple[Levels, Levels]:
        """The lowest and the highest levels that are left when halves that cannot be better than the best are cut."""
        low, high = list(box.low), list(box.high)
        for j in range(len(low)):
            for position in range(box.high[j] - box.low[j]):
                if not self.exceeds(float(below[j, position])):
                    low[j] = max(low[j], box.low[j] + position + 1)
                if not self.exceeds(float(above[j, position])):
                    high[j] = min(high[j], box.low[j] + position)
        return tuple(low), tuple(high)

    def _within(self, box: _Box, low: Levels, high: Levels) -> _Box:
        """The part of a box between these nodes."""
        rows, amounts, held, needs = box.rows, box.amounts, box.held, box.needs
        if high != box.high:
            self.checked += 1
            enough = (needs <= np.array(high, dtype=np.int8)).all(axis=1)
            rows, amounts, held, needs = rows[enough], amounts[enough], held[enough], needs[enough]
            enough = self._sufficient_at(rows, amounts, held, high)
            rows, amounts, held, needs = rows[enough], amounts[enough], held[enough], needs[enough]
        if low != box.low:
            self.checked += 1
            labels, first = self.records.classes(rows, low)
            needs = np.maximum(needs[first], np.array(low, dtype=np.int8))
            amounts, rows = sums_by_class(labels, len(first), amounts), rows[first]
            held = joined_by_class(labels, len(first), held)
        return _Box(low, high, rows, amounts, held, needs, box.probed and high == box.high)

    def _half_below(self, box: _Box, j: int, level: int) -> _Box:
        high = (*box.high[:j], level, *box.high[j + 1 :])
        left = box.needs[:, j] <= level
        return _Box(box.low, high, box.rows[left], box.amounts[left], box.held[left], box.needs[left])


_MOVE = 0.1  # of a grouping, which a look at a node of a neighbourhood costs
_MOST_IDLE = 50  # starts in a row that led to nodes that were checked before


def _moved(levels: Levels, j: int, level: int) -> Levels:
    """The node with an attribute at another level."""
    return (*levels[:j], level, *levels[j + 1 :])


def _rank(solution: Solution) -> tuple[bool, float, int, Levels]:
    """Smaller is better: what satisfies the demands, keeps more, suppresses less; then the lower levels."""
    return not solution.satisfies, -solution.utility, solution.suppressed, solution.levels


@kernel
def _bounds_of_halves(
    codes: IntArray,
    rows: IntArray,
    counts: FloatArray,
    needs: SmallInts,
    kept: FloatArray,
    starts: IntArray,
    sizes: IntArray,
    cells: FloatArray,
    low: IntArray,
    high: IntArray,
) -> tuple[FloatArray, FloatArray]:
    """For each attribute and level from its lowest on, the bounds of the halves up to this level and above it."""
    widest = 1
    for j in range(len(low)):
        widest = max(widest, high[j] - low[j])
    below = np.full((len(low), widest), np.nan)
    above = np.full((len(low), widest), np.nan)
    for j in range(len(low)):
        for level in range(low[j], high[j]):
            under, over = 0.0, 0.0
            for i in range(len(rows)):
                need = needs[i, j]
                if need <= level:
                    under += kept[i]
                    at = starts[j] + codes[rows[i], j]
                    over += kept[i] - counts[i] * (cells[at + need * sizes[j]] - cells[at + (level + 1) * sizes[j]])
                else:
                    over += kept[i]
            below[j, level - low[j]] = under
            above[j, level - low[j]] = over
    return below, above
