"""The nearest series under warping, against the matrix of all costs; bounds and threads change nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.numerics.series import dtw_search
from microveil.numerics.series.curves import Curves, curves, distinct
from microveil.numerics.series.dtw import dtw
from microveil.numerics.series.dtw_search import dtw_distances, dtw_links, dtw_matrix
from microveil.typing import FloatArray


def few_values(seed: int, n: int, variables: int, *, gaps: bool) -> list[FloatArray]:
    """Series of few different whole numbers, so that many costs are equal."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(variables):
        values = rng.integers(0, 3, size=(n, int(rng.integers(1, 7)))).astype(np.float64)
        if gaps:
            values[rng.random(values.shape) < 0.3] = np.nan
        made.append(values)
    return made


def plain_costs(one: list[FloatArray], other: list[FloatArray], band: int | None) -> FloatArray:
    costs = np.full((len(one[0]), len(other[0])), np.inf)
    for a, b in np.ndindex(costs.shape):
        pairs = [(x[a], y[b]) for x, y in zip(one, other, strict=True)]
        both = [(x, y) for x, y in pairs if not np.isnan(x).all() and not np.isnan(y).all()]
        if both:
            costs[a, b] = sum(dtw(x, y, band) for x, y in both) * len(pairs) / len(both)
    return costs


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 2), st.booleans(), st.none() | st.integers(0, 3))
def test_the_nearest_are_those_of_all_costs_with_all_ties(
    seed: int, variables: int, gaps: bool, band: int | None
) -> None:
    sources = few_values(seed, 12, variables, gaps=gaps)
    targets = [values[:, ::-1][:, : values.shape[1] + 1] for values in few_values(seed + 1, 12, variables, gaps=gaps)]
    costs = plain_costs(sources, targets, band)
    one, other = curves(*sources), curves(*targets)
    assert np.allclose(dtw_distances(one, other, band), costs)
    links = dtw_links(one, other, band=band)
    best = costs.min(axis=1)
    tied = costs <= best[:, None] + 1e-9
    tied[~np.isfinite(best)] = False
    assert links.ties.tolist() == tied.sum(axis=1).tolist()
    assert np.allclose(links.nearest, best)
    assert links.first.tolist() == [int(np.argmax(row)) if row.any() else -1 for row in tied]
    assert links.own.tolist() == np.diagonal(tied).tolist()
    some = np.array([3, 1])
    assert dtw_links(one, other, some, band).ties.tolist() == links.ties[some].tolist()


@pytest.mark.parametrize("band", [None, 4])
def test_bounds_pass_over_no_series_of_real_numbers(band: int | None) -> None:
    rng = np.random.default_rng(4)
    values = rng.normal(size=(150, 30)).cumsum(axis=1)
    values[:40, :6] = np.nan
    values[100:, 25:] = np.nan
    masked = values + rng.normal(size=values.shape)
    costs = dtw_distances(curves(values), curves(masked), band)
    links = dtw_links(curves(values), curves(masked), band=band)
    assert np.array_equal(links.nearest, costs.min(axis=1))
    assert np.array_equal(links.first, costs.argmin(axis=1))


def test_the_number_of_threads_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(7)
    one, other = curves(rng.normal(size=(90, 12))), curves(rng.integers(0, 2, size=(90, 12)).astype(np.float64))
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("MICROVEIL_THREADS", threads)
        links = dtw_links(one, other)
        found.append((links.ties.tobytes(), links.first.tobytes(), links.nearest.tobytes(), dtw_matrix(one).tobytes()))
    assert found[0] == found[1]


def test_the_matrix_of_one_table_is_symmetric_and_that_of_the_table_with_itself() -> None:
    given = curves(np.random.default_rng(2).normal(size=(40, 9)))
    matrix = dtw_matrix(given)
    assert np.array_equal(matrix, matrix.T)
    assert np.allclose(matrix, dtw_distances(given, given))


def test_k_equal_curves_share_a_link() -> None:
    """Every record of a group that publishes one curve is as near as the others."""
    rng = np.random.default_rng(1)
    values = rng.normal(size=(12, 8)).cumsum(axis=1)
    groups = np.arange(12) // 3
    masked = np.array([values[groups == g].mean(axis=0) for g in groups])
    links = dtw_links(curves(values), curves(masked))
    assert (links.ties == 3).all()
    assert (links.first % 3 == 0).all()


def test_different_records_do_not_depend_on_their_order() -> None:
    values = np.array([[1.0, np.nan], [np.nan, 1.0], [0.0, -0.0], [-0.0, 0.0]])
    rows, which = distinct(curves(values))
    assert which.tolist() == [0, 0, 1, 1]
    assert isinstance(rows, Curves)
    turned, _ = distinct(curves(values[::-1]))
    assert np.array_equal(rows.flat, turned.flat)


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.booleans(), st.none() | st.integers(0, 3))
def test_no_bound_exceeds_the_cost(seed: int, gaps: bool, band: int | None) -> None:
    one, other = (curves(*few_values(seed + i, 6, 1, gaps=gaps)) for i in (0, 1))
    low, high = dtw_search._spans(other)
    longest = max(one.cells.shape[2], other.cells.shape[2])
    width = longest if band is None else band
    below, above = np.empty((1, longest)), np.empty((1, longest))
    costs = dtw_distances(one, other, band)
    for q, t in np.ndindex(costs.shape):
        dtw_search._envelope(one, q, width, below, above)
        bound = dtw_search._bound(one, q, other, t, width, below, above, low, high)
        assert bound <= costs[q, t]
        if np.isfinite(bound) and width == 0 and one.lengths[0, q] == other.lengths[0, t]:
            assert bound == costs[q, t]  # without a shift every point has one other to be compared with
