from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microveil.errors import ParameterError
from microveil.numerics.evolution.gray import gray
from microveil.numerics.evolution.representations import Quantised, Strings, Variable


@pytest.mark.spec("05:EA-02")
def test_strings_are_binary_or_have_more_alleles() -> None:
    rng = np.random.default_rng(1)
    assert set(Strings.of(200).draw(3, rng).ravel().tolist()) == {0, 1}
    drawn = Strings((2, 5, 1)).draw(400, rng)
    assert drawn.shape == (400, 3)
    assert [set(gene.tolist()) for gene in drawn.T] == [{0, 1}, set(range(5)), {0}]


@pytest.mark.spec("05:EA-02")
@given(st.integers(-1000, 1000), st.integers(1, 1000), st.booleans(), st.data())
def test_whole_numbers_come_back_exactly(low: int, span: int, gray_coded: bool, data: st.DataObject) -> None:
    number = data.draw(st.integers(low, low + span))
    numbers = Quantised((Variable(low, low + span),), gray_coded)
    assert numbers.decode(numbers.encode([number])).tolist() == [number]
    assert len(numbers.encode([number])) == span.bit_length()


@pytest.mark.spec("05:EA-02")
@given(st.floats(-5, 5), st.floats(0.01, 3), st.data())
def test_a_number_comes_back_to_the_precision_wanted(low: float, precision: float, data: st.DataObject) -> None:
    variable = Variable(low, low + 10.0, precision)
    value = data.draw(st.floats(variable.low, variable.high))
    numbers = Quantised((Variable(0, 3), variable))
    assert abs(numbers.decode(numbers.encode([0, value]))[1] - value) <= precision / 2 * (1 + 1e-6)


@pytest.mark.spec("05:EA-02")
@given(st.lists(st.integers(0, 1), min_size=10, max_size=10), st.booleans())
def test_every_string_stands_for_numbers_within_their_ends(bits: list[int], gray_coded: bool) -> None:
    numbers = Quantised((Variable(-3, 2), Variable(0.5, 2.0, 0.02)), gray_coded)
    assert len(bits) == len(numbers.strings.alleles)
    first, second = numbers.decode(np.array(bits))
    assert first in (-3, -2, -1, 0, 1, 2)
    assert 0.5 <= second <= 2.0


@pytest.mark.spec("05:EA-02", "05:EA-03")
def test_bits_are_those_of_the_gray_code_or_plain_with_the_highest_first() -> None:
    coded, plain = Quantised((Variable(0, 63),)), Quantised((Variable(0, 63),), gray_coded=False)
    assert coded.encode([[47], [48]]).tolist() == [[1, 1, 1, 0, 0, 0], [1, 0, 1, 0, 0, 0]]
    assert plain.encode([[56], [40]]).tolist() == [[1, 1, 1, 0, 0, 0], [1, 0, 1, 0, 0, 0]]
    assert int("".join(map(str, coded.encode([33]))), 2) == gray(np.array([33]))[0]


@pytest.mark.spec("05:EA-02")
def test_a_number_beyond_its_ends_becomes_the_end() -> None:
    numbers = Quantised((Variable(2, 9),))
    assert numbers.decode(numbers.encode([[100], [-100]])).tolist() == [[9], [2]]


def test_what_has_no_alleles_or_no_steps_is_refused() -> None:
    for alleles in ((), (2, 0)):
        with pytest.raises(ParameterError, match="at least one"):
            Strings(alleles)
    for low, high, precision in ((1, 1, 1), (2, 1, 1), (0, 1, 0), (0, 1, 1e-300), (0, float("nan"), 1)):
        with pytest.raises(ParameterError, match="low < high"):
            Variable(low, high, precision)
    with pytest.raises(ParameterError, match="no variable"):
        Quantised(())
