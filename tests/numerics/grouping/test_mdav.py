"""The MDAV kernels against a plain implementation of the same rule, and their invariants."""

from __future__ import annotations

import math
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain import plain_mdav

from microveil.errors import Cancelled
from microveil.numerics.core.exact_sums import add_exactly, exact_total
from microveil.numerics.grouping import mdav_ahead, mdav_leaves
from microveil.numerics.grouping.leaves import MANY_CELLS
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


def _on_threads(columns: np.ndarray, k: int, threads: int, literal: bool = False, least: int = 0) -> np.ndarray:
    """Groups in leaves, on several threads from `least` cells on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MICROVEIL_THREADS", str(threads))
        patch.setattr(mdav_leaves, "MANY_CELLS", least)
        patch.setattr(mdav_leaves, "_MANY_GROUPS", 0)
        return grouped_in_leaves(columns, k, k + 1 if literal else 2 * k, silent, "")


KINDS = {
    "normal": lambda rng, n, d: rng.normal(size=(n, d)),
    "rounded": lambda rng, n, d: np.round(rng.normal(size=(n, d)), 1),
    "of two values": lambda rng, n, d: standardise(rng.integers(0, 2, size=(n, d)).astype(float)),
    "duplicates": lambda rng, n, d: rng.normal(size=(n // 5, d))[rng.integers(0, n // 5, n)],
    "skew": lambda rng, n, d: np.exp(3 * rng.normal(size=(n, d))),
    "two far clouds": lambda rng, n, d: rng.normal(size=(n, d)) + 1e7 * rng.integers(0, 2, size=(n, 1)),
    "all equal": lambda rng, n, d: np.full((n, d), 0.1),
}


@pytest.mark.parametrize("literal", [False, True])
@pytest.mark.parametrize("k", [1, 3, 10])
@pytest.mark.parametrize("kind", KINDS)
def test_the_number_of_threads_does_not_change_the_partition(kind: str, k: int, literal: bool) -> None:
    columns = KINDS[kind](np.random.default_rng(k), 4000, 4)
    alone = _on_threads(columns, k, 1, literal)
    for threads in (2, 3):
        assert (_on_threads(columns, k, threads, literal) == alone).all()


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(4, 900),
    d=st.integers(2, 5),
    k=st.integers(2, 9),
    values=st.sampled_from([2, 3, 50, 10**6]),
    threads=st.integers(2, 3),
    literal=st.booleans(),
    seed=st.integers(0, 999),
)
def test_searches_made_ahead_give_the_same_partition(
    n: int, d: int, k: int, values: int, threads: int, literal: bool, seed: int
) -> None:
    columns = np.random.default_rng(seed).integers(0, values, size=(max(n, 2 * k), d)).astype(float)
    assert (_on_threads(columns, k, threads, literal) == mdav_groups(columns, k, literal=literal)).all()


def test_searches_made_ahead_give_the_plain_partition() -> None:
    columns = np.random.default_rng(12).normal(size=(2500, 6))
    assert (_on_threads(columns, 3, 2) == plain_mdav(columns, 3)).all()


def test_most_groups_of_a_long_file_come_from_searches_made_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    made, rounds_of = [0, 0, 0], mdav_ahead._group_listed

    def counted(*given: object) -> tuple[int, int, int, int, int]:
        size, groups, rounds, missed, spent = rounds_of(*given)
        made[:] = made[0] + rounds, made[1] + missed, made[2] + 1
        return size, groups, rounds, missed, spent

    monkeypatch.setattr(mdav_ahead, "_group_listed", counted)
    columns = np.random.default_rng(4).normal(size=(21_000, 5))
    assert columns.size >= MANY_CELLS
    groups = _on_threads(columns, 3, 2, least=50_000)
    rounds, missed, calls = made
    assert rounds >= 1500
    assert missed < 0.1 * 3 * rounds  # a round has three searches
    assert rounds > 20 * calls
    assert (groups == _on_threads(columns, 3, 1)).all()


def test_where_guesses_fail_one_thread_goes_on_with_the_same_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    left_over: list[int] = []
    group_some = mdav_ahead.Ahead.group_some

    def seen(self: mdav_ahead.Ahead, *given: object) -> tuple[int, int, int]:
        found = group_some(self, *given)
        left_over.append(found[2])
        return found

    monkeypatch.setattr(mdav_ahead.Ahead, "group_some", seen)
    columns = np.random.default_rng(4).integers(0, 2, size=(4000, 3)).astype(float)
    groups = _on_threads(columns, 5, 2)
    assert max(left_over) > 128
    assert (groups == _on_threads(columns, 5, 1)).all()


@pytest.mark.parametrize(("k", "used"), [(3, True), (6, False)])
def test_groups_too_large_for_searches_ahead_are_made_by_one_thread(
    k: int, used: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    group_some = mdav_ahead.Ahead.group_some

    def seen(self: mdav_ahead.Ahead, *given: object) -> tuple[int, int, int]:
        asked.append(self.helpers)
        return group_some(self, *given)

    monkeypatch.setattr(mdav_ahead.Ahead, "group_some", seen)
    monkeypatch.setenv("MICROVEIL_THREADS", "3")
    mdav_groups(np.random.default_rng(4).normal(size=(21_000, 5)), k)
    assert asked[:1] == ([2] if used else [])


def test_work_on_two_threads_tells_its_progress_and_can_be_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MICROVEIL_THREADS", "2")
    columns = np.random.default_rng(1).normal(size=(21_000, 5))
    assert columns.size >= MANY_CELLS
    whole: list[float] = []
    mdav_groups(columns, 3, lambda fraction, label: whole.append(fraction))
    assert whole == sorted(whole)
    assert whole[-1] == 1.0
    assert len(whole) > 10
    before, seen = threading.active_count(), list[float]()

    def stop_early(fraction: float, label: str) -> None:
        seen.append(fraction)
        if len(seen) == 2:
            raise Cancelled("enough")

    with pytest.raises(Cancelled):
        mdav_groups(columns, 3, stop_early)
    assert seen == whole[:2]
    assert threading.active_count() == before
