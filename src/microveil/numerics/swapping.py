"""Exchanging neighbours in a sorted column."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from microveil.numerics.compiled import kernel

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@kernel
def swap_partners(window: int, draws: FloatArray) -> IntArray:
    """Pair the positions 0..n-1: each free position i with one drawn from the free ones among i+1..i+window.

    The free positions are counted in a Fenwick tree, so that a draw costs O(log n) whatever the window.
    """
    n = draws.shape[0]
    partner = np.arange(n)
    tree = np.zeros(n + 1, dtype=np.int64)
    for i in range(1, n + 1):
        tree[i] = i & -i
    top = 1
    while top * 2 <= n:
        top *= 2
    for i in range(n):
        if partner[i] != i:
            continue
        _take(tree, i)  # with it, nothing up to i is free any more
        choices = _free_up_to(tree, min(n - 1, i + window))
        if choices == 0:
            continue
        wanted = min(int(draws[i] * choices), choices - 1) + 1
        chosen = _position_of(tree, wanted, top)
        partner[i], partner[chosen] = chosen, i
        _take(tree, chosen)
    return partner


@kernel
def _take(tree: IntArray, position: int) -> None:
    i = position + 1
    while i < tree.shape[0]:
        tree[i] -= 1
        i += i & -i


@kernel
def _free_up_to(tree: IntArray, position: int) -> int:
    i, free = position + 1, 0
    while i > 0:
        free += tree[i]
        i -= i & -i
    return free


@kernel
def _position_of(tree: IntArray, wanted: int, top: int) -> int:
    """The position of the wanted-th free one, counted from 1."""
    place, step = 0, top
    while step > 0:
        if place + step < tree.shape[0] and tree[place + step] < wanted:
            place += step
            wanted -= tree[place]
        step //= 2
    return place
