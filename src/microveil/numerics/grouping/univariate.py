"""Groups of at least k neighbours on one axis: fixed sizes, least sum of squares, least width, and by evolution.

Values are put in order once (stable, so that equal values keep the order of their records); a partition of one axis is
then the list of positions at which a group starts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from microveil.numerics.choices import Direction, Fitness, Remainder, is_known_by_place
from microveil.numerics.core.compiled import kernel
from microveil.progress import Progress, silent
from microveil.typing import BoolArray, FloatArray, IntArray, ShortArray

_STEPS_PER_CALL = 20_000_000


def labels_in_order(order: IntArray, starts: IntArray) -> IntArray:
    """The group of each record, from the order of the records and the positions at which groups start.

    >>> labels_in_order(np.array([2, 0, 1]), np.array([0, 1])).tolist()
    [1, 1, 0]
    """
    labels = np.empty(len(order), dtype=np.int64)
    labels[order] = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(order))))
    return labels


def spread_within(rows: FloatArray, labels: IntArray) -> float:
    """The sum of squared distances of the rows of an (n, d) matrix to the means of their groups (SSE)."""
    sizes = np.bincount(labels)
    means = np.column_stack([np.bincount(labels, weights=column) / sizes for column in rows.T])
    return float(((rows - means[labels]) ** 2).sum())


# Fixed sizes


def fixed_groups(
    values: FloatArray, k: int, remainder: Remainder = "last", direction: Direction = "ascending"
) -> IntArray:
    """Groups of exactly k neighbours; one of them, chosen by `remainder`, also takes the n mod k records left over.

    With "auto" the order is descending when the long tail is at the high end, so that the enlarged last group lies at
    the dense end.

    >>> fixed_groups(np.array([5.0, 1.0, 2.0, 9.0, 3.0]), 2).tolist()
    [1, 0, 0, 1, 1]
    """
    order = np.argsort(-values if _is_descending(values, direction) else values, kind="stable")
    return labels_in_order(order, fixed_starts(values, order, k, remainder))


def _is_descending(values: FloatArray, direction: Direction) -> bool:
    if direction == "auto":
        return bool(((values - values.mean()) ** 3).sum() > 0)
    return direction == "descending"


def fixed_starts(values: FloatArray, order: IntArray, k: int, remainder: Remainder) -> IntArray:
    """Where the groups of k start in an order of the values; the enlarged group shifts those behind it."""
    if len(values) < 2 * k:
        return np.zeros(1, dtype=np.int64)
    return _starts(len(values), k, _enlarged_group(values, order, k, remainder) if len(values) % k else 0)


def starts_of_fixed(count: int, k: int, remainder: Remainder) -> IntArray:
    """The same for at least 2k values, of which no more than their number need be known.

    >>> starts_of_fixed(8, 3, "last").tolist()
    [0, 3]
    """
    return _starts(count, k, _enlarged_by_place(count, k, remainder))


def _starts(count: int, k: int, enlarged: int) -> IntArray:
    groups, left_over = divmod(count, k)
    starts = np.arange(groups) * k
    starts[enlarged + 1 :] += left_over
    return starts


def _enlarged_by_place(count: int, k: int, remainder: Remainder) -> int:
    groups = count // k
    if remainder == "last":
        return groups - 1
    return groups // 2 if remainder == "middle" else min((count - 1) // 2 // k, groups - 1)


def _enlarged_group(values: FloatArray, order: IntArray, k: int, remainder: Remainder) -> int:
    if is_known_by_place(remainder):
        return _enlarged_by_place(len(values), k, remainder)
    if remainder == "best":
        return _cheapest_to_enlarge(values[order], k)
    common = modal_value(values)
    if common is None:
        return _enlarged_by_place(len(values), k, "median")
    return min(int(np.argmax(values[order] == common)) // k, len(values) // k - 1)


def modal_value(values: FloatArray) -> float | None:
    """The most frequent value, the first in the file among equals; None where all values differ."""
    distinct, first, counts = np.unique(values, return_index=True, return_counts=True)
    if counts.max() == 1:
        return None
    common = np.flatnonzero(counts == counts.max())
    return float(distinct[common[np.argmin(first[common])]])


def _cheapest_to_enlarge(ordered: FloatArray, k: int) -> int:
    """The group that takes the records left over at the least sum of squares."""
    groups, left_over = divmod(len(ordered), k)
    before = _squares(ordered[: groups * k].reshape(groups, k))
    behind = _squares(ordered[left_over:].reshape(groups, k))
    enlarged = _squares(np.lib.stride_tricks.sliding_window_view(ordered, k + left_over)[::k])
    total = np.concatenate([[0.0], np.cumsum(before)[:-1]]) + enlarged
    total += np.concatenate([np.cumsum(behind[::-1])[::-1][1:], [0.0]])
    return int(np.argmin(total))


def _squares(windows: FloatArray) -> FloatArray:
    return np.asarray(((windows - windows.mean(axis=1, keepdims=True)) ** 2).sum(axis=1))


# Least sum of squares: the shortest path of Hansen and Mukherjee


def optimal_groups(
    score: FloatArray,
    k: int,
    rows: FloatArray | None = None,
    progress: Progress = silent,
    label: str = "grouping",
) -> IntArray:
    """The groups of k to 2k-1 neighbours on the score with the least sum of squares, in O(n k d).

    The squares are those of the score, or of the (n, d) `rows` where given: then the score only makes the order. Among
    equal sums the smaller last group wins.

    >>> optimal_groups(np.array([1.0, 2, 3, 6, 7, 8, 9]), 2).tolist()
    [0, 0, 0, 1, 1, 2, 2]
    """
    order = np.argsort(score, kind="stable")
    rows = score[:, None] if rows is None else rows
    stride = max(1, _STEPS_PER_CALL // (2 * k * rows.shape[1]))
    some = (rows[order[first : first + stride]] for first in range(0, len(order), stride))
    return labels_in_order(order, optimal_starts(some, len(order), k, progress, label))


def optimal_starts(
    ordered: Iterable[FloatArray], count: int, k: int, progress: Progress = silent, label: str = "grouping"
) -> IntArray:
    """Where these groups start among so many rows, which come in their order, some after the other.

    A group has no more than 2k-1 rows, so the rows and paths before these are not looked at again.
    """
    last = np.zeros(count + 1, dtype=np.int32)
    rows, best, done = None, np.zeros(1), 0
    for more in ordered:
        kept = min(done, 2 * k - 1)
        rows = np.ascontiguousarray(more if rows is None else np.concatenate([rows[len(rows) - kept :], more]))
        best = np.concatenate([best[len(best) - kept - 1 :], np.full(len(more), np.inf)])
        _extend_paths(rows, k, best, last[done - kept : done + len(more) + 1], kept + 1, len(rows) + 1)
        done += len(more)
        progress(done / count, label)
    return _path(last)


@kernel(steps=lambda rows, k, *others: 15 * k * rows.size)
def _extend_paths(rows: FloatArray, k: int, best: FloatArray, last: ShortArray, start: int, stop: int) -> None:
    """The cheapest partition of the rows up to each end, and the size of its last group.

    Sums are taken relative to the group's own last row: prefix sums over the file would drown the small sums of squares
    of close neighbours in the rounding of the large ones.
    """
    d = rows.shape[1]
    sums = np.empty(d)
    for end in range(start, stop):
        sums[:] = 0.0
        squares = 0.0
        for size in range(1, min(2 * k - 1, end) + 1):
            centre = 0.0
            for j in range(d):
                away = rows[end - size, j] - rows[end - 1, j]
                squares += away * away
                sums[j] += away
                centre += sums[j] * sums[j]
            if size >= k:
                cost = best[end - size] + max(0.0, squares - centre / size)
                if cost < best[end]:
                    best[end] = cost
                    last[end] = size


@kernel(steps=lambda last: 2 * len(last))
def _path(last: ShortArray) -> IntArray:
    """Where the groups start, read back from the sizes of the last groups."""
    groups, end = 0, last.shape[0] - 1
    while end > 0:
        end -= last[end]
        groups += 1
    starts = np.empty(groups, dtype=np.int64)
    end = last.shape[0] - 1
    while end > 0:
        end -= last[end]
        groups -= 1
        starts[groups] = end
    return starts


# Least width: the sum over the groups of (largest - smallest)


def width_split_groups(values: FloatArray, k: int) -> IntArray:
    """Cut at the widest gap that leaves k records on both sides, and the same in each part, while there is one.

    Taking the gaps from the widest down and passing over those with a cut nearer than k comes to the same.

    >>> width_split_groups(np.array([1.0, 2.0, 9.0, 10.0, 11.0]), 2).tolist()
    [0, 0, 1, 1, 1]
    """
    order = np.argsort(values, kind="stable")
    gaps = np.diff(values[order])
    cuts = _cuts_at_wide_gaps(np.argsort(-gaps, kind="stable") + 1, len(values), k)
    return labels_in_order(order, np.flatnonzero(cuts))


@kernel
def _cuts_at_wide_gaps(candidates: IntArray, n: int, k: int) -> BoolArray:
    cuts = np.zeros(n, dtype=np.bool_)
    closed = np.zeros(n + 1, dtype=np.bool_)
    cuts[0] = True
    closed[: min(k, n)] = True
    closed[max(0, n - k + 1) :] = True
    for cut in candidates:
        if not closed[cut]:
            cuts[cut] = True
            closed[max(0, cut - k + 1) : cut + k] = True
    return cuts


def least_width_groups(values: FloatArray, k: int) -> IntArray:
    """The groups of at least k neighbours with the least total width; among equals the most groups.

    >>> least_width_groups(np.array([1.0, 2.0, 9.0, 10.0, 11.0]), 2).tolist()
    [0, 0, 1, 1, 1]
    """
    order = np.argsort(values, kind="stable")
    return labels_in_order(order, _path(_widest_cuts(values[order], k)))


@kernel
def _widest_cuts(ordered: FloatArray, k: int) -> ShortArray:
    """For each end the size of the last group, in the partition whose cuts go through the widest gaps in total.

    A cut that gains nothing is still made: the number of groups decides among equals, so none reaches 2k.
    """
    n = ordered.shape[0]
    gained, groups = np.full(n + 1, -np.inf), np.zeros(n + 1, dtype=np.int64)
    last = np.zeros(n + 1, dtype=np.int32)
    best_gain, best_groups, best_cut = 0.0, 0, 0
    for end in range(k, n + 1):
        cut = end - k
        if cut >= k:
            gain = gained[cut] + (ordered[cut] - ordered[cut - 1])
            if gain > best_gain or (gain == best_gain and groups[cut] > best_groups):
                best_gain, best_groups, best_cut = gain, groups[cut], cut
        gained[end], groups[end], last[end] = best_gain, best_groups + 1, end - best_cut
    return last


# Evolution


@dataclass(frozen=True)
class Evolution:
    """How a population of partitions evolves; a mutation rate of None means one bit in each."""

    population: int = 50
    generations: int = 500
    patience: int = 50
    crossover: float = 0.8
    mutation: float | None = None
    fitness: Fitness = "retained"


def evolved_groups(
    values: FloatArray,
    k: int,
    evolution: Evolution,
    rng: np.random.Generator,
    progress: Progress = silent,
    label: str = "evolving",
) -> IntArray:
    """The best partition a genetic algorithm finds; an individual has a bit for each value in order: starts a group.

    Roulette selection, one-point crossover, bit mutation, repair to groups of k to 2k-1; the best one always stays.
    """
    order = np.argsort(values, kind="stable")
    ordered, n = np.ascontiguousarray(values[order]), len(values)
    total = float(((ordered - ordered.mean()) ** 2).sum())
    bits = rng.random((evolution.population, n)) < 1.0 / (1.5 * k)
    losses = _repaired_losses(bits, ordered, k)
    best, least, idle = bits[np.argmin(losses)].copy(), float(losses.min()), 0
    for generation in range(evolution.generations):
        progress(generation / evolution.generations, label)
        bits = _offspring(bits, losses, total, evolution, rng)
        losses = _repaired_losses(bits, ordered, k)
        bits[0], losses[0] = (best, least) if losses[0] > least else (bits[0], losses[0])
        idle = 0 if losses.min() < least else idle + 1
        if idle == 0:
            best, least = bits[np.argmin(losses)].copy(), float(losses.min())
        if idle >= evolution.patience:
            break
    progress(1.0, label)
    return labels_in_order(order, np.flatnonzero(best))


def _offspring(
    bits: BoolArray, losses: FloatArray, total: float, evolution: Evolution, rng: np.random.Generator
) -> BoolArray:
    count, n = bits.shape
    fitness = np.maximum(total - losses, 0.0) if evolution.fitness == "retained" else 1.0 / np.maximum(losses, 1e-300)
    wheel = np.cumsum(fitness / fitness.max()) if fitness.max() > 0 else np.arange(1.0, count + 1)
    parents = np.searchsorted(wheel, rng.random((2, count)) * wheel[-1], side="right").clip(max=count - 1)
    points = np.where(rng.random(count) < evolution.crossover, rng.integers(1, n, count), n)
    children: BoolArray = np.where(np.arange(n) < points[:, None], bits[parents[0]], bits[parents[1]])
    rate = 1.0 / n if evolution.mutation is None else evolution.mutation
    flips = np.asarray(rng.binomial(n, rate, count))
    for child in range(count):
        positions = rng.integers(0, n, flips[child])
        children[child, positions] = ~children[child, positions]
    return children


@kernel
def _repaired_losses(bits: BoolArray, ordered: FloatArray, k: int) -> FloatArray:
    """Repair each individual in place and return the sums of squares within its groups."""
    count, n = bits.shape
    losses = np.zeros(count)
    for individual in range(count):
        starts = bits[individual]
        _repair(starts, k)
        first, total, squares = 0, 0.0, 0.0
        for position in range(n):
            if position > first and starts[position]:
                losses[individual] += max(0.0, squares - total * total / (position - first))
                first, total, squares = position, 0.0, 0.0
            away = ordered[position] - ordered[first]
            total += away
            squares += away * away
        losses[individual] += max(0.0, squares - total * total / (n - first))
    return losses


@kernel
def _repair(starts: BoolArray, k: int) -> None:
    """No start before k values, one after 2k-1 at the latest; a tail too short joins, and is cut if that makes 2k."""
    n = starts.shape[0]
    starts[0] = True
    first = 0
    for position in range(1, n):
        size = position - first
        starts[position] = n - position >= k and (size >= 2 * k - 1 or (size >= k and starts[position]))
        if starts[position]:
            first = position
    if n - first >= 2 * k:
        starts[n - k] = True
