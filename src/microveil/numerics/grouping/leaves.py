"""Records in small leaves of similar ones: searches for the nearest and the farthest record that pass most leaves over.

Records lie in shells around the medians, and within a shell in leaves; each leaf is compact in memory, column by
column, in single precision. The box around a leaf bounds the distances of its records, and the box around a branch of
16 leaves those of all of theirs, so that most are passed over in a search. What is left is screened in single
precision, and only records that the rounding of it leaves in doubt are measured in double precision. What may be lost
by rounding grows with a leaf's distance from the medians, so that a few huge values leave no doubt about the others.
Because the centre moves little, the farthest record from it is found from old distances plus the distance the centre
has moved.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from microveil.numerics.core.compiled import kernel, over_chunks
from microveil.numerics.core.exact_sums import add_exactly, exact_total
from microveil.progress import Progress, silent
from microveil.typing import FloatArray, IntArray

SingleArray = npt.NDArray[np.float32]

LEAF = 64
_BRANCH = 16  # leaves
_SHELL = 4096
_SHELLS_PER_CALL = 8
MANY_CELLS = 100_000  # below, a second thread saves nothing (measured)
SAFETY = 1.0 + 1e-6  # bounds are widened by this much, so that rounding never hides a record
_HALF_STEP = 2.0**-24  # the relative rounding error of single precision
_LARGEST = 1e15  # the largest cell: far from where squares overflow, and small values are far from where they vanish
_TINY = np.float32(1e-18)  # below it squares in single precision lose their digits


class Branches(NamedTuple):
    """The boxes around branches of leaves, their rims and peaks, and room for the searches, as for leaves."""

    low: SingleArray
    high: SingleArray
    rim: SingleArray
    peak: FloatArray
    bounds: SingleArray


class Leaves(NamedTuple):
    """The records of an (n, d) matrix in leaves, as the kernels take them.

    `cells` by leaf and column, moved by `origin` and divided by `unit`: the distance between two points in these cells
    is wrong by at most `error` times the sum of their distances from the origin. `ids` and `counts` say which records a
    leaf holds, and `slots` where each record is. `low` and `high` are the box around each leaf, and `rim` its greatest
    distance from the origin; `branches` have these of 16 leaves each. The `bound` of a record is its distance to
    `anchor`, an earlier centre, and `peak` the largest bound in a leaf. `total` is the sum of the records left.
    `point`, around which a search is made, `screen` and `bounds`, of each leaf, are room for the searches.
    """

    columns: FloatArray
    cells: SingleArray
    ids: IntArray
    counts: IntArray
    slots: IntArray
    low: SingleArray
    high: SingleArray
    rim: SingleArray
    anchor: FloatArray
    bound: FloatArray
    peak: FloatArray
    unit: float
    error: np.float32
    origin: FloatArray
    total: FloatArray
    point: SingleArray
    screen: SingleArray
    bounds: SingleArray
    branches: Branches


def over_leaves(
    columns: FloatArray,
    enough: int,
    some: Callable[[Leaves, int, int], tuple[int, int]],
    progress: Progress,
    label: str,
) -> tuple[IntArray, int]:
    """Let `some` make groups while `enough` records are left; which are left in the end, and how many groups there are.

    It gets the leaves and how many records are left and groups made, and returns these two anew.
    """
    ids, groups = np.arange(len(columns)), 0
    while len(ids) >= enough:
        leaves = _leaves(columns, ids)
        size = len(ids)
        # made anew when a third of the records are gone: then the boxes are too wide and the leaves half empty
        while size >= max(enough, 2 * len(ids) // 3):
            size, groups = some(leaves, size, groups)
            progress(1.0 - size / len(columns), label)
        ids = np.sort(leaves.ids[np.arange(LEAF) < leaves.counts[:, None]])
    return ids, groups


def _leaves(columns: FloatArray, ids: IntArray) -> Leaves:
    alive = columns[ids]
    d = alive.shape[1]
    total = exact_total(alive)  # anew: the digits that a huge value cost come back once it is gone
    origin = _medians(alive)
    alive -= origin
    unit = max(float(np.abs(alive).max()) / _LARGEST, 1e-290)
    alive /= unit
    radius = np.sqrt(np.einsum("ij,ij->i", alive, alive))
    positions, counts = _leaf_positions(alive, radius)
    cells = np.empty((len(counts), d, LEAF), dtype=np.float32)
    low, high = (np.empty((d, len(counts)), dtype=np.float32) for _ in range(2))
    _enter(alive, positions, cells, low, high)
    rim = radius[positions].max(axis=1).astype(np.float32)
    numbers = ids[positions]
    slots = np.empty(len(columns), dtype=np.int64)
    slots[numbers[:, ::-1].ravel()] = np.arange(positions.size).reshape(positions.shape)[:, ::-1].ravel()
    bound = np.zeros(positions.shape)
    anchor, peak = np.full(d, np.nan), np.zeros(len(counts))
    error = np.float32(2.0 * _HALF_STEP * (d + 6.0))
    point, screen, bounds = (np.empty(size, dtype=np.float32) for size in (d, LEAF, len(counts)))
    return Leaves(
        columns, cells, numbers, counts, slots, low, high, rim, anchor, bound, peak, unit, error, origin, total,
        point, screen, bounds, _branches(low, high, rim),
    )  # fmt: skip


def _medians(alive: FloatArray) -> FloatArray:
    def of_columns(start: int, end: int) -> FloatArray:
        return np.asarray(np.median(alive[:, start:end], axis=0))

    d = alive.shape[1]
    return np.concatenate(over_chunks(of_columns, d, 1 if alive.size >= MANY_CELLS else d, silent, ""))


def with_own_room(leaves: Leaves) -> Leaves:
    """The same leaves with other room for the searches, so that another thread may search at the same time."""
    branches = leaves.branches._replace(bounds=np.empty_like(leaves.branches.bounds))
    point, screen, bounds = (np.empty_like(room) for room in (leaves.point, leaves.screen, leaves.bounds))
    return leaves._replace(point=point, screen=screen, bounds=bounds, branches=branches)


def _branches(low: SingleArray, high: SingleArray, rim: SingleArray) -> Branches:
    starts = np.arange(0, len(rim), _BRANCH)
    around = np.minimum.reduceat(low, starts, axis=1), np.maximum.reduceat(high, starts, axis=1)
    room = np.empty(len(starts), dtype=np.float32)
    return Branches(*around, np.maximum.reduceat(rim, starts), np.zeros(len(starts)), room)


def _leaf_positions(alive: FloatArray, radius: FloatArray) -> tuple[IntArray, IntArray]:
    """The positions in every leaf, and how many they are; all leaves but the last are full.

    Shells of records with a similar distance from the centre, the outermost first, are cut into leaves.
    """
    order = np.argsort(-radius)  # ties may fall in any order: the searches are exact whatever a leaf holds
    start, shell = 0, _SHELL
    shells: list[tuple[int, int]] = []
    while start < len(order) and shell > LEAF:
        while shell > LEAF and shell > len(order) - start:
            shell //= 2  # the last shells are smaller, and cut in halves they still give full leaves
        if shell > LEAF:
            shells.append((start, start + shell))
            start += shell

    def cut(first: int, end: int) -> None:
        for start, stop in shells[first:end]:
            _cut(alive, order[start:stop])

    over_chunks(cut, len(shells), _SHELLS_PER_CALL, silent, "")
    counts = np.diff(np.append(np.arange(0, len(order), LEAF), len(order)))
    positions = np.full((len(counts), LEAF), -1, dtype=np.int64)
    positions.reshape(-1)[: len(order)] = order
    # empty slots repeat a record of the leaf, so that they never stretch a bound
    return np.where(positions < 0, positions[:, :1], positions), counts


@kernel
def _enter(alive: FloatArray, positions: IntArray, cells: SingleArray, low: SingleArray, high: SingleArray) -> None:
    """Fill the cells of the leaves and the boxes around them."""
    for leaf in range(len(cells)):
        for j in range(alive.shape[1]):
            least, most = np.float32(np.inf), np.float32(-np.inf)
            for i in range(LEAF):
                value = np.float32(alive[positions[leaf, i], j])
                cells[leaf, j, i] = value
                least, most = min(least, value), max(most, value)
            low[j, leaf], high[j, leaf] = least, most


@kernel
def _cut(points: FloatArray, order: IntArray) -> None:
    """Sort positions, a power of two times the leaf, so that each leaf holds similar points: cut at medians."""
    chunk = len(order)
    while chunk > LEAF:
        half = chunk // 2
        for begin in range(0, len(order), chunk):
            rows = order[begin : begin + chunk].copy()
            values = points[rows, _widest(points, rows)]
            middle = np.partition(values, half)[half]
            equal = half - (values < middle).sum()  # so many of those at the median itself go to the lower half
            low, high = begin, begin + half
            for i in range(chunk):
                if values[i] < middle or (values[i] == middle and equal > 0):
                    equal -= values[i] == middle
                    order[low] = rows[i]
                    low += 1
                else:
                    order[high] = rows[i]
                    high += 1
        chunk = half


@kernel
def _widest(points: FloatArray, rows: IntArray) -> int:
    """The column in which these points differ most."""
    low, high = points[rows[0]].copy(), points[rows[0]].copy()
    for row in rows:
        for j in range(points.shape[1]):
            low[j] = min(low[j], points[row, j])
            high[j] = max(high[j], points[row, j])
    return int(np.argmax(high - low))


@kernel
def move_point(leaves: Leaves, to: FloatArray) -> None:
    """Let the searches be around this point."""
    point, origin, unit = leaves.point, leaves.origin, leaves.unit
    for j in range(len(point)):
        point[j] = (to[j] - origin[j]) / unit


@kernel
def farthest_from_centre(leaves: Leaves, size: int, renew: bool) -> tuple[int, int]:
    """The record farthest from the mean of the records left, and how many were tried for it, -1 for a renewal.

    No record can be farther from the centre of today than its bound plus the distance the centre has moved since; the
    bounds are renewed when the records tried since the last renewal would have paid for it.
    """
    columns, ids, counts, anchor, bound = leaves.columns, leaves.ids, leaves.counts, leaves.anchor, leaves.bound
    peak, total, branches = leaves.peak, leaves.total, leaves.branches
    centre = total[0] / size
    moved = 0.0
    for j in range(len(centre)):
        moved += (centre[j] - anchor[j]) ** 2
    moved = np.sqrt(moved)
    best, best_square, tried = -1, -1.0, 0
    if np.isnan(moved) or renew:
        anchor[:] = centre
        for leaf in range(len(counts)):
            peak[leaf] = -1.0
            for i in range(counts[leaf]):
                record = ids[leaf, i]
                square = square_to_point(columns, record, centre)
                bound[leaf, i] = np.sqrt(square)
                peak[leaf] = max(peak[leaf], bound[leaf, i])
                if square > best_square or (square == best_square and record < best):
                    best, best_square = record, square
            branch = leaf // _BRANCH
            branches.peak[branch] = max(peak[leaf], branches.peak[branch] if leaf % _BRANCH else -1.0)
        return best, -1
    top = _top(branches.peak, 0, len(branches.peak))
    reach = -1.0
    for turn in range(len(branches.peak) + 1):
        branch = top if turn == 0 else turn - 1
        if branches.peak[branch] < reach or (turn > 0 and branch == top):
            continue
        of_branch = -1.0
        start, end = branch * _BRANCH, min((branch + 1) * _BRANCH, len(counts))
        top_leaf = _top(peak, start, end)
        for at in range(start, end + 1):
            leaf = top_leaf if at == start else at - 1
            if counts[leaf] == 0 or (at > start and leaf == top_leaf):
                continue
            if peak[leaf] >= reach:
                highest = -1.0
                for i in range(counts[leaf]):
                    highest = max(highest, bound[leaf, i])
                    if bound[leaf, i] >= reach:
                        tried += 1
                        record = ids[leaf, i]
                        square = square_to_point(columns, record, centre)
                        if square > best_square or (square == best_square and record < best):
                            best, best_square = record, square
                            reach = np.sqrt(best_square) / SAFETY - moved * SAFETY
                peak[leaf] = highest
            of_branch = max(of_branch, peak[leaf])
        branches.peak[branch] = of_branch
    return best, tried


@kernel
def outermost(leaves: Leaves, size: int, far: IntArray, squares: FloatArray) -> int:
    """Fill `far` with the records farthest from the mean of the records left, in order; how many there are.

    It goes by the bounds of `farthest_from_centre`, which must have been called for these leaves.
    """
    columns, ids, counts, anchor, bound = leaves.columns, leaves.ids, leaves.counts, leaves.anchor, leaves.bound
    peak, branches, wanted, found = leaves.peak, leaves.branches, len(far), 0
    centre = leaves.total[0] / size
    moved = np.sqrt(((centre - anchor) ** 2).sum())
    reach = -1.0
    for branch in range(len(branches.peak)):
        if branches.peak[branch] < reach:
            continue
        for leaf in range(branch * _BRANCH, min((branch + 1) * _BRANCH, len(counts))):
            if peak[leaf] < reach:
                continue
            for i in range(counts[leaf]):
                if bound[leaf, i] < reach:
                    continue
                square = square_to_point(columns, ids[leaf, i], centre)
                found = _put_among_farthest(far, squares, found, ids[leaf, i], square)
                if found == wanted:
                    reach = np.sqrt(squares[wanted - 1]) / SAFETY - moved * SAFETY
    return found


@kernel
def square_to_point(columns: FloatArray, record: int, point: FloatArray) -> float:
    square = 0.0
    for j in range(columns.shape[1]):
        square += (columns[record, j] - point[j]) ** 2
    return square


@kernel
def screen_leaf(leaves: Leaves, leaf: int) -> None:
    """Squared distances of a leaf's records to a point, in single precision."""
    cells, point, screen = leaves.cells, leaves.point, leaves.screen
    d = cells.shape[1]
    for i in range(LEAF):
        screen[i] = 0.0
    j = 0
    while j + 1 < d:
        one, other = cells[leaf, j], cells[leaf, j + 1]
        at_one, at_other = point[j], point[j + 1]
        for i in range(LEAF):
            across, along = one[i] - at_one, other[i] - at_other
            screen[i] = (screen[i] + across * across) + along * along
        j += 2
    if j < d:
        one, at_one = cells[leaf, j], point[j]
        for i in range(LEAF):
            across = one[i] - at_one
            screen[i] += across * across


@kernel
def any_up_to(screen: SingleArray, border: np.float32) -> bool:
    count = 0  # counting to the end is faster than stopping: the compiler has vector instructions for it
    for i in range(LEAF):
        count += screen[i] <= border
    return count > 0


@kernel
def _any_from(screen: SingleArray, border: np.float32) -> bool:
    count = 0
    for i in range(LEAF):
        count += screen[i] >= border
    return count > 0


@kernel
def nearest_in_leaves(leaves: Leaves, seed: int, members: IntArray, near: FloatArray) -> None:
    """Fill `members` with the seed and its k-1 nearest records, in order, and `near` with their squared distances."""
    columns, ids, counts = leaves.columns, leaves.ids, leaves.counts
    low, high, rim, error, least = leaves.low, leaves.high, leaves.rim, leaves.error, leaves.bounds
    unit, point, screen, branches = leaves.unit, leaves.point, leaves.screen, leaves.branches
    k = members.shape[0]
    home = leaves.slots[seed] // LEAF
    members[0], near[0], found = seed, -1.0, 1
    reach = np.float32(np.inf)  # the distance in cells beyond which no record is wanted
    if k == 1:
        return
    away, every = norm(point), len(branches.rim)
    least_distances(branches.low, branches.high, branches.rim, point, error, away, branches.bounds, 0, every)
    for turn in range(every + 1):
        branch = home // _BRANCH if turn == 0 else turn - 1
        if turn > 0 and branch == home // _BRANCH:
            continue
        start, end = branch * _BRANCH, min((branch + 1) * _BRANCH, len(counts))
        if branches.bounds[branch] > reach:
            continue
        least_distances(low, high, rim, point, error, away, least, start, end)
        for at in range(start, end + 1):
            leaf = at - 1
            if at == start:
                if turn > 0:
                    continue
                leaf = home
            elif least[leaf] > reach or counts[leaf] == 0 or leaf == home:
                continue
            border = (reach + slack(error, away, rim[leaf])) ** 2
            screen_leaf(leaves, leaf)
            if not any_up_to(screen, border):
                continue
            for i in range(counts[leaf]):
                if screen[i] > border:
                    continue
                record = ids[leaf, i]
                if record == seed:
                    continue
                square = square_to_point(columns, record, columns[seed])
                if found == k and (square > near[k - 1] or (square == near[k - 1] and record > members[k - 1])):
                    continue
                found = min(found + 1, k)
                slot = found - 1
                while slot > 1 and (
                    near[slot - 1] > square or (near[slot - 1] == square and members[slot - 1] > record)
                ):
                    members[slot], near[slot] = members[slot - 1], near[slot - 1]
                    slot -= 1
                members[slot], near[slot] = record, square
                if found == k:
                    reach = np.float32(np.sqrt(near[k - 1]) / unit * SAFETY)
                    border = (reach + slack(error, away, rim[leaf])) ** 2


@kernel
def slack(error: np.float32, away: np.float32, rim: np.float32) -> np.float32:
    """How much a distance in single precision may be wrong, between points so far from the origin."""
    return error * (away + rim) + _TINY


@kernel
def norm(point: SingleArray) -> np.float32:
    """The distance of a point from the origin."""
    away: np.float32 = np.sqrt((point * point).sum())
    return away


@kernel
def least_distances(
    low: SingleArray,
    high: SingleArray,
    rim: SingleArray,
    point: SingleArray,
    error: np.float32,
    away: np.float32,
    bounds: SingleArray,
    start: int,
    end: int,
) -> None:
    """The least distance of a point, so far `away` from the origin, to some leaves or branches: to the box, and to the
    ball around the origin that holds it; less what rounding may have added."""
    zero, bounds, rim = np.float32(0.0), bounds[start:end], rim[start:end]  # a loop from 0 uses vector instructions
    for box in range(len(bounds)):
        bounds[box] = zero
    for j in range(low.shape[0]):
        below, above, at = low[j, start:end], high[j, start:end], point[j]
        for box in range(len(bounds)):
            outside = max(max(below[box] - at, at - above[box]), zero)
            bounds[box] += outside * outside
    for box in range(len(bounds)):
        bounds[box] = max(np.sqrt(bounds[box]), away - rim[box]) - slack(error, away, rim[box])


@kernel
def _greatest_distances(
    low: SingleArray,
    high: SingleArray,
    rim: SingleArray,
    point: SingleArray,
    error: np.float32,
    away: np.float32,
    bounds: SingleArray,
    start: int,
    end: int,
) -> None:
    """The distance of a point to the farthest corner of the box of some leaves or branches, and to the far end of the
    ball; with what rounding may have taken off."""
    zero, bounds, rim = np.float32(0.0), bounds[start:end], rim[start:end]
    for box in range(len(bounds)):
        bounds[box] = zero
    for j in range(low.shape[0]):
        below, above, at = low[j, start:end], high[j, start:end], point[j]
        for box in range(len(bounds)):
            side = max(at - below[box], above[box] - at)
            bounds[box] += side * side
    for box in range(len(bounds)):
        bounds[box] = min(np.sqrt(bounds[box]), away + rim[box]) + slack(error, away, rim[box])


@kernel
def _top(values: FloatArray | SingleArray, start: int, end: int) -> int:
    """The first of the greatest values."""
    top = start
    for at in range(start + 1, end):
        if values[at] > values[top]:
            top = at
    return top


@kernel
def farthest_from(leaves: Leaves, seed: int) -> int:
    """The record farthest from a seed that is grouped already."""
    far, squares = np.empty(1, dtype=np.int64), np.empty(1)
    farthest_in_leaves(leaves, seed, far, squares)
    return int(far[0])


@kernel
def farthest_in_leaves(leaves: Leaves, seed: int, far: IntArray, squares: FloatArray) -> None:
    """Fill `far` with the records farthest from a seed, in order and without itself, and `squares` with their squared
    distances; where there are too few, the rest of `far` stays as it is."""
    columns, ids, counts = leaves.columns, leaves.ids, leaves.counts
    low, high, rim, error, most = leaves.low, leaves.high, leaves.rim, leaves.error, leaves.bounds
    unit, point, screen, branches = leaves.unit, leaves.point, leaves.screen, leaves.branches
    away, every, wanted, found = norm(point), len(branches.rim), len(far), 0
    _greatest_distances(branches.low, branches.high, branches.rim, point, error, away, branches.bounds, 0, every)
    top = _top(branches.bounds, 0, every)
    reach, zero = np.float32(0.0), np.float32(0.0)  # the distance in cells that a record must have
    for turn in range(every + 1):
        branch = top if turn == 0 else turn - 1
        if branches.bounds[branch] < reach or (turn > 0 and branch == top):
            continue
        start, end = branch * _BRANCH, min((branch + 1) * _BRANCH, len(counts))
        _greatest_distances(low, high, rim, point, error, away, most, start, end)
        top_leaf = _top(most, start, end)
        for at in range(start, end + 1):
            leaf = top_leaf if at == start else at - 1
            if most[leaf] < reach or counts[leaf] == 0 or (at > start and leaf == top_leaf):
                continue
            border = max(reach - slack(error, away, rim[leaf]), zero) ** 2
            screen_leaf(leaves, leaf)
            if not _any_from(screen, border):
                continue
            for i in range(counts[leaf]):
                if screen[i] < border or ids[leaf, i] == seed:
                    continue
                square = square_to_point(columns, ids[leaf, i], columns[seed])
                found = _put_among_farthest(far, squares, found, ids[leaf, i], square)
                if found == wanted:
                    reach = np.float32(np.sqrt(squares[wanted - 1]) / unit / SAFETY)
                    border = max(reach - slack(error, away, rim[leaf]), zero) ** 2


@kernel
def _put_among_farthest(far: IntArray, squares: FloatArray, found: int, record: int, square: float) -> int:
    """Put a record in its place among those found, if it has one; how many are found now.

    They are in the order of their squared distances, the greatest first; ties go to the lowest record number.
    """
    last = len(far) - 1
    if found > last:
        if square < squares[last] or (square == squares[last] and record > far[last]):
            return found
        found = last
    slot = found
    while slot > 0 and (squares[slot - 1] < square or (squares[slot - 1] == square and far[slot - 1] > record)):
        far[slot], squares[slot] = far[slot - 1], squares[slot - 1]
        slot -= 1
    far[slot], squares[slot] = record, square
    return found + 1


@kernel
def close_group_in_leaves(leaves: Leaves, labels: IntArray, members: IntArray, size: int, group: int) -> int:
    """Label the members and move records from the end of their leaf into their places; return how many are left."""
    columns, cells, ids, counts, slots = leaves.columns, leaves.cells, leaves.ids, leaves.counts, leaves.slots
    bound, total = leaves.bound, leaves.total
    d = columns.shape[1]
    for record in members:
        labels[record] = group
        leaf, position = slots[record] // LEAF, slots[record] % LEAF
        counts[leaf] -= 1
        last = counts[leaf]
        for j in range(d):
            add_exactly(total, j, -columns[record, j])
            cells[leaf, j, position] = cells[leaf, j, last]
            if position == last:
                cells[leaf, j, position] = cells[leaf, j, 0]
        ids[leaf, position] = ids[leaf, last]
        bound[leaf, position] = bound[leaf, last]
        slots[ids[leaf, position]] = leaf * LEAF + position
    return size - len(members)


@kernel
def close_around(
    leaves: Leaves, labels: IntArray, seed: int, members: IntArray, near: FloatArray, size: int, group: int
) -> int:
    """A group of a record and its nearest, for which `members` and `near` are room; how many records are left."""
    move_point(leaves, leaves.columns[seed])
    nearest_in_leaves(leaves, seed, members, near)
    return close_group_in_leaves(leaves, labels, members, size, group)
