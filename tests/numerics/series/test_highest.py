"""The highest points of series, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from microveil.numerics.series.highest import highest_values, shares_of_highest


def test_equal_values_share_their_places() -> None:
    series = np.array([[3.0, 3.0, 1.0, 3.0], [0.1, 0.1 * (1 + 1e-15), 0.1, np.nan], [np.nan] * 4])
    found = shares_of_highest(series, np.array([2, 1, 2]))
    assert found[0] == pytest.approx([2 / 3, 2 / 3, 0, 2 / 3])
    assert found[1] == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0])
    assert not found[2].any()


@given(
    series=arrays(np.float64, st.tuples(st.integers(1, 3), st.integers(1, 7)), elements=st.integers(0, 4).map(float)),
    k=st.integers(1, 7),
)
def test_shares_add_up_to_the_number_of_places_and_follow_the_order(series: np.ndarray, k: int) -> None:
    counts = np.full(len(series), k)
    found = shares_of_highest(series, counts)
    assert found.sum(axis=1) == pytest.approx(np.minimum(k, series.shape[1]))
    for row, share in zip(series, found, strict=True):
        ordered = share[np.argsort(row, kind="stable")]
        assert (np.diff(ordered) >= -1e-12).all()
    np.testing.assert_array_equal(highest_values(series, counts), -np.sort(-series, axis=1)[:, :k])
