"""MDAV on all threads: the same partition, with most searches made ahead, side by side.

Which records will be seeds can be guessed for some rounds: those that are farthest from the centre now, and those
farthest from them. For these, all threads list the nearest records and the few farthest ones; then one thread makes the
groups. As records only ever leave, a list of the nearest holds until one of its records is grouped, and the farthest
record left is the first of its list that is not grouped. Where there is no list, or none that holds, the search is made
at once. So every group is the one that `mdav_leaves` makes alone; a guess only decides when and where a search is made.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from microveil.numerics.core.compiled import kernel
from microveil.numerics.grouping.leaves import (
    Leaves,
    close_around,
    close_group_in_leaves,
    farthest_from,
    farthest_from_centre,
    farthest_in_leaves,
    move_point,
    nearest_in_leaves,
    outermost,
    with_own_room,
)
from microveil.typing import FloatArray, IntArray

_FEWEST, _USUAL, _MOST = 16, 64, 128  # so many records are taken for the next first seeds
_FARTHEST = 2
_SEARCHES_PER_CALL = 8
_ROWS = 8 * _MOST


class Lists(NamedTuple):
    """The searches made ahead: in each row a record's `nearest`, itself the first, and `farthest` ones, -1 where none.

    `rows` has the row of every record, -1 if it has none, and `owners` the record of every row. `near_wanted` and
    `far_wanted` have the rows in which these searches are to be made, as many as the kernels are told. `guessed` has
    the last turn in which a record was guessed to be grouped.
    """

    nearest: IntArray
    farthest: IntArray
    rows: IntArray
    owners: IntArray
    near_wanted: IntArray
    far_wanted: IntArray
    guessed: IntArray


class Ahead:
    """Makes groups from leaves with the threads of a pool, of which the caller's is one more."""

    def __init__(self, labels: IntArray, k: int, enough: int, pool: ThreadPoolExecutor, helpers: int) -> None:
        self.labels, self.k, self.enough = labels, k, enough
        self.pool, self.helpers = pool, helpers
        self.turn, self.candidates = 0, _USUAL
        row = np.full(_ROWS, -1)
        self.lists = Lists(
            np.full((_ROWS, k), -1), np.full((_ROWS, _FARTHEST), -1), np.full(len(labels), -1), row,
            row.copy(), row.copy(), np.full(len(labels), -1),
        )  # fmt: skip

    def group_some(self, leaves: Leaves, size: int, groups: int, pairs: int) -> tuple[int, int, int]:
        """Up to `pairs` rounds; how many records are left, how many groups there are, and how many rounds are not made.

        Where most guesses fail, as among many equal records, the rest of the rounds are left to the caller.
        """
        rooms = [with_own_room(leaves) for _ in range(self.helpers)]
        spent = 0
        if np.isnan(leaves.anchor[0]):
            farthest_from_centre(leaves, size, True)  # sets the bounds of new leaves
        while pairs > 0 and size >= self.enough:
            self.turn += 1
            seeds = np.empty(self.candidates, dtype=np.int64)
            found, near, far = _want_first(leaves, self.lists, self.labels, size, seeds)
            self._search(leaves, rooms, near, far)
            near = _want_second(self.lists, self.labels, seeds, found, self.turn)
            self._search(leaves, rooms, near, 0)
            before = groups
            size, groups, rounds, missed, spent = _group_listed(
                leaves, self.lists, self.labels, size, groups, self.k, self.enough, pairs, spent
            )
            pairs -= rounds
            if missed * 2 > groups - before and self.candidates == _FEWEST:
                break
            if missed * 8 > groups - before:
                self.candidates = max(_FEWEST, self.candidates // 2)
            elif missed * 32 < groups - before:
                self.candidates = min(_MOST, self.candidates * 2)
        return size, groups, pairs

    def _search(self, leaves: Leaves, rooms: list[Leaves], near: int, far: int) -> None:
        """All threads take searches from one pile, so that none waits for another that has not even begun."""
        pile = deque(range(0, near + far, _SEARCHES_PER_CALL))

        def take(room: Leaves) -> None:
            while True:
                try:
                    start = pile.popleft()
                except IndexError:
                    return
                _fill(room, self.lists, near, far, start)

        others = [self.pool.submit(take, room) for room in rooms]
        take(leaves)
        for other in others:
            if not other.cancel():
                other.result()


@kernel
def _want_first(leaves: Leaves, lists: Lists, labels: IntArray, size: int, seeds: IntArray) -> tuple[int, int, int]:
    """Fill `seeds` with the outermost records, the likely first seeds of the next rounds; how many there are, and how
    many searches for the nearest and for the farthest records they want."""
    found, near, far = outermost(leaves, size, seeds, np.empty(len(seeds))), 0, 0
    _forget(lists, labels, 3 * len(seeds))
    free = 0
    for i in range(found):
        row, free = _row(lists, seeds[i], free)
        near = _want_nearest(lists, labels, row, near)
        if _farthest_listed(lists, labels, row) < 0:
            lists.farthest[row, 0] = -1
            lists.far_wanted[far] = row
            far += 1
    return found, near, far


@kernel
def _want_second(lists: Lists, labels: IntArray, seeds: IntArray, found: int, turn: int) -> int:
    """Follow the rounds in what is listed; how many searches for the nearest records the second seeds want."""
    near, free, guessed = 0, 0, lists.guessed
    for i in range(found):
        if guessed[seeds[i]] == turn:
            continue
        row = lists.rows[seeds[i]]
        _guess_group(lists, row, turn)
        for second in lists.farthest[row]:
            if second >= 0 and labels[second] < 0 and guessed[second] != turn:
                at, free = _row(lists, second, free)
                guessed[second] = turn
                near = _want_nearest(lists, labels, at, near)
                _guess_group(lists, at, turn)
                break
    return near


@kernel
def _guess_group(lists: Lists, row: int, turn: int) -> None:
    for member in lists.nearest[row]:
        if member >= 0:
            lists.guessed[member] = turn


@kernel
def _want_nearest(lists: Lists, labels: IntArray, row: int, near: int) -> int:
    """Have the nearest records of a row searched, unless its list holds; how many such searches are wanted now."""
    if _holds(lists, labels, row):
        return near
    lists.nearest[row, 0] = -1
    lists.near_wanted[near] = row
    return near + 1


@kernel
def _forget(lists: Lists, labels: IntArray, wanted: int) -> None:
    """Free the rows of records that are grouped, and all rows if fewer than are wanted would be free."""
    owners, free = lists.owners, 0
    for row in range(len(owners)):
        if owners[row] >= 0 and labels[owners[row]] >= 0:
            lists.rows[owners[row]] = -1
            owners[row] = -1
        free += owners[row] < 0
    if free < wanted:
        for row in range(len(owners)):
            if owners[row] >= 0:
                lists.rows[owners[row]] = -1
                owners[row] = -1


@kernel
def _row(lists: Lists, record: int, free: int) -> tuple[int, int]:
    """The row of a record, one that is free if it has none; no row before the second that is returned is free."""
    row = lists.rows[record]
    if row >= 0:
        return row, free
    while lists.owners[free] >= 0:
        free += 1
    lists.rows[record], lists.owners[free] = free, record
    lists.nearest[free, :] = -1
    lists.farthest[free, :] = -1
    return free, free


@kernel
def _fill(leaves: Leaves, lists: Lists, near: int, far: int, start: int) -> None:
    """Make a few of the searches that are wanted, from `start` on: those for the nearest records come first."""
    columns = leaves.columns
    members, others = np.empty(lists.nearest.shape[1], dtype=np.int64), np.empty(_FARTHEST, dtype=np.int64)
    squares, most = np.empty(len(members)), np.empty(_FARTHEST)
    for i in range(start, min(start + _SEARCHES_PER_CALL, near + far)):
        row = lists.near_wanted[i] if i < near else lists.far_wanted[i - near]
        move_point(leaves, columns[lists.owners[row]])
        if i < near:
            nearest_in_leaves(leaves, lists.owners[row], members, squares)
            lists.nearest[row, :] = members
        else:
            others[:] = -1
            farthest_in_leaves(leaves, lists.owners[row], others, most)
            lists.farthest[row, :] = others


@kernel
def _holds(lists: Lists, labels: IntArray, row: int) -> bool:
    """Whether a row lists nearest records none of which is grouped."""
    if lists.nearest[row, 0] < 0:
        return False
    for member in lists.nearest[row]:  # noqa: SIM110 - numba compiles a loop, not a generator
        if labels[member] >= 0:
            return False
    return True


@kernel
def _farthest_listed(lists: Lists, labels: IntArray, row: int) -> int:
    """The farthest record that is left, -1 if the list of the row does not tell it."""
    for record in lists.farthest[row]:
        if record < 0:
            return -1
        if labels[record] < 0:
            return int(record)
    return -1


@kernel
def _group_listed(
    leaves: Leaves,
    lists: Lists,
    labels: IntArray,
    size: int,
    groups: int,
    k: int,
    enough: int,
    pairs: int,
    spent: int,
) -> tuple[int, int, int, int, int]:
    """Rounds as in `mdav_leaves`, at least one, until a first seed has no row.

    How many records are left, how many groups there are, how many rounds and how many searches that were not made ahead
    it took, and how many records were tried for the centre since its bounds were renewed.
    """
    members, near = np.empty(k, dtype=np.int64), np.empty(k)
    rounds, missed = 0, 0
    while rounds < pairs and size >= enough:
        first, tried = farthest_from_centre(leaves, size, spent >= size)
        spent = 0 if tried < 0 else spent + tried
        row = lists.rows[first]
        if rounds > 0 and row < 0:
            break
        rounds += 1
        size, missed = _close_listed(leaves, lists, labels, first, members, near, size, groups, missed)
        groups += 1
        if size < enough:
            break  # the second seed of the pair is not used
        second = _farthest_listed(lists, labels, row) if row >= 0 else -1
        if second < 0:
            missed += 1
            move_point(leaves, leaves.columns[first])
            second = farthest_from(leaves, first)
        size, missed = _close_listed(leaves, lists, labels, second, members, near, size, groups, missed)
        groups += 1
    return size, groups, rounds, missed, spent


@kernel
def _close_listed(
    leaves: Leaves,
    lists: Lists,
    labels: IntArray,
    seed: int,
    members: IntArray,
    near: FloatArray,
    size: int,
    group: int,
    missed: int,
) -> tuple[int, int]:
    """A group of a record and its k-1 nearest; how many records are left, and how many searches were not made ahead."""
    row = lists.rows[seed]
    if row >= 0 and _holds(lists, labels, row):
        return close_group_in_leaves(leaves, labels, lists.nearest[row], size, group), missed
    return close_around(leaves, labels, seed, members, near, size, group), missed + 1
