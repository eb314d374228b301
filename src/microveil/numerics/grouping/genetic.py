"""A genetic search for better groups inside the groups of a coarser partition.

MDAV with a multiple of k makes groups small enough to search. In each, a population of divisions into groups of k to
2k-1 evolves, MDAV's own division among them; the fittest always survives, so the result is never worse than MDAV's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from microveil.numerics.core.compiled import kernel, over_chunks
from microveil.numerics.core.random_bits import StateArray, fraction, whole
from microveil.numerics.grouping.groups import joined_labels
from microveil.numerics.grouping.mdav import mdav_groups
from microveil.progress import Part, Progress, silent
from microveil.typing import FloatArray, IntArray


@dataclass(frozen=True)
class Evolution:
    """How many divisions compete, how long, and how often two are crossed and one is changed."""

    population: int = 30
    generations: int = 200
    crossover: float = 0.7
    mutation: float = 0.1


def genetic_groups(
    columns: FloatArray,
    k: int,
    multiple: int,
    evolution: Evolution,
    rng: np.random.Generator,
    progress: Progress = silent,
    label: str = "grouping",
) -> IntArray:
    """Labels of groups of k to 2k-1 records; each group of MDAV with `multiple` times k is searched by itself."""
    coarse = mdav_groups(columns, multiple * k, Part(progress, 0.0, 0.1), label)
    order = np.argsort(coarse, kind="stable")
    members = np.split(order, np.cumsum(np.bincount(coarse))[:-1])
    seeds = rng.integers(0, 2**63, size=len(members), dtype=np.uint64)

    def work(start: int, end: int) -> list[IntArray]:
        return [divide(columns[members[i]], k, evolution, seeds[i]) for i in range(start, end)]

    found = over_chunks(work, len(members), 1, Part(progress, 0.1, 1.0), label)
    return joined_labels(members, (made for some in found for made in some))


def divide(columns: FloatArray, k: int, evolution: Evolution, seed: np.uint64) -> IntArray:
    """The best division of a few records that the search comes upon."""
    rows = np.ascontiguousarray(columns)
    start = mdav_groups(rows, k)
    if len(rows) < 2 * k or evolution.generations == 0:
        return start
    return _evolve(
        rows,
        start,
        k,
        evolution.population,
        evolution.generations,
        evolution.crossover,
        evolution.mutation,
        np.array([seed], dtype=np.uint64),
    )


@kernel
def _evolve(
    rows: FloatArray,
    start: IntArray,
    k: int,
    population: int,
    generations: int,
    crossover: float,
    mutation: float,
    state: StateArray,
) -> IntArray:
    """Tournaments of two, one-point crossing, changed labels, repair; the two fittest live on unchanged."""
    n = rows.shape[0]
    groups = n // k
    now, following = np.empty((population, n), dtype=np.int64), np.empty((population, n), dtype=np.int64)
    loss, loss_following = np.empty(population), np.empty(population)
    for p in range(population):
        for i in range(n):
            # every other division starts near MDAV's, the rest anywhere
            changed = p > 0 and (p % 2 == 1 or fraction(state) < mutation)
            now[p, i] = whole(state, groups) if changed else start[i]
        loss[p] = _repair(rows, now[p], groups, k)
    for _ in range(generations):
        best, second = _two_least(loss)
        following[0], loss_following[0] = now[best], loss[best]
        following[1], loss_following[1] = now[second], loss[second]
        for p in range(2, population):
            following[p] = now[_tournament(loss, state)]
            if fraction(state) < crossover:
                partner = now[_tournament(loss, state)]
                for i in range(whole(state, n), n):
                    following[p, i] = partner[i]
            if fraction(state) < mutation:
                _exchange(following[p], state)
            loss_following[p] = _repair(rows, following[p], groups, k)
        now, following = following, now
        loss, loss_following = loss_following, loss
    best, _ = _two_least(loss)
    return np.copy(now[best])


@kernel
def _two_least(loss: FloatArray) -> tuple[int, int]:
    """The positions of the least loss and of the next; the first of equals."""
    best, second = 0, -1
    for p in range(1, loss.shape[0]):
        if loss[p] < loss[best]:
            best, second = p, best
        elif second < 0 or loss[p] < loss[second]:
            second = p
    return best, max(second, 0)


@kernel
def _tournament(loss: FloatArray, state: StateArray) -> int:
    """The fitter of two drawn divisions; fitness 1 / (1 + SSE) orders them as the SSE does."""
    one, other = whole(state, loss.shape[0]), whole(state, loss.shape[0])
    return one if loss[one] <= loss[other] else other


@kernel
def _exchange(labels: IntArray, state: StateArray) -> None:
    """Two drawn records exchange their groups."""
    one, other = whole(state, labels.shape[0]), whole(state, labels.shape[0])
    labels[one], labels[other] = labels[other], labels[one]


@kernel
def _repair(rows: FloatArray, labels: IntArray, groups: int, k: int) -> float:
    """Bring every group to k to 2k-1 records and return the sum of squares within groups.

    The member farthest from the mean of a group that can spare it moves to the group in need with the nearest mean.
    """
    n, d = rows.shape
    sizes, sums = np.zeros(groups, dtype=np.int64), np.zeros((groups, d))
    for i in range(n):
        sizes[labels[i]] += 1
        for j in range(d):
            sums[labels[i], j] += rows[i, j]
    while True:
        needy, heavy = False, False
        for g in range(groups):
            needy = needy or sizes[g] < k
            heavy = heavy or sizes[g] > 2 * k - 1
        if not needy and not heavy:
            break
        spare, full = (k, k) if needy else (2 * k - 1, 2 * k - 1)
        moved = _farthest_member(rows, labels, sizes, sums, spare)
        taker = _nearest_group(rows, moved, sizes, sums, full)
        giver = labels[moved]
        labels[moved] = taker
        sizes[giver] -= 1
        sizes[taker] += 1
        for j in range(d):
            sums[giver, j] -= rows[moved, j]
            sums[taker, j] += rows[moved, j]
    loss = 0.0
    for i in range(n):
        loss += _gap(rows, i, sums, sizes, labels[i])
    return loss


@kernel
def _gap(rows: FloatArray, record: int, sums: FloatArray, sizes: IntArray, group: int) -> float:
    """The squared distance of a record to the mean of a group."""
    gap = 0.0
    for j in range(rows.shape[1]):
        gap += (rows[record, j] - sums[group, j] / sizes[group]) ** 2
    return gap


@kernel
def _farthest_member(rows: FloatArray, labels: IntArray, sizes: IntArray, sums: FloatArray, spare: int) -> int:
    """The record farthest from its group's mean, in groups of more than `spare` records."""
    far, far_gap = -1, -1.0
    for i in range(rows.shape[0]):
        if sizes[labels[i]] > spare:
            gap = _gap(rows, i, sums, sizes, labels[i])
            if gap > far_gap:
                far, far_gap = i, gap
    return far


@kernel
def _nearest_group(rows: FloatArray, record: int, sizes: IntArray, sums: FloatArray, full: int) -> int:
    """The group of fewer than `full` records with the nearest mean; an empty group is as near as can be."""
    near, near_gap = -1, np.inf
    for g in range(sizes.shape[0]):
        if sizes[g] < full:
            gap = 0.0 if sizes[g] == 0 else _gap(rows, record, sums, sizes, g)
            if gap < near_gap:
                near, near_gap = g, gap
    return near
