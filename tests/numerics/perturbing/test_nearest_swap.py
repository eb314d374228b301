"""Recognising rows by nearest distance, and exchanging them with neighbours."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.numerics.grouping.groups import pooled
from microveil.numerics.perturbing.nearest_swap import exchange, recognised
from microveil.progress import silent

FloatArray = npt.NDArray[np.float64]


def brute_recognised(original: FloatArray, masked: FloatArray) -> list[bool]:
    """Every pair compared on the cells both have, scaled up for the others."""
    found = []
    for i, row in enumerate(original):
        apart = np.square(masked - row)
        common = (~np.isnan(apart)).sum(axis=1)
        distance = np.where(common > 0, np.nansum(apart, axis=1) * len(row) / np.maximum(common, 1), np.inf)
        found.append(bool(np.isfinite(distance[i]) and distance[i] <= distance.min() + 1e-12))
    return found


@settings(deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 3), st.sampled_from([0.1, 1.0, 3.0]))
def test_complete_rows_are_recognised_as_by_comparing_all_pairs(seed: int, columns: int, noise: float) -> None:
    rng = np.random.default_rng(seed)
    original = rng.integers(0, 5, (25, columns)).astype(float)
    masked = original + noise * rng.integers(-1, 2, original.shape)
    assert recognised(original, masked, silent, "").tolist() == brute_recognised(original, masked)


def test_rows_with_gaps_are_recognised_by_the_cells_they_have() -> None:
    rng = np.random.default_rng(3)
    original = rng.normal(size=(60, 3))
    masked = original + 0.3 * rng.normal(size=original.shape)
    gaps = rng.random(original.shape) < 0.2
    original, masked = (np.where(gaps, np.nan, x) for x in (original, masked))
    found, expected = recognised(original, masked, silent, ""), brute_recognised(original, masked)
    incomplete = gaps.any(axis=1)
    assert found[incomplete].tolist() == np.array(expected)[incomplete].tolist()
    # against complete rows only, a complete row has fewer rivals: never overlooked
    assert (found[~incomplete] >= np.array(expected)[~incomplete]).all()


@settings(deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 60), st.integers(1, 4), st.floats(0.0, 1.0))
def test_every_wanted_row_gets_another_of_its_group_and_none_is_lost(
    seed: int, rows: int, groups: int, share: float
) -> None:
    rng = np.random.default_rng(seed)
    cells = rng.normal(size=(rows, 2))
    wanted = rng.random(rows) < share
    label = rng.integers(0, groups, rows)
    members = [np.flatnonzero(label == g) for g in range(groups)]
    order = exchange(cells, wanted, members)
    assert sorted(order) == list(range(rows))
    assert (label[order] == label).all()
    alone = np.bincount(label, minlength=groups)[label] == 1
    assert (order[wanted & ~alone] != np.flatnonzero(wanted & ~alone)).all()


def test_the_nearest_free_row_that_differs_is_taken() -> None:
    cells = np.array([[0.0], [0.0], [1.0], [5.0], [5.5]])
    order = exchange(cells, np.array([True, True, False, False, True]), [np.arange(5)])
    # row 0 takes row 2, since row 1 is alike; row 1 takes row 3; row 4 finds none free and joins its nearest
    assert order.tolist() == [2, 3, 0, 4, 1]


def test_rows_that_are_all_alike_stay() -> None:
    assert exchange(np.ones((4, 2)), np.ones(4, dtype=bool), [np.arange(4)]).tolist() == [0, 1, 2, 3]


def test_small_groups_are_pooled_and_a_small_pool_joins_the_largest() -> None:
    groups = [np.array([0]), np.array([1, 2, 3]), np.array([4]), np.array([5, 6, 7, 8])]
    assert [g.tolist() for g in pooled(groups, 2)] == [[1, 2, 3], [5, 6, 7, 8], [0, 4]]
    assert [g.tolist() for g in pooled(groups, 3)] == [[1, 2, 3], [0, 4, 5, 6, 7, 8]]
    assert [g.tolist() for g in pooled(groups, 20)] == [list(range(9))]
