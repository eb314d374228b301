"""Selection: who becomes a parent, by lot with the better ones favoured, or by comparing a few."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from microveil.errors import ParameterError
from microveil.numerics.statistics.scaling import average_ranks
from microveil.typing import FloatArray, IntArray

Weighting = Literal["inverse", "range", "rank", "literal_eq_3_3"]
_LEAST = 1e-9


def score_weights(scores: FloatArray, weighting: Weighting = "inverse") -> FloatArray:
    """Probabilities of being selected for scores of which the least is the best.

    `inverse` is 1 / score, `range` the distance to the worst score and `rank` counts from the worst. `literal_eq_3_3`
    is Marés (2013), Eq. 3.3, as printed: proportional to the score, which favours the worst. A score that is infinite
    has no chance.

    >>> score_weights(np.array([10.0, 30.0])).round(3).tolist()
    [0.75, 0.25]
    """
    finite = np.isfinite(scores)
    held = scores[finite]
    if weighting in ("inverse", "literal_eq_3_3") and (held < 0).any():
        raise ParameterError(f"selection by {weighting} weights needs scores that are not negative")
    weights = np.zeros(len(scores))
    if weighting == "inverse":
        weights[finite] = 1.0 / (held + _LEAST)
    elif weighting == "range":
        weights[finite] = held.max(initial=-np.inf) - held + _LEAST
    elif weighting == "rank":
        weights[finite] = len(held) + 1 - average_ranks(held)
    else:
        weights[finite] = held
    return weights / weights.sum() if weights.sum() > 0 else np.full(len(scores), 1.0 / len(scores))


def roulette(fitness: FloatArray, count: int, rng: np.random.Generator) -> IntArray:
    """So many individuals, each drawn with a probability proportional to a fitness of which the most is the best.

    >>> roulette(np.array([0.0, 1.0, 0.0]), 3, np.random.default_rng(1)).tolist()
    [1, 1, 1]
    """
    total = np.cumsum(fitness)
    if not (np.asarray(fitness) >= 0).all() or not 0 < total[-1] < np.inf:
        raise ParameterError("a roulette needs fitness values that are not negative, and one of them above 0")
    return np.asarray(np.searchsorted(total, rng.random(count) * total[-1], side="right"))


def tournament(scores: FloatArray, count: int, rng: np.random.Generator, size: int = 2) -> IntArray:
    """So many individuals, each the best of `size` different ones drawn at random; of equals the first.

    >>> tournament(np.array([3.0, 1.0, 2.0]), 2, np.random.default_rng(1), size=3).tolist()
    [1, 1]
    """
    if not 1 <= size <= len(scores):
        raise ParameterError(f"a tournament of {size} needs a population of at least as many, and at least 1")
    drawn = np.array([rng.choice(len(scores), size=size, replace=False) for _ in range(count)], dtype=np.int64)
    drawn = np.sort(drawn.reshape(count, size), axis=1)
    return np.asarray(drawn[np.arange(count), np.argmin(scores[drawn], axis=1)])


@dataclass(frozen=True)
class Roulette:
    """Selects parents by lot, with weights made of their scores."""

    weighting: Weighting = "inverse"

    def __call__(self, scores: FloatArray, count: int, rng: np.random.Generator) -> IntArray:
        return roulette(score_weights(scores, self.weighting), count, rng)


@dataclass(frozen=True)
class Tournament:
    """Selects as parents the winners of tournaments of `size`."""

    size: int = 2

    def __call__(self, scores: FloatArray, count: int, rng: np.random.Generator) -> IntArray:
        return tournament(scores, count, rng, self.size)
