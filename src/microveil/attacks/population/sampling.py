"""How many of the population the released records stand for."""

from __future__ import annotations

import numpy as np

from microveil.comparison.pairs import Pair
from microveil.typing import FloatArray


def sampling_weights(pair: Pair, population: int | None = None) -> FloatArray:
    """How many of the population each record stands for: by the size of the population where it is given, else by the
    sampling weights, and without weights one each."""
    if population is not None:
        return np.full(len(pair), max(1.0, population / len(pair)))
    weight = pair.original.schema.weight
    if weight is None:
        return np.ones(len(pair))
    released = pair.masked if weight in pair.masked.names else pair.original  # a sample has weights of its own
    return np.nan_to_num(released.numbers(weight).values)
