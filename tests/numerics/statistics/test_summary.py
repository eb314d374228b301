"""The printed summary of an attribute: its mode has a rule of its own."""

from __future__ import annotations

import numpy as np

from microveil.numerics.statistics.summary import summarise


def test_of_equally_frequent_values_the_first_in_the_file_is_the_mode() -> None:
    assert summarise(np.array([9.0, 4.0, 2.0, 4.0, 9.0])).mode == 9.0


def test_where_all_values_differ_the_least_is_the_mode() -> None:
    assert summarise(np.array([9.0, 4.0, 2.0])).mode == 2.0


def test_missing_values_take_no_part() -> None:
    summary = summarise(np.array([np.nan, 2.0, 4.0]))
    assert summary == (4.0, 2.0, 3.0, 3.0, 2.0, np.sqrt(2.0))
    assert np.isnan(summarise(np.array([np.nan]))).all()
    assert np.isnan(summarise(np.array([5.0])).deviation)
