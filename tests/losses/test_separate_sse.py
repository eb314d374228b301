"""The separately scaled sum of squares, against the worked examples of its source."""

from __future__ import annotations

import numpy as np
import pytest

from microveil.losses.numeric.separate_sse import SeparateSSE
from microveil.masking.microaggregation.mdav import MDAV
from microveil.microdata import Microdata


def test_a_shift_or_a_stretch_is_not_seen() -> None:
    people = Microdata.of({"a": [1.0, 4.0, 2.0], "b": [5.0, 7.0, 9.0]})
    moved = Microdata.of({"a": [10.0, 40.0, 20.0], "b": [0.0, 2.0, 4.0]})
    assert SeparateSSE().measure(people, moved).value == pytest.approx(0, abs=1e-12)


def test_the_value_is_the_mean_over_cells_and_the_sum_is_a_detail() -> None:
    people = Microdata.of({"a": [0.0, 1.0, 2.0, 4.0], "b": [0.0, 0.0, 0.0, 8.0]})
    masked = Microdata.of({"a": [0.5, 0.5, 3.0, 3.0], "b": [0.0, 0.0, 4.0, 4.0]})
    loss = SeparateSSE().measure(people, masked)
    # a: 0, 1/4, 1/2, 1 against 0, 0, 1, 1; b: 0, 0, 0, 1 against 0, 0, 1, 1
    assert loss.details["sse"] == pytest.approx(1 / 16 + 1 / 4 + 1)
    assert loss.value == pytest.approx(100 * (1 / 16 + 1 / 4 + 1) / 8)
    assert loss.per_attribute == {"a": pytest.approx(7.8125), "b": pytest.approx(25.0)}


def test_a_constant_counts_as_zero() -> None:
    people = Microdata.of({"a": [3.0, 3.0, 3.0]})
    assert SeparateSSE().measure(people, people).value == 0
    spread = Microdata.of({"a": [0.0, 1.0, 2.0]})
    assert SeparateSSE().measure(spread, people).details["sse"] == pytest.approx(1.25)


def test_missing_cells_are_left_out_and_suppressed_ones_count_as_the_mean() -> None:
    people = Microdata.of({"a": [0.0, 1.0, None, 2.0]})
    same = SeparateSSE().measure(people, people)
    assert same.value == 0
    suppressed = Microdata.of({"a": [0.0, None, None, 2.0]})
    assert SeparateSSE().measure(people, suppressed).details["sse"] == 0  # the middle value is the mean
    nothing = SeparateSSE().measure(people, Microdata.of({"a": np.full(4, np.nan)}))
    assert nothing.details["sse"] == pytest.approx(0.5)


@pytest.mark.parametrize(("k", "known"), [(5, 5.13), (25, 80.25), (50, 166.83)])
def test_the_known_sums_of_mdav_on_eia(reference, k: int, known: float) -> None:  # type: ignore[no-untyped-def]
    from microveil.microdata.datasets.reference import COLUMNS

    data = reference("eia", COLUMNS["eia-nine"])
    release = MDAV(k=k, block=3).mask(data)
    assert SeparateSSE().measure(data, release).details["sse"] == pytest.approx(known, abs=0.0051)
