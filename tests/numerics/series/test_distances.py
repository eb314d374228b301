"""Distances of series with the same time points: the printed vectors, and what slopes do not see."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microveil.errors import DataError
from microveil.numerics.series.distances import euclidean, slopes, sts

PRICES = np.array(
    [
        [106.5, 110.3, 114.9, 117.9, 119.3, 121, 122.2, 124.1, 129],
        [102.7, 119.8, 147.8, 178.7, 130.8, 116.2, 133.6, 123.5, 114.4],
        [95.6, 101.9, 110.8, 116.4, 114.2, 119, 124.6, 126.4, 133.9],
        [101.1, 133.6, 162.8, 123.8, 121.3, 140.4, 149.8, 148.6, 177.6],
    ]
)  # bread, oil, vegetables, potatoes
PAIRS = list(combinations(range(4), 2))


@pytest.mark.spec("04:TS-DIST", "03:TS-2")
def test_the_distances_of_the_price_indices() -> None:
    euclidean_ones = [round(euclidean(PRICES[a], PRICES[b]), 4) for a, b in PAIRS]
    assert euclidean_ones == [73.3656, 16.5378, 83.6995, 79.8384, 94.8398, 85.6729]
    assert [round(sts(PRICES[a], PRICES[b]), 4) for a, b in PAIRS] == [
        69.2927, 8.9554, 64.5638, 64.3646, 99.5805, 61.4651,
    ]  # fmt: skip


@pytest.mark.spec("03:TS-2")
def test_the_distances_of_two_short_series() -> None:
    x, v = np.array([1.0, 2, 3, 4, 3]), np.array([1.0, 1, 2, 3, 4])
    assert euclidean(x, v) == 2.0
    assert round(sts(x, v), 6) == 2.236068
    assert sts(x[:1], v[:1]) == 0.0


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=12), st.integers(-1000, 1000), st.integers(1, 5))
def test_sts_does_not_see_the_level_and_divides_by_the_time_between_points(
    values: list[int], level: int, spacing: int
) -> None:
    x = np.array(values, dtype=np.float64)
    other = np.cumsum(x)[::-1].copy()
    assert sts(x, x + level) == 0.0
    assert sts(x + level, other) == sts(x, other)
    positions = spacing * np.arange(len(x), dtype=np.float64)
    assert sts(x, other, positions) == pytest.approx(sts(x, other) / spacing, abs=1e-12)
    assert sts(x, other) == euclidean(slopes(x[None])[0], slopes(other[None])[0])


def test_a_missing_cell_leaves_no_slope_beside_it() -> None:
    found = slopes(np.array([[1.0, np.nan, 4.0, 6.0]]))
    assert np.isnan(found[0, :2]).all()
    assert found[0, 2] == 2.0


def test_series_of_other_lengths_and_times_that_do_not_ascend_are_refused() -> None:
    with pytest.raises(DataError, match="series of 2 and 3 points"):
        euclidean(np.zeros(2), np.zeros(3))
    with pytest.raises(DataError, match="must ascend"):
        slopes(np.zeros((1, 3)), np.array([0.0, 1.0, 1.0]))
