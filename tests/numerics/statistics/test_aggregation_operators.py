"""Aggregation functions: values computed independently, their identities, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.errors import ParameterError
from microveil.numerics.statistics.aggregation_operators import (
    ALPHAS,
    FuzzyMeasure,
    arithmetic_mean,
    choquet,
    owa,
    power_quantifier,
    quantifiers,
    sigmoid_quantifier,
    sugeno,
    threshold_quantifier,
    twofold,
    weighted_mean,
)

A = np.array([[0.2, 0.9, 0.5, 0.7]])
SQUARE = power_quantifier(2)
EVEN = FuzzyMeasure.symmetric(power_quantifier(1), 4)


def general(sources: int, seed: int) -> FuzzyMeasure:
    """A measure that grows with every element, drawn at random."""
    rng = np.random.default_rng(seed)
    values = rng.random(2**sources)
    for mask in range(2**sources):
        for source in range(sources):
            if mask & (1 << source):
                values[mask] = max(values[mask], values[mask ^ (1 << source)])
    values[0], values[-1] = 0.0, 1.0
    return FuzzyMeasure.of(values, sources)


def all_or_nothing(sources: int) -> FuzzyMeasure:
    return FuzzyMeasure.of([0.0] + [1.0] * sources, sources)


@pytest.mark.spec("03:AGG-1")
def test_the_means_are_what_they_say() -> None:
    assert arithmetic_mean(A) == pytest.approx([0.575])
    assert weighted_mean(A, [1, 1, 1, 1]) == pytest.approx([0.575])
    assert weighted_mean(A, [2, 0, 0, 2]) == pytest.approx([0.45])
    for wrong in ([1, 1], [1, 1, 1, -1], [0, 0, 0, 0], [1, 1, 1, np.nan]):
        with pytest.raises(ParameterError, match="4 weights from 0 up"):
            weighted_mean(A, wrong)


@pytest.mark.spec("03:AGG-2", "03:AGG-4", "03:AGG-5", "03:AGG-6")
def test_the_values_computed_independently_come_out() -> None:
    squared = FuzzyMeasure.symmetric(SQUARE, 4)
    assert owa(A, SQUARE) == pytest.approx([0.43125])
    assert choquet(A, squared) == pytest.approx([0.43125])
    assert sugeno(A, squared) == pytest.approx([0.5])
    assert sugeno(A, EVEN) == pytest.approx([0.5])
    assert twofold(A, squared, squared) == pytest.approx([0.36875])


def test_the_family_of_quantifiers_runs_from_the_largest_to_the_smallest_number() -> None:
    averages = [owa(A, power_quantifier(alpha))[0] for alpha in (1e-6, 0.5, 1, 2, 1e4)]
    assert averages == sorted(averages, reverse=True)
    assert averages[0] == pytest.approx(0.9, abs=1e-5)
    assert averages[-1] == pytest.approx(0.2, abs=1e-5)


@settings(max_examples=60, deadline=None)
@given(sources=st.integers(1, 5), seed=st.integers(0, 10_000), alpha=st.floats(0.1, 8))
def test_the_identities_between_the_functions_hold(sources: int, seed: int, alpha: float) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.random((7, sources)).round(1)  # with ties
    quantifier = power_quantifier(alpha)
    symmetric = FuzzyMeasure.symmetric(quantifier, sources)
    by_mask = FuzzyMeasure.of([symmetric.values[mask.bit_count()] for mask in range(2**sources)], sources)
    measure, top = general(sources, seed), all_or_nothing(sources)
    assert owa(rows, quantifier) == pytest.approx(choquet(rows, symmetric))
    assert choquet(rows, by_mask) == pytest.approx(choquet(rows, symmetric))
    assert sugeno(rows, by_mask) == pytest.approx(sugeno(rows, symmetric))
    assert twofold(rows, top, measure) == pytest.approx(choquet(rows, measure))
    assert twofold(rows, measure, top) == pytest.approx(sugeno(rows, measure))
    shuffled = rows[:, rng.permutation(sources)]
    assert owa(shuffled, quantifier) == pytest.approx(owa(rows, quantifier))
    assert sugeno(shuffled, symmetric) == pytest.approx(sugeno(rows, symmetric))


@settings(max_examples=60, deadline=None)
@given(sources=st.integers(1, 4), seed=st.integers(0, 10_000))
def test_every_function_is_unanimous_monotone_and_between_the_extremes(sources: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    measure, other = general(sources, seed), general(sources, seed + 1)
    rows = rng.random((9, sources))
    higher = np.minimum(1.0, rows + rng.random(rows.shape) * (rng.random(rows.shape) < 0.5))
    same = np.repeat(rng.random((9, 1)), sources, axis=1)
    for function in (
        arithmetic_mean,
        lambda r: weighted_mean(r, np.arange(1, sources + 1)),
        lambda r: owa(r, SQUARE),
        lambda r: choquet(r, measure),
        lambda r: sugeno(r, measure),
        lambda r: twofold(r, measure, other),
    ):
        assert function(same) == pytest.approx(same[:, 0])
        assert (function(rows) <= function(higher) + 1e-12).all()
        assert (function(rows) <= rows.max(axis=1) + 1e-12).all()
    assert (owa(rows, SQUARE) >= rows.min(axis=1) - 1e-12).all()


def test_one_source_gives_itself_back() -> None:
    one = np.array([[0.3], [0.8]])
    measure = FuzzyMeasure.of([0, 1], 1)
    for given_back in (choquet(one, measure), sugeno(one, measure), twofold(one, measure, measure), owa(one, SQUARE)):
        assert given_back.tolist() == [0.3, 0.8]


@pytest.mark.spec("03:AGG-3")
def test_what_is_no_fuzzy_measure_is_refused() -> None:
    with pytest.raises(ParameterError, match="3 numbers"):
        FuzzyMeasure.of([0, 0.2, 0.3, 0.4, 1], 2)
    with pytest.raises(ParameterError, match="0 for the empty set"):
        FuzzyMeasure.of([0.1, 0.5, 1], 2)
    with pytest.raises(ParameterError, match="1 for the full one"):
        FuzzyMeasure.of([0, 0.5, 0.9], 2)
    with pytest.raises(ParameterError, match="must not fall"):
        FuzzyMeasure.of([0, 0.7, 0.5, 1], 3)
    with pytest.raises(ParameterError, match="must not fall"):
        FuzzyMeasure.of([0, 0.7, 0.2, 0.6, 0.1, 0.8, 0.3, 1], 3)
    assert FuzzyMeasure.of([0, 0.2, 0.7, 1], 3).is_symmetric
    assert not general(3, 1).is_symmetric


def test_numbers_an_integral_is_not_made_for_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"numbers in \[0, 1\]"):
        sugeno(A * 2, EVEN)
    with pytest.raises(ParameterError, match="from 0 up"):
        choquet(-A, EVEN)
    with pytest.raises(ParameterError, match="missing"):
        arithmetic_mean(np.array([[np.nan, 1.0]]))
    with pytest.raises(ParameterError, match="does not fit 3 columns"):
        choquet(A[:, :3], EVEN)
    with pytest.raises(ParameterError, match="above 0"):
        power_quantifier(0)


@pytest.mark.spec("04:FZ-QUANT")
def test_the_ten_quantifiers_of_each_family_have_the_published_parameters() -> None:
    x = np.linspace(0, 1, 11)
    for k in range(10):
        assert quantifiers("exponent")[k](x) == pytest.approx(x ** ((k + 1) / 5))
        assert quantifiers("sigmoid", boundary="raw")[k](x) == pytest.approx(1 / (1 + np.exp(10 * (k / 10 - x))))
        # written as 0.3, the tenth 3/10 is not above 0.3
        assert quantifiers("threshold")[k](x).tolist() == [0.0] * (k + 1) + [1.0] * (10 - k)
    assert {family: len(alphas) for family, alphas in ALPHAS.items()} == dict.fromkeys(ALPHAS, 10)


@pytest.mark.spec("04:FZ-QUANT")
def test_only_the_fixed_sigmoid_is_a_quantifier() -> None:
    ends = np.array([0.0, 1.0])
    assert sigmoid_quantifier(0.0, "raw")(ends)[0] == 0.5
    assert sigmoid_quantifier(0.9, "raw")(ends)[1] == pytest.approx(0.731, abs=5e-4)
    for alpha in ALPHAS["sigmoid"]:
        assert sigmoid_quantifier(alpha)(ends).tolist() == [0.0, 1.0]
        assert owa(np.full((1, 4), 0.3), sigmoid_quantifier(alpha)) == pytest.approx([0.3])
        with pytest.raises(ParameterError, match="0 for the empty set and 1 for the full one"):
            owa(A, sigmoid_quantifier(alpha, "raw"))


def test_parameters_no_quantifier_has_are_refused() -> None:
    for family, alpha in (("exponent", 0.0), ("sigmoid", -0.1), ("sigmoid", 1.1), ("threshold", 1.0)):
        with pytest.raises(ParameterError, match="not allowed"):
            quantifiers(family, [alpha])  # type: ignore[arg-type]


@settings(max_examples=40, deadline=None)
@given(sources=st.integers(1, 6), seed=st.integers(0, 10_000), k=st.integers(0, 9))
def test_a_threshold_picks_one_of_the_numbers_in_ordered_averages_and_sugeno_integrals_alike(
    sources: int, seed: int, k: int
) -> None:
    rows = np.random.default_rng(seed).random((8, sources))
    quantifier = quantifiers("threshold")[k]
    position = sources * k // 10  # from the largest down
    assert owa(rows, quantifier) == pytest.approx(np.sort(rows, axis=1)[:, ::-1][:, position])
    assert sugeno(rows, FuzzyMeasure.symmetric(quantifier, sources)) == pytest.approx(owa(rows, quantifier))


@pytest.mark.spec("04:FZ-CHOQ")
@settings(max_examples=40, deadline=None)
@given(sources=st.integers(1, 5), seed=st.integers(0, 10_000), alpha=st.floats(0.2, 5))
def test_weights_and_a_quantifier_make_a_measure_whose_choquet_integral_is_the_weighted_owa(
    sources: int, seed: int, alpha: float
) -> None:
    rng = np.random.default_rng(seed)
    rows, weights = rng.random((7, sources)).round(1), rng.random(sources) + 0.05
    quantifier = power_quantifier(alpha)
    assert choquet(rows, FuzzyMeasure.weighted(weights)) == pytest.approx(weighted_mean(rows, weights))
    order = np.argsort(-rows, axis=1)
    reached = np.cumsum((weights / weights.sum())[order], axis=1).clip(max=1.0)
    weighted_owa = (np.take_along_axis(rows, order, axis=1) * np.diff(quantifier(reached), prepend=0.0)).sum(axis=1)
    assert choquet(rows, FuzzyMeasure.weighted(weights, quantifier)) == pytest.approx(weighted_owa)
    assert choquet(rows, FuzzyMeasure.weighted(np.ones(sources), quantifier)) == pytest.approx(owa(rows, quantifier))


@pytest.mark.spec("04:FZ-CHOQ")
def test_a_choquet_integral_over_a_general_measure_is_what_its_definition_adds_up_to() -> None:
    measure = FuzzyMeasure.of([0, 0.1, 0.3, 0.5, 0.2, 0.6, 0.7, 1], 3)  # by bit mask
    # 0.2 of all, 0.3 more of the second and the third, 0.4 more of the second alone
    assert choquet(np.array([[0.2, 0.9, 0.5]]), measure) == pytest.approx([0.2 + 0.3 * 0.7 + 0.4 * 0.3])


def test_weights_a_measure_cannot_have_are_refused() -> None:
    with pytest.raises(ParameterError, match="2 weights from 0 up"):
        FuzzyMeasure.weighted([1, -1])
    with pytest.raises(ParameterError, match="20 attributes at most"):
        FuzzyMeasure.weighted(np.ones(21))
    assert threshold_quantifier(0.0)(np.array([0.0, 0.1])).tolist() == [0.0, 1.0]
