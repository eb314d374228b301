"""Blocks come from the neighbours they should, and keep on average what they promise."""

from __future__ import annotations

import numpy as np
import pytest

from microveil.numerics.series.block_bootstrap import (
    _beginnings,
    _held,
    _others,
    _share_of_residuals,
    _times,
    nearest_others,
    neighbour_shapes,
    resampled,
)
from microveil.progress import silent
from microveil.typing import FloatArray, IntArray


def standardised(rows: FloatArray) -> FloatArray:
    rest = rows - rows.mean(axis=1, keepdims=True)
    spread = rest.std(axis=1, keepdims=True)
    return np.asarray(rest / np.where(spread > 0, spread, 1.0))


def drawn(shapes: FloatArray, near: IntArray | None = None, *, seed: int = 1, **options: object) -> FloatArray:
    n = len(shapes)
    shapes = standardised(shapes)
    settings = {"block": 4, "stationary": True, "period": None} | options
    return resampled(
        np.zeros(n),
        np.ones(n),
        shapes,
        near,
        rng=np.random.default_rng(seed),
        progress=silent,
        label="",
        **settings,  # type: ignore[arg-type]
    )


def test_the_nearest_others_never_are_the_series_itself_even_among_equal_ones() -> None:
    values = np.zeros((30, 12))
    values[20:] = np.arange(10)[:, None]
    for k in (1, 3, 29):
        near = nearest_others(values, k, 1)
        assert near.shape == (30, k)
        assert not (near == np.arange(30)[:, None]).any()
        assert all(len(set(row)) == k for row in near.tolist())
    assert set(nearest_others(values, 1, 1)[29]) == {28}


def test_an_average_shape_leaves_the_own_one_out() -> None:
    shapes = np.random.default_rng(1).normal(size=(6, 5))
    whole = neighbour_shapes(shapes, None)
    np.testing.assert_allclose(whole[2], np.delete(shapes, 2, axis=0).mean(axis=0))
    near = np.array([[1, 2], [0, 2], [0, 1], [4, 5], [3, 5], [3, 4]])
    np.testing.assert_allclose(neighbour_shapes(shapes, near)[3], (shapes[4] + shapes[5]) / 2)


def test_without_neighbours_blocks_come_from_every_other_series_but_never_from_the_own_one() -> None:
    # a series with residuals nobody else has: they must turn up elsewhere, and not in its own record
    shapes = np.tile(np.arange(60.0), (40, 1))
    shapes[7] = np.where(np.arange(60) % 2, 1, -1)
    made = drawn(shapes)
    jumps = np.abs(np.diff(made, axis=1)).max(axis=1)
    assert jumps[7] < 0.2
    assert (np.delete(jumps, 7) > 1).any()


def test_draws_from_the_whole_file_stand_for_every_other_series_once() -> None:
    rows, drawn_numbers = np.arange(5)[:, None], np.arange(4)[None].repeat(5, axis=0)
    for row, others in enumerate(_others(rows, drawn_numbers, None).tolist()):
        assert others == [i for i in range(5) if i != row]


def test_blocks_stay_at_their_time_without_a_period() -> None:
    shapes = np.tile(np.sin(np.arange(24.0)), (30, 1))
    np.testing.assert_allclose(drawn(shapes), standardised(shapes), atol=1e-12)
    began = np.ones((5, 24), dtype=np.bool_)
    assert (_times(began, None, np.random.default_rng(1)) == np.arange(24)).all()


def test_a_period_moves_blocks_by_whole_periods_only() -> None:
    began = np.ones((200, 26), dtype=np.bool_)
    times = _times(began, 6, np.random.default_rng(1))
    assert ((times - np.arange(26)) % 6 == 0)[:, :24].all()
    assert (times[:, 24:] == [24, 25]).all()  # the rest of a period stays
    assert len(np.unique(times[:, 0])) == 4
    assert times.min() >= 0
    assert times.max() < 26


def test_moving_blocks_have_one_length_and_stationary_ones_that_mean() -> None:
    rng = np.random.default_rng(1)
    moving = _beginnings(500, 40, 8, False, rng)
    assert moving[:, 0].all()
    assert set(np.diff(np.flatnonzero(moving[3]))[1:-1]) == {8}
    assert moving[:, 1:].mean() == pytest.approx(1 / 8, abs=0.005)
    stationary = _beginnings(2000, 40, 8, True, rng)
    assert stationary[:, 1:].mean() == pytest.approx(1 / 8, abs=0.005)
    values = np.arange(40)[None].repeat(500, axis=0)
    held = _held(values, moving)
    assert (held <= values).all()
    assert (held == np.where(moving, values, held)).all()


@pytest.mark.parametrize("k", [2, 5, 20])
def test_averages_and_residuals_together_have_the_mean_square_of_the_shapes(k: int) -> None:
    rng = np.random.default_rng(k)
    shapes = rng.normal(size=(3000, 16))
    near = (np.arange(3000)[:, None] + rng.integers(1, 3000, (3000, k))) % 3000
    average = neighbour_shapes(shapes, near)
    residuals = shapes - average
    factor = _share_of_residuals(shapes, average, residuals, near)
    made = average + factor * residuals[near[:, 0]]
    assert (made**2).mean() == pytest.approx((shapes**2).mean(), rel=0.03)
    assert factor == pytest.approx((k - 1) / (k + 1), rel=0.1)  # where neighbours differ by chance alone


def test_a_series_has_the_level_and_the_standard_deviation_of_a_neighbour() -> None:
    rng = np.random.default_rng(1)
    shapes = standardised(rng.normal(size=(40, 12)))
    near = nearest_others(shapes, 3, 1)
    levels, spreads = rng.normal(size=40), rng.uniform(1, 2, 40)
    made = resampled(
        levels, spreads, shapes, near, block=3, stationary=True, period=None, rng=rng, progress=silent, label=""
    )
    for i in range(40):
        model = np.flatnonzero(np.isclose(levels, made[i].mean()))
        assert len(model) == 1
        assert model[0] in near[i]
        assert made[i].std() == pytest.approx(spreads[model[0]])


def test_long_blocks_keep_the_autocorrelation_and_blocks_of_one_point_do_not() -> None:
    rng = np.random.default_rng(2)
    shapes = rng.normal(size=(2000, 60))
    for t in range(1, 60):
        shapes[:, t] = 0.9 * shapes[:, t - 1] + np.sqrt(0.19) * shapes[:, t]

    def first(rows: FloatArray) -> float:
        return float((rows[:, 1:] * rows[:, :-1]).mean() / (rows**2).mean())

    assert first(drawn(shapes, block=30, stationary=False)) == pytest.approx(first(standardised(shapes)), abs=0.08)
    assert abs(first(drawn(shapes, block=1))) < 0.05
