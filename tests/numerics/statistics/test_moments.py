"""Roots of covariances and maps between moments, also where a covariance is singular or none at all."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.numerics.statistics.moments import covariance_root, moment_map, paired_covariance, with_moments_of

FloatArray = npt.NDArray[np.float64]


def table(seed: int, rows: int, columns: int, rank: int) -> FloatArray:
    """Rows that vary in so many directions, on scales from 1e-3 up."""
    rng = np.random.default_rng(seed)
    mixed = rng.standard_normal((rows, rank)) @ rng.standard_normal((rank, columns))
    return np.asarray((mixed + 1.0) * 10.0 ** rng.integers(-3, 4, columns))


sizes = st.tuples(st.integers(0, 10_000), st.integers(1, 5), st.integers(1, 5))


@settings(deadline=None)
@given(sizes)
def test_a_root_gives_the_covariance_back(drawn: tuple[int, int, int]) -> None:
    seed, columns, rank = drawn
    covariance = paired_covariance(table(seed, 30, columns, rank))
    root = covariance_root(covariance)
    scale = np.sqrt(np.diag(covariance))
    assert np.abs((root.T @ root - covariance) / np.outer(scale, scale)).max() < 1e-9


def test_a_matrix_that_is_no_covariance_keeps_its_variances() -> None:
    impossible = np.array([[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]])
    assert np.linalg.eigvalsh(impossible)[0] < 0
    root = covariance_root(impossible)
    np.testing.assert_allclose(np.diag(root.T @ root), 1.0)


@settings(deadline=None)
@given(sizes, st.integers(1, 5))
def test_a_map_reaches_the_covariance_where_there_are_directions_enough(
    drawn: tuple[int, int, int], other_rank: int
) -> None:
    seed, columns, rank = drawn
    has = paired_covariance(table(seed, 30, columns, rank))
    wanted = paired_covariance(table(seed + 1, 30, columns, other_rank))
    turn, reached = moment_map(has, wanted)
    assert reached == (min(rank, columns) >= min(other_rank, columns))
    scale = np.sqrt(np.diag(wanted))
    off = np.abs((turn.T @ has @ turn - wanted) / np.outer(scale, scale)).max()
    assert (off < 1e-6) == reached


def test_regular_covariances_use_the_quotient_of_their_cholesky_factors() -> None:
    has, wanted = (paired_covariance(table(seed, 40, 3, 3)) for seed in (1, 2))
    turn, _ = moment_map(has, wanted)
    expected = np.linalg.inv(np.linalg.cholesky(has).T) @ np.linalg.cholesky(wanted).T
    np.testing.assert_allclose(turn, expected, rtol=1e-7)
    np.testing.assert_array_equal(turn[np.tril_indices(3, -1)], 0.0)


@settings(deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 4), st.floats(0.0, 0.5))
def test_complete_rows_get_the_moments_and_rows_with_gaps_are_mapped_too(seed: int, columns: int, gaps: float) -> None:
    rng = np.random.default_rng(seed)
    original, masked = table(seed, 60, columns, columns), table(seed + 1, 60, columns, columns)
    missing = rng.random(original.shape) < gaps
    missing[: columns + 2] = False
    original, masked = (np.where(missing, np.nan, x) for x in (original, masked))
    mapped, reached = with_moments_of(original, masked)
    assert (np.isnan(mapped) == missing).all()
    complete = ~missing.any(axis=1)
    if reached:
        scale = original[complete].std(axis=0)
        assert (np.abs(mapped[complete].mean(axis=0) - original[complete].mean(axis=0)) < 1e-8 * scale).all()
        change = np.cov(mapped[complete], rowvar=False) - np.cov(original[complete], rowvar=False)
        assert np.abs(change / np.outer(scale, scale)).max() < 1e-6


def test_a_row_with_a_gap_is_mapped_by_the_columns_it_has() -> None:
    original, masked = table(1, 50, 2, 2), table(2, 50, 2, 2)
    original[0, 1] = masked[0, 1] = np.nan
    mapped, _ = with_moments_of(original, masked)
    has, wanted = masked[1:, 0], original[1:, 0]
    expected = (masked[0, 0] - has.mean()) * wanted.std() / has.std() + wanted.mean()
    assert mapped[0, 0] == pytest.approx(expected)


def test_a_constant_of_the_original_becomes_constant_again() -> None:
    original, masked = table(1, 20, 2, 2), table(2, 20, 2, 2)
    original[:, 0] = 0.3
    mapped, _ = with_moments_of(original, masked)
    np.testing.assert_allclose(mapped[:, 0], 0.3, rtol=1e-12)
