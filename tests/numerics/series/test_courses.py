"""Series of two tables that have the same course, whatever their level and scale."""

from __future__ import annotations

import numpy as np
import pytest

from microveil.attacks.correspondence import corresponding
from microveil.microdata import Microdata
from microveil.numerics.series.courses import courses, matched_courses
from microveil.typing import FloatArray


def walks(series: int = 60, length: int = 12, seed: int = 4) -> FloatArray:
    rng = np.random.default_rng(seed)
    return np.asarray(100 + np.cumsum(rng.normal(size=(series, length)), axis=1))


def as_released(values: FloatArray, how: str) -> FloatArray:
    rng = np.random.default_rng(9)
    if how == "level":
        return values + rng.normal(0, 50, (len(values), 1))
    if how == "scale":
        return values * rng.uniform(0.2, 5, (len(values), 1))
    return np.asarray((values - values.mean(axis=1, keepdims=True)) / values.std(axis=1, keepdims=True))


@pytest.mark.parametrize("how", ["level", "scale", "z-scores"])
def test_series_in_another_order_are_matched_by_their_courses(how: str) -> None:
    values, order = walks(), np.random.default_rng(2).permutation(60)
    found = matched_courses(courses([values]), courses([as_released(values, how)[order]]))
    assert found is not None
    assert found.order.tolist() == order.tolist()
    assert found.displaced > 0.9


def test_series_in_their_own_order_or_of_other_courses_are_left_alone() -> None:
    values = walks()
    assert matched_courses(courses([values]), courses([as_released(values, "level")])) is None
    assert matched_courses(courses([values]), courses([walks(seed=5)])) is None
    assert matched_courses(courses([values[:, :3]]), courses([values[::-1, :3]])) is None  # three points are too few
    constant = np.ones((5, 8))
    assert matched_courses(courses([constant]), courses([constant[::-1]])) is None


def test_several_variables_and_missing_cells_are_matched_together() -> None:
    one, other, order = walks(40), walks(40, seed=8), np.random.default_rng(2).permutation(40)
    one[:, 3], other[::7, 5] = np.nan, np.nan
    found = matched_courses(courses([one, other]), courses([one[order] + 3, 2 * other[order]]))
    assert found is not None
    assert found.order.tolist() == order.tolist()


@pytest.mark.parametrize("records", [30, 300])
def test_a_shuffled_table_of_series_at_other_levels_is_matched_with_its_original(records: int) -> None:
    values, order = walks(records), np.random.default_rng(2).permutation(records)
    released = as_released(values, "level")[order]
    tables = [
        Microdata.of({"shop": ids, **{f"t{i}": column for i, column in enumerate(cells.T)}}, series="wide,id=shop")
        for ids, cells in ((np.arange(records), values), (1000 + np.arange(records), released))
    ]
    found = corresponding(*tables)
    assert "have the course of another original" in found.warning
    made = np.column_stack([found.release.numbers(f"t{i}").values for i in range(values.shape[1])])
    np.testing.assert_allclose(np.diff(made, axis=1), np.diff(values, axis=1), atol=1e-9)
