"""Pairing units with units of other areas: like with like, and every unit once."""

from __future__ import annotations

import numpy as np

from microveil.numerics.core.compiled import kernel
from microveil.typing import BoolArray, IntArray


def pair_elsewhere(
    likeness: IntArray, areas: IntArray, wants: BoolArray, free: BoolArray, most: int, rng: np.random.Generator
) -> IntArray:
    """For every unit the partner it is paired with, itself if it has none.

    The units that want a partner get one in random order, each drawn from the free units of the same likeness in all
    other areas; there are at most so many pairs.

    >>> like, area = np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1])
    >>> everyone = np.ones(4, dtype=bool)
    >>> pair_elsewhere(like, area, np.array([True, False, False, True]), everyone, 4, np.random.default_rng(1)).tolist()
    [2, 1, 0, 3]
    """
    turns = rng.permutation(np.flatnonzero(wants & free))
    units = np.flatnonzero(free)
    members = units[np.lexsort((areas[units], likeness[units]))]
    new = np.ones(len(members), dtype=np.bool_)
    new[1:] = (np.diff(likeness[members]) != 0) | (np.diff(areas[members]) != 0)
    segment_of = np.zeros(len(likeness), dtype=np.int64)
    segment_of[members] = np.cumsum(new) - 1
    starts = np.flatnonzero(new)
    group_of = np.unique(likeness[members[starts]], return_inverse=True)[1].reshape(-1).astype(np.int64)
    return _paired(turns, rng.random((len(turns), 2)), members, segment_of, starts, group_of, most)


@kernel
def _paired(
    turns: IntArray, draws: np.ndarray, members: IntArray, segment_of: IntArray, starts: IntArray, group_of: IntArray,
    most: int,
) -> IntArray:  # fmt: skip
    """The members of a segment are alike and of one area; the segments of a group are alike and follow each other."""
    partner = np.arange(len(segment_of))
    position = np.zeros(len(segment_of), dtype=np.int64)
    for place, unit in enumerate(members):
        position[unit] = place
    counts = np.diff(np.append(starts, len(members)))
    first = np.searchsorted(group_of, np.arange(len(group_of) + 1))
    in_group = np.zeros(len(group_of), dtype=np.int64)
    for segment, count in enumerate(counts):
        in_group[group_of[segment]] += count
    pairs = 0
    for turn, unit in enumerate(turns):
        own = segment_of[unit]
        group = group_of[own]
        elsewhere = in_group[group] - counts[own]
        if pairs == most or partner[unit] != unit or elsewhere == 0:
            continue
        wanted = min(int(draws[turn, 0] * elsewhere), elsewhere - 1)
        other = first[group]
        while other == own or wanted >= counts[other]:
            if other != own:
                wanted -= counts[other]
            other += 1
        chosen = members[starts[other] + min(int(draws[turn, 1] * counts[other]), counts[other] - 1)]
        partner[unit], partner[chosen] = chosen, unit
        for gone in (unit, chosen):
            segment = segment_of[gone]
            counts[segment] -= 1
            last = members[starts[segment] + counts[segment]]
            members[position[gone]], position[last] = last, position[gone]
        in_group[group] -= 2
        pairs += 1
    return partner
