"""SSE and the IL1 to IL5 family against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from microveil.losses.numeric.moments import IL, IL1, IL2, IL3, IL4, IL5
from microveil.losses.numeric.sse import SSE
from microveil.microdata import Microdata

# the toy vector of specification 01, section 4.3
BEFORE = Microdata.of({"a": [1.0, 2.0, 3.0, 6.0], "b": [2.0, 1.0, 5.0, 4.0]})
AFTER = Microdata.of({"a": [1.5, 1.5, 4.5, 4.5], "b": [1.5, 1.5, 4.5, 4.5]})


@pytest.mark.spec("03:ME-4")
def test_the_five_parts_of_the_toy_vector() -> None:
    expected = {
        IL1: 100 * 0.309375,  # printed MV of X
        IL2: 0.0,
        # covariances 4.667, 2.333, 3.333 against 3, 3, 3: upper triangle with the diagonal
        IL3: 100 * (5 / 14 + 2 / 7 + 1 / 10) / 3,
        IL4: 100 * (5 / 14 + 1 / 10) / 2,
        IL5: 100 * 0.408392,  # printed MAE of R over the one cell off the diagonal
    }
    for measure, value in expected.items():
        assert measure().measure(BEFORE, AFTER).value == pytest.approx(value, abs=1e-4), measure
    assert IL().measure(BEFORE, AFTER).value == pytest.approx(np.mean(list(expected.values())), abs=1e-4)


def test_sse_by_hand() -> None:
    # a: SSE 0.25+0.25+2.25+2.25 of SST 14; b: 0.25+0.25+0.25+0.25 of SST 10
    loss = SSE().measure(BEFORE, AFTER)
    assert loss.per_attribute == pytest.approx({"a": 100 * 5 / 14, "b": 100 * 1 / 10})
    assert loss.value == pytest.approx(100 * (5 / 14 + 1 / 10) / 2)


def test_a_value_above_100_is_bounded_and_kept_raw() -> None:
    loss = SSE().measure(Microdata.of({"x": [1.0, 2.0]}), Microdata.of({"x": [9.0, -9.0]}))
    assert loss.value == 100
    assert loss.raw > 1000


@pytest.mark.spec("03:ME-4")
@pytest.mark.parametrize(("zero", "value"), [("ignore", 25.0), ("skip", 50.0), ("scale", 62.5)])
def test_a_zero_in_the_original_is_ignored_skipped_or_scaled(zero: str, value: float) -> None:
    # second cell: 2 -> 3 is a half; first cell 0 -> 1.414, with deviation sqrt(2) (sample) a whole
    before, after = Microdata.of({"x": [0.0, 2.0]}), Microdata.of({"x": [0.75 * np.sqrt(2.0), 3.0]})
    assert IL1(zero=zero).measure(before, after).value == pytest.approx(value)  # type: ignore[arg-type]


def test_nothing_over_nothing_is_nothing() -> None:
    zeros = Microdata.of({"x": [0.0, 0.0, 0.0], "y": [0.0, 0.0, 0.0]})
    for measure in (SSE, IL1, IL2, IL3, IL4, IL5, IL):
        assert measure().measure(zeros, zeros).value == 0


def test_a_single_attribute_has_no_correlations_to_lose() -> None:
    assert IL5().measure(BEFORE, AFTER, ["a"]).value == 0


def test_missing_originals_are_left_out_and_suppressed_cells_count_as_lost() -> None:
    before = Microdata.of({"x": [1.0, 3.0, None, 5.0]})
    same = Microdata.of({"x": [1.0, 3.0, 99.0, 5.0]})
    suppressed = Microdata.of({"x": [1.0, 3.0, None, None]})
    for measure in (SSE, IL1, IL2, IL4):
        assert measure().measure(before, same).value == 0
    assert SSE().measure(before, suppressed).value == pytest.approx(50)  # the extreme value, replaced by the mean
    assert IL1().measure(before, suppressed).value == pytest.approx(100 / 3)


def test_moments_with_missing_cells_use_the_pairs_that_are_there() -> None:
    before = Microdata.of({"x": [1.0, 2.0, 4.0, None], "y": [2.0, 4.0, None, 1.0]})
    after = Microdata.of({"x": [1.0, 2.0, 4.0, None], "y": [4.0, 2.0, None, 1.0]})
    # the two records that have both turn their covariance from 1 to -1; the variances, each 7/3, stay
    assert IL5().measure(before, after).value == pytest.approx(100 * 6 / 7)
    assert IL4().measure(before, after).value == 0
