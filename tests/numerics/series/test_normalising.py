"""Series on other scales: Tables 6.2 and 6.3 of Nin (2008), what each scale keeps, and the way back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from microveil.numerics.series.normalising import Normalisation, Normalising, normalised
from reproduction.price_indices import cells

PRICES = cells("6.1")
SCALES: tuple[Normalising, ...] = ("none", "range", "point", "series", "global")
MATRICES = arrays(
    np.float64,
    st.tuples(st.integers(1, 4), st.integers(1, 6)),
    elements=st.one_of(st.floats(-1e6, 1e6), st.just(np.nan)),
)


@pytest.mark.spec("04:TS-NORM")
def test_every_cell_of_table_6_2() -> None:
    """Bread, which rises every year, falls in it."""
    np.testing.assert_array_equal(normalised(PRICES, "range").round(2), cells("6.2"))


@pytest.mark.spec("04:TS-NORM")
def test_every_digit_of_the_right_table_6_3() -> None:
    np.testing.assert_allclose(normalised(PRICES, "series"), cells("6.3"), atol=5.0001e-5, rtol=0)


@pytest.mark.spec("04:TS-NORM")
def test_a_scale_for_each_series_keeps_the_sign_of_every_change_and_one_for_each_time_does_not() -> None:
    changes = np.sign(np.diff(PRICES, axis=1))
    np.testing.assert_array_equal(np.sign(np.diff(normalised(PRICES, "series"), axis=1)), changes)
    np.testing.assert_array_equal(np.sign(np.diff(normalised(PRICES, "global"), axis=1)), changes)
    assert (np.sign(np.diff(normalised(PRICES, "range"), axis=1)) != changes).any()
    assert (np.sign(np.diff(normalised(PRICES, "point"), axis=1)) != changes).any()


@pytest.mark.spec("04:TS-NORM")
def test_z_scores_have_mean_0_and_deviation_1_where_they_should() -> None:
    for by, axis in (("point", 0), ("series", 1), ("global", None)):
        found = normalised(PRICES, by)  # type: ignore[arg-type]
        assert found.mean(axis=axis) == pytest.approx(0.0, abs=1e-12)
        assert found.std(axis=axis) == pytest.approx(1.0)


@pytest.mark.spec("04:TS-NORM")
def test_what_is_constant_becomes_0() -> None:
    flat = np.array([[0.1] * 3, [1.0, 2.0, 0.1]])
    assert normalised(flat, "series")[0].tolist() == [0.0, 0.0, 0.0]
    for by in ("point", "range"):
        assert normalised(flat, by)[:, 2].tolist() == [0.0, 0.0]  # type: ignore[arg-type]
    assert not normalised(flat[:1], "global").any()


@given(values=MATRICES, by=st.sampled_from(SCALES))
def test_every_scale_can_be_undone(values: np.ndarray, by: Normalising) -> None:
    scale = Normalisation.of(values, by)
    found = scale.apply(values)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(values))
    greatest = np.nanmax(np.abs(values), initial=1.0)
    np.testing.assert_allclose(scale.undo(found), values, rtol=1e-9, atol=1e-9 * greatest)


def test_a_scale_made_of_one_file_serves_another() -> None:
    scale = Normalisation.of(PRICES, "global")
    other = PRICES + PRICES.std()
    assert scale.apply(other).mean() == pytest.approx(1.0)
