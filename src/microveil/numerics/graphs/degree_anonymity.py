"""k-degree anonymity after Liu and Terzi (2008): every degree of the graph is shared by at least k nodes.

An anonymised degree sequence is found by dynamic programming over groups of neighbouring degrees, and then a simple
graph near the given one that has it. As printed, degrees only rise and edges are only added. Where edges may also be
removed and moved, degrees may fall too. Two linked nodes that shall both lose an edge lose the one between them, which
is one change; otherwise a node gives up an edge, and its other end is linked anew, so that falling by one costs up to
three times as much as rising by one. Sequences for several such costs are tried, that of the printed form among them,
and the graph with the fewest changes of edges is taken.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from microveil.errors import DataError, ParameterError
from microveil.numerics.core.compiled import kernel
from microveil.numerics.core.random_bits import StateArray, whole
from microveil.numerics.graphs.adjacency import Adjacency, adjacency, degrees, edge_list
from microveil.numerics.graphs.rewiring import edge_table, has_edge, insert_edge, random_state, remove_edge
from microveil.typing import IntArray

LARGEST = np.inf  # a degree never falls: a group gets its largest degree, as printed
MEDIAN = 1.0  # falling costs as much as rising: a group gets its median
SMALLEST = 0.0  # falling costs nothing: a group gets its smallest degree

_FALL_COSTS = (LARGEST, 3.0, MEDIAN)
_PROBES = 12  # rounds of noise where edges may be removed; the supergraph needs no limit
_FINEST = 16  # the number of degrees that are raised is found up to this part of it
_ATTEMPTS = 200  # random edges tried to make room for one that is missing, before all are tried


class DegreeAnonymity(NamedTuple):
    """A graph in which every degree is shared by at least k nodes, how many edges were added and removed, and how many
    rounds of noise on the degrees were needed."""

    graph: Adjacency
    added: int
    removed: int
    rounds: int

    @property
    def changes(self) -> int:
        return self.added + self.removed


def anonymised_degrees(given: IntArray, k: int, fall_cost: float = LARGEST) -> IntArray:
    """The degrees nearest to those given of which each is shared by at least k nodes: the sum of what degrees rise, and
    of what they fall times its cost, is the least.

    >>> anonymised_degrees(np.array([5, 1, 4, 1, 3, 5]), 3).tolist()
    [5, 3, 5, 3, 3, 5]
    >>> anonymised_degrees(np.array([5, 1, 4, 1, 3, 5]), 3, MEDIAN).tolist()
    [5, 1, 5, 1, 1, 5]
    >>> anonymised_degrees(np.array([5, 1, 4, 1, 3, 5]), 3, SMALLEST).tolist()
    [4, 1, 4, 1, 1, 4]
    """
    _check(len(given), k)
    if np.isnan(fall_cost) or fall_cost < 0:
        raise ParameterError(f"fall_cost = {fall_cost} is not allowed; it must be greater than or equal to 0")
    order = np.argsort(-given, kind="stable")
    found = np.empty(len(given), dtype=np.int64)
    falling = given[order].astype(np.int64)
    starts = _optimal_groups(falling, k, fall_cost)
    found[order] = np.repeat(_group_degrees(falling, starts, fall_cost), np.diff(starts))
    return found


def is_graphical(given: IntArray) -> bool:
    """Whether some simple graph has these degrees (Erdős and Gallai 1960).

    >>> is_graphical(np.array([2, 2, 2])), is_graphical(np.array([3, 3, 1, 1])), is_graphical(np.array([1, 0]))
    (True, False, False)
    """
    return bool(_is_graphical(-np.sort(-given.astype(np.int64))))


def degree_anonymous_supergraph(graph: Adjacency, k: int, rng: np.random.Generator) -> DegreeAnonymity:
    """The printed form: edges are only added. It always ends, at the latest with the complete graph."""
    _check(graph.nodes, k)
    found = _probe(graph, k, LARGEST, rng, removals=False, rounds=None)
    assert found is not None  # the last round wants the complete graph, and every edge that is missing can be added
    return found


def degree_anonymous_graph(graph: Adjacency, k: int, rng: np.random.Generator) -> DegreeAnonymity:
    """The improved form: edges are added, removed and moved, and never more of them than the printed form adds with the
    same generator."""
    best = degree_anonymous_supergraph(graph, k, rng)
    for fall_cost in _FALL_COSTS:
        found = _probe(graph, k, fall_cost, rng, removals=True, rounds=_PROBES)
        if found is not None and found.changes < best.changes:
            best = found
    return best


def _check(nodes: int, k: int) -> None:
    if k < 1:
        raise ParameterError(f"k = {k} is not allowed; it must be greater than or equal to 1")
    if nodes < k:
        raise DataError(f"the graph has {nodes:,} nodes, but k = {k} needs at least {k}; choose a smaller k")


def _probe(
    graph: Adjacency, k: int, fall_cost: float, rng: np.random.Generator, *, removals: bool, rounds: int | None
) -> DegreeAnonymity | None:
    """Raise the lowest degrees, in each round twice as many of them, until the anonymised sequence can be realised;
    then halve the step between the last failure and the first success as long as it matters."""
    most = graph.nodes * max(1, graph.nodes - 1)
    raised, failed, done = 0, 0, 0
    best = _attempt(graph, k, fall_cost, raised, rng, removals)
    while best is None and raised < most and done != rounds:
        failed, raised = raised, min(most, max(1, 2 * raised))
        done += 1
        best = _attempt(graph, k, fall_cost, raised, rng, removals)
    while best is not None and raised - failed > max(1, raised // _FINEST):
        middle = (failed + raised) // 2
        done += 1
        found = _attempt(graph, k, fall_cost, middle, rng, removals)
        if found is None:
            failed = middle
        else:
            raised = middle
            best = min(best, found, key=lambda anonymous: anonymous.changes)
    return best._replace(rounds=done) if best is not None else None


def _attempt(
    graph: Adjacency, k: int, fall_cost: float, raised: int, rng: np.random.Generator, removals: bool
) -> DegreeAnonymity | None:
    wanted = _wanted_degrees(degrees(graph), raised, k, fall_cost, rng)
    found = _realise(graph, wanted, rng, removals) if is_graphical(wanted) else None
    return None if found is None else DegreeAnonymity(found, *_changes(graph, found), rounds=0)


def _wanted_degrees(given: IntArray, raised: int, k: int, fall_cost: float, rng: np.random.Generator) -> IntArray:
    """The anonymised sequence, with an even sum, of degrees of which so many of the lowest have been raised by one."""
    nodes = len(given)
    noisy = given + raised // nodes
    noisy[np.lexsort((rng.random(nodes), given))[: raised % nodes]] += 1
    np.minimum(noisy, nodes - 1, out=noisy)
    order = np.lexsort((rng.random(nodes), -noisy))
    falling = noisy[order]
    starts = _optimal_groups(falling, k, fall_cost)
    group_degrees = _group_degrees(falling, starts, fall_cost)
    if (np.diff(starts) * group_degrees).sum() % 2 == 1:
        _make_sum_even(falling, starts, group_degrees, fall_cost)
    wanted = np.empty(nodes, dtype=np.int64)
    wanted[order] = np.repeat(group_degrees, np.diff(starts))
    return wanted


def _make_sum_even(falling: IntArray, starts: IntArray, group_degrees: IntArray, fall_cost: float) -> None:
    """Shift the degree of one group by one, in place; a group with an odd number of nodes exists where the sum is
    odd."""
    best, chosen, shift = np.inf, -1, 0
    for g in np.flatnonzero(np.diff(starts) % 2 == 1)[::-1]:
        members, degree = falling[starts[g] : starts[g + 1]], group_degrees[g]
        for step in (1, -1):
            if not 0 <= degree + step < len(falling) or (step < 0 and fall_cost == LARGEST):
                continue
            cost = _cost(members, degree + step, fall_cost) - _cost(members, degree, fall_cost)
            if cost < best:
                best, chosen, shift = cost, g, step
    group_degrees[chosen] += shift


def _cost(members: IntArray, degree: int, fall_cost: float) -> float:
    falls = int(np.maximum(members - degree, 0).sum())
    return float(np.maximum(degree - members, 0).sum()) + (fall_cost * falls if falls else 0.0)


def _realise(graph: Adjacency, wanted: IntArray, rng: np.random.Generator, removals: bool) -> Adjacency | None:
    """A simple graph near this one that has the wanted degrees, or nothing if the search for one fails."""
    need = wanted - degrees(graph)
    if not removals and (need < 0).any():
        return None
    source, target = edge_list(graph)
    edges, spare = len(source), int(np.abs(need).sum())
    slots = edge_table(source, target, graph.nodes, edges + spare)
    state = random_state(rng)
    if removals:
        excess = np.flatnonzero((need[source] < 0) & (need[target] < 0))
        smaller = np.maximum(need[source[excess]], need[target[excess]])
        excess = excess[np.lexsort((rng.random(len(excess)), smaller))]
        _remove_between(need, source[excess], target[excess], graph.nodes, slots)
        _give_up_edges(need, graph.indptr, graph.indices, slots, state)
    source = np.concatenate([source, np.empty(spare, dtype=np.int64)])
    target = np.concatenate([target, np.empty(spare, dtype=np.int64)])
    count = _link_highest(need, rng.permutation(graph.nodes), slots, source, target, edges)
    count = _make_room(need, slots, source, target, 0 if removals else edges, count, state)
    if need.any():
        return None
    present = _present(slots, source[:count], target[:count], graph.nodes)
    return adjacency(source[:count][present], target[:count][present], graph.nodes)


def _changes(before: Adjacency, after: Adjacency) -> tuple[int, int]:
    """How many edges were added and removed."""
    one, other = (source * before.nodes + target for source, target in (edge_list(before), edge_list(after)))
    common = len(np.intersect1d(one, other, assume_unique=True))
    return after.edges - common, before.edges - common


@kernel
def _position(size: int, fall_cost: float) -> int:
    """Which of a group's falling degrees costs least as the degree of all; of equal costs, the larger degree."""
    return max(0, int(np.ceil(size / (1.0 + fall_cost))) - 1)


@kernel
def _optimal_groups(falling: IntArray, k: int, fall_cost: float) -> IntArray:
    """Where groups begin, and the end of the last, in falling degrees: each has k to 2k - 1 of them, because larger
    ones could be split without loss."""
    n = len(falling)
    sums = np.zeros(n + 1, dtype=np.int64)
    for i in range(n):
        sums[i + 1] = sums[i] + falling[i]
    least, begins = np.full(n + 1, np.inf), np.zeros(n + 1, dtype=np.int64)
    least[0] = 0.0
    for end in range(k, n + 1):
        for begin in range(end - k, max(-1, end - 2 * k), -1):
            if least[begin] == np.inf:
                continue
            at = begin + _position(end - begin, fall_cost)
            degree = falling[at]
            cost = least[begin] + float(degree * (end - at) - (sums[end] - sums[at]))
            falls = sums[at] - sums[begin] - degree * (at - begin)
            if falls > 0:
                cost += fall_cost * falls
            if cost < least[end]:
                least[end], begins[end] = cost, begin
    count, end = 0, n
    while end > 0:
        count += 1
        end = begins[end]
    starts = np.empty(count + 1, dtype=np.int64)
    starts[count] = n
    for g in range(count - 1, -1, -1):
        starts[g] = begins[starts[g + 1]]
    return starts


@kernel
def _group_degrees(falling: IntArray, starts: IntArray, fall_cost: float) -> IntArray:
    found = np.empty(len(starts) - 1, dtype=np.int64)
    for g in range(len(found)):
        found[g] = falling[starts[g] + _position(starts[g + 1] - starts[g], fall_cost)]
    return found


@kernel
def _is_graphical(falling: IntArray) -> bool:
    n = len(falling)
    if n == 0:
        return True
    if falling[0] >= n or falling[n - 1] < 0:
        return False
    rest = np.zeros(n + 1, dtype=np.int64)  # sums from a position to the end
    for i in range(n - 1, -1, -1):
        rest[i] = rest[i + 1] + falling[i]
    if rest[0] % 2 == 1:
        return False
    at_least = n  # how many degrees reach r
    for r in range(1, n + 1):
        while at_least > 0 and falling[at_least - 1] < r:
            at_least -= 1
        others = rest[r] if at_least <= r else r * (at_least - r) + rest[at_least]
        if rest[0] - rest[r] > r * (r - 1) + others:
            return False
    return True


@kernel
def _remove_between(need: IntArray, source: IntArray, target: IntArray, nodes: int, slots: IntArray) -> None:
    """Remove edges of which both ends shall lose one."""
    for e in range(len(source)):
        a, b = source[e], target[e]
        if need[a] < 0 and need[b] < 0:
            remove_edge(slots, a, b, nodes)
            need[a] += 1
            need[b] += 1


@kernel
def _give_up_edges(need: IntArray, indptr: IntArray, indices: IntArray, slots: IntArray, state: StateArray) -> None:
    """Remove random edges of nodes that still have too many; the other ends then need a link."""
    nodes = len(need)
    for v in range(nodes):
        if need[v] >= 0:
            continue
        row = indices[indptr[v] : indptr[v + 1]].copy()
        left = len(row)
        while need[v] < 0 and left > 0:
            drawn = whole(state, left)
            w = row[drawn]
            left -= 1
            row[drawn] = row[left]
            if has_edge(slots, v, w, nodes):
                remove_edge(slots, v, w, nodes)
                need[v] += 1
                need[w] += 1


@kernel
def _unlist(v: int, level: int, head: IntArray, after: IntArray, before: IntArray) -> None:
    if before[v] >= 0:
        after[before[v]] = after[v]
    else:
        head[level] = after[v]
    if after[v] >= 0:
        before[after[v]] = before[v]


@kernel
def _list(v: int, level: int, head: IntArray, after: IntArray, before: IntArray) -> None:
    after[v], before[v] = head[level], -1
    if head[level] >= 0:
        before[head[level]] = v
    head[level] = v


@kernel
def _link_highest(
    need: IntArray, order: IntArray, slots: IntArray, source: IntArray, target: IntArray, count: int
) -> int:
    """Link the node that needs most to those that need most and are not its neighbours, until no more can be linked;
    nodes are listed by what they need. Returns the number of edges listed."""
    nodes = len(need)
    top = 0
    for v in range(nodes):
        top = max(top, need[v])
    head = np.full(top + 1, -1, dtype=np.int64)
    after, before = np.full(nodes, -1, dtype=np.int64), np.full(nodes, -1, dtype=np.int64)
    for v in order:
        if need[v] > 0:
            _list(v, need[v], head, after, before)
    chosen = np.empty(top, dtype=np.int64)
    while top > 0:
        v = head[top]
        if v < 0:
            top -= 1
            continue
        _unlist(v, top, head, after, before)
        found, level = 0, top
        while level > 0 and found < need[v]:
            w = head[level]
            while w >= 0 and found < need[v]:
                if not has_edge(slots, v, w, nodes):
                    chosen[found] = w
                    found += 1
                w = after[w]
            level -= 1
        need[v] -= found
        for w in chosen[:found]:
            _unlist(w, need[w], head, after, before)
            need[w] -= 1
            if need[w] > 0:
                _list(w, need[w], head, after, before)
            insert_edge(slots, v, w, nodes)
            source[count], target[count] = v, w
            count += 1
    return count


@kernel
def _make_room(
    need: IntArray, slots: IntArray, source: IntArray, target: IntArray, first: int, count: int, state: StateArray
) -> int:
    """Where nodes v and w still need a link but are neighbours, or are one node that needs two, replace an edge (a, b)
    that may go by (v, a) and (w, b). Returns the number of edges listed; needs that are left could not be met."""
    nodes = len(need)
    for v in range(nodes):
        while need[v] > 0:
            need[v] -= 1
            w = v
            while w < nodes and need[w] <= 0:
                w += 1
            if w == nodes or not _replace_one(v, w, nodes, slots, source, target, first, count, state):
                need[v] += 1
                return count
            need[w] -= 1
            count += 1
    return count


@kernel
def _replace_one(
    v: int,
    w: int,
    nodes: int,
    slots: IntArray,
    source: IntArray,
    target: IntArray,
    first: int,
    count: int,
    state: StateArray,
) -> bool:
    edges = count - first
    for attempt in range(_ATTEMPTS + 2 * edges):
        if edges == 0:
            return False
        if attempt < _ATTEMPTS:
            e, turned = first + whole(state, edges), whole(state, 2) == 1
        else:
            e, turned = first + (attempt - _ATTEMPTS) // 2, attempt % 2 == 1
        a, b = source[e], target[e]
        if turned:
            a, b = b, a
        if a == v or b == w or not has_edge(slots, a, b, nodes):
            continue
        if has_edge(slots, v, a, nodes) or has_edge(slots, w, b, nodes):
            continue
        remove_edge(slots, a, b, nodes)
        insert_edge(slots, v, a, nodes)
        insert_edge(slots, w, b, nodes)
        source[e], target[e] = v, a
        source[count], target[count] = w, b
        return True
    return False


@kernel
def _present(slots: IntArray, source: IntArray, target: IntArray, nodes: int) -> IntArray:
    """The listed edges that have not been removed."""
    kept = np.empty(len(source), dtype=np.int64)
    count = 0
    for e in range(len(source)):
        if has_edge(slots, source[e], target[e], nodes):
            kept[count] = e
            count += 1
    return kept[:count]
