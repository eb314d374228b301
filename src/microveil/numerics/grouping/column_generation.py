"""A lower bound on the loss of every partition into groups of k or more, by column generation; small files' optimum.

The least loss is an integer programme that chooses among all groups of k to 2k-1 records so that each is in one. Its
linear relaxation is solved over some of the groups (HiGHS), and groups of negative reduced cost at its dual prices
join until there is none (Aloise, Hansen, Rocha and Santi 2014). Prices are shares of the loss. Lowered by what the
pricing of any round leaves open they satisfy every group, so that their sum is a bound after every round, whether or
not the searches of that round came to their ends.

Where the gap to a known partition is so small that all groups of a reduced cost below it can be listed, the optimum is
among these, and the integer programme over them finds it (or proves the known partition optimal).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csc_array, eye_array, hstack

from microveil.numerics.core.compiled import kernel
from microveil.numerics.grouping.group_pricing import Priced, Pricing, near_records, squared_distance
from microveil.numerics.grouping.local_search import numbered, regions_of_groups
from microveil.numerics.grouping.neighbour_bound import affordable, neighbour_shares
from microveil.progress import Part, Progress, parts, silent
from microveil.typing import FloatArray, IntArray

_NEIGHBOUR_ROUNDS = 30
_BOX = 0.5  # half the width of what prices may be, around the best shares so far
_PULL = 0.5  # of the best shares so far on the dual prices, which jump from round to round
_CLOSE_ENOUGH = 1e-5  # of the master's optimum: the rounds end
_LARGEST_MASTER = 1_500  # records; longer files are bounded in chunks and put together
_COLUMNS_A_RECORD = 12  # beyond, those of high reduced cost go
_FEW_TO_CHOOSE_AMONG = 300  # records, for which the solver looks for a better partition among the generated groups
_FEW_RECORDS, _SMALL_GAP = 40, 2.0  # in costs of a group: beyond, groups below the gap are far too many
_MOST_LISTED = 200  # of one root and size, to find the optimum
_MOST_TO_CHOOSE_FROM = 30_000
_MOST_BRANCHES = 5_000
# What rounding can change, in units of the sum of squares: of sums of shares, and of an integer programme, whose
# solver takes 1e-6 for 0
_ROUNDING, _SOLVER_ROUNDING = 1e-9, 1e-6


@dataclass(frozen=True)
class Bounded:
    """No partition loses less than `least`; `labels` is the best known, `optimal` whether that is proved."""

    least: float
    labels: IntArray
    optimal: bool = False


def column_generation_bound(
    points: FloatArray, labels: IntArray, k: int, rounds: int, limit: int, progress: Progress = silent
) -> Bounded:
    """The bound after so many rounds, each of at most `limit` nodes for a root and size; it only rises with both.

    `labels` is a partition to begin with. Columns of the points that are NaN for one of two records do not count in
    their distance.
    """
    points, labels = np.ascontiguousarray(points), numbered(labels)
    pricing = Pricing(points, k)
    centre = neighbour_shares(points, k, 3 * k, _NEIGHBOUR_ROUNDS)
    if len(points) <= _LARGEST_MASTER:
        return _optimum(pricing, labels, *_generated(pricing, labels, centre, rounds, limit, progress), limit)
    filled = np.where(np.isnan(points), 0.0, points)
    chunks = regions_of_groups(filled, labels, _LARGEST_MASTER, 0.5)
    shares = centre.copy()
    for rows, part in zip(chunks, parts(Part(progress, 0.0, 0.8), len(chunks)), strict=True):
        within = Pricing(points[rows], k)
        shares[rows] = _generated(within, numbered(labels[rows]), centre[rows], rounds, limit, part)[0]
    # groups that cross the border of two chunks have not been priced yet
    priced = pricing.price(shares, limit, Part(progress, 0.8, 1.0))
    return Bounded(max(_sum(shares + priced.floors, points), _sum(centre, points)), labels)


def neighbour_bound(points: FloatArray, k: int, progress: Progress = silent) -> float:
    """The bound from the nearest neighbours of each record, which takes little longer than to find them."""
    return _sum(neighbour_shares(points, k, *affordable(len(points), k), progress), points)


def _sum(shares: FloatArray, points: FloatArray) -> float:
    """The sum of shares, less what rounding may have added."""
    return max(0.0, float(shares.sum()) - _ROUNDING * float(np.nansum(points**2)))


def _generated(
    pricing: Pricing, labels: IntArray, centre: FloatArray, rounds: int, limit: int, progress: Progress
) -> tuple[FloatArray, set[tuple[int, ...]]]:
    """Shares that satisfy every group, as high as the rounds make them, and the groups that were generated."""
    groups = _first_groups(pricing, labels)
    for number in range(rounds):
        objective, prices, reduced = _master(pricing.points, groups, centre)
        tried = _PULL * centre + (1 - _PULL) * prices
        priced = pricing.price(tried, limit)
        if (tried + priced.floors).sum() > centre.sum():
            centre = tried + priced.floors
        if len(groups) > _COLUMNS_A_RECORD * len(labels):
            groups = _cheapest(groups, reduced, _COLUMNS_A_RECORD * len(labels) // 2)
        groups |= _as_sets(priced)
        progress((number + 1) / rounds, "bound by column generation")
        if objective - centre.sum() <= _CLOSE_ENOUGH * objective:
            break
    progress(1.0, "bound by column generation")
    return centre, groups


def _as_sets(priced: Priced) -> set[tuple[int, ...]]:
    return {tuple(sorted(group.tolist())) for group in priced.groups}


def _first_groups(pricing: Pricing, labels: IntArray) -> set[tuple[int, ...]]:
    """Those of the partition to begin with, and each record with its nearest."""
    near = near_records(pricing.points, min(pricing.k - 1, len(labels) - 1))[0]
    around = np.sort(np.column_stack([np.arange(len(labels)), near]), axis=1)
    return _partition_groups(labels) | {tuple(group) for group in around.tolist()}


def _cheapest(groups: set[tuple[int, ...]], reduced: FloatArray, kept: int) -> set[tuple[int, ...]]:
    listed = sorted(groups)
    return {listed[position] for position in np.argsort(reduced, kind="stable")[:kept]}


def _costs_and_membership(points: FloatArray, listed: list[tuple[int, ...]]) -> tuple[FloatArray, csc_array]:
    sizes = np.array([len(group) for group in listed])
    ends = np.cumsum(sizes)
    members = np.array([record for group in listed for record in group], dtype=np.int64)
    membership = csc_array((np.ones(len(members)), members, np.append(0, ends)), shape=(len(points), len(listed)))
    return _costs(points, members, ends), membership


def _master(
    points: FloatArray, groups: set[tuple[int, ...]], centre: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """The least loss of fractions of groups that cover every record once, the dual prices, and the reduced costs.

    Prices stay in a box around the best shares so far: a record may be covered too often or not at all for what the
    ends of its box cost. With few groups prices would be far from those of all groups.
    """
    costs, membership = _costs_and_membership(points, sorted(groups))
    # in units in which the tolerances of the solver are small
    unit = max(float(costs.mean()), np.finfo(float).tiny)
    width = _BOX * (np.abs(centre) + np.abs(centre).mean())
    box = np.concatenate([centre + width, width - centre]) / unit
    either = hstack([membership, eye_array(len(points)), -eye_array(len(points))], format="csc")
    objective = np.concatenate([costs / unit, box])
    found = linprog(objective, A_eq=either, b_eq=np.ones(len(points)), bounds=(0, None), method="highs")
    prices = found.eqlin.marginals * unit
    return float(found.fun) * unit, prices, costs - membership.T @ prices


def _optimum(
    pricing: Pricing, labels: IntArray, shares: FloatArray, groups: Iterable[tuple[int, ...]], limit: int
) -> Bounded:
    """The optimum, if the groups that can be in a better partition than the known one are few enough to list them.

    Every partition loses the sum of the shares and the reduced costs of its groups.
    """
    points = pricing.points
    least = _sum(shares, points)
    margin = _SOLVER_ROUNDING * float(np.nansum(points**2))
    if len(labels) <= _FEW_TO_CHOOSE_AMONG:
        labels = _chosen(points, sorted({*groups, *_partition_groups(labels)}), labels)[0]
    lost = _partition_cost(points, labels)
    if lost - least <= 2 * _ROUNDING * float(np.nansum(points**2)):
        return Bounded(min(least, lost), labels, optimal=True)
    if len(labels) > _FEW_RECORDS and lost - least > _SMALL_GAP * lost / (labels.max() + 1):
        return Bounded(least, labels)
    listed = pricing.price(shares, limit, below=lost - least + margin, most=_MOST_LISTED)
    possible = sorted(_as_sets(listed) | _partition_groups(labels))
    if not (listed.complete and listed.all_found) or len(possible) > _MOST_TO_CHOOSE_FROM:
        return Bounded(least, labels)
    best, proved = _chosen(points, possible, labels)
    if proved is None:
        return Bounded(least, best)
    lost = _partition_cost(points, best)
    return Bounded(max(least, min(proved, lost) - margin), best, optimal=proved >= lost - margin)


def _chosen(points: FloatArray, possible: list[tuple[int, ...]], labels: IntArray) -> tuple[IntArray, float | None]:
    """The best partition into some of these groups that the solver finds, and what none of them loses less than.

    The given partition is taken where it finds no better one.
    """
    costs, membership = _costs_and_membership(points, possible)
    unit = max(float(costs.mean()), np.finfo(float).tiny)
    found = milp(
        costs / unit,
        integrality=np.ones(len(possible)),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(membership, 1, 1),
        options={"mip_rel_gap": 0.0, "node_limit": _MOST_BRANCHES},
    )
    if found.x is None:
        return labels, None
    better = np.empty(len(labels), dtype=np.int64)
    for number, position in enumerate(np.flatnonzero(found.x > 0.5)):
        better[list(possible[position])] = number
    best = min((labels, better), key=lambda made: _partition_cost(points, made))
    return best, None if found.mip_dual_bound is None else float(found.mip_dual_bound) * unit


def _partition_groups(labels: IntArray) -> set[tuple[int, ...]]:
    order = np.argsort(labels, kind="stable")
    return {tuple(group.tolist()) for group in np.split(order, np.cumsum(np.bincount(labels))[:-1])}


def _partition_cost(points: FloatArray, labels: IntArray) -> float:
    return float(_costs_and_membership(points, sorted(_partition_groups(labels)))[0].sum())


@kernel
def _costs(points: FloatArray, members: IntArray, ends: IntArray) -> FloatArray:
    """The sum of squared distances of the pairs of each group, divided by its size."""
    costs, start = np.zeros(len(ends)), 0
    for group in range(len(ends)):
        for a in range(start, ends[group]):
            for b in range(start, a):
                costs[group] += squared_distance(points, members[a], members[b])
        costs[group] /= ends[group] - start
        start = ends[group]
    return costs
