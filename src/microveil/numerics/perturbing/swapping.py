"""Exchanging positions of a sorted column.

Positions are taken in ascending order and exchanged at most once, so the partner of a position always lies above it.
The free positions are counted in a Fenwick tree: a draw among them costs O(log n) whatever the window. Where no
exchange goes farther than a window, what is behind a position is settled, so a long column is worked on range by range,
each with the positions that can be reached from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from microveil.numerics.core.compiled import kernel
from microveil.numerics.core.ordering import positions_in
from microveil.typing import BoolArray, FloatArray, IntArray, ShortArray

Draw = Callable[[range], FloatArray]  # the random numbers of some consecutive positions

_RANGE = 2**20  # positions that are exchanged at a time, unless the window is wider
_TRIES = 64  # draws that may hit a full bucket before all those with room are weighed


def swap_partners(window: int, draws: FloatArray) -> IntArray:
    """Pair the positions 0..n-1: each free position i with one drawn from the free ones among i+1..i+window."""
    found = partners_by_range(window, len(draws), lambda positions: draws[positions.start : positions.stop])
    return np.concatenate([np.zeros(0, dtype=np.int64), *found])


def partners_by_range(window: int, count: int, draw: Draw) -> Iterator[IntArray]:
    """The same for so many positions, some after the other."""
    moves = np.zeros(0, dtype=np.int64)
    for positions in _ranges(window, count):
        reached = min(count, positions.stop + window) - positions.start
        moves = np.concatenate([moves, np.zeros(reached - len(moves), dtype=np.int64)])
        _pair(window, draw(positions), moves)
        yield np.arange(positions.start, positions.stop) + moves[: len(positions)]
        moves = moves[len(positions) :]


def holdings_by_range(window: int, count: int, draw: Draw) -> Iterator[IntArray]:
    """Every position in turn exchanges what it holds with one drawn from i+1..i+window, exchanged before or not.

    Gives what each position holds in the end, some after the other: it can come from anywhere below.
    """
    holds = np.zeros(0, dtype=np.int64)
    for positions in _ranges(window, count):
        reached = min(count, positions.stop + window)
        holds = np.concatenate([holds, np.arange(positions.start + len(holds), reached)])
        _exchange_in_turn(window, draw(positions), holds)
        yield holds[: len(positions)]
        holds = holds[len(positions) :]


def _ranges(window: int, count: int) -> Iterator[range]:
    """Ranges at least as long as the window, so that no more than twice as many positions are at hand."""
    size = max(_RANGE, window)
    return (range(first, min(count, first + size)) for first in range(0, count, size))


@kernel(steps=lambda window, draws, moves: 2 * len(moves) * len(moves).bit_length())
def _pair(window: int, draws: FloatArray, moves: IntArray) -> None:
    """Pair the first positions with others: `moves` is by how many positions each is moved, 0 where it is free."""
    n = moves.shape[0]
    tree, top = _free_ones(moves == 0)
    for i in range(draws.shape[0]):
        if moves[i] != 0:
            continue
        _take(tree, i)  # with it, nothing up to i is free any more
        choices = _free_up_to(tree, min(n - 1, i + window))
        if choices == 0:
            continue
        wanted = min(int(draws[i] * choices), choices - 1) + 1
        chosen = _position_of(tree, wanted, top)
        moves[i], moves[chosen] = chosen - i, i - chosen
        _take(tree, chosen)


@kernel(steps=lambda window, draws, holds: 4 * len(draws))
def _exchange_in_turn(window: int, draws: FloatArray, holds: IntArray) -> None:
    n = holds.shape[0]
    for i in range(draws.shape[0]):
        choices = min(n - 1, i + window) - i
        if choices > 0:
            chosen = i + 1 + min(int(draws[i] * choices), choices - 1)
            holds[i], holds[chosen] = holds[chosen], holds[i]


def swap_between_buckets(
    starts: IntArray | ShortArray,
    shares: FloatArray,
    rest_to_last: bool,
    by_room: bool,
    nearest: bool,
    rng: np.random.Generator,
) -> IntArray:
    """Pair the positions 0..n-1 of consecutive buckets: each free one with a free one, uniform in a drawn bucket.

    Bucket b holds starts[b] <= position < starts[b + 1], and shares[d] is the probability of the bucket d farther on.
    What the shares lack to 1 goes to the last bucket, or they are taken in proportion. A bucket without a free position
    above is drawn again; `by_room`, one is kept only with the share of its positions above that are free, as if any
    position of it were drawn and bucket and position drawn again when that is taken. Where no bucket with a share has
    room, a position takes one of the nearest bucket with room, or stays.
    """
    up_to = np.cumsum(shares)
    del shares  # a column may be long
    if not rest_to_last:  # beyond where they no longer grow there is nothing to draw
        up_to = up_to[: int(np.searchsorted(up_to, up_to[-1])) + 1].copy()
    partner = _pair_between_buckets(starts.astype(np.int32, copy=False), up_to, rest_to_last, by_room, nearest, rng)
    return partner.astype(np.int64)


@kernel
def _pair_between_buckets(
    starts: ShortArray, up_to: FloatArray, rest_to_last: bool, by_room: bool, nearest: bool, rng: np.random.Generator
) -> ShortArray:
    buckets, n = starts.shape[0] - 1, starts[-1]
    partner = np.arange(n).astype(np.int32)
    tree, top = _free_ones(np.ones(n, dtype=np.bool_))
    following = np.arange(buckets + 1).astype(np.int32)
    free, above = np.empty(buckets, dtype=np.int32), np.empty(buckets, dtype=np.int32)
    for bucket in range(buckets):
        free[bucket] = starts[bucket + 1] - starts[bucket]
        above[bucket] = free[bucket]  # positions of a bucket above the one at hand, free or not
    own = 0
    for i in range(n):
        while i >= starts[own + 1]:
            own += 1
        above[own] -= 1
        if partner[i] != i:
            continue
        _take(tree, i)
        _leave(free, following, own)
        bucket = _draw_bucket(free, above if by_room else free, following, up_to, own, rest_to_last, rng)
        if bucket < 0 and nearest:
            bucket = _with_room(following, own)
        if bucket < 0 or bucket == buckets:
            continue
        if starts[bucket + 1] - starts[bucket] == 1:
            chosen = starts[bucket]
        else:
            wanted = _free_up_to(tree, starts[bucket] - 1) + int(rng.random() * free[bucket]) + 1
            chosen = _position_of(tree, wanted, top)
        partner[i], partner[chosen] = chosen, i
        _take(tree, chosen)
        _leave(free, following, bucket)
    return partner


@kernel
def _draw_bucket(
    free: ShortArray,
    room: ShortArray,
    following: ShortArray,
    up_to: FloatArray,
    own: int,
    rest_to_last: bool,
    rng: np.random.Generator,
) -> int:
    """A bucket drawn by its share, times that of its room which is free; -1 where none has both."""
    last, farthest = len(free) - 1, len(up_to) - 1
    reach = min(last - own, farthest)
    total = 1.0 if rest_to_last else up_to[reach]
    if total > 0.0:
        for _ in range(_TRIES):
            bucket = own + min(int(np.searchsorted(up_to[: reach + 1], rng.random() * total, side="right")), reach)
            if free[bucket] > 0 and (free[bucket] == room[bucket] or rng.random() * room[bucket] < free[bucket]):
                return bucket
    weight, chosen = 0.0, -1
    bucket = _with_room(following, own)
    while bucket <= last:
        below = up_to[min(bucket - own - 1, farthest)] if bucket > own else 0.0
        if not rest_to_last and below >= up_to[-1]:
            break  # no share from here on
        share = total - below if rest_to_last and bucket == last else up_to[min(bucket - own, farthest)] - below
        share = max(share, 0.0) * free[bucket] / room[bucket]
        weight += share
        # each takes the place of those before it with its part of the weight so far
        if rng.random() * weight < share:
            chosen = bucket
        bucket = _with_room(following, bucket + 1)
    return chosen


@kernel
def _leave(free: ShortArray, following: ShortArray, bucket: int) -> None:
    free[bucket] -= 1
    if free[bucket] == 0:
        following[bucket] = bucket + 1


@kernel
def _with_room(following: ShortArray, bucket: int) -> int:
    """The first bucket from here on that has room; the number of buckets when there is none."""
    found = bucket
    while following[found] != found:
        found = following[found]
    while following[bucket] != found and bucket != found:
        following[bucket], bucket = found, following[bucket]
    return found


@kernel
def _free_ones(free: BoolArray) -> tuple[ShortArray, int]:
    """A Fenwick tree over positions of which some are free, and the greatest power of two up to their number."""
    n = free.shape[0]
    tree = np.zeros(n + 1, dtype=np.int32)
    for i in range(1, n + 1):
        tree[i] += free[i - 1]
        above = i + (i & -i)
        if above <= n:
            tree[above] += tree[i]
    top = 1
    while top * 2 <= n:
        top *= 2
    return tree, top


@kernel
def _take(tree: ShortArray, position: int) -> None:
    i = position + 1
    while i < tree.shape[0]:
        tree[i] -= 1
        i += i & -i


@kernel
def _free_up_to(tree: ShortArray, position: int) -> int:
    i, free = position + 1, 0
    while i > 0:
        free += tree[i]
        i -= i & -i
    return free


@kernel
def _position_of(tree: ShortArray, wanted: int, top: int) -> int:
    """The position of the wanted-th free one, counted from 1."""
    index, step = 0, top
    while step > 0:
        if index + step < tree.shape[0] and tree[index + step] < wanted:
            index += step
            wanted -= tree[index]
        step //= 2
    return index


def is_valid_rank_swap(before: npt.ArrayLike, after: npt.ArrayLike, window: int) -> bool:
    """Whether one column can come from the other by exchanges in pairs of values at most `window` ranks apart.

    Equal values may stand in any order, so the question is whether some order of them allows it. The best one sorts
    them by what they become: whoever exchanges with a far higher value stands highest. Of a table, every column must
    be valid; NaN must stay in place.

    >>> is_valid_rank_swap([10, 20, 30, 40], [20, 10, 40, 30], 1), is_valid_rank_swap([10, 20, 30], [30, 20, 10], 1)
    (True, False)
    """
    one, other = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    if one.shape != other.shape:
        return False
    if one.ndim > 1:
        return all(is_valid_rank_swap(a, b, window) for a, b in zip(one.T, other.T, strict=True))
    if (np.isnan(one) != np.isnan(other)).any():
        return False
    one, other = one[~np.isnan(one)], other[~np.isnan(other)]
    order, partners = np.lexsort((other, one)), np.lexsort((one, other))
    if (one[order] != other[partners]).any() or (other[order] != one[partners]).any():
        return False  # somebody's value was not given in exchange for the other's
    rank = positions_in(order)
    return bool((np.abs(rank[order] - rank[partners]) <= window).all())
