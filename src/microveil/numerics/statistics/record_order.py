"""Whether the order of records is random: a permutation test over several columns at once.

For every column three statistics are taken: how many neighbours are equal, how strongly the ranks of neighbours go
together, and how far the mean positions of groups of values lie apart. All columns are permuted together, and each
statistic is compared with the largest of all in every permutation (Westfall and Young 1993), so that the probability of
any false alarm is at most the level of the test, however the columns depend on each other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from microveil.progress import Progress, silent
from microveil.typing import FloatArray, IntArray

_FEW_VALUES = 20  # of which each is a group by itself
_GROUPS = 10  # of values that are more
MOST_TESTED = 10_000  # records that are permuted
_STRETCHES = 10  # of neighbours that are taken from a longer file


def order_p_values(
    columns: Sequence[IntArray], permutations: int, generator: np.random.Generator, progress: Progress = silent
) -> FloatArray:
    """For each column, the adjusted p-value of the hypothesis that all orders of the records are equally probable.

    Columns hold codes from 0 in the order of their values. They are at least 1 / (permutations + 1).
    """
    if not columns:
        return np.empty(0)
    chosen = records_to_test(len(columns[0]))
    prepared = [_Column(np.unique(codes[chosen], return_inverse=True)[1].reshape(-1)) for codes in columns]
    found = np.empty((permutations + 1, len(columns), 3))
    for trial in range(permutations + 1):
        order = np.arange(len(chosen)) if trial == 0 else generator.permutation(len(chosen))
        found[trial] = [column.statistics(order) for column in prepared]
        progress(trial / permutations, "testing the order of records")
    spread = found.std(axis=0)
    varies = spread > 1e-12
    scaled = np.where(varies, np.abs(found - found.mean(axis=0)) / np.where(varies, spread, 1.0), 0.0)
    largest = scaled.max(axis=(1, 2))
    own = scaled[0].max(axis=1)
    return np.asarray((largest[:, None] >= own[None] - 1e-12).mean(axis=0))


def records_to_test(records: int) -> IntArray:
    """The records whose order is tested: all, or of a long file stretches of neighbours from everywhere.

    If all orders of the file are equally probable, so are all orders of these.
    """
    if records <= MOST_TESTED:
        return np.arange(records)
    length = MOST_TESTED // _STRETCHES
    starts = np.linspace(0, records - length, _STRETCHES).astype(np.int64)
    return np.unique((starts[:, None] + np.arange(length)[None]).reshape(-1))


class _Column:
    """The codes of a column with what does not change when the records change places."""

    def __init__(self, codes: IntArray) -> None:
        self.codes = codes
        counts = np.bincount(codes)
        ranks = (np.cumsum(counts) - (counts - 1) / 2.0)[codes]
        self.ranks = ranks - ranks.mean()
        groups = codes if len(counts) <= _FEW_VALUES else (ranks * _GROUPS / (len(codes) + 1)).astype(np.int64)
        self.groups = np.unique(groups, return_inverse=True)[1].reshape(-1)
        self.sizes = np.bincount(self.groups)
        self.positions = np.arange(len(codes)) - (len(codes) - 1) / 2.0

    def statistics(self, order: IntArray) -> tuple[float, float, float]:
        codes, ranks, groups = self.codes[order], self.ranks[order], self.groups[order]
        drift = np.bincount(groups, weights=self.positions, minlength=len(self.sizes))
        return (
            float((codes[1:] == codes[:-1]).sum()),
            float(ranks[1:] @ ranks[:-1]),
            float((drift**2 / self.sizes).sum()),
        )
