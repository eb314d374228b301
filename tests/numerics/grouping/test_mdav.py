"""The MDAV kernels against a plain implementation of the same rule, and their invariants."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain import plain_mdav

from microveil.errors import Cancelled
from microveil.numerics.core.exact_sums import add_exactly, exact_total
from microveil.numerics.grouping.mdav import mdav_groups
from microveil.numerics.grouping.mdav_leaves import grouped_in_leaves
from microveil.numerics.statistics.scaling import standardise
from microveil.progress import silent


@pytest.mark.parametrize("d", [1, 2, 3, 5, 10, 11])
@pytest.mark.parametrize("k", [2, 3, 7])
def test_the_partition_is_exactly_that_of_the_plain_algorithm(d: int, k: int) -> None:
    columns = np.random.default_rng(d * 100 + k).normal(size=(503, d))
    assert (mdav_groups(columns, k) == plain_mdav(columns, k)).all()


@settings(max_examples=150, deadline=None)
@given(
    n=st.integers(2, 60),
    d=st.integers(1, 4),
    k=st.integers(2, 6),
    values=st.integers(1, 5),
    seed=st.integers(0, 10_000),
)
def test_ties_go_to_the_lowest_record_number(n: int, d: int, k: int, values: int, seed: int) -> None:
    # small whole numbers: distances tie all the time, and the plain sums have no rounding
    columns = np.random.default_rng(seed).integers(0, values, size=(max(n, k), d)).astype(float)
    assert (mdav_groups(columns, k) == plain_mdav(columns, k)).all()


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(4, 300),
    d=st.integers(2, 5),
    k=st.integers(2, 9),
    values=st.sampled_from([3, 50, 10**6]),
    seed=st.integers(0, 999),
)
def test_leaves_give_the_same_partition(n: int, d: int, k: int, values: int, seed: int) -> None:
    columns = np.random.default_rng(seed).integers(0, values, size=(max(n, 2 * k), d)).astype(float)
    assert (grouped_in_leaves(columns, k, 2 * k, silent, "") == mdav_groups(columns, k)).all()


@pytest.mark.parametrize("stretch", [1e-60, 1.0, 1e60])
@pytest.mark.parametrize("far", [1.0, 1e9, 1e15])
def test_neither_the_unit_nor_outliers_change_the_partition_of_leaves(stretch: float, far: float) -> None:
    columns = np.random.default_rng(8).normal(size=(700, 4))
    columns[:5] *= far  # against these the others are all alike in single precision
    columns = (columns + 1000.0) * stretch
    assert (grouped_in_leaves(columns, 3, 6, silent, "") == plain_mdav(columns, 3)).all()


@settings(max_examples=40, deadline=None)
@given(n=st.integers(100, 900), d=st.integers(2, 6), k=st.integers(2, 9), seed=st.integers(0, 999))
def test_ties_that_only_rounding_decides_fall_alike_in_leaves(n: int, d: int, k: int, seed: int) -> None:
    # standardised columns of two values: the centre decides among many records, by the last digit of its sums
    columns = standardise(np.random.default_rng(seed).integers(0, 2, size=(n, d)).astype(float))
    assert (grouped_in_leaves(columns, k, 2 * k, silent, "") == mdav_groups(columns, k)).all()


def test_the_total_of_the_records_left_is_the_exact_sum_rounded_once() -> None:
    columns = np.random.default_rng(3).normal(size=(500, 2)) * 10.0 ** np.random.default_rng(4).integers(
        0, 12, (500, 2)
    )
    total = exact_total(columns)
    for i in range(400):
        for j in range(2):
            add_exactly(total, j, -columns[i, j])
    assert total[0].tolist() == [math.fsum(column) for column in columns[400:].T]


@pytest.mark.parametrize("literal", [False, True])
def test_long_files_use_the_leaves_with_the_same_result(literal: bool) -> None:
    columns = np.random.default_rng(5).normal(size=(4099, 10))
    by_leaves = mdav_groups(columns, 3, literal=literal)
    assert np.bincount(by_leaves).min() == (1 if literal else 3)
    whole = by_leaves < by_leaves.max() - 3
    assert (by_leaves[whole] == plain_mdav(columns, 3)[whole]).all()
    assert literal or (by_leaves == plain_mdav(columns, 3)).all()


@settings(max_examples=100, deadline=None)
@given(n=st.integers(2, 200), d=st.integers(1, 250), k=st.integers(2, 30), seed=st.integers(0, 1000))
def test_every_group_has_k_to_2k_minus_1_records(n: int, d: int, k: int, seed: int) -> None:
    n = max(n, k)
    sizes = np.bincount(mdav_groups(np.random.default_rng(seed).normal(size=(n, d)), k))
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_matrix_is_not_changed(order: str) -> None:
    columns = np.array(np.random.default_rng(1).normal(size=(50, 3)), order=order)
    before = columns.copy()
    mdav_groups(columns, 3)
    assert (columns == before).all()


def test_long_work_can_be_cancelled_between_two_calls_of_the_kernel() -> None:
    seen: list[float] = []

    def stop_early(fraction: float, label: str) -> None:
        seen.append(fraction)
        if len(seen) == 2:
            raise Cancelled("enough")

    columns = np.random.default_rng(1).normal(size=(6000, 2))
    with pytest.raises(Cancelled):
        mdav_groups(columns, 2, stop_early)
    assert seen[-1] < 0.9
