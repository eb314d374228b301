"""The distribution of a population frequency given the sample's, against plain summation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import nbinom, poisson

from microveil.numerics.counting.individual_risk import expected_inverse
from microveil.numerics.statistics.population_frequencies import (
    below_poisson,
    inverse_negative_binomial,
    inverse_poisson,
    success_rate,
    truncated_mean,
    unique_negative_binomial,
    unique_poisson,
    unseen_poisson,
)


@settings(max_examples=25)
@given(f=st.integers(1, 50), unseen=st.floats(0.0, 300.0))
def test_the_expected_inverse_of_a_poisson_frequency_is_its_sum(f: int, unseen: float) -> None:
    others = np.arange(3000)
    exact = float((poisson.pmf(others, unseen) / (f + others)).sum())
    assert inverse_poisson(np.array([float(f)]), np.array([unseen]))[0] == pytest.approx(exact, rel=1e-9)


@settings(max_examples=25)
@given(f=st.integers(1, 50), success=st.floats(0.01, 1.0), shape=st.floats(0.01, 50.0))
def test_the_expected_inverse_of_a_negative_binomial_frequency_is_its_sum(f: int, success: float, shape: float) -> None:
    others = np.arange(60_000)
    exact = float((nbinom.pmf(others, shape + f, success) / (f + others)).sum())
    found = inverse_negative_binomial(np.array([float(f)]), np.array([success]), shape)[0]
    assert found == pytest.approx(exact, rel=1e-7)


def test_of_a_sample_unique_there_are_closed_forms() -> None:
    one, unseen = np.ones(4), np.array([1e-9, 0.5, 7.0, 900.0])
    assert inverse_poisson(one, unseen) == pytest.approx(-np.expm1(-unseen) / unseen, rel=1e-12)
    success, shape = np.array([0.001, 0.3, 0.9, 0.999]), 0.7
    closed = success * (1 - success**shape) / ((1 - success) * shape)
    assert inverse_negative_binomial(one, success, shape) == pytest.approx(closed, rel=1e-10)


def test_the_negative_binomial_form_lies_between_the_individual_risk_and_the_poisson_form() -> None:
    f, rate, population = np.array([1.0, 1.0, 3.0]), np.array([0.1, 0.5, 0.2]), np.array([4.0, 9.0, 20.0])
    nearly_poisson = inverse_negative_binomial(f, success_rate(rate, population, 1e7), 1e7)
    assert nearly_poisson == pytest.approx(inverse_poisson(f, unseen_poisson(rate, population)), rel=1e-5)
    nearly_none = inverse_negative_binomial(f, success_rate(rate, population, 1e-9), 1e-9)
    assert nearly_none == pytest.approx(expected_inverse(f, rate), rel=1e-6)


def test_the_chance_of_a_population_unique_is_the_first_term() -> None:
    unseen, success = np.array([0.0, 2.0]), np.array([0.25, 1.0])
    assert unique_poisson(unseen) == pytest.approx(poisson.pmf(0, unseen))
    assert unique_negative_binomial(success, 0.5) == pytest.approx(nbinom.pmf(0, 1.5, success))


def test_a_gamma_distributed_mean_gives_the_stated_negative_binomial_distribution() -> None:
    """Draw means, populations and samples, and look at the populations of sample uniques."""
    rng, shape, mean, rate = np.random.default_rng(3), 0.8, 5.0, 0.3
    population = rng.poisson(rng.gamma(shape, mean / shape, 400_000))
    uniques = population[rng.binomial(population, rate) == 1]
    success = success_rate(np.array([rate]), np.array([mean]), shape)
    error = 4 / len(uniques) ** 0.5
    assert (uniques == 1).mean() == pytest.approx(unique_negative_binomial(success, shape)[0], abs=error / 2)
    found = inverse_negative_binomial(np.ones(1), success, shape)[0]
    assert (1 / uniques).mean() == pytest.approx(found, abs=error / 2)


def test_the_chance_of_fewer_than_k_is_the_poisson_distribution_function() -> None:
    found = below_poisson(5, np.array([1.0, 4.0, 5.0]), np.array([2.0, 2.0, 0.0]))
    assert found == pytest.approx([poisson.cdf(3, 2.0), poisson.cdf(0, 2.0), 0.0])


@given(f=st.integers(1, 400))
def test_the_truncated_mean_gives_the_frequency_back(f: int) -> None:
    mean = truncated_mean(np.array([float(f)]))[0]
    assert (0.0 if f == 1 else mean / -np.expm1(-mean)) == pytest.approx(0.0 if f == 1 else f)
