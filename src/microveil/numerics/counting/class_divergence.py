"""How far the distribution of a confidential attribute in groups is from that of the file: divergences and attained t.

Everything works on integer counts, one row for each group and one column for each class. Logarithms have base 2, so
that the Jensen-Shannon divergence lies in [0, 1]; a class that a group lacks adds nothing to its own sum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from microveil.numerics.core.compiled import kernel
from microveil.typing import BoolArray, FloatArray, IntArray


def class_counts(labels: IntArray, classes: IntArray, number: int | None = None) -> IntArray:
    """How many records of each class (columns) each group (rows) has."""
    groups = int(labels.max()) + 1
    width = int(classes.max()) + 1 if number is None else number
    return np.bincount(labels * width + classes, minlength=groups * width).reshape(groups, width).astype(np.int64)


def shares_of(counts: IntArray) -> FloatArray:
    """The share of each class, row by row (or of one row of counts)."""
    return np.asarray(counts / counts.sum(axis=-1, keepdims=True))


def kullback_leibler(shares: FloatArray, reference: FloatArray) -> FloatArray:
    """KLD of rows of shares from a reference: how surprising they are to somebody who expects the reference."""
    ratio = np.divide(shares, reference, out=np.ones_like(shares), where=shares > 0)
    return np.asarray((shares * np.log2(ratio)).sum(axis=-1))


def jensen_shannon(counts: IntArray, reference: FloatArray) -> FloatArray:
    """JSD of the class shares of each group from the reference, in [0, 1]."""
    return _jensen_shannon_rows(np.ascontiguousarray(counts, dtype=np.int64), reference)


@kernel
def divergence_term(share: float, reference: float) -> float:
    """What one class adds to twice the JSD."""
    if share <= 0.0:
        return reference  # reference * log2(reference / (reference / 2))
    middle = (share + reference) / 2.0
    term = share * np.log2(share / middle)
    if reference > 0.0:
        term += reference * np.log2(reference / middle)
    return float(term)


@kernel
def jensen_shannon_of(counts: IntArray, total: int, reference: FloatArray) -> float:
    """JSD of one row of counts that sum to `total`."""
    twice = 0.0
    for c in range(counts.shape[0]):
        twice += divergence_term(counts[c] / total, reference[c])
    return max(0.0, twice / 2.0)


@kernel
def _jensen_shannon_rows(counts: IntArray, reference: FloatArray) -> FloatArray:
    rows = np.empty(counts.shape[0])
    for g in range(counts.shape[0]):
        rows[g] = jensen_shannon_of(counts[g], counts[g].sum(), reference)
    return rows


def attained_t(counts: IntArray, reference: FloatArray) -> FloatArray:
    """For each group the earth mover's distance with equal class distances: half the sum of |share - reference|."""
    return np.asarray(np.abs(shares_of(counts) - reference).sum(axis=1) / 2.0)


def class_spread(counts: IntArray) -> float:
    """X²: the mean over groups of the chi-square distance between the class counts and those expected."""
    expected = counts.sum(axis=1, keepdims=True) * shares_of(counts.sum(axis=0))
    return float((np.square(counts - expected) / expected).sum(axis=1).mean())


def homogeneous(counts: IntArray) -> BoolArray:
    """Which groups have members of one class only."""
    return np.asarray((counts > 0).sum(axis=1) == 1)


@dataclass(frozen=True)
class ClassReport:
    """What a grouping shows about the classes of its members, group by group and in all."""

    counts: IntArray
    divergence: FloatArray
    attained: FloatArray
    largest_share: FloatArray
    homogeneous: BoolArray
    single: BoolArray

    @classmethod
    def of(cls, labels: IntArray, classes: IntArray) -> ClassReport:
        counts = class_counts(labels, classes)
        reference = shares_of(counts.sum(axis=0))
        return cls(
            counts,
            jensen_shannon(counts, reference),
            attained_t(counts, reference),
            np.asarray(shares_of(counts).max(axis=1)),
            homogeneous(counts),
            np.asarray((counts == 1).any(axis=1)),
        )

    @property
    def sizes(self) -> IntArray:
        return np.asarray(self.counts.sum(axis=1))

    @property
    def homogeneous_records(self) -> int:
        """How many records are in groups of one class: whoever finds their group knows their class."""
        return int(self.sizes[self.homogeneous].sum())

    @property
    def homogeneous_share(self) -> float:
        """The percentage of records in groups of one class."""
        return 100.0 * self.homogeneous_records / int(self.counts.sum())

    @property
    def kullback_leibler(self) -> FloatArray:
        """How surprising the classes of each group are to somebody who knows those of the file, in bits."""
        return kullback_leibler(shares_of(self.counts), shares_of(self.counts.sum(axis=0)))

    @property
    def weighted_divergence(self) -> float:
        return float(np.average(self.divergence, weights=self.sizes))

    @property
    def spread(self) -> float:
        return class_spread(self.counts)
