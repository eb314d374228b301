"""Which records are drawn where only some are attacked."""

from __future__ import annotations

import numpy as np

from microveil.comparison.drawing import drawn
from microveil.comparison.pairs import Pair
from microveil.microdata import Microdata


def test_equal_records_are_drawn_one_by_one() -> None:
    """Of two kinds of a thousand records each, a draw of a hundred holds both, about as often."""
    table = Microdata.of({"sex": ["f", "m"] * 1000})
    chosen = drawn(Pair.of(table, table, ["sex"]), ["sex"], 100, 0, "a name")
    assert len(chosen) == len(np.unique(chosen)) == 100
    assert 30 < (chosen % 2).sum() < 70


def test_another_seed_draws_other_records_and_no_more_are_drawn_than_there_are() -> None:
    table = Microdata.of({"age": np.arange(300.0)})
    pair = Pair.of(table, table)
    one, other = (drawn(pair, ["age"], 50, seed, "a name") for seed in (0, 1))
    assert len(one) == len(other) == 50
    assert set(one.tolist()) != set(other.tolist())
    assert drawn(pair, ["age"], 400, 0, "a name").tolist() == list(range(300))
