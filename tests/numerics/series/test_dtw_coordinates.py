"""Points that stand for warping: exact where the costs are squared distances, near to the costs otherwise."""

from __future__ import annotations

import numpy as np
import pytest

from microveil.numerics.grouping.mdav import mdav_groups
from microveil.numerics.series.curves import curves
from microveil.numerics.series.dtw_coordinates import dtw_coordinates, scaled_points
from microveil.numerics.series.dtw_search import dtw_matrix
from microveil.typing import FloatArray, IntArray


def squares_between(points: FloatArray) -> FloatArray:
    return np.asarray(((points[:, None] - points) ** 2).sum(axis=2))


def cost_within(costs: FloatArray, labels: IntArray) -> float:
    groups = [np.flatnonzero(labels == g) for g in range(labels.max() + 1)]
    return float(sum(costs[np.ix_(rows, rows)].sum() / (2 * len(rows)) for rows in groups))


def mdav_on_costs(costs: FloatArray, k: int) -> IntArray:
    """MDAV on a matrix of squared distances: the farthest from the mean has the largest mean square to all that are
    left."""
    left, labels, group = np.arange(len(costs)), np.empty(len(costs), dtype=np.int64), 0

    def gather(seed: int) -> None:
        nonlocal left, group
        near = left[np.lexsort((left, np.where(left == seed, -1.0, costs[seed, left])))][:k]
        labels[near] = group
        left, group = np.setdiff1d(left, near), group + 1

    while len(left) >= 2 * k:
        first = int(left[np.argmax(costs[np.ix_(left, left)].mean(axis=1))])
        gather(first)
        if len(left) >= 2 * k:
            gather(int(left[np.argmax(costs[first, left])]))
    labels[left] = group
    return labels


def bumps(n: int, length: int) -> FloatArray:
    """One bump each, at any time, wide or narrow, high or low."""
    rng = np.random.default_rng(9)
    time = np.arange(length)
    at, wide = rng.uniform(0.2, 0.8, (n, 1)) * length, rng.uniform(0.05, 0.12, (n, 1)) * length
    return np.asarray(
        rng.uniform(1, 5, (n, 1)) * np.exp(-(((time - at) / wide) ** 2)) + rng.normal(0, 0.2, (n, length))
    )


def test_scaling_finds_the_distances_of_points_again() -> None:
    points = np.random.default_rng(1).normal(size=(30, 4))
    squares = squares_between(points)
    assert np.allclose(squares_between(scaled_points(squares)), squares)
    assert scaled_points(squares).shape == (30, 4)


def test_series_of_one_point_have_the_roots_of_their_costs_for_squares() -> None:
    values = np.array([[0.0], [1.0], [4.0], [9.0]])
    found = squares_between(dtw_coordinates(curves(values)))
    expected = np.abs(values - values.T)
    assert np.allclose(found / found[0, 3], expected / expected[0, 3])


@pytest.mark.parametrize(("most_exact", "within"), [(300, 1.10), (0, 1.20)], ids=["all", "landmarks"])
def test_groups_on_the_points_cost_nearly_what_groups_on_the_costs_do(most_exact: int, within: float) -> None:
    series = bumps(200, 30)
    costs = dtw_matrix(curves(series))
    points = dtw_coordinates(curves(series), most_exact=most_exact, landmarks=60)
    for k in (3, 8):
        exact = cost_within(costs, mdav_on_costs(costs, k))
        assert cost_within(costs, mdav_groups(points, k)) < within * exact
        assert cost_within(costs, mdav_groups(series, k)) > 1.2 * exact  # so the warping matters here


@pytest.mark.parametrize("most_exact", [300, 0], ids=["all", "landmarks"])
def test_the_order_of_the_records_plays_no_part_and_equal_series_share_a_point(most_exact: int) -> None:
    series = np.vstack([bumps(40, 12), bumps(40, 12)[:5]])
    order = np.random.default_rng(2).permutation(len(series))
    points = dtw_coordinates(curves(series), most_exact=most_exact, landmarks=15)
    again = dtw_coordinates(curves(series[order]), most_exact=most_exact, landmarks=15)
    assert np.array_equal(points[order], again)
    assert np.array_equal(points[:5], points[40:])


def test_records_without_points_constants_and_variables_apart() -> None:
    empty, full = np.full((1, 3), np.nan), np.arange(9.0).reshape(3, 3)
    points = dtw_coordinates(curves(np.vstack([full, empty])))
    assert np.isnan(points[3]).all()
    assert not np.isnan(points[:3]).any()
    assert dtw_coordinates(curves(np.ones((4, 3)))).tolist() == [[0.0]] * 4
    assert dtw_coordinates(curves(np.full((2, 3), np.nan))).shape == (2, 1)
    # the first two have one variable in common each with the last, and none with each other
    one, other = np.array([[1.0], [np.nan], [2.0]]), np.array([[np.nan], [5.0], [5.0]])
    assert np.isfinite(dtw_coordinates(curves(one, other))).all()
    assert np.isfinite(dtw_coordinates(curves(one, other), most_exact=0)).all()


def test_the_spread_of_the_points_is_that_of_squared_distances() -> None:
    series = bumps(60, 10)
    points = dtw_coordinates(curves(series))
    assert points.var(axis=0).sum() == pytest.approx(dtw_matrix(curves(series)).mean() / 2)
