"""Dynamic time warping against printed vectors, a plain search over all paths, and two programs for it."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microveil.errors import DataError, ParameterError
from microveil.numerics.linkage.alignment import aligned_runs
from microveil.numerics.series.distances import euclidean
from microveil.numerics.series.dtw import RunLengths, dtw, warping_path
from microveil.typing import FloatArray

from .test_distances import PAIRS, PRICES

short = st.lists(st.integers(-9, 9), min_size=1, max_size=7).map(lambda v: np.array(v, dtype=np.float64))


def plain_dtw(x: FloatArray, y: FloatArray, band: int | None = None, runs: RunLengths | None = None) -> float:
    """By all paths: where it is, how many horizontal steps it made in this row and vertical ones in this column."""
    n, m = len(x), len(y)
    below = np.inf if band is None else band + max(0, n - m)
    above = np.inf if band is None else band + max(0, m - n)
    runs = runs or RunLengths()
    most_h = np.inf if runs.most_horizontal is None else runs.most_horizontal
    most_v = np.inf if runs.most_vertical is None else runs.most_vertical

    @cache
    def least(i: int, j: int, in_row: int, in_column: int) -> float:
        if not -below <= j - i <= above or in_row > most_h or in_column > most_v:
            return np.inf
        here = float((x[i] - y[j]) ** 2)
        done_row, done_column = in_row >= runs.least_horizontal, in_column >= runs.least_vertical
        if i == n - 1 and j == m - 1:
            return here if done_row and done_column else np.inf
        ways = [np.inf]
        if i + 1 < n and j + 1 < m and done_row and done_column:
            ways.append(least(i + 1, j + 1, 0, 0))
        if j + 1 < m and done_column:
            ways.append(least(i, j + 1, in_row + 1, 0))
        if i + 1 < n and done_row:
            ways.append(least(i + 1, j, 0, in_column + 1))
        return here + min(ways)

    return least(0, 0, 0, 0)


@pytest.mark.spec("04:TS-DIST", "03:TS-3")
def test_the_costs_of_the_price_indices() -> None:
    expected = [3380.94, 183.32, 5671.68, 3238.47, 5655.39, 4393.50]
    assert [round(dtw(PRICES[a], PRICES[b]), 2) for a, b in PAIRS] == expected
    assert dtw(np.array([1.0, 2, 3, 6, 7, 8, 9]), np.array([2, 6.5, 8.5])) == 3.0
    assert dtw(np.array([1.0, 2, 3, 4, 3]), np.array([1.0, 1, 2, 3, 4])) == 1.0


@pytest.mark.spec("03:TS-3")
def test_the_costs_with_limited_runs() -> None:
    limited = {
        1: [4655.09, 192.28, 6172.95, 5386.16, 5655.39, 5681.37],
        2: [4234.73, 183.32, 5896.08, 4045.65, 5655.39, 5055.70],
    }
    for most, expected in limited.items():
        runs = RunLengths.at_most(most)
        assert [round(dtw(PRICES[a], PRICES[b], runs=runs), 2) for a, b in PAIRS] == expected
    x, v = np.array([0.0, 0, 0, 5, 5]), np.array([0.0, 5, 5, 5, 5])
    assert [dtw(x, v, runs=RunLengths.at_most(most)) for most in (0, 1, 2)] == [50, 25, 0]


@pytest.mark.spec("03:TS-3")
def test_no_run_leaves_the_squared_euclidean_distance_and_a_long_one_limits_nothing() -> None:
    for a, b in PAIRS:
        assert dtw(PRICES[a], PRICES[b], runs=RunLengths.at_most(0)) == pytest.approx(
            euclidean(PRICES[a], PRICES[b]) ** 2
        )
        assert dtw(PRICES[a], PRICES[b], runs=RunLengths.at_most(20)) == dtw(PRICES[a], PRICES[b])
        assert dtw(PRICES[a], PRICES[b], band=0) == pytest.approx(euclidean(PRICES[a], PRICES[b]) ** 2)
    assert dtw(np.zeros(3), np.zeros(4), runs=RunLengths.at_most(0)) == np.inf


@pytest.mark.spec("03:TS-3")
def test_least_run_lengths_align_values_with_the_centres_of_groups() -> None:
    """Each centre stands for two to three values, as in optimal microaggregation with k = 2: one to two more steps."""
    values, centres = np.array([1.0, 2, 3, 6, 7, 8, 9]), np.array([2, 6.5, 8.5])
    runs = RunLengths(least_horizontal=1, most_horizontal=2, most_vertical=0)
    found = warping_path(centres, values, runs=runs)
    assert found.cost == 3.0
    starts = aligned_runs(values, centres, 2, np.full(3, 3))
    assert starts is not None
    assert found.points[:, 0].tolist() == np.repeat(np.arange(3), np.diff(starts)).tolist()
    assert dtw(centres, values, runs=RunLengths(2, 2, 0, 0)) == np.inf


lengths = st.tuples(st.integers(0, 2), st.none() | st.integers(2, 4), st.integers(0, 1), st.none() | st.integers(1, 3))


@given(short, short, st.none() | st.integers(0, 3), st.none() | lengths.map(lambda given: RunLengths(*given)))
def test_the_cost_is_the_least_of_all_paths_and_the_path_has_it(
    x: FloatArray, y: FloatArray, band: int | None, runs: RunLengths | None
) -> None:
    expected = plain_dtw(x, y, band, runs)
    assert dtw(x, y, band, runs) == expected
    cost, points = warping_path(x, y, band, runs)
    assert cost == expected
    if np.isfinite(cost):
        assert points[0].tolist() == [0, 0]
        assert points[-1].tolist() == [len(x) - 1, len(y) - 1]
        steps = np.diff(points, axis=0)
        assert set(map(tuple, steps.tolist())) <= {(0, 1), (1, 0), (1, 1)}
        assert np.sum((x[points[:, 0]] - y[points[:, 1]]) ** 2) == cost
        if runs is not None:
            for own, least, most in (
                (points[:, 0], runs.least_horizontal, runs.most_horizontal),
                (points[:, 1], runs.least_vertical, runs.most_vertical),
            ):
                stays = np.bincount(own) - 1
                assert stays.min() >= least
                assert most is None or stays.max() <= most
    else:
        assert len(points) == 0


@given(short, short, st.none() | st.integers(0, 3))
def test_warping_is_symmetric_and_never_above_the_squared_euclidean_distance(
    x: FloatArray, y: FloatArray, band: int | None
) -> None:
    assert dtw(x, y, band) == dtw(y, x, band)
    assert dtw(x, x, band) == 0.0
    if len(x) == len(y):
        assert dtw(x, y, band) <= np.sum((x - y) ** 2)


@pytest.mark.parametrize("band", [None, 3])
def test_the_cost_is_that_of_other_programs(band: int | None) -> None:
    oracle = pytest.importorskip("dtaidistance.dtw", reason="dtaidistance is not installed (the dev extra has it)")
    rng = np.random.default_rng(5)
    for n, m in ((20, 20), (20, 31), (31, 20), (1, 5)):
        x, y = rng.normal(size=n).cumsum(), rng.normal(size=m).cumsum()
        window = None if band is None else band + 1  # it counts the diagonal
        assert dtw(x, y, band) == pytest.approx(oracle.distance(x, y, window=window) ** 2)


@pytest.mark.parametrize("band", [None, 3])
def test_the_cost_is_that_of_tslearn(band: int | None) -> None:
    metrics = pytest.importorskip("tslearn.metrics", reason="tslearn is not installed")
    rng = np.random.default_rng(6)
    for n, m in ((20, 20), (20, 31)):
        x, y = rng.normal(size=n).cumsum(), rng.normal(size=m).cumsum()
        limits = {} if band is None else {"global_constraint": "sakoe_chiba", "sakoe_chiba_radius": band}
        assert dtw(x, y, band) == pytest.approx(metrics.dtw(x, y, **limits) ** 2)


def test_missing_points_are_left_out_and_what_makes_no_sense_is_refused() -> None:
    assert dtw(np.array([np.nan, 1.0, 2.0]), np.array([1.0, np.nan, 2.0])) == 0.0
    with pytest.raises(DataError, match="without any value"):
        dtw(np.array([np.nan]), np.array([1.0]))
    with pytest.raises(ParameterError, match="band = -1"):
        dtw(np.zeros(2), np.zeros(2), band=-1)
    with pytest.raises(ParameterError, match="runs of 3 to 2 steps"):
        RunLengths(least_horizontal=3, most_horizontal=2)
