"""Attacks on the structure of graphs: seed-and-expand de-anonymisation, candidates by the degrees around a node, and
inference of a node's attribute from those of its friends."""

from __future__ import annotations

import numpy as np

from microveil.errors import DataError, ParameterError
from microveil.numerics.core.compiled import kernel
from microveil.numerics.graphs.adjacency import Adjacency, degrees
from microveil.numerics.graphs.neighbourhoods import equal_neighbourhoods
from microveil.typing import BoolArray, FloatArray, IntArray


def expand_seeds(
    first: Adjacency,
    second: Adjacency,
    seeds: IntArray,
    seed_matches: IntArray,
    *,
    least_marks: int = 2,
    eccentricity: float = 0.0,
    revisits: int = 10,
) -> IntArray:
    """For each node of the first graph its match in the second, or -1, grown from a few known pairs.

    A pair gets a mark from every matched pair of its neighbours, after Yartseva and Grossglauser (2013), and may be
    matched from `least_marks` on. In each round every node proposes the pair with most marks, of equal ones that with
    the least difference of degrees; proposals with more than half of the most marks are accepted, the best first. A tie
    that is left on either side is not matched. A proposal must also be eccentric, after Narayanan and Shmatikov (2009):
    its marks exceed the next by this many standard deviations of the marks of all candidates.

    The first pairs rest on few marks, and where friends are friends of each other one wrong pair brings in others. So
    all pairs but the seeds are then revisited up to so many times, as in Narayanan and Shmatikov (2009): by the marks
    that all pairs of the time before give, over the root of the degree, so that hubs gain nothing by their many links,
    two nodes are matched if each is the best for the other. What is left is grown as before, until nothing changes.
    """
    _check_seeds(first, second, seeds, seed_matches)
    if least_marks < 1:
        raise ParameterError(f"least_marks = {least_marks} is not allowed; it must be greater than or equal to 1")
    if not eccentricity >= 0:
        raise ParameterError(f"eccentricity = {eccentricity} is not allowed; it must be greater than or equal to 0")
    if revisits < 0:
        raise ParameterError(f"revisits = {revisits} is not allowed; it must be greater than or equal to 0")
    rows = first.indptr, first.indices, second.indptr, second.indices
    match = np.full(first.nodes, -1, dtype=np.int64)
    match[seeds] = seed_matches
    _expand(*rows, match, least_marks, eccentricity)
    fixed = np.zeros(first.nodes, dtype=np.bool_)
    fixed[seeds] = True
    for _ in range(revisits):
        again = _revisited(*rows, match, fixed, least_marks, eccentricity)
        _drop_unmarked(*rows, again, fixed, least_marks)
        _expand(*rows, again, least_marks, eccentricity)
        if np.array_equal(again, match):
            break
        match = again
    return match


def degree_signature_candidates(original: Adjacency, masked: Adjacency) -> IntArray:
    """For each node of the original graph how many nodes of the masked graph have its degree and the degrees of its
    neighbours; within one graph, the sizes of the groups of equal signatures.

    >>> from microveil.numerics.graphs.adjacency import adjacency
    >>> path = adjacency(np.array([0, 1, 2, 3]), np.array([1, 2, 3, 4]), 5)
    >>> degree_signature_candidates(path, path).tolist()
    [2, 2, 1, 2, 2]
    """
    known = degrees(original), degrees(masked)
    return equal_neighbourhoods(original, masked, *known, induced=False).candidates


def friends_vote(graph: Adjacency, codes: IntArray, known: BoolArray, weights: FloatArray | None = None) -> IntArray:
    """For each node the code that its neighbours of known code vote for; a node's own code is not used.

    A neighbour's vote counts as much as its weight, one unless given. Ties, and nodes without any vote, go to the code
    that is most frequent among all known ones, then to the smallest.
    """
    if not len(codes) == len(known) == graph.nodes or (weights is not None and len(weights) != graph.nodes):
        raise DataError(f"every node needs a code, a mark whether it is known, and a weight; there are {graph.nodes:,}")
    if not known.any():
        raise DataError("no node's code is known, so that none can be inferred; mark at least one as known")
    if weights is not None and not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ParameterError("the weights of votes must be finite and not negative")
    votes = np.ones(graph.nodes) if weights is None else weights.astype(np.float64)
    distinct, numbers = np.unique(codes[known], return_inverse=True)
    frequency = np.bincount(numbers.reshape(-1))
    falling = np.argsort(-frequency, kind="stable")  # the code that wins a tie comes first
    rank = np.empty(len(distinct), dtype=np.int64)
    rank[falling] = np.arange(len(distinct))
    ranks = np.full(graph.nodes, -1, dtype=np.int64)
    ranks[known] = rank[numbers.reshape(-1)]
    return np.asarray(distinct[falling][_winners(graph.indptr, graph.indices, ranks, votes, len(distinct))])


def _check_seeds(first: Adjacency, second: Adjacency, seeds: IntArray, seed_matches: IntArray) -> None:
    if len(seeds) != len(seed_matches):
        raise DataError("seeds are pairs of nodes; name as many nodes of the second graph as of the first")
    for nodes, graph, which in ((seeds, first, "first"), (seed_matches, second, "second")):
        if len(nodes) and (nodes.min() < 0 or nodes.max() >= graph.nodes):
            raise DataError(f"a seed does not exist in the {which} graph, which has {graph.nodes:,} nodes")
        if len(np.unique(nodes)) < len(nodes):
            raise DataError(f"a node of the {which} graph is a seed twice; name each node once")


@kernel
def _winners(indptr: IntArray, indices: IntArray, ranks: IntArray, votes: FloatArray, size: int) -> IntArray:
    """The rank with most votes around each node, of equal ones the lowest; 0 without votes."""
    totals = np.zeros(size)
    winners = np.zeros(len(indptr) - 1, dtype=np.int64)
    for v in range(len(winners)):
        row = indices[indptr[v] : indptr[v + 1]]
        best = 0.0
        for w in row:
            if ranks[w] >= 0:
                totals[ranks[w]] += votes[w]
        for w in row:
            r = ranks[w]
            if r >= 0 and (totals[r] > best or (totals[r] == best and best > 0 and r < winners[v])):
                best, winners[v] = totals[r], r
        for w in row:
            if ranks[w] >= 0:
                totals[ranks[w]] = 0.0
    return winners


@kernel
def _expand(
    indptr: IntArray,
    indices: IntArray,
    other_indptr: IntArray,
    other_indices: IntArray,
    match: IntArray,
    least_marks: int,
    eccentricity: float,
) -> None:
    """Match further nodes in place until a round accepts nothing."""
    nodes, other_nodes = len(indptr) - 1, len(other_indptr) - 1
    taken = np.zeros(other_nodes, dtype=np.bool_)
    for v in range(nodes):
        if match[v] >= 0:
            taken[match[v]] = True
    proposed, next_best = np.full(nodes, -1, dtype=np.int64), np.full(nodes, -1, dtype=np.int64)
    clear = np.zeros(nodes, dtype=np.bool_)
    marks, difference = np.zeros(nodes, dtype=np.int64), np.zeros(nodes, dtype=np.int64)
    stale = np.ones(nodes, dtype=np.bool_)
    scores, touched = np.zeros(other_nodes, dtype=np.int64), np.empty(other_nodes, dtype=np.int64)
    while True:
        most = 0
        for v in range(nodes):
            if match[v] >= 0:
                continue
            lost = (proposed[v] >= 0 and taken[proposed[v]]) or (next_best[v] >= 0 and taken[next_best[v]])
            if stale[v] or lost:
                stale[v] = False
                count = _mark(v, indptr, indices, other_indptr, other_indices, match, taken, scores, touched)
                proposed[v], next_best[v], marks[v], difference[v], clear[v] = _proposal(
                    indptr[v + 1] - indptr[v], other_indptr, scores, touched[:count], least_marks, eccentricity
                )
                scores[touched[:count]] = 0
            if clear[v]:
                most = max(most, marks[v])
        above = most // 2
        accepted = _accept(above, match, taken, proposed, marks, difference, clear)
        while len(accepted) == 0 and above > 0:  # all of the best tie with each other
            above //= 2
            accepted = _accept(above, match, taken, proposed, marks, difference, clear)
        if len(accepted) == 0:
            break
        for v in accepted:
            for w in indices[indptr[v] : indptr[v + 1]]:
                stale[w] = True


@kernel
def _mark(
    v: int,
    indptr: IntArray,
    indices: IntArray,
    other_indptr: IntArray,
    other_indices: IntArray,
    match: IntArray,
    taken: BoolArray,
    scores: IntArray,
    touched: IntArray,
) -> int:
    """Count the marks of all candidates of a node, and list these; returns how many there are."""
    count = 0
    for w in indices[indptr[v] : indptr[v + 1]]:
        if match[w] < 0:
            continue
        for x in other_indices[other_indptr[match[w]] : other_indptr[match[w] + 1]]:
            if taken[x]:
                continue
            if scores[x] == 0:
                touched[count] = x
                count += 1
            scores[x] += 1
    return count


@kernel
def _proposal(
    degree: int,
    other_indptr: IntArray,
    scores: IntArray,
    candidates: IntArray,
    least_marks: int,
    eccentricity: float,
) -> tuple[np.int64, np.int64, np.int64, np.int64, bool]:
    """The best candidate and the next best, or -1; marks and difference of degrees of the best, and whether it is clear
    enough to be proposed."""
    best, second = np.int64(-1), np.int64(-1)
    best_gap, second_gap = np.int64(0), np.int64(0)
    total, squares = 0.0, 0.0
    for x in candidates:
        gap = abs(other_indptr[x + 1] - other_indptr[x] - degree)
        total += scores[x]
        squares += float(scores[x]) ** 2
        if best < 0 or scores[x] > scores[best] or (scores[x] == scores[best] and gap < best_gap):
            second, second_gap, best, best_gap = best, best_gap, x, gap
        elif second < 0 or scores[x] > scores[second] or (scores[x] == scores[second] and gap < second_gap):
            second, second_gap = x, gap
    if best < 0:
        return best, second, np.int64(0), best_gap, False
    clear = scores[best] >= least_marks
    if second >= 0:
        lead = scores[best] - scores[second]
        spread = np.sqrt(max(0.0, squares / len(candidates) - (total / len(candidates)) ** 2))
        clear = clear and (lead > 0 or best_gap < second_gap) and lead >= eccentricity * spread
    return best, second, scores[best], best_gap, clear


@kernel
def _accept(
    above: int,
    match: IntArray,
    taken: BoolArray,
    proposed: IntArray,
    marks: IntArray,
    difference: IntArray,
    clear: BoolArray,
) -> IntArray:
    """Accept for each wanted node of the second graph the best proposal with more marks than so many, unless two are
    equally good."""
    nodes = len(match)
    best = np.full(len(taken), -1, dtype=np.int64)
    tied = np.zeros(len(taken), dtype=np.bool_)
    for v in range(nodes):
        x = proposed[v]
        if match[v] >= 0 or not clear[v] or marks[v] <= above:
            continue
        b = best[x]
        if b < 0 or marks[v] > marks[b] or (marks[v] == marks[b] and difference[v] < difference[b]):
            best[x], tied[x] = v, False
        elif marks[v] == marks[b] and difference[v] == difference[b]:
            tied[x] = True
    accepted = np.empty(nodes, dtype=np.int64)
    count = 0
    for x in range(len(taken)):
        if best[x] >= 0 and not tied[x]:
            match[best[x]], taken[x] = x, True
            accepted[count] = best[x]
            count += 1
    return accepted[:count]


@kernel
def _revisited(
    indptr: IntArray,
    indices: IntArray,
    other_indptr: IntArray,
    other_indices: IntArray,
    match: IntArray,
    fixed: BoolArray,
    least_marks: int,
    eccentricity: float,
) -> IntArray:
    """The fixed pairs, and those of other nodes that are each other's best by the marks of all pairs there are."""
    nodes, other_nodes = len(indptr) - 1, len(other_indptr) - 1
    taken = np.zeros(other_nodes, dtype=np.bool_)
    for v in range(nodes):
        if fixed[v]:
            taken[match[v]] = True
    wanted = np.full(nodes, -1, dtype=np.int64)
    wanting, tied = np.full(other_nodes, -1, dtype=np.int64), np.zeros(other_nodes, dtype=np.bool_)
    weight, gap = np.zeros(other_nodes), np.zeros(other_nodes, dtype=np.int64)  # of the best for a node of the second
    scores, touched = np.zeros(other_nodes, dtype=np.int64), np.empty(other_nodes, dtype=np.int64)
    for v in range(nodes):
        if fixed[v]:
            continue
        count = _mark(v, indptr, indices, other_indptr, other_indices, match, taken, scores, touched)
        degree = indptr[v + 1] - indptr[v]
        wanted[v] = _best_by_cosine(degree, other_indptr, scores, touched[:count], least_marks, eccentricity)
        for x in touched[:count]:
            if scores[x] < least_marks:
                continue
            mine, apart = scores[x] / np.sqrt(degree), abs(other_indptr[x + 1] - other_indptr[x] - degree)
            if wanting[x] < 0 or mine > weight[x] or (mine == weight[x] and apart < gap[x]):
                wanting[x], weight[x], gap[x], tied[x] = v, mine, apart, False
            elif mine == weight[x] and apart == gap[x]:
                tied[x] = True
        scores[touched[:count]] = 0
    found = np.where(fixed, match, -1)
    for v in range(nodes):
        x = wanted[v]
        if not fixed[v] and x >= 0 and wanting[x] == v and not tied[x]:
            found[v] = x
    return found


@kernel
def _best_by_cosine(
    degree: int,
    other_indptr: IntArray,
    scores: IntArray,
    candidates: IntArray,
    least_marks: int,
    eccentricity: float,
) -> int:
    """The candidate with most marks over the root of its degree, of equal ones that with the least difference of
    degrees; -1 if there is none, or none that is clear enough."""
    best, best_weight, best_gap, tied = -1, 0.0, 0, False
    most, total, squares = 0, 0.0, 0.0
    for x in candidates:
        total += scores[x]
        squares += float(scores[x]) ** 2
        if scores[x] < least_marks:
            continue
        size = other_indptr[x + 1] - other_indptr[x]
        weight, gap = scores[x] / np.sqrt(size), abs(size - degree)
        if best < 0 or weight > best_weight or (weight == best_weight and gap < best_gap):
            best, best_weight, best_gap, tied = x, weight, gap, False
        elif weight == best_weight and gap == best_gap:
            tied = True
    if best < 0 or tied:
        return -1
    if eccentricity > 0.0:
        for x in candidates:
            if x != best:
                most = max(most, scores[x])
        spread = np.sqrt(max(0.0, squares / len(candidates) - (total / len(candidates)) ** 2))
        if len(candidates) > 1 and scores[best] - most < eccentricity * spread:
            return -1
    return best


@kernel
def _drop_unmarked(
    indptr: IntArray,
    indices: IntArray,
    other_indptr: IntArray,
    other_indices: IntArray,
    match: IntArray,
    fixed: BoolArray,
    least_marks: int,
) -> None:
    """Take back, in place, all pairs that are not fixed and have too few marks from the others."""
    dropped = True
    while dropped:
        dropped = False
        for v in range(len(match)):
            if match[v] < 0 or fixed[v]:
                continue
            theirs = other_indices[other_indptr[match[v]] : other_indptr[match[v] + 1]]
            marks = 0
            for w in indices[indptr[v] : indptr[v + 1]]:
                at = np.searchsorted(theirs, match[w]) if match[w] >= 0 else len(theirs)
                marks += at < len(theirs) and theirs[at] == match[w]
            if marks < least_marks:
                match[v] = -1
                dropped = True
