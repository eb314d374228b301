"""Groups of at least k profiles: k-member clustering as Marés (2013), Algorithm 14, prints it, and one that loses less.

The printed clustering takes a random record and its k - 1 nearest, again and again, and what is left is one last group,
whose members may be far apart. The other one takes the record that is farthest from the one before, gives what is left
to the groups where it costs least, and then moves and exchanges records between groups as long as the distances of all
records to what their groups publish become less.
"""

from __future__ import annotations

import numpy as np

from microveil.numerics.core.compiled import kernel
from microveil.numerics.grouping.profiles import (
    Common,
    Profiles,
    distances_from,
    distances_to_common,
    empty_common,
    empty_tally,
    fill_common,
    group_loss,
    profile_loss,
)
from microveil.progress import Part, Progress
from microveil.typing import FloatArray, IntArray

_STEPS_BETWEEN_REPORTS = 1.0e8
_NEAR_GROUPS = 4  # whose members are tried for an exchange
_MOST_PASSES = 8
_MOST_COMPARED = 4.0e9  # pairs of records and groups in all passes; the first passes gain most
_GAIN = 1e-9  # a change that gains less is none


def k_member(
    profiles: Profiles, k: int, rng: np.random.Generator, progress: Progress, label: str, *, strict: bool = False
) -> IntArray:
    """The groups of Algorithm 14: of k records, the last one of up to 2k - 1. Of equally near records the first in the
    file is taken. With `strict` distances are those of the seed to the others by the equation as it is printed."""
    n = profiles.records
    rest = n % k != 0
    return _grown(profiles, k, n // k - rest, rng.permutation(n), progress, label, farthest=False, strict=strict)


def refined_k_member(profiles: Profiles, k: int, rng: np.random.Generator, progress: Progress, label: str) -> IntArray:
    """Groups of k to 2k - 1 records that lose less than those of `k_member`, which are returned where they do not."""
    n = profiles.records
    groups = n // k
    started = _grown(
        profiles, k, groups, rng.permutation(n), Part(progress, 0.0, 0.5), label, farthest=True, strict=False
    )
    labels = np.where(started < groups, started, -1)
    members = np.full((groups, 2 * k - 1), -1, dtype=np.int64)
    sizes = np.zeros(groups, dtype=np.int64)
    common = empty_common(profiles, groups)
    tally = empty_tally(profiles)
    _list_members(profiles, labels, members, sizes, common, tally)
    _place_rest(profiles, labels, members, sizes, common, tally)
    rounds = max(1, int(_STEPS_BETWEEN_REPORTS / max(1, groups)))
    passes = max(1, min(_MOST_PASSES, int(_MOST_COMPARED / (n * groups))))
    for turn in range(passes):
        gained, order = 0.0, rng.permutation(n)
        for start in range(0, n, rounds):
            gained += _exchange(profiles, k, order[start : start + rounds], labels, members, sizes, common, tally)
            done = (turn + min(1.0, (start + rounds) / n)) / passes
            progress(0.5 + 0.5 * done, label)
        if gained <= _GAIN * n:
            break
    printed = k_member(profiles, k, rng, Part(progress, 1.0, 1.0), label)
    return labels if profile_loss(profiles, labels) <= profile_loss(profiles, printed) else printed


def _grown(
    profiles: Profiles,
    k: int,
    groups: int,
    seeds: IntArray,
    progress: Progress,
    label: str,
    *,
    farthest: bool,
    strict: bool,
) -> IntArray:
    """So many groups of k around seeds; what is left has the number after the last."""
    n = profiles.records
    labels = np.full(n, -1, dtype=np.int64)
    state = np.array([0, -1], dtype=np.int64)  # how many seeds were looked at, and the last one taken
    made = 0
    while made < groups:
        rounds = max(1, int(_STEPS_BETWEEN_REPORTS / max(1, n - made * k)))
        upto = min(groups, made + rounds)
        _grow(profiles, k, made, upto, seeds, labels, state, farthest, strict)
        made = upto
        progress(made / max(1, groups), label)
    labels[labels < 0] = groups
    return labels


@kernel
def _grow(
    profiles: Profiles,
    k: int,
    made: int,
    upto: int,
    seeds: IntArray,
    labels: IntArray,
    state: IntArray,
    farthest: bool,
    strict: bool,
) -> None:
    unused = np.flatnonzero(labels < 0)
    away = np.empty(len(labels))
    nearest, far = np.empty(k - 1, dtype=np.int64), np.empty(k - 1)
    for group in range(made, upto):
        if farthest and state[1] >= 0:
            distances_from(profiles, state[1], unused, False, away)
            seed = unused[np.argmax(away[: len(unused)])]
        else:
            while labels[seeds[state[0]]] >= 0:
                state[0] += 1
            seed = seeds[state[0]]
        state[1] = seed
        labels[seed] = group
        distances_from(profiles, seed, unused, strict, away)
        held = 0
        for i in range(len(unused)):
            if unused[i] == seed:
                continue
            if held < k - 1:
                held += 1
            elif not away[i] < far[held - 1]:
                continue
            at = held - 1
            while at > 0 and away[i] < far[at - 1]:
                nearest[at], far[at] = nearest[at - 1], far[at - 1]
                at -= 1
            nearest[at], far[at] = unused[i], away[i]
        for i in range(held):
            labels[nearest[i]] = group
        unused = unused[labels[unused] < 0]


@kernel
def _list_members(
    profiles: Profiles, labels: IntArray, members: IntArray, sizes: IntArray, common: Common, tally: IntArray
) -> None:
    for u in range(len(labels)):
        g = labels[u]
        if g >= 0:
            members[g, sizes[g]] = u
            sizes[g] += 1
    for g in range(len(sizes)):
        fill_common(profiles, members[g, : sizes[g]], common, g, tally)


@kernel
def _place_rest(
    profiles: Profiles, labels: IntArray, members: IntArray, sizes: IntArray, common: Common, tally: IntArray
) -> None:
    """Each record that is left goes to the group whose loss grows least."""
    topics = np.empty(len(profiles.ranked), dtype=np.int64)
    for u in range(len(labels)):
        if labels[u] >= 0:
            continue
        least, found = np.inf, -1
        for g in range(len(sizes)):
            if sizes[g] == members.shape[1]:
                continue
            before = group_loss(profiles, members[g, : sizes[g]], topics, tally)
            members[g, sizes[g]] = u
            grown = group_loss(profiles, members[g, : sizes[g] + 1], topics, tally) - before
            members[g, sizes[g]] = -1
            if grown < least:
                least, found = grown, g
        labels[u] = found
        members[found, sizes[found]] = u
        sizes[found] += 1
        fill_common(profiles, members[found, : sizes[found]], common, found, tally)


@kernel
def _exchange(
    profiles: Profiles,
    k: int,
    order: IntArray,
    labels: IntArray,
    members: IntArray,
    sizes: IntArray,
    common: Common,
    tally: IntArray,
) -> float:
    """Try to move each of these records to a near group, or to exchange it with one there; the loss that was gained."""
    topics = np.empty(len(profiles.ranked), dtype=np.int64)
    away, near = np.empty(len(sizes)), np.empty(_NEAR_GROUPS, dtype=np.int64)
    mine, theirs = np.empty(members.shape[1] + 1, dtype=np.int64), np.empty(members.shape[1] + 1, dtype=np.int64)
    gained = 0.0
    for u in order:
        g = labels[u]
        distances_to_common(profiles, u, common, away)
        if away[g] <= 0.0:
            continue
        away[g] = np.inf
        own = group_loss(profiles, members[g, : sizes[g]], topics, tally)
        at = _without(members[g, : sizes[g]], u, mine)
        for i in range(_lowest(away, near)):
            h = near[i]
            before = own + group_loss(profiles, members[h, : sizes[h]], topics, tally)
            best, partner = before - _GAIN, -2
            theirs[: sizes[h]] = members[h, : sizes[h]]
            if sizes[g] > k and sizes[h] < members.shape[1]:
                theirs[sizes[h]] = u
                after = group_loss(profiles, mine[: sizes[g] - 1], topics, tally)
                after += group_loss(profiles, theirs[: sizes[h] + 1], topics, tally)
                if after < best:
                    best, partner = after, -1
            for j in range(sizes[h]):
                theirs[j] = u
                mine[sizes[g] - 1] = members[h, j]
                after = group_loss(profiles, mine[: sizes[g]], topics, tally)
                if after < best:
                    after += group_loss(profiles, theirs[: sizes[h]], topics, tally)
                    if after < best:
                        best, partner = after, j
                theirs[j] = members[h, j]
            if partner == -2:
                continue
            gained += before - best
            labels[u] = h
            if partner >= 0:
                v = members[h, partner]
                members[h, partner], members[g, at], labels[v] = u, v, g
            else:
                members[h, sizes[h]] = u
                sizes[h] += 1
                sizes[g] -= 1
                members[g, at] = members[g, sizes[g]]
            for changed in (g, h):
                fill_common(profiles, members[changed, : sizes[changed]], common, changed, tally)
            break
    return gained


@kernel
def _lowest(values: FloatArray, into: IntArray) -> int:
    """Where the lowest values stand, ascending, as many as there is room for; infinite ones do not count."""
    held = 0
    for i in range(len(values)):
        if values[i] == np.inf:
            continue
        if held < len(into):
            held += 1
        elif not values[i] < values[into[held - 1]]:
            continue
        at = held - 1
        while at > 0 and values[i] < values[into[at - 1]]:
            into[at] = into[at - 1]
            at -= 1
        into[at] = i
    return held


@kernel
def _without(members: IntArray, u: int, into: IntArray) -> int:
    """The members but one, and where it stands among them."""
    at, put = -1, 0
    for i in range(len(members)):
        if members[i] == u:
            at = i
        else:
            into[put] = members[i]
            put += 1
    return at
