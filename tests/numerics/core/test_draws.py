"""Numbers by any places of a stream are those that numpy draws there one after the other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microveil.numerics.core.draws import Drawn, generator_at, uniforms
from microveil.randomness import Streams

STREAMS = Streams(2**200 + 5, step=3)


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=20))
def test_numbers_at_any_places_are_those_of_the_stream(places: list[int]) -> None:
    found = uniforms(STREAMS, np.array(places, dtype=np.uint64), "income")
    expected = [STREAMS.generator_at(range(place, place + 1), "income").random() for place in places]
    assert found.tolist() == expected


def test_the_last_place_is_followed_by_the_first_of_no_other_label() -> None:
    last = np.array([2**64 - 1, 0], dtype=np.uint64)
    assert len({*uniforms(STREAMS, last, "a").tolist(), *uniforms(STREAMS, last, "b").tolist()}) == 4


def test_drawn_numbers_are_handed_out_one_for_each_record() -> None:
    drawn = generator_at(STREAMS, np.arange(3, dtype=np.uint64), "a")
    assert isinstance(drawn, Drawn)
    assert drawn.random(3).tolist() == STREAMS.generator("a").random(3).tolist()
    with pytest.raises(AssertionError):
        drawn.random(2)
