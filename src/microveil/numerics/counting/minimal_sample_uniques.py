"""Minimal sample uniques: the smallest sets of attributes on which a record agrees with no other.

Sets of attributes are visited in the order of the binary numbers that have a bit for each attribute, so that every
subset comes before the sets that contain it, and one is minimal for a record if no set found for it before lies in it.
Each set refines the groups of records that agree on the set without its lowest attribute. A record that is alone needs
no further attribute and can agree with nobody else, so it leaves; so do groups in which no record is to be found, and
the work dies away long before all attributes are used (the idea of Manning, Haglin and Keane (2008)).

A wildcard (-1) agrees with every code, which groups cannot say. No set that is minimal for a record holds an attribute
in which it has a wildcard itself, for this attribute tells it from nobody; so such records leave the groups there. That
others agree with them nevertheless is kept as the largest sets of attributes on which they do.
"""

from __future__ import annotations

from math import comb

import numpy as np

from microveil.numerics.core.compiled import kernel
from microveil.numerics.counting.distinct_rows import number_rows
from microveil.progress import Progress, silent
from microveil.typing import BoolArray, IntArray, ShortArray

_MOST_SETS = 10_000
_FEW = 1024
_WORTH_COLLAPSING = 2  # with fewer lower attributes it is as much work as what it saves


def usual_size(attributes: int) -> int:
    """The largest size of which all sets, and all smaller ones, are tried: every size for up to 13 attributes.

    >>> usual_size(7), usual_size(20), usual_size(48)
    (7, 4, 2)
    """
    size, sets = 0, 0
    while size < attributes and sets + comb(attributes, size + 1) <= _MOST_SETS:
        size += 1
        sets += comb(attributes, size)
    return max(1, size)


def minimal_sample_uniques(
    codes: IntArray, wanted: BoolArray, size: int, progress: Progress = silent, label: str = ""
) -> tuple[IntArray, IntArray]:
    """Every minimal sample unique of at most `size` attributes: the row that has it, and its attributes as bits.

    Rows may be equal; those `wanted` agree with no other row on all columns together.

    >>> rows, sets = minimal_sample_uniques(np.array([[0, 0], [0, 1], [1, 0]]), np.array([True, True, True]), 2)
    >>> list(zip(rows.tolist(), sets.tolist()))
    [(2, 1), (1, 2), (0, 3)]
    """
    n, attributes = codes.shape
    categories = codes.max(axis=0, initial=-1) + 1
    order = np.argsort(categories, kind="stable")  # most sets hold the finest attribute, which leaves fewest together
    columns = np.ascontiguousarray(codes[:, order].T.astype(np.int32))
    first, largest = _agreeing_with_wildcards(columns, wanted, np.flatnonzero((codes < 0).any(axis=1)))
    lower = np.zeros((attributes, n), dtype=np.int32)  # the combination of the attributes below each one
    for top in range(1, attributes):
        lower[top] = number_rows([lower[top - 1].astype(np.int64), columns[top - 1].astype(np.int64) + 1])[0]
    head = np.full(n, -1, dtype=np.int64)
    found = np.empty((_FEW, 3), dtype=np.int64)  # row, set, the one found for the row before
    count, most = 0, int(categories.max(initial=1))
    for top in range(attributes):
        count, found = _with_highest(top, size, columns, lower, wanted, most, first, largest, head, found, count)
        progress(2.0 ** (top + 1 - attributes), label)
    rows, sets = found[:count, 0].copy(), found[:count, 1]
    bits = np.zeros(count, dtype=np.int64)
    for place, attribute in enumerate(order):
        bits |= ((sets >> place) & 1) << int(attribute)
    return rows, bits


@kernel
def _agreeing_with_wildcards(columns: ShortArray, wanted: BoolArray, wild: IntArray) -> tuple[IntArray, IntArray]:
    """For each wanted row the largest sets of attributes on which it agrees with some row that has wildcards, one
    after the other; those of row i begin at the i-th of the starts."""
    attributes, n = columns.shape
    first = np.zeros(n + 1, dtype=np.int64)
    kept, count = np.empty(max(1, len(wild)), dtype=np.int64), 0
    for i in range(n):
        first[i] = count
        if not wanted[i]:
            continue
        for j in wild:
            if j == i:
                continue
            agreed = 0
            for a in range(attributes):
                if columns[a, i] == columns[a, j] or columns[a, i] < 0 or columns[a, j] < 0:
                    agreed |= 1 << a
            covered = False
            for k in range(first[i], count):
                if agreed & ~kept[k] == 0:
                    covered = True
                    kept[first[i]], kept[k] = kept[k], kept[first[i]]  # it will soon cover the next one
                    break
            if covered:
                continue
            end = first[i]
            for k in range(first[i], count):
                if kept[k] & ~agreed != 0:
                    kept[end] = kept[k]
                    end += 1
            if end == len(kept):
                longer = np.empty(2 * end, dtype=np.int64)
                longer[:end] = kept
                kept = longer
            kept[end] = agreed
            count = end + 1
    first[n] = count
    return first, kept[:count].copy()


@kernel
def _lies_in(chosen: int, row: int, head: IntArray, found: IntArray) -> bool:
    """Whether a set that was found for the row lies in this one."""
    at = head[row]
    while at >= 0:
        if found[at, 1] & ~chosen == 0:
            return True
        at = found[at, 2]
    return False


@kernel
def _some_agree(chosen: int, row: int, first: IntArray, largest: IntArray) -> bool:
    """Whether a record with wildcards agrees with the row on this set."""
    for k in range(first[row], first[row + 1]):  # noqa: SIM110 - a plain loop is what the compiler makes fast
        if chosen & ~largest[k] == 0:
            return True
    return False


@kernel
def _added(row: int, chosen: int, head: IntArray, found: IntArray, count: int) -> IntArray:
    """The sets found so far and one more, where there is room for it."""
    if count == len(found):
        longer = np.empty((2 * count, 3), dtype=np.int64)
        longer[:count] = found
        found = longer
    found[count, 0], found[count, 1], found[count, 2] = row, chosen, head[row]
    head[row] = count
    return found


@kernel
def _collapsed(members: ShortArray, starts: IntArray, groups: int, lower: ShortArray, times: ShortArray) -> int:
    """Keep one of the rows of a group that have the same lower attributes, which will never be told apart: it stands
    for two or more, so it is not to be found. Groups without a row to be found are left out; how many are kept."""
    kept, filled, begin = 0, 0, 0
    for group in range(groups):
        end = starts[group + 1]
        for at in range(begin, end):
            row = members[at]
            times[lower[row if row >= 0 else ~row]] += 1
        first_filled, to_find = filled, False
        for at in range(begin, end):
            row = members[at]
            combination = lower[row if row >= 0 else ~row]
            if times[combination] > 0:
                alone = times[combination] == 1 and row >= 0
                members[filled] = row if alone or row < 0 else ~row
                filled += 1
                to_find |= alone
                times[combination] = 0
        if to_find:
            kept += 1
            starts[kept] = filled
        else:
            filled = first_filled
        begin = end
    return kept


@kernel
def _with_highest(
    top: int,
    size: int,
    columns: ShortArray,
    lower: ShortArray,
    wanted: BoolArray,
    categories: int,
    first: IntArray,
    largest: IntArray,
    head: IntArray,
    found: IntArray,
    count: int,
) -> tuple[int, IntArray]:
    """Add the minimal sample uniques whose highest attribute is `top`; how many there are now, and all of them."""
    n, depth = columns.shape[1], min(size, top + 1)
    members = np.empty(
        (depth + 1, n), dtype=np.int32
    )  # rows, group after group, for the sets on the way down; ~row is one that is not to be found
    starts = np.zeros((depth + 1, n + 1), dtype=np.int64)
    groups, untried = np.zeros(depth + 1, dtype=np.int64), np.zeros(depth + 1, dtype=np.int64)
    lowest, chosen = np.zeros(depth + 1, dtype=np.int64), np.zeros(depth + 1, dtype=np.int64)
    agreeing, to_find = np.zeros(categories, dtype=np.int32), np.zeros(categories, dtype=np.int32)
    seen, last = np.empty(categories, dtype=np.int32), np.empty(categories, dtype=np.int32)
    place, times = np.empty(categories, dtype=np.int64), np.zeros(n, dtype=np.int32)
    for row in range(n):
        members[0, row] = row if wanted[row] else ~row
    groups[0], starts[0, 1], untried[0], lowest[0] = 1, n, top, top + 1
    level = 0
    while level >= 0:
        attribute, below = untried[level], level + 1
        if level == depth or groups[level] == 0 or attribute == lowest[level]:
            level -= 1
            continue
        untried[level] += 1
        codes, above, goes_on = columns[attribute], members[level], below < depth and attribute > 0
        chosen[below] = chosen[level] | (1 << attribute)
        lowest[below], untried[below] = attribute, 0
        made, filled = 0, 0
        for group in range(groups[level]):
            begin, end = starts[level, group], starts[level, group + 1]
            kinds = 0
            for at in range(begin, end):
                row = above[at]
                code = codes[row if row >= 0 else ~row]
                if code >= 0:
                    if agreeing[code] == 0:
                        seen[kinds] = code
                        kinds += 1
                    agreeing[code] += 1
                    to_find[code] += row >= 0
                    last[code] = row
            filled_before = filled
            for kind in range(kinds):
                code = seen[kind]
                place[code] = -1
                alone = agreeing[code] == 1
                if to_find[code] > 0 and not (alone and _lies_in(chosen[below], last[code], head, found)):
                    if alone and not _some_agree(chosen[below], last[code], first, largest):
                        found = _added(last[code], chosen[below], head, found, count)
                        count += 1
                    elif goes_on:
                        place[code] = filled
                        filled += agreeing[code]
                        made += 1
                        starts[below, made] = filled
                agreeing[code] = to_find[code] = 0
            if filled > filled_before:
                for at in range(begin, end):
                    row = above[at]
                    code = codes[row if row >= 0 else ~row]
                    if code >= 0 and place[code] >= 0:
                        members[below, place[code]] = row
                        place[code] += 1
        if attribute >= _WORTH_COLLAPSING and made > 0:
            made = _collapsed(members[below], starts[below], made, lower[attribute], times)
        groups[below] = made
        level = below
    return count, found
