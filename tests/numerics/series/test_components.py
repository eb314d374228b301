"""Levels, shapes and filled gaps."""

from __future__ import annotations

import numpy as np
import pytest

from microveil.numerics.series.components import (
    average_shape,
    completed,
    deviations,
    points,
    pooled_spread,
    spreads,
)
from microveil.numerics.series.resampling import fill_gaps
from microveil.numerics.series.statistics import means

NAN = np.nan
TABLE = np.array([[1.0, 3.0, 2.0, NAN], [NAN, 4.0, NAN, 8.0], [NAN, NAN, NAN, NAN], [5.0, 5.0, 5.0, 5.0]])


def test_level_and_spread_are_those_of_the_values_that_are_there() -> None:
    np.testing.assert_allclose(means(TABLE), [2.0, 6.0, NAN, 5.0])
    np.testing.assert_allclose(spreads(TABLE), [np.sqrt(2 / 3), 2.0, 0.0, 0.0])
    assert points(TABLE).tolist() == [3, 2, 0, 4]
    np.testing.assert_allclose(deviations(TABLE)[1], [0.0, -2.0, 0.0, 2.0])


def test_the_pooled_spread_leaves_out_series_of_less_than_two_points() -> None:
    assert pooled_spread(TABLE) == pytest.approx(np.sqrt((2 / 3 + 4.0 + 0.0) / 3))
    assert pooled_spread(np.full((3, 2), NAN)) == 0.0


def test_gaps_are_filled_on_straight_lines_in_time() -> None:
    late = fill_gaps(TABLE, np.array([0.0, 1.0, 4.0, 5.0]))
    np.testing.assert_allclose(late[1], [NAN, 4.0, 7.0, 8.0])
    np.testing.assert_allclose(late[0], TABLE[0])
    assert np.isnan(late[2]).all()


def test_the_ends_of_short_series_are_filled_with_their_level_and_the_average_shape() -> None:
    complete = completed(TABLE, np.arange(4.0))
    average = average_shape(TABLE)
    np.testing.assert_allclose(average, [-0.5, (1.0 - 2.0) / 3, 0.0, 1.0])
    assert complete[0, 3] == pytest.approx(2.0 + average[3])
    assert complete[1, 0] == pytest.approx(6.0 + average[0])
    np.testing.assert_allclose(complete[1, 1:], [4.0, 6.0, 8.0])
    assert np.isnan(complete[2]).all()


def test_complete_series_are_not_touched() -> None:
    whole = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(completed(whole, np.arange(4.0)), whole)
