"""Bounds never exceed the least loss of all partitions, which is found here by trying every one of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.numerics.grouping.column_generation import column_generation_bound, neighbour_bound
from microveil.numerics.grouping.group_pricing import Pricing
from microveil.numerics.grouping.neighbour_bound import affordable, neighbour_shares
from microveil.numerics.grouping.univariate import optimal_groups
from microveil.typing import FloatArray


@cache
def partitions(records: tuple[int, ...], k: int) -> list[list[tuple[int, ...]]]:
    """Every partition into groups of at least k."""
    return list(_partitions(records, k))


def _partitions(records: tuple[int, ...], k: int) -> Iterator[list[tuple[int, ...]]]:
    if not records:
        yield []
        return
    first, others = records[0], records[1:]
    for size in range(k - 1, len(others) + 1):
        for chosen in combinations(others, size):
            left = tuple(record for record in others if record not in chosen)
            if len(left) == 0 or len(left) >= k:
                yield from ([(first, *chosen), *rest] for rest in _partitions(left, k))


def squares(points: FloatArray, group: tuple[int, ...]) -> float:
    """Within one group, over the cells that there are."""
    total = 0.0
    for column in points[list(group)].T:
        present = column[~np.isnan(column)]
        total += float(((present - present.mean()) ** 2).sum()) if len(present) else 0.0
    return total


def optimum(points: FloatArray, k: int) -> float:
    return min(sum(squares(points, group) for group in groups) for groups in partitions(tuple(range(len(points))), k))


def reduced_costs(points: FloatArray, shares: FloatArray, k: int) -> dict[tuple[int, ...], float]:
    """Of every group of k to 2k-1 records, from the distances of its pairs."""
    found = {}
    for size in range(k, min(2 * k, len(points) + 1)):
        for group in combinations(range(len(points)), size):
            pairs = (np.nansum((points[a] - points[b]) ** 2) for a, b in combinations(group, 2))
            found[group] = float(sum(pairs)) / size - float(shares[list(group)].sum())
    return found


@st.composite
def files(draw: st.DrawFn, *, missing: bool = False) -> tuple[FloatArray, int]:
    k = draw(st.integers(2, 4))
    n, d = draw(st.integers(2 * k, 9)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    values = draw(st.sampled_from([2, 5, 10**6]))
    points = rng.integers(0, values, size=(n, d)).astype(float) / max(1, values / 10)
    if draw(st.booleans()):
        points[0] *= 20  # an outlier
    if missing:
        points[rng.random(points.shape) < 0.2] = np.nan
    return points, k


@settings(max_examples=120, deadline=None)
@given(files())
def test_no_bound_exceeds_the_least_loss_and_column_generation_reaches_it(given: tuple[FloatArray, int]) -> None:
    points, k = given
    least, scale = optimum(points, k), float((points**2).sum())
    assert neighbour_bound(points, k) <= least + 1e-12 * scale
    start = np.minimum(np.arange(len(points)) // k, len(points) // k - 1)
    found = column_generation_bound(points, start, k, rounds=40, limit=2_000)
    assert found.least <= least + 1e-12 * scale
    assert found.optimal
    assert found.least >= least - 3e-6 * scale
    groups = [tuple(np.flatnonzero(found.labels == label).tolist()) for label in range(found.labels.max() + 1)]
    assert min(map(len, groups)) >= k
    assert sum(squares(points, group) for group in groups) == pytest.approx(least, abs=3e-6 * scale)


@settings(max_examples=60, deadline=None)
@given(files(missing=True))
def test_bounds_hold_where_cells_are_missing(given: tuple[FloatArray, int]) -> None:
    points, k = given
    least, scale = optimum(points, k), float(np.nansum(points**2))
    assert neighbour_bound(points, k) <= least + 1e-12 * scale
    start = np.minimum(np.arange(len(points)) // k, len(points) // k - 1)
    assert column_generation_bound(points, start, k, rounds=15, limit=500).least <= least + 1e-12 * scale


@settings(max_examples=60, deadline=None)
@given(files(missing=True), st.integers(1, 3))
def test_the_bound_holds_with_fewer_neighbours_than_a_group_has(given: tuple[FloatArray, int], few: int) -> None:
    points, k = given
    least, scale = optimum(points, k), float(np.nansum(points**2))
    for neighbours in (1, few):
        shares = neighbour_shares(points, k, neighbours, 5)
        assert shares.sum() <= least + 1e-12 * scale
        assert min(reduced_costs(points, shares, k).values()) >= -1e-9 * scale


def test_large_groups_of_long_files_are_bounded_by_few_neighbours() -> None:
    assert affordable(1_000, 300) == (900, 30)
    for records in (10_000, 100_000, 1_000_000, 10_000_000):
        for k in (2, 10, 500):
            neighbours, rounds = affordable(records, k)
            assert neighbours * records <= max(1_000_000, 12 * records)
            assert neighbours >= min(3 * k, 12)
            assert 5 <= rounds <= 30


@settings(max_examples=80, deadline=None)
@given(files(missing=True), st.integers(0, 10**6))
def test_a_search_of_any_length_says_how_low_reduced_costs_are(given: tuple[FloatArray, int], seed: int) -> None:
    points, k = given
    base = neighbour_shares(points, k, 3 * k, 5)
    scale = 1 + float(np.abs(base).sum())
    assert min(reduced_costs(points, base, k).values()) >= -1e-9 * scale
    shares = 1.4 * base + np.random.default_rng(seed).normal(size=len(points)) * 0.2 * base.mean()
    costs = reduced_costs(points, shares, k)
    for limit in (1, 4, 10_000):
        found = Pricing(points, k).price(shares, limit)
        lowered = reduced_costs(points, shares + found.floors, k)
        assert min(lowered.values()) >= -1e-9 * scale
        for group in found.groups:
            assert costs[tuple(sorted(group.tolist()))] < 0
    assert found.complete
    assert found.floors.min() == pytest.approx(min(0.0, *costs.values()), abs=1e-9 * scale)


@settings(max_examples=40, deadline=None)
@given(files())
def test_all_groups_below_a_reduced_cost_are_listed(given: tuple[FloatArray, int]) -> None:
    points, k = given
    shares = neighbour_shares(points, k, 3 * k, 5)
    below = 0.5 * float(shares.sum()) + 0.01
    found = Pricing(points, k).price(shares, 100_000, below=below, most=500)
    listed = {tuple(sorted(group.tolist())) for group in found.groups}
    costs = reduced_costs(points, shares, k)
    assert found.complete
    assert found.all_found
    assert listed >= {group for group, cost in costs.items() if cost < below - 1e-9}
    assert listed <= {group for group, cost in costs.items() if cost < below + 1e-9}
    few = Pricing(points, k).price(shares, 100_000, below=below, most=1)
    assert few.all_found == (len(few.groups) == 0)


def test_the_optimum_of_one_column_is_never_exceeded() -> None:
    """It is known from a shortest path; fractions of groups, three pairs of three records each half, can lose less."""
    values = np.random.default_rng(4).gamma(2.0, size=45)
    points = values[:, None]
    for k in (2, 3):
        labels = optimal_groups(values, k)
        least = sum(squares(points, tuple(np.flatnonzero(labels == g))) for g in range(labels.max() + 1))
        found = column_generation_bound(points, labels, k, rounds=25, limit=500)
        assert 0.93 * least < found.least <= least
        assert neighbour_bound(points, k) <= found.least


def test_more_rounds_do_not_lower_the_bound_and_chunks_keep_it_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(2).normal(size=(120, 2))
    start = np.arange(120) // 3
    whole = [column_generation_bound(points, start, 3, rounds, 500).least for rounds in (1, 5, 25)]
    assert whole == sorted(whole)
    monkeypatch.setattr("microveil.numerics.grouping.column_generation._LARGEST_MASTER", 50)
    monkeypatch.setattr("microveil.numerics.grouping.group_pricing._FEW_RECORDS", 20)
    parted = column_generation_bound(points, start, 3, 25, 500).least
    assert neighbour_bound(points, 3) <= parted <= whole[-1] * (1 + 1e-4)


def test_the_same_bound_on_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(3).normal(size=(90, 3))
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("MICROVEIL_THREADS", threads)
        found.append(column_generation_bound(points, np.arange(90) // 3, 3, 6, 200).least)
    assert found[0] == found[1]
