from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from microveil.numerics.evolution.state import (
    State,
    all_of,
    any_of,
    diversity,
    diversity_below,
    evaluations,
    generations,
    improved_by,
    score_reached,
    seconds,
)
from microveil.typing import IntArray


def state(*trajectory: float, evaluated: int = 10, took: float = 0.0) -> State:
    population = [np.array([0, 0]), np.array([0, 1])]
    return State(population, np.zeros(2), population[0], list(trajectory), evaluated, took)


@pytest.mark.spec("05:EA-04")
def test_every_rule_ends_an_evolution_when_its_bound_is_reached_and_not_before() -> None:
    at_third = state(20.0, 12.0, 10.0, 10.0, evaluated=40, took=1.5)
    assert generations(3)(at_third)
    assert not generations(4)(at_third)
    assert evaluations(40)(at_third)
    assert not evaluations(41)(at_third)
    assert seconds(1.5)(at_third)
    assert not seconds(1.6)(at_third)
    assert score_reached(10.0)(at_third)
    assert not score_reached(9.9)(at_third)
    assert improved_by(0.5)(at_third)
    assert not improved_by(0.51)(at_third)
    assert diversity_below(0.51)(at_third)
    assert not diversity_below(0.5)(at_third)


@pytest.mark.spec("05:EA-04")
def test_improvement_of_a_negative_score_is_a_share_of_its_size() -> None:
    assert improved_by(0.5)(state(-10.0, -15.0))
    assert not improved_by(0.5)(state(-10.0, -14.0))


@pytest.mark.spec("05:EA-04")
def test_rules_combine_and_any_predicate_is_a_rule() -> None:
    late, low = generations(2), score_reached(5.0)
    odd = lambda state: state.evaluations % 2 == 1  # noqa: E731
    assert any_of(late, low)(state(9.0, 5.0))
    assert not all_of(late, low)(state(9.0, 5.0))
    assert all_of(late, low)(state(9.0, 5.0, 5.0))
    assert any_of(late, odd)(state(9.0, evaluated=3))
    assert not any_of(late, odd)(state(9.0))


@pytest.mark.spec("05:EA-04")
@given(arrays.arrays(np.int64, st.tuples(st.integers(2, 6), st.integers(1, 5)), elements=st.integers(0, 3)))
def test_diversity_is_the_mean_of_all_pairs(strings: IntArray) -> None:
    pairs = [float((a != b).mean()) for a, b in itertools.combinations(strings, 2)]
    assert diversity(strings) == pytest.approx(np.mean(pairs), abs=1e-12)


def test_one_string_has_no_diversity() -> None:
    assert diversity(np.array([[1, 2]])) == 0.0
