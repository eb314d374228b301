"""Rand, Jaccard and Wallace, against partitions computed independently."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microveil.numerics.clustering.partition_similarity import PairCounts


@pytest.mark.spec("05:CL-01", "06:PC-11")
@pytest.mark.parametrize(
    ("first", "second", "pairs", "indices"),
    [
        ([0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 2, 2], (2, 4, 1, 8), (0.6667, 0.2857, 0.4714)),
        ([0, 0, 0, 1, 1, 2], [0, 0, 1, 1, 1, 2], (2, 2, 2, 9), (0.7333, 0.3333, 0.5)),
    ],
)
def test_the_constructed_partitions(
    first: list[int], second: list[int], pairs: tuple[int, ...], indices: tuple[float, ...]
) -> None:
    found = PairCounts.of(np.array(first), np.array(second))
    assert (found.together, found.only_first, found.only_second, found.apart) == pairs
    assert (found.rand, found.jaccard, found.wallace) == pytest.approx(indices, abs=5e-5)


@pytest.mark.spec("06:PC-12")
def test_the_mean_of_the_three_losses() -> None:
    found = PairCounts.of(np.array([0, 0, 0, 1, 1, 2]), np.array([0, 0, 1, 1, 1, 2]))
    assert 100 * (3 - found.rand - found.jaccard - found.wallace) / 3 == pytest.approx(47.78, abs=5e-3)


@pytest.mark.spec("05:CL-01", "06:PC-11")
def test_partitions_without_pairs() -> None:
    alone, one_pair, together = np.arange(4), np.array([0, 0, 1, 2]), np.zeros(4, dtype=np.int64)
    same = PairCounts.of(alone, alone[::-1].copy())
    assert (same.rand, same.jaccard, same.wallace) == (1, 1, 1)
    other = PairCounts.of(alone, one_pair)
    assert (other.jaccard, other.wallace) == (0, 0)
    assert other.rand == pytest.approx(5 / 6)
    ends = PairCounts.of(alone, together)
    assert (ends.rand, ends.jaccard, ends.wallace) == (0, 0, 0)
    single = PairCounts.of(np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64))
    assert (single.rand, single.jaccard, single.wallace) == (1, 1, 1)


@pytest.mark.spec("05:CL-01")
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=25))
def test_counts_are_those_of_all_pairs_one_by_one(rows: list[tuple[int, int]]) -> None:
    counted = {(same, also): 0 for same in (True, False) for also in (True, False)}
    for (a, b), (c, d) in combinations(rows, 2):
        counted[a == c, b == d] += 1
    first, second = (np.array(labels) for labels in zip(*rows, strict=True))
    found = PairCounts.of(first, second)
    wanted = (counted[True, True], counted[True, False], counted[False, True], counted[False, False])
    assert (found.together, found.only_first, found.only_second, found.apart) == wanted
    turned = PairCounts.of(second, first)
    assert (turned.rand, turned.jaccard, turned.wallace) == (found.rand, found.jaccard, found.wallace)
