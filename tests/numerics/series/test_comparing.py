"""Series of two files on a common scale, their fragments, and those that share the time of a peak."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from microveil.numerics.series.comparing import (
    centred_ranks,
    in_order,
    mean_cycle,
    on_common_scale,
    outside,
    scattered,
    stretches,
)
from microveil.numerics.series.extremes import Peaks, link_by_peaks
from microveil.progress import silent

tables = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=8),
    elements=st.one_of(st.integers(-9, 9).map(float), st.just(np.nan)),
)


@pytest.mark.spec("04:TS-NORM")
def test_scales_of_one_series_of_each_file_and_of_the_known_file() -> None:
    known, released = np.array([[1.0, 3.0], [5.0, 7.0]]), np.array([[10.0, 30.0], [50.0, 70.0]])
    for scale in ("file", "series", "ranks"):
        one, other = on_common_scale(known, released, scale)
        assert one == pytest.approx(other)
        mirrored = on_common_scale(known, -released, f"{scale}-mirrored")  # type: ignore[arg-type]
        assert mirrored[0] == pytest.approx(mirrored[1])
    one, other = on_common_scale(known, released, "global")
    assert one == pytest.approx((known - 4) / np.sqrt(5))
    assert other == pytest.approx((released - 4) / np.sqrt(5))
    assert on_common_scale(known, released, "none") == (known, released)


@given(tables)
def test_ranks_lie_around_zero_and_keep_missing_cells(values: np.ndarray) -> None:
    ranks = centred_ranks(values)
    assert (np.isnan(ranks) == np.isnan(values)).all()
    for row, ranked in zip(values, ranks, strict=True):
        present = ~np.isnan(row)
        if present.any():
            assert abs(ranked[present].sum()) < 1e-9
            order = np.argsort(row[present], kind="stable")
            assert (np.diff(ranked[present][order]) >= 0).all()


@given(tables, st.integers(0, 5))
def test_values_in_order_do_not_depend_on_their_times(values: np.ndarray, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(values.shape[1])
    np.testing.assert_array_equal(in_order(values), in_order(values[:, order]))
    complete = ~np.isnan(values).any(axis=1)
    np.testing.assert_array_equal(in_order(values)[complete], np.sort(values[complete], axis=1))
    none = np.isnan(values).all(axis=1)
    assert (np.isnan(in_order(values)).any(axis=1) == none).all()


@given(tables)
def test_cells_outside_of_a_series_lie_before_its_first_or_after_its_last_value(values: np.ndarray) -> None:
    for row, out in zip(values, outside(values), strict=True):
        present = np.flatnonzero(~np.isnan(row))
        expected = [len(present) == 0 or t < present[0] or t > present[-1] for t in range(len(row))]
        assert out.tolist() == expected


def test_the_mean_of_cycles() -> None:
    values = np.arange(14.0).reshape(2, 7)
    assert mean_cycle(values, 3).tolist() == [[3.0, 2.5, 3.5], [10.0, 9.5, 10.5]]
    assert mean_cycle(values, 100).tolist() == values.tolist()
    assert np.isnan(mean_cycle(np.full((1, 4), np.nan), 2)).all()


@given(st.integers(1, 40), st.integers(1, 50), st.integers(1, 20))
def test_fragments_lie_inside_the_series_and_differ(points: int, length: int, wanted: int) -> None:
    for found in (stretches(points, length, wanted), scattered(points, length, wanted, np.random.default_rng(1))):
        assert 1 <= len(found) <= wanted
        assert len({tuple(fragment) for fragment in found}) == len(found)
        for fragment in found:
            assert len(fragment) == min(length, points)
            assert fragment.min() >= 0
            assert fragment.max() < points
            assert (np.diff(fragment) > 0).all()
    assert all((np.diff(fragment) == 1).all() for fragment in stretches(points, length, wanted))


@given(tables, st.integers(0, 3), st.booleans())
def test_peaks_are_linked_as_a_plain_search_does(values: np.ndarray, reach: int, sizes: bool) -> None:
    released = np.roll(values, 1, axis=0) + (np.arange(values.shape[1]) == 0)
    times = np.arange(values.shape[1])
    near = np.abs(times[:, None] - times) <= reach
    own = np.arange(len(values))
    found = link_by_peaks([Peaks.of(values).within(near)], [Peaks.of(released)], sizes, own, silent, "")
    for i in own:
        apart = {}
        for j in own:
            if np.isnan(values[i]).all() or np.isnan(released[j]).all():
                continue
            mine, theirs = (np.flatnonzero(side == np.nanmax(side)) for side in (values[i], released[j]))
            if np.abs(mine[:, None] - theirs).min() <= reach:
                apart[j] = (np.nanmax(values[i]) - np.nanmax(released[j])) ** 2 if sizes else 0.0
        nearest = [j for j, distance in apart.items() if distance == min(apart.values())]
        assert (found.candidates[i], found.own[i]) == (len(apart), i in apart)
        assert (found.ties[i], found.nearest[i]) == (len(nearest), i in nearest)
        assert found.first[i] == (min(nearest) if nearest else -1)
