"""Where series begin and end, gaps, resampling to equal length, and parts."""

from __future__ import annotations

import numpy as np
import pytest

from microveil.errors import ParameterError
from microveil.numerics.series.resampling import resampled
from microveil.numerics.series.spans import Spans, filled, of_equal_spans, split

NAN = np.nan
RAGGED = np.array(
    [
        [1.0, 2.0, 3.0, 4.0, 5.0],
        [NAN, 2.0, NAN, 6.0, NAN],
        [NAN, NAN, NAN, NAN, NAN],
        [NAN, NAN, 7.0, NAN, NAN],
        [NAN, 1.0, 1.0, 1.0, NAN],
    ]
)
TIMES = np.arange(5.0)


def test_spans_reach_from_the_first_to_the_last_present_cell() -> None:
    spans = Spans.of(~np.isnan(RAGGED))
    assert spans.first.tolist() == [0, 1, 0, 2, 1]
    assert spans.last.tolist() == [4, 3, -1, 2, 3]
    assert spans.lengths.tolist() == [5, 3, 0, 1, 3]


def test_gaps_are_filled_in_time_and_nothing_outside_the_span() -> None:
    spans = Spans.of(~np.isnan(RAGGED))
    found = filled(RAGGED, np.array([0.0, 1.0, 2.0, 5.0, 6.0]), spans)
    np.testing.assert_array_equal(found[1], [NAN, 2.0, 3.0, 6.0, NAN])
    np.testing.assert_array_equal(np.isnan(found[[0, 2, 3, 4]]), np.isnan(RAGGED[[0, 2, 3, 4]]))


def test_in_the_span_of_another_series_the_ends_are_held() -> None:
    spans = Spans.of(np.ones((5, 5), dtype=np.bool_))
    found = filled(RAGGED, TIMES, spans)
    assert found[1].tolist() == [2.0, 2.0, 4.0, 6.0, 6.0]
    assert found[3].tolist() == [7.0] * 5
    assert np.isnan(found[2]).all()


def test_series_of_equal_span_come_together_each_once() -> None:
    found = {(among.start, among.stop): rows.tolist() for rows, among in of_equal_spans(RAGGED)}
    assert found == {(0, 5): [0], (1, 4): [1, 4], (2, 3): [3]}


@pytest.mark.spec("04:TS-SPLIT")
def test_resampled_series_have_equidistant_points_on_straight_lines() -> None:
    found = resampled(RAGGED, TIMES, 10)
    np.testing.assert_allclose(found[0], np.linspace(1, 5, 10))
    np.testing.assert_allclose(found[1], np.linspace(2, 6, 10))
    assert np.isnan(found[2]).all()
    assert found[3].tolist() == [7.0] * 10
    bent = resampled(np.array([[0.0, 4.0, 4.0]]), np.arange(3.0), 5)
    assert bent[0].tolist() == [0.0, 2.0, 4.0, 4.0, 4.0]


@pytest.mark.spec("04:TS-SPLIT")
def test_parts_follow_each_other_and_make_the_whole_again() -> None:
    series = np.arange(20.0).reshape(2, 10)
    halves = split(series, 2)
    assert [part.shape for part in halves] == [(2, 5), (2, 5)]
    np.testing.assert_array_equal(np.hstack(halves), series)
    assert [part.shape[1] for part in split(series, 3)] == [4, 3, 3]
    np.testing.assert_array_equal(np.hstack(split(series, 3)), series)


@pytest.mark.parametrize("parts", [0, 11])
def test_more_parts_than_points_are_refused(parts: int) -> None:
    with pytest.raises(ParameterError, match=f"parts = {parts} is not allowed"):
        split(np.zeros((1, 10)), parts)
