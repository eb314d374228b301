"""Directions are found without knowing which records belong together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.numerics.linkage.monotone_direction import decreasing
from microveil.numerics.statistics.scaling import relative_ranks


@settings(max_examples=40, deadline=None)
@given(
    turns=st.lists(st.booleans(), min_size=2, max_size=9), seed=st.integers(0, 99), noise=st.sampled_from([0.0, 0.02])
)
def test_every_combination_of_directions_is_found(turns: list[bool], seed: int, noise: float) -> None:
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(300, len(turns)))
    released = (columns + noise * rng.normal(size=columns.shape))[rng.permutation(300)] * np.where(turns, -1, 1)
    assert decreasing([relative_ranks(one) for one in columns.T], [relative_ranks(one) for one in released.T]) == turns


def test_ties_and_missing_values_are_turned_with_the_rest() -> None:
    rng = np.random.default_rng(3)
    columns = rng.integers(0, 12, size=(400, 3)).astype(float) ** 2
    columns[rng.random((400, 3)) < 0.1] = np.nan
    released = columns[rng.permutation(400)] * [1, -1, -1]
    assert decreasing([relative_ranks(one) for one in columns.T], [relative_ranks(one) for one in released.T]) == [
        False,
        True,
        True,
    ]


def test_classes_that_are_known_to_be_equal_tell_the_direction_of_a_single_attribute() -> None:
    rng = np.random.default_rng(5)
    known, x = rng.integers(0, 40, size=300), rng.random(300)
    other = rng.permutation(300)
    assert decreasing([relative_ranks(x)], [relative_ranks(-x[other])]) == [False]  # nothing can tell
    assert decreasing([relative_ranks(x)], [relative_ranks(-x[other])], (known, known[other])) == [True]
    assert decreasing([relative_ranks(x)], [relative_ranks(x[other])], (known, known[other])) == [False]


@pytest.mark.parametrize("records", [0, 1, 50])
def test_where_nothing_tells_values_are_taken_as_they_are(records: int) -> None:
    rng = np.random.default_rng(7)
    sides = [[rng.random(records) for _ in range(3)] for _ in range(2)]
    assert decreasing(*([relative_ranks(one) for one in side] for side in sides)) == [False] * 3
    assert decreasing([], []) == []
