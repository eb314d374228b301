"""What an intruder who knows the degree of a node makes of a published graph: the nodes that have that degree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from microveil.errors import DataError
from microveil.typing import FloatArray, IntArray

BUCKETS = ("1", "2-4", "5-10", "11-20", ">20")
_LOWEST = np.array([1, 2, 5, 11, 21])  # candidates of each bucket


def bucket_shares(sizes: IntArray) -> FloatArray:
    """The share of nodes in each of the `BUCKETS`, by how many candidates each has.

    >>> bucket_shares(np.array([1, 3, 30, 0])).tolist()
    [0.25, 0.25, 0.0, 0.0, 0.25]
    """
    bucket = np.searchsorted(_LOWEST, sizes, side="right")
    return np.asarray(np.bincount(bucket, minlength=len(BUCKETS) + 1)[1:] / max(1, len(sizes)))


@dataclass(frozen=True)
class DegreeCandidates:
    """The degrees of the same nodes before and after protection: cand(x) are the nodes y whose published degree is
    the true degree of x; see Marés (2013), section 2.6, and Hay et al. (2008)."""

    true: IntArray
    published: IntArray

    def __post_init__(self) -> None:
        if self.true.ndim != 1 or self.true.shape != self.published.shape:
            raise DataError("the two graphs have different numbers of nodes; compare graphs of the same nodes")

    def of(self, node: int) -> IntArray:
        """The candidates of a node, ascending."""
        return np.flatnonzero(self.published == self.true[node])

    @property
    def sizes(self) -> IntArray:
        """How many candidates each node has.

        >>> DegreeCandidates(np.array([2, 1, 1]), np.array([1, 1, 2])).sizes.tolist()
        [1, 2, 2]
        """
        most = int(max(self.true.max(initial=0), self.published.max(initial=0)))
        return np.bincount(self.published, minlength=most + 1)[self.true].astype(np.int64)

    @property
    def shares(self) -> FloatArray:
        """The share of nodes in each of the `BUCKETS` by their number of candidates. Nodes without a candidate are in
        none, so that the shares and that of these nodes add up to 1."""
        return bucket_shares(self.sizes)

    @property
    def without(self) -> float:
        """The share of nodes without a candidate."""
        return float((self.sizes == 0).sum()) / max(1, len(self.true))

    @property
    def expected(self) -> float:
        """The expected share of nodes that an intruder finds who draws one of the candidates of each."""
        own = self.true == self.published
        return float((1.0 / self.sizes[own]).sum()) / max(1, len(self.true))
