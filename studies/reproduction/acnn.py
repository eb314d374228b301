"""The associative cluster neural network (ACNN): natural groups of a file and the records that belong to none.

Two records are associated by their distance; in every epoch two records that are associated with the same others are
drawn together and the rest are driven apart, until nothing changes. It needs the distances of all pairs and a matrix
product an epoch, so it is a diagnosis of files up to some thousand records, not a way of masking. Yao, Chen and Chen
(2001); Fayyoumi (2008), section 5.2, Algorithm 11.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from microveil.numerics.core.ordering import numbered_by_first
from microveil.typing import FloatArray, IntArray

Alpha = Literal["printed", "msd", "msd-sqrt"]


@dataclass(frozen=True)
class Clusters:
    """`labels`: 0 for a rejected record, else the first cluster, from 1, it is associated with.

    `count` is the rank of the characteristic matrix without the rejected records, `rows` the number of different rows
    of it. Clusters can overlap, and `overlapping` tells how many records are in more than one; a record belongs to the
    one whose row comes first in lexicographic order, so that there may be fewer labels than clusters.
    """

    labels: IntArray
    count: int
    rows: int
    overlapping: int
    epochs: int
    change: float
    association: FloatArray

    @property
    def rejected(self) -> IntArray:
        return np.flatnonzero(self.labels == 0)

    @property
    def sizes(self) -> list[int]:
        """The sizes of the clusters, the largest first."""
        return sorted(np.bincount(self.labels)[1:].tolist(), reverse=True)


def width(columns: FloatArray, alpha: Alpha | float) -> float:
    """The squared length at which association falls to 1/e.

    The printed rule, sqrt(n) / MSD, fits standardised columns only; MSD and MSD / sqrt(n) hold on any scale, where
    MSD is the mean squared distance from the centre.
    """
    if not isinstance(alpha, str):
        return float(alpha)
    n = len(columns)
    msd = float(((columns - columns.mean(axis=0)) ** 2).sum() / n)
    if msd == 0:
        return np.inf
    return float({"printed": n**0.5 / msd, "msd": msd, "msd-sqrt": msd / n**0.5}[alpha])


def association(columns: FloatArray, alpha: Alpha | float = "printed") -> FloatArray:
    """How near each pair of records is: exp(-squared distance / alpha), from 1 for equal records down to 0."""
    from scipy.spatial.distance import pdist, squareform

    near = np.exp(-pdist(columns, "sqeuclidean") / width(columns, alpha))
    made: FloatArray = squareform(near)
    np.fill_diagonal(made, 1.0)
    return made


def interaction(associations: FloatArray) -> FloatArray:
    """How strongly each pair is associated through third records: the sum of products of positive associations."""
    positive = np.maximum(associations, 0.0)
    np.fill_diagonal(positive, 0.0)  # leaves out i and j themselves as go-betweens
    through = positive @ positive
    np.fill_diagonal(through, 0.0)
    return through


def thresholds(interactions: FloatArray) -> FloatArray:
    """What the interaction of a pair must exceed to bind it: the mean interaction of its two records with all."""
    totals = interactions.sum(axis=0)
    return np.asarray((totals[:, None] + totals[None, :]) / (2.0 * (len(totals) - 1)))


def acnn(
    columns: FloatArray, alpha: Alpha | float = "printed", *, tolerance: float = 1e-6, max_epochs: int = 100
) -> Clusters:
    """Cluster the rows of a matrix; with the printed alpha it should be standardised.

    >>> acnn(np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])).labels.tolist()
    [1, 1, 1, 2, 2, 2]
    """
    n = len(columns)
    current = association(columns, alpha)
    epochs, change = 0, np.inf
    while n > 1 and epochs < max_epochs and change > tolerance:
        through = interaction(current)
        updated = np.tanh((through - thresholds(through)) / 2.0)
        np.fill_diagonal(updated, 1.0)
        change = 0.5 * float(np.abs(updated - current).sum())
        current = updated
        epochs += 1
        if (columns == columns[0]).all():
            current = np.ones((n, n))  # equal records interact all alike, and none would exceed the mean
            break
    return _clusters(current, epochs, float(change) if epochs else 0.0)


def _clusters(association_: FloatArray, epochs: int, change: float) -> Clusters:
    bound = association_ > 0
    kept = np.flatnonzero(bound.sum(axis=0) > 1)
    rows = np.unique(bound[kept], axis=0)
    labels = np.zeros(len(bound), dtype=np.int64)
    for number in range(len(rows), 0, -1):  # backwards, so that the first row a record is in prevails
        labels[rows[number - 1]] = number
    labels[kept] = 1 + numbered_by_first(labels[kept])
    # rejected records have rows of their own, which add nothing but themselves to the rank of the whole matrix
    count = int(np.linalg.matrix_rank(rows.astype(np.float64))) if len(kept) else 0
    overlapping = int((rows.sum(axis=0) > 1).sum())
    return Clusters(labels, count, len(rows), overlapping, epochs, change, association_)
