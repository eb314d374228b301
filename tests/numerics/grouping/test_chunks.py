"""Blocks of similar records: halves, and boxes of several attributes at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.numerics.grouping.chunks import similar_chunks


@pytest.mark.spec("01:MA-18")
@settings(max_examples=100, deadline=None)
@given(
    n=st.integers(1, 120),
    d=st.integers(1, 5),
    largest=st.integers(1, 40),
    smallest=st.integers(1, 8),
    axes=st.integers(1, 6),
    distinct=st.sampled_from([1, 2, 5, 1000]),
    seed=st.integers(0, 999),
)
def test_blocks_hold_every_record_once_and_are_neither_too_large_nor_too_small(
    n: int, d: int, largest: int, smallest: int, axes: int, distinct: int, seed: int
) -> None:
    columns = np.random.default_rng(seed).integers(0, distinct, (n, d)).astype(float)
    blocks = similar_chunks(columns, largest, smallest, axes)
    assert sorted(np.concatenate(blocks).tolist()) == list(range(n))
    assert all((np.diff(block) > 0).all() for block in blocks)
    if len(blocks) > 1:
        assert min(map(len, blocks)) >= smallest
    assert max(map(len, blocks)) <= max(largest, 2 * smallest - 1)


@pytest.mark.spec("01:MA-18")
def test_one_division_makes_a_box_for_each_side_of_each_median() -> None:
    grid = np.array([[x, y, 0.0] for x in range(8) for y in range(8)])
    quarters = similar_chunks(grid, 16, axes=2)
    assert [len(block) for block in quarters] == [16] * 4
    assert {(bool(grid[b, 0].min() >= 4), bool(grid[b, 1].min() >= 4)) for b in quarters} == {
        (False, False),
        (False, True),
        (True, False),
        (True, True),
    }
    assert all(np.ptp(grid[block, :2], axis=0).tolist() == [3.0, 3.0] for block in quarters)


def test_a_box_with_too_few_records_joins_the_nearest() -> None:
    # along the diagonal, with one record in each of the other corners
    line = np.column_stack([np.arange(20.0), np.arange(20.0)])
    columns = np.vstack([line, [[0.0, 19.0], [18.5, 1.0]]])
    blocks = similar_chunks(columns, 12, 3, axes=2)
    assert [len(block) for block in blocks] == [11, 11]
    alone = similar_chunks(columns, 12, 1, axes=2)
    assert sorted(len(block) for block in alone) == [1, 1, 10, 10]
