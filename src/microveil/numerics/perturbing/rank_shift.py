"""How likely a move of some length is: named distributions, or a list of weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from microveil.typing import FloatArray

Shape = Literal["normal", "uniform", "exponential", "geometric"]
Weights = Shape | tuple[float, ...]


def tabulated(function: Callable[[float], float], ranks: Sequence[float]) -> tuple[float, ...]:
    """A function as a list of its values, so that a file can hold it."""
    return tuple(float(function(rank)) for rank in ranks)


def shift_weights(shape: Shape | Sequence[float], reach: float, count: int) -> FloatArray:
    """Weights of a move by 0, 1, ..., count - 1 positions; a move by 0 has none.

    Normal with mean and deviation reach / 2, and exponential with mean reach / 2, both rounded to whole positions;
    geometric from 1 on with mean reach / 2; uniform up to the reach. A list gives the weights of equal parts of the
    way up to the reach.

    >>> shift_weights((2.0, 1.0), 4.0, 6).tolist()
    [0.0, 2.0, 2.0, 1.0, 1.0, 0.0]
    """
    moves = np.arange(count, dtype=np.float64)
    if not isinstance(shape, str):
        part = np.ceil(moves * len(shape) / reach).astype(np.int64)
        weights = np.concatenate([[0.0], shape, [0.0]])[np.minimum(part, len(shape) + 1)]
    elif shape == "uniform":
        weights = (moves <= reach).astype(np.float64)
    elif shape == "geometric":
        weights = (1.0 - min(1.0, 2.0 / reach)) ** np.maximum(moves - 1.0, 0.0)
    else:
        from scipy.special import ndtr

        limits = (np.arange(count + 1) - 0.5) / (reach / 2.0)
        beyond = ndtr(1.0 - limits) if shape == "normal" else np.exp(-np.maximum(limits, 0.0))
        weights = beyond[:-1] - beyond[1:]
    weights[:1] = 0.0
    return np.asarray(weights)


def bucket_shares(shape: Shape | Sequence[float], count: int) -> FloatArray:
    """Probabilities of the own bucket, the next one, and so on; what they lack to 1 lies beyond the last.

    Geometric halves from bucket to bucket, exponential divides by e, normal has a deviation of one bucket, and uniform
    makes no difference between them.

    >>> bucket_shares("geometric", 3).tolist()
    [0.5, 0.25, 0.125]
    """
    away = np.arange(count, dtype=np.float64)
    if not isinstance(shape, str):
        given = np.asarray(shape, dtype=np.float64)
        return np.asarray(np.concatenate([given, np.zeros(count)])[:count] / given.sum())
    if shape == "uniform":
        return np.full(count, 1.0 / count)
    if shape == "normal":
        every = np.exp(-0.5 * np.square(np.arange(max(count, 40))))
        return np.asarray(every[:count] / every.sum())
    ratio = 0.5 if shape == "geometric" else np.exp(-1.0)
    return np.asarray((1.0 - ratio) * ratio**away)
