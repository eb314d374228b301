"""Even mixtures of best assignments, against all permutations and against scipy's solver."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from microveil.numerics.neighbours.assignment import Mixture, even_assignment
from microveil.progress import silent


def dense(mixture: Mixture, shape: tuple[int, int]) -> np.ndarray:
    chances = np.zeros(shape)
    chances[mixture.rows, mixture.columns] = mixture.chance
    return chances


def ones(n: int) -> np.ndarray:
    return np.ones(n, dtype=np.int64)


@settings(max_examples=60, deadline=None)
@given(n=st.integers(1, 6), seed=st.integers(0, 100_000))
def test_exactly_the_pairs_of_some_best_assignment_have_a_chance(n: int, seed: int) -> None:
    cost = np.random.default_rng(seed).integers(0, 4, size=(n, n)).astype(float)
    chances = dense(even_assignment(cost, ones(n), ones(n), silent, ""), (n, n))
    totals = {order: cost[np.arange(n), order].sum() for order in permutations(range(n))}
    best = min(totals.values())
    possible = np.zeros((n, n), dtype=bool)
    for order, total in totals.items():
        if total == best:
            possible[np.arange(n), order] = True
    assert ((chances > 1e-9) == possible).all()
    assert chances.sum(axis=0) == pytest.approx(np.ones(n))
    assert chances.sum(axis=1) == pytest.approx(np.ones(n))


@settings(max_examples=40, deadline=None)
@given(kinds=st.integers(1, 5), seed=st.integers(0, 100_000))
def test_kinds_that_occur_several_times_are_as_good_as_so_many_records(kinds: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    supply, demand = (1 + np.bincount(rng.integers(0, kinds, 12 - kinds), minlength=kinds) for _ in range(2))
    cost = rng.integers(0, 5, size=(kinds, kinds)).astype(float)
    chances = dense(even_assignment(cost, supply, demand, silent, ""), cost.shape)
    rows, columns = np.repeat(np.arange(kinds), supply), np.repeat(np.arange(kinds), demand)
    full = cost[np.ix_(rows, columns)]
    least = full[linear_sum_assignment(full)].sum()
    assert (chances * cost * np.outer(supply, demand)).sum() == pytest.approx(least)
    single = dense(even_assignment(full, ones(12), ones(12), silent, ""), full.shape)
    assert single == pytest.approx(chances[np.ix_(rows, columns)], abs=1e-6)


def test_the_order_of_rows_and_columns_does_not_matter() -> None:
    rng = np.random.default_rng(4)
    cost = rng.integers(0, 3, size=(30, 30)).astype(float)
    rows, columns = rng.permutation(30), rng.permutation(30)
    plain = dense(even_assignment(cost, ones(30), ones(30), silent, ""), cost.shape)
    moved = dense(even_assignment(cost[np.ix_(rows, columns)], ones(30), ones(30), silent, ""), cost.shape)
    assert moved == pytest.approx(plain[np.ix_(rows, columns)], abs=1e-6)


def test_many_different_costs_give_the_one_assignment_of_the_solver() -> None:
    cost = np.random.default_rng(1).random((300, 300))
    mixture = even_assignment(cost, ones(300), ones(300), silent, "")
    assert mixture.columns[np.argsort(mixture.rows)].tolist() == linear_sum_assignment(cost)[1].tolist()
    assert mixture.chance == pytest.approx(np.ones(300))


def test_a_pair_that_cannot_be_has_no_chance_even_where_nothing_else_is_left() -> None:
    cost = np.array([[0.0, np.inf], [np.inf, np.inf]])
    chances = dense(even_assignment(cost, ones(2), ones(2), silent, ""), cost.shape)
    assert chances.tolist() == [[1.0, 0.0], [0.0, 0.0]]


def test_pairs_that_are_never_assigned_have_no_chance() -> None:
    mixture = Mixture(np.array([0, 1]), np.array([1, 0]), np.array([1.0, 0.5]))
    assert mixture.of_pairs(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 3])).tolist() == [0.0, 1.0, 0.5, 0.0]
