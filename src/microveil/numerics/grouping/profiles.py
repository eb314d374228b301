"""Profiles of persons: places in a tree, categories, numbers and ranked lists; how far two of them are apart, and what
a group of them has in common. After Marés (2013), section 6.2."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from microveil.numerics.core.compiled import kernel
from microveil.typing import BoolArray, FloatArray, IntArray

_GRID = 2.0**40  # sums that differ only by rounding are equal on it


class Profiles(NamedTuple):
    """A column for each of n records.

    `lines` are numbers and ordered categories over their range, times the weight of the attribute; two values that
    differ are `offset` further apart, and a group has their mean or, where `median` says so, their lower median.

    `nodes` are places and other categories as nodes of one forest with the arrays `parent` (-1 for a root), `first` and
    `last`, intervals of a walk through it, and `height`, the level over that of its root. Two nodes are apart by the
    difference of their heights if one holds the other, else by 1, times `weight`; a group has their closest common
    ancestor or, where `common` is false, the most frequent.

    `ranked` are lists of topics by preference, -1 where there are fewer; those from `lists[i]` to `lists[i + 1]` are
    one list. Each position is compared by itself and counts as `rank_weight`. A group has the topics with the highest
    Borda counts, or, if not `borda`, the most frequent one of each position that is not yet taken; `priority` decides
    between equal ones, the lowest first.
    """

    lines: FloatArray
    offset: FloatArray
    median: BoolArray
    nodes: IntArray
    weight: FloatArray
    common: BoolArray
    parent: IntArray
    first: IntArray
    last: IntArray
    height: FloatArray
    ranked: IntArray
    lists: IntArray
    rank_weight: FloatArray
    priority: IntArray
    borda: bool

    def take(self, rows: IntArray) -> Profiles:
        """Some of the records."""
        return self._replace(
            lines=np.ascontiguousarray(self.lines[:, rows]),
            nodes=np.ascontiguousarray(self.nodes[:, rows]),
            ranked=np.ascontiguousarray(self.ranked[:, rows]),
        )

    @property
    def records(self) -> int:
        return int(max(self.lines.shape[1], self.nodes.shape[1], self.ranked.shape[1]))


class Common(NamedTuple):
    """What groups have in common, a column for each: as the same attributes of `Profiles`."""

    lines: FloatArray
    nodes: IntArray
    ranked: IntArray


def common_profiles(profiles: Profiles, labels: IntArray) -> Common:
    """What each group publishes; groups are numbered from 0 without gaps."""
    order, bounds = _members(labels)
    made = empty_common(profiles, len(bounds) - 1)
    _fill_all(profiles, order, bounds, made, empty_tally(profiles))
    return made


def profile_loss(profiles: Profiles, labels: IntArray) -> float:
    """The sum of the distances of all records to what their groups have in common."""
    return float(_lost(profiles, *_members(labels), empty_tally(profiles)))


def _members(labels: IntArray) -> tuple[IntArray, IntArray]:
    """The records group by group, and where each group begins."""
    bounds = np.concatenate([[0], np.cumsum(np.bincount(labels))]).astype(np.int64)
    return np.argsort(labels, kind="stable"), bounds


def empty_common(profiles: Profiles, groups: int) -> Common:
    return Common(
        np.zeros((len(profiles.lines), groups)),
        np.full((len(profiles.nodes), groups), -1, dtype=np.int64),
        np.full((len(profiles.ranked), groups), -1, dtype=np.int64),
    )


def empty_tally(profiles: Profiles) -> IntArray:
    """Where the topics of one group are counted: points, first places, second places."""
    return np.zeros((3, len(profiles.priority)), dtype=np.int64)


@kernel
def distances_from(profiles: Profiles, u: int, others: IntArray, printed: bool, away: FloatArray) -> None:
    """The distances of a record to others, as many as there are.

    With `printed` a place is near another only if that lies on the way from it to the root.
    """
    first, last, height = profiles.first, profiles.last, profiles.height
    many = len(others)
    away[:many] = 0.0
    for j in range(len(profiles.lines)):
        line, offset = profiles.lines[j], profiles.offset[j]
        for i in range(many):
            gap = abs(line[u] - line[others[i]])
            if gap > 0.0:
                away[i] += gap + offset
    for j in range(len(profiles.nodes)):
        column, weight = profiles.nodes[j], profiles.weight[j]
        a = column[u]
        for i in range(many):
            b = column[others[i]]
            if a != b:
                near = _holds(first, last, b, a) or (not printed and _holds(first, last, a, b))
                away[i] += abs(height[a] - height[b]) * weight if near else weight
    for j in range(len(profiles.ranked)):
        column, weight = profiles.ranked[j], profiles.rank_weight[j]
        for i in range(many):
            if column[u] != column[others[i]]:
                away[i] += weight
    for i in range(many):
        away[i] = np.rint(away[i] * _GRID) / _GRID


@kernel
def distances_to_common(profiles: Profiles, u: int, common: Common, away: FloatArray) -> None:
    """The distances of a record to what the groups have in common."""
    first, last, height = profiles.first, profiles.last, profiles.height
    groups = len(away)
    away[:] = 0.0
    for j in range(len(profiles.lines)):
        own, offset, shared = profiles.lines[j, u], profiles.offset[j], common.lines[j]
        for g in range(groups):
            gap = abs(own - shared[g])
            if gap > 0.0:
                away[g] += gap + offset
    for j in range(len(profiles.nodes)):
        a, weight, held = profiles.nodes[j, u], profiles.weight[j], common.nodes[j]
        for g in range(groups):
            b = held[g]
            if a != b:
                near = _holds(first, last, b, a) or _holds(first, last, a, b)
                away[g] += abs(height[a] - height[b]) * weight if near else weight
    for j in range(len(profiles.ranked)):
        topic, weight, listed = profiles.ranked[j, u], profiles.rank_weight[j], common.ranked[j]
        for g in range(groups):
            if topic != listed[g]:
                away[g] += weight


@kernel
def group_loss(profiles: Profiles, members: IntArray, topics: IntArray, tally: IntArray) -> float:
    """How far some records are from what they have in common; `topics` has a cell for each position of the lists."""
    total = 0.0
    for j in range(len(profiles.lines)):
        line = profiles.lines[j]
        middle = _middle(line, members, profiles.median[j])
        for u in members:
            gap = abs(line[u] - middle)
            if gap > 0.0:
                total += gap + profiles.offset[j]
    for j in range(len(profiles.nodes)):
        column = profiles.nodes[j]
        if profiles.common[j]:
            top = _ancestor(profiles.parent, profiles.first, profiles.last, column, members)
            for u in members:
                total += abs(profiles.height[top] - profiles.height[column[u]]) * profiles.weight[j]
        else:
            mode = _most_frequent(column, members)
            for u in members:
                if column[u] != mode:
                    near = _holds(profiles.first, profiles.last, mode, column[u])
                    near = near or _holds(profiles.first, profiles.last, column[u], mode)
                    gap = abs(profiles.height[mode] - profiles.height[column[u]]) if near else 1.0
                    total += gap * profiles.weight[j]
    if len(topics):
        _fill_topics(profiles.ranked, profiles.lists, profiles.priority, profiles.borda, members, topics, tally)
        for j in range(len(topics)):
            column, weight = profiles.ranked[j], profiles.rank_weight[j]
            for u in members:
                if column[u] != topics[j]:
                    total += weight
    return total


@kernel
def fill_common(profiles: Profiles, members: IntArray, common: Common, g: int, tally: IntArray) -> None:
    """Put what these records have in common in column g."""
    for j in range(len(profiles.lines)):
        common.lines[j, g] = _middle(profiles.lines[j], members, profiles.median[j])
    for j in range(len(profiles.nodes)):
        column = profiles.nodes[j]
        if profiles.common[j]:
            common.nodes[j, g] = _ancestor(profiles.parent, profiles.first, profiles.last, column, members)
        else:
            common.nodes[j, g] = _most_frequent(column, members)
    topics = np.empty(len(profiles.ranked), dtype=np.int64)
    _fill_topics(profiles.ranked, profiles.lists, profiles.priority, profiles.borda, members, topics, tally)
    common.ranked[:, g] = topics


@kernel
def _holds(first: IntArray, last: IntArray, a: int, b: int) -> bool:
    """Whether a node is another one or an ancestor of it."""
    return bool(first[a] <= first[b] and last[b] <= last[a])


@kernel
def _middle(line: FloatArray, members: IntArray, median: bool) -> float:
    if median:
        return float(np.sort(line[members])[(len(members) - 1) // 2])
    total = 0.0
    for u in members:
        total += line[u]
    return total / len(members)


@kernel
def _ancestor(parent: IntArray, first: IntArray, last: IntArray, nodes: IntArray, members: IntArray) -> int:
    """The closest node that holds all; the root where they have no other in common."""
    found = nodes[members[0]]
    for u in members[1:]:
        while not (first[found] <= first[nodes[u]] and last[nodes[u]] <= last[found]) and parent[found] >= 0:
            found = parent[found]
    return int(found)


@kernel
def _most_frequent(nodes: IntArray, members: IntArray) -> int:
    """Of equally frequent ones the lowest."""
    most, found = 0, -1
    for u in members:
        many = 0
        for v in members:
            many += nodes[v] == nodes[u]
        if many > most or (many == most and nodes[u] < found):
            most, found = many, nodes[u]
    return int(found)


@kernel
def _fill_topics(
    ranked: IntArray,
    lists: IntArray,
    priority: IntArray,
    borda: bool,
    members: IntArray,
    topics: IntArray,
    tally: IntArray,
) -> None:
    """The topics that some records have in common, for each position of every list."""
    for i in range(len(lists) - 1):
        if borda:
            _borda(ranked, lists[i], lists[i + 1], priority, members, topics, tally)
        else:
            _mode_of_each(ranked, lists[i], lists[i + 1], priority, members, topics, tally)


@kernel
def _borda(
    ranked: IntArray,
    low: int,
    high: int,
    priority: IntArray,
    members: IntArray,
    topics: IntArray,
    tally: IntArray,
) -> None:
    """The topics with the most points: as many as there are positions for the first, one less for the next; then those
    with more first places, more second places, and by priority."""
    for j in range(low, high):
        for u in members:
            topic = ranked[j, u]
            if topic >= 0:
                tally[0, topic] += high - j
                tally[1, topic] += j == low
                tally[2, topic] += j == low + 1
    for place in range(low, high):
        best = -1
        for j in range(low, high):
            for u in members:
                topic = ranked[j, u]
                if topic < 0 or topic == best or tally[0, topic] == 0:
                    continue
                if best >= 0:
                    ahead = tally[0, topic] - tally[0, best]
                    if ahead == 0:
                        ahead = tally[1, topic] - tally[1, best]
                    if ahead == 0:
                        ahead = tally[2, topic] - tally[2, best]
                    if ahead == 0:
                        ahead = priority[best] - priority[topic]
                    if ahead < 0:
                        continue
                best = topic
        topics[place] = best
        if best >= 0:
            tally[0, best] = 0
    for j in range(low, high):
        for u in members:
            topic = ranked[j, u]
            if topic >= 0:
                tally[0, topic] = 0
                tally[1, topic] = 0
                tally[2, topic] = 0


@kernel
def _mode_of_each(
    ranked: IntArray,
    low: int,
    high: int,
    priority: IntArray,
    members: IntArray,
    topics: IntArray,
    tally: IntArray,
) -> None:
    """The most frequent topic of each position that no earlier position has; none where more records have none."""
    for j in range(low, high):
        absent = 0
        for u in members:
            topic = ranked[j, u]
            if topic < 0:
                absent += 1
            else:
                tally[0, topic] += 1
        best = -1
        for u in members:
            topic = ranked[j, u]
            taken = topic < 0
            for i in range(low, j):
                taken = taken or topics[i] == topic
            if taken:
                continue
            if best >= 0:
                ahead = tally[0, topic] - tally[0, best]
                if ahead < 0 or (ahead == 0 and priority[topic] >= priority[best]):
                    continue
            best = topic
        if best >= 0 and tally[0, best] < absent:
            best = -1
        topics[j] = best
        for u in members:
            if ranked[j, u] >= 0:
                tally[0, ranked[j, u]] = 0


@kernel
def _fill_all(profiles: Profiles, order: IntArray, bounds: IntArray, common: Common, tally: IntArray) -> None:
    for g in range(len(bounds) - 1):
        fill_common(profiles, order[bounds[g] : bounds[g + 1]], common, g, tally)


@kernel
def _lost(profiles: Profiles, order: IntArray, bounds: IntArray, tally: IntArray) -> float:
    topics = np.empty(len(profiles.ranked), dtype=np.int64)
    total = 0.0
    for g in range(len(bounds) - 1):
        total += group_loss(profiles, order[bounds[g] : bounds[g + 1]], topics, tally)
    return total
