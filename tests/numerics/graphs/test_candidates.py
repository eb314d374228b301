"""Candidates by degree, from graphs small enough to count by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microveil.errors import DataError
from microveil.numerics.graphs.candidates import BUCKETS, DegreeCandidates


@pytest.mark.spec("05:SN-02", "06:SG-24")
def test_nodes_are_shared_out_by_their_numbers_of_candidates() -> None:
    published = np.repeat([1, 2, 3, 4, 5, 6, 7, 8], [1, 2, 4, 5, 10, 11, 20, 21])
    found = DegreeCandidates(published, published)
    assert BUCKETS == ("1", "2-4", "5-10", "11-20", ">20")
    assert (found.shares * len(published)).round(9).tolist() == [1, 6, 15, 31, 21]
    assert found.without == 0.0
    assert found.expected == pytest.approx(8 / len(published))


@pytest.mark.spec("05:SN-02", "06:SG-24")
def test_candidates_are_the_nodes_whose_published_degree_is_the_true_one() -> None:
    found = DegreeCandidates(np.array([3, 1, 1, 1, 0]), np.array([2, 2, 1, 1, 0]))
    assert [found.of(v).tolist() for v in range(5)] == [[], [2, 3], [2, 3], [2, 3], [4]]
    assert found.sizes.tolist() == [0, 2, 2, 2, 1]
    assert found.shares.tolist() == [1 / 5, 3 / 5, 0, 0, 0]
    assert found.without == 1 / 5
    assert found.expected == pytest.approx((1 / 2 + 1 / 2 + 1) / 5)


degrees_twice = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=40)


@given(degrees_twice)
def test_shares_add_up_and_guesses_are_those_one_by_one(pairs: list[tuple[int, int]]) -> None:
    both = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    found = DegreeCandidates(both[:, 0], both[:, 1])
    assert found.sizes.tolist() == [len(found.of(v)) for v in range(len(pairs))]
    right = [1 / len(found.of(v)) for v in range(len(pairs)) if v in found.of(v)]
    assert found.expected == pytest.approx(sum(right) / max(1, len(pairs)))
    assert found.shares.sum() + found.without == pytest.approx(1.0 if pairs else 0.0)


def test_graphs_of_different_nodes_are_refused() -> None:
    with pytest.raises(DataError, match="different numbers of nodes"):
        DegreeCandidates(np.array([1, 1]), np.array([1, 1, 0]))
