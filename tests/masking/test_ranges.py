from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microveil.masking.ranges import Interval, OneOf, Whole
from microveil.microdata import Microdata
from microveil.registry import find, make, names

SEARCHED = [name for name in names("method") if find("method", name).searched]


@pytest.mark.parametrize("name", SEARCHED)
def test_every_value_that_a_search_tries_is_one_the_method_takes(name: str) -> None:
    rng = np.random.default_rng(7)
    searched = find("method", name).searched
    for at in range(5):
        ends = {
            parameter: values.spread(5)[min(at, len(values.spread(5)) - 1)] for parameter, values in searched.items()
        }
        made = make("method", name, ends).parameters()
        assert {parameter: made[parameter] for parameter in searched} == ends
    value: dict[str, Any] = {parameter: values.drawn(rng) for parameter, values in searched.items()}
    for _ in range(20):
        value = {parameter: values.near(value[parameter], rng) for parameter, values in searched.items()}
        make("method", name, value)


@given(
    st.integers(0, 2**32), st.sampled_from([Interval(0.5, 60.0, logarithmic=True), Interval(0.0, 1.0), Whole(2, 50)])
)
def test_no_value_lies_outside_of_its_range(seed: int, values: Interval) -> None:
    rng = np.random.default_rng(seed)
    value = values.drawn(rng)
    for _ in range(30):
        assert values.low <= value <= values.high
        value = values.near(value, rng)


@given(st.integers(0, 2**32), st.integers(2, 50))
def test_a_step_from_a_whole_number_leads_to_another(seed: int, k: int) -> None:
    found = Whole(2, 50).near(k, np.random.default_rng(seed))
    assert isinstance(found, int)
    assert found != k


def test_steps_are_short_and_go_both_ways() -> None:
    rng = np.random.default_rng(3)
    steps = np.array([Interval(0.0, 1.0).near(0.5, rng) - 0.5 for _ in range(4000)])
    assert abs(steps.mean()) < 0.02
    assert steps.std() == pytest.approx(0.15, abs=0.01)


def test_a_list_of_one_value_has_no_other() -> None:
    assert OneOf(("a",)).near("a", np.random.default_rng(1)) == "a"
    assert OneOf(("a", "b", "c")).spread(2) == ["a", "b"]


def test_a_method_says_which_attributes_it_can_mask() -> None:
    table = Microdata.of(
        {"age": list(range(150)), "town": ["a", "b", "c"] * 50, "size": ["s", "m", "l"] * 50},
        ordinal={"size": ["s", "m", "l"]},
    )
    can = {name: [n for n in table.names if find("method", name).suits(table, n)] for name in SEARCHED}
    assert can["mdav"] == ["age"]
    assert can["pram"] == ["town", "size"]
    assert can["rank-swapping"] == can["rank-swapping-buckets"] == can["rank-swapping-distribution"] == ["age", "size"]
    assert can["suppress"] == ["town", "size"]
    assert can["mdav-generic"] == ["age", "town", "size"]
    assert can["top-code"] == can["bottom-code"] == ["age", "size"]
