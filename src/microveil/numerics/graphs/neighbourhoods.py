"""Neighbourhood matching: whether what an intruder knows of a node and its neighbours is found in a masked graph, after
Marés (2013), section 6.4.

An intruder knows the labels of complete neighbourhoods, those of some neighbours, or accepts generalised locations. All
work is done on keys: nodes with equal keys are counted together, never compared pair by pair. A neighbourhood without
its inner edges is a labelled star, for which equal keys are equal neighbourhoods; otherwise equal keys are refined by
colours (Weisfeiler and Leman 1968), and what is left is compared by backtracking.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from microveil.errors import DataError, ParameterError
from microveil.numerics.core.compiled import kernel
from microveil.numerics.core.splitmix import INCREMENT, finished
from microveil.numerics.core.trees import nested_intervals
from microveil.numerics.counting.distinct_rows import number_rows
from microveil.numerics.graphs.adjacency import Adjacency, degrees
from microveil.typing import BoolArray, IntArray

_EFFORT = 100_000  # steps of backtracking for each comparison of two neighbourhoods
_REFINEMENTS = 3
_MARK_WORDS = 8  # a power of two
_SEEDS = np.array([0x243F6A8885A308D3, 0x13198A2E03707344], dtype=np.uint64)  # two lanes make a key of 128 bits
_finished = kernel(finished)

HashArray = npt.NDArray[np.uint64]


class NeighbourhoodMatches(NamedTuple):
    """For each node of the original graph whether its neighbourhood is found anywhere in the masked graph, whether it
    is found at the node itself, and at how many nodes. `unresolved` counts matched nodes of which some candidate counts
    only because a comparison was given up."""

    matched: BoolArray
    own: BoolArray
    candidates: IntArray
    unresolved: int

    @property
    def risk(self) -> float:
        """The share of nodes that are matched."""
        return float(self.matched.mean()) if len(self.matched) else 0.0

    @property
    def own_risk(self) -> float:
        """The share of nodes that are matched with themselves."""
        return float(self.own.mean()) if len(self.own) else 0.0

    @property
    def expected(self) -> float:
        """The share of nodes that an intruder finds who chooses one of the candidates by lot."""
        return float((1.0 / self.candidates[self.own]).sum() / len(self.own)) if len(self.own) else 0.0


def equal_neighbourhoods(
    original: Adjacency,
    masked: Adjacency,
    labels: IntArray,
    masked_labels: IntArray,
    *,
    induced: bool = True,
    include_root: bool = True,
    effort: int = _EFFORT,
) -> NeighbourhoodMatches:
    """Match complete neighbourhoods with equal labels: as many neighbours with the same labels, and if `induced`, the
    same edges among them; a node without neighbours is its own neighbourhood."""
    _check(original, masked, [(labels, masked_labels)])
    both = _side_by_side(original, masked)
    known = np.concatenate([labels, masked_labels]).astype(np.int64)
    roots = known if include_root else np.zeros(len(known), dtype=np.int64)
    if not induced:
        keys = _star_keys(both.indptr, both.indices, known, roots, np.zeros(len(both.indices), dtype=np.int64))
        return _matches(_numbered(keys), original.nodes)
    shared = _common_neighbours(both.indptr, both.indices)
    classes = _numbered(_star_keys(both.indptr, both.indices, known, roots, shared))
    # equal keys tell of equal numbers of inner edges, so that classes have inner edges or none
    inner = np.bincount(np.repeat(np.arange(both.nodes), degrees(both)), weights=shared, minlength=both.nodes) > 0
    open_nodes = inner & _on_both_sides(classes, original.nodes)
    colours, keys = _refined_keys(both.indptr, both.indices, known, shared, open_nodes)
    classes = number_rows([classes, _numbered(keys)])[0]
    open_nodes &= _on_both_sides(classes, original.nodes)
    order = np.flatnonzero(open_nodes)
    order = order[np.argsort(classes[order], kind="stable")]
    classes, doubtful = _isomorphism_classes(both.indptr, both.indices, colours, order, classes, effort)
    found = _matches(classes, original.nodes)
    in_doubt = np.isin(classes[: original.nodes], classes[doubtful]) & found.matched
    return found._replace(unresolved=int(in_doubt.sum()))


def known_neighbours(
    original: Adjacency,
    masked: Adjacency,
    labels: IntArray,
    masked_labels: IntArray,
    known: int,
    rng: np.random.Generator,
    *,
    include_root: bool = True,
) -> NeighbourhoodMatches:
    """Match an intruder's knowledge of up to so many random neighbours of each node: the labels of the two nodes agree,
    and those of the known neighbours are among the labels of the masked neighbours, as often as they are known."""
    _check(original, masked, [(labels, masked_labels)])
    if known < 0:
        raise ParameterError(f"known = {known} is not allowed; it must be greater than or equal to 0")
    nodes = original.nodes
    codes = _joint_codes(labels, masked_labels)
    size = int(codes.max(initial=0)) + 1
    roots = codes if include_root else np.zeros_like(codes)
    my_root, their_root = roots[:nodes], roots[nodes:]
    indptr, drawn = _drawn_neighbours(original, codes[:nodes], known, rng)
    # equal knowledge is one query
    queries = _numbered(_star_keys(indptr, drawn, np.arange(size), my_root, np.zeros_like(drawn)))
    first = np.unique(queries, return_index=True)[1]
    rows = _sorted_rows(masked.indptr, codes[nodes:][masked.indices])
    owners = np.repeat(np.arange(nodes), degrees(masked))
    postings = _postings(owners, rows, their_root, size)
    by_root = np.argsort(their_root, kind="stable")
    counts = _count_containing(
        indptr, drawn, my_root, first, masked.indptr, rows, postings, by_root, their_root[by_root], size
    )
    own = _contained(indptr, drawn, my_root, masked.indptr, rows, their_root)
    candidates = counts[queries]
    return NeighbourhoodMatches(candidates > 0, own, candidates, 0)


def consistent_neighbourhoods(
    original: Adjacency,
    masked: Adjacency,
    labels: IntArray,
    masked_labels: IntArray,
    locations: IntArray,
    masked_locations: IntArray,
    parents: IntArray,
    *,
    induced: bool = False,
    include_root: bool = True,
) -> NeighbourhoodMatches:
    """Match complete neighbourhoods with equal labels, in which a masked location may be the original one or any that
    contains it; `parents` are those of the places of a tree, -1 for a root.

    The neighbours with one label are matched if each masked location can have an original below it of its own. Places
    are nested, so that this holds if no masked location contains more masked than original ones. If `induced`, there
    are also as many neighbours of each label with as many links to the others; which of them these are is not compared.
    """
    _check(original, masked, [(labels, masked_labels), (locations, masked_locations)])
    enter, leave = nested_intervals(parents)
    nodes = original.nodes
    for places in (locations, masked_locations):
        if len(places) and (places.min() < 0 or places.max() >= len(parents)):
            raise DataError(f"a node has a location that does not exist; the tree has {len(parents):,} places")
    codes = _joint_codes(labels, masked_labels)
    both = _side_by_side(original, masked)
    roots = codes if include_root else np.zeros_like(codes)
    shared = _common_neighbours(both.indptr, both.indices) if induced else np.zeros_like(both.indices)
    buckets = _numbered(_star_keys(both.indptr, both.indices, codes, roots, shared))
    places = np.concatenate([locations, masked_locations]).astype(np.int64)
    # the place of the whole label is its number in the walk through the tree, after that of the other labels
    low, high = codes * len(parents) + enter[places], codes * len(parents) + leave[places]
    root_places = places if include_root else np.full(2 * nodes, -1, dtype=np.int64)
    profiles = _numbered(
        _star_keys(both.indptr, both.indices, low, np.maximum(root_places, 0), np.zeros_like(both.indices))
    )
    profiles = number_rows([buckets, profiles])[0]
    starts, ends = _sorted_intervals(both.indptr, both.indices, low, high)
    mine, which = np.unique(profiles[:nodes], return_index=True)
    _, where, size = np.unique(profiles[nodes:], return_index=True, return_counts=True)
    order = np.argsort(buckets[nodes + where], kind="stable")
    targets, sizes = nodes + where[order], size[order]
    marks = _place_marks(both.indptr, both.indices, codes, places, parents.astype(np.int64), nodes)
    nested = _Nested(both.indptr, starts, ends, root_places, enter[places], leave[places])
    counts = _count_consistent(nested, marks, which, buckets, targets, buckets[targets], sizes)
    candidates = counts[np.searchsorted(mine, profiles[:nodes])]
    own = _own_consistent(nested, buckets, nodes)
    return NeighbourhoodMatches(candidates > 0, own, candidates, 0)


def node_colours(graph: Adjacency, labels: IntArray, rounds: int) -> IntArray:
    """Numbers for the nodes that are equal where their labels are and, round by round, those of their neighbours and of
    the neighbours of these; they do not depend on the order of the nodes (Weisfeiler and Leman 1968).

    >>> from microveil.numerics.graphs.adjacency import adjacency
    >>> path = adjacency(np.array([0, 1, 2, 3]), np.array([1, 2, 3, 4]), 5)
    >>> colours = node_colours(path, np.zeros(5, dtype=np.int64), 3)
    >>> [int((colours == colour).sum()) for colour in colours]
    [2, 2, 1, 2, 2]
    """
    colours, nothing = labels.astype(np.int64), np.zeros_like(graph.indices)
    for _ in range(rounds):
        keys = _star_keys(graph.indptr, graph.indices, colours, colours, nothing)
        colours = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return colours


def _check(original: Adjacency, masked: Adjacency, columns: list[tuple[IntArray, IntArray]]) -> None:
    if original.nodes != masked.nodes:
        raise DataError(
            f"the original graph has {original.nodes:,} nodes and the masked one {masked.nodes:,}; "
            "both need the same nodes"
        )
    if any(len(column) != original.nodes for pair in columns for column in pair):
        raise DataError(f"every node needs one label; the graph has {original.nodes:,} nodes")


def _side_by_side(original: Adjacency, masked: Adjacency) -> Adjacency:
    """One graph of the nodes of both, those of the masked one after the others."""
    indptr = np.concatenate([original.indptr, original.indptr[-1] + masked.indptr[1:]])
    return Adjacency(indptr, np.concatenate([original.indices, original.nodes + masked.indices]))


def _joint_codes(labels: IntArray, masked_labels: IntArray) -> IntArray:
    """The labels of both graphs as numbers without gaps, those of the masked one after the others."""
    return np.unique(np.concatenate([labels, masked_labels]), return_inverse=True)[1].reshape(-1).astype(np.int64)


def _numbered(keys: HashArray) -> IntArray:
    """Rows of keys numbered by their distinct values."""
    columns = [np.unique(keys[:, lane], return_inverse=True)[1].reshape(-1).astype(np.int64) for lane in range(2)]
    return number_rows(columns)[0]


def _on_both_sides(classes: IntArray, nodes: int) -> BoolArray:
    """The nodes whose class has members in both graphs."""
    size = int(classes.max(initial=0)) + 1
    one, other = np.bincount(classes[:nodes], minlength=size), np.bincount(classes[nodes:], minlength=size)
    return np.asarray(((one > 0) & (other > 0))[classes])


def _matches(classes: IntArray, nodes: int) -> NeighbourhoodMatches:
    mine, theirs = classes[:nodes], classes[nodes:]
    candidates = np.bincount(theirs, minlength=int(classes.max(initial=0)) + 1)[mine]
    return NeighbourhoodMatches(candidates > 0, mine == theirs, candidates, 0)


@kernel
def _mixed(state: np.uint64, value: np.uint64) -> np.uint64:
    return np.uint64(_finished((state ^ value) + INCREMENT))


@kernel
def _star_keys(indptr: IntArray, indices: IntArray, labels: IntArray, roots: IntArray, extra: IntArray) -> HashArray:
    """A key of the root and of the pairs (label, extra) of its neighbours in order, by two lanes of 64 bits."""
    keys = np.empty((len(indptr) - 1, 2), dtype=np.uint64)
    for v in range(len(keys)):
        begin, end = indptr[v], indptr[v + 1]
        for lane in range(2):
            cells = np.empty(end - begin, dtype=np.uint64)
            for i in range(begin, end):
                label = _mixed(_SEEDS[lane], np.uint64(labels[indices[i]]))
                cells[i - begin] = _mixed(label, np.uint64(extra[i]))
            cells.sort()
            state = _mixed(_SEEDS[lane], np.uint64(roots[v]))
            for cell in cells:
                state = _mixed(state, cell)
            keys[v, lane] = _mixed(state, np.uint64(end - begin))
    return keys


@kernel
def _position(row: IntArray, value: int) -> int:
    """Where a value stands in an ascending row, -1 if it does not."""
    at: int = np.searchsorted(row, value)  # type: ignore[assignment]
    return at if at < len(row) and row[at] == value else -1


@kernel
def _common_neighbours(indptr: IntArray, indices: IntArray) -> IntArray:
    """For each entry of the rows how many neighbours its two nodes share, the degree of one inside the neighbourhood of
    the other."""
    shared = np.zeros(len(indices), dtype=np.int64)
    for v in range(len(indptr) - 1):
        mine = indices[indptr[v] : indptr[v + 1]]
        for i in range(indptr[v], indptr[v + 1]):
            w = indices[i]
            theirs = indices[indptr[w] : indptr[w + 1]]
            if len(mine) > len(theirs) or (len(mine) == len(theirs) and v > w):
                continue  # each pair once, from the node with fewer neighbours
            for x in mine:
                shared[i] += _position(theirs, x) >= 0
            shared[indptr[w] + _position(theirs, v)] = shared[i]
    return shared


@kernel
def _inside(indptr: IntArray, indices: IntArray, v: int) -> tuple[IntArray, IntArray]:
    """The edges among the neighbours of a node as rows; neighbours are numbered by their position."""
    mine = indices[indptr[v] : indptr[v + 1]]
    starts = np.zeros(len(mine) + 1, dtype=np.int64)
    room = 0
    for w in mine:
        room += min(len(mine), indptr[w + 1] - indptr[w])
    ends = np.empty(room, dtype=np.int64)
    count = 0
    for i in range(len(mine)):
        theirs = indices[indptr[mine[i]] : indptr[mine[i] + 1]]
        if len(theirs) < len(mine):
            for x in theirs:
                at = _position(mine, x)
                if at >= 0:
                    ends[count] = at
                    count += 1
        else:
            for j in range(len(mine)):
                if _position(theirs, mine[j]) >= 0:
                    ends[count] = j
                    count += 1
        starts[i + 1] = count
    return starts, ends[:count].copy()


@kernel
def _refined_keys(
    indptr: IntArray, indices: IntArray, labels: IntArray, shared: IntArray, wanted: BoolArray
) -> tuple[HashArray, HashArray]:
    """For the wanted nodes the colours of their neighbours, which tell apart what some rounds of looking at the colours
    of neighbours inside the neighbourhood can, and a key of all of them."""
    colours = np.zeros(len(indices), dtype=np.uint64)
    keys = np.zeros((len(wanted), 2), dtype=np.uint64)
    for v in range(len(wanted)):
        if not wanted[v]:
            continue
        begin, end = indptr[v], indptr[v + 1]
        starts, ends = _inside(indptr, indices, v)
        now, then = np.empty(end - begin, dtype=np.uint64), np.empty(end - begin, dtype=np.uint64)
        for i in range(end - begin):
            label = _mixed(_SEEDS[0], np.uint64(labels[indices[begin + i]]))
            now[i] = _mixed(label, np.uint64(shared[begin + i]))
        for _ in range(_REFINEMENTS):
            for i in range(end - begin):
                around = now[ends[starts[i] : starts[i + 1]]]
                around.sort()
                then[i] = now[i]
                for colour in around:
                    then[i] = _mixed(then[i], colour)
            now, then = then, now
        colours[begin:end] = now
        ordered = now.copy()
        ordered.sort()
        for lane in range(2):
            keys[v, lane] = _SEEDS[lane]
            for colour in ordered:
                keys[v, lane] = _mixed(keys[v, lane], colour)
    return colours, keys


@kernel
def _isomorphism_classes(
    indptr: IntArray, indices: IntArray, colours: HashArray, order: IntArray, classes: IntArray, effort: int
) -> tuple[IntArray, IntArray]:
    """Classes split so that members are isomorphic: each is compared with the first member of every part so far. Also
    returns the nodes that joined a part because the comparison was given up."""
    found, doubtful, doubts = classes.copy(), np.empty(len(order), dtype=np.int64), 0
    free = np.int64(0)
    for label in classes:
        free = max(free, label + 1)
    begin = 0
    while begin < len(order):
        end = begin
        while end < len(order) and classes[order[end]] == classes[order[begin]]:
            end += 1
        firsts = np.empty(end - begin, dtype=np.int64)
        parts = 0
        for v in order[begin:end]:
            joined = False
            for first in firsts[:parts]:
                answer = _compare(indptr, indices, colours, first, v, effort)
                if answer != 0:
                    found[v], joined = found[first], True
                    if answer < 0:
                        doubtful[doubts] = v
                        doubts += 1
                    break
            if not joined:
                firsts[parts] = v
                if parts > 0:
                    found[v] = free
                    free += 1
                parts += 1
        begin = end
    return found, doubtful[:doubts]


@kernel
def _search_order(starts: IntArray, ends: IntArray, colours: HashArray) -> tuple[IntArray, IntArray]:
    """The order in which neighbours are mapped: from those with the rarest colour outwards along edges; and for each
    the position of one mapped before it that it is linked to, or -1."""
    size = len(colours)
    ordered = np.sort(colours)
    frequency = np.empty(size, dtype=np.int64)
    for i in range(size):
        left, right = np.searchsorted(ordered, colours[i]), np.searchsorted(ordered, colours[i], side="right")
        frequency[i] = right - left
    placed = np.zeros(size, dtype=np.bool_)
    sequence, link = np.empty(size, dtype=np.int64), np.full(size, -1, dtype=np.int64)
    count = 0
    for start in np.argsort(frequency, kind="mergesort"):
        if placed[start]:
            continue
        placed[start], sequence[count] = True, start
        at = count
        count += 1
        while at < count:
            a = sequence[at]
            for b in ends[starts[a] : starts[a + 1]]:
                if not placed[b]:
                    placed[b], sequence[count], link[count] = True, b, at
                    count += 1
            at += 1
    return sequence, link


@kernel
def _compare(indptr: IntArray, indices: IntArray, colours: HashArray, v: int, w: int, effort: int) -> int:
    """Whether two neighbourhoods with the same colours are isomorphic: 1 yes, 0 no, -1 given up."""
    starts, ends = _inside(indptr, indices, v)
    other_starts, other_ends = _inside(indptr, indices, w)
    mine, theirs = colours[indptr[v] : indptr[v + 1]], colours[indptr[w] : indptr[w + 1]]
    size = len(mine)
    sequence, link = _search_order(starts, ends, mine)
    by_colour = np.argsort(theirs, kind="mergesort")
    ordered = theirs[by_colour]
    image, preimage = np.full(size, -1, dtype=np.int64), np.full(size, -1, dtype=np.int64)
    tried = np.zeros(size, dtype=np.int64)  # how many candidates of each position have been tried
    depth, steps = 0, 0
    while 0 <= depth < size:
        a = sequence[depth]
        if image[a] >= 0:  # back from below: try the next candidate
            preimage[image[a]] = -1
            image[a] = -1
        if link[depth] >= 0:
            near = image[sequence[link[depth]]]
            pool = other_ends[other_starts[near] : other_starts[near + 1]]
        else:
            pool = by_colour[np.searchsorted(ordered, mine[a]) : np.searchsorted(ordered, mine[a], side="right")]
        advanced = False
        while tried[depth] < len(pool):
            b = pool[tried[depth]]
            tried[depth] += 1
            steps += 1
            if steps > effort:
                return -1
            if (
                preimage[b] < 0
                and theirs[b] == mine[a]
                and _fits(a, b, starts, ends, other_starts, other_ends, image, preimage)
            ):
                image[a], preimage[b] = b, a
                advanced = True
                break
        if advanced:
            depth += 1
            if depth < size:
                tried[depth] = 0
        else:
            depth -= 1
    return 1 if depth == size else 0


@kernel
def _fits(
    a: int,
    b: int,
    starts: IntArray,
    ends: IntArray,
    other_starts: IntArray,
    other_ends: IntArray,
    image: IntArray,
    preimage: IntArray,
) -> bool:
    """Whether a and b are linked to the same nodes among those mapped so far."""
    row = other_ends[other_starts[b] : other_starts[b + 1]]
    mapped = 0
    for x in ends[starts[a] : starts[a + 1]]:
        if image[x] >= 0:
            if _position(row, image[x]) < 0:
                return False
            mapped += 1
    for y in row:
        if preimage[y] >= 0:
            mapped -= 1
    return mapped == 0


def _drawn_neighbours(
    graph: Adjacency, labels: IntArray, known: int, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """The labels of up to so many random neighbours of each node, ascending, as rows."""
    owners = np.repeat(np.arange(graph.nodes), degrees(graph))
    order = np.lexsort((rng.random(len(owners)), owners))
    rank = np.arange(len(owners)) - np.repeat(graph.indptr[:-1], degrees(graph))
    kept = order[rank < known]
    indptr = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(np.minimum(degrees(graph), known))])
    return indptr, _sorted_rows(indptr, labels[graph.indices[kept]])


@kernel
def _sorted_rows(indptr: IntArray, values: IntArray) -> IntArray:
    found = values.copy()
    for v in range(len(indptr) - 1):
        found[indptr[v] : indptr[v + 1]].sort()
    return found


class Postings(NamedTuple):
    """For each pair of a root's label and a neighbour's label, ascending by key, the nodes that have it."""

    keys: IntArray
    starts: IntArray
    nodes: IntArray


def _postings(owners: IntArray, rows: IntArray, roots: IntArray, size: int) -> Postings:
    keys = roots[owners] * size + rows
    pairs = number_rows([keys, owners])[1]  # each node once for a label, however many neighbours have it
    pairs = pairs[np.lexsort((owners[pairs], keys[pairs]))]
    distinct, first = np.unique(keys[pairs], return_index=True)
    return Postings(distinct, np.append(first, len(pairs)), owners[pairs])


@kernel
def _contains(row: IntArray, wanted: IntArray) -> bool:
    """Whether an ascending row has all the wanted values, also ascending, as often as they are wanted."""
    if len(wanted) > len(row):
        return False
    at = 0
    for i in range(len(wanted)):
        # equal values stand together: the search goes on behind the one that was found
        at += np.searchsorted(row[at:], wanted[i])
        if at == len(row) or row[at] != wanted[i]:
            return False
        at += 1
    return True


@kernel
def _count_containing(
    indptr: IntArray,
    drawn: IntArray,
    roots: IntArray,
    queries: IntArray,
    masked_indptr: IntArray,
    rows: IntArray,
    postings: Postings,
    by_root: IntArray,
    ordered_roots: IntArray,
    size: int,
) -> IntArray:
    """For each query how many masked nodes fit; those with the rarest of the known labels are looked at."""
    counts = np.zeros(len(queries), dtype=np.int64)
    for q in range(len(queries)):
        v = queries[q]
        wanted = drawn[indptr[v] : indptr[v + 1]]
        pool = by_root[
            np.searchsorted(ordered_roots, roots[v]) : np.searchsorted(ordered_roots, roots[v], side="right")
        ]
        for label in wanted:
            at = _position(postings.keys, roots[v] * size + label)
            if at < 0:
                pool = pool[:0]
                break
            if postings.starts[at + 1] - postings.starts[at] < len(pool):
                pool = postings.nodes[postings.starts[at] : postings.starts[at + 1]]
        for w in pool:
            counts[q] += _contains(rows[masked_indptr[w] : masked_indptr[w + 1]], wanted)
    return counts


@kernel
def _contained(
    indptr: IntArray, drawn: IntArray, roots: IntArray, masked_indptr: IntArray, rows: IntArray, masked_roots: IntArray
) -> BoolArray:
    """Whether what is known of each node fits the same node of the masked graph."""
    found = np.zeros(len(roots), dtype=np.bool_)
    for v in range(len(roots)):
        row = rows[masked_indptr[v] : masked_indptr[v + 1]]
        found[v] = roots[v] == masked_roots[v] and _contains(row, drawn[indptr[v] : indptr[v + 1]])
    return found


@kernel
def _sorted_intervals(indptr: IntArray, indices: IntArray, low: IntArray, high: IntArray) -> tuple[IntArray, IntArray]:
    """The intervals of the neighbours of each node, ascending by their beginnings."""
    starts, ends = np.empty_like(indices), np.empty_like(indices)
    for v in range(len(indptr) - 1):
        begin, end = indptr[v], indptr[v + 1]
        row = indices[begin:end]
        order = np.argsort(low[row], kind="mergesort")
        for i in range(end - begin):
            starts[begin + i], ends[begin + i] = low[row[order[i]]], high[row[order[i]]]
    return starts, ends


class _Nested(NamedTuple):
    """The places of nodes and of their neighbours as intervals, of which those of a subtree lie in that of its top.

    The neighbours of node v have `starts` and `ends` from `indptr[v]` on, ascending; its own interval is from
    `enter[v]` to `leave[v]`, unless its place is not known (-1 in `root_places`).
    """

    indptr: IntArray
    starts: IntArray
    ends: IntArray
    root_places: IntArray
    enter: IntArray
    leave: IntArray


@kernel
def _is_consistent(v: int, w: int, nested: _Nested) -> bool:
    """Whether the masked neighbourhood of w may be that of v, which has the same other labels."""
    if nested.root_places[v] >= 0 and not nested.enter[w] <= nested.enter[v] < nested.leave[w]:
        return False
    indptr, starts = nested.indptr, nested.starts
    mine, theirs = starts[indptr[v] : indptr[v + 1]], starts[indptr[w] : indptr[w + 1]]
    limits = nested.ends[indptr[w] : indptr[w + 1]]
    for i in range(len(theirs)):
        if i > 0 and theirs[i] == theirs[i - 1]:
            continue
        masked_below = np.searchsorted(theirs, limits[i]) - i
        below = np.searchsorted(mine, limits[i]) - np.searchsorted(mine, theirs[i])
        if masked_below > below:
            return False
    return True


@kernel
def _place_marks(
    indptr: IntArray, indices: IntArray, codes: IntArray, places: IntArray, parents: IntArray, nodes: int
) -> HashArray:
    """Bits for the places of the neighbours of masked nodes, and for those of original nodes and all above them: a
    masked neighbourhood with a bit that an original one has not is not consistent with it, which most pairs show."""
    marks = np.zeros((len(indptr) - 1, _MARK_WORDS), dtype=np.uint64)
    for v in range(len(marks)):
        for w in indices[indptr[v] : indptr[v + 1]]:
            place = places[w]
            while place >= 0:
                bits = _mixed(_mixed(_SEEDS[0], np.uint64(codes[w])), np.uint64(place))
                marks[v, bits & np.uint64(_MARK_WORDS - 1)] |= np.uint64(1) << (bits >> np.uint64(58))
                place = parents[place] if v < nodes else -1
    return marks


@kernel
def _rules_out(marks: HashArray, v: int, w: int) -> bool:
    outside = np.uint64(0)
    for word in range(_MARK_WORDS):
        outside |= marks[w, word] & ~marks[v, word]
    return bool(outside != 0)


@kernel
def _count_consistent(
    nested: _Nested,
    marks: HashArray,
    sources: IntArray,
    buckets: IntArray,
    targets: IntArray,
    target_buckets: IntArray,
    sizes: IntArray,
) -> IntArray:
    """For each distinct original profile how many masked nodes may be it."""
    counts = np.zeros(len(sources), dtype=np.int64)
    for s in range(len(sources)):
        v = sources[s]
        first = np.searchsorted(target_buckets, buckets[v])
        for t in range(first, len(targets)):
            if target_buckets[t] != buckets[v]:
                break
            if _rules_out(marks, v, targets[t]):
                continue
            if _is_consistent(v, targets[t], nested):
                counts[s] += sizes[t]
    return counts


@kernel
def _own_consistent(nested: _Nested, buckets: IntArray, nodes: int) -> BoolArray:
    found = np.zeros(nodes, dtype=np.bool_)
    for v in range(nodes):
        found[v] = buckets[v] == buckets[nodes + v] and _is_consistent(v, nodes + v, nested)
    return found
