"""A lower bound on the loss of every partition into groups of k or more, from the nearest neighbours of each record.

A group of s records costs the sum of the squared distances of its pairs divided by s. So a record that shares a group
with s-1 others has at least a share of its s-1 shortest squared distances divided by 2s, and the shares of all records
add up to a bound. It is raised by multipliers: whoever of two near records wants the other without being wanted pays
more for their distance, and the other less, so that the sum for a group stays the same (Lagrangian relaxation of the
demand that neighbourhood is mutual).
"""

from __future__ import annotations

import numpy as np

from microveil.numerics.core.compiled import kernel
from microveil.numerics.grouping.group_pricing import ascending, near_records
from microveil.progress import Progress, silent
from microveil.typing import FloatArray, IntArray

_STEP, _SHRINKING = 0.35, 0.93  # of the multipliers, in squared distances; by round
_MOST_ARCS, _FEWEST_NEIGHBOURS = 1_000_000, 12  # with fewer neighbours than a group the bound is lower, but holds
_MOST_ROUNDS, _FEWEST_ROUNDS, _MOST_ARCS_OF_ROUNDS = 30, 5, 30_000_000


def affordable(records: int, k: int) -> tuple[int, int]:
    """How many neighbours of each record, and how many rounds, take a few seconds for a file of this length.

    >>> affordable(1_000, 10), affordable(50_000, 300), affordable(1_000_000, 3)
    ((30, 30), (20, 30), (9, 5))
    """
    neighbours = min(3 * k, max(_FEWEST_NEIGHBOURS, _MOST_ARCS // records))
    rounds = _MOST_ARCS_OF_ROUNDS // (neighbours * records)
    return neighbours, min(_MOST_ROUNDS, max(_FEWEST_ROUNDS, rounds))


def neighbour_shares(
    points: FloatArray, k: int, neighbours: int, rounds: int, progress: Progress = silent
) -> FloatArray:
    """Shares of the records of which no group of k or more costs less than those of its members.

    Columns that are NaN for one of two records do not count in their distance.
    """
    points = np.ascontiguousarray(points)
    count = min(neighbours, len(points) - 1)
    near, away = near_records(points, count)
    starts, ends, lengths, reverse = _mutual(near, away)
    beyond = away[:, -1] if count < len(points) - 1 else np.full(len(points), np.inf)
    extra, step = np.zeros(len(ends)), _STEP
    best = np.zeros(len(points))
    for number in range(rounds + 1):
        shares, wanted = _shares(starts, lengths, extra, beyond, k)
        if shares.sum() > best.sum():
            best = shares
        extra += step * lengths * (wanted - wanted[reverse])  # of both directions the same number, with either sign
        step *= _SHRINKING
        progress((number + 1) / (rounds + 1), "bound from neighbours")
    return best


def _mutual(near: IntArray, away: FloatArray) -> tuple[IntArray, IntArray, FloatArray, IntArray]:
    """The graph in which two records are joined if one is near the other: both directions of every edge.

    Where the arcs of each record start, where each leads, how long it is, and the arc back.
    """
    records, count = near.shape
    one, other, lengths = np.repeat(np.arange(records), count), near.reshape(-1), away.reshape(-1)
    one, other, lengths = np.append(one, other), np.append(other, one), np.append(lengths, lengths)
    _, first = np.unique(one * records + other, return_index=True)
    one, other, lengths = one[first], other[first], lengths[first]
    back = np.argsort(other * records + one, kind="stable")
    lengths = np.minimum(lengths, lengths[back])
    return np.searchsorted(one, np.arange(records + 1)), other, lengths, back


@kernel
def _shares(
    starts: IntArray, lengths: FloatArray, extra: FloatArray, beyond: FloatArray, k: int
) -> tuple[FloatArray, FloatArray]:
    """The least share of each record, and with what weight it wants each of its arcs.

    Every record that is no end of an arc is as far as `beyond` at least.
    """
    shares, wanted = np.empty(len(starts) - 1), np.zeros(len(lengths))
    for i in range(len(shares)):
        arcs = slice(starts[i], starts[i + 1])
        costs = lengths[arcs] + extra[arcs]
        in_order = ascending(costs)
        total, shares[i], size = 0.0, np.inf, 0
        for others in range(1, 2 * k - 1):
            near = others <= len(costs) and costs[in_order[others - 1]] <= beyond[i]
            total += costs[in_order[others - 1]] if near else beyond[i]
            if others >= k - 1 and total / (2 * (others + 1)) < shares[i]:
                shares[i], size = total / (2 * (others + 1)), others + 1
        for position in range(min(size - 1, len(costs))):
            if costs[in_order[position]] <= beyond[i]:
                wanted[starts[i] + in_order[position]] = k / size
    return shares, wanted
