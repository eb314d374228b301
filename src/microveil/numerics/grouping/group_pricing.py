"""The pricing problem of microaggregation: groups of k to 2k-1 records that cost less than their shares.

Every record has a share of the loss. A group of s records costs its sum of squares, which is the sum of the squared
distances of its pairs divided by s; its reduced cost is that less the shares of its members. Shares of which no group
has a negative reduced cost add up to a lower bound on the loss of every partition (linear programming duality).

A group belongs to its root, the member with the largest share, so that every group is met once. For each root and size
a branch and bound search puts members in one by one (Aloise, Hansen, Rocha and Santi 2014). What the members still to
come cost among themselves is bounded by the shortest distances that each of them has. A search that is cut short says
how low the reduced cost of what it has not seen can be, so that a bound follows from it too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from microveil.numerics.core.compiled import kernel, over_chunks
from microveil.numerics.grouping.local_search import nearest_neighbours
from microveil.progress import Progress, silent
from microveil.typing import FloatArray, IntArray

_ROOTS_AT_ONCE = 32
_FEW_RECORDS = 5_000  # up to so many every distance is looked at
_MOST_CANDIDATES = 1_200  # of one root, among which all distances are kept
_CUT, _FULL = 1, 2  # how a search ended: short of nodes, with more groups than are kept


class _Problem(NamedTuple):
    """What every search of a round needs; `nearest[i, m]` is the sum of the m shortest squared distances of record i.

    Groups with a reduced cost below `below` are looked for, and the `most` cheapest of each root and size are kept.
    """

    points: FloatArray
    nearest: FloatArray
    shares: FloatArray
    rank: IntArray
    reach: FloatArray
    k: int
    below: float
    limit: int
    most: int


@dataclass(frozen=True)
class Priced:
    """What the searches found: groups, and for each root a number, at most 0, below which no reduced cost of its is.

    `complete` says whether no search was cut short, `all_found` whether there are no other groups than these.
    """

    groups: list[IntArray]
    floors: FloatArray
    complete: bool
    all_found: bool


class Pricing:
    """The records of one file, on which shares are priced round after round.

    Columns that are NaN for one of two records do not count in their distance.
    """

    def __init__(self, points: FloatArray, k: int) -> None:
        self.points, self.k = np.ascontiguousarray(points), k
        self.tree = None
        if len(points) > _FEW_RECORDS and not np.isnan(self.points).any():
            from scipy.spatial import cKDTree

            self.tree = cKDTree(self.points)
        shortest = near_records(self.points, min(2 * k - 2, len(points) - 1))[1]
        self.nearest = np.full((len(points), 2 * k - 1), np.inf)
        self.nearest[:, 0] = 0.0
        self.nearest[:, 1 : shortest.shape[1] + 1] = np.cumsum(shortest, axis=1)
        # what a reduced cost may be below 0: more than rounding, and far less than would be seen in the loss
        self.tolerance = 1e-11 * float(np.nansum(self.points**2)) / max(1, len(points))

    def price(
        self,
        shares: FloatArray,
        limit: int,
        progress: Progress = silent,
        *,
        below: float | None = None,
        most: int = 1,
    ) -> Priced:
        """Search every root with at most `limit` nodes for each size."""
        below = -self.tolerance if below is None else below
        rank = np.empty(len(shares), dtype=np.int64)
        rank[np.argsort(-shares, kind="stable")] = np.arange(len(shares))
        reach = self._reach(shares, below)
        problem = _Problem(self.points, self.nearest, shares, rank, reach, self.k, below, limit, most)

        def work(start: int, end: int) -> tuple[FloatArray, IntArray, IntArray]:
            ends, near = self._within(reach, start, end)
            return _price_roots(problem, start, end, ends, near)

        found = over_chunks(work, len(shares), _ROOTS_AT_ONCE, progress, "pricing groups")
        floors, groups, states = (list(parts) for parts in zip(*found, strict=True))
        ended = np.concatenate(states)
        made = [row[row >= 0] for rows in groups for row in rows[rows[:, 0] >= 0]]
        return Priced(made, np.concatenate(floors), not (ended & _CUT).any(), not ended.any())

    def _reach(self, shares: FloatArray, below: float) -> FloatArray:
        """Beyond which squared distance of a root no other is in a group with it: two records cost half of theirs.

        That does not hold where columns are left out for some of the members.
        """
        if np.isnan(self.points).any():
            return np.full(len(shares), np.inf)
        return 2.0 * ((2 * self.k - 1) * np.maximum(shares, 0.0) + max(below, 0.0))

    def _within(self, reach: FloatArray, start: int, end: int) -> tuple[IntArray, IntArray]:
        """The records near enough to be in a group with each root; none named means that all are to be looked at."""
        if self.tree is None:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        radii = np.sqrt(reach[start:end]) * (1 + 1e-9)
        found = self.tree.query_ball_point(self.points[start:end], radii, return_sorted=True)
        return np.cumsum([len(near) for near in found]), np.concatenate([np.asarray(n, dtype=np.int64) for n in found])


def near_records(points: FloatArray, count: int) -> tuple[IntArray, FloatArray]:
    """The nearest other records of every record, nearest first, and their squared distances."""
    if np.isnan(points).any():
        parts = over_chunks(lambda a, b: _nearest(points, a, b, count), len(points), 64, silent, "near records")
        return np.concatenate([near for near, _ in parts]), np.concatenate([away for _, away in parts])
    near = nearest_neighbours(points, count).astype(np.int64)
    away = np.empty(near.shape)
    for position in range(near.shape[1]):
        away[:, position] = ((points[near[:, position]] - points) ** 2).sum(axis=1)
    # the tree compares rounded distances
    return near, np.maximum.accumulate(away, axis=1) * (1 - 1e-12)


@kernel
def squared_distance(points: FloatArray, i: int, j: int) -> float:
    """On the columns that both records have."""
    total = 0.0
    for column in range(points.shape[1]):
        difference = points[i, column] - points[j, column]
        if not np.isnan(difference):
            total += difference * difference
    return total


@kernel
def ascending(keys: FloatArray) -> IntArray:
    """The positions of the keys from the smallest on; sorting is compiled once for all kernels that need it."""
    return np.argsort(keys)


@kernel
def _nearest(points: FloatArray, start: int, end: int, count: int) -> tuple[IntArray, FloatArray]:
    near, away = np.empty((end - start, count), dtype=np.int64), np.empty((end - start, count))
    distances = np.empty(len(points))
    for i in range(start, end):
        for j in range(len(points)):
            distances[j] = np.inf if j == i else squared_distance(points, i, j)
        near[i - start] = ascending(distances)[:count]
        away[i - start] = distances[near[i - start]]
    return near, away


@kernel
def _price_roots(
    problem: _Problem, start: int, end: int, ends: IntArray, near: IntArray
) -> tuple[FloatArray, IntArray, IntArray]:
    """For each root the floor and how the search ended, and the groups of all of them (-1 where there is none)."""
    k, most = problem.k, problem.most
    floors, states = np.zeros(end - start), np.zeros(end - start, dtype=np.int64)
    groups = np.full(((end - start) * k * most, 2 * k - 1), -1, dtype=np.int64)
    everyone = np.arange(len(problem.points))
    for root in range(start, end):
        at = root - start
        if len(ends) == 0:
            members, away = _candidates(problem, root, everyone)
        else:
            members, away = _candidates(problem, root, near[(ends[at - 1] if at > 0 else 0) : ends[at]])
        if len(members) > _MOST_CANDIDATES:
            states[at] = _CUT
            for size in range(k, 2 * k):
                floors[at] = min(floors[at], _root_bound(problem, root, members, away, size)[0] / size)
            continue
        between, order = _distances_among(problem.points, members)
        for size in range(k, min(2 * k, len(members) + 2)):
            first = (at * k + size - k) * most
            floor, state = _search(problem, root, size, members, away, between, order, groups[first : first + most])
            floors[at] = min(floors[at], floor)
            states[at] |= state
    return floors, groups, states


@kernel
def _candidates(problem: _Problem, root: int, near: IntArray) -> tuple[IntArray, FloatArray]:
    """The records that can be in a group that is looked for with a root, and their squared distances to it."""
    members, away, count = np.empty(len(near), dtype=np.int64), np.empty(len(near)), 0
    for j in near:
        if problem.rank[j] > problem.rank[root]:
            distance = squared_distance(problem.points, root, j)
            if distance <= problem.reach[root]:
                members[count], away[count] = j, distance
                count += 1
    members, away = members[:count], away[:count]
    possible = np.zeros(count, dtype=np.bool_)
    for size in range(problem.k, min(2 * problem.k, count + 2)):
        least, last, keys = _root_bound(problem, root, members, away, size)
        for c in range(count):
            possible[c] |= max(least, least - last + keys[c]) < size * problem.below
    return members[possible], away[possible]


@kernel
def _root_bound(
    problem: _Problem, root: int, members: IntArray, away: FloatArray, size: int
) -> tuple[float, float, FloatArray]:
    """A number below size times the reduced cost of every group of a root, the largest key in it, and all keys."""
    keys = np.empty(len(members))
    for c in range(len(members)):
        j = members[c]
        keys[c] = away[c] - size * problem.shares[j] + 0.5 * problem.nearest[j, size - 2]
    if len(members) < size - 1:
        return np.inf, np.inf, keys
    total, last = _smallest(keys, len(keys), size - 1)
    return total - size * problem.shares[root], last, keys


@kernel
def _distances_among(points: FloatArray, members: IntArray) -> tuple[FloatArray, IntArray]:
    """The squared distances of some records, and for each of them the others, nearest first."""
    count = len(members)
    between = np.zeros((count, count))
    order = np.empty((count, count), dtype=np.int64)
    for a in range(count):
        for b in range(a):
            between[a, b] = between[b, a] = squared_distance(points, members[a], members[b])
    for a in range(count):
        order[a] = ascending(between[a])
    return between, order


@kernel
def _smallest(keys: FloatArray, count: int, wanted: int) -> tuple[float, float]:
    """The sum of the smallest of the first `count` keys, and the largest that is in it."""
    lowest = np.empty(wanted)
    filled = 0
    for c in range(count):
        key = keys[c]
        if filled < wanted:
            filled += 1
        elif key >= lowest[wanted - 1]:
            continue
        position = filled - 1
        while position > 0 and lowest[position - 1] > key:
            lowest[position] = lowest[position - 1]
            position -= 1
        lowest[position] = key
    return lowest.sum(), lowest[wanted - 1]


@kernel
def _search(
    problem: _Problem,
    root: int,
    size: int,
    members: IntArray,
    away: FloatArray,
    between: FloatArray,
    order: IntArray,
    groups: IntArray,
) -> tuple[float, int]:
    """The least reduced cost of the groups of a root and a size, at most 0, and how the search ended.

    The groups are written where they are found. Where nodes run out, the first number is below every reduced cost.

    On each level one more member is in. `fixed` is size times the reduced cost of those that are, `costs` what each
    candidate adds to it, and `keys` that and half its distances to the others that come, at least.
    """
    count = len(members)
    candidates, costs = np.empty((size, count), dtype=np.int64), np.empty((size, count))
    keys, fixed = np.empty((size, count)), np.empty(size)
    left, position, chosen = np.empty(size, dtype=np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64)
    seen = np.zeros(count, dtype=np.int64)
    values, found = np.full(len(groups), np.inf), 0
    cutoff = size * problem.below
    for c in range(count):
        candidates[0, c], costs[0, c] = c, away[c] - size * problem.shares[members[c]]
    left[0], fixed[0] = count, -size * problem.shares[root]
    level, nodes, is_new = 0, 0, True
    while level >= 0:
        wanted = size - 1 - level
        if is_new:
            nodes += 1
            if nodes > problem.limit:
                unseen = _least_unseen(level, size, fixed, keys, left, position)
                return min(0.0, unseen, values.min()) / size, _CUT
            is_new, position[level] = False, 0
            if wanted == 1:
                for p in range(left[level]):
                    value = fixed[level] + costs[level, p]
                    if value < cutoff:
                        chosen[level] = candidates[level, p]
                        slot = found if found < len(groups) else np.argmax(values)
                        values[slot], groups[slot, 0] = value, root
                        for t in range(size - 1):
                            groups[slot, t + 1] = members[chosen[t]]
                        found += 1
                        if found >= len(groups):
                            cutoff = values.max()
                level -= 1
            else:
                left[level] = _narrowed(
                    candidates[level], costs[level], keys[level], left[level], wanted, cutoff - fixed[level],
                    between, order, seen, nodes,
                )  # fmt: skip
            continue
        first = position[level]
        if left[level] - first < wanted or fixed[level] + keys[level, first : first + wanted].sum() >= cutoff:
            level -= 1
            continue
        position[level] += 1
        chosen[level] = candidates[level, first]
        fixed[level + 1] = fixed[level] + costs[level, first]
        left[level + 1] = left[level] - first - 1
        for later in range(first + 1, left[level]):
            candidates[level + 1, later - first - 1] = candidates[level, later]
            costs[level + 1, later - first - 1] = costs[level, later] + between[chosen[level], candidates[level, later]]
        level += 1
        is_new = True
    return min(0.0, values.min()) / size, _FULL if found >= len(groups) else 0


@kernel
def _narrowed(
    candidates: IntArray,
    costs: FloatArray,
    keys: FloatArray,
    left: int,
    wanted: int,
    room: float,
    between: FloatArray,
    order: IntArray,
    seen: IntArray,
    node: int,
) -> int:
    """Keep, smallest key first, the candidates with which `wanted` of them can add less than `room`; how many are left.

    Every candidate that goes raises the keys of the others, so it is tried again while many go.
    """
    before = 2 * left + wanted
    while wanted <= left and 10 * left < 9 * before:
        before = left
        for p in range(left):
            seen[candidates[p]] = node
        for p in range(left):
            keys[p] = costs[p] + 0.5 * _shortest_among(candidates[p], wanted - 1, between, order, seen, node)
        total, last = _smallest(keys, left, wanted)
        if total >= room:
            return 0
        left = 0
        for p in range(before):
            if keys[p] <= last or total - last + keys[p] < room:
                candidates[left], costs[left], keys[left] = candidates[p], costs[p], keys[p]
                left += 1
            else:
                seen[candidates[p]] = 0
    if left < wanted:
        return 0
    in_order = ascending(keys[:left])
    candidates[:left], costs[:left] = candidates[:left][in_order], costs[:left][in_order]
    keys[:left] = keys[:left][in_order]
    return left


@kernel
def _shortest_among(
    candidate: int, wanted: int, between: FloatArray, order: IntArray, seen: IntArray, node: int
) -> float:
    """The sum of the shortest distances of a candidate to others of this node."""
    total, at = 0.0, 0
    while wanted > 0:
        other = order[candidate, at]
        if other != candidate and seen[other] == node:
            total += between[candidate, other]
            wanted -= 1
        at += 1
    return total


@kernel
def _least_unseen(
    level: int,
    size: int,
    fixed: FloatArray,
    keys: FloatArray,
    left: IntArray,
    position: IntArray,
) -> float:
    """A number below size times the reduced cost of every group that could be found and that the search missed."""
    least = np.inf
    for t in range(level):
        # the deepest node has not been bounded: it is one of those of its parent
        first, wanted = position[t] - (t == level - 1), size - 1 - t
        if left[t] - first >= wanted:
            least = min(least, fixed[t] + keys[t, first : first + wanted].sum())
    return least
