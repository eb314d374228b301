from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microveil.numerics.evolution.gray import from_gray, gray


@pytest.mark.spec("05:EA-03")
def test_a_bit_string_means_another_number_in_gray_code() -> None:
    """Marés (2013), section 2.1.2: 111000 is 56 in binary and 47 in Gray; 101000 is 40 and 48."""
    assert from_gray(np.array([0b111000, 0b101000])).tolist() == [47, 48]
    assert gray(np.array([47, 48])).tolist() == [0b111000, 0b101000]


@pytest.mark.spec("05:EA-03")
@given(st.lists(st.integers(0, 2**62), min_size=1))
def test_decoding_undoes_encoding(numbers: list[int]) -> None:
    found = np.array(numbers, dtype=np.int64)
    assert from_gray(gray(found)).tolist() == numbers


@pytest.mark.spec("05:EA-03")
@given(st.integers(0, 2**62))
def test_neighbours_differ_in_one_bit(number: int) -> None:
    one, other = gray(np.array([number, number + 1], dtype=np.int64)).tolist()
    assert (one ^ other).bit_count() == 1
