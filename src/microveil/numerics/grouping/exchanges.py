"""Exchanges between near groups that lower the loss of a partition: what the searches of `best` are made of.

Four steps, all of which keep every group within k and 2k-1 records: a record goes to another group; two records change
places; a record goes to another group while a third group, which can spare one, fills its place; and groups appear and
vanish: a group is given up where its neighbours can take its records, and one is formed of records that others can
spare. The change of the loss follows from group sums in O(d), and only groups that hold a neighbour of the record are
asked. Records wait in a queue: when groups change, their members are asked again, and nobody else.

Regions of records are searched side by side. A step never leaves its region, so that the result does not depend on the
number of threads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from microveil.numerics.core.compiled import kernel
from microveil.numerics.core.random_bits import StateArray, fraction, whole
from microveil.numerics.grouping.steps import swap_change, swap_sums
from microveil.typing import BoolArray, FloatArray, IntArray

ShortArray = npt.NDArray[
    np.int32
]  # of record and group numbers: what fits into the cache decides how long a step takes

_NO_STEP, _MOVE, _SWAP, _RELAY = 0, 1, 2, 3
_ENDLESS = np.iinfo(np.int64).max
_LONGEST_KICK = 512  # exchanges after a kick; beyond, the kick is taken back

# places among the counts of a region
FREE, _HEAD, _WAITING, TRIED, _ASKED, _DONE = 0, 1, 2, 3, 4, 5


class Groups(NamedTuple):
    """A partition as the kernels work on it: members by group, sizes, slots within the group, sums by group.

    There is room for more groups than there are; those without records have size 0.
    """

    labels: ShortArray
    members: ShortArray
    sizes: ShortArray
    slots: ShortArray
    sums: FloatArray
    seen: IntArray
    queued: BoolArray

    @classmethod
    def of(cls, columns: FloatArray, labels: IntArray, k: int) -> Groups:
        n, used = len(labels), int(labels.max()) + 1
        room = max(used, n // k)
        sizes = np.bincount(labels, minlength=room).astype(np.int32)
        members = np.full((room, 2 * k - 1), -1, dtype=np.int32)
        slots = np.empty(n, dtype=np.int32)
        order = np.argsort(labels, kind="stable")
        slots[order] = np.arange(n) - np.repeat(np.cumsum(sizes, dtype=np.int64) - sizes, sizes)
        members[labels, slots] = np.arange(n)
        sums = np.column_stack([np.bincount(labels, weights=column, minlength=room) for column in columns.T])
        return cls(
            labels.astype(np.int32), members, sizes, slots, np.ascontiguousarray(sums), np.zeros(room, dtype=np.int64),
            np.zeros(n, dtype=np.bool_),
        )  # fmt: skip


class Region(NamedTuple):
    """The records that a search may move, and what it carries along.

    `of_record` numbers the regions. `free` are numbers of groups without records that it may use, `queue` is a ring of
    records to ask. `counts` are how many groups are free, where the queue begins, how many wait, the steps tried, and
    the number of records asked so far. `journal` is what was done since a kick.
    """

    of_record: ShortArray
    own: int
    free: ShortArray
    queue: ShortArray
    journal: ShortArray
    counts: IntArray
    state: StateArray

    @classmethod
    def of(cls, of_record: ShortArray, own: int, size: int, free: IntArray, room: int, k: int, seed: int) -> Region:
        """A region of `size` records, with these free groups and `room` for as many as it will ever have."""
        numbers = np.empty(room, dtype=np.int32)
        numbers[: len(free)] = free
        queue, journal = np.empty(size, dtype=np.int32), np.empty((_LONGEST_KICK + 4 * k, 3), dtype=np.int32)
        counts = np.zeros(6, dtype=np.int64)
        counts[FREE] = len(free)
        return cls(of_record, own, numbers, queue, journal, counts, np.array([seed], dtype=np.uint64))


@kernel
def wait_for_all(groups: Groups, region: Region, rows: IntArray) -> None:
    for row in rows:
        _wait(groups, region, row)


@kernel
def _wait(groups: Groups, region: Region, i: int) -> None:
    if not groups.queued[i]:
        groups.queued[i] = True
        counts, queue = region.counts, region.queue
        queue[(counts[_HEAD] + counts[_WAITING]) % queue.shape[0]] = i
        counts[_WAITING] += 1


@kernel
def _wait_for_group(groups: Groups, region: Region, a: int) -> None:
    for slot in range(groups.sizes[a]):
        _wait(groups, region, groups.members[a, slot])


@kernel
def descend_queue(
    columns: FloatArray, groups: Groups, k: int, near: ShortArray, region: Region, least: float, enough: int, most: int
) -> float:
    """Ask records as long as any wait, fewer than `enough` steps were tried and `most` taken; how the loss changes."""
    counts, queue = region.counts, region.queue
    change = 0.0
    while counts[_WAITING] > 0 and counts[TRIED] < enough and counts[_DONE] < most:
        i = queue[counts[_HEAD]]
        counts[_HEAD] = (counts[_HEAD] + 1) % queue.shape[0]
        counts[_WAITING] -= 1
        groups.queued[i] = False
        change += _best_step(columns, groups, k, near, region, i, least)
    return change


@kernel
def _best_step(
    columns: FloatArray, groups: Groups, k: int, near: ShortArray, region: Region, i: int, least: float
) -> float:
    """Take the step of a record that lowers the loss most; how the loss has changed."""
    labels, members, sizes, sums, seen = groups.labels, groups.members, groups.sizes, groups.sums, groups.seen
    counts = region.counts
    counts[_ASKED] += 1
    asked = counts[_ASKED]
    a = labels[i]
    best, kind, best_record, best_group = -least, _NO_STEP, -1, -1
    leaving = _leaving(columns, groups, i)  # what the loss falls by when the record leaves
    nearest_room, least_joining = -1, np.inf
    tried = 0
    for position in range(near.shape[1]):
        r = near[i, position]
        if region.of_record[r] != region.own:
            continue
        b = labels[r]
        if b == a:
            continue
        if sizes[b] > k and sizes[a] < 2 * k - 1:
            tried += 1
            change = _joining(columns, groups, r, a) - _leaving(columns, groups, r)
            if change < best:
                best, kind, best_record, best_group = change, _MOVE, r, a
        if seen[b] == asked:
            continue
        seen[b] = asked
        if sizes[b] < 2 * k - 1:
            tried += 1
            joining = _joining(columns, groups, i, b)
            if joining < least_joining:
                nearest_room, least_joining = b, joining
            if sizes[a] > k and joining - leaving < best:
                best, kind, best_record, best_group = joining - leaving, _MOVE, i, b
        tried += sizes[b]
        for slot in range(sizes[b]):
            j = members[b, slot]
            change = swap_change(columns, sums, i, j, a, b, sizes[a], sizes[b])
            if change < best:
                best, kind, best_record, best_group = change, _SWAP, j, b
    if nearest_room >= 0 and sizes[a] == k and least_joining < 2.0 * leaving:
        for position in range(near.shape[1]):
            r = near[i, position]
            c = labels[r]
            if region.of_record[r] != region.own or c == nearest_room or sizes[c] <= k:
                continue
            tried += 1
            change = least_joining + _replacing(columns, groups, i, r, a) - _leaving(columns, groups, r)
            if change < best:
                best, kind, best_record, best_group = change, _RELAY, r, nearest_room
    counts[TRIED] += tried
    if kind == _NO_STEP:
        if groups.slots[i] == 0:
            best = _give_up(columns, groups, k, near, region, a, least)
            if best < 0.0:
                return best
        if sizes[a] > k and counts[FREE] > 0:
            return _form(columns, groups, k, near, region, i, least)
        return 0.0
    if kind == _MOVE:
        b = labels[best_record]
        _move(columns, groups, region, best_record, best_group)
        _wait_for_group(groups, region, b)
    elif kind == _SWAP:
        _swap(columns, groups, region, i, best_record)
    else:
        c = labels[best_record]
        _move(columns, groups, region, best_record, a)
        _move(columns, groups, region, i, best_group)
        _wait_for_group(groups, region, c)
    _wait_for_group(groups, region, a)
    _wait_for_group(groups, region, best_group)
    return best


@kernel
def _square_to_mean(columns: FloatArray, groups: Groups, i: int, a: int) -> float:
    size = groups.sizes[a]
    square = 0.0
    for c in range(columns.shape[1]):
        square += (columns[i, c] - groups.sums[a, c] / size) ** 2
    return square


@kernel
def _joining(columns: FloatArray, groups: Groups, i: int, b: int) -> float:
    """What the loss rises by when a record joins a group."""
    n = groups.sizes[b]
    return float(_square_to_mean(columns, groups, i, b) * n / (n + 1.0))


@kernel
def _leaving(columns: FloatArray, groups: Groups, i: int) -> float:
    """What the loss falls by when a record leaves its group."""
    a = groups.labels[i]
    m = groups.sizes[a]
    if m == 1:
        return 0.0
    return float(_square_to_mean(columns, groups, i, a) * m / (m - 1.0))


@kernel
def _replacing(columns: FloatArray, groups: Groups, i: int, r: int, a: int) -> float:
    """How the loss of group a changes when record r takes the place of record i."""
    m = groups.sizes[a]
    out, into, apart = 0.0, 0.0, 0.0
    for c in range(columns.shape[1]):
        middle = groups.sums[a, c] / m
        out += (columns[i, c] - middle) ** 2
        into += (columns[r, c] - middle) ** 2
        apart += (columns[r, c] - columns[i, c]) ** 2
    return float(into - out - apart / m)


@kernel
def _give_up(
    columns: FloatArray, groups: Groups, k: int, near: ShortArray, region: Region, a: int, least: float
) -> float:
    """Send the records of a group to its neighbours if that lowers the loss; how the loss has changed."""
    members, sizes = groups.members, groups.sizes
    within = 0.0
    size = sizes[a]
    for slot in range(size):
        within += _square_to_mean(columns, groups, members[a, slot], a)
    # first as if the others did not move: an estimate
    estimate = 0.0
    for slot in range(size):
        i = members[a, slot]
        joining, _ = _nearest_room(columns, groups, k, near, region, i, a)
        estimate += joining
        if estimate > 1.5 * within:
            return 0.0
    taken = members[a, :size].copy()
    to = np.empty(size, dtype=np.int64)
    change, moved = 0.0, 0
    for i in taken:
        joining, b = _nearest_room(columns, groups, k, near, region, i, a)
        if b < 0:
            change = np.inf
            break
        change += joining - _leaving(columns, groups, i)
        _move(columns, groups, region, i, b)
        to[moved] = b
        moved += 1
    if change < -least:
        for m in range(moved):
            _wait_for_group(groups, region, to[m])
        return change
    take_back(columns, groups, region, region.counts[_DONE] - moved)
    return 0.0


@kernel
def _nearest_room(
    columns: FloatArray, groups: Groups, k: int, near: ShortArray, region: Region, i: int, a: int
) -> tuple[float, int]:
    """The group near a record that it joins at the least cost, other than a, and the cost."""
    least, best = np.inf, -1
    for position in range(near.shape[1]):
        r = near[i, position]
        b = groups.labels[r]
        if region.of_record[r] != region.own or b == a or groups.sizes[b] >= 2 * k - 1:
            continue
        region.counts[TRIED] += 1
        joining = _joining(columns, groups, i, b)
        if joining < least:
            least, best = joining, b
    return least, best


@kernel
def _form(columns: FloatArray, groups: Groups, k: int, near: ShortArray, region: Region, i: int, least: float) -> float:
    """Form a group of a record and its nearest that others can spare, if that lowers the loss."""
    labels, sizes = groups.labels, groups.sizes
    new = region.free[region.counts[FREE] - 1]
    before = region.counts[_DONE]
    came_from = np.empty(k, dtype=np.int64)
    came_from[0] = labels[i]
    change = -_leaving(columns, groups, i)
    _move(columns, groups, region, i, new)
    for position in range(near.shape[1]):
        r = near[i, position]
        b = labels[r]
        if region.of_record[r] != region.own or b == new or sizes[b] <= k:
            continue
        came_from[sizes[new]] = b
        change += _joining(columns, groups, r, new) - _leaving(columns, groups, r)
        region.counts[TRIED] += 1
        _move(columns, groups, region, r, new)
        if sizes[new] == k:
            break
    if sizes[new] == k and change < -least:
        _wait_for_group(groups, region, new)
        for place in range(k):
            _wait_for_group(groups, region, came_from[place])
        return change
    take_back(columns, groups, region, before)
    return 0.0


@kernel
def _note(region: Region, i: int, j: int, group: int) -> None:
    journal, done = region.journal, region.counts[_DONE] % region.journal.shape[0]
    journal[done, 0], journal[done, 1], journal[done, 2] = i, j, group
    region.counts[_DONE] += 1


@kernel
def take_back(columns: FloatArray, groups: Groups, region: Region, before: int) -> None:
    """Undo what was done, the last first, down to so many entries of the journal."""
    journal, counts = region.journal, region.counts
    while counts[_DONE] > before:
        at = (counts[_DONE] - 1) % journal.shape[0]
        i, j, group = journal[at, 0], journal[at, 1], journal[at, 2]
        if j >= 0:
            _swap(columns, groups, region, i, j)
        else:
            _move(columns, groups, region, i, group)
        counts[_DONE] -= 2  # the undoing has made an entry of its own


@kernel
def _move(columns: FloatArray, groups: Groups, region: Region, i: int, b: int) -> None:
    members, sizes, slots, sums = groups.members, groups.sizes, groups.slots, groups.sums
    a = groups.labels[i]
    last = members[a, sizes[a] - 1]
    members[a, slots[i]] = last
    slots[last] = slots[i]
    sizes[a] -= 1
    if sizes[a] == 0:
        region.free[region.counts[FREE]] = a
        region.counts[FREE] += 1
    if sizes[b] == 0:
        region.counts[FREE] -= 1
    members[b, sizes[b]] = i
    slots[i] = sizes[b]
    sizes[b] += 1
    groups.labels[i] = b
    for c in range(columns.shape[1]):
        sums[a, c] = sums[a, c] - columns[i, c] if sizes[a] > 0 else 0.0
        sums[b, c] += columns[i, c]
    _note(region, i, -1, a)


@kernel
def _swap(columns: FloatArray, groups: Groups, region: Region, i: int, j: int) -> None:
    labels, members, slots = groups.labels, groups.members, groups.slots
    a, b = labels[i], labels[j]
    members[a, slots[i]], members[b, slots[j]] = j, i
    slots[i], slots[j] = slots[j], slots[i]
    labels[i], labels[j] = b, a
    swap_sums(columns, groups.sums, i, j, a, b)
    _note(region, i, j, -1)


@kernel
def kick_and_mend(
    columns: FloatArray,
    groups: Groups,
    k: int,
    near: ShortArray,
    region: Region,
    picks: ShortArray,
    enough: int,
    temperature: float,
    cold: float,
    least: float,
    most_swaps: int,
) -> float:
    """Disturb the groups around a record, descend from there, and take it all back where the loss has risen.

    A kick is one to `most_swaps` exchanges. Again and again until `enough` steps were tried; a rise is kept with a
    chance that falls with the temperature.
    """
    counts, labels, sizes = region.counts, groups.labels, groups.sizes
    state = region.state
    total = 0.0
    begin, hot = counts[TRIED], temperature
    while counts[TRIED] < enough:
        counts[TRIED] += 1
        temperature = hot * (cold / hot) ** ((counts[TRIED] - begin) / (enough - begin)) if hot > 0 else 0.0
        counts[_DONE] = 0
        i = picks[whole(state, picks.shape[0])]
        change = 0.0
        for _ in range(1 + whole(state, most_swaps)):
            closeness = fraction(state)
            r = near[i, int(near.shape[1] * closeness * closeness)]
            if region.of_record[r] != region.own or labels[r] == labels[i]:
                continue
            a, b = labels[i], labels[r]
            if sizes[a] > k and sizes[b] < 2 * k - 1 and fraction(state) < 0.5:
                change += _joining(columns, groups, i, b) - _leaving(columns, groups, i)
                _move(columns, groups, region, i, b)
            else:
                j = groups.members[b, whole(state, sizes[b])]
                change += swap_change(columns, groups.sums, i, j, a, b, sizes[a], sizes[b])
                _swap(columns, groups, region, i, j)
            _wait_for_group(groups, region, a)
            _wait_for_group(groups, region, b)
            i = r
        change += descend_queue(columns, groups, k, near, region, least, _ENDLESS, _LONGEST_KICK)
        while counts[_WAITING] > 0:  # a kick that goes on and on
            groups.queued[region.queue[counts[_HEAD]]] = False
            counts[_HEAD] = (counts[_HEAD] + 1) % region.queue.shape[0]
            counts[_WAITING] -= 1
        if change > 0.0 and (temperature <= 0.0 or fraction(state) >= np.exp(-change / temperature)):
            take_back(columns, groups, region, 0)
        else:
            total += change
    return total
