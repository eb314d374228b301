"""Which attributes were released in decreasing order, found without knowing which records belong together.

The right directions bring most records of both files into the same cells of a grid over all attributes at once; wrong
ones only as many as chance does. How fine the grid must be depends on how much the values were changed, so several are
tried, the finest being the relative ranks themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import numpy.typing as npt

from microveil.typing import FloatArray, IntArray

WordArray = npt.NDArray[np.uint64]

_MOST_RECORDS_TRIED = 500_000  # records times directions; with more, only the first attributes are tried at once
_MOST_AT_ONCE = 6  # attributes
_FINENESS = (4.0, 2.0, 1.0)  # cells of a grid for each record
_BEYOND_CHANCE = 4.0  # standard deviations of a count


def decreasing(
    before: Sequence[FloatArray], after: Sequence[FloatArray], classes: tuple[IntArray, IntArray] | None = None
) -> list[bool]:
    """For each attribute, given as relative ranks from 0 to 1 (NaN where missing), whether larger values were
    released as smaller ones. `classes` are those of attributes that are known to be equal in both files.

    >>> rng = np.random.default_rng(1)
    >>> x, y, other = (rng.permutation(40) for _ in range(3))
    >>> x, y = (x + 0.5) / 40, (y + 0.5) / 40
    >>> decreasing([x, y], [x[other], 1 - y[other]])
    [False, True]
    """
    if not before:
        return []
    records = len(before[0])
    at_once = max(2, min(_MOST_AT_ONCE, int(np.log2(_MOST_RECORDS_TRIED / max(1, records)))))
    turned = _decreasing(before[:at_once], after[:at_once], classes, at_once)
    first = [1 - side if turn else side for side, turn in zip(after, turned, strict=False)]
    for one, other in zip(before[at_once:], after[at_once:], strict=True):
        turned += _decreasing([*before[:at_once], one], [*first, other], classes, 1)
    return turned


def _decreasing(
    before: Sequence[FloatArray],
    after: Sequence[FloatArray],
    classes: tuple[IntArray, IntArray] | None,
    free: int,
) -> list[bool]:
    """The same for the last so many attributes, those before them being as they must be."""
    free = min(free, len(before))
    best, gain = [False] * free, _BEYOND_CHANCE * np.sqrt(len(before[0]))
    for fineness in (None, *_FINENESS):
        tried = _Cells(before, after, classes, fineness).tried(free)
        turned = max(tried, key=lambda turns: (tried[turns], -sum(turns)))
        excess = tried[turned] - min(tried.values())
        if excess > gain:
            best, gain = list(turned), excess
    return best


class _Cells:
    """The records of both files in the cells of a grid, whichever way its attributes are turned."""

    def __init__(
        self,
        before: Sequence[FloatArray],
        after: Sequence[FloatArray],
        classes: tuple[IntArray, IntArray] | None,
        fineness: float | None,
    ) -> None:
        records = len(before[0])
        steps = 2 * records  # relative ranks are multiples of this part, so that turning them is exact
        if fineness is not None:
            steps = max(2, round((fineness * records) ** (1 / len(before))))
        rng = np.random.default_rng(0)
        same = (np.zeros(records, np.int64), np.zeros(records, np.int64)) if classes is None else classes
        words = _words(rng, int(max(side.max(initial=0) for side in same)) + 1)
        self.known, self.start = words[same[0]], words[same[1]]
        self.sides: list[tuple[WordArray, WordArray]] = []
        for one, other in zip(before, after, strict=True):
            words = _words(rng, steps + 2)  # the last is that of the missing ones
            self.known = self.known + words[_steps(one, steps)]
            self.sides.append((words[_steps(other, steps)], words[_steps(1 - other, steps)]))

    def common(self, turns: Sequence[bool]) -> int:
        """How many records of one file have one of the other in their cell, each used once."""
        released = self.start
        for side, turn in zip(self.sides, turns, strict=True):
            released = released + side[turn]
        _, inverse = np.unique(np.concatenate([self.known, released]), return_inverse=True)
        size = int(inverse.max(initial=-1)) + 1
        counts = [np.bincount(half, minlength=size) for half in np.split(inverse.reshape(-1), 2)]
        return int(np.minimum(counts[0], counts[1]).sum())

    def tried(self, free: int) -> dict[tuple[bool, ...], int]:
        """The records in common for each way of turning the last so many attributes."""
        fixed = (False,) * (len(self.sides) - free)
        return {turns: self.common((*fixed, *turns)) for turns in product((False, True), repeat=free)}


def _words(rng: np.random.Generator, size: int) -> WordArray:
    """Random words whose sums stand for combinations."""
    return rng.integers(2**64, size=size, dtype=np.uint64)


def _steps(ranks: FloatArray, steps: int) -> IntArray:
    exact = np.rint(ranks * steps) if steps == 2 * len(ranks) else np.minimum(np.floor(ranks * steps), steps - 1)
    return np.where(np.isnan(ranks), steps + 1, np.nan_to_num(exact)).astype(np.int64)
