"""Standardising and ranks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from microveil.numerics.statistics.scaling import Scaling, average_ranks, min_max, standardise


def test_missing_cells_are_left_out_and_stay_missing() -> None:
    z = standardise(np.array([[1.0], [np.nan], [3.0]]))
    assert z[[0, 2], 0].tolist() == [-1.0, 1.0]
    assert np.isnan(z[1, 0])


def test_a_constant_column_becomes_zero_also_when_its_mean_is_rounded() -> None:
    assert (standardise(np.full((7, 1), 0.1)) == 0).all()
    assert (min_max(np.full((7, 1), 0.1)) == 0).all()


def test_a_small_spread_around_a_large_mean_is_a_spread() -> None:
    column = 1e9 + np.array([[0.0], [1.0]])
    assert Scaling.of(column).deviation[0] == pytest.approx(0.5)


def test_average_ranks_are_those_of_scipy() -> None:
    values = np.random.default_rng(0).integers(0, 9, 200).astype(float)
    assert (average_ranks(values) == stats.rankdata(values)).all()
