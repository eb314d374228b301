"""Learning automata that divide objects among classes: the object migrating automaton, and its form for records.

Every object has a class and a depth in it: at depth 1 it is certain of its class, at the greatest depth it stands at
the boundary and may leave. In the object migrating automaton (OMA) a stream of pairs that belong together moves the
objects; in its form for records (OMMA) the pairs are records that lie near each other, and a record leaves its group
only in an exchange that lowers the squared distances within the two groups. Oommen and Ma (1988); Fayyoumi (2008),
sections 4.2.3 and 4.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from microveil.errors import ParameterError
from microveil.numerics.core.compiled import kernel
from microveil.numerics.grouping.steps import square_between, swap_change, swap_sums
from microveil.progress import Progress, silent
from microveil.typing import BoolArray, FloatArray, IntArray

PairArray = npt.NDArray[np.int32]

_PAIRS_PER_CALL = 200_000
_LEAST_GAIN = 1e-12  # of the total sum of squares: duplicates are not exchanged for ever


# --- the object migrating automaton -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Automaton:
    """Where a stream of pairs has brought the objects; depths run from 1, the innermost, to the boundary.

    `penalties` is the share of penalties among the queries of each object (NaN for one that was never asked for), an
    estimate of its class's penalty probability. `converged_after` is the number of queries after which all objects
    were as deep as asked for, or -1.
    """

    classes: IntArray
    depths: IntArray
    penalties: FloatArray
    converged_after: int


def object_migration(
    objects: int,
    classes: int,
    depth: int,
    queries: npt.ArrayLike,
    rng: np.random.Generator,
    *,
    enhanced: bool = True,
    innermost: int = 1,
) -> Automaton:
    """The OMA: classes of equal size, so that objects that are often asked for together come to share one.

    The enhanced form lets an object at its boundary change places with one at the boundary of its partner's class.
    All objects have converged when they are among the `innermost` states of their classes; the stream ends there.
    Objects may be attributes, and the queries pairs of them that analyses use together: the classes are then segments
    of attributes to be masked together.

    >>> queries = [(0, 1), (2, 3)] * 50
    >>> object_migration(4, 2, 5, queries, np.random.default_rng(1)).classes.tolist()
    [1, 1, 0, 0]
    """
    if objects % classes:
        raise ParameterError(f"{objects} objects cannot be divided into {classes} classes of equal size")
    pairs = np.asarray(queries, dtype=np.int64).reshape(-1, 2)
    class_of = rng.permutation(np.arange(objects, dtype=np.int64) % classes)
    depths = np.full(objects, depth, dtype=np.int64)
    asked = np.zeros((objects, 2), dtype=np.int64)
    after = _migrate(pairs, class_of, depths, depth, asked, enhanced, innermost)
    total = asked.sum(axis=1)
    penalties = np.where(total > 0, asked[:, 1] / np.maximum(total, 1), np.nan)
    return Automaton(class_of, depths, penalties, after)


@kernel
def _migrate(
    pairs: IntArray,
    class_of: IntArray,
    depths: IntArray,
    boundary: int,
    asked: IntArray,
    enhanced: bool,
    innermost: int,
) -> int:
    for number in range(pairs.shape[0]):
        i, j = pairs[number, 0], pairs[number, 1]
        if i == j:
            continue
        penalty = 0 if class_of[i] == class_of[j] else 1
        asked[i, penalty] += 1
        asked[j, penalty] += 1
        if penalty == 0:
            depths[i] = max(1, depths[i] - 1)
            depths[j] = max(1, depths[j] - 1)
        elif depths[i] < boundary and depths[j] < boundary:
            depths[i] += 1
            depths[j] += 1
        elif depths[i] == boundary and depths[j] == boundary:
            _join(class_of, depths, i, j)
        else:
            inner, outer = (i, j) if depths[i] < boundary else (j, i)
            if enhanced:
                _change_places(class_of, depths, inner, outer, boundary)
            depths[inner] += 1
        if depths.max() <= innermost:
            return number + 1
    return -1


@kernel
def _join(class_of: IntArray, depths: IntArray, i: int, j: int) -> None:
    """Object i joins j at the boundary of its class; the member nearest to that boundary takes i's place."""
    replaced = -1
    for other in range(len(class_of)):
        if (
            class_of[other] == class_of[j]
            and other != i
            and other != j
            and (replaced < 0 or depths[other] > depths[replaced])
        ):
            replaced = other
    if replaced >= 0:
        class_of[replaced], depths[replaced] = class_of[i], depths[i]
        class_of[i], depths[i] = class_of[j], depths[j]


@kernel
def _change_places(class_of: IntArray, depths: IntArray, inner: int, outer: int, boundary: int) -> None:
    """An object at the boundary of the inner object's class and the outer object, at its own, change classes."""
    for other in range(len(class_of)):
        if class_of[other] == class_of[inner] and other != inner and depths[other] == boundary:
            class_of[other], class_of[outer] = class_of[outer], class_of[other]
            return


# --- pairs of records that lie near each other --------------------------------------------------------------------


def pairs_within(columns: FloatArray, share: float) -> PairArray:
    """The pairs (i < j), row by row, whose distance is at most this share of the range of all distances."""
    lowest, highest = _range_of_distances(columns)
    limit = (share * (highest**0.5 - lowest**0.5)) ** 2
    # a share of 1 means all pairs, also where the nearest are not at distance 0
    limit = highest if share >= 1 else limit
    counted = _collect_pairs(columns, limit, np.empty((0, 2), dtype=np.int32))
    pairs = np.empty((counted, 2), dtype=np.int32)
    _collect_pairs(columns, limit, pairs)
    return pairs


@kernel
def _range_of_distances(columns: FloatArray) -> tuple[float, float]:
    lowest, highest = np.inf, 0.0
    for i in range(columns.shape[0]):
        for j in range(i + 1, columns.shape[0]):
            distance = square_between(columns, i, columns, j)
            lowest, highest = min(lowest, distance), max(highest, distance)
    return lowest, highest


@kernel
def _collect_pairs(columns: FloatArray, limit: float, pairs: PairArray) -> int:
    """Fill `pairs` with those within the limit, as far as there is room; return how many there are."""
    found = 0
    for i in range(columns.shape[0]):
        for j in range(i + 1, columns.shape[0]):
            if square_between(columns, i, columns, j) <= limit:
                if found < len(pairs):
                    pairs[found, 0], pairs[found, 1] = i, j
                found += 1
    return found


def neighbour_pairs(columns: FloatArray, neighbours: int) -> PairArray:
    """The pairs (i < j), row by row, in which one record is among the nearest neighbours of the other."""
    from scipy.spatial import cKDTree

    n = len(columns)
    wanted = min(n, neighbours + 1)  # the record itself is found too
    _, nearest = cKDTree(columns).query(columns, k=wanted)
    first = np.repeat(np.arange(n, dtype=np.int64), wanted)
    second = np.asarray(nearest, dtype=np.int64).reshape(-1)
    low, high = np.minimum(first, second), np.maximum(first, second)
    code = np.unique((low * n + high)[low != high])
    return np.column_stack([code // n, code % n]).astype(np.int32)


def in_order(pairs: PairArray, columns: FloatArray, order: str, rng: np.random.Generator) -> PairArray:
    """The list of pairs as it will be gone through: by rows, by columns, by distance either way, or shuffled."""
    if order == "rows":
        return pairs
    if order == "shuffled":
        return pairs[rng.permutation(len(pairs))]
    if order == "columns":
        return pairs[np.lexsort((pairs[:, 0], pairs[:, 1]))]
    distances = _distances_of(columns, pairs)
    return pairs[np.argsort(distances if order == "nearest" else -distances, kind="stable")]


@kernel
def _distances_of(columns: FloatArray, pairs: PairArray) -> FloatArray:
    distances = np.empty(len(pairs))
    for number in range(len(pairs)):
        distances[number] = square_between(columns, pairs[number, 0], columns, pairs[number, 1])
    return distances


# --- the automaton for records ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Migration:
    """What the automaton made of a partition: the labels, and the sum of squares within groups after each cycle."""

    labels: IntArray
    sse: tuple[float, ...]
    exchanges: int

    @property
    def cycles(self) -> int:
        return len(self.sse)


def record_migration(
    columns: FloatArray,
    labels: IntArray,
    pairs: PairArray,
    *,
    depth: int = 5,
    patience: int = 1,
    max_cycles: int = 100,
    progress: Progress = silent,
    label: str = "migrating",
) -> Migration:
    """OMMA: go through the pairs again and again, exchanging records between groups; sizes never change.

    The labels must run from 0 without a gap. It ends after `patience` cycles in a row that left the sum of squares as
    it was; the sum never grows.
    """
    columns = np.ascontiguousarray(columns)
    group = np.array(labels, dtype=np.int64)
    order = np.argsort(group, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(group))]).astype(np.int64)
    groups = _Groups(columns, group, order, starts, np.zeros((len(starts) - 1, columns.shape[1])))
    depths = np.full(len(group), depth, dtype=np.int64)
    alive = np.ones(len(pairs), dtype=np.bool_)
    least = _LEAST_GAIN * float(((columns - columns.mean(axis=0)) ** 2).sum())
    sse: list[float] = []
    exchanges = quiet = 0
    while len(sse) < max_cycles and quiet < patience:
        _add_up(groups)  # afresh in every cycle, so that no rounding builds up
        made = 0
        for start in range(0, len(pairs), _PAIRS_PER_CALL):
            end = min(len(pairs), start + _PAIRS_PER_CALL)
            made += _go_through(groups, depths, depth, pairs, alive, start, end, least)
            progress(1.0 - 0.5 ** (len(sse) + end / len(pairs)), label)
        quiet = quiet + 1 if made == 0 and sse else 0
        exchanges += made
        _add_up(groups)
        sse.append(_sum_of_squares(groups))
    return Migration(group, tuple(sse), exchanges)


class _Groups(NamedTuple):
    """A partition as the kernels work on it: the group of each record, the records group by group in `order`, where
    each group starts there, and the sums by group."""

    columns: FloatArray
    group: IntArray
    order: IntArray
    starts: IntArray
    sums: FloatArray


@kernel
def _add_up(groups: _Groups) -> None:
    columns, order, starts, sums = groups.columns, groups.order, groups.starts, groups.sums
    sums[:] = 0.0
    for g in range(len(starts) - 1):
        for position in range(starts[g], starts[g + 1]):
            for c in range(columns.shape[1]):
                sums[g, c] += columns[order[position], c]


@kernel
def _sum_of_squares(groups: _Groups) -> float:
    columns, order, starts, sums = groups.columns, groups.order, groups.starts, groups.sums
    total = 0.0
    for g in range(len(starts) - 1):
        for position in range(starts[g], starts[g + 1]):
            for c in range(columns.shape[1]):
                total += (columns[order[position], c] - sums[g, c] / (starts[g + 1] - starts[g])) ** 2
    return total


@kernel
def _go_through(
    groups: _Groups,
    depths: IntArray,
    boundary: int,
    pairs: PairArray,
    alive: BoolArray,
    start: int,
    end: int,
    least: float,
) -> int:
    """Judge some pairs of the list: reward, or one of the three cases of penalty; the number of exchanges."""
    group = groups.group
    exchanges = 0
    for number in range(start, end):
        if not alive[number]:
            continue
        i, j = pairs[number, 0], pairs[number, 1]
        if group[i] == group[j]:
            depths[i] = max(1, depths[i] - 1)
            depths[j] = max(1, depths[j] - 1)
            continue
        if depths[i] < boundary and depths[j] < boundary:
            depths[i] += 1
            depths[j] += 1
            continue
        if depths[i] == boundary and depths[j] == boundary:
            leaving, change = _best_exchange(groups, i, j)
            entering = j
            other, other_change = _best_exchange(groups, j, i)
            if other_change < change:
                leaving, change, entering = other, other_change, i
        else:
            inner, entering = (i, j) if depths[j] == boundary else (j, i)
            leaving, change = _best_exchange(groups, inner, entering)
            alive[number] = change <= -least
        if change <= -least:
            _exchange(groups, leaving, entering)
            depths[leaving] = boundary
            depths[entering] = boundary
            exchanges += 1
    return exchanges


@kernel
def _best_exchange(groups: _Groups, host: int, entering: int) -> tuple[int, float]:
    """Which fellow of the host would best make room for the entering record, and the change in the sum of squares."""
    columns, order, starts, sums = groups.columns, groups.order, groups.starts, groups.sums
    u, v = groups.group[host], groups.group[entering]
    size_u, size_v = starts[u + 1] - starts[u], starts[v + 1] - starts[v]
    best, least = -1, np.inf
    for position in range(starts[u], starts[u + 1]):
        record = order[position]
        if record == host:
            continue
        change = swap_change(columns, sums, record, entering, u, v, size_u, size_v)
        if change < least or (change == least and record < best):
            best, least = record, change
    return best, least


@kernel
def _exchange(groups: _Groups, leaving: int, entering: int) -> None:
    group, order, starts = groups.group, groups.order, groups.starts
    u, v = group[leaving], group[entering]
    swap_sums(groups.columns, groups.sums, leaving, entering, u, v)
    for position in range(starts[u], starts[u + 1]):
        if order[position] == leaving:
            order[position] = entering
            break
    for position in range(starts[v], starts[v + 1]):
        if order[position] == entering:
            order[position] = leaving
            break
    group[leaving], group[entering] = v, u


# --- a number of records that is no multiple of k -----------------------------------------------------------------


def set_aside(columns: FloatArray, count: int) -> IntArray:
    """The records nearest to the centre, which cost least wherever they go; ties to the lowest record number."""
    distances = ((columns - columns.mean(axis=0)) ** 2).sum(axis=1)
    return np.sort(np.argsort(distances, kind="stable")[:count])


def put_back(columns: FloatArray, labels: IntArray, records: IntArray, largest: int) -> IntArray:
    """Give records without a group (label -1) one each: where the sum of squares grows least, one a group in turn.

    No group grows beyond `largest` while another has room.
    """
    labels = labels.copy()
    placed = labels >= 0
    sizes = np.bincount(labels[placed])
    sums = np.zeros((len(sizes), columns.shape[1]))
    np.add.at(sums, labels[placed], columns[placed])
    extra = np.zeros(len(sizes), dtype=np.int64)
    for record in records:
        growth = sizes / (sizes + 1) * ((columns[record] - sums / sizes[:, None]) ** 2).sum(axis=1)
        turn = extra + np.where(sizes >= largest, len(records), 0)
        chosen = int(np.argmin(np.where(turn == turn.min(), growth, np.inf)))
        labels[record] = chosen
        sizes[chosen] += 1
        extra[chosen] += 1
        sums[chosen] += columns[record]
    return labels
