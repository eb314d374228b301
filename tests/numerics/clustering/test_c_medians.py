"""c-medians: dissimilar first centres, the best of several runs, small clusters merged."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microveil.numerics.clustering.c_medians import c_medians, c_medians_from, centres_of, dissimilar_rows, merge_small
from microveil.numerics.neighbours.mixed_distance import MEDIAN, MODE, Axes, distance
from microveil.progress import silent

# two ordered attributes of five categories
EIGHT = np.array([[0, 0], [0, 1], [1, 0], [4, 4], [4, 3], [3, 4], [0, 4], [1, 4]], dtype=float)
INCLUSIVE = Axes(np.ones(2), np.full(2, 5.0), np.array([MEDIAN, MEDIAN]))
HALF_OPEN = INCLUSIVE._replace(offset=np.zeros(2))


def best_of(rows: np.ndarray, axes: Axes, clusters: int, seed: int = 1, **options: object):  # type: ignore[no-untyped-def]
    return c_medians(rows, axes, clusters, 20, np.random.default_rng(seed), silent, "", **options)  # type: ignore[arg-type]


@pytest.mark.spec("06:PC-03")
def test_first_centres_are_always_the_row_farthest_from_those_chosen() -> None:
    assert dissimilar_rows(EIGHT, INCLUSIVE, 0, 3).tolist() == [0, 3, 6]


@pytest.mark.spec("06:PC-03")
def test_choosing_stops_where_all_rows_equal_a_chosen_one() -> None:
    rows = np.array([[1.0], [2.0], [1.0], [2.0]])
    axes = Axes(np.zeros(1), np.zeros(1), np.array([MODE]))
    assert dissimilar_rows(rows, axes, 2, 4).tolist() == [2, 1]


@pytest.mark.spec("06:PC-02")
@pytest.mark.parametrize(("axes", "objective"), [(INCLUSIVE, 2.0), (HALF_OPEN, 1.0)])
def test_the_worked_example(axes: Axes, objective: float) -> None:
    found = c_medians_from(EIGHT, axes, EIGHT[[0, 3, 6]])
    assert found.labels.tolist() == [0, 0, 0, 1, 1, 1, 2, 2]
    assert found.centres.tolist() == [[0, 0], [4, 4], [0, 4]]
    assert found.objective == pytest.approx(objective, abs=1e-9)
    assert found.initial.tolist() == [[0, 0], [4, 4], [0, 4]]


@pytest.mark.spec("06:PC-05")
def test_the_two_smallest_clusters_are_merged() -> None:
    merged = merge_small(EIGHT, INCLUSIVE, np.array([0, 0, 0, 1, 1, 1, 2, 2]), 3, "two-smallest")
    assert merged.tolist() == [0, 0, 0, 1, 1, 1, 0, 0]


@pytest.mark.spec("06:PC-05")
def test_the_smallest_cluster_joins_the_nearest() -> None:
    rows = np.array([[0.0], [0.0], [0.0], [9.0], [9.0], [9.0], [7.0]])
    axes = Axes(np.ones(1), np.full(1, 10.0), np.array([MEDIAN]))
    labels = np.array([0, 0, 0, 1, 1, 1, 2])
    assert merge_small(rows, axes, labels, 2, "nearest").tolist() == [0, 0, 0, 1, 1, 1, 1]
    assert merge_small(rows, axes, labels, 2, "two-smallest").tolist() == [0, 0, 0, 1, 1, 1, 0]
    assert merge_small(rows, axes, labels, 99, "nearest").tolist() == [0] * 7


@pytest.mark.spec("06:PC-04")
def test_the_best_of_all_runs_is_kept() -> None:
    rng = np.random.default_rng(3)
    rows = rng.integers(0, 6, size=(200, 3)).astype(float)
    axes = Axes(np.ones(3), np.full(3, 6.0), np.full(3, MEDIAN))
    drawn = np.random.default_rng(9).choice(len(rows), size=20, replace=False)
    runs = [c_medians_from(rows, axes, rows[dissimilar_rows(rows, axes, int(first), 5)]) for first in drawn]
    best = best_of(rows, axes, 5, seed=9)
    assert best.objective == pytest.approx(min(run.objective for run in runs))
    assert max(run.objective for run in runs) > best.objective  # the start does matter here


def test_rows_of_few_kinds_give_few_clusters() -> None:
    rows = np.repeat([[0.0, 1.0], [3.0, 1.0]], 5, axis=0)
    found = best_of(rows, INCLUSIVE, 7)
    assert sorted(found.sizes.tolist()) == [5, 5]
    assert found.objective == 0.0


def test_long_files_are_clustered_from_a_sample_nearly_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(3000, 2)) + rng.integers(0, 4, size=(3000, 1)) * 8.0
    axes = Axes(np.zeros(2), np.ptp(rows, axis=0), np.full(2, MEDIAN))
    whole = best_of(rows, axes, 4)
    monkeypatch.setattr("microveil.numerics.clustering.c_medians._MOST_POINTS", 300)
    sampled, again = best_of(rows, axes, 4), best_of(rows, axes, 4)
    assert sampled.objective == pytest.approx(whole.objective, rel=0.01)
    assert len(sampled.labels) == 3000
    assert (sampled.labels == again.labels).all()


def test_an_empty_cluster_is_dropped() -> None:
    found = c_medians_from(EIGHT, INCLUSIVE, np.vstack([EIGHT[[0, 3]], [[2.0, 0.0]], [[2.0, 0.0]]]))
    assert len(found.centres) == int(found.labels.max()) + 1
    assert (found.sizes > 0).all()


def test_a_centre_has_the_mode_and_the_lower_median() -> None:
    rows = np.array([[2, 0], [2, 0], [1, 3], [5, 4], [5, 4], [0, 1]], dtype=float)
    axes = Axes(np.array([0.0, 1.0]), np.array([0.0, 5.0]), np.array([MODE, MEDIAN]))
    assert centres_of(rows, axes, np.zeros(6, dtype=np.int64)).tolist() == [[2, 1]]
    assert centres_of(rows, axes, np.array([0, 0, 0, 1, 1, 1])).tolist() == [[2, 0], [5, 4]]


def test_the_value_of_least_distance_may_be_another_than_the_median() -> None:
    rows = np.repeat([[0.0], [1.0], [2.0]], [3, 1, 3], axis=0)
    axes = Axes(np.ones(1), np.full(1, 5.0), np.array([MEDIAN]))
    assert centres_of(rows, axes, np.zeros(7, dtype=np.int64)).tolist() == [[1]]
    found = c_medians_from(rows, axes, np.array([[1.0]]), least=True)
    assert found.centres.tolist() == [[0]]
    assert found.objective == pytest.approx(2.2)  # instead of 2.4


def test_the_best_seen_is_kept_where_medians_raise_the_objective() -> None:
    rows = np.repeat([[0.0], [1.0], [2.0]], [3, 1, 3], axis=0)
    axes = Axes(np.ones(1), np.full(1, 5.0), np.array([MEDIAN]))
    found = c_medians_from(rows, axes, np.array([[0.0]]))
    assert found.objective == pytest.approx(2.2)


TABLES = st.integers(1, 40).flatmap(
    lambda n: st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=n, max_size=n)
)


@given(TABLES, st.integers(1, 6), st.booleans())
def test_every_row_is_in_the_cluster_of_a_nearest_centre(rows: list[tuple[int, int]], c: int, least: bool) -> None:
    matrix = np.array(rows, dtype=float)
    axes = Axes(np.array([1.0, 0.0]), np.array([5.0, 0.0]), np.array([MEDIAN, MODE]))
    found = best_of(matrix, axes, c, least=least)
    away = np.array([[distance(row, centre, axes) for centre in found.centres] for row in matrix])
    own = away[np.arange(len(matrix)), found.labels]
    assert (own <= away.min(axis=1) + 1e-12).all()
    assert found.objective == pytest.approx(own.sum())
    assert (found.sizes > 0).all()
    assert len(found.sizes) <= c


@given(TABLES, st.integers(1, 6))
def test_centres_of_least_distance_end_no_higher_than_the_first_ones(rows: list[tuple[int, int]], c: int) -> None:
    matrix = np.array(rows, dtype=float)
    axes = Axes(np.array([1.0, 0.0]), np.array([5.0, 0.0]), np.array([MEDIAN, MODE]))
    start = matrix[dissimilar_rows(matrix, axes, 0, c)]
    found = c_medians_from(matrix, axes, start, least=True)
    first = sum(min(distance(row, centre, axes) for centre in start) for row in matrix)
    assert found.objective <= first + 1e-9
    assert c_medians_from(matrix, axes, found.centres, least=True).objective <= found.objective + 1e-9


@given(TABLES, st.integers(1, 8), st.integers(1, 12), st.sampled_from(["two-smallest", "nearest"]))
def test_merging_leaves_no_small_cluster_and_divides_none(
    rows: list[tuple[int, int]], c: int, k: int, rule: str
) -> None:
    matrix = np.array(rows, dtype=float)
    found = best_of(matrix, INCLUSIVE, c)
    merged = merge_small(matrix, INCLUSIVE, found.labels, k, rule)  # type: ignore[arg-type]
    sizes = np.bincount(merged)
    assert sizes.min() >= k or len(sizes) == 1
    assert len({(a, b) for a, b in zip(found.labels.tolist(), merged.tolist(), strict=True)}) == len(found.sizes)
