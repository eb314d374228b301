"""Spanning trees that weigh the distance of records against the mix of their classes.

A tree grows from one record. The composite length of an edge (u, v) is alpha * L + (1 - alpha) * JSD, where L is the
normalised Euclidean length and JSD tells how far the classes of v, u and the b-2 records that a breadth-first search
in the partial tree meets first from u are from those of the file. Three observations make it fast and exact:

- the JSD depends on v only through its class, so u's best candidate of a class is its nearest one outside the tree;
  the nearest few are kept in a short list, and a list is renewed when all of it has joined;
- a joining record changes the neighbourhood of u only if it is no more hops away than the last one u has taken, and
  then also that of every record between the two, so that a search from the new record may stop at the first record
  it does not change;
- a candidate that has joined meanwhile was nearer than the one that follows it, so its key is a lower bound: it needs
  to be renewed only when it comes first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from microveil.numerics.core.compiled import kernel
from microveil.numerics.counting.class_divergence import divergence_term
from microveil.numerics.grouping.steps import distances_to, square_between
from microveil.progress import Progress, silent
from microveil.typing import BoolArray, FloatArray, IntArray

ROOT_MEAN_SQUARE, ROOT_OVER_NUMBER, SQUARE_OVER_NUMBER, SQUARE = 0, 1, 2, 3  # the forms of a length
LOWEST_EDGE, LOWEST_RECORD = 0, 1  # which of equally long edges comes first
_LIST = 8  # candidates kept for a record and a class; fewer when there are many classes
_ENTRIES_PER_RECORD = 256
_JOINS_PER_CALL = 512
_ALWAYS = np.iinfo(np.int64).max


class Tree(NamedTuple):
    """A spanning tree: for each record its parent (-1 at the start) and the edge to it; `order` is that of joining."""

    parent: IntArray
    length: FloatArray
    composite: FloatArray
    order: IntArray


def centre_record(columns: FloatArray) -> int:
    """The record nearest to the mean of all: a start that does not depend on the order of the file."""
    return int(np.argmin(np.square(columns - columns.mean(axis=0)).sum(axis=1)))


def grow_tree(
    columns: FloatArray,
    classes: IntArray,
    shares: FloatArray,
    neighbours: int,
    alpha: float,
    *,
    start: int | None = None,
    attributes: int | None = None,
    form: int = ROOT_MEAN_SQUARE,
    frozen: bool = False,
    progress: Progress = silent,
    label: str = "growing the tree",
) -> Tree:
    """The tree of least composite edges, taken one at a time with the partial tree as it is then.

    With `frozen` an edge keeps the composite length it had when its inner end joined; with alpha = 1 the classes do
    not matter and the tree is the Euclidean minimum spanning tree. Ties: the shorter edge, then the lowest numbers.
    Lengths are normalised by the number of columns, or of `attributes` where some have several columns.
    """
    rule = _Rule(alpha, neighbours, attributes or columns.shape[1], form, LOWEST_EDGE)
    first = centre_record(columns) if start is None else start
    if frozen or alpha == 1.0:
        return _tree_by_prim(columns, classes, shares, rule, first, progress, label)
    n = len(columns)
    partial = _plant(columns, classes, shares, neighbours)
    lists = _candidate_lists(columns, classes, len(shares))
    joined = _start_dynamic(partial, lists, first, rule)
    while joined < n:
        joined = _join_dynamic(partial, lists, joined, _JOINS_PER_CALL, rule)
        progress(joined / n, label)
    progress(1.0, label)
    return partial.tree


def euclidean_tree(
    columns: FloatArray,
    *,
    start: int | None = None,
    form: int = ROOT_MEAN_SQUARE,
    ties: int = LOWEST_EDGE,
    progress: Progress = silent,
    label: str = "growing the tree",
) -> Tree:
    """The Euclidean minimum spanning tree by Prim's algorithm, as a rule from the record nearest to the mean of all.

    Of equally long edges into the tree the first to be taken is the one with the lowest record inside and then outside
    (`LOWEST_EDGE`), or the one with the lowest record outside (`LOWEST_RECORD`).
    """
    one_class = np.zeros(len(columns), dtype=np.int64)
    first = centre_record(columns) if start is None else start
    rule = _Rule(1.0, 2, columns.shape[1], form, ties)
    return _tree_by_prim(columns, one_class, np.ones(1), rule, first, progress, label)


class _Rule(NamedTuple):
    """How long an edge is, and which one is taken: `alpha` weighs the `form` of the Euclidean length, normalised by the
    number of `attributes`, against the classes of so many `neighbours`; `ties` are for Prim's algorithm."""

    alpha: float
    neighbours: int
    attributes: int
    form: int
    ties: int


# --- the partial tree and what its records see of it ---------------------------------------------------------------


class _Partial(NamedTuple):
    """The partial tree: links to parents and children, and for each record and class the divergence it would give."""

    points: FloatArray
    classes: IntArray
    shares: FloatArray
    parent: IntArray
    first_child: IntArray
    next_sibling: IntArray
    length: FloatArray
    composite: FloatArray
    order: IntArray
    inside: BoolArray
    reach: IntArray
    divergence: FloatArray
    queue: IntArray
    came_from: IntArray
    counts: IntArray
    terms: FloatArray

    @property
    def tree(self) -> Tree:
        return Tree(self.parent, self.length, self.composite, self.order)


def _plant(columns: FloatArray, classes: IntArray, shares: FloatArray, neighbours: int) -> _Partial:
    n, number = len(columns), len(shares)
    widest = min(neighbours, n) + 1
    return _Partial(
        np.ascontiguousarray(columns),
        classes,
        shares,
        np.full(n, -1, dtype=np.int64),
        np.full(n, -1, dtype=np.int64),
        np.full(n, -1, dtype=np.int64),
        np.zeros(n),
        np.zeros(n),
        np.full(n, -1, dtype=np.int64),
        np.zeros(n, dtype=np.bool_),
        np.full(n, _ALWAYS, dtype=np.int64),
        np.zeros((n, number)),
        np.empty(n, dtype=np.int64),
        np.empty(n, dtype=np.int64),
        np.zeros(number, dtype=np.int64),
        np.zeros((number, widest + 1)),
    )


@kernel
def _length(square: float, rule: _Rule) -> float:
    if rule.form == SQUARE:
        return square
    if rule.form == ROOT_MEAN_SQUARE:
        return float(np.sqrt(square / rule.attributes))
    if rule.form == ROOT_OVER_NUMBER:
        return float(np.sqrt(square) / rule.attributes)
    return square / rule.attributes


@kernel
def _link(tree: _Partial, vertex: int, parent: int, joined: int) -> None:
    tree.inside[vertex] = True
    tree.order[joined] = vertex
    tree.parent[vertex] = parent
    if parent >= 0:
        tree.next_sibling[vertex] = tree.first_child[parent]
        tree.first_child[parent] = vertex


@kernel
def _tabulate_terms(tree: _Partial, size: int) -> None:
    """What each class adds to twice the JSD of `size` records when so many of them are of that class."""
    for c in range(tree.shares.shape[0]):
        for held in range(size + 1):
            tree.terms[c, held] = divergence_term(held / size, tree.shares[c])


@kernel
def _push_neighbours(tree: _Partial, at: int, end: int) -> int:
    """Append to the queue the tree neighbours of its entry `at`, except the one it was met from."""
    vertex, origin = tree.queue[at], tree.came_from[at]
    above = tree.parent[vertex]
    if above >= 0 and above != origin:
        tree.queue[end] = above
        tree.came_from[end] = vertex
        end += 1
    below = tree.first_child[vertex]
    while below >= 0:
        if below != origin:
            tree.queue[end] = below
            tree.came_from[end] = vertex
            end += 1
        below = tree.next_sibling[below]
    return end


@kernel
def _look_around(tree: _Partial, u: int, wanted: int) -> None:
    """Take u and the first `wanted` records met from it, hop by hop; in the last hop the nearest to u come first.

    Leaves for every class the JSD that one more record of it would give, and how many hops away the last one is.
    """
    tree.counts[:] = 0
    tree.counts[tree.classes[u]] = 1
    tree.queue[0] = u
    tree.came_from[0] = -1
    low, high, hops, found = 0, 1, 0, 0
    while found < wanted and low < high:
        end = high
        for at in range(low, high):
            end = _push_neighbours(tree, at, end)
        hops += 1
        take = min(end - high, wanted - found)
        if take < end - high:
            _nearest_first(tree, u, high, end, take)
        for at in range(high, high + take):
            tree.counts[tree.classes[tree.queue[at]]] += 1
        found += take
        low, high = high, end
    tree.reach[u] = hops if found == wanted else _ALWAYS
    number = tree.shares.shape[0]
    for c in range(number):
        twice = 0.0
        for other in range(number):
            twice += tree.terms[other, tree.counts[other] + (1 if other == c else 0)]
        tree.divergence[u, c] = max(0.0, twice / 2.0)


@kernel
def _nearest_first(tree: _Partial, u: int, low: int, high: int, take: int) -> None:
    """Move the `take` records nearest to u to the front of a stretch of the queue that is not searched further."""
    nearest = np.empty(take)
    found = 0
    for at in range(low, high):
        vertex = tree.queue[at]
        square = square_between(tree.points, u, tree.points, vertex)
        if found == take:
            last = tree.queue[low + take - 1]
            if square > nearest[take - 1] or (square == nearest[take - 1] and vertex > last):
                continue
        else:
            found += 1
        position = found - 1
        while position > 0:
            before = tree.queue[low + position - 1]
            if nearest[position - 1] < square or (nearest[position - 1] == square and before < vertex):
                break
            nearest[position] = nearest[position - 1]
            tree.queue[low + position] = before
            position -= 1
        nearest[position] = square
        tree.queue[low + position] = vertex


# --- growing with the composite lengths of the moment ----------------------------------------------------------------


class _Lists(NamedTuple):
    """For each record and class the nearest records outside the tree; records outside lie class by class in memory."""

    alive: FloatArray
    ids: IntArray
    slot: IntArray
    class_start: IntArray
    class_size: IntArray
    near: npt.NDArray[np.int32]
    held: npt.NDArray[np.int32]
    at: npt.NDArray[np.int32]
    length: FloatArray
    best: FloatArray
    best_length: FloatArray
    best_class: IntArray
    winner: IntArray
    distances: FloatArray
    affected: IntArray


def _candidate_lists(columns: FloatArray, classes: IntArray, number: int) -> _Lists:
    n = len(columns)
    ids = np.argsort(classes, kind="stable")
    slot = np.empty(n, dtype=np.int64)
    slot[ids] = np.arange(n)
    sizes = np.bincount(classes, minlength=number).astype(np.int64)
    size = max(1, min(_LIST, _ENTRIES_PER_RECORD // number))
    return _Lists(
        np.ascontiguousarray(columns[ids].T),
        ids,
        slot,
        np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64),
        sizes,
        np.full((n, number, size), -1, dtype=np.int32),
        np.zeros((n, number), dtype=np.int32),
        np.zeros((n, number), dtype=np.int32),
        np.full((n, number), np.inf),
        np.full(n, np.inf),
        np.full(n, np.inf),
        np.full(n, -1, dtype=np.int64),
        np.full(2 << max(0, (n - 1).bit_length()), -1, dtype=np.int64),
        np.empty(n),
        np.empty(n, dtype=np.int64),
    )


@kernel
def _start_dynamic(tree: _Partial, lists: _Lists, first: int, rule: _Rule) -> int:
    _link(tree, first, -1, 0)
    _leave_outside(tree, lists, first)
    _see_newcomer(tree, lists, first, 1, rule)
    return 1


@kernel
def _join_dynamic(tree: _Partial, lists: _Lists, joined: int, joins: int, rule: _Rule) -> int:
    """Let up to `joins` records join by the least composite length; return how many are in the tree."""
    end = min(joined + joins, tree.parent.shape[0])
    while joined < end:
        u = lists.winner[1]
        c = lists.best_class[u]
        vertex = lists.near[u, c, lists.at[u, c]]
        if tree.inside[vertex]:
            _next_candidate(tree, lists, u, c, rule)
            _choose(lists, tree, u, rule.alpha)
            continue
        tree.length[vertex] = lists.best_length[u]
        tree.composite[vertex] = lists.best[u]
        _link(tree, vertex, u, joined)
        _leave_outside(tree, lists, vertex)
        joined += 1
        _see_newcomer(tree, lists, vertex, joined, rule)
    return joined


@kernel
def _leave_outside(tree: _Partial, lists: _Lists, vertex: int) -> None:
    """Close the gap that a record leaves in the memory of its class."""
    c = tree.classes[vertex]
    lists.class_size[c] -= 1
    last = lists.class_start[c] + lists.class_size[c]
    gap = lists.slot[vertex]
    for j in range(lists.alive.shape[0]):
        lists.alive[j, gap] = lists.alive[j, last]
    lists.ids[gap] = lists.ids[last]
    lists.slot[lists.ids[gap]] = gap


@kernel
def _see_newcomer(tree: _Partial, lists: _Lists, vertex: int, joined: int, rule: _Rule) -> None:
    """Renew what the newcomer changes: its own candidates, and the neighbourhoods that may take it in."""
    if joined < rule.neighbours:
        _tabulate_terms(tree, joined + 1)
    for c in range(tree.shares.shape[0]):
        _fill(tree, lists, vertex, c, rule)
    changed = _affected(tree, lists, vertex)
    for i in range(changed):
        u = lists.affected[i]
        _look_around(tree, u, rule.neighbours - 2)
        _choose(lists, tree, u, rule.alpha)


@kernel
def _affected(tree: _Partial, lists: _Lists, vertex: int) -> int:
    """The records whose neighbourhood the new one may enter, itself first; they are connected in the tree."""
    tree.queue[0] = vertex
    tree.came_from[0] = -1
    low, high, hops = 0, 1, 0
    while low < high:
        end, hops = high, hops + 1
        for at in range(low, high):
            met = end
            pushed = _push_neighbours(tree, at, met)
            for i in range(met, pushed):
                if hops <= tree.reach[tree.queue[i]]:
                    tree.queue[end] = tree.queue[i]
                    tree.came_from[end] = tree.came_from[i]
                    end += 1
        low, high = high, end
    lists.affected[:high] = tree.queue[:high]
    return high


@kernel
def _fill(tree: _Partial, lists: _Lists, u: int, c: int, rule: _Rule) -> None:
    """Find the nearest records of a class outside the tree, the lowest number first where they are equally near."""
    start, size = lists.class_start[c], lists.class_size[c]
    distances = lists.distances[:size]
    distances_to(lists.alive[:, start : start + size], tree.points[u], distances, size)
    kept = lists.near.shape[2]
    near = lists.near[u, c]
    nearest = np.empty(kept)
    found = 0
    border = np.inf
    for i in range(size):
        square = distances[i]
        if square > border:
            continue
        vertex = lists.ids[start + i]
        if found == kept:
            if square == border and vertex > near[kept - 1]:
                continue
        else:
            found += 1
        position = found - 1
        while position > 0 and (
            nearest[position - 1] > square or (nearest[position - 1] == square and near[position - 1] > vertex)
        ):
            nearest[position] = nearest[position - 1]
            near[position] = near[position - 1]
            position -= 1
        nearest[position] = square
        near[position] = vertex
        if found == kept:
            border = nearest[kept - 1]
    lists.held[u, c] = found
    lists.at[u, c] = 0
    lists.length[u, c] = _length(nearest[0], rule) if found else np.inf


@kernel
def _next_candidate(tree: _Partial, lists: _Lists, u: int, c: int, rule: _Rule) -> None:
    """Pass over candidates that have joined the tree; a list that is used up is filled again."""
    while lists.at[u, c] < lists.held[u, c]:
        vertex = lists.near[u, c, lists.at[u, c]]
        if not tree.inside[vertex]:
            lists.length[u, c] = _length(square_between(tree.points, vertex, tree.points, u), rule)
            return
        lists.at[u, c] += 1
    _fill(tree, lists, u, c, rule)


@kernel
def _choose(lists: _Lists, tree: _Partial, u: int, alpha: float) -> None:
    """The best candidate of a record over all classes, and then the best record of all."""
    best, best_length, best_class, best_vertex = np.inf, np.inf, -1, -1
    for c in range(lists.length.shape[1]):
        length = lists.length[u, c]
        if length == np.inf:
            continue
        composite = alpha * length + (1.0 - alpha) * tree.divergence[u, c]
        vertex = lists.near[u, c, lists.at[u, c]]
        if composite < best or (
            composite == best and (length < best_length or (length == best_length and vertex < best_vertex))
        ):
            best, best_length, best_class, best_vertex = composite, length, c, vertex
    lists.best[u], lists.best_length[u], lists.best_class[u] = best, best_length, best_class
    leaves = lists.winner.shape[0] // 2
    lists.winner[leaves + u] = u
    node = (leaves + u) // 2
    while node >= 1:
        lists.winner[node] = _better(lists, lists.winner[2 * node], lists.winner[2 * node + 1])
        node //= 2


@kernel
def _better(lists: _Lists, one: int, other: int) -> int:
    """Which of two records has the better candidate; the first has the lower number; -1 is none."""
    if one < 0 or other < 0:
        return max(one, other)
    if lists.best[other] < lists.best[one]:
        return other
    if lists.best[other] == lists.best[one] and lists.best_length[other] < lists.best_length[one]:
        return other
    return one


# --- growing with keys that stay: Prim's algorithm -------------------------------------------------------------------


class _Outside(NamedTuple):
    """The records outside the tree, compact in memory, with the best edge found so far to each."""

    alive: FloatArray
    ids: IntArray
    classes: IntArray
    key: FloatArray
    length: FloatArray
    parent: IntArray
    keys: FloatArray
    lengths: FloatArray


def _outside_by_key(columns: FloatArray, classes: IntArray) -> _Outside:
    n = len(columns)
    return _Outside(
        np.array(columns.T, dtype=np.float64, order="C", copy=True),
        np.arange(n, dtype=np.int64),
        classes.copy(),
        np.full(n, np.inf),
        np.full(n, np.inf),
        np.full(n, -1, dtype=np.int64),
        np.empty(n),
        np.empty(n),
    )


def _tree_by_prim(
    columns: FloatArray,
    classes: IntArray,
    shares: FloatArray,
    rule: _Rule,
    first: int,
    progress: Progress,
    label: str,
) -> Tree:
    n = len(columns)
    partial, outside = _plant(columns, classes, shares, rule.neighbours), _outside_by_key(columns, classes)
    joined, at = _start_by_key(partial, outside, first, rule)
    while joined < n:
        joined, at = _join_by_key(partial, outside, joined, at, _JOINS_PER_CALL, rule)
        progress(1.0 - ((n - joined) / n) ** 2, label)
    progress(1.0, label)
    return partial.tree


@kernel
def _start_by_key(tree: _Partial, outside: _Outside, first: int, rule: _Rule) -> tuple[int, int]:
    _link(tree, first, -1, 0)
    _drop(outside, first, tree.parent.shape[0] - 1)
    return 1, _offer_edges(tree, outside, first, 1, rule)


@kernel
def _join_by_key(tree: _Partial, outside: _Outside, joined: int, at: int, joins: int, rule: _Rule) -> tuple[int, int]:
    """Let up to `joins` records join by the least key; how many are in the tree, and the position of the next."""
    n = tree.parent.shape[0]
    end = min(joined + joins, n)
    while joined < end:
        vertex = outside.ids[at]
        tree.length[vertex], tree.composite[vertex] = outside.length[at], outside.key[at]
        _link(tree, vertex, outside.parent[at], joined)
        joined += 1
        _drop(outside, at, n - joined)
        at = _offer_edges(tree, outside, vertex, joined, rule)
    return joined, at


@kernel
def _wins_tie(outside: _Outside, one: int, other: int, ties: int) -> bool:
    """Whether one record outside comes before another with the same key."""
    if outside.length[one] != outside.length[other]:
        return bool(outside.length[one] < outside.length[other])
    if ties == LOWEST_EDGE and outside.parent[one] != outside.parent[other]:
        return bool(outside.parent[one] < outside.parent[other])
    return bool(outside.ids[one] < outside.ids[other])


@kernel
def _drop(outside: _Outside, at: int, last: int) -> None:
    for j in range(outside.alive.shape[0]):
        outside.alive[j, at] = outside.alive[j, last]
    outside.ids[at], outside.classes[at], outside.parent[at] = (
        outside.ids[last],
        outside.classes[last],
        outside.parent[last],
    )
    outside.key[at], outside.length[at] = outside.key[last], outside.length[last]


@kernel
def _offer_edges(tree: _Partial, outside: _Outside, u: int, joined: int, rule: _Rule) -> int:
    """Let every record outside compare its best edge with the one to the newcomer; the position of the best of all."""
    size = tree.parent.shape[0] - joined
    lengths, keys = outside.lengths[:size], outside.keys[:size]
    distances_to(outside.alive, tree.points[u], lengths, size)
    if rule.form != SQUARE:
        for i in range(size):
            lengths[i] = _length(lengths[i], rule)
    if rule.alpha < 1.0:
        if joined < rule.neighbours:
            _tabulate_terms(tree, joined + 1)
        _look_around(tree, u, rule.neighbours - 2)
        alpha, divergence, classes = rule.alpha, tree.divergence[u], outside.classes
        for i in range(size):
            keys[i] = alpha * lengths[i] + (1.0 - alpha) * divergence[classes[i]]
    else:
        keys = lengths
    key, length, parent = outside.key[:size], outside.length[:size], outside.parent[:size]
    for i in range(size):
        # all comparisons, without a branch between them: so the compiler can use vector units
        nearer = (lengths[i] < length[i]) | ((lengths[i] == length[i]) & (u < parent[i]))
        if (keys[i] < key[i]) | ((keys[i] == key[i]) & nearer):
            key[i], length[i], parent[i] = keys[i], lengths[i], u
    best, least = 0, np.inf
    for i in range(size):
        if key[i] <= least and (key[i] < least or _wins_tie(outside, i, best, rule.ties)):
            best, least = i, key[i]
    return best
