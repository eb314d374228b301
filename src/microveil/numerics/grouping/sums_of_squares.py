"""The sum of squares of grouped records: within the groups, between them, and in all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from microveil.numerics.grouping.groups import group_centres
from microveil.typing import FloatArray, IntArray


@dataclass(frozen=True)
class Squares:
    """Within groups (`sse`), between them (`ssa`) and in all (`sst`); without a group left out, `sst = sse + ssa`."""

    sse: float
    ssa: float
    sst: float

    @property
    def ratio(self) -> float:
        """The share within groups, which is what publishing their means loses; 0 where nothing varies."""
        return self.sse / self.sst if self.sst > 0 else 0.0


def squares(columns: FloatArray, labels: IntArray, *, skip_last_group: bool = False) -> Squares:
    """The sums of squares around the group means and the mean of all records.

    Some printed tables leave the group with the highest label, the one formed last, out of `sse`; `skip_last_group`
    does the same and has no other use.

    >>> squares(np.array([[1.0], [3.0], [7.0], [9.0]]), np.array([0, 0, 1, 1]))
    Squares(sse=4.0, ssa=36.0, sst=40.0)
    """
    sizes = np.bincount(labels)
    means = group_centres(columns, labels, len(sizes))
    centre = columns.mean(axis=0)
    counted = labels < labels.max() if skip_last_group else np.ones(len(labels), dtype=np.bool_)
    return Squares(
        sse=float(((columns - means[labels])[counted] ** 2).sum()),
        ssa=float((sizes[:, None] * (means - centre) ** 2).sum()),
        sst=float(((columns - centre) ** 2).sum()),
    )


def squares_lost(before: FloatArray, after: FloatArray) -> float:
    """The sum of squared changes of centred values: what was missing is left out, what is now counts as the mean.

    >>> squares_lost(np.array([-1.0, 1.0, 3.0, np.nan]), np.array([0.0, 1.5, np.nan, np.nan]))
    10.25
    """
    return float(np.nansum(changes_lost(before, after) ** 2))


def changes_lost(before: FloatArray, after: FloatArray) -> FloatArray:
    """The changes of centred values: NaN where one was missing, and where one is now as if it were the mean."""
    return np.asarray(before - np.where(np.isnan(after), 0.0, after))
