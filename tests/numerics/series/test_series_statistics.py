"""Means, autocovariances and spectra of series: values computed by hand or independently, gaps, and rounding."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from microveil.numerics.series.statistics import (
    autocorrelations,
    autocovariance,
    means,
    periodograms,
    relative_variation,
    shares,
    signed_variation,
)
from reproduction.price_indices import cells

PRICES = cells("6.1")
MATRICES = arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 9)), elements=st.floats(-1e6, 1e6))


@pytest.mark.spec("03:TS-1", "04:TS-NORM")
def test_the_means_of_the_price_indices() -> None:
    assert means(PRICES) == pytest.approx([118.3556, 129.7222, 115.8667, 139.8889], abs=5e-5)


@pytest.mark.spec("03:TS-1", "04:TS-IL")
def test_the_autocovariances_of_bread_at_quarters_of_its_length() -> None:
    found = [autocovariance(PRICES, lag)[0] for lag in (0, 2, 4, 6)]
    assert found == pytest.approx([42.9514, 11.1014, -4.2609, -14.2928], abs=5e-5)


@pytest.mark.spec("03:TS-1")
def test_autocovariances_are_biased_sums_of_products() -> None:
    rng = np.random.default_rng(1)
    series = rng.normal(3.0, 2.0, (3, 17))
    for lag in range(20):
        for row, found in zip(series, autocovariance(series, lag), strict=True):
            centred = row - row.mean()
            right = sum(centred[i] * centred[i + lag] for i in range(17 - lag)) / 17
            assert found == pytest.approx(right, abs=1e-12)


@pytest.mark.spec("03:TS-1")
def test_the_autocorrelation_is_the_autocovariance_over_the_variance() -> None:
    found = autocorrelations(PRICES, 8)
    assert found[:, 0] == pytest.approx([1.0] * 4)
    for lag in range(9):
        assert found[:, lag] == pytest.approx(autocovariance(PRICES, lag) / PRICES.var(axis=1))
        assert found[:, lag] == pytest.approx(autocovariance(PRICES, lag, normalise=True))
    assert np.abs(found).max() <= 1 + 1e-12


@pytest.mark.spec("03:TS-1")
def test_the_literal_formula_has_one_product() -> None:
    series = np.array([[1.0, 2.0, 3.0, 6.0]])
    assert autocovariance(series, 2, literal=True)[0] == pytest.approx((1 - 3) * (3 - 3) / 4)
    assert autocovariance(series, 3, literal=True)[0] == pytest.approx((1 - 3) * (6 - 3) / 4)
    shifted = np.array([[np.nan, 1.0, 2.0, 3.0, 6.0]])
    assert autocovariance(shifted, 3, literal=True)[0] == pytest.approx((1 - 3) * (6 - 3) / 4)


def test_every_series_may_have_its_own_lag() -> None:
    lags = np.array([0, 3, 8, 20])
    found = autocovariance(PRICES, lags)
    assert found == pytest.approx([autocovariance(PRICES, int(lag))[i] for i, lag in enumerate(lags)])
    assert found[3] == 0.0


@pytest.mark.spec("03:TS-1")
def test_a_series_that_begins_later_or_ends_earlier_has_the_same_statistics() -> None:
    gap = np.full((4, 2), np.nan)
    padded = np.hstack([gap, PRICES, gap[:, :1]])
    assert means(padded) == pytest.approx(means(PRICES))
    for lag in (0, 1, 4):
        assert autocovariance(padded, lag) == pytest.approx(autocovariance(PRICES, lag))


def test_a_gap_leaves_out_the_products_it_is_in() -> None:
    series = np.array([[1.0, np.nan, 3.0, 5.0]])
    assert means(series)[0] == 3.0
    assert autocovariance(series, 1)[0] == pytest.approx((3 - 3) * (5 - 3) / 3)
    assert autocovariance(series, 2)[0] == pytest.approx((1 - 3) * (3 - 3) / 3)
    assert autocovariance(series, 3)[0] == pytest.approx((1 - 3) * (5 - 3) / 3)


def test_constants_and_missing_series_are_exact() -> None:
    odd = np.array([[0.1] * 7, [np.nan] * 7, [0.1, 0.1, np.nan, 0.1, 0.1, 0.1 * (1 + 1e-15), 0.1]])
    assert means(odd[:1])[0] == 0.1
    assert np.isnan(means(odd)[1])
    for lag in (0, 1, 3):
        found = autocovariance(odd, lag)
        assert (found[0], found[2]) == (0.0, 0.0)
        assert np.isnan(found[1])
        assert autocovariance(odd, lag, normalise=True)[0] == 0.0
    assert not periodograms(odd[:1]).any()


def test_what_is_zero_but_for_rounding_is_zero() -> None:
    assert means(np.array([[0.1, 0.2, -0.3]]))[0] == 0.0
    assert autocovariance(np.array([[0.1, 0.0, -0.1, 0.0]]) * 3, 1)[0] == 0.0


@given(series=MATRICES)
def test_the_parts_of_a_periodogram_add_up_to_the_variance(series: np.ndarray) -> None:
    parts = periodograms(series)
    assert parts.shape[1] == series.shape[1] // 2
    np.testing.assert_allclose(parts.sum(axis=1), series.var(axis=1), rtol=1e-9, atol=1e-9 * np.abs(series).max() ** 2)
    sums = shares(parts).sum(axis=1)
    assert (np.isclose(sums, 1.0) | (sums == 0)).all()


def test_a_cycle_has_its_variance_at_its_frequency() -> None:
    time = np.arange(12)
    waves = np.array([np.cos(2 * np.pi * cycles * time / 12) for cycles in (1, 2, 5)])
    found = shares(periodograms(5 + 3 * waves))
    assert found.argmax(axis=1).tolist() == [0, 1, 4]
    assert found.max(axis=1) == pytest.approx([1.0] * 3)


@pytest.mark.spec("04:TS-IL")
def test_relative_variation() -> None:
    one, other = (
        np.array([2.0, -1.0, 0.0, 0.0, 5.0, np.nan, np.inf, np.inf]),
        np.array([1.0, 1.0, 0.0, 3.0, np.nan, 5.0, np.inf, 2.0]),
    )
    found = relative_variation(one, other)
    assert found[:5].tolist() == [0.5, 1.0, 0.0, 1.0, 1.0]
    assert np.isnan(found[5])
    assert found[6:].tolist() == [0.0, 1.0]
    assert signed_variation(one, other)[:4].tolist() == [0.5, -2.0, 0.0, -1.0]


@given(one=MATRICES, seed=st.integers(0, 100))
def test_relative_variation_is_symmetric_and_between_0_and_1(one: np.ndarray, seed: int) -> None:
    other = one + np.random.default_rng(seed).normal(0, 10, one.shape)
    found = relative_variation(one, other)
    assert ((found >= 0) & (found <= 1)).all()
    np.testing.assert_allclose(found, relative_variation(other, one), rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(relative_variation(one, one), np.zeros_like(one))
