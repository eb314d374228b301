"""Filters against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microveil.numerics.series.filters import aggregated, exponential, low_pass, moving_average
from microveil.typing import FloatArray


@st.composite
def tables(draw: st.DrawFn) -> FloatArray:
    rows, length, seed = draw(st.integers(1, 5)), draw(st.integers(1, 14)), draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    values = rng.normal(100, 5, (rows, length))
    values[rng.random(values.shape) < draw(st.sampled_from([0.0, 0.3, 1.0]))] = np.nan
    return values


@given(tables(), st.integers(1, 16))
def test_the_moving_average_is_the_mean_of_what_is_in_the_window(values: FloatArray, window: int) -> None:
    found = moving_average(values, window)
    for i, t in np.ndindex(values.shape):
        inside = values[i, max(0, t - (window - 1) // 2) : t + window // 2 + 1]
        expected = np.nan if np.isnan(values[i, t]) else np.nanmean(inside)
        np.testing.assert_allclose(found[i, t], expected, rtol=1e-10)


@given(tables(), st.integers(1, 16))
def test_exponential_smoothing_follows_its_recursion_over_gaps(values: FloatArray, window: int) -> None:
    found, share = exponential(values, window), 2 / (window + 1)
    for row, smooth in zip(values, found, strict=True):
        held = np.nan
        for value, got in zip(row, smooth, strict=True):
            if np.isnan(value):
                assert np.isnan(got)
                continue
            held = value if np.isnan(held) else share * value + (1 - share) * held
            assert got == pytest.approx(held, rel=1e-12)


@given(tables(), st.integers(1, 16))
def test_the_low_pass_keeps_the_mean_of_complete_series_and_loses_no_more_when_repeated(
    values: FloatArray, window: int
) -> None:
    at = np.arange(float(values.shape[1]))
    found = low_pass(values, window, at)
    assert (np.isnan(found) == np.isnan(values)).all()
    complete = ~np.isnan(values).any(axis=1)
    np.testing.assert_allclose(found[complete].mean(axis=1), values[complete].mean(axis=1), rtol=1e-10)
    np.testing.assert_allclose(low_pass(found[complete], window, at), found[complete], rtol=1e-10)


def test_the_low_pass_keeps_slow_waves_and_removes_fast_ones() -> None:
    at = np.arange(64)
    slow, fast = np.cos(np.pi * (at + 0.5) * 4 / 64), np.cos(np.pi * (at + 0.5) * 40 / 64)
    np.testing.assert_allclose(low_pass((slow + fast)[None], 8, at * 1.0)[0], slow, atol=1e-12)


def test_the_low_pass_leaves_one_number_a_window() -> None:
    made = low_pass(np.eye(60), 6, np.arange(60.0))
    assert np.linalg.matrix_rank(made) == 60 // 6 + 1


@given(tables(), st.integers(1, 16))
def test_windows_of_time_are_aggregated_as_a_loop_does(values: FloatArray, window: int) -> None:
    length = values.shape[1]
    for statistic, compute in (("mean", np.nanmean), ("sum", np.nansum), ("maximum", np.nanmax)):
        found = aggregated(values, window, statistic)  # type: ignore[arg-type]
        assert (np.isnan(found) == np.isnan(values)).all()
        for i in range(len(values)):
            starts = [window * number for number in range(max(1, length // window))]
            for start, end in zip(starts, [*starts[1:], length], strict=True):
                inside = values[i, start:end]
                if not np.isnan(inside).all():
                    got = found[i, start:end][~np.isnan(inside)]
                    np.testing.assert_allclose(got, compute(inside), rtol=1e-12)


def test_constant_series_stay_as_they_are_to_the_last_digit() -> None:
    values = np.array([[0.1] * 7, [1e9 + 0.3] * 7, [np.nan, 0.7, 0.7, np.nan, 0.7, 0.7, np.nan]])
    for made in (
        moving_average(values, 3),
        exponential(values, 4),
        low_pass(values, 3, np.arange(7.0)),
        aggregated(values, 3, "mean"),
    ):
        np.testing.assert_array_equal(made, values)
