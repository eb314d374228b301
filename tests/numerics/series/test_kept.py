"""What is said to be kept is what was."""

from __future__ import annotations

import numpy as np
import pytest

from microveil.numerics.series.kept import kept_dynamics, kept_means

SERIES = np.cumsum(np.random.default_rng(1).normal(size=(30, 40)), axis=1)


def test_what_is_not_changed_is_kept() -> None:
    means, dynamics = kept_means(SERIES, SERIES), kept_dynamics(SERIES, SERIES)
    assert means is not None
    assert dynamics is not None
    assert (means.file, means.series, dynamics.spectrum) == (0.0, 0.0, 0.0)
    assert dynamics.first_before == dynamics.first_after
    assert dynamics.lag == 10


def test_shifts_that_cancel_move_single_series_but_not_the_file() -> None:
    shift = np.where(np.arange(30) % 2, 1.0, -1.0)[:, None] * SERIES.std()
    means = kept_means(SERIES, SERIES + shift)
    assert means is not None
    assert means.file == pytest.approx(0.0, abs=1e-9)
    assert means.series == pytest.approx(100.0)
    dynamics = kept_dynamics(SERIES, SERIES + shift)
    assert dynamics is not None
    assert dynamics.spectrum == pytest.approx(0.0, abs=1e-9)


def test_shuffled_points_lose_the_autocorrelation_and_the_spectrum() -> None:
    shuffled = np.random.default_rng(2).permuted(SERIES, axis=1)
    dynamics = kept_dynamics(SERIES, shuffled)
    assert dynamics is not None
    assert dynamics.first_before > 0.7
    assert abs(dynamics.first_after) < 0.1
    assert dynamics.spectrum > 50


def test_gaps_are_passed_over_and_series_that_do_not_vary_are_left_out() -> None:
    holes = SERIES.copy()
    holes[:, 5:9] = np.nan
    holes[3] = 2.0
    holes[4] = np.nan
    dynamics = kept_dynamics(holes, holes)
    assert dynamics is not None
    assert np.isfinite(dynamics.first_before)


def test_nothing_is_said_where_there_is_nothing_to_measure() -> None:
    empty, constant = np.full((3, 5), np.nan), np.full((3, 5), 0.1)
    assert kept_means(empty, empty) is None
    assert kept_means(constant, constant) is None
    assert kept_dynamics(constant, constant) is None
    assert kept_dynamics(SERIES[:, :2], SERIES[:, :2]) is None
