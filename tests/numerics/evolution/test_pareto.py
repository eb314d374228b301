from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microveil.numerics.evolution.pareto import crowding_distances, dominance, hypervolume, ranks

POINTS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 2)), min_size=1, max_size=25)


def dominates(one: tuple[int, int, int], other: tuple[int, int, int]) -> bool:
    """By the definition, for one pair: loss, risk and violation."""
    if one[2] != other[2]:
        return one[2] < other[2]
    return one[0] <= other[0] and one[1] <= other[1] and one[:2] != other[:2]


@given(POINTS)
def test_dominance_is_what_its_definition_says(points: list[tuple[int, int, int]]) -> None:
    found = np.array(points, dtype=np.float64)
    expected = [[dominates(one, other) for other in points] for one in points]
    assert dominance(found[:, :2], found[:, 2]).tolist() == expected


@given(POINTS)
def test_a_rank_is_one_more_than_the_highest_rank_of_those_who_dominate(points: list[tuple[int, int, int]]) -> None:
    found = np.array(points, dtype=np.float64)
    rank = ranks(found[:, :2], found[:, 2])
    for i, point in enumerate(points):
        above = [int(rank[j]) for j, other in enumerate(points) if dominates(other, point)]
        assert rank[i] == max(above, default=-1) + 1


def test_ends_are_never_crowded_and_ties_have_no_width() -> None:
    assert crowding_distances(np.array([[1.0, 1.0]])).tolist() == [np.inf]
    assert crowding_distances(np.array([[0.0, 5.0], [0.0, 5.0], [0.0, 5.0]])).tolist() == [np.inf, 0.0, np.inf]
    found = crowding_distances(np.array([[0.0, 10.0], [2.0, 4.0], [3.0, 3.0], [10.0, 0.0]]))
    assert found.tolist() == [np.inf, pytest.approx(3 / 10 + 7 / 10), pytest.approx(8 / 10 + 4 / 10), np.inf]


@given(st.lists(st.tuples(st.integers(0, 120), st.integers(0, 120)), max_size=12))
def test_hypervolume_counts_the_cells_that_some_point_dominates(points: list[tuple[int, int]]) -> None:
    cells = sum(any(x <= i and y <= j for x, y in points) for i in range(100) for j in range(100))
    assert hypervolume(np.array(points, dtype=np.float64).reshape(-1, 2)) == pytest.approx(cells / 100)


def test_what_is_dominated_adds_nothing() -> None:
    front = [[10.0, 60.0], [40.0, 20.0]]
    assert hypervolume(np.array([*front, [50.0, 30.0]])) == hypervolume(np.array(front)) == pytest.approx(36 + 24)
