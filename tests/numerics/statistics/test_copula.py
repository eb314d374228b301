"""Correlations behind cut columns, and draws that have a covariance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.numerics.statistics.copula import Latent, draw_given, latent_correlation, pairwise_covariance


def normal_pair(rho: float, n: int = 40_000) -> np.ndarray:
    z = np.random.default_rng(5).standard_normal((n, 2))
    return np.column_stack([z[:, 0], rho * z[:, 0] + np.sqrt(1 - rho**2) * z[:, 1]])


def found(one: np.ndarray, other: np.ndarray) -> float:
    rng = np.random.default_rng(1)
    return float(latent_correlation([Latent.of(one.astype(float), rng), Latent.of(other.astype(float), rng)])[0, 1])


@pytest.mark.spec("01:MK-11")
@pytest.mark.parametrize("rho", [-0.8, 0.0, 0.3, 0.8])
@pytest.mark.parametrize("cuts", [(0.0,), (-1.0, 0.2, 1.5)])
def test_the_correlation_behind_categories_is_found(rho: float, cuts: tuple[float, ...]) -> None:
    """Within 0.03: some four standard errors of the correlation of two halves in 40,000 records."""
    x, y = normal_pair(rho).T
    assert found(np.digitize(x, cuts), np.digitize(y, cuts)) == pytest.approx(rho, abs=0.03)
    assert found(np.digitize(x, cuts), y) == pytest.approx(rho, abs=0.03)


def test_the_correlation_of_two_halves_is_the_sine_of_sheppard() -> None:
    """P(both above their medians) = 1/4 + asin(rho) / (2 pi)."""
    x = np.repeat([0, 0, 1, 1], [35, 15, 15, 35])
    y = np.repeat([0, 1, 0, 1], [35, 15, 15, 35])
    assert found(x, y) == pytest.approx(np.sin(2 * np.pi * (0.35 - 0.25)), abs=1e-4)


def test_a_column_without_variation_correlates_with_nothing() -> None:
    x = np.arange(100.0)
    assert found(np.zeros(100), x) == 0.0
    assert found(np.full(100, np.nan), x) == 0.0


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 40),
    d=st.integers(1, 8),
    g=st.integers(0, 3),
    rank=st.integers(1, 8),
)
def test_exact_draws_have_the_covariance_of_the_file_also_with_what_is_given(
    seed: int, n: int, d: int, g: int, rank: int
) -> None:
    """For any rank, and with fewer records than columns."""
    rng = np.random.default_rng(seed)
    file = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, g + d))
    file -= file.mean(axis=0)
    covariance = file.T @ file / n
    draws = draw_given(covariance, file[:, :g], rng, exact=True, size=n)
    both = np.column_stack([file[:, :g], draws])
    assert np.abs(draws.mean(axis=0)).max() < 1e-9
    assert np.abs(both.T @ both / n - covariance).max() < 1e-8 * max(1.0, np.abs(covariance).max())


def test_covariances_are_taken_over_the_records_that_have_both() -> None:
    rng = np.random.default_rng(2)
    columns = rng.standard_normal((50, 3))
    columns[rng.random(columns.shape) < 0.3] = np.nan
    covariance = pairwise_covariance(columns)
    for i in range(3):
        for j in range(3):
            both = ~np.isnan(columns[:, [i, j]]).any(axis=1)
            assert covariance[i, j] == pytest.approx(np.cov(columns[both][:, [i, j]].T, ddof=0)[0, 1])
