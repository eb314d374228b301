"""The minimum covariance determinant beside a search through all subsets."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microveil.numerics.statistics.minimum_covariance_determinant import (
    RobustEllipsoid,
    least_determinant,
    shortest_half,
    subset_size,
)
from microveil.typing import FloatArray


def starts() -> np.random.Generator:
    return np.random.default_rng(0)


def ellipsoid(rows: FloatArray, share: float = 0.5) -> RobustEllipsoid:
    found = RobustEllipsoid.of(rows, share, starts())
    assert found is not None
    return found


def determinant(rows: FloatArray) -> float:
    return float(np.linalg.det(np.atleast_2d(np.cov(rows.T, bias=True))))


@given(st.integers(0, 2**32), st.sampled_from([1, 2, 3]), st.integers(8, 10))
def test_no_other_subset_of_a_small_table_has_a_smaller_determinant(seed: int, p: int, n: int) -> None:
    rows = np.random.default_rng(seed).standard_t(3, (n, p))
    h = subset_size(n, p, 0.5)
    members = least_determinant(rows, h, starts())
    least = min(determinant(rows[list(chosen)]) for chosen in combinations(range(n), h))
    assert members is not None
    assert determinant(rows[members]) == pytest.approx(least, rel=1e-9)


@given(st.integers(0, 2**32))
def test_it_is_affine_equivariant(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((60, 3)) @ rng.standard_normal((3, 3))
    rows[:8] += 30
    matrix, shift = np.linalg.qr(rng.standard_normal((3, 3)))[0] * rng.uniform(0.1, 10, 3), rng.normal(0, 100, 3)
    before, after = ellipsoid(rows), ellipsoid(rows @ matrix + shift)
    assert after.centre == pytest.approx(before.centre @ matrix + shift, rel=1e-6, abs=1e-6)
    expected = matrix.T @ before.covariance @ matrix
    assert after.covariance == pytest.approx(expected, rel=1e-6, abs=1e-6 * np.abs(expected).max())
    distances = [found.squared_distances(of)[0] for found, of in ((before, rows), (after, rows @ matrix + shift))]
    assert distances[1] == pytest.approx(distances[0], rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("records", [200, 3_000])
def test_four_records_of_ten_do_not_move_it(records: int) -> None:
    rng = np.random.default_rng(1)
    clean = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], records)
    far = clean.copy()
    far[: records * 4 // 10] = rng.normal([9, -9], 0.1, (records * 4 // 10, 2))
    found = ellipsoid(far)
    assert found.centre == pytest.approx([0, 0], abs=0.3)
    assert found.covariance == pytest.approx(np.array([[1, 0.8], [0.8, 1]]), abs=0.35)
    squared, _ = found.squared_distances(far)
    assert squared[: records * 4 // 10].min() > 100


def test_of_normal_records_it_estimates_the_covariance_and_leaves_about_the_quantile_inside() -> None:
    covariance = np.array([[4.0, 1.0, 0.0], [1.0, 1.0, 0.3], [0.0, 0.3, 9.0]])
    rows = np.random.default_rng(5).multivariate_normal([1, 2, 3], covariance, 20_000)
    found = ellipsoid(rows)
    assert found.covariance == pytest.approx(covariance, abs=0.25)
    squared, dimensions = found.squared_distances(rows)
    assert set(dimensions) == {3}
    assert float((squared > 9.3484).mean()) == pytest.approx(0.025, abs=0.005)  # the 97.5 % quantile with 3 degrees


def test_half_of_the_records_in_a_plane_take_a_larger_share() -> None:
    rng = np.random.default_rng(2)
    rows = rng.standard_normal((100, 2))
    rows[:60, 1] = rows[:60, 0]
    assert least_determinant(rows, subset_size(100, 2, 0.5), starts()) is None
    assert ellipsoid(rows).share == 0.625


def test_columns_that_follow_from_others_make_it_flat() -> None:
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((100, 2))
    rows[0] = 1e9, 1e9
    with_total = np.column_stack([rows, rows.sum(axis=1)])
    flat, full = ellipsoid(with_total), ellipsoid(rows)
    squared, dimensions = flat.squared_distances(with_total[1:])
    assert set(dimensions) == {2}
    assert squared == pytest.approx(full.squared_distances(rows[1:])[0], rel=1e-6)


def test_a_row_with_missing_cells_is_measured_by_the_others() -> None:
    rng = np.random.default_rng(4)
    found = ellipsoid(rng.standard_normal((80, 2)))
    squared, dimensions = found.squared_distances(np.array([[3.0, np.nan], [np.nan, np.nan]]))
    assert squared[0] == pytest.approx((3.0 - found.centre[0]) ** 2 / found.covariance[0, 0])
    assert squared[1] == 0
    assert dimensions.tolist() == [1, 0]


def test_the_shortest_half_ignores_missing_cells_and_outliers() -> None:
    assert shortest_half(np.array([np.nan, 1.0, 3.0, 1e9, np.nan])) == 2.0
    assert shortest_half(np.array([np.nan])) == 0.0
