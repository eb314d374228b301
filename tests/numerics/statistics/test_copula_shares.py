"""Shares of combinations under a Gaussian copula."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from microveil.numerics.statistics.copula_shares import box_probabilities, category_bounds, copula_correlation


def test_a_box_of_two_has_its_bivariate_normal_probability() -> None:
    lower, upper = (
        np.array([[-np.inf, -np.inf], [-0.5, 0.2], [1.0, -np.inf]]),
        np.array([[0.3, -0.4], [0.9, 1.1], [np.inf, 0.0]]),
    )
    correlation = np.array([[1.0, 0.6], [0.6, 1.0]])
    normal = multivariate_normal(mean=[0, 0], cov=correlation)
    exact = [normal.cdf(np.clip(b, -9, 9), lower_limit=np.clip(a, -9, 9)) for a, b in zip(lower, upper, strict=True)]
    assert box_probabilities(lower, upper, correlation) == pytest.approx(exact, rel=0.01)


def test_independent_attributes_have_the_product_of_their_shares() -> None:
    rng = np.random.default_rng(1)
    codes = np.column_stack([rng.integers(0, size, 500) for size in (3, 5, 4, 2)])
    bounds = [category_bounds(column, np.ones(500)) for column in codes.T]
    lower, upper = (np.column_stack(sides) for sides in zip(*bounds, strict=True))
    product = np.prod([np.bincount(column)[column] / 500 for column in codes.T], axis=0)
    assert box_probabilities(lower, upper, np.eye(4)) == pytest.approx(product)


def test_the_boxes_of_all_combinations_fill_the_whole() -> None:
    codes = np.argwhere(np.ones((3, 4, 2, 3)))
    weights = np.random.default_rng(2).random(len(codes))
    bounds = [category_bounds(column, weights) for column in codes.T]
    lower, upper = (np.column_stack(sides) for sides in zip(*bounds, strict=True))
    correlation = np.full((4, 4), 0.4) + 0.6 * np.eye(4)
    assert box_probabilities(lower, upper, correlation).sum() == pytest.approx(1, rel=1e-3)


def test_the_correlation_behind_cut_normal_variables_is_found() -> None:
    rng = np.random.default_rng(3)
    normal = rng.multivariate_normal([0, 0], [[1, 0.7], [0.7, 1]], 20_000)
    codes = np.column_stack([np.searchsorted([-0.5, 0.4], normal[:, 0]), np.searchsorted([0.0, 1.0], normal[:, 1])])
    found = copula_correlation(codes, np.ones(20_000, dtype=np.int64), rng)
    assert found[0, 1] == pytest.approx(0.7, abs=0.03)


def test_a_wildcard_has_no_bounds_and_one_attribute_no_integral() -> None:
    lower, upper = category_bounds(np.array([0, 0, 1, -1]), np.array([1.0, 1.0, 2.0, 1.0]))
    found = box_probabilities(lower[:, None], upper[:, None], np.eye(1))
    assert found == pytest.approx([0.5, 0.5, 0.5, 1.0])
