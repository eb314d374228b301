"""What a second step keeps of the first: no matrix stays that is about an attribute masked again."""

from __future__ import annotations

import pytest

from microveil.masking.randomising.pram import PRAM
from microveil.microdata import Microdata

VALUES = ["x", "y", "x", "z", "y", "x"]


def table(*names: str) -> Microdata:
    return Microdata.of(dict.fromkeys(names, VALUES))


@pytest.mark.parametrize("again", ["a", "b"])
def test_the_matrix_of_a_compound_goes_when_one_of_its_attributes_is_masked_again(again: str) -> None:
    together = PRAM(compound=True).mask(table("a", "b", "c"), ["a", "b"], seed=1)
    assert set(together.matrices) == {("a", "b")}
    assert set(PRAM().mask(together, [again]).matrices) == {(again,)}


def test_matrices_of_other_attributes_stay() -> None:
    together = PRAM(compound=True).mask(table("a", "b", "c"), ["a", "b"], seed=1)
    assert set(PRAM().mask(together, ["c"]).matrices) == {("a", "b"), ("c",)}
    single = PRAM().mask(table("a", "b", "c"), ["a", "b"], seed=1)
    assert set(PRAM(compound=True).mask(single, ["b", "c"]).matrices) == {("a",), ("b", "c")}


def test_a_plus_in_the_name_of_an_attribute_makes_no_compound() -> None:
    single = PRAM().mask(table("a", "b", "a+b"), ["a+b"], seed=1)
    assert set(PRAM().mask(single, ["a"]).matrices) == {("a+b",), ("a",)}
    together = PRAM(compound=True).mask(table("a", "b", "c", "a+b"), ["a+b", "c"], seed=1)
    assert set(PRAM().mask(together, ["a"]).matrices) == {("a+b", "c"), ("a",)}
    assert set(PRAM().mask(together, ["a+b"]).matrices) == {("a+b",)}
