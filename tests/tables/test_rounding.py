"""Controlled rounding: multiples of a base next to the values, which add up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import microveil as mv
from microveil.errors import MicroveilError
from microveil.tables import Rounding

from .business_data import SALARIES, random_firms


@settings(max_examples=12)
@given(seed=st.integers(0, 10**6), base=st.sampled_from([3.0, 5.0, 10.0]))
def test_rounded_tables_add_up_and_every_cell_is_an_adjacent_multiple(seed: int, base: float) -> None:
    made = mv.table(random_firms(seed, 60, (3, 4)), ["d0", "d1"], "value", method=Rounding(base=base))
    assert made.facts["steps"] == 1  # in two dimensions there always is such a table
    assert made.values % base == pytest.approx(0)
    assert (made.cells.structure.equations @ made.values) == pytest.approx(0)
    assert (np.abs(made.values - made.cells.values) < base).all()
    multiples = made.cells.values % base == 0
    assert (made.values[multiples] == made.cells.values[multiples]).all()


def test_the_audit_says_whether_the_base_is_large_enough() -> None:
    wide = mv.table(SALARIES, ["dept", "sex"], "salary", rules=["frequency 2"], method=Rounding(base=20))
    narrow = mv.table(SALARIES, ["dept", "sex"], "salary", rules=["frequency 2"], method=Rounding(base=5))
    assert wide.passed
    assert not narrow.passed
    found = narrow.interval(dept="B", sex="F")
    assert 60 <= found.low <= 64 <= found.high <= 70


def test_a_table_in_three_dimensions_is_rounded_or_says_how_far() -> None:
    made = mv.table(random_firms(2, 80, (2, 3, 2)), ["d0", "d1", "d2"], method=Rounding(base=3))
    assert (made.cells.structure.equations @ made.values) == pytest.approx(0)
    assert (np.abs(made.values - made.cells.values) < 3 * made.facts["steps"]).all()


def test_a_base_that_is_none_is_refused() -> None:
    with pytest.raises(MicroveilError, match="greater than 0"):
        Rounding(base=0)
